// E-mail confirmation: who owns an unconfirmed address, and that responses do not reveal who has an account.
import postgres from 'postgres'
import { describe, expect, test } from 'vitest'
import { signToken } from '../tools/jwt.ts'
import { databaseUrl, mailedLinks, useStack } from '../tools/own_stack.ts'
import { type Answer, call, uniqueEmail } from '../tools/people.ts'
import { testKeys } from '../tools/stack.ts'
import { pause } from '../tools/wait.ts'

const password = 'correct horse'

const stack = useStack({ EMAIL_CONFIRMATION: 'on', ...(databaseUrl && { DATABASE_URL: databaseUrl }) })

type Options = Parameters<typeof call>[3]
const request = (method: string, path: string, body?: unknown, options?: Options) =>
  call(method, stack.base + path, body, options)
const signUp = (email: string, secret = password, fields: object = {}) =>
  request('POST', '/auth/signup', { email, password: secret, name: 'Somebody', ...fields })
const logIn = (email: string, secret = password) => request('POST', '/auth/login', { email, password: secret })
const dataApi = async (path: string, apikey: string, token?: string) =>
  (await call('GET', `${new URL(stack.base).origin}/rest/v1/${path}`, undefined, { token, headers: { apikey } })).body
const callAuth = (path: string, body: unknown) =>
  call('POST', `${new URL(stack.base).origin}/auth/v1/${path}`, body, { headers: { apikey: testKeys.publishableKey } })
const usersWith = (email: string) => dataApi(`users?email=ilike.${email}`, testKeys.secretKey)
/** Whether a link still works. */
const follow = async (link: string): Promise<'confirmed' | 'dead'> => {
  const response = await fetch(link, { redirect: 'manual' })
  await response.body?.cancel()
  return response.status < 400 && !/error/.test(response.headers.get('Location') ?? '') ? 'confirmed' : 'dead'
}
const confirm = async (email: string): Promise<void> =>
  expect(await follow((await mailedLinks(stack, email)).at(-1)!)).toBe('confirmed')

const person = async (fields: object = {}) => {
  const email = uniqueEmail()
  await signUp(email, password, fields)
  await confirm(email)
  const { body } = await logIn(email)
  return { email, id: body.user.id as number, token: body.access_token as string }
}

