// Accounts, on the Auth of one machine and on Supabase's own (tests/platform). What happens where Auth, its mail or its
// CAPTCHA fails, and how long answers take, is in tests/local/auth_faults.test.ts.
import { describe, expect, inject, test } from 'vitest'
import { claimsOf } from '../tools/jwt.ts'
import { type Answer, call, seededInterests, uniqueEmail } from '../tools/people.ts'
import { expectError } from '../tools/responses.ts'
import { modes, openClient, password, supplied, useProject } from './project.ts'

const { secretKey, publishableKey } = inject('stack')
const keys = (value: object): string[] => Object.keys(value).sort()
const sessionKeys = ['access_token', 'expires_in', 'refresh_token', 'token_type', 'user']
const atOnce = <Result>(count: number, one: (index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, index) => one(index)))
const statusesOf = (answers: Answer[]) => answers.map(({ status }) => status)

describe.each(modes)('where e-mail confirmation is %j', (confirmation) => {
  const { project, ask, callAuth, register, create, logIn, refresh, recover, ...more } = useProject(confirmation)
  const { me, usersWith, links, follow, confirm, person } = more
  const client = () => openClient(project.origin).auth

  test('a person signs up with every field, logs in, refreshes, and logs out of one session', async () => {
    const [first, second] = await seededInterests()
    const names = { first_name: 'Zoë', last_name: 'Núñez', age: 34, biography: 'Walks 🚶 everywhere' }
    const place = { country: 'España', city: 'Cádiz', image_url: 'https://example.com/zoe.png', is_searchable: true }
    const fields = { name: 'Zoë N.', bio: 'Sea person', location: 'By the sea' }
    const email = uniqueEmail()
    const interest_ids = [first!.id, second!.id, first!.id]
    const { status, body } = await register({ email: email.toUpperCase(), ...fields, ...names, ...place, interest_ids })
    const user = { id: expect.any(Number), name: fields.name, email, role: 'user' }
    expect({ status, keys: keys(body), user: body.user }).toEqual({ status: 201, keys: sessionKeys, user })
    if (confirmation) {
      expect(body).toMatchObject({ access_token: null, refresh_token: null, token_type: 'bearer', expires_in: null })
      expectError(await logIn(email), 401, 'not confirmed')
    }
    const token = confirmation ? (await confirm(email)).access_token! : body.access_token
    expect((await me(token)).body.id).toBe(body.user.id)

    const [{ body: phone }, { body: laptop }] = [await logIn(email), await logIn(email.toUpperCase())]
    const { body: renewed } = await refresh(phone.refresh_token)
    for (const session of [phone, laptop, renewed]) {
      expect({ keys: keys(session), user: session.user }).toEqual({ keys: sessionKeys, user: body.user })
      expect(session).toMatchObject({ token_type: 'bearer', expires_in: expect.toSatisfy((value) => value > 0) })
    }
    const found = (await me(renewed.access_token)).body
    const Profile = { user_id: body.user.id, ...names, ...place }
    expect(found).toMatchObject({ ...fields, email, id: body.user.id, Profile })
    expect(found.Profile.Interests).toHaveLength(2)
    expect(found.Profile.Interests).toEqual(expect.arrayContaining([first, second]))
    // Auth copies its metadata into every token, so nothing of a profile is there.
    const [account] = await project.sql`select to_jsonb(users)::text as text from auth.users where email = ${email}`
    expect(account!.text + JSON.stringify(claimsOf(laptop.access_token))).not.toMatch(/Zoë|Cádiz|Sea person/)

    for (const _ of [1, 2]) {
      const answer = await ask('POST', '/auth/logout', undefined, { token: renewed.access_token })
      expect(answer).toMatchObject({ status: 204, text: '' })
    }
    for (const one of [renewed.refresh_token, 'garbage', "' or 1=1 --", crypto.randomUUID(), laptop.access_token]) {
      expectError(await refresh(one), 401, 'refresh token')
    }
    expect((await refresh(laptop.refresh_token)).status).toBe(200)
  })

  test('a recovery link lets a person choose a new password, and the old one ends', async () => {
    const { email, id } = await person()
    expect((await recover(email)).status).toBe(202)
    const count = confirmation ? 2 : 1
    // Supabase's own link is the template's of this test; ours asks first, so a program may look at it.
    if (!supplied) await (await fetch((await links(email, count)).at(-1)!)).body?.cancel()
    const { access_token, refresh_token } = await confirm(email, count)
    const auth = client()
    await auth.setSession({ access_token: access_token!, refresh_token: refresh_token! })
    expect((await auth.updateUser({ password: 'another horse' })).error).toBeNull()
    expectError(await logIn(email), 401, 'Wrong')
    expect((await logIn(email, 'another horse')).body.user.id).toBe(id)
  })

  test.skipIf(supplied)('a change of address is confirmed at the new one, and told to the old one', async () => {
    const { email, id, token } = await person()
    const wanted = uniqueEmail()
    const headers = { apikey: publishableKey }
    const changed = await call('PUT', `${project.origin}/auth/v1/user`, { email: wanted }, { token, headers })
    expect(changed.body).toMatchObject({ email, new_email: wanted })
    const [link] = await links(wanted)
    expect(project.output).toContain(`To: ${email}\nSubject: Your e-mail address is about to change`)
    expect(await links(email, 0)).toHaveLength(confirmation ? 1 : 0)
    expect(statusesOf([await logIn(email), await logIn(wanted)])).toEqual([200, 401])
    expect(await follow(link!)).toHaveProperty('access_token')
    expect(statusesOf([await logIn(email), await logIn(wanted)])).toEqual([401, 200])
    expect(await usersWith(wanted)).toMatchObject([{ id }])
  })

  test('a deactivated person neither logs in nor uses a token; an erased one signs up again', async () => {
    const { email, id, token, session } = await person()
    const setActive = (is: boolean) => project.sql`update public.users set is_active = ${is} where id = ${id}`
    const attempts = async () => [await me(token), await logIn(email), await refresh(session.refresh_token)]
    await setActive(false)
    // tests/attack/matrix.test.ts calls every route.
    for (const answer of await attempts()) expectError(answer, 403, 'deactivated')
    expectError(await logIn(email, 'incorrect horse'), 401, 'Wrong')
    await setActive(true)
    expect(statusesOf([await me(token), await logIn(email)])).toEqual([200, 200])
    expect((await ask('DELETE', '/users/me', undefined, { token })).status).toBe(204)
    expect(statusesOf(await attempts())).toEqual([401, 401, 401])
    expect(await project.sql`select from auth.users where email = ${email}`).toEqual([])
    const again = await register({ email })
    expect([again.status, again.body.user.id === id]).toEqual([201, false])
  })

  test('of concurrent sign-ups one gets the address, with its password', async () => {
    const email = uniqueEmail()
    const secret = (number: number) => `password ${number}`
    const answers = await atOnce(8, (number) => register({ email, name: `Number ${number}`, password: secret(number) }))
    // With confirmation all are answered as for a taken address, before Auth has finished: the last to begin gets it.
    expect(statusesOf(answers).toSorted()).toEqual(confirmation ? Array(8).fill(201) : [201, ...Array(7).fill(409)])
    const winner = async () => {
      if (confirmation) { for (const link of (await links(email)).toReversed()) await follow(link) }
      const tried = await atOnce(8, (number) => logIn(email, secret(number)))
      const works = tried.flatMap(({ status }, number) => status === 200 ? [number] : [])
      const users = await usersWith(email)
      return users.length === 1 && works.length === 1 ? { number: works[0]!, user: users[0]! } : null
    }
    await expect.poll(winner, { timeout: 50_000, interval: 1000 }).not.toBeNull()
    const { number, user } = (await winner())!
    expect(user.name).toBe(`Number ${number}`)
    expect(answers[number]).toMatchObject({ status: 201, body: { user: { id: user.id } } })
  })

  if (!confirmation) {
    test('a CAPTCHA that Auth does not ask for is ignored, also by Auth itself', async () => {
      const { email } = await person()
      const posts = (captcha: object) =>
        Promise.all([
          register(captcha),
          create(captcha, secretKey),
          ask('POST', '/auth/login', { email, password, ...captcha }),
          ask('POST', '/auth/recover', { email, ...captcha }),
        ])
      for (const captcha_token of ['x'.repeat(8000), null]) {
        expect(statusesOf(await posts({ captcha_token }))).toEqual([201, 201, 200, 202])
      }
      const options = { captchaToken: 'x' }
      expect((await client().signUp({ email: uniqueEmail(), password, options })).error).toBeNull()
      expect((await client().signInWithPassword({ email, password, options })).error).toBeNull()
      expect((await client().resetPasswordForEmail(email, options)).error).toBeNull()
    })

    test('an address signs up once, in whatever case', async () => {
      const { email, id } = await person()
      const again = { email: email.toUpperCase(), name: 'Copy' }
      for (const answer of [await register(again), await create(again), await create(again, secretKey)]) {
        expectError(answer, 409, 'already exists')
      }
      expect(await usersWith(email)).toMatchObject([{ id, name: 'Somebody' }])
    })

    const domain = (last: number) => `@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(last)}.com`
    // deno-fmt-ignore
    test.each<[string, unknown[]]>([
      ['name', [undefined, ' \t\n ']],
      // Without https.
      ['image_url', ['http://example.com/a.png']],
      ['interest_ids', [[999_999_999]]],
      ['password', ['abcdefg', '😀'.repeat(7), 'x'.repeat(73), `${'é'.repeat(36)}x`]],
      ['email', ['', 'nobody', '@example.com', 'a@', 'a b@example.com', 'a@-example', 'a@@example.com', 'a@b..com']],
      ['email', ['a'.repeat(64) + domain(58)]],
    ])('a wrong %s is refused, and no account is created', async (field, values) => {
      for (const value of values) {
        const email = uniqueEmail()
        for (const answer of [await register({ email, [field]: value }), await create({ email, [field]: value })]) {
          expectError(answer, 400, field)
        }
        expect(await usersWith(email)).toEqual([])
        expect((await register({ email })).status).toBe(201)
      }
    })

    test('a password of 8 characters to 72 bytes is accepted, and only the whole password logs in', async () => {
      for (const secret of ['abcdefgh', '😀'.repeat(8), 'x'.repeat(72), 'é'.repeat(36), '€'.repeat(24)]) {
        const { body: { user: { email } } } = await register({ password: secret })
        expect((await logIn(email, secret)).status).toBe(200)
        for (const other of [[...secret].slice(0, -1).join(''), `${secret}x`]) {
          expectError(await logIn(email, other), 401, 'Wrong')
        }
      }
    })

    test('an e-mail that browsers accept is accepted, up to 254 characters, and its owner logs in', async () => {
      const odd = [...'&/!=~#?^{}+`', '..'].map((sign) => `a${sign}b.${uniqueEmail()}`)
      for (const email of [...odd, uniqueEmail().split('@')[0]!.padEnd(64, 'a') + domain(57)]) {
        expect((await register({ email })).body.user?.email).toBe(email)
        expect((await logIn(email)).status).toBe(200)
      }
    })

    test('anyone creates a user, who logs in with the password if there is one; no session is returned', async () => {
      const { status, body } = await create({ password, city: 'Faro' })
      expect(status).toBe(201)
      expect(body).toEqual({ id: expect.any(Number), name: 'Somebody', email: expect.any(String), role: 'user' })
      const { body: session } = await logIn(body.email)
      expect((await me(session.access_token)).body).toMatchObject({ id: body.id, Profile: { city: 'Faro' } })
      const { body: { email } } = await create()
      expect(await usersWith(email)).toHaveLength(1)
      for (const guess of [password, email, 'undefined', 'null', '        ']) {
        expectError(await logIn(email, guess), 401, 'Wrong')
      }
      expectError(await logIn(email, ''), 400, 'password')
      expectError(await register({ password: undefined }), 400, 'password')
    })

    test('only the secret key grants the role admin, and no other role', async () => {
      const granted = async (role: unknown, apikey?: string) => {
        const { body: { email, role: told } } = await create({ role }, apikey)
        expect(await usersWith(email)).toMatchObject([{ role: told }])
        return told
      }
      for (const apikey of [undefined, publishableKey, secretKey.slice(0, -1), `${secretKey}x`]) {
        for (const role of ['admin', 'root', 7]) expect(await granted(role, apikey)).toBe('user')
      }
      expect(await granted('user', secretKey)).toBe('user')
      // Through the Data API, which tests/platform has not.
      if (!supplied) expect(await granted('admin', secretKey)).toBe('admin')
      for (const role of ['root', '', 'Admin', 'service_role', 1, ['admin']]) {
        const email = uniqueEmail()
        expectError(await create({ email, role }, secretKey), 400, 'role')
        expect(await usersWith(email)).toEqual([])
      }
    })
    return
  }

  // What a pending account cannot do is in tests/rules/accounts.rules.ts.
  const stranger = { password: 'of a stranger', name: 'Stranger', biography: 'Thylacine' }
  const pending = async (fields: object = {}): Promise<string> => {
    const { status, body } = await register(fields)
    expect(status).toBe(201)
    return body.user.email
  }

  test.each([
    ['a sign-up', (email: string) => register({ ...stranger, email })],
    ['POST /users', (email: string) => create({ ...stranger, email })],
    ['a sign-up in Auth itself', (email: string) => callAuth('signup', { email, password: stranger.password })],
  ])(
    "a stranger's account by %s is replaced by the owner's: first password and first link never work",
    async (_, takes) => {
      const email = uniqueEmail()
      expect((await takes(email)).status).toBeLessThan(300)
      const [first] = await links(email)
      const { status, body } = await register({ email: email.toUpperCase(), name: 'Owner' })
      expect(status).toBe(201)
      const [, second] = await links(email, 2)
      expect(await usersWith(email)).toMatchObject([{ id: body.user.id, name: 'Owner', is_active: false }])
      for (const [link, outcome] of [[first, 'error'], [second, 'access_token'], [first, 'error']] as const) {
        expect(await follow(link!)).toHaveProperty(outcome)
        expectError(await logIn(email, stranger.password), 401, 'Wrong')
      }
      const owner = await logIn(email)
      expect(owner.body.user).toEqual(body.user)
      expect((await me(owner.body.access_token)).body.Profile.biography).toBeNull()
    },
  )

  test('POST /users with the secret key makes a confirmed account, also in place of a pending one', async () => {
    for (const email of [await pending(stranger), uniqueEmail()]) {
      const before = (await links(email, 0)).length
      const { status, body } = await create({ email, password, name: 'Owner', city: 'Faro' }, secretKey)
      expect({ status, body }).toMatchObject({ status: 201, body: { name: 'Owner', email } })
      const { body: session } = await logIn(email)
      expect((await me(session.access_token)).body).toMatchObject({ id: body.id, Profile: { city: 'Faro' } })
      expect(await links(email, 0)).toHaveLength(before)
    }
    expectError(await logIn((await create({ password })).body.email), 401, 'not confirmed')
  })

  test('a confirmed account is not replaced by further sign-ups, and gets no further mail', async () => {
    const { email, id } = await person()
    for (const spelling of [email, email.toUpperCase(), email]) {
      expect((await register({ ...stranger, email: spelling })).status).toBe(201)
    }
    expectError(await create({ email }, secretKey), 409, 'already exists')
    // By the time of this later mail theirs would have come.
    await links(await pending())
    expectError(await logIn(email, stranger.password), 401, 'Wrong')
    expect((await logIn(email)).body.user.id).toBe(id)
    expect(await links(email)).toHaveLength(1)
  })

  test('a sign-up waits for a confirmation under way, and then removes nothing', async () => {
    const email = await pending()
    const waiting = () =>
      project.sql`
      select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    let again: Promise<Answer> | undefined
    await project.sql.begin(async (confirming) => {
      await confirming`update auth.users set email_confirmed_at = now() where email = ${email}`
      again = register({ email, password: 'the second' })
      await expect.poll(waiting, { timeout: 30_000 }).toHaveLength(1)
    })
    expect((await again!).status).toBe(201)
    expect(statusesOf([await logIn(email), await logIn(email, 'the second')])).toEqual([200, 401])
  })

  const recoveries = {
    'this service': recover,
    Auth: (email: string) => callAuth('recover', { email }),
    // Supabase's answers with a second confirmation, which leaves the password (docs/security.md).
    ...(!supplied && { 'Auth for a magic link': (email: string) => callAuth('otp', { email, create_user: false }) }),
  }
  test.each(Object.entries(recoveries))(
    'a pending account loses its password to a recovery through %s',
    async (_, ask) => {
      const email = await pending(stranger)
      await links(email)
      expect((await ask(email)).status).toBeLessThan(300)
      const { access_token } = await confirm(email, 2)
      expect((await me(access_token!)).status).toBe(200)
      expectError(await logIn(email, stranger.password), 401, 'Wrong')
    },
  )

  test('the answer to a sign-up and its id do not reveal who has an account', async () => {
    const ana = await person()
    const [free, unconfirmed, { email: taken }] = [uniqueEmail(), await pending(), await person()]
    const ids: number[] = []
    const probe = async (email: string) => {
      const { status, headers, body } = await register({ email, password: 'a guess of mine' })
      const { id, ...user } = body.user
      ids.push(id)
      const attempts = [
        await ask('PUT', `/users/me/blocks/${id}`, undefined, ana),
        await ask('DELETE', `/users/me/blocks/${id}`, undefined, ana),
        await ask('POST', '/conversations', { other_user_id: id }, ana),
      ]
      expect(statusesOf(attempts)).toEqual([404, 404, 404])
      const shown = { ...body, user: { ...user, email: user.email === email } }
      return { status, headers: [...headers.keys()], shown, attempts: attempts.map(({ text }) => text) }
    }
    const first = await probe(taken)
    expect(first.status).toBe(201)
    for (const email of [free, unconfirmed, taken, taken]) expect(await probe(email)).toEqual(first)
    // Nobody else signs up here.
    expect(ids.map((id) => id - ids[0]!)).toEqual([0, 1, 2, 3, 4])
    for (const email of [taken, uniqueEmail()]) {
      expect(statusesOf(await atOnce(4, () => register({ email })))).toEqual(Array(4).fill(201))
    }
  })
})
