import { corsHeaders } from '@supabase/supabase-js/cors'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Answer, call, opaqueTag, openConversation, type Person, signUp, uniqueEmail } from '../tools/people.ts'

const allMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Every documented path with its methods; * marks those that need no token. */
const addresses: [path: string, ...methods: string[]][] = [
  ['/auth/signup', 'POST*'],
  ['/auth/login', 'POST*'],
  ['/auth/refresh', 'POST*'],
  ['/auth/logout', 'POST'],
  ['/auth/recover', 'POST*'],
  ['/users', 'POST*'],
  ['/users/me', 'GET', 'DELETE'],
  ['/users/me/export', 'GET'],
  ['/users/me/blocks', 'GET'],
  ['/users/me/blocks/{user_id}', 'PUT', 'DELETE'],
  ['/users/profile', 'PATCH'],
  ['/users/profile/interests', 'PUT'],
  ['/users/searchable', 'PATCH'],
  ['/users/interests', 'GET*'],
  ['/users/{id}', 'GET*'],
  ['/conversations', 'GET', 'POST'],
  ['/conversations/unread', 'GET'],
  ['/conversations/{id}', 'GET'],
  ['/conversations/{id}/messages', 'GET', 'POST'],
  ['/conversations/{id}/messages/{messageId}/read', 'PATCH'],
  ['/conversations/{id}/read', 'POST'],
]
const routes = addresses.flatMap(([path, ...methods]) =>
  methods.map((method): [string, string, boolean] => [method.replace('*', ''), path, !method.endsWith('*')])
)
const withIds = (path: string): string => path.replace(/\{\w+\}/g, '1')

const expectRefusal = ({ status, body, headers }: Answer, expected: number) => {
  expect({ status, body }).toEqual({ status: expected, body: { error: expect.any(String) } })
  expect(headers.get('Content-Type')).toMatch(/^application\/json/)
}

let ana: Person
let conversation: number
beforeAll(async () => {
  ana = await signUp('Ana', { is_searchable: true })
  conversation = await openConversation(ana, await signUp('Ben'))
})

describe('unknown routes', () => {
  test.each([
    ...['', '/', '/nothing', '/__proto__', '/constructor', '/rest/v1/users', '/openapi.json', '//', '/Users/me'],
    ...['/auth', '/auth/signin', '/auth/login/now', '/users/me/nothing', '/users/1/2', '/users/profile/interests/1'],
    ...['/conversations/1/2', '/conversations/1/messages/1', '/conversations/1/messages/1/read/now', '/health/x'],
  ])('"%s" is 404, with and without a token', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      expectRefusal(await call(method, path), 404)
      expectRefusal(await ana.call(method, path), 404)
    }
  })

  test.each(addresses)(
    'at %s a wrong method gets 405 with Allow, before authentication',
    async (...at) => {
      const [path, ...allowed] = at.map((part) => part.replace('*', ''))
      for (const method of allMethods.filter((method) => !allowed.includes(method))) {
        for (const token of [undefined, 'garbage', ana.token]) {
          const answer = await call(method, withIds(path!), undefined, { token })
          expectRefusal(answer, 405)
          const allow = answer.headers.get('Allow')?.split(/, */) ?? []
          expect(allow).toEqual(expect.arrayContaining(allowed))
          expect(allow).not.toContain(method)
          expect(answer.headers.get('X-Error-Code')).toBe('method_not_allowed')
        }
      }
    },
  )
})

test('HEAD returns the headers of GET without the body', async () => {
  const paths = [
    ...['/users/me', '/users/interests', `/users/${ana.profileId}`, '/users/openapi.json', '/health'],
    ...['/conversations', '/conversations/unread', `/conversations/${conversation}/messages`],
    ...['/users/0', '/users/2147483648', '/conversations/2147483648', '/nothing'],
  ]
  const shown = ['Content-Type', 'Cache-Control', 'WWW-Authenticate', 'X-Content-Type-Options']
  for (const path of paths) {
    for (const send of [call, ana.call]) {
      const get = await send('GET', path)
      const head = await send('HEAD', path)
      expect({ path, status: head.status, text: head.text }).toEqual({ path, status: get.status, text: '' })
      for (const name of shown) expect(head.headers.get(name)).toBe(get.headers.get(name))
      expect(opaqueTag(head)).toBe(opaqueTag(get))
      // Other tests can change two of these in between, and Supabase's runtime compresses the bodies of GET.
      const size = ['/health', '/users/interests'].includes(path) || get.headers.has('Content-Encoding')
        ? expect.stringMatching(/^[1-9]/)
        : get.headers.get('Content-Length')
      expect({ path, size: head.headers.get('Content-Length') }).toEqual({ path, size })
    }
  }
})

