import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

interface Received {
  path: string
  apikey: string
  forwarded: string | null
  body: { gotrue_meta_security?: { captcha_token?: string }; data?: object; refresh_token?: string }
}

const requestsOf = (address: string, env: Record<string, string> = {}) =>
  runScript<{ requests: Received[]; began: unknown[] }>('tests/local/auth_requests.ts', [address], env)

const answerable = ['/auth/v1/signup', '/auth/v1/token password', '/auth/v1/recover', '/auth/v1/signup']

test('a CAPTCHA that the client solved is passed on to Auth, and nothing where the client sends none', async () => {
  const { requests, began } = await requestsOf('203.0.113.7')
  const captchas = requests.map(({ path, body }) => [path, body.gotrue_meta_security?.captcha_token])
  expect(captchas).toEqual([
    ...answerable.map((path) => [path, 'solved']),
    ...answerable.map((path) => [path, undefined]),
    ['/auth/v1/signup', undefined],
    ['/auth/v1/token refresh_token', undefined],
  ])
  // It is no field of the profile.
  expect(requests[0]!.body.data).toEqual({ ticket: 'the ticket' })
  expect(JSON.stringify(began)).not.toContain('captcha')
})

test('only POST /users with the secret key uses it, because Auth asks its holder for no CAPTCHA', async () => {
  const { requests } = await requestsOf('203.0.113.7')
  expect(requests.map(({ apikey }) => apikey)).toEqual([
    ...Array(8).fill('sb_publishable_test'),
    'sb_secret_test',
    'sb_publishable_test',
  ])
  expect(requests.map(({ forwarded }) => forwarded)).toEqual(Array(10).fill(null))
})

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3::4', '2001:db8:1:2::'],
])('with FORWARD_CLIENT_ADDRESS refreshes, and nothing else, tell Auth the address %s as %s', async (address, told) => {
  const { requests } = await requestsOf(address, { FORWARD_CLIENT_ADDRESS: 'on' })
  expect(requests.at(-1)).toEqual({
    path: '/auth/v1/token refresh_token',
    apikey: 'sb_secret_test',
    forwarded: told,
    body: { refresh_token: 'a token' },
  })
  expect(requests.slice(0, -1).map(({ forwarded }) => forwarded)).toEqual(Array(9).fill(null))
})

test('an unknown address is not told', async () => {
  const { requests } = await requestsOf('somewhere', { FORWARD_CLIENT_ADDRESS: 'on' })
  expect(requests.at(-1)).toMatchObject({ apikey: 'sb_publishable_test', forwarded: null })
})
