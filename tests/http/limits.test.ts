import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { describe, expect, test } from 'vitest'
import { databaseUrl, useStack } from '../tools/own_stack.ts'
import { type Answer, call, uniqueEmail } from '../tools/people.ts'
import { testKeys } from '../tools/stack.ts'
import { pause } from '../tools/wait.ts'

const password = 'correct horse'
const rates = {
  RATE_LIMIT_SEND: '30/6000/5',
  RATE_LIMIT_OPEN: '3/6000',
  RATE_LIMIT_RESERVE: '4/6000',
  RATE_LIMIT_REPORT: '3/6000',
  RATE_LIMIT_SEARCH: '2/4',
  RATE_LIMIT_SEARCH_ANONYMOUS: '4/6000',
  RATE_LIMIT_SIGNUP: '2/6000',
  RATE_LIMIT_LOGIN: '3/6000',
  RATE_LIMIT_REFRESH: '3/6000',
  RATE_LIMIT_RECOVER: '2/6000',
  RATE_LIMIT_PROFILE: '4/6000',
  RATE_LIMIT_STATE: '3/6000',
  RATE_LIMIT_BLOCK: '4/6000',
  RATE_LIMIT_EXPORT: '2/6000',
  // The tests act as the proxy before the gateway, so they can choose the client address.
  TRUSTED_PROXIES: '2',
}

const stack = useStack({ ...rates, ...(databaseUrl && { DATABASE_URL: databaseUrl }) })

type Options = Parameters<typeof call>[3]
const request = (method: string, path: string, body?: unknown, options?: Options) =>
  call(method, stack.base + path, body, options)
const from = (address: string, spoofed = '') => ({ headers: { 'X-Forwarded-For': `${spoofed}${address}` } })

let count = 0
/** An unused address of a network for documentation. */
const freshAddress = () => `203.0.${process.pid % 256}.${count++}`

interface Limited {
  id: number
  email: string
  token: string
}
/** A user, created with the secret key, which has no rate limit. */
const person = async (): Promise<Limited> => {
  const account = { email: uniqueEmail(), password, name: 'Limited' }
  const made = await request('POST', '/users', account, { headers: { apikey: testKeys.secretKey } })
  const { body } = await logIn(account.email, from(freshAddress()))
  return { id: made.body.id, email: account.email, token: body.access_token }
}
const logIn = (email: string, options: Options, secret = password) =>
  request('POST', '/auth/login', { email, password: secret }, options)
const open = (who: Limited, other: number) =>
  request('POST', '/conversations', { other_user_id: other }, { token: who.token })
const send = (who: Limited, conversation: number, client_id?: string) =>
  request('POST', `/conversations/${conversation}/messages`, { content: 'Hello', client_id }, { token: who.token })
const search = (options: Options) => request('GET', '/users/search?limit=1', undefined, options)
const signUp = (options: Options, email = uniqueEmail()) =>
  request('POST', '/auth/signup', { email, password, name: 'Newcomer' }, options)

const statuses = (answers: Answer[]) => answers.map(({ status }) => status).toSorted()
const times = (length: number, request: () => Promise<Answer>) => Promise.all(Array.from({ length }, request))
const several = (length: number, status: number) => Array<number>(length).fill(status)

/** Expects 429 with a whole number of seconds in Retry-After. */
const expectLimited = ({ status, body, headers }: Answer, maxSeconds: number) => {
  expect({ status, body }).toEqual({ status: 429, body: { error: expect.any(String) } })
  expect(headers.get('Retry-After')).toMatch(/^[1-9]\d*$/)
  expect(Number(headers.get('Retry-After'))).toBeLessThanOrEqual(maxSeconds)
  expect(headers.get('Cache-Control')).toContain('no-store')
}

test('of 50 concurrent messages exactly the burst is sent', async () => {
  const [ana, ben] = await Promise.all([person(), person()])
  const { body: { id } } = await open(ana, ben.id)
  const answers = await times(50, () => send(ana, id, randomUUID()))
  expect(statuses(answers)).toEqual([...several(5, 201), ...several(45, 429)])
  for (const answer of answers.filter(({ status }) => status === 429)) expectLimited(answer, 200)
  const { body } = await request('GET', `/conversations/${id}/messages`, undefined, { token: ben.token })
  expect(body).toHaveLength(5)
})

