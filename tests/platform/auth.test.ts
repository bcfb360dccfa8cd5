// Auth refuses as tests/local/auth_faults.test.ts takes for granted, and says the same to an invalid address where it
// refuses before it looks for the account.
import { createServer } from 'node:http'
import postgres from 'postgres'
import { afterAll, expect, inject, onTestFinished, test } from 'vitest'
import type {} from '../contract/project.ts'
import { type AuthAnswer, authAnswers, invalidAddress, mailedLately } from '../tools/auth_answers.ts'
import { call, uniqueEmail } from '../tools/people.ts'
import { listen } from '../tools/ports.ts'
import { roleToken, startAuth } from './servers.ts'

const { databaseUrl } = inject('supplied')
const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
/** How the hook that sends Auth's mails answers. */
let [hookStatus, hookBody] = [200, '{}']
const hook = createServer((request, response) => {
  const json = { 'Content-Type': 'application/json' }
  request.resume().on('end', () => response.writeHead(hookStatus, json).end(hookBody))
})
const mailed = {
  GOTRUE_MAILER_AUTOCONFIRM: 'false',
  GOTRUE_HOOK_SEND_EMAIL_ENABLED: 'true',
  GOTRUE_HOOK_SEND_EMAIL_URI: `http://127.0.0.1:${await listen(hook)}/`,
  GOTRUE_HOOK_SEND_EMAIL_SECRETS: `v1,whsec_${Buffer.from('a secret of the hook of 32 bytes').toString('base64')}`,
}
afterAll(async () => {
  await sql.end()
  hook.closeAllConnections()
  hook.close()
})

/** An Auth with these settings, and what it is asked. */
const openAuth = async (env: Record<string, string>) => {
  const { origin, stop } = await startAuth({ database: new URL(databaseUrl).pathname.slice(1), env })
  onTestFinished(stop)
  return async (path: string, email = uniqueEmail(), more: object = {}, token = '') => {
    const options = { token, headers: { 'X-Forwarded-For': '203.0.113.1' } }
    const answer = await call('POST', `${origin}/${path}`, { email, password: 'nine char', ...more }, options)
    return { status: answer.status, ...answer.body }
  }
}
/** The status matters from 429 on. */
const like = ({ isEarly: _, status, ...answer }: AuthAnswer) =>
  expect.objectContaining(status < 429 ? answer : { status, ...answer })
const logIn = 'token?grant_type=password'
const captcha = {
  GOTRUE_SECURITY_CAPTCHA_ENABLED: 'true',
  GOTRUE_SECURITY_CAPTCHA_PROVIDER: 'hcaptcha',
  GOTRUE_SECURITY_CAPTCHA_SECRET: 'x',
}
const refusing = {
  GOTRUE_HOOK_BEFORE_USER_CREATED_ENABLED: 'true',
  GOTRUE_HOOK_BEFORE_USER_CREATED_URI: 'pg-functions://postgres/public/refuse_all',
}

// deno-fmt-ignore
test.each<[keyof typeof authAnswers, Record<string, string>, string[], object?]>([
  ['answers captcha_failed', captcha, ['signup', logIn, 'recover']],
  [
    'cannot check the CAPTCHA',
    { ...captcha, HTTPS_PROXY: 'http://127.0.0.1:1' },
    ['signup', logIn, 'recover'],
    { captcha_token: 'x' },
  ],
  ['answers weak_password', { GOTRUE_PASSWORD_MIN_LENGTH: '10' }, ['signup']],
  ['answers signup_disabled', { GOTRUE_DISABLE_SIGNUP: 'true' }, ['signup']],
  ['answers email_provider_disabled', { GOTRUE_EXTERNAL_EMAIL_ENABLED: 'false' }, ['signup', logIn, 'recover']],
  ['cannot send mail', { GOTRUE_MAILER_AUTOCONFIRM: 'false', GOTRUE_SMTP_PORT: '1' }, ['signup']],
  ['answers unknown', refusing, ['signup']],
])('Auth %s', async (fault, env, paths, gotrue_meta_security = {}) => {
  await sql.unsafe(`
    create or replace function public.refuse_all(event jsonb) returns jsonb language sql as $$
      select '{"error": {"http_code": 403, "message": "Secret reasons"}}'::jsonb
    $$;
    grant usage on schema public to supabase_auth_admin;
    grant execute on function public.refuse_all to supabase_auth_admin`)
  const ask = await openAuth(env)
  const answer: AuthAnswer = authAnswers[fault]
  for (const path of paths) expect(await ask(path, undefined, { gotrue_meta_security })).toEqual(like(answer))
  if (answer.isEarly) expect(await ask('signup', 'no address', { gotrue_meta_security })).toEqual(like(answer))
  // The holder of the secret key is asked for no CAPTCHA.
  if (env === captcha) expect((await ask('signup', undefined, {}, await roleToken('service_role'))).status).toBe(200)
})

test('Auth limits requests by address', async () => {
  const ask = await openAuth({ GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '1', GOTRUE_RATE_LIMIT_OTP: '1' })
  for (const path of ['token?grant_type=refresh_token', 'recover']) {
    const all = await Promise.all(Array.from({ length: 40 }, () => ask(path, undefined, { refresh_token: 'x' })))
    expect(all).toContainEqual(like(authAnswers['answers over_request_rate_limit']))
  }
})

test('Auth names a taken address, hides it if it asks for confirmation, and mails a pending one once ', async () => {
  const plain = await openAuth({})
  const [email, pending] = [uniqueEmail(), uniqueEmail()]
  expect((await plain('signup', email)).status).toBe(200)
  expect(await plain('signup', email)).toEqual(like(authAnswers['answers user_already_exists']))
  expect(await plain('signup', 'no address')).toEqual(like(invalidAddress))
  const hiding = await openAuth({ ...mailed, GOTRUE_SMTP_MAX_FREQUENCY: '60s' })
  expect(await hiding('signup', email)).toMatchObject({ status: 200, identities: [] })
  expect((await hiding('signup', pending)).status).toBe(200)
  expect(await hiding('signup', pending)).toEqual(like(mailedLately))
  await sql`update auth.users set banned_until = now() + interval '1 day' where email = ${email}`
  expect(await plain(logIn, email)).toEqual(like(authAnswers['answers user_banned']))
})

const refusal = (http_code: number) => JSON.stringify({ error: { http_code, message: 'No' } })
// deno-fmt-ignore
test.each<[number, string, keyof typeof authAnswers]>([
  [500, '{}', 'answers unexpected_failure'],
  [503, '{}', 'answers unexpected_failure'],
  [200, 'nonsense', 'answers unexpected_failure'],
  [200, refusal(403), 'answers unknown'],
  [200, refusal(429), 'answers unknown with 429'],
  [200, refusal(503), 'has a hook that answers 503'],
])('if its hook for mails answers %i %s, Auth %s to free addresses, and not to others', async (status, body, fault) => {
  const ask = await openAuth(mailed)
  ;[hookStatus, hookBody] = [200, '{}']
  const taken = uniqueEmail()
  await ask('signup', taken)
  await sql`update auth.users set email_confirmed_at = now() where email = ${taken}`
  ;[hookStatus, hookBody] = [status, body]
  const expected = like(authAnswers[fault])
  for (const answer of [await ask('signup'), await ask('recover', taken)]) expect(answer).toEqual(expected)
  for (const answer of [await ask('signup', taken), await ask('recover')]) expect(answer.status).toBe(200)
})
