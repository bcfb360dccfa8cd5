import { beforeAll, describe, expect, inject, test } from 'vitest'
import {
  type Answer,
  asAdmin,
  openConversation,
  type Person,
  sendMessage,
  signUp,
  uniqueEmail,
} from '../tools/people.ts'
import { rawRequest } from '../tools/raw_request.ts'

type Sent = { token?: string; headers?: Record<string, string>; body?: string | Uint8Array; chunked?: boolean }
type Got = Pick<Answer, 'status' | 'body' | 'text'>

const { pathname } = new URL(inject('stack').base)

const send = (method: string, path: string, { token, headers, body, chunked }: Sent = {}): Promise<Got> =>
  rawRequest(method, pathname + path, {
    ...(token && { Authorization: `Bearer ${token}` }),
    ...(chunked && { 'Transfer-Encoding': 'chunked' }),
    ...headers,
  }, body)

const json = { 'Content-Type': 'application/json' }
const sendJson = (method: string, path: string, body: string) =>
  send(method, path, { token: ana.token, headers: json, body })

/** An error with the public shape that reveals no internals. */
const expectRefusal = ({ status, body, text }: Got, expected: number, about: unknown = '', named = '') => {
  expect({ about, status, body }).toEqual({ about, status: expected, body: { error: expect.stringContaining(named) } })
  expect(text).not.toMatch(/sql|stack|pg_|at file|select |internal|\bzod\b|deno|relation|column/i)
}

/** Malformed encoding is refused before any parameter is looked at. */
const isWellEncoded = (text: string): boolean => !/%(?![0-9a-f]{2})|%(ED%A0%80|c0%ae|ff)/i.test(text)

let ana: Person
let ben: Person
let conversation: number
let message: number
beforeAll(async () => {
  ana = await signUp('Ana')
  ben = await signUp('Ben')
  conversation = await openConversation(ana, ben)
  message = (await sendMessage(ben, conversation, 'Hello')).id
})

/** Every route with a request body, and a valid body. */
const routesWithBody = (): [method: string, path: string, body: Record<string, unknown>][] => [
  ['POST', '/auth/signup', { email: uniqueEmail(), password: 'correct horse', name: 'Somebody' }],
  ['POST', '/auth/login', { email: ana.email, password: ana.password }],
  ['POST', '/auth/refresh', { refresh_token: 'garbage' }],
  ['POST', '/auth/recover', { email: uniqueEmail() }],
  ['POST', '/users', { email: uniqueEmail(), name: 'Somebody' }],
  ['PATCH', '/users/profile', { bio: 'Walks' }],
  ['PUT', '/users/profile/interests', { interest_ids: [] }],
  ['PATCH', '/users/searchable', { is_searchable: true }],
  ['POST', `/conversations/${conversation}/reservations`, { title: 'Walk', price: 1, date: '2037-01-01T10:00:00Z' }],
  ['POST', '/conversations', { other_user_id: ben.id }],
  ['POST', `/conversations/${conversation}/messages`, { content: 'Hello' }],
  ['POST', `/conversations/${conversation}/read`, { up_to_message_id: message }],
]

describe('an id in a path', () => {
  const expectAllRefused = async (id: string, status: number) => {
    const body = { token: ana.token, headers: json }
    const content = { ...body, body: '{"content": "Hello", "up_to_message_id": 1}' }
    const requests: [method: string, path: string, sent: Sent, parameter?: string][] = [
      ['GET', `/users/${id}`, {}],
      ['GET', `/conversations/${id}`, body],
      ['GET', `/conversations/${id}/messages`, body],
      ['POST', `/conversations/${id}/messages`, content],
      ['POST', `/conversations/${id}/read`, content],
      ['PATCH', `/conversations/${id}/messages/${message}/read`, body],
      ['PATCH', `/conversations/${conversation}/messages/${id}/read`, body, 'messageId'],
    ]
    for (const [method, path, sent, parameter = 'id'] of requests) {
      const named = status === 404 ? '' : isWellEncoded(id) ? `${parameter}: ` : 'The URL holds a %'
      expectRefusal(await send(method, path, sent), status, path, named)
    }
  }

  test.each([
    ...['-1', '0', '1.5', '1e3', '0x1', '+1', '%201', '1%20', '1%0a', 'NaN', 'null', 'Infinity', '%EF%BC%91', '1,2'],
    ...['99999999999999999999', '9223372036854775808', '1'.repeat(40), '%00', '1%00', '%F0%9F%98%80', '%ED%A0%80'],
    ...["1'--", '1;select%201', "1'%20or%20'1'='1", '..%2Fusers%2Fme', '%2e%2e%2fusers%2fme', '1%2Fmessages'],
    ...['%', '%z', '%zz', '1%', '%c0%ae', '%ff', '%u0031'],
  ])('cannot be %s', (id) => expectAllRefused(id, 400))

  test.each(['2147483648', '9007199254740991'])('can be %s, which is unknown', (id) => expectAllRefused(id, 404))

  test.each(['/users/../users/me', '/conversations/../users/me', '/conversations/%2e%2e/users/me'])(
    '%s does not bypass authentication',
    async (path) => expectRefusal(await send('GET', path), 401),
  )
})

