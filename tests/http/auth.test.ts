import type { ChildProcess } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { type Answer, asAdmin, call, freshEmail, type Person, seededInterests, signUp } from '../tools/people.ts'
import { startStack, stopStack } from '../tools/stack.ts'

const { secretKey, publishableKey } = inject('stack')
const password = 'correct horse'
const keys = (value: object): string[] => Object.keys(value).sort()
const sessionKeys = ['access_token', 'expires_in', 'refresh_token', 'token_type', 'user']

const register = (fields: object, base = '') =>
  call('POST', `${base}/auth/signup`, { email: freshEmail(), password, name: 'Somebody', ...fields })
const create = (fields: object, apikey?: string, base = '') =>
  call('POST', `${base}/users`, { email: freshEmail(), name: 'Somebody', ...fields }, {
    headers: { ...(apikey && { apikey }) },
  })
const logIn = (email: string, secret = password) => call('POST', '/auth/login', { email, password: secret })
const refresh = (refresh_token: string) => call('POST', '/auth/refresh', { refresh_token })
const usersWith = async (email: string) => (await asAdmin('GET', `users?email=ilike.${email}`)).body

const expectRefusal = ({ status, body }: Answer, expected: number, word = '') =>
  expect({ status, body }).toEqual({ status: expected, body: { error: expect.stringContaining(word) } })

/** The session is this person's, and its access token opens their account. */
const expectSession = async ({ status, body }: Answer, expected: number, user: object) => {
  expect({ status, keys: keys(body), user: body.user }).toEqual({ status: expected, keys: sessionKeys, user })
  expect(body.token_type).toBe('bearer')
  expect(Number.isInteger(body.expires_in) && body.expires_in > 0).toBe(true)
  const me = await call('GET', '/users/me', undefined, { token: body.access_token })
  expect(me.body.id).toBe(body.user.id)
  return me.body
}

let ana: Person
beforeAll(async () => {
  ana = await signUp('Ana')
})

describe('signing up', () => {
  test('somebody signs up with every field of a profile and finds them all in it', async () => {
    const [first, second] = await seededInterests()
    const person = { first_name: 'Zoë', last_name: 'Núñez', age: 34, biography: 'Walks 🚶 everywhere' }
    const place = { country: 'España', city: 'Cádiz', image_url: 'https://example.com/zoe.png' }
    const profile = { ...person, ...place, is_searchable: true }
    const fields = { email: freshEmail(), name: 'Zoë N.', bio: 'Sea person', location: 'By the sea' }
    const interest_ids = [first!.id, second!.id, first!.id]
    const answer = await register({ ...fields, ...profile, interest_ids })
    const { name, email } = fields
    const me = await expectSession(answer, 201, { id: expect.any(Number), name, email, role: 'user' })
    expect(me).toMatchObject({ ...fields, Profile: { user_id: me.id, ...profile } })
    expect(me.Profile.Interests).toHaveLength(2)
    expect(me.Profile.Interests).toEqual(expect.arrayContaining([first, second]))
  })

  test('nobody signs up as an admin, inactive, or under an id of their choice', async () => {
    const { status, body } = await register({ role: 'admin', is_active: false, id: 424_242_424 })
    expect(status).toBe(201)
    expect(body.user.role).toBe('user')
    expect(body.user.id).not.toBe(424_242_424)
    expect(await usersWith(body.user.email)).toMatchObject([{ role: 'user', is_active: true }])
  })

  test('an address signs up once, in whatever case it is written', async () => {
    expectRefusal(await register({ email: ana.email.toUpperCase(), name: 'Copy' }), 409)
    expect(await usersWith(ana.email)).toMatchObject([{ id: ana.id, name: 'Ana' }])
  })

  test.each(['abcdefgh', '😀'.repeat(8), 'x'.repeat(72), 'é'.repeat(36), '€'.repeat(24)])(
    'the password %s, of 8 characters to 72 bytes, is taken, and only the whole of it logs in',
    async (secret) => {
      const { status, body } = await register({ password: secret })
      expect(status).toBe(201)
      expect((await logIn(body.user.email, secret)).status).toBe(200)
      expectRefusal(await logIn(body.user.email, [...secret].slice(0, -1).join('')), 401)
    },
  )

  test.each([
    ['no name', { name: undefined }],
    ['a blank name', { name: ' \t\n ' }],
    ['a name that is null', { name: null }],
    ['a name of 101 characters', { name: 'n'.repeat(101) }],
    ['an age of 17', { age: 17 }],
    ['an image that is not on https', { image_url: 'http://example.com/a.png' }],
    ['an interest that nobody knows', { interest_ids: [999_999_999] }],
    ['a password of 7 characters', { password: 'abcdefg' }],
    ['a password of 7 emoji', { password: '😀'.repeat(7) }],
    ['a password of 73 bytes', { password: 'x'.repeat(73) }],
    ['a password of 73 bytes in 37 characters', { password: `${'é'.repeat(36)}x` }],
  ])('with %s nobody signs up or is created, and no account is made', async (_, fields) => {
    const email = freshEmail()
    const [field] = Object.keys(fields)
    expectRefusal(await register({ email, ...fields }), 400, field)
    expectRefusal(await create({ email, ...fields }), 400, field)
    expect(await usersWith(email)).toEqual([])
    expectRefusal(await logIn(email), 401)
    expect((await register({ email })).status).toBe(201)
  })

  test.each(['', 'nobody', '@example.com', 'a@', 'a b@example.com', 'a@example', 'a@@example.com', 'a@b..com'])(
    'nobody signs up as "%s"',
    async (email) => expectRefusal(await register({ email }), 400, 'email'),
  )

  test('an e-mail address of 254 characters signs up, one of 255 does not', async () => {
    const local = () => freshEmail().split('@')[0]!.padEnd(64, 'a')
    const domain = `${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(57)}.com`
    expect((await register({ email: `${local()}@${domain}` })).status).toBe(201)
    expectRefusal(await register({ email: `${local()}@d${domain}` }), 400, 'email')
  })
})

