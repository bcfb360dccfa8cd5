// Auth refuses as tests/local/auth_faults.test.ts takes for granted, and says the same to an invalid address where it
// refuses before it looks for the account.
import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest'
import type {} from '../contract/project.ts'
import { type AuthAnswer, authAnswers, invalidAddress, mailedLately } from '../tools/auth_answers.ts'
import { call, uniqueEmail } from '../tools/people.ts'
import { listen } from '../tools/ports.ts'
import { connected } from '../tools/postgres.ts'
import { roleToken, startAuth } from './servers.ts'

const { databaseUrl } = inject('supplied')
/** A hook that answers as its address says. */
const hook = createServer((request, response) => {
  const [, status, body] = decodeURIComponent(request.url!).split('/')
  request.resume().on('end', () => response.writeHead(+status!, { 'Content-Type': 'application/json' }).end(body))
})
const hookUrl = `http://127.0.0.1:${await listen(hook)}`
afterAll(() => (hook.closeAllConnections(), void hook.close()))

const askAt = (origin: string) => async (path: string, email = uniqueEmail(), more: object = {}, token = '') => {
  const options = { token, headers: { 'X-Forwarded-For': '203.0.113.1' } }
  const answer = await call('POST', `${origin}/${path}`, { email, password: 'nine char', ...more }, options)
  return { status: answer.status, ...answer.body }
}
/** The Auth of the project, which asks for no confirmation. */
const plain = askAt(`${inject('stack').origin}/auth/v1`)
const openAuth = async (env: Record<string, string>) => {
  const { origin, stop } = await startAuth({ database: new URL(databaseUrl).pathname.slice(1), env })
  onTestFinished(stop)
  return askAt(origin)
}
/** The status matters from 429 on. */
const like = ({ isEarly: _, status, ...answer }: AuthAnswer) =>
  expect.objectContaining(status < 429 ? answer : { status, ...answer })
const ok = expect.objectContaining({ status: 200 })
const logIn = 'token?grant_type=password'

const known = uniqueEmail()
beforeAll(async () => {
  expect(await plain('signup', known)).toEqual(ok)
  await connected(databaseUrl, (sql) =>
    sql.unsafe(`
      create function public.refuse_all(event jsonb) returns jsonb language sql as $$
        select '{"error": {"http_code": 403, "message": "Secret reasons"}}'::jsonb
      $$;
      grant usage on schema public to supabase_auth_admin;
      grant execute on function public.refuse_all to supabase_auth_admin`).then(() => {}))
})

const captcha = { CAPTCHA_ENABLED: 'true', CAPTCHA_PROVIDER: 'hcaptcha', CAPTCHA_SECRET: 'x' }
const asking = Object.fromEntries(Object.entries(captcha).map(([name, value]) => [`GOTRUE_SECURITY_${name}`, value]))
const refusing = {
  GOTRUE_HOOK_BEFORE_USER_CREATED_ENABLED: 'true',
  GOTRUE_HOOK_BEFORE_USER_CREATED_URI: 'pg-functions://postgres/public/refuse_all',
}
const mailing = (status: number, body: string) => ({
  GOTRUE_MAILER_AUTOCONFIRM: 'false',
  GOTRUE_HOOK_SEND_EMAIL_ENABLED: 'true',
  GOTRUE_HOOK_SEND_EMAIL_URI: `${hookUrl}/${status}/${encodeURIComponent(body)}`,
  GOTRUE_HOOK_SEND_EMAIL_SECRETS: `v1,whsec_${Buffer.from('a secret of the hook of 32 bytes').toString('base64')}`,
})
const refusal = (http_code: number) => JSON.stringify({ error: { http_code, message: 'No' } })

// deno-fmt-ignore
test.each<[keyof typeof authAnswers, Record<string, string>, string[]]>([
  ['answers captcha_failed', asking, ['signup', logIn, 'recover']],
  ['cannot check the CAPTCHA', { ...asking, HTTPS_PROXY: 'http://127.0.0.1:1' }, ['signup', logIn, 'recover']],
  ['answers weak_password', { GOTRUE_PASSWORD_MIN_LENGTH: '10' }, ['signup']],
  ['answers signup_disabled', { GOTRUE_DISABLE_SIGNUP: 'true' }, ['signup']],
  ['answers email_provider_disabled', { GOTRUE_EXTERNAL_EMAIL_ENABLED: 'false' }, ['signup', logIn, 'recover']],
  ['answers unknown', refusing, ['signup']],
  ['cannot send mail', { GOTRUE_MAILER_AUTOCONFIRM: 'false', GOTRUE_SMTP_PORT: '1' }, ['signup']],
  ['answers unexpected_failure', mailing(500, '{}'), ['signup', 'recover']],
  ['answers unexpected_failure', mailing(503, '{}'), ['signup', 'recover']],
  ['answers unexpected_failure', mailing(200, 'nonsense'), ['signup', 'recover']],
  ['answers unknown', mailing(200, refusal(403)), ['signup', 'recover']],
  ['answers unknown with 429', mailing(200, refusal(429)), ['signup', 'recover']],
  ['has a hook that answers 503', mailing(200, refusal(503)), ['signup', 'recover']],
])('Auth %s', async (fault, env, paths) => {
  const ask = await openAuth(env)
  const answer: AuthAnswer = authAnswers[fault]
  const more = env.HTTPS_PROXY ? { gotrue_meta_security: { captcha_token: 'x' } } : {}
  // Auth mails free addresses that sign up and known ones that recover, and no others.
  for (const path of paths) {
    expect(await ask(path, path === 'recover' ? known : uniqueEmail(), more)).toEqual(like(answer))
  }
  if (answer.isEarly) expect(await ask('signup', 'no address', more)).toEqual(like(answer))
  else if (env !== refusing) expect([await ask('signup', known), await ask('recover')]).toEqual([ok, ok])
  // The holder of the secret key is asked for no CAPTCHA.
  if (env === asking) expect(await ask('signup', uniqueEmail(), {}, await roleToken('service_role'))).toEqual(ok)
})

test('Auth limits requests, names a taken address or hides it, and mails a pending one once a minute', async () => {
  const limited = await openAuth({ GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '1', GOTRUE_RATE_LIMIT_OTP: '1' })
  for (const path of ['token?grant_type=refresh_token', 'recover']) {
    const all = await Promise.all(Array.from({ length: 40 }, () => limited(path, undefined, { refresh_token: 'x' })))
    expect(all).toContainEqual(like(authAnswers['answers over_request_rate_limit']))
  }
  expect(await plain('signup', known)).toEqual(like(authAnswers['answers user_already_exists']))
  expect(await plain('signup', 'no address')).toEqual(like(invalidAddress))
  const hiding = await openAuth({ ...mailing(200, '{}'), GOTRUE_SMTP_MAX_FREQUENCY: '60s' })
  expect(await hiding('signup', known)).toMatchObject({ status: 200, identities: [] })
  const pending = uniqueEmail()
  expect([await hiding('signup', pending), await hiding('signup', pending)]).toEqual([ok, like(mailedLately)])
  await connected(
    databaseUrl,
    (sql) => sql`update auth.users set banned_until = '2099-01-01' where email = ${known}`,
  )
  expect(await plain(logIn, known)).toEqual(like(authAnswers['answers user_banned']))
})