test('each sender has a rate limit of their own', async () => {
  const [ana, ben] = await Promise.all([person(), person()])
  const { body: { id } } = await open(ana, ben.id)
  expect(statuses(await times(6, () => send(ana, id)))).toEqual([...several(5, 201), 429])
  expect(statuses(await times(6, () => send(ben, id)))).toEqual([...several(5, 201), 429])
})

test('a retry with the same client_id is replayed and not counted', async () => {
  const [ana, ben] = await Promise.all([person(), person()])
  const { body: { id } } = await open(ana, ben.id)
  const clientId = randomUUID()
  const first = await send(ana, id, clientId)
  for (const again of await times(20, () => send(ana, id, clientId))) {
    expect(again.headers.get('Idempotency-Replayed')).toBe('true')
    expect(again.text).toBe(first.text)
  }
  expect(statuses(await times(5, () => send(ana, id)))).toEqual([...several(4, 201), 429])
  expect((await send(ana, id, clientId)).status).toBe(201)
  expectLimited(await send(ana, id, randomUUID()), 200)
})

test.each(['messages', 'reservations', 'reports'])('a used client_id with another payload counts: %s', async (kind) => {
  const [ana, ben] = await Promise.all([person(), person()])
  const { body: { id } } = await open(ana, ben.id)
  const client_id = randomUUID()
  const write = (text: string) => {
    if (kind === 'messages') return request('POST', `/conversations/${id}/messages`, { content: text, client_id }, ana)
    if (kind === 'reports') {
      return request('POST', '/users/me/reports', { user_id: ben.id, reason: 'spam', note: text, client_id }, ana)
    }
    const draft = { title: text, price: 5, date: '2036-06-01T12:00:00Z', client_id }
    return request('POST', `/conversations/${id}/reservations`, draft, ana)
  }
  const first = await write('One')
  expect(first.status).toBe(201)
  const burst = { messages: 5, reservations: 4, reports: 3 }[kind]!
  expect(statuses(await times(20, () => write('Two')))).toEqual([
    ...several(burst - 1, 422),
    ...several(21 - burst, 429),
  ])
  expect((await write('One')).text).toBe(first.text)
})

test('states are limited', async () => {
  const [ana, ben] = await Promise.all([person(), person()])
  const { body: { id } } = await open(ana, ben.id)
  const pin = () => request('PUT', `/conversations/${id}/state`, { pinned: true }, ana)
  expect(statuses(await times(5, pin))).toEqual([...several(3, 200), ...several(2, 429)])
  expectLimited(await pin(), 2000)
})

test('invalid messages are not counted; messages to an unknown conversation are', async () => {
  const [ana, ben] = await Promise.all([person(), person()])
  const { body: { id } } = await open(ana, ben.id)
  const blank = () => request('POST', `/conversations/${id}/messages`, { content: ' ' }, { token: ana.token })
  expect(statuses(await times(10, blank))).toEqual(several(10, 400))
  expect((await request('POST', `/conversations/${id}/messages`, { content: 'Hello' })).status).toBe(401)
  expect((await send(ana, 2_147_483_648)).status).toBe(404)
  expect(statuses(await times(5, () => send(ana, id)))).toEqual([...several(4, 201), 429])
  expect((await blank()).status).toBe(400)
})

test('of 50 concurrent messages that fail exactly the burst is counted', async () => {
  const ana = await person()
  const answers = await times(50, () => send(ana, 2_147_483_648, randomUUID()))
  expect(statuses(answers)).toEqual([...several(5, 404), ...several(45, 429)])
  for (const answer of answers.filter(({ status }) => status === 429)) expectLimited(answer, 200)
})

test('opening conversations is limited, and unknown ids count', async () => {
  const [ana, ben] = await Promise.all([person(), person()])
  expect((await open(ana, ben.id)).status).toBe(201)
  expect((await open(ana, ben.id)).status).toBe(409)
  expect((await open(ana, 2_147_483_648)).status).toBe(404)
  expectLimited(await open(ana, (await person()).id), 2000)
  expect((await request('GET', '/conversations', undefined, { token: ana.token })).status).toBe(200)
})