test('HEAD of the export says no length', async () => {
  const { status, headers } = await ana.call('HEAD', '/users/me/export')
  expect({ status, length: headers.get('Content-Length') }).toEqual({ status: 200, length: null })
})

test('malformed percent-encoding is 400, and 401 without a token', async () => {
  for (const part of ['%ff', '%', '%zz', '%ED%A0%80', 'x%c3']) {
    const path = `/users/me/reservations?before_id=${part}`
    expectRefusal(await ana.call('GET', path), 400)
    expect((await ana.call('GET', path)).body.error).toMatch(/encoded/)
    expectRefusal(await call('GET', path), 401)
    expectRefusal(await call('GET', `/users/search?q=${part}`), 400)
    expect((await call('GET', `/users/${part}`)).body.error).toMatch(/encoded/)
  }
  expect((await call('GET', '/users/search?q=%c3%a9%25')).body.query).toBe('é%')
})

test('a repeated parameter is refused in plain words', async () => {
  for (const name of ['limit', 'from', 'status', 'before_id']) {
    const { status, body } = await ana.call('GET', `/users/me/reservations?${name}=1&${name}=2`)
    expect({ status, body }).toEqual({ status: 400, body: { error: `${name}: is given more than once` } })
  }
  const { body } = await call('GET', `/users/search?filterCity=${'a,'.repeat(51)}&filterCity=b`)
  expect(body.error).toBe('filterCity: must name at most 50 values')
})

describe('CORS', () => {
  const origin = { Origin: 'https://app.example' }
  const allows = ({ headers }: Answer) => ['*', origin.Origin].includes(headers.get('Access-Control-Allow-Origin')!)

  test.each(routes)('the preflight of %s %s succeeds without a token', async (method, path) => {
    const requestedHeaders = [
      ...['idempotency-key', 'if-none-match', 'x-request-id'],
      ...corsHeaders['Access-Control-Allow-Headers']!.split(', '),
    ].join()
    const preflight = { 'Access-Control-Request-Method': method, 'Access-Control-Request-Headers': requestedHeaders }
    const answer = await call('OPTIONS', withIds(path), undefined, { headers: { ...origin, ...preflight } })
    expect({ status: answer.status, text: answer.text, allowed: allows(answer) })
      .toEqual({ status: 204, text: '', allowed: true })
    expect(answer.headers.get('Access-Control-Allow-Methods')).toContain(method)
    const named = answer.headers.get('Access-Control-Allow-Headers')!.toLowerCase().split(/, */)
    expect(named).toEqual(expect.arrayContaining(requestedHeaders.split(',')))
  })

  const expectReadable = (answer: Answer, status: number) => {
    const { headers } = answer
    const exposed = headers.get('Access-Control-Expose-Headers')?.toLowerCase().split(/, */) ?? []
    const wanted = ['etag', 'idempotency-replayed', 'link', 'retry-after', 'www-authenticate', 'x-request-id']
      .concat('x-error-code')
    expect({
      status: answer.status,
      allowed: allows(answer),
      hidden: wanted.filter((name) => !exposed.includes(name)),
      sniffing: headers.get('X-Content-Type-Options'),
      traceable: headers.has('X-Request-Id'),
    }).toEqual({ status, allowed: true, hidden: [], sniffing: 'nosniff', traceable: true })
  }

  test('responses and errors are readable, with the documented headers', async () => {
    const headers = origin
    const answers = [
      [200, await ana.call('GET', '/users/me', undefined, { headers })],
      [201, await call('POST', '/users', { email: uniqueEmail(), name: 'Ben' }, { headers })],
      [204, await (await signUp('Leaver')).call('POST', '/auth/logout', undefined, { headers })],
      [400, await call('POST', '/auth/login', {}, { headers })],
      [401, await call('GET', '/users/me', undefined, { headers })],
      [403, await call('GET', `/users/${(await signUp('Hidden')).profileId}`, undefined, { headers })],
      [404, await call('GET', '/users/2147483648', undefined, { headers })],
      [404, await call('GET', '/nothing', undefined, { headers })],
      [405, await call('PUT', '/users/me', undefined, { headers })],
      [409, await call('POST', '/users', { email: ana.email, name: 'Ana' }, { headers })],
      [413, await call('POST', '/users', { name: 'x'.repeat(102_400) }, { headers })],
      [415, await call('POST', '/users', {}, { headers: { ...headers, 'Content-Type': 'text/plain' } })],
    ] as const
    for (const [status, answer] of answers) expectReadable(answer, status)
  })

  test('a 304 is readable', async () => {
    const path = `/users/${ana.profileId}`
    const tag = (await call('GET', path)).headers.get('ETag')!
    const headers = { ...origin, 'If-None-Match': tag }
    expectReadable(await call('GET', path, undefined, { headers }), 304)
    const head = await call('HEAD', path, undefined, { headers })
    expectReadable(head, 304)
    expect(head.headers.get('Content-Length')).not.toBe('0')
  })
})

