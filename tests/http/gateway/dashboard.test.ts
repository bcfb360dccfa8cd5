import { describe, expect, inject, test } from 'vitest'
import { send, statusOf } from '../../tools/gateway.ts'
import { dashboardCookie } from '../../tools/stack.ts'

const { origin, dashboard: link } = inject('stack')
const { port } = new URL(origin)
const cookie = await dashboardCookie(link)

const foreign: [string, Record<string, string>][] = [
  ['under another host name', { Host: 'rebound.example' }],
  ['under a name that only begins like this machine', { Host: `127.0.0.1.rebound.example:${port}` }],
  ['from a page of another origin', { Origin: 'https://elsewhere.example' }],
  ['from a page of an origin that is hidden', { Origin: 'null' }],
  ['from a page on another port of this machine', { Origin: 'http://127.0.0.1:1' }],
  ['through a proxy', { 'X-Forwarded-For': '203.0.113.9' }],
  ['through a proxy of another kind', { Via: '1.1 proxy' }],
  ['from a page of another site that hides its origin', { 'Sec-Fetch-Site': 'cross-site' }],
  ['from a page of another port that hides its origin', { 'Sec-Fetch-Site': 'same-site' }],
]

describe('the dashboard', () => {
  test.each(['/_system/info', '/_system/config', '/_system/introspect'])('reads %s', async (path) => {
    expect(await statusOf(path, { Cookie: cookie })).toBe(200)
  })

  test.each(foreign)('is refused with its cookie %s', async (_, headers) => {
    expect(await statusOf('/_system/info', { Cookie: cookie, ...headers })).toBe(404)
    expect(await statusOf('/rest/v1/users', { Cookie: cookie, ...headers })).toBe(401)
    expect((await send('/', { Cookie: cookie, ...headers })).text).toContain('The dashboard is closed')
  })

  test.each(foreign)('is refused without its cookie %s', async (_, headers) => {
    expect(await statusOf('/_system/info', headers)).toBe(404)
    expect(await statusOf('/rest/v1/users', headers)).toBe(401)
  })

  test('is refused to local programs without key and cookie', async () => {
    for (const headers of [{}, { Origin: origin }, { 'Sec-Fetch-Site': 'same-origin' }] as Record<string, string>[]) {
      for (const method of ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE']) {
        expect(await statusOf('/rest/v1/users?id=eq.0', headers, method)).toBe(401)
      }
      for (const path of ['/_system/info', '/_system/introspect', '/_system/ping', '/static/favicon.ico', '/editor']) {
        expect(await statusOf(path, headers)).toBe(404)
      }
    }
  })

  test('reads and writes with the rights of the secret key', async () => {
    expect(await statusOf('/rest/v1/users?limit=1', { Cookie: cookie })).toBe(200)
    expect(await statusOf('/rest/v1/users?name=match.a&limit=1', { Cookie: cookie })).toBe(200)
    const name = { 'Content-Type': 'application/json', Cookie: cookie, Prefer: 'return=representation' }
    expect((await send('/rest/v1/users?id=eq.0', name, 'PATCH', '{"bio": "x"}')).text).toBe('[]')
  })

  test('opens by its link, which sets a cookie for this port and removes the token from the URL', async () => {
    const { pathname, search } = new URL(link)
    const { status, headers } = await send(pathname + search)
    expect([status, headers.location]).toEqual([302, '/'])
    expect(headers['set-cookie']).toEqual([
      expect.stringMatching(new RegExp(`^dashboard_${port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`)),
    ])
    expect(headers['set-cookie']![0]).not.toContain(new URL(link).searchParams.get('token'))
    expect([headers['cache-control'], headers['referrer-policy']]).toEqual(['no-store', 'no-referrer'])
    expect((await send('/', { Cookie: cookie })).text).toContain('<script type="module" src="/static/')
    expect((await send('/?token=old', { Cookie: cookie })).headers.location).toBe('/')
  })

  test.each(['', 'x', 'x'.repeat(43), 'x'.repeat(10_000), '%00', '%ED%A0%80'])(
    'stays closed to the token "%s"',
    async (token) => {
      const { status, headers, text } = await send(`/?token=${token}`)
      expect([status, headers['set-cookie']]).toEqual([401, undefined])
      expect(text).toContain('The dashboard is closed')
    },
  )

  test('stays closed to the right token under another host name and through a proxy', async () => {
    const { pathname, search } = new URL(link)
    for (
      const headers of [{ Host: 'rebound.example' }, { 'X-Forwarded-For': '203.0.113.9' }] as Record<string, string>[]
    ) {
      const answer = await send(pathname + search, headers)
      expect([answer.status, answer.headers['set-cookie']]).toEqual([401, undefined])
    }
  })

  test('stays closed to a cookie of another port or another start, and to the token as a cookie', async () => {
    const [, value] = cookie.split('=')
    const token = new URL(link).searchParams.get('token')
    const others = [
      `dashboard_1=${value}`,
      `dashboard=${value}`,
      `dashboard_${port}=${'x'.repeat(43)}`,
      `dashboard_${port}=${value}x`,
      `dashboard_${port}=${value!.slice(1)}`,
      `dashboard_${port}=`,
      `dashboard_${port}=${token}`,
      `x=dashboard_${port}=${value}`,
    ]
    for (const Cookie of others) expect([Cookie, await statusOf('/_system/info', { Cookie })]).toEqual([Cookie, 404])
    // Another server on this host may have set a cookie of the same name first.
    expect(await statusOf('/_system/info', { Cookie: `dashboard_${port}=x; ${cookie}` })).toBe(200)
  })

  test('tells others only where the link is', async () => {
    for (const path of ['/', '/editor/users']) {
      const { status, headers, text } = await send(path, { Accept: 'text/html' })
      expect(status).toBe(path === '/' ? 200 : 404)
      expect(text).toMatch(/link that <code>npm start<\/code> printed/)
      expect(text).not.toMatch(/token=|sb_|supa|script/i)
      expect(headers['set-cookie']).toBeUndefined()
    }
  })

  test('cannot be framed and runs only its own scripts', async () => {
    for (const headers of [{}, { Cookie: cookie }] as Record<string, string>[]) {
      const policy = String((await send('/', headers)).headers['content-security-policy']).split('; ')
      expect(policy).toEqual(expect.arrayContaining([
        ...["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"],
        ...["form-action 'none'", "connect-src 'self'", "require-trusted-types-for 'script'"],
      ]))
    }
    const { headers } = await send('/editor/users', { Cookie: cookie })
    expect(headers).toMatchObject({ 'x-frame-options': 'DENY', 'x-content-type-options': 'nosniff' })
  })

  test('never shows the database password', async () => {
    const { text } = await send('/_system/info', { Cookie: cookie })
    expect(text).toContain('"connection"')
    expect(text).not.toMatch(/postgres(ql)?:\/\//)
  })

  test('shows exactly the tables and views of the Data API', async () => {
    const { tables, columns } = JSON.parse((await send('/_system/introspect', { Cookie: cookie })).text)
    expect(tables.map(({ name }: { name: string }) => name).sort()).toEqual([
      ...['conversations', 'hidden_profiles', 'interests', 'messages', 'moderation_log', 'moderation_queue'],
      ...['profile_interests', 'profiles', 'reports', 'reservation_history', 'reservations', 'users'],
    ])
    expect(new Set(columns.map(({ schema }: { schema: string }) => schema))).toEqual(new Set(['public']))
  })
})
