/** Requests that no client sends: the operations, parameters and fields are those of docs/openapi.json. */
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { exampleRequest, type Subject } from '../tools/example_requests.ts'
import { internals } from '../tools/internals.ts'
import { faults, type Operation, operations, parameterFaults, resolved, type Schema } from '../tools/openapi.ts'
import { type Answer, asAdmin, openConversation, type Person } from '../tools/people.ts'
import { sendMessage, signUp, uniqueEmail } from '../tools/people.ts'
import { rawRequest } from '../tools/raw_request.ts'

type Sent = { token?: string; headers?: Record<string, string>; body?: string | Uint8Array; chunked?: boolean }
type Got = Pick<Answer, 'status' | 'body' | 'text'>

const { base, secretKey } = inject('stack')
const { pathname } = new URL(base)
const send = (method: string, path: string, { token, headers, body, chunked }: Sent = {}): Promise<Got> =>
  rawRequest(method, pathname + path, {
    ...(token && { Authorization: `Bearer ${token}` }),
    ...(chunked && { 'Transfer-Encoding': 'chunked' }),
    ...headers,
  }, body)
const json = { 'Content-Type': 'application/json' }

/** An error with the public shape, whose text has this word and reveals no internals. */
const expectRefusal = ({ status, body, text }: Got, expected: number, word: string, about: unknown = '') => {
  expect({ about, status, body }).toEqual({ about, status: expected, body: { error: expect.stringContaining(word) } })
  expect(text).not.toMatch(internals)
}

let ana: Person
let ben: Person
let subject: Subject
beforeAll(async () => {
  ana = await signUp('Ana')
  ben = await signUp('Ben')
  const conversation = await openConversation(ana, ben)
  const message = (await sendMessage(ben, conversation, 'Hello')).id
  const offer = { title: 'Walk', price: 1, date: '2037-01-01T10:00:00Z' }
  const { body } = await ben.call('POST', `/conversations/${conversation}/reservations`, offer)
  subject = { user: ben.id, profile: ben.profileId, conversation, message, reservation: body.id }
})

/** Sends a request about Ana's own with this body or query. */
const sendTo = (operation: Operation, sent: Sent & { query?: string } = {}) => {
  const parameters = operation.parameters.filter(({ name }) => !sent.query?.startsWith(`${name}=`))
  const { path } = exampleRequest({ ...operation, parameters }, subject)
  const query = sent.query === undefined ? '' : `${path.includes('?') ? '&' : '?'}${sent.query}`
  const token = operation.needsSecretKey ? secretKey : ana.token
  return send(operation.method, path + query, { token, ...sent })
}
const sendBody = (operation: Operation, body: string) => sendTo(operation, { headers: json, body })
const withBody = operations.filter(({ body }) => body)
const keyOf = (schema: Schema) => JSON.stringify(resolved(schema), (key, value) => key === 'description' ? '' : value)
/** Of those with the same schema each is tried with a sixth of the values at least, and they together with all. */
const inShares = <One extends { schema: Schema }>(all: One[]) =>
  all.map((one) => {
    const alike = all.filter(({ schema }) => keyOf(schema) === keyOf(one.schema))
    const [size, place] = [Math.min(6, alike.length), alike.indexOf(one)]
    return { ...one, share: <Value>(values: Value[]) => values.filter((_, at) => at % size === place % size) }
  })
const parametersIn = (place: string) =>
  inShares(operations.flatMap((operation) =>
    operation.parameters.filter((one) => one.in === place)
      .map(({ name, schema }) => ({ of: operation.name, operation, name, schema }))
  ))
