import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { openCaptchaProvider } from './captcha_provider.ts'
import { secretKey } from './keys.ts'
import { useProject } from './project.ts'

const password = 'correct horse'
let provider: Awaited<ReturnType<typeof openCaptchaProvider>>
afterAll(() => provider?.close())

describe.each([
  { mode: 'without e-mail confirmation', confirmation: false },
  { mode: 'with e-mail confirmation', confirmation: true },
])('with CAPTCHA turned on, $mode', ({ confirmation }) => {
  const { project, call, client, newEmail, follow } = useProject({
    auth: async () => {
      provider ??= await openCaptchaProvider()
      return { ...provider.env, GOTRUE_MAILER_AUTOCONFIRM: String(!confirmation) }
    },
  })
  afterEach(() => {
    provider.isDown = false
  })
  const solved = () => ({ captcha_token: provider.solve() })
  const signUp = (email: string, captcha: object) =>
    call('POST', '/auth/signup', { email, password, name: 'Ana', ...captcha })
  const logIn = (email: string, captcha: object) => call('POST', '/auth/login', { email, password, ...captcha })
  const recover = (email: string, captcha: object) => call('POST', '/auth/recover', { email, ...captcha })
  const create = (email: string, captcha: object, headers = {}) =>
    call('POST', '/users', { email, password, name: 'Ana', ...captcha }, { headers })
  const requests = { signUp, logIn, recover, create }

  const person = async (): Promise<string> => {
    const email = newEmail()
    expect((await signUp(email, solved())).status).toBe(201)
    if (confirmation) await follow(await project.mail.link(email, 'signup'))
    return email
  }

  test('a person with a solved CAPTCHA signs up, logs in and recovers; refreshing needs none', async () => {
    const email = await person()
    const { status, body } = await logIn(email, solved())
    expect(status).toBe(200)
    expect((await call('POST', '/auth/refresh', { refresh_token: body.refresh_token })).status).toBe(200)
    expect((await recover(email, solved())).status).toBe(202)
    expect(await follow(await project.mail.link(email, 'recovery'))).toHaveProperty('access_token')
    expect((await create(newEmail(), solved())).status).toBe(201)
  })

  test.each(Object.entries(requests))('%s without a CAPTCHA, or with a wrong one, is 400', async (_, send) => {
    const email = await person()
    const before = project.mail.to(email).length
    for (const address of [email, newEmail()]) {
      for (const captcha of [{}, { captcha_token: 'wrong' }]) {
        expect(await send(address, captcha)).toMatchObject({
          status: 400,
          body: { error: 'captcha_token: is missing or was not accepted, please solve the CAPTCHA again' },
        })
      }
      if (address !== email) expect(await project.sql`select from auth.users where email = ${address}`).toEqual([])
    }
    expect(project.mail.to(email)).toHaveLength(before)
  })

  test.runIf(confirmation)(
    'only a person with a solved CAPTCHA removes a pending account, with one CAPTCHA',
    async () => {
      const email = newEmail()
      expect((await signUp(email, solved())).status).toBe(201)
      const first = await project.mail.link(email, 'signup')
      const accounts = () => project.sql`select id from auth.users where email = ${email}`
      const before = await accounts()
      for (const captcha of [{}, { captcha_token: 'wrong' }]) {
        expect((await signUp(email, captcha)).status).toBe(400)
        expect((await create(email, captcha)).status).toBe(400)
      }
      provider.goDown()
      expect((await signUp(email, solved())).status).toBe(503)
      provider.isDown = false
      expect(await accounts()).toEqual(before)

      expect((await signUp(email.toUpperCase(), solved())).status).toBe(201)
      await project.mail.link(email, 'signup', 2)
      expect(await accounts()).not.toEqual(before)
      // The link of the first account was not mailed again.
      expect(project.mail.to(email)).toHaveLength(2)
      expect(await follow(first)).not.toHaveProperty('access_token')
    },
  )

  test.runIf(confirmation)('sign-ups without a CAPTCHA do not keep a person with one from the address', async () => {
    const email = newEmail()
    expect((await signUp(email, solved())).status).toBe(201)
    const refused = () => Promise.all(Array.from({ length: 20 }, () => signUp(email, { captcha_token: 'wrong' })))
    const owner = call('POST', '/auth/signup', { email, password, name: 'Owner', ...solved() })
    const answers = [...await refused(), ...await refused()]
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400]))
    expect((await owner).status).toBe(201)
    await project.mail.link(email, 'signup', 2)
    expect(await project.sql`select name from public.users where email = ${email}`).toEqual([{ name: 'Owner' }])
  })

  test('a CAPTCHA is good for one request', async () => {
    const captcha = solved()
    expect((await signUp(newEmail(), captcha)).status).toBe(201)
    expect((await signUp(newEmail(), captcha)).status).toBe(400)
  })

  test('the secret key creates users without one; the publishable key in its place does not', async () => {
    expect((await create(newEmail(), {}, { apikey: secretKey })).status).toBe(201)
    expect((await create(newEmail(), {}, { apikey: 'sb_secret_wrong' })).status).toBe(400)
  })

  test.each(Object.entries(requests))('%s is 503 while the provider does not answer', async (_, send) => {
    provider.goDown()
    const { status, headers } = await send(newEmail(), solved())
    expect({ status, after: headers.get('Retry-After') }).toEqual({ status: 503, after: '1' })
  })

  test('supabase-js sends the same CAPTCHA to Auth itself', async () => {
    const email = await person()
    const { auth } = client()
    expect((await auth.signInWithPassword({ email, password })).error?.code).toBe('captcha_failed')
    const options = { captchaToken: provider.solve() }
    expect((await auth.signInWithPassword({ email, password, options })).error).toBeNull()
  })
})