describe('before its address is confirmed, an account', () => {
  test('is in no search, and its ids are 404 everywhere', async () => {
    const email = uniqueEmail()
    const { body } = await signUp(email, password, { biography: 'Thylacine', is_searchable: true })
    const [user] = await usersWith(email)
    expect(user).toMatchObject({ id: body.user.id, is_active: false })
    const [profile] = await dataApi(`profiles?user_id=eq.${user.id}`, testKeys.secretKey)
    const ana = await person()
    for (const options of [undefined, { token: ana.token }]) {
      expect((await request('GET', '/users/search?q=Thylacine', undefined, options)).body.hits).toEqual([])
    }
    const attempts = [
      await request('GET', `/users/${profile.id}`),
      await request('POST', '/conversations', { other_user_id: user.id }, ana),
      await request('PUT', `/users/me/blocks/${user.id}`, undefined, ana),
      await request('DELETE', `/users/me/blocks/${user.id}`, undefined, ana),
    ]
    expect(attempts.map(({ status }) => status)).toEqual([404, 404, 404, 404])
    expect((await logIn(email)).status).toBe(401)

    await confirm(email)
    expect((await request('GET', '/users/search?q=Thylacine')).body.hits).toMatchObject([{ user_id: user.id }])
    expect((await request('GET', `/users/${profile.id}`)).status).toBe(200)
    expect((await request('PUT', `/users/me/blocks/${user.id}`, undefined, ana)).status).toBe(204)
    expect((await logIn(email)).body.user).toEqual(body.user)
  })

  test('gets 401 with a valid token, and counts as anonymous where a token is optional', async () => {
    const email = uniqueEmail()
    await signUp(email)
    const [{ auth_id }] = await usersWith(email)
    const exp = Math.floor(Date.now() / 1000) + 3600
    const claims = { sub: auth_id, role: 'authenticated', aud: 'authenticated', exp }
    const token = signToken({ alg: 'HS256', typ: 'JWT' }, claims, testKeys.jwtSecret)
    for (const path of ['/users/me', '/conversations', '/users/me/blocks', '/users/me/export']) {
      const { status, headers } = await request('GET', path, undefined, { token })
      expect({ status, challenge: headers.get('WWW-Authenticate') })
        .toEqual({ status: 401, challenge: 'Bearer error="invalid_token"' })
    }
    expect((await request('GET', '/users/search?q=x', undefined, { token })).status).toBe(200)
    for (const table of ['users', 'profiles', 'conversations', 'messages']) {
      expect(await dataApi(table, testKeys.publishableKey, token)).toEqual([])
    }
    await confirm(email)
    expect((await request('GET', '/users/me', undefined, { token })).status).toBe(200)
  })

  test('is replaced by another sign-up: the first password and the first link never work', async () => {
    const email = uniqueEmail()
    await signUp(email, 'of a stranger', { name: 'Stranger', biography: 'Not me', is_searchable: true })
    const { status, body } = await signUp(email.toUpperCase(), password, { name: 'Owner' })
    expect(status).toBe(201)
    expect(await usersWith(email)).toMatchObject([{ id: body.user.id, name: 'Owner' }])
    expect(await dataApi('profiles?biography=eq.Not%20me', testKeys.secretKey)).toEqual([])
    const [first, second] = await mailedLinks(stack, email, 2)
    expect(await follow(first!)).toBe('dead')
    expect((await logIn(email, 'of a stranger')).status).toBe(401)
    expect(await follow(second!)).toBe('confirmed')
    expect((await logIn(email, 'of a stranger')).status).toBe(401)
    expect(await logIn(email)).toMatchObject({ status: 200, body: { user: { id: body.user.id, name: 'Owner' } } })
    expect(await follow(first!)).toBe('dead')
  })

  test('once confirmed, is not replaced by further sign-ups', async () => {
    const email = uniqueEmail()
    await signUp(email)
    await confirm(email)
    for (const spelling of [email, email.toUpperCase(), email]) {
      expect((await signUp(spelling, 'of a stranger')).status).toBe(201)
    }
    expect((await logIn(email, 'of a stranger')).status).toBe(401)
    expect((await logIn(email)).status).toBe(200)
    expect(stack.output.split(`To: ${email}\n`)).toHaveLength(2)
  })

  test('belongs to exactly one of several concurrent sign-ups, with its password', async () => {
    const email = uniqueEmail()
    const secrets = Array.from({ length: 8 }, (_, number) => `password ${number}`)
    const answers = await Promise.all(
      secrets.map((secret, number) => signUp(email, secret, { name: `Number ${number}` })),
    )
    // A sign-up that is replaced repeatedly is answered 503.
    for (const { status } of answers) expect([201, 503]).toContain(status)
    expect(answers.some(({ status }) => status === 201)).toBe(true)
    // The responses are sent before Auth has finished.
    let before: number | undefined
    let users = await usersWith(email)
    do {
      before = users[0]?.id
      await pause(2000)
      users = await usersWith(email)
    } while (users.length === 0 || users[0].id !== before)
    expect(users).toHaveLength(1)
    const links = (await mailedLinks(stack, email)).toReversed()
    const outcomes: string[] = []
    for (const link of links) outcomes.push(await follow(link))
    expect(outcomes.filter((outcome) => outcome === 'confirmed')).toHaveLength(1)
    const working: number[] = []
    for (const [number, secret] of secrets.entries()) {
      if ((await logIn(email, secret)).status === 200) working.push(number)
    }
    expect(users[0].name).toBe(`Number ${working}`)
    expect(answers[working[0]!]).toMatchObject({ status: 201, body: { user: { id: users[0].id } } })
  })

  test('is either confirmed or replaced when both happen at once', async () => {
    for (let round = 0; round < 4; round++) {
      const email = uniqueEmail()
      await signUp(email, 'the first')
      const [link] = await mailedLinks(stack, email)
      const [followed] = await Promise.all([follow(link!), pause(round * 3).then(() => signUp(email, 'the second'))])
      const [user, ...others] = await usersWith(email)
      expect(others).toEqual([])
      const works = {
        first: (await logIn(email, 'the first')).status,
        second: (await logIn(email, 'the second')).status,
      }
      expect(works.second).toBe(401)
      // Either confirmed and not replaced, or replaced and the link was dead.
      expect({ works: works.first === 200, active: user.is_active }).toEqual({
        works: followed === 'confirmed',
        active: followed === 'confirmed',
      })
    }
  })

  test.each([
    ['this service', (email: string) => request('POST', '/auth/recover', { email })],
    ['Auth', (email: string) => callAuth('recover', { email })],
    ['Auth for a magic link', (email: string) => callAuth('otp', { email, create_user: false })],
  ])('loses its password to a recovery through %s', async (_, recover) => {
    const email = uniqueEmail()
    await signUp(email, 'of a stranger')
    await mailedLinks(stack, email)
    expect((await recover(email)).status).toBeLessThan(300)
    const recovery = (await mailedLinks(stack, email, 2)).find((link) => !link.includes('type=signup'))
    expect(await follow(recovery!)).toBe('confirmed')
    expect((await logIn(email, 'of a stranger')).status).toBe(401)
    expect(await usersWith(email)).toMatchObject([{ is_active: true }])
  })
})

