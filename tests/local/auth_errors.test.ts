import { describe, expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

interface Outcomes extends Record<string, unknown> {
  signUps: { text: string; took: number }[]
}

// One process for each behaviour and mode, which several tests share.
const outcomes = new Map<string, Promise<Outcomes>>()
const outcomesWhere = (behaviour: string, mode = 'without confirmation'): Promise<Outcomes> => {
  const key = `${behaviour} ${mode}`
  const run = outcomes.get(key) ?? runScript<Outcomes>('tests/local/auth_errors.ts', [behaviour, mode])
  outcomes.set(key, run)
  return run
}

describe('with e-mail confirmation', () => {
  // Auth looks for the account first, so it reports these for free addresses alone.
  test.concurrent.each([
    'hides that an address is taken',
    'cannot send mail',
    'cannot save',
    'answers email_address_not_authorized',
    'answers email_address_invalid',
    'answers unexpected_failure',
    'answers unknown',
    'answers unknown with 429',
    'answers hook_timeout',
    'answers hook_timeout_after_retry',
    'answers hook_payload_over_size_limit',
    'has a hook that answers 503',
  ])('if Auth %s, free, pending and taken addresses get the same answer after the same time', async (behaviour) => {
    const { free, taken, pending, mailed, unmailed, signUps, warnings } = await outcomesWhere(
      behaviour,
      'with confirmation',
    )
    expect({ free, taken, pending, mailed, unmailed })
      .toEqual({ free: 201, taken: 201, pending: 201, mailed: 201, unmailed: 201 })
    expect(new Set(signUps.map(({ text }) => text)).size).toBe(1)
    for (const { took } of signUps) expect(took).toBeGreaterThanOrEqual(1490)
    // The operator learns of it.
    if (!behaviour.startsWith('hides')) expect(warnings).toContain('Sign-up failed')
  })

  // Auth reports these for every address.
  test.concurrent.each([
    ['answers weak_password', 400],
    ['answers captcha_failed', 400],
    ['cannot check the CAPTCHA', 503],
    ['answers email_provider_disabled', 403],
    ['answers signup_disabled', 403],
    ['answers over_request_rate_limit', 429],
    ['is behind a gateway that answers 429', 429],
    ['is unavailable', 503],
  ])('if Auth %s, free, pending and taken addresses are all answered %s', async (behaviour, status) => {
    const { free, taken, pending } = await outcomesWhere(behaviour, 'with confirmation')
    expect({ free, taken, pending }).toEqual({ free: status, taken: status, pending: status })
  })
})

test.concurrent.each([
  ['answers weak_password', 400],
  ['answers captcha_failed', 400],
  ['cannot check the CAPTCHA', 503],
  ['answers email_address_invalid', 400],
  ['answers email_address_not_authorized', 400],
  ['answers email_provider_disabled', 403],
  ['answers unknown', 403],
  ['answers unknown with 429', 429],
  ['answers hook_timeout', 503],
  ['answers signup_disabled', 403],
  ['answers over_request_rate_limit', 429],
  ['answers unexpected_failure', 503],
  ['is unavailable', 503],
  ['never answers', 503],
  ['sends half an answer', 503],
])('without e-mail confirmation, if Auth %s, a sign-up is answered %s', async (behaviour, status) => {
  expect(await outcomesWhere(behaviour)).toMatchObject({ free: status, taken: status, pending: status })
})

test.concurrent.each([
  ['answers captcha_failed', false],
  ['cannot check the CAPTCHA', false],
  ['answers over_request_rate_limit', false],
  ['answers weak_password', false],
  ['is unavailable', false],
  ['hides that an address is taken', true],
])('if Auth %s, a sign-up with a pending address removes the account: %s', async (behaviour, removes) => {
  expect(await outcomesWhere(behaviour, 'with confirmation')).toMatchObject({ removes })
  expect(await outcomesWhere(behaviour)).toMatchObject({ removes })
})

test.concurrent('if sign-ups are disabled, none is begun', async () => {
  expect(await outcomesWhere('has sign-ups disabled')).toMatchObject({ free: 403, taken: 403, hasBegun: false })
  expect(await outcomesWhere('hides that an address is taken')).toMatchObject({ hasBegun: true })
})

test.concurrent('without e-mail confirmation a taken address is 409', async () => {
  expect(await outcomesWhere('answers user_already_exists')).toMatchObject({ free: 409, taken: 409 })
})

// Only requests that send mail are slow, so a timeout of recovery is answered as a success.
test.concurrent.each([['is unavailable', 503], ['never answers', 202], ['sends half an answer', 202]])(
  'if Auth %s, requests that need it are answered 503, and recovery %s',
  async (behaviour, recover) => {
    expect(await outcomesWhere(behaviour)).toMatchObject({ login: 503, recover, refresh: 503, me: 503 })
  },
)

test.concurrent('if Auth fails after recovery was answered, a warning is logged', async () => {
  const { recover, warnings } = await outcomesWhere('is unavailable after a while')
  expect({ recover, warnings }).toEqual({ recover: 202, warnings: expect.arrayContaining(['Recovery mail not sent']) })
})

// Auth reports all of these when it mails, so for known addresses only.
test.concurrent.each([
  'answers email_address_not_authorized',
  'answers email_address_invalid',
  'answers unexpected_failure',
])(
  'if Auth %s to a recovery, the client cannot tell that the address has an account',
  async (behaviour) => {
    expect(await outcomesWhere(behaviour)).toMatchObject({ recover: 202 })
  },
)

// All of these are reported before Auth looks for the account.
test.concurrent.each([
  ['answers captcha_failed', 400, 400],
  ['cannot check the CAPTCHA', 503, 503],
  ['answers over_request_rate_limit', 429, 429],
  ['answers email_provider_disabled', 403, 403],
])('if Auth %s, log-in is answered %s and recovery %s', async (behaviour, login, recover) => {
  expect(await outcomesWhere(behaviour)).toMatchObject({ login, recover })
})

test.concurrent('every 429 of Auth is answered with Retry-After', async () => {
  const { login, recover, refresh, free, waits } = await outcomesWhere('answers over_request_rate_limit')
  expect({ login, recover, refresh, free }).toEqual({ login: 429, recover: 429, refresh: 429, free: 429 })
  expect(waits).toEqual(Array(7).fill('60'))
})

test.concurrent('a banned account logs in, refreshes and logs out no more', async () => {
  expect(await outcomesWhere('answers user_banned')).toMatchObject({ login: 401, refresh: 401, logout: 403 })
})

test.concurrent('if too many refreshes share a token, the client is asked to repeat its request', async () => {
  expect(await outcomesWhere('answers conflict')).toMatchObject({ refresh: 503 })
})
