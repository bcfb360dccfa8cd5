import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answer, call, freshEmail } from '../tools/people.ts'
import { startStack, stopStack, testKeys } from '../tools/stack.ts'
import { pause } from '../tools/wait.ts'

const databaseUrl = process.env.TEST_DATABASE_URL
const password = 'correct horse'
const rates = {
  RATE_LIMIT_SEND: '30/6000/5',
  RATE_LIMIT_OPEN: '3/6000',
  RATE_LIMIT_SEARCH: '2/4',
  RATE_LIMIT_SEARCH_ANONYMOUS: '4/6000',
  RATE_LIMIT_SIGNUP: '2/6000',
  RATE_LIMIT_LOGIN: '3/6000',
  RATE_LIMIT_RECOVER: '2/6000',
  RATE_LIMIT_PROFILE: '4/6000',
  RATE_LIMIT_BLOCK: '4/6000',
  RATE_LIMIT_EXPORT: '2/6000',
  // The test is the proxy before the gateway, so that it can come from wherever it likes.
  TRUSTED_PROXIES: '2',
}

let base: string
let stack: ChildProcess
beforeAll(async () => {
  const started = await startStack({ ...rates, ...(databaseUrl && { DATABASE_URL: databaseUrl }) })
  base = started.base
  stack = started.process
})
afterAll(() => stopStack(stack))

type Options = Parameters<typeof call>[3]
const ask = (method: string, path: string, body?: unknown, options?: Options) =>
  call(method, base + path, body, options)
const from = (address: string, spoofed = '') => ({ headers: { 'X-Forwarded-For': `${spoofed}${address}` } })

let count = 0
/** An address that nobody came from before, in a net for documentation. */
const freshAddress = () => `203.0.${process.pid % 256}.${count++}`

interface Limited {
  id: number
  email: string
  token: string
}
/** The secret key makes people without end. */
const person = async (): Promise<Limited> => {
  const account = { email: freshEmail(), password, name: 'Limited' }
  const made = await ask('POST', '/users', account, { headers: { apikey: testKeys.secretKey } })
  const { body } = await logIn(account.email, from(freshAddress()))
  return { id: made.body.id, email: account.email, token: body.access_token }
}
const logIn = (email: string, options: Options, secret = password) =>
  ask('POST', '/auth/login', { email, password: secret }, options)
const open = (who: Limited, other: number) =>
  ask('POST', '/conversations', { other_user_id: other }, { token: who.token })
const send = (who: Limited, conversation: number, client_id?: string) =>
  ask('POST', `/conversations/${conversation}/messages`, { content: 'Hello', client_id }, { token: who.token })
const search = (options: Options) => ask('GET', '/users/search?limit=1', undefined, options)
const signUp = (options: Options, email = freshEmail()) =>
  ask('POST', '/auth/signup', { email, password, name: 'Newcomer' }, options)

const statuses = (answers: Answer[]) => answers.map(({ status }) => status).toSorted()
const times = (length: number, ask: () => Promise<Answer>) => Promise.all(Array.from({ length }, ask))
const several = (length: number, status: number) => Array<number>(length).fill(status)

/** Refused, and told in whole seconds when to come again. */
const expectLimited = ({ status, body, headers }: Answer, most: number) => {
  expect({ status, body }).toEqual({ status: 429, body: { error: expect.any(String) } })
  expect(headers.get('Retry-After')).toMatch(/^[1-9]\d*$/)
  expect(Number(headers.get('Retry-After'))).toBeLessThanOrEqual(most)
  expect(headers.get('Cache-Control')).toContain('no-store')
}

test('of 50 messages at once exactly the burst is sent, and what is refused is not', async () => {
  const [ana, ben] = await Promise.all([person(), person()])
  const { body: { id } } = await open(ana, ben.id)
  const answers = await times(50, () => send(ana, id, randomUUID()))
  expect(statuses(answers)).toEqual([...several(5, 201), ...several(45, 429)])
  for (const answer of answers.filter(({ status }) => status === 429)) expectLimited(answer, 200)
  const { body } = await ask('GET', `/conversations/${id}/messages`, undefined, { token: ben.token })
  expect(body).toHaveLength(5)
})

test('what somebody sends does not count against anybody else', async () => {
  const [ana, ben] = await Promise.all([person(), person()])
  const { body: { id } } = await open(ana, ben.id)
  expect(statuses(await times(6, () => send(ana, id)))).toEqual([...several(5, 201), 429])
  expect(statuses(await times(6, () => send(ben, id)))).toEqual([...several(5, 201), 429])
})

