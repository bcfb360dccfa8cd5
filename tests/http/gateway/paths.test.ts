import { describe, expect, inject, test } from 'vitest'
import { send, statusOf } from '../../tools/gateway.ts'
import { dashboardCookie } from '../../tools/stack.ts'

const { origin, publishableKey, secretKey, dashboard: link } = inject('stack')
const { port } = new URL(origin)
const cookie = await dashboardCookie(link)

describe('a path', () => {
  const proxied = { 'X-Forwarded-For': '203.0.113.9' }
  const closed = [400, 401, 404]

  test.each([
    ...['/%72est/v1/users', '/rest%2fv1/users', '/rest%2Fv1/users', '/%2572est/v1/users', '/%252572est/v1/users'],
    ...['/rest/v1/%2575sers', '/x/../rest/v1/users', '/x/%2e%2e/rest/v1/users', '/x/%2E./rest/v1/users'],
    ...['/./rest/v1/users', '/rest/./v1/users', '//rest/v1/users', '/rest//v1/users', '/rest/v1//users'],
    ...['/rest\\v1\\users', '/rest%5cv1/users', '/rest/v1/users/%2e', '/rest;x/v1/users', '/rest/v1;x/users'],
    ...['/rest/v1/users;x', '/%c1%b2est/v1/users', '/%ef%bd%92est/v1/users', '/REST/v1/users', '/rest/v1%00/users'],
    ...['/rest/v1/users%00', '/rest/v1/users%3fx', '/rest/v1/users%23', '/functions/v1/../../rest/v1/users'],
    ...['/functions/v1/%2e%2e/%2e%2e/rest/v1/users', '/rest/v1', '/rest/v1/', '/rest/v1users', '/%', '/%zz', '/%ff'],
    ...['/%u0072est/v1/users', '/*'],
  ])('written as %s exposes no data', async (path) => {
    for (const headers of [{}, proxied] as Record<string, string>[]) {
      const { status, text } = await send(path, headers)
      expect([path, closed.includes(status)]).toEqual([path, true])
      expect(text).not.toMatch(/auth_id|@example|<script/)
    }
  })

  test.each([
    ...['/%5fsystem/info', '/%5Fsystem/info', '/_system%2finfo', '/_system/%69nfo', '/%255fsystem/info'],
    ...['/x/../_system/info', '/_system//info', '/_system/./info', '/_system\\info', '//_system/info', '/_SYSTEM/info'],
    ...['/_system;/info', '/_system/info%00'],
  ])('written as %s exposes nothing about the stack', async (path) => {
    for (const headers of [{}, proxied] as Record<string, string>[]) {
      const { status, text } = await send(path, headers)
      expect([path, closed.includes(status)]).toEqual([path, true])
      expect(text).not.toMatch(/connection|columns/)
    }
  })

  test('that decodes twice or is ambiguous is refused', async () => {
    for (
      const path of [
        '/%2572est/v1/users',
        '/rest%2fv1/users',
        '/rest/v1/%5cusers',
        '/x/../rest/v1/users',
        '/rest//v1/users',
      ]
    ) {
      const { status, text } = await send(path, { apikey: secretKey })
      expect([path, status, JSON.parse(text)]).toEqual([path, 400, { error: 'The path is ambiguous' }])
    }
  })

  test('with needless escapes is normalised, and its guards apply', async () => {
    const key = { apikey: publishableKey }
    expect(await statusOf('/%72est/v1/%69nterests?limit=1', key)).toBe(200)
    expect(await statusOf('/rest/v1/%69nterests?name=match.a', key)).toBe(400)
    expect(await statusOf('/%72est/v1/interests?name=match.a', key)).toBe(400)
    expect(await statusOf('/%5fsystem/info', { Cookie: cookie })).toBe(200)
    expect(await statusOf('/%66unctions/v1/health', {})).toBe(200)
    expect(await statusOf('/%66unctions/v1/users/%2531', {})).toBe(400)
  })

  test('in an absolute URL with another host does not reach the dashboard', async () => {
    expect(await statusOf('http://rebound.example/_system/info', { Cookie: cookie })).toBe(404)
    expect(await statusOf(`http://127.0.0.1:${port}/_system/info`, { Cookie: cookie, Host: 'rebound.example' })).toBe(
      404,
    )
    expect(await statusOf(`http://user:word@127.0.0.1:${port}/_system/info`, { Cookie: cookie })).toBe(400)
  })
})

test('the method TRACE is refused', async () => {
  expect(await statusOf('/functions/v1/health', {}, 'TRACE')).toBe(405)
})