const notEncoded = 'The URL holds a % that does not begin an encoded UTF-8 character'
const notJson = 'The body is not valid JSON in UTF-8'
const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`

// deno-fmt-ignore
const noIds = [
  '-1', '0', '1.5', '1e3', '0x1', '+1', '%201', '1%20', '1%0a', 'NaN', 'null', 'Infinity', '%EF%BC%91', '1,2', '%00',
  '99999999999999999999', '9223372036854775808', '1'.repeat(40), '1%00', '%F0%9F%98%80', "1'--", '1;select%201',
  "1'%20or%20'1'='1", '..%2Fusers%2Fme', '%2e%2e%2fusers%2fme', '1%2Fmessages',
]
/** A body that nothing is wrong with. */
const validBody = (operation: Operation) => {
  const { body } = exampleRequest(operation, subject)
  return body && { headers: json, body: JSON.stringify(body) }
}
test.each(parametersIn('path'))('$of refuses every $name that is no id', async ({ operation, name, share }) => {
  const sent = validBody(operation)
  const withId = (id: string) => sendTo({ ...operation, path: operation.path.replace(`{${name}}`, id) }, sent)
  for (const id of share(noIds)) expectRefusal(await withId(id), 400, `${name}: `, id)
  for (const id of share(['%', '%z', '%zz', '1%', '%c0%ae', '%ff', '%u0031', '%ED%A0%80'])) {
    expectRefusal(await withId(id), 400, notEncoded, id)
  }
})

// deno-fmt-ignore
const wrongTexts = [
  '0', '-1', '1.5', '1e1', '1e3', '0x1', ' ', 'abc', 'NaN', '\0', "1'--", '1;select 1', '1'.repeat(20), '１',
  '9007199254740993', 'ASC;', 'asc\0', 'asc;drop table messages', 'yes', 'x'.repeat(5000), '2026-13-01',
]
test.each(parametersIn('query'))(
  '$of refuses every $name that is not documented',
  async ({ operation, name, schema, share }) => {
    const ask = (query: string) => sendTo(operation, { query, ...validBody(operation) })
    const isWrong = (text: string) => schema.format === 'date-time' || parameterFaults(schema, text, name).length > 0
    for (const text of share(wrongTexts.filter(isWrong))) {
      // The token of a mail is any text that the database takes.
      const word = name === 'token' ? 'cannot be stored' : name
      expectRefusal(await ask(`${name}=${encodeURIComponent(text)}`), 400, word, text)
    }
    for (const text of share(['%', '%zz', '%ED%A0%80', '%ff', 'x%c3'])) {
      expectRefusal(await ask(`${name}=${text}`), 400, notEncoded, text)
    }
    // Filters name several values.
    if (name.startsWith('filter')) return
    expectRefusal(await ask(`${name}=1&${name}=2`), 400, `${name}: is given more than once`)
  },
)

test.each(['/users/../users/me', '/conversations/../users/me', '/conversations/%2e%2e/users/me'])(
  '%s does not bypass authentication',
  async (path) => expectRefusal(await send('GET', path), 401, 'A bearer token is needed'),
)

const paged = operations.filter(({ parameters }) => parameters.some(({ name }) => name === 'offset'))
test.each(paged)('$name: a page far beyond the end is empty', async (operation) => {
  for (const offset of [2 ** 31, Number.MAX_SAFE_INTEGER]) {
    const { status, body } = await sendTo(operation, { query: `offset=${offset}` })
    expect([offset, status, body.hits ?? body]).toEqual([offset, 200, []])
  }
})

test('headers and URLs of 60 KB are accepted, those of 1 MiB refused, and the server stays up', async () => {
  expect((await send('GET', '/users/interests', { headers: { 'X-Long': 'x'.repeat(60_000) } })).status).toBe(200)
  expectRefusal(await send('GET', `/users/search?q=${'x'.repeat(60_000)}`), 400, 'q: must have at most 512 characters')
  const outcomeOf = (request: Promise<Got>) => request.then(({ status }) => status, () => 'connection closed')
  for (const bytes of [100_000, 1_048_576]) {
    const requests = [
      send('GET', `/users/search?q=${'x'.repeat(bytes)}`),
      send('GET', '/users/interests', { headers: { 'X-Long': 'x'.repeat(bytes) } }),
    ]
    for (const request of requests) expect([400, 414, 431, 'connection closed']).toContain(await outcomeOf(request))
  }
  expect((await send('GET', '/health')).status).toBe(200)
})

/** What the example of a request leaves out. */
const samples: Record<string, object> = {
  attachment: { url: 'a/b.png', name: 'b.png', mime_type: 'image/png', size: 1 },
}
/** The schemas of all fields, also of those within others, by their path. */
const fieldsOf = (given: Schema, at: string[] = []): [path: string[], schema: Schema][] =>
  Object.entries(resolved(given).properties ?? {}).flatMap(([name, schema]) => {
    const path = [...at, name]
    const object = [schema, ...schema.anyOf ?? []].map(resolved).find(({ properties }) => properties)
    return [[path, schema] as [string[], Schema], ...object ? fieldsOf(object, path) : []]
  })
const put = (body: Record<string, unknown>, [name, ...rest]: string[], value: unknown): Record<string, unknown> => ({
  ...body,
  [name!]: rest.length > 0 ? put((body[name!] ?? samples[name!] ?? {}) as Record<string, unknown>, rest, value) : value,
})
const wrongValues = [
  ...[0, -1, 1, 1.5, 20.5, 1e300, 2 ** 53, '20', 'true', '1e3', true, null, [], ['x'], [20], [null], [[1]], [1.5]],
  ...[['\0'], {}, { $ne: null }, '', 'x', 'a\0b', '\0', '\ud800', 'a\udc00b', '\udc00\ud800', 'x'.repeat(5001)],
]

const fields = inShares(
  withBody.flatMap((operation) =>
    fieldsOf(operation.body!).map(([at, schema]) => ({ of: operation.name, operation, name: at.join('.'), at, schema }))
      // Without the secret key it is ignored.
      .filter(({ name }) => name !== 'role')
  ),
)
/** What is just beyond the limits of a field. */
const beyond = (schema: Schema): unknown[] =>
  [schema, ...schema.anyOf ?? []].map(resolved).flatMap(({ minimum = 0, maximum = 2 ** 53, maxLength = 0 }) => [
    ...[minimum - 1, maximum + 1, 'x'.repeat(maxLength + 1)],
  ])
test.each(fields)('$of refuses every $name that is not documented', async ({ operation, at, schema, share }) => {
  const { body } = exampleRequest(operation, subject)
  for (const value of share([...wrongValues, ...beyond(schema)].filter((value) => faults(schema, value).length > 0))) {
    expectRefusal(await sendBody(operation, JSON.stringify(put(body!, at, value))), 400, at[0]!, value)
  }
  for (const value of share([deep])) expectRefusal(await sendBody(operation, `{"${at[0]}": ${value}}`), 400, at[0]!)
})

// deno-fmt-ignore
const broken = [
  '', ' ', '{', '{"a":}', "{'a': 1}", '{"a": 1} x', '{"a": NaN}', 'undefined', '{"a": "\\ud8"}', '\0', '<a/>',
  'a=1&b=2', '{"a": "\u0001"}', '['.repeat(20_000),
]
// Before its schema every body meets the same code.
const bodies = inShares(withBody.map((operation) => ({ name: operation.name, operation, schema: {} })))
test.each(bodies)('$name refuses what is not JSON, or no object', async ({ operation, share }) => {
  for (const body of share(broken)) expectRefusal(await sendBody(operation, body), 400, notJson, body)
  for (const body of ['[]', 'null', '"text"', '5', 'true', '[{}]', deep]) {
    expectRefusal(await sendBody(operation, body), 400, 'must be an object', body)
  }
  for (const bytes of share([[0xff, 0xfe], [0xed, 0xa0, 0x80], [0xc0, 0x80]])) {
    const body = Buffer.concat([Buffer.from('{"a": "'), Buffer.from(bytes), Buffer.from('"}')])
    expectRefusal(await sendTo(operation, { headers: json, body }), 400, notJson, bytes)
  }
})

test.each(bodies)('$name refuses other types and 100 KB and a byte, and reads no prototype', async (one) => {
  const { operation, share } = one
  const { required = [] } = resolved(operation.body!)
  const valid = JSON.stringify(exampleRequest(operation, subject).body)
  for (const key of required.length > 0 ? ['__proto__', 'constructor', 'prototype'] : []) {
    expectRefusal(await sendBody(operation, `{"${key}": ${valid}}`), 400, `${required[0]}: is missing`)
  }
  const types = ['', 'text/plain', 'text/json', 'application/jsonx', 'application/x-www-form-urlencoded', 'x/json']
  for (const headers of share([{}, ...types.map((type) => ({ 'Content-Type': type }))])) {
    expectRefusal(await sendTo(operation, { headers, body: valid }), 415, 'The body must be application/json', headers)
  }
  for (
    const [bytes, chunked] of share([102_401, 1_048_576].flatMap((bytes) => [[bytes, true], [bytes, false]] as const))
  ) {
    const body = `{"unknown": "${'x'.repeat(bytes - 15)}"}`
    expectRefusal(await sendTo(operation, { headers: json, body, chunked }), 413, 'The body is over 100 KB', chunked)
  }
})

describe('a body of PATCH /users/profile', () => {
  const change = (body: string, type = 'application/json', chunked = false) =>
    send('PATCH', '/users/profile', { token: ana.token, headers: { 'Content-Type': type }, body, chunked })

  test('is taken with and without a charset, up to 102,400 bytes, however deep what is not known', async () => {
    for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset=UTF-8']) {
      expect((await change('{"bio": "Read"}', type)).status).toBe(200)
    }
    const largest = `{"unknown": "${'x'.repeat(102_400 - 15)}"}`
    expect(largest).toHaveLength(102_400)
    for (const chunked of [true, false]) expect((await change(largest, undefined, chunked)).status).toBe(200)
    expect((await change(`{"unknown": ${deep}}`)).status).toBe(200)
  })

  test('has the last of two values of a key, and none through __proto__', async () => {
    expectRefusal(await change('{"bio": "first", "bio": 5}'), 400, 'bio: ')
    expect((await change('{"bio": "first", "bio": "second"}')).body.bio).toBe('second')
    const polluted = '{"__proto__": {"bio": "Polluted"}, "constructor": {"prototype": {"bio": "Polluted"}}}'
    expect((await change(polluted)).body.bio).toBe('second')
    const climber = `{"email": "${uniqueEmail()}", "name": "Climber", "__proto__": {"role": "admin"}}`
    expect((await send('POST', '/users', { headers: json, body: climber })).body.role).toBe('user')
    expect((await ben.call('GET', '/users/me')).body).toMatchObject({ bio: null })
  })

  test('is checked after the token: type, then size, then values', async () => {
    const body = `{"bio": 5, "unknown": "${'x'.repeat(102_400)}"`
    const path = '/users/profile'
    const text = { 'Content-Type': 'text/plain' }
    const { token } = ana
    expectRefusal(await send('PATCH', path, { body, headers: text }), 401, 'A bearer token is needed')
    expectRefusal(await send('PATCH', path, { token, body, headers: text }), 415, 'must be application/json')
    expectRefusal(await send('PATCH', path, { token, body, headers: json }), 413, 'over 100 KB')
    expectRefusal(await send('POST', '/conversations/x/messages', { token, body: '{}' }), 415, 'application/json')
    const nowhere = `/conversations/${2 ** 31}/messages`
    expectRefusal(await send('POST', nowhere, { token, body: '{}', headers: json }), 400, 'content: ')
  })
})

test('after all these requests there is nothing that was not sent on purpose', async () => {
  const [row] = (await asAdmin('GET', `users?id=eq.${ana.id}&select=name,bio,role,profiles(*)`)).body
  const { body: fresh } = await (await signUp('Fresh')).call('GET', '/users/me?more=true')
  const { id: _, user_id: __, Interests: ___, ...untouched } = fresh.Profile
  const profiles = { id: ana.profileId, user_id: ana.id, is_hidden: false, ...untouched }
  expect(row).toEqual({ name: 'Ana', bio: 'second', role: 'user', profiles })
  const { body } = await ana.call('GET', `/conversations/${subject.conversation}`)
  expect(body.Reservations).toMatchObject([{ id: subject.reservation, status: 'pending', price: 1 }])
  expect((await ana.call('GET', `/conversations/${subject.conversation}/messages`)).body).toHaveLength(1)
  expect((await ana.call('GET', '/users/me/reports')).body).toEqual([])
})