test('offers and steps of reservations share a limit; a repeat with the same client_id is not counted', async () => {
  const [ana, ben] = await Promise.all([person(), person()])
  const { body: { id } } = await open(ana, ben.id)
  const path = `/conversations/${id}/reservations`
  const draft = { title: 'A walk', price: 5, date: '2036-06-01T12:00:00Z' }
  const client_id = randomUUID()
  const offer = (body: object) => request('POST', path, body, ana)
  const first = (await times(6, () => offer({ ...draft, client_id }))).find(({ status }) => status === 201)
  const { id: rid } = first!.body
  // Those of the six that came before the first was stored have been counted, so one or two may have been limited.
  const changes = [
    () => request('PATCH', `${path}/${rid}`, { price: 6 }, ana),
    () => request('POST', `${path}/${rid}/complete`, {}, ana),
    () => request('POST', `${path}/${rid}/cancel`, {}, ana),
    () => offer(draft),
  ]
  for (const change of changes) await change()
  for (const change of changes) expectLimited(await change(), 6000)
  expect((await offer({ ...draft, client_id })).text).toBe(first!.text)
  expect((await request('GET', `${path}/${rid}`, undefined, ana)).status).toBe(200)
  // Each person has a limit of their own.
  expect(statuses(await times(5, () => request('POST', `${path}/${rid}/complete`, {}, ben))))
    .toEqual([...several(4, 409), 429])
})

test('reports are limited; a repeat with the same client_id is not counted', async () => {
  const [ana, ben] = await Promise.all([person(), person()])
  const client_id = randomUUID()
  const report = (who: Limited, fields: object) =>
    request('POST', '/users/me/reports', { reason: 'spam', ...fields }, { token: who.token })
  const first = await report(ana, { user_id: ben.id, client_id })
  for (const { text } of await times(5, () => report(ana, { user_id: ben.id, client_id }))) {
    expect(text).toBe(first.text)
  }
  expect((await report(ana, { user_id: 2 ** 40 })).status).toBe(404)
  expect((await report(ana, { user_id: ben.id })).status).toBe(200)
  expectLimited(await report(ana, { user_id: ben.id }), 2000)
  expect((await report(ana, { user_id: ben.id, client_id })).text).toBe(first.text)
  expect((await request('GET', '/users/me/reports', undefined, ana)).body).toHaveLength(1)
  expect((await report(ben, { user_id: ana.id })).status).toBe(201)
})

test('a client that waits for Retry-After is allowed again', async () => {
  const ana = await person()
  const answers = await times(10, () => search({ token: ana.token }))
  expect(statuses(answers)).toEqual([200, 200, ...several(8, 429)])
  const wait = Math.max(...answers.map(({ headers }) => Number(headers.get('Retry-After'))))
  expect(wait).toBeGreaterThanOrEqual(1)
  expect(wait).toBeLessThanOrEqual(2)
  await pause(wait * 1000)
  expect(statuses(await times(5, () => search({ token: ana.token })))).toEqual([200, ...several(4, 429)])
})

