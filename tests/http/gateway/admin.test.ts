import { describe, expect, inject, test } from 'vitest'
import { send } from '../../tools/gateway.ts'
import { signUp } from '../../tools/people.ts'
import { dashboardCookie } from '../../tools/stack.ts'

const { origin, dashboard: link, secretKey, publishableKey } = inject('stack')
const { port } = new URL(origin)
const cookie = await dashboardCookie(link)

const form = { 'Content-Type': 'application/x-www-form-urlencoded', Origin: origin }
const typeKey = (key: string, headers: Record<string, string> = {}) =>
  send('/admin', { ...form, ...headers }, 'POST', `key=${encodeURIComponent(key)}`)

const foreign: [string, Record<string, string>][] = [
  ['under another host name', { Host: 'rebound.example' }],
  ['from a page of another origin', { Origin: 'https://elsewhere.example' }],
  ['from a page of an origin that is hidden', { Origin: 'null' }],
  ['from a page on another port of this machine', { Origin: 'http://127.0.0.1:1' }],
  ['through a proxy', { 'X-Forwarded-For': '203.0.113.9' }],
  ['from a page of another site that hides its origin', { 'Sec-Fetch-Site': 'cross-site' }],
]

describe("the admin's page", () => {
  test('is there with the cookie of the dashboard, and its scripts too', async () => {
    const { status, text, headers } = await send('/admin', { Cookie: cookie })
    expect(status).toBe(200)
    expect(text).toContain('/admin/main.js')
    expect(headers['cache-control']).toBe('no-store')
    const script = await send('/admin/main.js', { Cookie: cookie })
    expect(script.status).toBe(200)
    for (const secret of [secretKey, publishableKey]) expect(text + script.text).not.toContain(secret)
  })

  test('is for nobody without it: there is the form for the key', async () => {
    const { token } = await signUp('Ana')
    for (
      const headers of [
        {},
        { apikey: publishableKey },
        { apikey: secretKey },
        { Authorization: `Bearer ${token}` },
        { Authorization: `Bearer ${secretKey}` },
        { Cookie: `dashboard_${port}=` },
        { Cookie: `dashboard_${port}=${'x'.repeat(43)}` },
      ] as Record<string, string>[]
    ) {
      const { text } = await send('/admin', headers)
      expect(text).toContain('Secret key')
      expect(text).not.toContain('/admin/main.js')
      for (const path of ['/admin/main.js', '/admin/index.html', '/admin/main.ts']) {
        expect((await send(path, headers)).status).toBe(404)
      }
    }
  })

  test('is opened by the secret key, which is exchanged for the cookie', async () => {
    const { status, headers, text } = await typeKey(` ${secretKey}\n`)
    expect([status, headers.location, text]).toEqual([303, '/admin', ''])
    expect(headers['set-cookie']).toEqual([`${cookie}; Path=/; HttpOnly; SameSite=Strict`])
  })

  test.each([
    ['no key', ''],
    ['the publishable key', publishableKey],
    ['a beginning of the secret key', secretKey.slice(0, -1)],
    ['more than the secret key', `${secretKey}x`],
  ])('is not opened by %s', async (_, key) => {
    const { status, headers, text } = await typeKey(key)
    expect([status, headers['set-cookie']]).toEqual([401, undefined])
    expect(text).toMatch(/role="alert">This is not the secret key/)
    if (key) expect(text).not.toContain(key)
  })

  test("is not opened by a user's token, nor by a body that is too large", async () => {
    expect((await typeKey((await signUp('Ben')).token)).status).toBe(401)
    expect((await typeKey('x'.repeat(20_000))).status).toBe(413)
  })

  test.each(foreign)('is not opened by the secret key %s', async (_, headers) => {
    const answer = await typeKey(secretKey, headers)
    expect([403, 404]).toContain(answer.status)
    expect(answer.headers['set-cookie']).toBeUndefined()
  })

  test.each(foreign)('is refused with its cookie %s', async (_, headers) => {
    expect((await send('/admin', { Cookie: cookie, ...headers })).text).not.toContain('/admin/main.js')
    expect((await send('/admin/main.js', { Cookie: cookie, ...headers })).status).toBe(404)
    const closing = await send('/admin/logout', { Cookie: cookie, ...headers }, 'POST')
    expect([403, 404]).toContain(closing.status)
    expect(closing.headers['set-cookie']).toBeUndefined()
    const json = { Cookie: cookie, 'Content-Type': 'application/json' }
    const { status } = await send('/rest/v1/rpc/find_people', { ...json, ...headers }, 'POST', '{"query": ""}')
    expect(status).toBe(401)
  })

  test('asks for no key elsewhere than on this machine', async () => {
    for (const headers of [{ Host: 'rebound.example' }, { Via: '1.1 proxy' }] as Record<string, string>[]) {
      const { status, text } = await send('/admin', headers)
      expect([status, text.includes('The dashboard is closed')]).toEqual([404, true])
    }
  })

  test('decides nothing by a link: functions that write refuse GET', async () => {
    const [ana, ben] = [await signUp('Ana'), await signUp('Ben')]
    const { body: report } = await ana.call('POST', '/users/me/reports', { user_id: ben.id, reason: 'spam' })
    for (
      const call of [
        `read_evidence?report=${report.id}`,
        `resolve_report?report=${report.id}&action=suspend&note=x`,
        `restrict_person?person=${ben.id}&restriction=suspend&note=x`,
        `erase_person?person=${ben.id}&note=x`,
      ]
    ) {
      expect((await send(`/rest/v1/rpc/${call}`, { Cookie: cookie })).status).toBe(405)
    }
    expect((await ben.call('GET', '/users/me')).status).toBe(200)
  })

  test.each([
    ['of this start', cookie],
    ['of an earlier start', `dashboard_${port}=${'x'.repeat(43)}`],
  ])('ends the access of a browser with the cookie %s', async (_, given) => {
    const { status, headers } = await send('/admin/logout', { Cookie: given, Origin: origin }, 'POST')
    expect([status, headers.location]).toEqual([303, '/admin'])
    expect(headers['set-cookie']).toEqual([expect.stringMatching(/^dashboard_\d+=; .*Max-Age=0$/)])
  })

  test('runs and frames nothing that is not its own', async () => {
    for (const headers of [{}, { Cookie: cookie }] as Record<string, string>[]) {
      const { headers: received } = await send('/admin', headers)
      const policy = `${received['content-security-policy']}`.split('; ')
      expect(policy).toEqual(expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
      ]))
      expect(`${policy}`).not.toContain('unsafe')
      expect(received['x-content-type-options']).toBe('nosniff')
      expect(received['access-control-allow-origin']).toBeUndefined()
    }
  })
})