test.each([0, -1, 1.5, '1', '1e3', null, true, [], [1], {}, 2 ** 53, 1e300, undefined])(
  'an id in a body cannot be %j, and the error names the field',
  async (id) => {
    const opened = await ana.call('POST', '/conversations', { other_user_id: id })
    expectRefusal(opened, 400, '', 'other_user_id')
    const read = await ana.call('POST', `/conversations/${conversation}/read`, { up_to_message_id: id })
    expectRefusal(read, 400, '', 'up_to_message_id')
  },
)

test.each([2 ** 31, Number.MAX_SAFE_INTEGER])('an id in a body can be %i, which is unknown', async (id) => {
  expectRefusal(await ana.call('POST', '/conversations', { other_user_id: id }), 404)
  expectRefusal(await ana.call('POST', `/conversations/${conversation}/read`, { up_to_message_id: id }), 404)
})

describe('query parameters', () => {
  const nameOf = (query: string): string => /^\w+/.exec(query)![0]

  test.each([
    ...['limit=1&limit=2', 'limit=1&limit=1', 'offset=0&offset=0', 'limit=0', 'limit=-1', 'limit=1.5', 'limit=1e1'],
    ...['limit=NaN', 'limit=%00', 'limit=%', 'limit=%zz', "limit=1'--", 'limit=1;select%201', 'limit=%ED%A0%80'],
    ...['offset=-1', 'offset=0x1', 'offset=%20', 'offset=99999999999999999999', 'limit[]=1&limit=2&limit=3'],
  ])('of lists cannot be %s', async (query) => {
    for (const path of ['/conversations', `/conversations/${conversation}/messages`]) {
      expectRefusal(
        await send('GET', `${path}?${query}`, { token: ana.token }),
        400,
        path,
        isWellEncoded(query) ? nameOf(query) : 'The URL holds a %',
      )
    }
  })

  test.each([
    ...['order=up', 'order=asc&order=desc', 'order=asc%00', 'order=asc;drop%20table%20messages', 'before_id=0'],
    ...['before_id=1&before_id=2', 'before_id=abc', 'before_id=1.5', 'before_id=9007199254740993', 'order=ASC;'],
    ...['after_id=-1', 'after_id=%00', 'after_id=1e3', 'after_id=99999999999999999999', 'offset=abc'],
  ])('of messages cannot be %s', async (query) => {
    const path = `/conversations/${conversation}/messages?${query}`
    expectRefusal(await send('GET', path, { token: ana.token }), 400, path, nameOf(query))
  })

  test.each(['offset=2147483648', 'offset=9007199254740991'])('can be %s, with an empty result', async (query) => {
    for (const path of ['/conversations', `/conversations/${conversation}/messages`]) {
      const { status, body } = await ana.call('GET', `${path}?${query}`)
      expect({ path, status, body }).toEqual({ path, status: 200, body: [] })
    }
  })
})