describe('sessions', () => {
  test('somebody logs in with their password and gets a session that works', async () => {
    const account = { id: ana.id, name: 'Ana', email: ana.email, role: 'user' }
    await expectSession(await logIn(ana.email.toUpperCase()), 200, account)
  })

  test('a wrong password and an unknown e-mail are answered alike', async () => {
    const wrong = await logIn(ana.email, 'incorrect horse')
    const unknown = await logIn(freshEmail(), 'incorrect horse')
    expectRefusal(wrong, 401)
    expect({ status: unknown.status, text: unknown.text }).toEqual({ status: 401, text: wrong.text })
    expect([...unknown.headers.keys()]).toEqual([...wrong.headers.keys()])
  })

  test('nobody logs in with more than the password, even where its first 72 bytes are right', async () => {
    const secret = 'x'.repeat(72)
    const { body } = await register({ password: secret })
    expectRefusal(await logIn(body.user.email, `${secret}x`), 401)
  })

  test('a refresh token gives a new session of the same person', async () => {
    const { body } = await logIn(ana.email)
    await expectSession(await refresh(body.refresh_token), 200, body.user)
  })

  test('neither garbage nor an access token refreshes a session', async () => {
    for (const token of ['garbage', '00000000-0000-0000-0000-000000000000', "' or 1=1 --", ana.token]) {
      expectRefusal(await refresh(token), 401)
    }
  })

  test('somebody logs out, and that session can no longer be refreshed, but their other one can', async () => {
    const { body: phone } = await logIn(ana.email)
    const { body: laptop } = await logIn(ana.email)
    const { status, text } = await call('POST', '/auth/logout', undefined, { token: phone.access_token })
    expect({ status, text }).toEqual({ status: 204, text: '' })
    expectRefusal(await refresh(phone.refresh_token), 401)
    expect((await refresh(laptop.refresh_token)).status).toBe(200)
  })

  test('asking for a new password is answered alike for known and unknown addresses, however often', async () => {
    const known = await call('POST', '/auth/recover', { email: ana.email })
    expect(known.status).toBe(202)
    for (const email of [freshEmail(), ana.email]) {
      const { status, text } = await call('POST', '/auth/recover', { email })
      expect({ status, text }).toEqual({ status: 202, text: known.text })
    }
    expectRefusal(await call('POST', '/auth/recover', { email: 'nobody' }), 400, 'email')
  })
})

describe('creating users directly', () => {
  test('anybody creates a user, who can log in with the password, and gets no session for it', async () => {
    const { status, body } = await create({ password, city: 'Faro' })
    expect(status).toBe(201)
    expect(body).toEqual({ id: expect.any(Number), name: 'Somebody', email: expect.any(String), role: 'user' })
    const { body: session } = await logIn(body.email)
    const me = await call('GET', '/users/me', undefined, { token: session.access_token })
    expect(me.body).toMatchObject({ id: body.id, Profile: { city: 'Faro' } })
  })

  test('an account without a password exists, but nobody can log in to it', async () => {
    const { status, body } = await create({})
    expect(status).toBe(201)
    expect(await usersWith(body.email)).toHaveLength(1)
    for (const guess of [password, body.email, 'undefined', 'null', '        ']) {
      expectRefusal(await logIn(body.email, guess), 401)
    }
    expectRefusal(await logIn(body.email, ''), 400, 'password')
    expectRefusal(await register({ password: undefined }), 400, 'password')
  })

  test.each([
    ['no key', undefined],
    ['the publishable key', publishableKey],
    ['a wrong key', `${secretKey}x`],
  ])('with %s whoever is created becomes a plain user', async (_, apikey) => {
    for (const role of ['admin', 'root', 7]) {
      const { status, body } = await create({ role }, apikey)
      expect({ status, role: body.role }).toEqual({ status: 201, role: 'user' })
      expect(await usersWith(body.email)).toMatchObject([{ role: 'user' }])
    }
  })

  test.each(['admin', 'user'])('the secret key creates a user with the role %s', async (role) => {
    const { status, body } = await create({ role }, secretKey)
    expect({ status, role: body.role }).toEqual({ status: 201, role })
    expect(await usersWith(body.email)).toMatchObject([{ id: body.id, role }])
  })

  test.each([['root'], [''], ['Admin'], ['service_role'], [1], [['admin']]])(
    'even the secret key creates nobody with the role %j',
    async (role) => {
      const email = freshEmail()
      expectRefusal(await create({ email, role }, secretKey), 400, 'role')
      expect(await usersWith(email)).toEqual([])
    },
  )

  test('nobody is created twice under one address', async () => {
    for (const apikey of [undefined, secretKey]) {
      expectRefusal(await create({ email: ana.email.toUpperCase() }, apikey), 409)
    }
  })
})