test('a message that is sent again under its key is answered and not counted', async () => {
  const [ana, ben] = await Promise.all([person(), person()])
  const { body: { id } } = await open(ana, ben.id)
  const key = randomUUID()
  const first = await send(ana, id, key)
  for (const again of await times(20, () => send(ana, id, key))) {
    expect(again.headers.get('Idempotency-Replayed')).toBe('true')
    expect(again.text).toBe(first.text)
  }
  expect(statuses(await times(5, () => send(ana, id)))).toEqual([...several(4, 201), 429])
  expect((await send(ana, id, key)).status).toBe(201)
  expectLimited(await send(ana, id, randomUUID()), 200)
})

test('a message that is no message is refused as such, and not counted; one into nowhere is', async () => {
  const [ana, ben] = await Promise.all([person(), person()])
  const { body: { id } } = await open(ana, ben.id)
  const blank = () => ask('POST', `/conversations/${id}/messages`, { content: ' ' }, { token: ana.token })
  expect(statuses(await times(10, blank))).toEqual(several(10, 400))
  expect((await ask('POST', `/conversations/${id}/messages`, { content: 'Hello' })).status).toBe(401)
  expect((await send(ana, 2_147_483_648)).status).toBe(404)
  expect(statuses(await times(5, () => send(ana, id)))).toEqual([...several(4, 201), 429])
  expect((await blank()).status).toBe(400)
})

test('conversations are opened so often and no more, and trying ids out counts', async () => {
  const [ana, ben] = await Promise.all([person(), person()])
  expect((await open(ana, ben.id)).status).toBe(201)
  expect((await open(ana, ben.id)).status).toBe(409)
  expect((await open(ana, 2_147_483_648)).status).toBe(404)
  expectLimited(await open(ana, (await person()).id), 2000)
  expect((await ask('GET', '/conversations', undefined, { token: ana.token })).status).toBe(200)
})

test('whoever waits as long as they were told is let in again', async () => {
  const ana = await person()
  const answers = await times(10, () => search({ token: ana.token }))
  expect(statuses(answers)).toEqual([200, 200, ...several(8, 429)])
  const wait = Math.max(...answers.map(({ headers }) => Number(headers.get('Retry-After'))))
  expect(wait).toBeGreaterThanOrEqual(1)
  expect(wait).toBeLessThanOrEqual(2)
  await pause(wait * 1000)
  expect(statuses(await times(5, () => search({ token: ana.token })))).toEqual([200, ...several(4, 429)])
})