describe('sign-up, log-in and recovery do not reveal who has an account', () => {
  test('by their responses: free, pending and taken addresses get the same, ids included', async () => {
    const ana = await person()
    const [free, pending, taken] = [uniqueEmail(), uniqueEmail(), (await person()).email]
    await signUp(pending)
    const probe = async (email: string) => {
      const answer = await signUp(email, 'a guess of mine')
      const { id, ...user } = answer.body.user
      const attempts: Answer[] = [
        await request('PUT', `/users/me/blocks/${id}`, undefined, ana),
        await request('DELETE', `/users/me/blocks/${id}`, undefined, ana),
        await request('POST', '/conversations', { other_user_id: id }, ana),
        // Profile ids are as far advanced in a database of its own.
        ...(databaseUrl ? [] : [await request('GET', `/users/${id}`)]),
      ]
      return {
        id,
        status: answer.status,
        headers: [...answer.headers.keys()],
        body: { ...answer.body, user: { ...user, email: user.email.replace(email, 'the address') } },
        attempts: attempts.map(({ status, text }) => [status, text]),
      }
    }
    const responses = [
      await probe(taken),
      await probe(free),
      await probe(pending),
      await probe(taken),
      await probe(taken),
    ]
    const [{ id: _, ...first }] = responses as [typeof responses[0], ...typeof responses]
    for (const { id: _, ...other } of responses) expect(other).toEqual(first)
    expect(new Set(first.attempts.map(([status]) => status))).toEqual(new Set([404]))
    // Nor by counting: each response has the next id, if no other sign-ups happen meanwhile.
    if (!databaseUrl) expect(responses.map(({ id }) => id - responses[0]!.id)).toEqual([0, 1, 2, 3, 4])
  })

  test.skipIf(databaseUrl)('by profile ids: a sign-up consumes one in either case', async () => {
    const profileOf = async ({ token }: { token: string }) =>
      (await request('GET', '/users/me', undefined, { token })).body.Profile.id as number
    const ben = await person()
    const before = await profileOf(ben)
    await signUp(ben.email)
    const between = await profileOf(await person())
    await signUp(uniqueEmail())
    expect(await profileOf(await person()) - between).toBe(between - before)
  })
})