describe('a refusal names every field that is wrong', () => {
  let ana: Person
  let conversation: number
  beforeAll(async () => {
    const [one, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
    ana = one
    conversation = await openConversation(ana, ben)
  })
  const errorOfBody = async (end: string, body: unknown) =>
    (await ana.call('POST', `/conversations/${conversation}/${end}`, body)).body.error

  test('and those that are missing or not known', async () => {
    expect(await errorOfBody('reservations', {})).toBe('title: is missing; price: is missing; date: is missing')
    expect(await errorOfBody('reservations', { titel: 'Two nights', price: -1, date: 'soon', ends_at: null })).toBe(
      'title: is missing; price: must be 0 to 100,000; date: must be an ISO 8601 timestamp with its offset; ' +
        'titel: is not known; did you mean title?',
    )
    expect(await errorOfBody('messages', { text: 'Hello' }))
      .toBe('content: must not be blank unless there is an attachment; text: is not known')
    expect((await ana.call('PATCH', '/users/profile', { age: 'old', citty: 'Rome', country: 1 })).body.error)
      .toMatch(/^(city|country|age): .+; (country|age): .+; citty: is not known; did you mean city\?$/)
    expect((await ana.call('GET', '/users/search?limt=3&offset=x')).body.error)
      .toBe('offset: must be a non-negative integer; limt: is not known; did you mean limit?')
  })

  test('as whose it is to be, and in which state', async () => {
    const offer = { title: 'Chess', price: 0, date: '2036-06-01T12:00:00Z' }
    for (const key of ['offered_by', 'status', 'conversation_id']) {
      expect(await errorOfBody('reservations', { ...offer, [key]: 1 })).toBe(`${key}: is not known`)
    }
    const report = { user_id: 1, reason: 'other', reporter_id: 2 }
    expect((await ana.call('POST', '/users/me/reports', report)).body.error).toBe('reporter_id: is not known')
  })

  test('but repeats nothing that is no name, and not without end', async () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, number) => [`key${number}`, 1]))
    expect((await errorOfBody('messages', many)).split('; ')).toHaveLength(10)
    expect(await errorOfBody('messages', { '<b>': 1, ['x'.repeat(41)]: 1, content: '' })).not.toMatch(/<b>|xx/)
  })

  test('a body of the contract may have other keys', async () => {
    expect((await ana.call('POST', `/conversations/${conversation}/messages`, { content: 'Hello', text: 1 })).status)
      .toBe(201)
  })
})

describe('X-Request-Id', () => {
  const paths = () => ['/health', '/users/me', '/nothing', '/users/0', `/users/${ana.profileId}`]
  const idOf = async (path: string, given?: string) => {
    const { headers } = await call('GET', path, undefined, {
      headers: given === undefined ? {} : { 'X-Request-Id': given },
    })
    return headers.get('X-Request-Id')
  }

  test('is generated for every request', async () => {
    const made = await Promise.all([...paths(), ...paths()].map((path) => idOf(path)))
    expect(new Set(made).size).toBe(made.length)
    for (const id of made) expect(id).toMatch(/^[\w-]{8,}$/)
  })

  test.each(['abc-123', '6c35ecc9-ffcb-448e-a5c8-c3bae696a3ce', 'A_b'])('is echoed if it is %s', async (given) => {
    for (const path of paths()) expect(await idOf(path, given)).toBe(given)
  })

  test.each(['', 'a b', 'é', '<script>', '"quoted"', "1'--", 'a\tb', 'x'.repeat(1000)])(
    'is replaced if it is malformed: %s',
    async (given) => {
      for (const path of paths()) expect(await idOf(path, given)).toMatch(/^[\w-]{8,64}$/)
    },
  )
})

