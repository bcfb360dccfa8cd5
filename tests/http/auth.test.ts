import { createClient } from '@supabase/supabase-js'
import ws from 'ws'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { mailedLinks, useStack } from '../tools/own_stack.ts'
import { type Answer, asAdmin, call, type Person, seededInterests, signUp, uniqueEmail } from '../tools/people.ts'
import { expectError } from '../tools/responses.ts'

const { origin, secretKey, publishableKey } = inject('stack')
const password = 'correct horse'
const keys = (value: object): string[] => Object.keys(value).sort()
const sessionKeys = ['access_token', 'expires_in', 'refresh_token', 'token_type', 'user']

const register = (fields: object, base = '') =>
  call('POST', `${base}/auth/signup`, { email: uniqueEmail(), password, name: 'Somebody', ...fields })
const create = (fields: object, apikey?: string, base = '') =>
  call('POST', `${base}/users`, { email: uniqueEmail(), name: 'Somebody', ...fields }, {
    headers: { ...(apikey && { apikey }) },
  })
const logIn = (email: string, secret = password) => call('POST', '/auth/login', { email, password: secret })
const refresh = (refresh_token: string) => call('POST', '/auth/refresh', { refresh_token })
const usersWith = async (email: string) => (await asAdmin('GET', `users?email=ilike.${email}`)).body

/** Expects a session whose access token belongs to this user. */
const expectSession = async ({ status, body }: Answer, expected: number, user: object) => {
  expect({ status, keys: keys(body), user: body.user }).toEqual({ status: expected, keys: sessionKeys, user })
  expect(body.token_type).toBe('bearer')
  expect(Number.isInteger(body.expires_in) && body.expires_in > 0).toBe(true)
  const me = await call('GET', '/users/me', undefined, { token: body.access_token })
  expect(me.body.id).toBe(body.user.id)
  return me.body
}

test('a CAPTCHA that Auth does not ask for is ignored, by our endpoints and by Auth itself', async () => {
  const captcha = { captcha_token: 'x'.repeat(8000) }
  const email = uniqueEmail()
  expect((await register({ email, ...captcha })).status).toBe(201)
  expect((await call('POST', '/auth/login', { email, password, ...captcha })).status).toBe(200)
  expect((await call('POST', '/auth/recover', { email, ...captcha })).status).toBe(202)
  expect((await create(captcha)).status).toBe(201)
  const { auth } = createClient(origin, publishableKey, {
    auth: { persistSession: false },
    realtime: { transport: ws as never },
  })
  const options = { captchaToken: 'x' }
  expect((await auth.signUp({ email: uniqueEmail(), password, options })).error).toBeNull()
  expect((await auth.signInWithPassword({ email, password, options })).error).toBeNull()
  expect((await auth.resetPasswordForEmail(email, options)).error).toBeNull()
})

test('a CAPTCHA that is null is none', async () => {
  const captcha = { captcha_token: null }
  const email = uniqueEmail()
  expect((await register({ email, ...captcha })).status).toBe(201)
  expect((await call('POST', '/auth/login', { email, password, ...captcha })).status).toBe(200)
  expect((await call('POST', '/auth/recover', { email, ...captcha })).status).toBe(202)
  expect((await create(captcha)).status).toBe(201)
})

test.each([[''], [7], ['x'.repeat(16_385)], ['\0']])('the CAPTCHA %j is 400', async (captcha_token) => {
  expectError(await register({ captcha_token }), 400)
  expectError(await call('POST', '/auth/login', { email: ana.email, password, captcha_token }), 400)
  expectError(await call('POST', '/auth/recover', { email: ana.email, captcha_token }), 400)
})

let ana: Person
beforeAll(async () => {
  ana = await signUp('Ana')
})

