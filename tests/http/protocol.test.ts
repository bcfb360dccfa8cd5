/** What every operation of docs/openapi.json has in common: methods, headers, errors. */
import { readFileSync } from 'node:fs'
import { corsHeaders } from '@supabase/supabase-js/cors'
import { beforeAll, describe, expect, test } from 'vitest'
import { exampleRequest } from '../tools/example_requests.ts'
import { operations } from '../tools/openapi.ts'
import { type Answer, call, opaqueTag, openConversation, type Person, signUp, uniqueEmail } from '../tools/people.ts'

let ana: Person
let ben: Person
let conversation: number
beforeAll(async () => {
  ana = await signUp('Ana', { is_searchable: true })
  ben = await signUp('Ben')
  conversation = await openConversation(ana, ben)
})
const withIds = (path: string): string => exampleRequest({ path }).path
const codeOf = ({ status, headers }: Answer): string => `${status} ${headers.get('X-Error-Code')}`

describe('unknown routes', () => {
  test.each([
    ...['', '/', '/nothing', '/__proto__', '/constructor', '/rest/v1/users', '/openapi.json', '//', '/Users/me'],
    ...['/auth', '/auth/signin', '/auth/login/now', '/users/me/nothing', '/users/1/2', '/users/profile/interests/1'],
    ...['/conversations/1/2', '/conversations/1/messages/1/2', '/conversations/1/messages/1/read/now', '/health/x'],
  ])('"%s" is 404, with and without a token', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      for (const send of [call, ana.call]) {
        const answer = await send(method, path)
        expect(answer.headers.get('Content-Type')).toMatch(/^application\/json/)
        expect(answer.status).toBe(404)
        expect(answer.body.error).toMatch(/not found|no such/i)
      }
    }
  })
})

const paths = [...new Set(operations.map(({ path }) => path))].map((path) => ({
  path,
  methods: operations.filter((operation) => operation.path === path).map(({ method }) => method),
}))
test.each(paths)('at $path a wrong method gets 405 with Allow, before authentication', async ({ path, methods }) => {
  const allowed = [...methods, ...methods.includes('GET') ? ['HEAD'] : [], 'OPTIONS'].toSorted()
  const wrong = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => !methods.includes(method))
  for (const method of wrong) {
    for (const token of [undefined, 'garbage', ana.token]) {
      const answer = await call(method, withIds(path), undefined, { token })
      expect([method, codeOf(answer), answer.body])
        .toEqual([method, '405 method_not_allowed', { error: 'Method not allowed' }])
      expect(answer.headers.get('Allow')!.split(', ').toSorted()).toEqual(allowed)
    }
  }
})

const shown = ['Content-Type', 'Cache-Control', 'WWW-Authenticate', 'X-Content-Type-Options', 'X-Error-Code', 'Link']
const readable = operations.filter(({ method }) => method === 'GET')
test.each(readable)('HEAD $path returns the headers of GET without the body', async (operation) => {
  const subject = { user: ana.id, profile: ana.profileId, conversation, message: 1, reservation: 1 }
  const { path } = exampleRequest(operation, subject)
  for (const send of [call, ana.call]) {
    const [get, head] = [await send('GET', path), await send('HEAD', path)]
    expect([head.status, head.text, opaqueTag(head)]).toEqual([get.status, '', opaqueTag(get)])
    for (const name of shown) expect(head.headers.get(name)).toBe(get.headers.get(name))
    expect(head.headers.get('Content-Length')).toBeNull()
  }
})

