import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

// One process for each behaviour, which several tests share.
const outcomes = new Map<string, Promise<Record<string, unknown>>>()
const outcomesWhere = (behaviour: string): Promise<Record<string, unknown>> => {
  const run = outcomes.get(behaviour) ?? runScript('tests/local/auth_errors.ts', [behaviour])
  outcomes.set(behaviour, run)
  return run
}

test.concurrent.each([
  ['hides that an address is taken', 201],
  ['cannot send mail', 201],
  ['answers email_address_not_authorized', 201],
  ['answers weak_password', 400],
  ['answers captcha_failed', 400],
  ['cannot check the CAPTCHA', 503],
  ['answers email_address_invalid', 400],
  ['answers email_provider_disabled', 403],
  ['answers unknown', 403],
  ['answers hook_timeout', 503],
  ['answers signup_disabled', 403],
  ['answers over_request_rate_limit', 429],
  ['answers unexpected_failure', 503],
  ['is unavailable', 503],
  ['never answers', 503],
  ['sends half an answer', 503],
])('if Auth %s, sign-ups with a free and with a taken address are both answered %s', async (behaviour, status) => {
  const { free, taken, mailed, unmailed } = await outcomesWhere(behaviour)
  expect({ free, taken }).toEqual({ free: status, taken: status })
  // Auth gives these errors only for an address that it mailed lately or cannot mail, so they must not be passed on.
  expect({ mailed, unmailed }).toEqual({ mailed: 201, unmailed: 201 })
})

test.concurrent('if sign-ups are disabled, no pending account is removed for one', async () => {
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

test.concurrent.each([
  'answers email_address_not_authorized',
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
  ['answers email_address_invalid', 400, 400],
])('if Auth %s, log-in is answered %s and recovery %s', async (behaviour, login, recover) => {
  expect(await outcomesWhere(behaviour)).toMatchObject({ login, recover })
})

test.concurrent('every 429 of Auth is answered with Retry-After', async () => {
  const { login, recover, refresh, free, waits } = await outcomesWhere('answers over_request_rate_limit')
  expect({ login, recover, refresh, free }).toEqual({ login: 429, recover: 429, refresh: 429, free: 429 })
  expect(waits).toEqual(Array(5).fill('60'))
})

test.concurrent('a banned account logs in, refreshes and logs out no more', async () => {
  expect(await outcomesWhere('answers user_banned')).toMatchObject({ login: 401, refresh: 401, logout: 403 })
})

test.concurrent('if too many refreshes share a token, the client is asked to repeat its request', async () => {
  expect(await outcomesWhere('answers conflict')).toMatchObject({ refresh: 503 })
})