describe('without a token it is the address that counts', () => {
  test('each has its own turns, also in 50 searches at once', async () => {
    const [here, there] = [freshAddress(), freshAddress()]
    expect(statuses(await times(50, () => search(from(here))))).toEqual([...several(4, 200), ...several(46, 429)])
    expect((await search(from(there))).status).toBe(200)
  })

  test('what a client writes into the header itself changes nothing', async () => {
    const here = freshAddress()
    const answers = []
    for (let index = 0; index < 6; index++) answers.push(await search(from(here, `198.51.100.${index}, `)))
    expect(statuses(answers)).toEqual([...several(4, 200), 429, 429])
  })

  test('a token that is none is the same as none', async () => {
    const here = freshAddress()
    expect(statuses(await times(5, () => search({ ...from(here), token: 'garbage' })))).toEqual([
      ...several(4, 200),
      429,
    ])
  })

  test('of an IPv6 address the network counts, however it is written', async () => {
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

  test('what is no address at all is one like any other', async () => {
    for (const odd of ['', 'unknown', '_hidden', ':::', '1.2.3', 'x'.repeat(2000), "'; select 1"]) {
      expect([200, 429]).toContain((await search(from(odd))).status)
    }
  })

  test('signing up and creating users share their turns; the secret key takes none', async () => {
    const here = from(freshAddress())
    expect((await signUp(here)).status).toBe(201)
    const create = (options: Options) => ask('POST', '/users', { email: freshEmail(), name: 'Created' }, options)
    expect((await create(here)).status).toBe(201)
    expectLimited(await create(here), 3000)
    const email = freshEmail()
    expectLimited(await signUp(here, email), 3000)
    const secret = { headers: { ...here.headers, apikey: testKeys.secretKey } }
    expect(statuses(await times(3, () => create(secret)))).toEqual(several(3, 201))
    expectLimited(await create({ headers: { ...here.headers, apikey: testKeys.publishableKey } }), 3000)
    expect((await signUp(from(freshAddress()), email)).status).toBe(201)
  })
})

test('passwords are tried so often from an address and no more, right or wrong, whoever they are for', async () => {
  const [ana, ben] = await Promise.all([person(), person()])
  const here = from(freshAddress())
  expect((await logIn(ana.email, here, 'wrong horse')).status).toBe(401)
  expect((await logIn(ben.email, here)).status).toBe(200)
  expect((await logIn(freshEmail(), here)).status).toBe(401)
  expectLimited(await logIn(ana.email, here), 2000)
  // Nobody is locked out by who tries theirs.
  expect((await logIn(ana.email, from(freshAddress()))).status).toBe(200)
  expect((await ask('POST', '/auth/login', { email: ana.email }, from(freshAddress()))).status).toBe(400)
})

test('mails to choose a new password are asked for so often from an address, whether or not there is an account', async () => {
  const ana = await person()
  const here = from(freshAddress())
  const recover = (email: string, options = here) => ask('POST', '/auth/recover', { email }, options)
  expect((await recover(ana.email)).status).toBe(202)
  expect((await recover(freshEmail())).status).toBe(202)
  expectLimited(await recover(ana.email), 3000)
  expectLimited(await recover(freshEmail()), 3000)
  expect((await recover(freshEmail(), from(freshAddress()))).status).toBe(202)
})

test('a profile is changed so often, by whichever way, and hidden at any time', async () => {
  const ana = await person()
  const change = (city: string) => ask('PATCH', '/users/profile', { city }, ana)
  const show = (is_searchable: boolean) => ask('PATCH', '/users/searchable', { is_searchable }, ana)
  expect((await change('Porto')).status).toBe(200)
  expect((await ask('PATCH', '/users/profile', { age: 1 }, ana)).status).toBe(400)
  expect((await show(true)).status).toBe(200)
  expect((await ask('PUT', '/users/profile/interests', { interest_ids: [] }, ana)).status).toBe(200)
  expect((await change('Braga')).status).toBe(200)
  expectLimited(await change('Faro'), 1500)
  expectLimited(await show(true), 1500)
  expectLimited(await ask('PUT', '/users/profile/interests', { interest_ids: [] }, ana), 1500)
  expectLimited(await ask('PATCH', '/users/profile', { is_searchable: false, city: 'Faro' }, ana), 1500)
  for (let time = 0; time < 3; time++) {
    expect((await show(false)).status).toBe(200)
    expect((await ask('PATCH', '/users/profile', { is_searchable: false }, ana)).status).toBe(200)
  }
  expect((await ask('GET', '/users/me', undefined, ana)).body.Profile)
    .toMatchObject({ city: 'Braga', is_searchable: false })
})

describe('changes of a profile through the Data API', () => {
  const write = (who: Limited, method: string, path: string, body?: object) =>
    call(method, `${new URL(base).origin}/rest/v1/${path}`, body, {
      token: who.token,
      headers: { apikey: testKeys.publishableKey },
    })

  test('share the turns of the function, in either order', async () => {
    const ana = await person()
    expect((await write(ana, 'PATCH', 'profiles?id=gt.0', { city: 'Porto' })).status).toBe(204)
    expect((await ask('PATCH', '/users/profile', { city: 'Braga' }, ana)).status).toBe(200)
    expect((await write(ana, 'PATCH', 'users?id=gt.0', { bio: 'Potter' })).status).toBe(204)
    expect((await ask('PUT', '/users/profile/interests', { interest_ids: [] }, ana)).status).toBe(200)
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
    expectLimited(await ask('PATCH', '/users/profile', { city: 'Faro' }, ana), 1500)
    expect((await ask('GET', '/users/me', undefined, ana)).body).toMatchObject({
      bio: 'Potter',
      Profile: { city: 'Braga' },
    })
    // Nobody is ever told to wait before they may hide.
    expect((await write(ana, 'PATCH', 'profiles?id=gt.0', { is_searchable: false })).status).toBe(204)
    expect((await write(await person(), 'PATCH', 'profiles?id=gt.0', { city: 'Faro' })).status).toBe(204)
  })

  test('of 45 at once the burst passes', async () => {
    const ana = await person()
    const answers = await times(45, () => write(ana, 'PATCH', 'profiles?id=gt.0', { city: crypto.randomUUID() }))
    expect(statuses(answers)).toEqual([...several(4, 204), ...several(41, 429)])
  })

  test('that the database refuses take none', async () => {
    const ana = await person()
    for (const answer of await times(6, () => write(ana, 'PATCH', 'profiles?id=gt.0', { age: 7 }))) {
      // PostgREST says 400, @supabase/lite 500.
      expect([400, 500]).toContain(answer.status)
    }
    expect((await write(ana, 'PATCH', 'profiles?id=gt.0', { age: 70 })).status).toBe(204)
  })

  test('do not count what admins do', async () => {
    const ana = await person()
    const rename = () =>
      call('PATCH', `${new URL(base).origin}/rest/v1/users?id=eq.${ana.id}`, { name: 'Renamed' }, {
        headers: { apikey: testKeys.secretKey },
      })
    expect(statuses(await times(10, rename))).toEqual(several(10, 204))
  })
})

test('what is no address, or came in a header that nobody named, is everybody’s or nobody’s', async () => {
  const tries = async (headers: () => Record<string, string>) =>
    statuses(await times(6, () => search({ headers: headers() })))
  // A header that any client can send gives nobody turns of their own.
  const address = freshAddress()
  let spoofed = 0
  expect(
    await tries(() => ({
      'X-Forwarded-For': address,
      'CF-Connecting-IP': `198.51.100.${spoofed++}`,
      'X-Real-IP': `198.51.100.${spoofed++}`,
      Forwarded: `for=198.51.100.${spoofed++}`,
    })),
  ).toEqual([...several(4, 200), 429, 429])
  // What a proxy passed on that is none: all of it is one.
  const garbage = ['<script>', `${'9'.repeat(500)}.1.1.1`, '1.2.3', '_hidden']
  const recover = (text: string) =>
    ask('POST', '/auth/recover', { email: freshEmail() }, { headers: { 'X-Forwarded-For': text } })
  expect(statuses(await Promise.all(garbage.map(recover)))).toEqual([202, 202, 429, 429])
})

test('blocks are given and taken back so often, and trying ids out counts', async () => {
  const [ana, ben] = await Promise.all([person(), person()])
  const block = (method: string, id: number) => ask(method, `/users/me/blocks/${id}`, undefined, ana)
  expect((await block('PUT', ben.id)).status).toBe(204)
  expect((await block('DELETE', ben.id)).status).toBe(204)
  expect((await block('PUT', 2_147_483_648)).status).toBe(404)
  expect((await block('PUT', ben.id)).status).toBe(204)
  expectLimited(await block('DELETE', ben.id), 1500)
  expectLimited(await block('PUT', ben.id), 1500)
  expect((await ask('GET', '/users/me/blocks', undefined, ana)).body).toMatchObject([{ user_id: ben.id }])
})

test('all that somebody has here is given to them so often', async () => {
  const ana = await person()
  const answers = await times(5, () => ask('GET', '/users/me/export', undefined, ana))
  expect(statuses(answers)).toEqual([200, 200, ...several(3, 429)])
  expectLimited(answers.find(({ status }) => status === 429)!, 3000)
  expect((await ask('GET', '/users/me/export', undefined, await person())).status).toBe(200)
})

test('what has no limit goes on', async () => {
  const ana = await person()
  for (const path of ['/users/me', '/conversations', '/users/interests', '/health']) {
    expect(statuses(await times(50, () => ask('GET', path, undefined, { token: ana.token })))).toEqual(several(50, 200))
  }
})

describe.skipIf(!databaseUrl)('on a Postgres that is held up', () => {
  /** While somebody holds this. */
  const holding = async (statement: string, work: () => Promise<void>) => {
    const sql = postgres(databaseUrl!, { max: 1 })
    try {
      await sql.begin(async (hold) => {
        await hold.unsafe(statement)
        await work()
      })
    } finally {
      await sql.end()
    }
  }

  test('where nothing can be counted, people go on and search goes on, and nobody signs up', async () => {
    const [ana, ben] = await Promise.all([person(), person()])
    const { body: { id } } = await open(ana, ben.id)
    await holding('lock table private.rate_limits in access exclusive mode', async () => {
      const start = performance.now()
      expect(statuses(await times(10, () => send(ana, id)))).toEqual(several(10, 201))
      expect((await search(from(freshAddress()))).status).toBe(200)
      const { status, headers } = await signUp(from(freshAddress()))
      expect({ status, after: headers.get('Retry-After') }).toEqual({ status: 503, after: '1' })
      expect(performance.now() - start).toBeLessThan(5000)
    })
  })

  test('a statement that takes too long is answered with 503 and when to come again, and has done nothing', async () => {
    const [ana, ben] = await Promise.all([person(), person()])
    const { body: { id } } = await open(ana, ben.id)
    await holding(`select from public.conversations where id = ${id} for update`, async () => {
      const { status, body, headers } = await send(ana, id)
      expect({ status, body, after: headers.get('Retry-After') })
        .toEqual({ status: 503, body: { error: expect.any(String) }, after: '1' })
    })
    const { body } = await ask('GET', `/conversations/${id}/messages`, undefined, { token: ana.token })
    expect(body).toEqual([])
    expect((await send(ana, id)).status).toBe(201)
  })
})