describe('sign-up', () => {
  test('sign-up stores every field of the profile', async () => {
    const [first, second] = await seededInterests()
    const person = { first_name: 'Zoë', last_name: 'Núñez', age: 34, biography: 'Walks 🚶 everywhere' }
    const place = { country: 'España', city: 'Cádiz', image_url: 'https://example.com/zoe.png' }
    const profile = { ...person, ...place, is_searchable: true }
    const fields = { email: uniqueEmail(), name: 'Zoë N.', bio: 'Sea person', location: 'By the sea' }
    const interest_ids = [first!.id, second!.id, first!.id]
    const answer = await register({ ...fields, ...profile, interest_ids })
    const { name, email } = fields
    const me = await expectSession(answer, 201, { id: expect.any(Number), name, email, role: 'user' })
    expect(me).toMatchObject({ ...fields, Profile: { user_id: me.id, ...profile } })
    expect(me.Profile.Interests).toHaveLength(2)
    expect(me.Profile.Interests).toEqual(expect.arrayContaining([first, second]))
  })

  test('an e-mail address signs up once, case-insensitively', async () => {
    expectError(await register({ email: ana.email.toUpperCase(), name: 'Copy' }), 409)
    expect(await usersWith(ana.email)).toMatchObject([{ id: ana.id, name: 'Ana' }])
  })

  test.each(['abcdefgh', '😀'.repeat(8), 'x'.repeat(72), 'é'.repeat(36), '€'.repeat(24)])(
    'the password %s, of 8 characters to 72 bytes, is accepted, and only the whole password logs in',
    async (secret) => {
      const { status, body } = await register({ password: secret })
      expect(status).toBe(201)
      expect((await logIn(body.user.email, secret)).status).toBe(200)
      expectError(await logIn(body.user.email, [...secret].slice(0, -1).join('')), 401)
    },
  )

  test.each([
    ['a missing name', { name: undefined }],
    ['a blank name', { name: ' \t\n ' }],
    ['a null name', { name: null }],
    ['a name of 101 characters', { name: 'n'.repeat(101) }],
    ['an age of 17', { age: 17 }],
    ['an image that is not on https', { image_url: 'http://example.com/a.png' }],
    ['an unknown interest', { interest_ids: [999_999_999] }],
    ['a password of 7 characters', { password: 'abcdefg' }],
    ['a password of 7 emoji', { password: '😀'.repeat(7) }],
    ['a password of 73 bytes', { password: 'x'.repeat(73) }],
    ['a password of 73 bytes in 37 characters', { password: `${'é'.repeat(36)}x` }],
  ])('sign-up and POST /users refuse %s and create no account', async (_, fields) => {
    const email = uniqueEmail()
    const [field] = Object.keys(fields)
    expectError(await register({ email, ...fields }), 400, field)
    expectError(await create({ email, ...fields }), 400, field)
    expect(await usersWith(email)).toEqual([])
    expectError(await logIn(email), 401)
    expect((await register({ email })).status).toBe(201)
  })

  test.each(['', 'nobody', '@example.com', 'a@', 'a b@example.com', 'a@-example', 'a@@example.com', 'a@b..com'])(
    'sign-up refuses the e-mail "%s"',
    async (email) => expectError(await register({ email }), 400, 'email'),
  )

  test.each([...'&/!=~#?^{}+`', '..'].map((sign) => `a${sign}b`))(
    'sign-up accepts the e-mail %s@…, as browsers do, and its owner logs in',
    async (local) => {
      const email = `${local}.${uniqueEmail()}`
      expect((await register({ email })).body.user?.email).toBe(email)
      expect((await logIn(email)).status).toBe(200)
    },
  )

  test('sign-up accepts an e-mail address of 254 characters and refuses one of 255', async () => {
    const local = () => uniqueEmail().split('@')[0]!.padEnd(64, 'a')
    const domain = `${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(57)}.com`
    expect((await register({ email: `${local()}@${domain}` })).status).toBe(201)
    expectError(await register({ email: `${local()}@d${domain}` }), 400, 'email')
  })
})

