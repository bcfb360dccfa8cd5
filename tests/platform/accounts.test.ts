// What a person does with an account, against Supabase's own Auth.
import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { claimsOf } from '../tools/jwt.ts'
import { pause } from '../tools/wait.ts'
import { useProject } from './project.ts'

const password = 'correct horse'
const bio = 'A potter who walks everywhere'

describe.each([
  { mode: 'without e-mail confirmation', confirmation: false },
  { mode: 'with e-mail confirmation', confirmation: true },
])('$mode', ({ confirmation }) => {
  const { project, call, client, newEmail, follow } = useProject({
    auth: { GOTRUE_MAILER_AUTOCONFIRM: String(!confirmation), GOTRUE_PASSWORD_MIN_LENGTH: '10' },
  })
  const signUp = (email: string, fields: object = {}) =>
    call('POST', '/auth/signup', { email, password, name: 'Ana', ...fields })
  const logIn = (email: string, secret = password) => call('POST', '/auth/login', { email, password: secret })
  const refresh = (refresh_token: string) => call('POST', '/auth/refresh', { refresh_token })
  const me = (token: string) => call('GET', '/users/me', undefined, { token })

  /** A person with a confirmed account. */
  const person = async (fields: object = {}) => {
    const email = newEmail()
    expect((await signUp(email, fields)).status).toBe(201)
    if (confirmation) await follow(await project.mail.link(email, 'signup'))
    const { body } = await logIn(email)
    return { email, id: body.user.id as number, token: body.access_token as string, refresh: body.refresh_token }
  }

  test('a person signs up, logs in, refreshes and logs out', async () => {
    const email = newEmail()
    const signedUp = await signUp(email.toUpperCase(), { bio })
    expect(signedUp.body).toMatchObject({ user: { name: 'Ana', email, role: 'user' }, token_type: 'bearer' })
    if (confirmation) {
      expect(signedUp.body).toMatchObject({ access_token: null, refresh_token: null, expires_in: null })
      expect((await logIn(email)).status).toBe(401)
      const { access_token } = await follow(await project.mail.link(email, 'signup'))
      expect((await me(access_token!)).body.id).toBe(signedUp.body.user.id)
    } else {
      expect((await me(signedUp.body.access_token)).body.id).toBe(signedUp.body.user.id)
      expect((await signUp(email)).status).toBe(409)
    }
    expect((await logIn(email, 'wrong horse')).status).toBe(401)
    const { body } = await logIn(email)
    expect((await me(body.access_token)).body).toMatchObject({ id: signedUp.body.user.id, bio })
    const renewed = await refresh(body.refresh_token)
    expect(renewed).toMatchObject({ status: 200, body: { user: body.user } })
    expect((await refresh('unknown')).status).toBe(401)
    expect((await call('POST', '/auth/logout', undefined, { token: renewed.body.access_token })).status).toBe(204)
    expect((await refresh(renewed.body.refresh_token)).status).toBe(401)
  })

  test("nothing of a profile is in Auth's tables or in a token", async () => {
    const ana = await person({ bio })
    const rows = await project.sql`
      select users::text || identities::text as text from auth.users
      join auth.identities on user_id = users.id where users.email = ${ana.email}
    `
    expect(rows).toHaveLength(1)
    expect(rows[0]!.text).toContain(ana.email)
    for (const text of [rows[0]!.text, JSON.stringify(claimsOf(ana.token))]) {
      expect(text).not.toContain('potter')
      expect(text).not.toContain('Ana')
    }
  })

  test('of ten sign-ups at once with one address one account is left', async () => {
    const email = newEmail()
    const answers = await Promise.all(Array.from({ length: 10 }, () => signUp(email)))
    const statuses = answers.map(({ status }) => status)
    if (confirmation) expect(statuses).toEqual(Array(10).fill(201))
    else expect(statuses.filter((status) => status === 201)).toHaveLength(1)
    expect(statuses.filter((status) => status === 500)).toEqual([])
    // With confirmation Auth finishes after the answers.
    const accounts = () => project.sql`select auth_id::text as id from public.users where email = ${email}`
    await expect.poll(accounts, { timeout: 20_000 }).toHaveLength(1)
    const settled = async () => {
      const before = await accounts()
      await pause(1000)
      return before.length === 1 && before[0]!.id === (await accounts())[0]?.id
    }
    await expect.poll(settled, { timeout: 20_000 }).toBe(true)
    if (confirmation) await follow(project.mail.links(email, 'signup').at(-1)!)
    expect((await logIn(email)).status).toBe(200)
  })

  test('an erased account is gone from Auth, and its address can sign up again', async () => {
    const ana = await person()
    expect((await call('DELETE', '/users/me', undefined, { token: ana.token })).status).toBe(204)
    expect((await me(ana.token)).status).toBe(401)
    expect((await logIn(ana.email)).status).toBe(401)
    expect((await refresh(ana.refresh)).status).toBe(401)
    expect(await project.sql`select from auth.users where email = ${ana.email}`).toEqual([])
    expect((await signUp(ana.email)).status).toBe(201)
  })

  test('a recovery link lets the person choose a new password, and the old one ends', async () => {
    const ana = await person()
    expect((await call('POST', '/auth/recover', { email: ana.email })).status).toBe(202)
    expect((await call('POST', '/auth/recover', { email: newEmail() })).status).toBe(202)
    const session = await follow(await project.mail.link(ana.email, 'recovery'))
    const { auth } = client()
    await auth.setSession({ access_token: session.access_token!, refresh_token: session.refresh_token! })
    expect((await auth.updateUser({ password: 'another horse' })).error).toBeNull()
    expect((await logIn(ana.email)).status).toBe(401)
    expect((await logIn(ana.email, 'another horse')).body.user.id).toBe(ana.id)
  })

  test("a password that is too weak by Auth's settings is 400, and makes no account", async () => {
    const email = newEmail()
    expect(await signUp(email, { password: 'nine char' })).toMatchObject({
      status: 400,
      body: { error: 'password: is too weak' },
    })
    expect(await project.sql`select from auth.users where email = ${email}`).toEqual([])
  })

  test('a banned person neither logs in nor refreshes nor logs out, and is told no more than others', async () => {
    const ana = await person()
    await project.sql`update auth.users set banned_until = now() + interval '1 day' where email = ${ana.email}`
    const wrong = await logIn(ana.email, 'wrong horse')
    expect(wrong.status).toBe(401)
    expect((await logIn(ana.email)).body).toEqual(wrong.body)
    expect((await refresh(ana.refresh)).status).toBe(401)
    expect((await call('POST', '/auth/logout', undefined, { token: ana.token })).status).toBe(403)
    // A token lasts until it expires. Deactivating the account ends that at once.
    expect((await me(ana.token)).status).toBe(200)
    await project.sql`update public.users set is_active = false where id = ${ana.id}`
    expect((await me(ana.token)).status).toBe(403)
    await project.sql`update public.users set is_active = true where id = ${ana.id}`
    await project.sql`update auth.users set banned_until = null where email = ${ana.email}`
    expect((await logIn(ana.email)).status).toBe(200)
  })

  test('a person with a second factor logs in with the password, and may raise the token in Auth', async () => {
    const ana = await person()
    const { auth } = client()
    expect((await auth.signInWithPassword({ email: ana.email, password })).error).toBeNull()
    const { data } = await auth.mfa.enroll({ factorType: 'totp' })
    const verified = await auth.mfa.challengeAndVerify({ factorId: data!.id, code: totp(data!.totp.secret) })
    expect(verified.error).toBeNull()
    const raised = verified.data!.access_token

    const { status, body } = await logIn(ana.email)
    expect(status).toBe(200)
    expect([claimsOf(body.access_token).aal, claimsOf(raised).aal]).toEqual(['aal1', 'aal2'])
    expect([(await me(body.access_token)).status, (await me(raised)).status]).toEqual([200, 200])
    expect((await refresh(body.refresh_token)).status).toBe(200)
  })

  if (!confirmation) return

  test("a stranger who signs up with somebody's address cannot get in after its owner has recovered it", async () => {
    const email = newEmail()
    await signUp(email, { password: "the stranger's", name: 'Stranger' })
    await call('POST', '/auth/recover', { email })
    const session = await follow(await project.mail.link(email, 'recovery'))
    expect((await me(session.access_token!)).status).toBe(200)
    expect((await logIn(email, "the stranger's")).status).toBe(401)
  })

  test("a stranger who signs up with somebody's address cannot get in after its owner has signed up", async () => {
    const email = newEmail()
    await signUp(email, { password: "the stranger's", name: 'Stranger' })
    const first = await project.mail.link(email, 'signup')
    await signUp(email)
    const second = await project.mail.link(email, 'signup', 2)
    expect(await follow(first)).toHaveProperty('error')
    expect(await follow(second)).toHaveProperty('access_token')
    expect((await logIn(email, "the stranger's")).status).toBe(401)
    expect((await logIn(email)).body.user).toMatchObject({ name: 'Ana', email })
  })

  test("a stranger who signs up in Auth itself loses the address to the owner's sign-up as well", async () => {
    const email = newEmail()
    await client().auth.signUp({ email, password: "the stranger's" })
    await signUp(email)
    await follow(await project.mail.link(email, 'signup', 2))
    expect((await logIn(email, "the stranger's")).status).toBe(401)
    expect((await logIn(email)).status).toBe(200)
  })

  test('a sign-up with a taken address is answered like one with a free address, and changes nothing', async () => {
    const ana = await person()
    const [taken, free] = [await signUp(ana.email, { password: "the stranger's" }), await signUp(newEmail())]
    expect(taken.status).toBe(201)
    expect(Object.keys(taken.body)).toEqual(Object.keys(free.body))
    expect(taken.body.user.id).not.toBe(ana.id)
    expect((await logIn(ana.email, "the stranger's")).status).toBe(401)
    expect((await logIn(ana.email)).body.user.id).toBe(ana.id)
  })
})

/** The code of this moment (RFC 6238), for a secret in Base32. */
function totp(secret: string): string {
  const bits = [...secret].map((letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0')
  )
  const key = Buffer.from(bits.join('').match(/.{8}/g)!.map((byte) => parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)))
  const hash = createHmac('sha1', key).update(counter).digest()
  const code = hash.readUInt32BE(hash.at(-1)! & 15) & 0x7fffffff
  return String(code % 1_000_000).padStart(6, '0')
}
