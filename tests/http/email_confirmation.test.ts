// E-mail confirmation: who owns an address before it is confirmed.
import postgres from 'postgres'
import { describe, expect, test } from 'vitest'
import { password, useEmailConfirmation } from '../tools/email_confirmation.ts'
import { signToken } from '../tools/jwt.ts'
import { databaseUrl, mailedLinks } from '../tools/own_stack.ts'
import { type Answer, uniqueEmail } from '../tools/people.ts'
import { testKeys } from '../tools/stack.ts'
import { pause } from '../tools/wait.ts'

const { stack, request, signUp, logIn, dataApi, callAuth, usersWith, follow, confirm, person } = useEmailConfirmation()

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
    // As for a taken address. They are sent before Auth has finished.
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
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