describe('sessions', () => {
  test('log-in returns a working session', async () => {
    const account = { id: ana.id, name: 'Ana', email: ana.email, role: 'user' }
    await expectSession(await logIn(ana.email.toUpperCase()), 200, account)
  })

  test('a wrong password and an unknown e-mail get the same response', async () => {
    const wrong = await logIn(ana.email, 'incorrect horse')
    const unknown = await logIn(uniqueEmail(), 'incorrect horse')
    expectError(wrong, 401)
    expect({ status: unknown.status, text: unknown.text }).toEqual({ status: 401, text: wrong.text })
    expect([...unknown.headers.keys()]).toEqual([...wrong.headers.keys()])
  })

  test('a password with a correct prefix of 72 bytes does not log in', async () => {
    const secret = 'x'.repeat(72)
    const { body } = await register({ password: secret })
    expectError(await logIn(body.user.email, `${secret}x`), 401)
  })

  test('a refresh token returns a new session of the same user', async () => {
    const { body } = await logIn(ana.email)
    await expectSession(await refresh(body.refresh_token), 200, body.user)
  })

  test('neither garbage nor an access token refreshes a session', async () => {
    for (const token of ['garbage', '00000000-0000-0000-0000-000000000000', "' or 1=1 --", ana.token]) {
      expectError(await refresh(token), 401)
    }
  })

  test('logging out ends this session and no other', async () => {
    const { body: phone } = await logIn(ana.email)
    const { body: laptop } = await logIn(ana.email)
    const { status, text } = await call('POST', '/auth/logout', undefined, { token: phone.access_token })
    expect({ status, text }).toEqual({ status: 204, text: '' })
    expectError(await refresh(phone.refresh_token), 401)
    expect((await refresh(laptop.refresh_token)).status).toBe(200)
  })

  test('recovery responds alike for known and unknown addresses, also repeatedly', async () => {
    const known = await call('POST', '/auth/recover', { email: ana.email })
    expect(known.status).toBe(202)
    for (const email of [uniqueEmail(), ana.email]) {
      const { status, text } = await call('POST', '/auth/recover', { email })
      expect({ status, text }).toEqual({ status: 202, text: known.text })
    }
    expectError(await call('POST', '/auth/recover', { email: 'nobody' }), 400, 'email')
  })
})

describe('POST /users', () => {
  test('anyone creates a user, who can log in with the password; no session is returned', async () => {
    const { status, body } = await create({ password, city: 'Faro' })
    expect(status).toBe(201)
    expect(body).toEqual({ id: expect.any(Number), name: 'Somebody', email: expect.any(String), role: 'user' })
    const { body: session } = await logIn(body.email)
    const me = await call('GET', '/users/me', undefined, { token: session.access_token })
    expect(me.body).toMatchObject({ id: body.id, Profile: { city: 'Faro' } })
  })

  test('an account without a password exists, but nobody can log in', async () => {
    const { status, body } = await create({})
    expect(status).toBe(201)
    expect(await usersWith(body.email)).toHaveLength(1)
    for (const guess of [password, body.email, 'undefined', 'null', '        ']) {
      expectError(await logIn(body.email, guess), 401)
    }
    expectError(await logIn(body.email, ''), 400, 'password')
    expectError(await register({ password: undefined }), 400, 'password')
  })

  test.each([
    ['no key', undefined],
    ['the publishable key', publishableKey],
    ['a wrong key', `${secretKey}x`],
  ])('with %s, the role is always user', async (_, apikey) => {
    for (const role of ['admin', 'root', 7]) {
      const { status, body } = await create({ role }, apikey)
      expect({ status, role: body.role }).toEqual({ status: 201, role: 'user' })
      expect(await usersWith(body.email)).toMatchObject([{ role: 'user' }])
    }
  })

  test.each(['admin', 'user'])('with the secret key, the role can be %s', async (role) => {
    const { status, body } = await create({ role }, secretKey)
    expect({ status, role: body.role }).toEqual({ status: 201, role })
    expect(await usersWith(body.email)).toMatchObject([{ id: body.id, role }])
  })

  test.each([['root'], [''], ['Admin'], ['service_role'], [1], [['admin']]])(
    'the secret key cannot grant the role %j',
    async (role) => {
      const email = uniqueEmail()
      expectError(await create({ email, role }, secretKey), 400, 'role')
      expect(await usersWith(email)).toEqual([])
    },
  )

  test('an e-mail address in use is refused', async () => {
    for (const apikey of [undefined, secretKey]) {
      expectError(await create({ email: ana.email.toUpperCase() }, apikey), 409)
    }
  })
})