describe('CORS', () => {
  const origin = { Origin: 'https://app.example' }
  const allows = ({ headers }: Answer) => ['*', origin.Origin].includes(headers.get('Access-Control-Allow-Origin')!)

  test.each(operations)('the preflight of $name succeeds without a token', async ({ method, path }) => {
    const names = ['idempotency-key', 'if-none-match', 'x-request-id', corsHeaders['Access-Control-Allow-Headers']]
    const asked = { 'Access-Control-Request-Method': method, 'Access-Control-Request-Headers': names.join() }
    const answer = await call('OPTIONS', withIds(path), undefined, { headers: { ...origin, ...asked } })
    expect([answer.status, answer.text, allows(answer)]).toEqual([204, '', true])
    expect(answer.headers.get('Access-Control-Allow-Methods')).toContain(method)
    const allowed = answer.headers.get('Access-Control-Allow-Headers')!.toLowerCase().split(/, */)
    expect(allowed).toEqual(expect.arrayContaining(names.join().split(/, */)))
  })

  const expectReadable = (answer: Answer, code: string) => {
    const { headers } = answer
    const exposed = headers.get('Access-Control-Expose-Headers')?.toLowerCase().split(/, */) ?? []
    const documented = operations.flatMap((operation) => Object.values(operation.headers).flatMap(Object.keys))
    const isHidden = (name: string) => !exposed.includes(name.toLowerCase()) && name !== 'Allow'
    expect({
      code: codeOf(answer),
      allowed: allows(answer),
      hidden: documented.filter(isHidden),
      sniffing: headers.get('X-Content-Type-Options'),
      traceable: headers.has('X-Request-Id'),
    }).toEqual({ code, allowed: true, hidden: [], sniffing: 'nosniff', traceable: true })
    if (answer.status >= 400) expect(headers.get('Cache-Control')).toContain('no-store')
  }

  test('answers and errors are readable, with the documented headers, and errors have their code', async () => {
    const send = (method: string, path: string, body?: unknown, token?: string, type = 'application/json') =>
      call(method, path, body, { token, headers: { ...origin, 'Content-Type': type } })
    const leaver = await signUp('Leaver')
    const hidden = await signUp('Hidden')
    const credentials = { email: ana.email, password: 'wrong horse' }
    const answers: [string, Promise<Answer>][] = [
      ['200 null', send('GET', '/users/me', undefined, ana.token)],
      ['201 null', send('POST', '/users', { email: uniqueEmail(), name: 'Ben' })],
      ['204 null', send('POST', '/auth/logout', undefined, leaver.token)],
      ['400 invalid', send('POST', '/auth/login', {})],
      ['401 unauthorized', send('GET', '/users/me')],
      ['401 unauthorized', send('POST', '/auth/refresh', { refresh_token: 'x' })],
      ['401 invalid_credentials', send('POST', '/auth/login', credentials)],
      ['403 not_public', send('GET', `/users/${hidden.profileId}`)],
      ['404 not_found', send('GET', '/users/2147483648')],
      ['404 not_found', send('GET', '/nothing')],
      ['405 method_not_allowed', send('PUT', '/users/me')],
      ['409 email_taken', send('POST', '/users', { email: ana.email, name: 'Ana' })],
      ['413 too_large', send('POST', '/users', { name: 'x'.repeat(102_400) })],
      ['415 unsupported_media_type', send('POST', '/users', {}, undefined, 'text/plain')],
    ]
    for (const [code, answer] of answers) expectReadable(await answer, code)
  })

  test('a 304 is readable', async () => {
    const path = `/users/${ana.profileId}`
    const headers = { ...origin, 'If-None-Match': (await call('GET', path)).headers.get('ETag')! }
    expectReadable(await call('GET', path, undefined, { headers }), '304 null')
    const head = await call('HEAD', path, undefined, { headers })
    expectReadable(head, '304 null')
    expect(head.headers.get('Content-Length')).not.toBe('0')
  })
})

describe('a refusal names every field that is wrong', () => {
  const errorOf = async (method: string, path: string, body?: unknown) =>
    (await ana.call(method, path.replace('{id}', `${conversation}`), body)).body.error
  const reservations = '/conversations/{id}/reservations'
  const messages = '/conversations/{id}/messages'

  test('and those that are missing, or not known where nothing else may be', async () => {
    expect(await errorOf('POST', reservations, {})).toBe('title: is missing; price: is missing; date: is missing')
    expect(await errorOf('POST', reservations, { titel: 'Two nights', price: -1, date: 'soon', ends_at: null })).toBe(
      'title: is missing; price: must be 0 to 100,000; date: must be an ISO 8601 timestamp with its offset; ' +
        'titel: is not known',
    )
    expect(await errorOf('POST', messages, { text: 'Hello' })).toBe(
      'content: must not be blank unless there is an attachment',
    )
    expect(await errorOf('PATCH', '/users/profile', { age: 'old', citty: 'Rome', country: 1 }))
      .toBe('age: must be a number; country: must be text')
    expect(await errorOf('PATCH', '/users/profile', { age: 30.5, is_searchable: 'yes', interest_ids: 1 }))
      .toBe('age: must be an integer; is_searchable: must be true or false; interest_ids: must be a list')
    expect(await errorOf('GET', '/users/search?highlight=yes')).toBe('highlight: must be true or false')
  })

  test('but repeats nothing that is no name, and not without end', async () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, number) => [`key${number}`, 1]))
    expect((await errorOf('POST', reservations, many)).split('; ')).toHaveLength(10)
    expect(await errorOf('POST', reservations, { '<b>': 1, ['x'.repeat(41)]: 1, content: '' })).not.toMatch(/<b>|xx/)
  })
})

