// With an Auth, a mail server, a hook or a CAPTCHA that fails: what the Edge Functions answer each address, and when.
import { beforeAll, describe, expect, test } from 'vitest'
import { authAnswers } from '../tools/auth_answers.ts'
import { runScript } from '../tools/run_script.ts'

type Sent = { status: number; text: string; wait: string | null; names: string[]; took: number }
type Path = 'login' | 'recovery' | 'refreshed' | 'logout' | 'me' | 'plain'
type Flag = 'warned' | 'recoveryWarned' | 'begun' | 'removes'
interface Report {
  faults: Record<string, Record<Path, Sent> & Record<Flag, boolean> & { signUps: Sent[] }>
  times: Record<string, Sent[][]>
  floors: Record<string, number[]>
  others: object
  asked: Record<string, string[]>
  pending: { requests: string[]; metadata: object; began: unknown[] }
  created: number[]
}
let report: Report
beforeAll(async () => {
  report = await runScript<Report>('tests/local/auth_faults.ts')
})

// The answer to a sign-up with e-mail confirmation, to one without, to a log-in, a recovery and a refresh; null where
// Auth has no such answer. 201 and 202 tell nobody whether there is an account.
type Status = number | null
type Row = [fault: string, confirming: number, plain: Status, login: Status, recovery: number, refreshed: Status]
// deno-fmt-ignore
const table: Row[] = [
  ['hides that an address is taken',       201, 201,  null, 202, null],
  // What Auth reports for every address.
  ['has sign-ups disabled',                403, 403,  null, 202, null],
  ['does not tell its settings',           503, 503,  null, 202, null],
  ['answers captcha_failed',               400, 400,  400,  400, null],
  ['cannot check the CAPTCHA',             503, 503,  503,  503, null],
  ['answers weak_password',                400, 400,  null, 202, null],
  ['answers signup_disabled',              403, 403,  null, 202, null],
  ['answers email_provider_disabled',      403, 403,  403,  403, null],
  ['answers over_request_rate_limit',      429, 429,  429,  429, 429],
  ['is behind a gateway that answers 429', 429, 429,  429,  202, 429],
  ['is unavailable',                       503, 503,  503,  503, 503],
  ['goes down',                            503, 503,  503,  503, 503],
  ['is down',                              503, 503,  503,  503, 503],
  // Only requests that send mail are slow, so a time-out of recovery is answered as a success.
  ['is unavailable after a while',         201, 503,  503,  202, 503],
  ['never answers',                        503, 503,  503,  202, 503],
  ['sends half an answer',                 503, 503,  503,  202, 503],
  // What it reports for some addresses only: when it creates an account, or mails a known address.
  ['answers email_address_not_authorized', 201, 400,  null, 202, null],
  ['answers email_address_invalid',        201, 400,  null, 202, null],
  ['answers unexpected_failure',           201, 503,  503,  202, 503],
  ['cannot send mail',                     201, 503,  null, 202, null],
  ['cannot save',                          201, 503,  null, 202, null],
  ['answers user_already_exists',          201, 409,  null, 202, null],
  ['answers unknown',                      201, 403,  403,  202, null],
  ['answers unknown with 429',             201, 429,  429,  202, 429],
  ['answers hook_timeout',                 201, 503,  503,  202, null],
  ['answers hook_timeout_after_retry',     201, 503,  503,  202, null],
  ['answers hook_payload_over_size_limit', 201, null, null, 202, null],
  ['has a hook that answers 503',          201, 503,  503,  202, null],
  ['answers user_banned',                  201, null, 401,  202, 401],
  // The gateway, after a key of ours was deleted: nobody is logged out.
  ['has a gateway that refuses our key',   201, null, null, 202, 503],
  // Too many refreshes at once share a token, which stays valid.
  ['answers conflict',                     201, null, null, 202, 503],
]

test('the table has every answer of Auth', () => {
  const all = [...Object.keys(authAnswers), ...Object.keys(report.faults)]
  expect(new Set(table.map(([fault]) => fault))).toEqual(new Set(all))
})

