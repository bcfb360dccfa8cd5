// Auth's own limits, which see the functions as one client.
import { describe, expect, test } from 'vitest'
import { useProject } from './project.ts'

const password = 'correct horse'
const times = <Result>(count: number, one: () => Promise<Result>) => Promise.all(Array.from({ length: count }, one))
const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } })

// The buckets of Auth hold 30.
const limited = {
  GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '1',
  GOTRUE_RATE_LIMIT_OTP: '1',
  GOTRUE_SECURITY_SB_FORWARDED_FOR_ENABLED: 'true',
}

const expectLimited = (answers: { status: number; headers: Headers; body: object }[]) => {
  const refused = answers.filter(({ status }) => status === 429)
  expect(refused.length).toBeGreaterThanOrEqual(5)
  for (const { headers, body } of refused) {
    expect(headers.get('Retry-After')).toBe('60')
    expect(body).toEqual({ error: 'Too many requests, please try again later' })
  }
  expect(answers.filter(({ status }) => status >= 500)).toEqual([])
}

describe('beyond the limits of Auth', () => {
  const { call, newEmail } = useProject({ auth: limited })

  test('log-ins and refreshes, which share one, are 429', async () => {
    expectLimited(
      await times(40, () => call('POST', '/auth/refresh', { refresh_token: 'unknown' }, from('203.0.113.1'))),
    )
    const logIn = () => call('POST', '/auth/login', { email: newEmail(), password }, from('203.0.113.2'))
    expectLimited(await times(5, logIn))
  })

  test('sign-ups are 429', async () => {
    const signUp = () => call('POST', '/auth/signup', { email: newEmail(), password, name: 'Ana' })
    // Few at a time, because Auth hashes their passwords.
    const answers = []
    for (let batch = 0; batch < 10; batch++) answers.push(...await times(4, signUp))
    expectLimited(answers)
  })

  test('recoveries are 429, with and without an account', async () => {
    expectLimited(await times(40, () => call('POST', '/auth/recover', { email: newEmail() })))
  })
})

describe('with FORWARD_CLIENT_ADDRESS', () => {
  const { call } = useProject({ auth: limited, functions: { FORWARD_CLIENT_ADDRESS: 'on' } })
  const refresh = (address: string) => call('POST', '/auth/refresh', { refresh_token: 'unknown' }, from(address))

  test("one client's refreshes do not use up another's", async () => {
    expectLimited(await times(40, () => refresh('203.0.113.1')))
    expect((await refresh('203.0.113.2')).status).toBe(401)
    expectLimited(await times(40, () => refresh('2001:db8:1:2::3')))
    expect((await refresh('2001:db8:1:2::4')).status).toBe(429)
    expect((await refresh('2001:db8:1:3::4')).status).toBe(401)
  })
})

describe('beyond its limit on mails', () => {
  const { project, call, newEmail } = useProject({
    auth: { GOTRUE_MAILER_AUTOCONFIRM: 'false', GOTRUE_RATE_LIMIT_EMAIL_SENT: '1', GOTRUE_SMTP_MAX_FREQUENCY: '60s' },
  })

  test('sign-up and recovery answer as ever, because Auth mails some addresses only, and log it', async () => {
    const signUp = (email: string) => call('POST', '/auth/signup', { email, password, name: 'Ana' })
    const [first, second] = [newEmail(), newEmail()]
    expect((await signUp(first)).status).toBe(201)
    await project.mail.link(first, 'signup')
    expect((await signUp(second)).status).toBe(201)
    expect((await call('POST', '/auth/recover', { email: first })).status).toBe(202)
    expect((await call('POST', '/auth/recover', { email: newEmail() })).status).toBe(202)
    expect(project.mail.to(second)).toEqual([])
    const lines = project.functionLog().split('\n').filter((line) => /Sign-up failed|mail not sent/.test(line))
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { message: 'Sign-up failed', code: 'over_email_send_rate_limit', status: 429 },
      { message: 'Recovery mail not sent', code: 'over_email_send_rate_limit', status: 429 },
    ])
  })
})

describe.each<{ what: string; auth: Record<string, string>; signUp: number; logIn: number; recover: number }>([
  { what: 'signing up', auth: { GOTRUE_DISABLE_SIGNUP: 'true' }, signUp: 403, logIn: 401, recover: 202 },
  { what: 'e-mail', auth: { GOTRUE_EXTERNAL_EMAIL_ENABLED: 'false' }, signUp: 403, logIn: 403, recover: 403 },
])('with $what switched off', ({ auth, signUp, logIn, recover }) => {
  const { call, newEmail } = useProject({ auth })

  test('what needs it is 403', async () => {
    const email = newEmail()
    const answers = [
      await call('POST', '/auth/signup', { email, password, name: 'Ana' }),
      await call('POST', '/auth/login', { email, password }),
      await call('POST', '/auth/recover', { email }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([signUp, logIn, recover])
  })
})

describe('with a hook that refuses some addresses', () => {
  const { project, call, newEmail } = useProject({
    auth: {
      GOTRUE_HOOK_BEFORE_USER_CREATED_ENABLED: 'true',
      GOTRUE_HOOK_BEFORE_USER_CREATED_URI: 'pg-functions://postgres/public/refuse_some',
    },
  })

  test('their sign-ups are 403 and those of others are not', async () => {
    await project.sql.unsafe(`
      create function public.refuse_some(event jsonb) returns jsonb language sql as $$
        select case when event -> 'user' ->> 'email' like 'refused.%'
          then '{"error": {"http_code": 403, "message": "Secret reasons"}}'::jsonb else '{}' end
      $$;
      grant usage on schema public to supabase_auth_admin;
      grant execute on function public.refuse_some to supabase_auth_admin;
    `)
    const signUp = (email: string) => call('POST', '/auth/signup', { email, password, name: 'Ana' })
    expect((await signUp(newEmail())).status).toBe(201)
    expect(await signUp(`refused.${newEmail()}`)).toMatchObject({
      status: 403,
      body: { error: 'Not allowed by the settings of this service' },
    })
  })
})