test('a deactivated user cannot log in or use protected routes until reactivated', async () => {
  const gone = await signUp('Gone')
  const { body: session } = await logIn(gone.email)
  await asAdmin('PATCH', `users?id=eq.${gone.id}`, { is_active: false })
  const before = await usersWith(gone.email)
  // tests/attack/matrix.test.ts calls every route.
  expectError(await gone.call('GET', '/users/me'), 403)
  expectError(await logIn(gone.email), 403)
  expectError(await refresh(session.refresh_token), 403)
  expectError(await logIn(gone.email, 'incorrect horse'), 401)
  expect(await usersWith(gone.email)).toEqual(before)

  await asAdmin('PATCH', `users?id=eq.${gone.id}`, { is_active: true })
  expect((await gone.call('GET', '/users/me')).status).toBe(200)
  expect((await logIn(gone.email)).status).toBe(200)
})

describe('with EMAIL_CONFIRMATION=on and PUBLIC_USER_CREATION=off', () => {
  const stack = useStack({ PUBLIC_USER_CREATION: 'off', EMAIL_CONFIRMATION: 'on' })
  const logIn = (email: string) => call('POST', `${stack.base}/auth/login`, { email, password })

  /** Follows the confirmation link, which the local stack prints. */
  const confirm = async (email: string) => {
    const [link] = await mailedLinks(stack, email)
    expect((await fetch(link!, { redirect: 'manual' })).status).toBeLessThan(400)
  }

  test('sign-up returns no tokens, and log-in works only after confirmation', async () => {
    const { status, body } = await register({}, stack.base)
    expect({ status, keys: keys(body) }).toEqual({ status: 201, keys: sessionKeys })
    expect(body).toMatchObject({ access_token: null, refresh_token: null, token_type: 'bearer', expires_in: null })
    expectError(await logIn(body.user.email), 401)
    await confirm(body.user.email)
    expect((await logIn(body.user.email)).status).toBe(200)
  })

  test('sign-up does not reveal a taken address; POST /users with the secret key does', async () => {
    const email = uniqueEmail().toUpperCase()
    const free = await register({ email }, stack.base)
    await confirm(email)
    expectError(await create({ email }, secretKey, stack.base), 409)
    const taken = await register({ email }, stack.base)
    const { id, ...account } = free.body.user
    expect(taken).toMatchObject({ status: 201, body: { ...free.body, user: account } })
    expect(keys(taken.body.user)).toEqual(keys(free.body.user))
    expect(Number.isInteger(taken.body.user.id) && taken.body.user.id > id).toBe(true)
  })

  test('the secret key can create a user with an unconfirmed address', async () => {
    const email = uniqueEmail()
    await register({ email, name: 'Stranger' }, stack.base)
    expect(await create({ email, name: 'Owner' }, secretKey, stack.base)).toMatchObject({
      status: 201,
      body: { name: 'Owner', email },
    })
  })

  test('only the secret key creates users', async () => {
    const email = uniqueEmail()
    expectError(await create({ email }, undefined, stack.base), 403)
    expectError(await create({ email }, publishableKey, stack.base), 403)
    const { status, body } = await create({ email, role: 'admin' }, secretKey, stack.base)
    const account = { id: expect.any(Number), name: 'Somebody', email, role: 'admin' }
    expect({ status, body }).toEqual({ status: 201, body: account })
  })
})

test('of twenty concurrent sign-ups with one address, one succeeds', async () => {
  const email = uniqueEmail()
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => register({ email })),
  )
  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(409)])
})

test('logging out twice is allowed', async () => {
  const ben = await signUp('Ben')
  expect((await ben.call('POST', '/auth/logout')).status).toBe(204)
  expect((await ben.call('POST', '/auth/logout')).status).toBe(204)
})

test.each(['\u0085', '\u001c', '\u00a0', '\u2003'])('a name of white space alone is refused: %j', async (name) => {
  expect((await register({ name })).status).toBe(400)
})