describe('response times, measured side by side, do not reveal who has an account', () => {
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    const began = performance.now()
    await work()
    return performance.now() - began
  }
  const median = (values: number[]): number =>
    values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!

  /** How often a guess that the slower response is the known address is right, and how far apart the medians are. */
  const guess = async (rounds: number, known: () => Promise<unknown>, unknown: () => Promise<unknown>) => {
    const times = { known: [] as number[], unknown: [] as number[] }
    // The first round is a warm-up.
    for (let round = 0; round <= rounds; round++) {
      for (const kind of round % 2 ? ['known', 'unknown'] as const : ['unknown', 'known'] as const) {
        const duration = await timed(kind === 'known' ? known : unknown)
        if (round > 0) times[kind].push(duration)
      }
    }
    const pairs = times.known.flatMap((one) => times.unknown.map((other) => one > other ? 1 : 0))
    return {
      right: pairs.reduce((sum: number, won) => sum + won, 0) / pairs.length,
      apart: Math.abs(median(times.known) / median(times.unknown) - 1),
    }
  }

  // Without the floor the guess is always right, and the medians differ by half to twenty times. Timers and a busy
  // machine leave a few percent.
  const expectNothingRevealed = ({ right, apart }: { right: number; apart: number }) => {
    expect(apart).toBeLessThan(0.08)
    expect(right < 0.95 || apart < 0.01).toBe(true)
  }

  test('of failed log-ins', async () => {
    const { email } = await person()
    expectNothingRevealed(
      await guess(7, () => logIn(email, 'a guess of mine'), () => logIn(uniqueEmail(), 'a guess of mine')),
    )
  })

  // Without the floor, ten hashes run one after the other, and the unknown address is answered at once.
  test('of ten concurrent failed log-ins, also after a quiet period', async () => {
    const { email } = await person()
    const many = (address: string) =>
      timed(() => Promise.all(Array.from({ length: 10 }, () => logIn(address, 'a guess of mine'))))
    const unknown = await many(uniqueEmail())
    const known = await many(email)
    expect(unknown).toBeGreaterThanOrEqual(2000)
    expect(known).toBeGreaterThanOrEqual(2000)
    // The floor cannot hide more than its maximum. A machine that slow is too busy to measure.
    if (known < 5000) expect(known).toBeLessThan(unknown * 2)
  })

  test('of recovery', async () => {
    const { email } = await person()
    const recover = (address: string) => request('POST', '/auth/recover', { email: address })
    expectNothingRevealed(await guess(7, () => recover(email), () => recover(uniqueEmail())))
  })

  test('of sign-up', async () => {
    const { email } = await person()
    expectNothingRevealed(await guess(6, () => signUp(uniqueEmail()), () => signUp(email)))
  })

  test('300 failed log-ins that wait for the minimum response time do not delay other requests', async () => {
    const waiting = Promise.all(Array.from({ length: 300 }, () => logIn(uniqueEmail(), 'a guess of mine')))
    await pause(50)
    const duration = await timed(() => request('GET', '/users/interests'))
    const answers = await waiting
    expect(answers.every(({ status }) => status === 401)).toBe(true)
    expect(duration).toBeLessThan(10_000)
  })
})

// Row locks serialise confirmation and removal, and PGlite has one session only.
test.skipIf(!databaseUrl)(
  'a sign-up waits for a concurrent confirmation and then removes nothing',
  async () => {
    const sql = postgres(databaseUrl!, { max: 2 })
    try {
      const email = uniqueEmail()
      await signUp(email)
      let again: Promise<Answer> | undefined
      await sql.begin(async (confirming) => {
        await confirming`update auth.users set email_confirmed_at = now() where email = ${email}`
        again = signUp(email, 'the second')
        await pause(1500)
      })
      expect((await again!).status).toBe(201)
      expect((await logIn(email)).status).toBe(200)
      expect((await logIn(email, 'the second')).status).toBe(401)
    } finally {
      await sql.end()
    }
  },
)
