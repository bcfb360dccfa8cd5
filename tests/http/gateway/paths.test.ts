import { expect, inject, test } from 'vitest'
import { send, statusOf } from '../../tools/raw_request.ts'
import { dashboardCookie } from '../../tools/stack.ts'

const { origin, publishableKey, secretKey, dashboard: link } = inject('stack')
const { port } = new URL(origin)
const cookie = await dashboardCookie(link)

test.each([
  ...['/%72est/v1/users', '/rest%2fv1/users', '/rest%2Fv1/users', '/%2572est/v1/users', '/%252572est/v1/users'],
  ...['/rest/v1/%2575sers', '/x/../rest/v1/users', '/x/%2e%2e/rest/v1/users', '/x/%2E./rest/v1/users'],
  ...['/./rest/v1/users', '/rest/./v1/users', '//rest/v1/users', '/rest//v1/users', '/rest/v1//users'],
  ...['/rest\\v1\\users', '/rest%5cv1/users', '/rest/v1/users/%2e', '/rest;x/v1/users', '/rest/v1;x/users'],
  ...['/rest/v1/users;x', '/%c1%b2est/v1/users', '/%ef%bd%92est/v1/users', '/REST/v1/users', '/rest/v1%00/users'],
  ...['/rest/v1/users%00', '/rest/v1/users%3fx', '/rest/v1/users%23', '/functions/v1/../../rest/v1/users'],
  ...['/functions/v1/%2e%2e/%2e%2e/rest/v1/users', '/rest/v1', '/rest/v1/', '/rest/v1users', '/%', '/%zz', '/%ff'],
  ...['/%u0072est/v1/users', '/*', '/%5fsystem/info', '/%5Fsystem/info', '/_system%2finfo', '/_system/%69nfo'],
  ...['/%255fsystem/info', '/x/../_system/info', '/_system//info', '/_system/./info', '/_system\\info'],
  ...['//_system/info', '/_SYSTEM/info', '/_system;/info', '/_system/info%00'],
])('a path written as %s exposes no data, and nothing about the stack', async (path) => {
  for (const headers of [{}, { 'X-Forwarded-For': '203.0.113.9' }] as Record<string, string>[]) {
    const { status, text } = await send(path, headers)
    expect([400, 401, 404]).toContain(status)
    expect(text).not.toMatch(/auth_id|@example|<script|connection|columns/)
  }
})

test.each(['/%2572est/v1/users', '/rest%2fv1/users', '/rest/v1/%5cusers', '/x/../rest/v1/users', '/rest//v1/users'])(
  'a path that decodes twice or is ambiguous is refused: %s',
  async (path) => {
    const { status, body } = await send(path, { apikey: secretKey })
    expect([status, body]).toEqual([400, { error: 'The path is ambiguous' }])
  },
)

test('a path with needless escapes is normalised, and its guards apply', async () => {
  const key = { apikey: publishableKey }
  const requests: [number, string, Record<string, string>][] = [
    [200, '/%72est/v1/%69nterests?limit=1', key],
    [400, '/rest/v1/%69nterests?name=match.a', key],
    [400, '/%72est/v1/interests?name=match.a', key],
    [200, '/%5fsystem/info', { Cookie: cookie }],
    [200, '/%66unctions/v1/health', {}],
    [400, '/%66unctions/v1/users/%2531', {}],
    // An absolute URL with another host does not reach the dashboard.
    [404, 'http://rebound.example/_system/info', { Cookie: cookie }],
    [404, `http://127.0.0.1:${port}/_system/info`, { Cookie: cookie, Host: 'rebound.example' }],
    [400, `http://user:word@127.0.0.1:${port}/_system/info`, { Cookie: cookie }],
  ]
  for (const [status, path, headers] of requests) expect([path, await statusOf(path, headers)]).toEqual([path, status])
  expect(await statusOf('/functions/v1/health', {}, 'TRACE')).toBe(405)
})