test.each(table)('if Auth %s, its answers are passed on, and free, pending and taken addresses are answered alike', (
  fault,
  confirming,
  ...[plain, login, recovery, refreshed]
) => {
  const outcome = report.faults[fault]!
  for (const [path, status] of Object.entries({ plain, login, recovery, refreshed })) {
    const sent = outcome[path as Path]
    if (status !== null) expect([path, sent.status]).toEqual([path, status])
    if (sent.status === 429) expect([path, sent.wait]).toEqual([path, '60'])
  }
  const { signUps } = outcome
  expect(signUps).toEqual(Array(5).fill({ ...signUps[0], status: confirming }))
  if (confirming === 201) expect(signUps[0]!.took).toBe(1500)
  if (recovery === 202) expect(outcome.recovery.took).toBe(500)
  // The operator learns of it.
  if (confirming === 201 && !fault.startsWith('hides')) expect(outcome.warned).toBe(true)
  if (recovery === 202 && !/hides|ups disabled$|settings$/.test(fault)) expect(outcome.recoveryWarned).toBe(true)
  // A pending account is removed only for somebody whose CAPTCHA, password and rate Auth has accepted.
  expect(outcome.removes).toBe(confirming === 201 && !/after a while$|our key$/.test(fault))
  expect(outcome.begun).toBe(!/ups disabled$|settings$|never|half|^is down/.test(fault) && fault !== 'is unavailable')
  // A token whose key only Auth knows.
  expect(outcome.me.status).toBe(/^(hides|has sign-ups|does not tell)/.test(fault) ? 401 : 503)
})

test('a banned person is told so at a log-out, which needs a token, and not at a log-in', () => {
  const { login, logout } = report.faults['answers user_banned']!
  expect([logout.status, logout.text]).toEqual([403, expect.stringContaining('suspended')])
  expect(login).toEqual(report.times['one failed log-in']![0]![0])
})

describe('response times do not reveal who has an account', () => {
  test.each([
    ['one failed log-in', 401, 500],
    ['ten failed log-ins at once', 401, 2000],
    ['recovery', 202, 500],
    ['recovery with a CAPTCHA', 202, 1500],
    ['sign-up', 201, 1500],
  ])('of %s, while Auth hashes for a second and sends mail for three', (what, status, took) => {
    const [taken, ...others] = report.times[what]!
    for (const answer of taken!) expect(answer).toEqual({ ...taken![0], status, took })
    for (const other of others) expect(other).toEqual(taken)
  })

  test('log-ins at once take 0.2 s each, or half as long again as the slowest of late, and at most 5 s', () => {
    expect(report.floors).toEqual({
      '1': [500],
      '1,1': [500, 500],
      '20': Array(20).fill(4000),
      '100': Array(100).fill(5000),
      '1,300,620,900': Array(4).fill(1350),
      '7000': [7000],
      // The second is as slow as the first, nearly.
      '2000, then 1, and later': [3000, expect.toSatisfy((took) => took > 2500 && took < 3000), 500],
    })
  })

  test('300 failed log-ins that wait for their time keep nobody else waiting', () => {
    expect(report.others).toMatchObject({ status: 200, answered: 0 })
  })
})

test.each(['', 'on'])(
  'Auth is given the CAPTCHA and the key of who asks; with FORWARD_CLIENT_ADDRESS=%s',
  (forwards) => {
    const paths = ['signup', 'token password', 'recover', 'signup'].map((path) => `${path} ana@example.com`)
    const refreshed = 'token refresh_token a token'
    expect(report.asked[forwards]).toEqual([
      ...paths.map((path) => `${path} sb_publishable_test solved`),
      ...paths.map((path) => `${path} sb_publishable_test`),
      // Auth asks the holder of the secret key for no CAPTCHA and no confirmation.
      'admin/users ana@example.com sb_secret_test',
      // Only for a refresh does it believe the secret key what the client's address is.
      ...(forwards
        ? [`${refreshed} sb_secret_test 203.0.113.7`, `${refreshed} sb_secret_test 2001:db8:1:2::`]
        : Array(2).fill(`${refreshed} sb_publishable_test`)),
      `${refreshed} sb_publishable_test`,
    ])
  },
)

test('a CAPTCHA is shown to Auth once, though a pending account takes two requests, and to nobody else', () => {
  expect(report.pending.requests).toEqual([
    'signup no address sb_publishable_test solved',
    // The secret key is asked for none.
    'signup pending@example.com sb_secret_test solved',
  ])
  expect(report.pending.metadata).toEqual({ ticket: 'the ticket' })
  expect(JSON.stringify(report.pending.began)).not.toContain('captcha')
})

test('with PUBLIC_USER_CREATION=off only the secret key creates users', () => {
  expect(report.created).toEqual([403, 403, 201])
})