describe('anonymous clients are limited by address', () => {
  test('each address has a limit of its own, also for 50 concurrent searches', async () => {
    const [here, there] = [freshAddress(), freshAddress()]
    expect(statuses(await times(50, () => search(from(here))))).toEqual([...several(4, 200), ...several(46, 429)])
    expect((await search(from(there))).status).toBe(200)
  })

  test('completions count as searches', async () => {
    const { token } = await person()
    const complete = () => request('GET', '/users/search/complete?q=a', undefined, { token })
    expect((await search({ token })).status).toBe(200)
    expect(statuses(await times(2, complete))).toEqual([200, 429])
    expectLimited(await search({ token }), 1500)
  })

  test('spoofed hops in X-Forwarded-For change nothing', async () => {
    const here = freshAddress()
    const answers = []
    for (let index = 0; index < 6; index++) answers.push(await search(from(here, `198.51.100.${index}, `)))
    expect(statuses(answers)).toEqual([...several(4, 200), 429, 429])
  })

  test('an invalid token counts as no token', async () => {
    const here = freshAddress()
    expect(statuses(await times(5, () => search({ ...from(here), token: 'garbage' })))).toEqual([
      ...several(4, 200),
      429,
    ])
  })

  test('an IPv6 client is its /64, however the address is written', async () => {
    const net = `2001:db8:${(process.pid % 65_536).toString(16)}:${count++}`
    const written = [
      `${net}::1`,
      `${net.toUpperCase()}:0:0:0:1`,
      `${net}:ffff:1:2:3`,
      `${net}::203.0.113.1`,
      `${net}::9`,
    ]
    const answers = []
    for (const address of written) answers.push(await search(from(address)))
    expect(statuses(answers)).toEqual([...several(4, 200), 429])
    expect((await search(from(`${net}1::1`))).status).toBe(200)
    const v4 = freshAddress()
    for (let index = 0; index < 4; index++) await search(from(index % 2 ? v4 : `::ffff:${v4}`))
    expectLimited(await search(from(v4)), 1500)
  })

  test('invalid addresses are no error', async () => {
    for (const odd of ['', 'unknown', '_hidden', ':::', '1.2.3', 'x'.repeat(2000), "'; select 1"]) {
      expect([200, 429]).toContain((await search(from(odd))).status)
    }
  })

  test('sign-up and POST /users share a limit; the secret key has none', async () => {
    const here = from(freshAddress())
    expect((await signUp(here)).status).toBe(201)
    const create = (options: Options) => request('POST', '/users', { email: uniqueEmail(), name: 'Created' }, options)
    expect((await create(here)).status).toBe(201)
    expectLimited(await create(here), 3000)
    const email = uniqueEmail()
    expectLimited(await signUp(here, email), 3000)
    const secret = { headers: { ...here.headers, apikey: testKeys.secretKey } }
    expect(statuses(await times(3, () => create(secret)))).toEqual(several(3, 201))
    expectLimited(await create({ headers: { ...here.headers, apikey: testKeys.publishableKey } }), 3000)
    expect((await signUp(from(freshAddress()), email)).status).toBe(201)
  })
})

test('log-in attempts are limited by address, whatever the password and the account', async () => {
  const [ana, ben] = await Promise.all([person(), person()])
  const here = from(freshAddress())
  expect((await logIn(ana.email, here, 'wrong horse')).status).toBe(401)
  expect((await logIn(ben.email, here)).status).toBe(200)
  expect((await logIn(uniqueEmail(), here)).status).toBe(401)
  expectLimited(await logIn(ana.email, here), 2000)
  // Failed attempts by others do not lock an account.
  expect((await logIn(ana.email, from(freshAddress()))).status).toBe(200)
  expect((await request('POST', '/auth/login', { email: ana.email }, from(freshAddress()))).status).toBe(400)
})

test('refreshes are limited by address, whether or not the token is valid', async () => {
  const ana = await person()
  const { body } = await logIn(ana.email, from(freshAddress()))
  const here = from(freshAddress())
  const refresh = (refresh_token: string, options = here) =>
    request('POST', '/auth/refresh', { refresh_token }, options)
  const renewed = await refresh(body.refresh_token)
  expect(renewed.status).toBe(200)
  expect((await refresh('unknown')).status).toBe(401)
  expect((await request('POST', '/auth/refresh', {}, here)).status).toBe(400)
  expect((await refresh('unknown')).status).toBe(401)
  expectLimited(await refresh(renewed.body.refresh_token), 2000)
  // The token was not used up.
  expect((await refresh(renewed.body.refresh_token, from(freshAddress()))).status).toBe(200)
})

test('recovery is limited by address, whether or not the account exists', async () => {
  const ana = await person()
  const here = from(freshAddress())
  const recover = (email: string, options = here) => request('POST', '/auth/recover', { email }, options)
  expect((await recover(ana.email)).status).toBe(202)
  expect((await recover(uniqueEmail())).status).toBe(202)
  expectLimited(await recover(ana.email), 3000)
  expectLimited(await recover(uniqueEmail()), 3000)
  expect((await recover(uniqueEmail(), from(freshAddress()))).status).toBe(202)
})