describe('X-Request-Id', () => {
  const idsOf = async (given?: string) => {
    const headers: Record<string, string> = given === undefined ? {} : { 'X-Request-Id': given }
    const paths = ['/health', '/users/me', '/nothing', '/users/0', `/users/${ana.profileId}`]
    const answers = await Promise.all(paths.map((path) => call('GET', path, undefined, { headers })))
    return answers.map((answer) => answer.headers.get('X-Request-Id'))
  }

  test('is generated for every request', async () => {
    const made = [...await idsOf(), ...await idsOf()]
    expect(new Set(made).size).toBe(10)
    for (const id of made) expect(id).toMatch(/^[\w-]{8,}$/)
  })

  test.each(['abc-123', '6c35ecc9-ffcb-448e-a5c8-c3bae696a3ce', 'A_b'])('is echoed if it is %s', async (given) => {
    expect(await idsOf(given)).toEqual(Array(5).fill(given))
  })

  test.each(['', 'a b', 'é', '<script>', '"quoted"', "1'--", 'a\tb', 'x'.repeat(1000)])(
    'is replaced if it is malformed: %s',
    async (given) => {
      for (const id of await idsOf(given)) expect(id).toMatch(/^[\w-]{8,64}$/)
    },
  )

  test('is the trace id of a traceparent, unless one is given or that is none', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    const idOf = async (headers: Record<string, string>) =>
      (await call('GET', '/users/interests', undefined, { headers })).headers.get('X-Request-Id')
    expect(await idOf({ traceparent })).toBe('4bf92f3577b34da6a3ce929d0e0e4736')
    expect(await idOf({ traceparent, 'X-Request-Id': 'mine' })).toBe('mine')
    expect(await idOf({ traceparent: `${traceparent}; drop` })).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('the document', () => {
  const published = JSON.parse(readFileSync('docs/openapi.json', 'utf8'))
  const names = [...new Set(operations.map(({ path }) => path.split('/')[1]!))]
  const outline = (paths: Record<string, Record<string, { responses: object; security?: object[] }>>, name: string) =>
    Object.entries(paths).filter(([path]) => path.split('/')[1] === name).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { responses, security = [] }]) => [
        ...[method, path.replace(/\{\w+\}/g, '{}'), Object.keys(responses).toSorted()],
        security,
      ])
    ).toSorted()

  test.each(names)('of /%s is public, and part of the one of the repository', async (name) => {
    const { status, body } = await call('GET', `/${name}/openapi.json`)
    expect([status, body.openapi]).toEqual([200, expect.stringMatching(/^3\.1\.\d+$/)])
    expect(body.info).toMatchObject({ title: expect.any(String), version: expect.any(String) })
    expect(outline(body.paths, name)).toEqual(outline(published.paths, name))
    for (const [, reference] of JSON.stringify(body).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      // deno-lint-ignore no-explicit-any
      expect(reference!.split('/').reduce((node: any, key) => node?.[key], body), reference).toBeTypeOf('object')
    }
  })

  test('promises to everybody an answer, to callers a 401, and to all a Retry-After', () => {
    for (const { name, path, answers, token, parameters, headers } of operations) {
      const codes = Object.keys(answers)
      expect([name, ...codes]).toEqual(expect.arrayContaining(['400', '405', '429', '500', '503']))
      expect([name, codes.some((code) => /^2\d\d$/.test(code))]).toEqual([name, true])
      expect([name, codes.includes('401')])
        .toEqual([name, token === 'needed' || ['/auth/login', '/auth/refresh'].includes(path)])
      expect(parameters.filter((one) => one.in === 'path')).toHaveLength(path.split('{').length - 1)
      expect(headers[429]).toHaveProperty('Retry-After')
    }
  })
})