describe('Cache-Control', () => {
  test('forbids caching private responses', async () => {
    const secret = { email: ana.email, password: ana.password }
    const answers = [
      await ana.call('GET', '/users/me'),
      await ana.call('PATCH', '/users/profile', { bio: 'Walks' }),
      await ana.call('PUT', '/users/profile/interests', { interest_ids: [] }),
      await ana.call('PATCH', '/users/searchable', { is_searchable: true }),
      await ana.call('GET', '/users/me/export'),
      await ana.call('GET', '/users/me/blocks'),
      await ana.call('GET', '/conversations'),
      await ana.call('GET', '/conversations/unread'),
      await ana.call('GET', `/conversations/${conversation}`),
      await ana.call('GET', `/conversations/${conversation}/messages`),
      await ana.call('POST', `/conversations/${conversation}/messages`, { content: 'Hello' }),
      await call('POST', '/auth/login', secret),
      await call('POST', '/users', { email: uniqueEmail(), name: 'Ben' }),
      await call('POST', '/auth/recover', { email: uniqueEmail() }),
    ]
    for (const { status, headers } of answers) {
      expect({ ok: status < 300, cached: headers.get('Cache-Control') })
        .toEqual({ ok: true, cached: expect.stringContaining('no-store') })
    }
  })

  test('forbids caching errors', async () => {
    for (const path of ['/users/me', '/users/0', '/users/2147483648', '/nothing', '/auth/login', '/conversations']) {
      const { status, headers } = await call('GET', path)
      expect(status).toBeGreaterThanOrEqual(400)
      expect(headers.get('Cache-Control')).toContain('no-store')
    }
  })
})

describe.each(['auth', 'users', 'conversations'])('/%s/openapi.json', (name) => {
  // deno-lint-ignore no-explicit-any
  let document: any
  const ownRoutes = routes.filter(([, path]) => path.split('/')[1] === name)
  const withoutNames = (path: string): string => path.replace(/\{\w+\}/g, '{}')
  const operation = (method: string, path: string) => {
    const found = Object.keys(document.paths).find((other) => withoutNames(other) === withoutNames(path))
    return found && document.paths[found][method.toLowerCase()]
  }

  beforeAll(async () => {
    const { status, body } = await call('GET', `/${name}/openapi.json`)
    expect(status).toBe(200)
    document = body
  })

  test('is a public OpenAPI 3.1 document', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/)
    expect(document.info).toMatchObject({ title: expect.any(String), version: expect.any(String) })
  })

  test.each(ownRoutes)('describes %s %s', (method, path, needsToken) => {
    const described = operation(method, path)
    expect(Object.keys(described.responses)).toEqual(expect.arrayContaining(['500']))
    expect(Object.keys(described.responses).some((status) => /^2\d\d$/.test(status))).toBe(true)
    expect(Boolean(described.security?.length)).toBe(needsToken)
    expect('401' in described.responses).toBe(needsToken || ['/auth/login', '/auth/refresh'].includes(path))
    const inPath = (described.parameters ?? []).filter((parameter: { in: string }) => parameter.in === 'path')
    expect(inPath).toHaveLength((path.match(/\{/g) ?? []).length)
    const bodiless = ['GET', 'DELETE'].includes(method) ||
      ['/auth/logout', '/users/me/blocks/{user_id}'].includes(path) ||
      path.includes('{messageId}')
    expect(described.responses['429']).toEqual({ $ref: '#/components/responses/rate_limited' })
    expect(document.components.responses.rate_limited.headers).toHaveProperty('Retry-After')
    expect('requestBody' in described).toBe(!bodiless)
  })

  test('has no dangling references', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) =>
      path!.split('/')
    )
    expect(references.length).toBeGreaterThan(0)
    for (const reference of references) {
      expect(reference.reduce((node, key) => node?.[key], document)).toBeTypeOf('object')
    }
  })
})