test('profile changes are limited across all routes; hiding the profile is not', async () => {
  const ana = await person()
  const change = (city: string) => request('PATCH', '/users/profile', { city }, ana)
  const show = (is_searchable: boolean) => request('PATCH', '/users/searchable', { is_searchable }, ana)
  expect((await change('Porto')).status).toBe(200)
  expect((await request('PATCH', '/users/profile', { age: 1 }, ana)).status).toBe(400)
  expect((await show(true)).status).toBe(200)
  expect((await request('PUT', '/users/profile/interests', { interest_ids: [] }, ana)).status).toBe(200)
  expect((await change('Braga')).status).toBe(200)
  expectLimited(await change('Faro'), 1500)
  expectLimited(await show(true), 1500)
  expectLimited(await request('PUT', '/users/profile/interests', { interest_ids: [] }, ana), 1500)
  expectLimited(await request('PATCH', '/users/profile', { is_searchable: false, city: 'Faro' }, ana), 1500)
  for (let time = 0; time < 3; time++) {
    expect((await show(false)).status).toBe(200)
    expect((await request('PATCH', '/users/profile', { is_searchable: false }, ana)).status).toBe(200)
  }
  expect((await request('GET', '/users/me', undefined, ana)).body.Profile)
    .toMatchObject({ city: 'Braga', is_searchable: false })
})

describe('profile changes through the Data API', () => {
  const write = (who: Limited, method: string, path: string, body?: object) =>
    call(method, `${new URL(stack.base).origin}/rest/v1/${path}`, body, {
      token: who.token,
      headers: { apikey: testKeys.publishableKey },
    })

  test('share the limit of the Edge Function, in either order', async () => {
    const ana = await person()
    expect((await write(ana, 'PATCH', 'profiles?id=gt.0', { city: 'Porto' })).status).toBe(204)
    expect((await request('PATCH', '/users/profile', { city: 'Braga' }, ana)).status).toBe(200)
    expect((await write(ana, 'PATCH', 'users?id=gt.0', { bio: 'Potter' })).status).toBe(204)
    expect((await request('PUT', '/users/profile/interests', { interest_ids: [] }, ana)).status).toBe(200)
    const refused = await write(ana, 'PATCH', 'profiles?id=gt.0', { city: 'Faro' })
    expect(refused).toMatchObject({
      status: 429,
      body: {
        code: 'PT429',
        message: expect.stringContaining('Too many'),
        hint: expect.stringMatching(/^In \d+ seconds$/),
      },
    })
    expect((await write(ana, 'PATCH', 'users?id=gt.0', { bio: 'Painter' })).status).toBe(429)
    expect((await write(ana, 'DELETE', 'profile_interests?interest_id=gt.0')).status).toBe(429)
    expectLimited(await request('PATCH', '/users/profile', { city: 'Faro' }, ana), 1500)
    expect((await request('GET', '/users/me', undefined, ana)).body).toMatchObject({
      bio: 'Potter',
      Profile: { city: 'Braga' },
    })
    // Hiding a profile is never limited.
    expect((await write(ana, 'PATCH', 'profiles?id=gt.0', { is_searchable: false })).status).toBe(204)
    expect((await write(await person(), 'PATCH', 'profiles?id=gt.0', { city: 'Faro' })).status).toBe(204)
  })

  test('of 45 concurrent ones exactly the burst succeeds', async () => {
    const ana = await person()
    const answers = await times(45, () => write(ana, 'PATCH', 'profiles?id=gt.0', { city: crypto.randomUUID() }))
    expect(statuses(answers)).toEqual([...several(4, 204), ...several(41, 429)])
  })

  test('that fail a constraint are not counted', async () => {
    const ana = await person()
    for (const answer of await times(6, () => write(ana, 'PATCH', 'profiles?id=gt.0', { age: 7 }))) {
      // PostgREST answers 400, @supabase/lite 500.
      expect([400, 500]).toContain(answer.status)
    }
    expect((await write(ana, 'PATCH', 'profiles?id=gt.0', { age: 70 })).status).toBe(204)
  })

  test('are not limited for admins', async () => {
    const ana = await person()
    const rename = () =>
      call('PATCH', `${new URL(stack.base).origin}/rest/v1/users?id=eq.${ana.id}`, { name: 'Renamed' }, {
        headers: { apikey: testKeys.secretKey },
      })
    expect(statuses(await times(10, rename))).toEqual(several(10, 204))
  })
})