test('headers and URLs of 60 KB are accepted, those of 1 MiB refused, and the server stays up', async () => {
  expect((await send('GET', '/users/interests', { headers: { 'X-Long': 'x'.repeat(60_000) } })).status).toBe(200)
  expectRefusal(await send('GET', `/users/search?q=${'x'.repeat(60_000)}`), 400)
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

describe('a field', () => {
  const nul = ['a\0b', '\0', '\ud800', 'a\udc00b', '\udc00\ud800']
  const notText = [1, true, [], ['x'], {}, { $ne: null }]
  const notWhole = ['1', true, [], [20], {}, 20.5, 1e300]
  const profile = (field: string): [string, string, string] => ['PATCH', '/users/profile', field]

  const expectEachRefused = async (method: string, path: string, field: string, values: unknown[]) => {
    const where = path.replace(':conversation', String(conversation))
    const [, , valid] = routesWithBody().find(([allowed, route]) => allowed === method && route === where)!
    for (const value of values) {
      const answer = await ana.call(method, where, { ...valid, [field]: value })
      expectRefusal(answer, 400, value)
      expect(answer.body.error).toContain(field)
    }
  }

  test.each([
    ...['email', 'password', 'name', 'bio', 'city'].map((field) => ['POST', '/auth/signup', field]),
    ...['email', 'password'].map((field) => ['POST', '/auth/login', field]),
    ['POST', '/auth/refresh', 'refresh_token'],
    ['POST', '/auth/recover', 'email'],
    ...['email', 'password', 'name', 'biography', 'country'].map((field) => ['POST', '/users', field]),
    ...['name', 'bio', 'location', 'first_name', 'last_name'].map(profile),
    ...['biography', 'country', 'city', 'image_url'].map(profile),
    ['POST', '/conversations/:conversation/messages', 'content'],
    ['POST', '/conversations/:conversation/messages', 'client_id'],
  ])('in %s %s refuses other types in %s, NUL and lone surrogates', async (method, path, field) => {
    await expectEachRefused(method!, path!, field!, [...notText, ...nul])
  })

  test('of another type refuses strings and third types', async () => {
    await expectEachRefused('PATCH', '/users/profile', 'age', notWhole)
    await expectEachRefused('PATCH', '/users/profile', 'is_searchable', ['true', 0, 1, null, [], {}])
    await expectEachRefused('PATCH', '/users/searchable', 'is_searchable', ['true', 0, 1, null, [], {}])
    for (const [method, path] of [['PATCH', '/users/profile'], ['PUT', '/users/profile/interests']] as const) {
      await expectEachRefused(method, path, 'interest_ids', [1, '1', true, null, {}, ['1'], [null], [[1]], [1.5], [
        '\0',
      ]])
    }
  })

  test.each([
    ...['name', 'location', 'first_name', 'last_name', 'country', 'city'].map(profile),
    ['POST', '/auth/signup', 'name'],
    ['POST', '/conversations/:conversation/reservations', 'title'],
  ])('%s %s: %s is one line that shows something', async (method, path, field) => {
    await expectEachRefused(method, path, field, [
      'Team\nLog in',
      'a\u2028b',
      'a\u202eb',
      'a\u001bb',
      ' ',
      '\u3164',
      '\u200b',
    ])
  })

  test('that is an attachment needs {url, name, mime_type, size}', async () => {
    const path = '/conversations/:conversation/messages'
    const file = { url: 'a/b.png', name: 'b.png', mime_type: 'image/png', size: 1 }
    const texts = ['url', 'name', 'mime_type'].flatMap((key) =>
      [...notText, ...nul].map((bad) => ({ ...file, [key]: bad }))
    )
    const sizes = ['1', -1, 1.5, 1e300, null, true].map((size) => ({ ...file, size }))
    const shapes = [{}, { ...file, size: undefined }]
    await expectEachRefused('POST', path, 'attachment', [...texts, ...sizes, ...shapes, 'x', 1, true, [], [file]])
  })

  test('is unchanged after all these requests', async () => {
    const [row] = (await asAdmin('GET', `users?id=eq.${ana.id}&select=name,bio,role,profiles(*)`)).body
    const { body: fresh } = await (await signUp('Fresh')).call('GET', '/users/me')
    const { id: _, user_id: __, Interests: ___, ...untouched } = fresh.Profile
    expect(row).toEqual({
      name: 'Ana',
      bio: null,
      role: 'user',
      profiles: { id: ana.profileId, user_id: ana.id, ...untouched },
    })
    expect((await ana.call('GET', `/conversations/${conversation}/messages`)).body).toHaveLength(1)
  })
})

describe('a request body', () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`

  test.each([
    ...['[]', 'null', '"text"', '5', 'true', '[{}]', '', ' ', '{', '{"a":}', "{'a': 1}", '{"a": 1} x', '{"a": NaN}'],
    ...['undefined', '{"a": "\\ud8"}', '{"a": "\u0001"}', '\0', 'a=1&b=2', '<a/>'],
  ])('cannot be %j', async (body) => {
    for (const [method, path] of routesWithBody()) expectRefusal(await sendJson(method, path, body), 400, path)
  })

  test('cannot be nested 20,000 deep, nor can a field', async () => {
    for (const [method, path, valid] of routesWithBody()) {
      for (const body of [deep, deep.slice(0, 20_000)]) expectRefusal(await sendJson(method, path, body), 400, path)
      for (const field of Object.keys(valid)) {
        expectRefusal(await sendJson(method, path, `{"${field}": ${deep}}`), 400, path)
      }
    }
    const attached = `{"content": "Hello", "attachment": {"url": ${deep}}}`
    expectRefusal(await sendJson('POST', `/conversations/${conversation}/messages`, attached), 400)
    expect((await sendJson('PATCH', '/users/profile', `{"unknown": ${deep}}`)).status).toBe(200)
  })

  test('uses the last of two duplicate keys', async () => {
    expectRefusal(await sendJson('PATCH', '/users/profile', '{"bio": "first", "bio": 5}'), 400)
    const { body } = await sendJson('PATCH', '/users/profile', '{"bio": "first", "bio": "second"}')
    expect(body.bio).toBe('second')
  })

  test('is not read through __proto__ or constructor', async () => {
    for (const [method, path, valid] of routesWithBody()) {
      if (path === '/users/profile') continue
      for (const key of ['__proto__', 'constructor', 'prototype']) {
        expectRefusal(await sendJson(method, path, `{"${key}": ${JSON.stringify(valid)}}`), 400, path)
      }
    }
    const polluted = '{"__proto__": {"bio": "Polluted"}, "constructor": {"prototype": {"bio": "Polluted"}}}'
    expect((await sendJson('PATCH', '/users/profile', polluted)).body.bio).not.toBe('Polluted')
    const climber = `{"email": "${uniqueEmail()}", "name": "Climber", "__proto__": {"role": "admin"}}`
    const { body } = await sendJson('POST', '/users', climber)
    expect(body.role).toBe('user')
    expect(await ben.call('GET', '/users/me')).toMatchObject({ status: 200, body: { bio: null } })
  })

  test('that is invalid UTF-8 does not cause an error 500', async () => {
    for (const bytes of [[0xff, 0xfe], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
      const body = Buffer.concat([Buffer.from('{"bio": "'), Buffer.from(bytes), Buffer.from('"}')])
      const { status } = await send('PATCH', '/users/profile', { token: ana.token, headers: json, body })
      expect([200, 400]).toContain(status)
    }
  })

  test.each([
    undefined,
    '',
    'text/plain',
    'text/json',
    'application/jsonx',
    'application/x-www-form-urlencoded',
    'x/json',
  ])(
    'of the type %s is refused',
    async (type) => {
      for (const [method, path, valid] of routesWithBody()) {
        const headers: Record<string, string> = type === undefined ? {} : { 'Content-Type': type }
        const body = JSON.stringify(valid)
        expectRefusal(await send(method, path, { token: ana.token, headers, body }), 415, path)
      }
    },
  )

  test('of type JSON is accepted with and without a charset', async () => {
    for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset=UTF-8']) {
      const sent = { token: ana.token, headers: { 'Content-Type': type }, body: '{"bio": "Read"}' }
      expect((await send('PATCH', '/users/profile', sent)).status).toBe(200)
    }
  })

  describe.each([['with a Content-Length', false], ['in chunks', true]])('%s', (_, chunked) => {
    const filled = (bytes: number) => `{"bio": "Long", "unknown": "${'x'.repeat(bytes - 30)}"}`
    const sized = (method: string, path: string, bytes: number) =>
      send(method, path, { token: ana.token, headers: json, body: filled(bytes), chunked })

    test('has at most 102,400 bytes', async () => {
      expect(filled(102_400)).toHaveLength(102_400)
      expect((await sized('PATCH', '/users/profile', 102_400)).status).toBe(200)
      expectRefusal(await sized('PATCH', '/users/profile', 102_401), 413)
    })

    test('of 1 MiB is refused on every route', async () => {
      for (const [method, path] of routesWithBody()) expectRefusal(await sized(method, path, 1_048_576), 413, path)
    })
  })

  test('is checked after the token: type, then size, then values', async () => {
    const large = `{"bio": 5, "unknown": "${'x'.repeat(102_400)}"`
    const path = '/users/profile'
    expectRefusal(await send('PATCH', path, { body: large, headers: { 'Content-Type': 'text/plain' } }), 401)
    const token = ana.token
    expectRefusal(await send('PATCH', path, { token, body: large, headers: { 'Content-Type': 'text/plain' } }), 415)
    expectRefusal(await send('PATCH', path, { token, body: large, headers: json }), 413)
    expectRefusal(await send('POST', '/conversations/x/messages', { token, body: '{}' }), 415)
    expectRefusal(await send('POST', '/conversations/2147483648/messages', { token, body: '{}', headers: json }), 400)
  })
})