test('a deactivated person is refused everywhere and cannot log in, until they are active again', async () => {
  const gone = await signUp('Gone')
  const { body: session } = await logIn(gone.email)
  await asAdmin('PATCH', `users?id=eq.${gone.id}`, { is_active: false })
  const before = await usersWith(gone.email)
  for (const path of ['/users/me', '/conversations', '/conversations/unread', '/conversations/1/messages']) {
    expectRefusal(await gone.call('GET', path), 403)
  }
  for (
    const [method, path, body] of [
      ['PATCH', '/users/profile', { name: 'Back' }],
      ['PUT', '/users/profile/interests', { interest_ids: [] }],
      ['PATCH', '/users/searchable', { is_searchable: true }],
      ['POST', '/conversations', { other_user_id: ana.id }],
      ['POST', '/conversations/1/messages', { content: 'Hello?' }],
      ['PATCH', '/conversations/1/messages/1/read'],
      ['POST', '/conversations/1/read', { up_to_message_id: 1 }],
    ] as const
  ) expectRefusal(await gone.call(method, path, body), 403)
  expectRefusal(await logIn(gone.email), 403)
  expectRefusal(await refresh(session.refresh_token), 403)
  expectRefusal(await logIn(gone.email, 'incorrect horse'), 401)
  expect(await usersWith(gone.email)).toEqual(before)

  await asAdmin('PATCH', `users?id=eq.${gone.id}`, { is_active: true })
  expect((await gone.call('GET', '/users/me')).status).toBe(200)
  expect((await logIn(gone.email)).status).toBe(200)
})

describe('where e-mail must be confirmed and only the secret key creates users', () => {
  let stack: { base: string; process: ChildProcess }
  let log = ''
  beforeAll(async () => {
    stack = await startStack({ PUBLIC_USER_CREATION: 'off', EMAIL_CONFIRMATION: 'on' })
    stack.process.stdout!.on('data', (text) => log += text)
  })
  afterAll(() => stopStack(stack.process))
  const logInThere = (email: string) => call('POST', `${stack.base}/auth/login`, { email, password })

  /** Follows the link in the mail, which the local stack prints. */
  const confirm = async (email: string) => {
    const find = () => log.split(`To: ${email.toLowerCase()}\n`)[1]?.match(/http\S+verify\?\S+(?=\s)/)?.[0]
    const link = await vi.waitUntil(find, { timeout: 10_000 })
    expect((await fetch(link, { redirect: 'manual' })).status).toBeLessThan(400)
  }

  test('somebody who signs up gets no tokens, and can log in only after following the link', async () => {
    const { status, body } = await register({}, stack.base)
    expect({ status, keys: keys(body) }).toEqual({ status: 201, keys: sessionKeys })
    expect(body).toMatchObject({ access_token: null, refresh_token: null, token_type: 'bearer', expires_in: null })
    expectRefusal(await logInThere(body.user.email), 401)
    await confirm(body.user.email)
    expect((await logInThere(body.user.email)).status).toBe(200)
  })

  test('where a taken address is confirmed, sign-up does not tell, and only the secret key is told', async () => {
    const email = freshEmail().toUpperCase()
    const free = await register({ email }, stack.base)
    await confirm(email)
    expectRefusal(await create({ email }, secretKey, stack.base), 409)
    const taken = await register({ email }, stack.base)
    const { id, ...account } = free.body.user
    expect(taken).toMatchObject({ status: 201, body: { ...free.body, user: account } })
    expect(keys(taken.body.user)).toEqual(keys(free.body.user))
    expect(Number.isInteger(taken.body.user.id) && taken.body.user.id > id).toBe(true)
  })

  test('an address that waits for its confirmation is free to the secret key, too', async () => {
    const email = freshEmail()
    await register({ email, name: 'Stranger' }, stack.base)
    expect(await create({ email, name: 'Owner' }, secretKey, stack.base)).toMatchObject({
      status: 201,
      body: { name: 'Owner', email },
    })
  })

  test('the secret key creates users; without it nobody does', async () => {
    const email = freshEmail()
    expectRefusal(await create({ email }, undefined, stack.base), 403)
    expectRefusal(await create({ email }, publishableKey, stack.base), 403)
    const { status, body } = await create({ email, role: 'admin' }, secretKey, stack.base)
    const account = { id: expect.any(Number), name: 'Somebody', email, role: 'admin' }
    expect({ status, body }).toEqual({ status: 201, body: account })
  })
})