test('invalid addresses share one limit, and unconfigured headers are ignored', async () => {
  const statusesOfSix = async (headers: () => Record<string, string>) =>
    statuses(await times(6, () => search({ headers: headers() })))
  // A header that any client can send must not give it a limit of its own.
  const address = freshAddress()
  let spoofed = 0
  expect(
    await statusesOfSix(() => ({
      'X-Forwarded-For': address,
      'CF-Connecting-IP': `198.51.100.${spoofed++}`,
      'X-Real-IP': `198.51.100.${spoofed++}`,
      Forwarded: `for=198.51.100.${spoofed++}`,
    })),
  ).toEqual([...several(4, 200), 429, 429])
  // Invalid addresses from a proxy all count as one.
  const garbage = ['<script>', `${'9'.repeat(500)}.1.1.1`, '1.2.3', '_hidden']
  const recover = (text: string) =>
    request('POST', '/auth/recover', { email: uniqueEmail() }, { headers: { 'X-Forwarded-For': text } })
  expect(statuses(await Promise.all(garbage.map(recover)))).toEqual([202, 202, 429, 429])
})

test('blocking and unblocking are limited, and unknown ids count', async () => {
  const [ana, ben] = await Promise.all([person(), person()])
  const block = (method: string, id: number) => request(method, `/users/me/blocks/${id}`, undefined, ana)
  expect((await block('PUT', ben.id)).status).toBe(204)
  expect((await block('DELETE', ben.id)).status).toBe(204)
  expect((await block('PUT', 2_147_483_648)).status).toBe(404)
  expect((await block('PUT', ben.id)).status).toBe(204)
  expectLimited(await block('DELETE', ben.id), 1500)
  expectLimited(await block('PUT', ben.id), 1500)
  expect((await request('GET', '/users/me/blocks', undefined, ana)).body).toMatchObject([{ user_id: ben.id }])
})

test('exports are limited', async () => {
  const ana = await person()
  const answers = await times(5, () => request('GET', '/users/me/export', undefined, ana))
  expect(statuses(answers)).toEqual([200, 200, ...several(3, 429)])
  expectLimited(answers.find(({ status }) => status === 429)!, 3000)
  expect((await request('GET', '/users/me/export', undefined, await person())).status).toBe(200)
})

test('other routes have no limit', async () => {
  const ana = await person()
  for (const path of ['/users/me', '/conversations', '/users/interests', '/health']) {
    expect(statuses(await times(50, () => request('GET', path, undefined, { token: ana.token })))).toEqual(
      several(50, 200),
    )
  }
})

describe.skipIf(!databaseUrl)('with Postgres under locks', () => {
  /** Runs the work while a transaction holds this statement's locks. */
  const withLocks = async (statement: string, work: () => Promise<void>) => {
    const sql = postgres(databaseUrl!, { max: 1 })
    try {
      await sql.begin(async (transaction) => {
        await transaction.unsafe(statement)
        await work()
      })
    } finally {
      await sql.end()
    }
  }

  test('if counting fails, sending and searching are allowed and signing up is not', async () => {
    const [ana, ben] = await Promise.all([person(), person()])
    const { body: { id } } = await open(ana, ben.id)
    await withLocks('lock table private.rate_limits in access exclusive mode', async () => {
      const start = performance.now()
      expect(statuses(await times(10, () => send(ana, id)))).toEqual(several(10, 201))
      expect((await search(from(freshAddress()))).status).toBe(200)
      const { status, headers } = await signUp(from(freshAddress()))
      expect({ status, after: headers.get('Retry-After') }).toEqual({ status: 503, after: '1' })
      expect(performance.now() - start).toBeLessThan(5000)
    })
  })

  test('a statement that times out returns 503 with Retry-After and has no effect', async () => {
    const [ana, ben] = await Promise.all([person(), person()])
    const { body: { id } } = await open(ana, ben.id)
    await withLocks(`select from public.conversations where id = ${id} for update`, async () => {
      const { status, body, headers } = await send(ana, id)
      expect({ status, body, after: headers.get('Retry-After') })
        .toEqual({ status: 503, body: { error: expect.any(String) }, after: '1' })
    })
    const { body } = await request('GET', `/conversations/${id}/messages`, undefined, { token: ana.token })
    expect(body).toEqual([])
    expect((await send(ana, id)).status).toBe(201)
  })
})
