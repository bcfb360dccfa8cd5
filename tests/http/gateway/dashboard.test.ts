/** The three pages of whoever started the stack: the dashboard, the page of admins and the mails. */
import { describe, expect, inject, test, vi } from 'vitest'
import { send, statusOf } from '../../tools/raw_request.ts'
import { call, signUp } from '../../tools/people.ts'
import { dashboardCookie } from '../../tools/stack.ts'

const { origin, dashboard: link, secretKey, publishableKey } = inject('stack')
const { port } = new URL(origin)
const cookie = await dashboardCookie(link)
const [, value] = cookie.split('=')
const token = new URL(link).searchParams.get('token')!

type Headers = Record<string, string>
const foreign: [string, Headers][] = [
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
/** What only the cookie opens, with what its text then has; and the status of everybody else. */
const pages: [path: string, shown: RegExp, otherwise: number][] = [
  ['/', /<script type="module" src="\/static\//, 200],
  ['/_system/info', /"connection"/, 404],
  ['/_system/config', /"jwt_secret"/, 404],
  ['/_system/introspect', /"columns"/, 404],
  ['/rest/v1/users?limit=1', /auth_id/, 401],
  // A pattern that needs the secret key.
  ['/rest/v1/users?name=match.a&limit=1', /^\[/, 401],
  ['/admin', /\/admin\/main\.js/, 200],
  ['/admin/main.js', /createElement/, 404],
  ['/mail', /<title>Mails/, 200],
]
const others = [
  ...['1', '_', `${port}x`].map((name) => `dashboard_${name}=${value}`),
  ...['x'.repeat(43), `${value}x`, value!.slice(1), '', token].map((other) => `dashboard_${port}=${other}`),
  ...[`dashboard=${value}`, `x=${cookie}`],
]

test("the cookie opens every page, also beside another server's of the same name", async () => {
  for (const Cookie of [cookie, `dashboard_${port}=x; ${cookie}`]) {
    for (const [path, shown] of pages) {
      const { status, text, headers } = await send(path, { Cookie })
      expect({ path, status, text }).toEqual({ path, status: 200, text: expect.stringMatching(shown) })
      // The page, its scripts and the settings of the stack hold no secret.
      expect(text).not.toContain(secretKey)
      expect(text).not.toMatch(/postgres(ql)?:\/\//)
      expect(headers['access-control-allow-origin']).toBe(path.startsWith('/rest/') ? '*' : undefined)
    }
  }
})

const { token: userToken } = await signUp('Ana')
const closed: [string, Headers][] = [
  ['without the cookie', {}],
  ['without the cookie, from its own page', { Origin: origin, 'Sec-Fetch-Site': 'same-origin' }],
  ...others.map((Cookie): [string, Headers] => [`with the cookie ${Cookie.slice(0, 30)}`, { Cookie }]),
  ...foreign.flatMap(([how, headers]): [string, Headers][] => [
    [`${how}, without its cookie`, headers],
    [`${how}, with its cookie`, { Cookie: cookie, ...headers }],
  ]),
]
test.each(closed)('every page is closed %s', async (_, headers) => {
  for (const [path, shown, otherwise] of pages) {
    const { status, text, headers: answered } = await send(path, headers)
    // Under another name there is not even the form for the key.
    expect([path, [otherwise, 404]]).toEqual([path, expect.arrayContaining([status])])
    if (!path.startsWith('/rest/')) expect(answered['access-control-allow-origin']).toBeUndefined()
    expect(text).not.toMatch(shown)
    expect(text).not.toMatch(/token=|sb_/)
  }
  for (const method of ['HEAD', 'POST', 'PATCH', 'DELETE']) {
    expect(await statusOf('/rest/v1/users?id=eq.0', headers, method)).toBe(401)
  }
})
test('keys and tokens are no cookie: with them there is the form for the key', async () => {
  const bearers = [userToken, secretKey].map((key): Headers => ({ Authorization: `Bearer ${key}` }))
  for (const headers of [{ apikey: publishableKey }, { apikey: secretKey }, ...bearers] as Headers[]) {
    for (const path of ['/admin', '/mail', '/mail/1']) {
      const { text, headers: answered } = await send(path, headers)
      expect(text).toContain('Secret key')
      expect(text).not.toContain('/admin/main.js')
      // Otherwise the form could not be sent, or not be told from one of another origin.
      expect(answered['content-security-policy']).toContain("form-action 'self'")
      expect(answered['referrer-policy']).toBe('same-origin')
    }
    for (const path of ['/admin/main.js', '/admin/index.html', '/admin/main.ts', '/_system/info']) {
      expect([path, await statusOf(path, headers)]).toEqual([path, 404])
    }
  }
})

const own = (...names: string[]) => names.map((name) => `${name} 'self'`)
const none = (...names: string[]) => names.map((name) => `${name} 'none'`)
const trusted = "require-trusted-types-for 'script'"
test.each([
  ['/', [...none('base-uri', 'form-action'), ...own('script-src', 'connect-src'), trusted]],
  ['/editor/users', [...none('base-uri', 'form-action'), ...own('script-src', 'connect-src'), trusted]],
  ['/admin', [...own('script-src', 'style-src', 'connect-src', 'form-action'), trusted]],
  ['/mail', []],
])('%s runs only its own scripts and cannot be framed', async (path, expected) => {
  for (const headers of [{}, { Cookie: cookie }] as Headers[]) {
    const answer = (await send(path, headers)).headers
    const policy = String(answer['content-security-policy']).split('; ')
    expect(policy).toEqual(expect.arrayContaining([...none('default-src', 'frame-ancestors'), ...expected]))
    if (path === '/admin' || path === '/mail') expect(policy.join()).not.toMatch(/unsafe-eval|script-src 'unsafe/)
    expect(answer['x-content-type-options']).toBe('nosniff')
  }
})

describe('the dashboard', () => {
  test('writes with the rights of the secret key', async () => {
    const headers = { 'Content-Type': 'application/json', Cookie: cookie, Prefer: 'return=representation' }
    expect((await send('/rest/v1/users?id=eq.0', headers, 'PATCH', '{"bio": "x"}')).text).toBe('[]')
  })

  test('opens by its link, which sets a cookie for this port and removes the token from the URL', async () => {
    const { status, headers } = await send(`/?token=${token}`)
    expect([status, headers.location]).toEqual([302, '/'])
    expect(headers['set-cookie']).toEqual([
      expect.stringMatching(new RegExp(`^dashboard_${port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`)),
    ])
    expect(headers['set-cookie']![0]).not.toContain(token)
    expect([headers['cache-control'], headers['referrer-policy']]).toEqual(['no-store', 'no-referrer'])
    expect((await send('/?token=old', { Cookie: cookie })).headers.location).toBe('/')
  })

  test('stays closed to another token, and to the right one from elsewhere', async () => {
    const wrong = ['', 'x', 'x'.repeat(43), 'x'.repeat(10_000), '%00', '%ED%A0%80']
    const elsewhere: Headers[] = [{ Host: 'rebound.example' }, { 'X-Forwarded-For': '203.0.113.9' }]
    const closedTo = [...wrong.map((one) => [one, {}] as const), ...elsewhere.map((from) => [token, from] as const)]
    for (const [given, from] of closedTo) {
      const { status, headers, text } = await send(`/?token=${given}`, from)
      expect([given, status, headers['set-cookie']]).toEqual([given, 401, undefined])
      expect(text).toContain('The dashboard is closed to this link.')
    }
  })

  test('shows others the front page, which leads to all others and says where the link is', async () => {
    for (const path of ['/', '/editor/users']) {
      const { status, headers, text } = await send(path, { Accept: 'text/html' })
      expect(status).toBe(path === '/' ? 200 : 404)
      expect(text).toMatch(/link that <code>npm start<\/code> printed/)
      expect(text.includes('There is no such page here.')).toBe(path !== '/')
      for (const page of ['/demo', '/demo/side-by-side', '/docs/', '/admin', '/mail']) {
        expect(text).toContain(`href="${page}"`)
      }
      expect(text).not.toMatch(/token=|sb_|supa|script/i)
      expect(headers['set-cookie']).toBeUndefined()
    }
  })

  test('shows exactly the tables and views of the Data API', async () => {
    const { tables, columns } = JSON.parse((await send('/_system/introspect', { Cookie: cookie })).text)
    expect(tables.map(({ name }: { name: string }) => name).sort()).toEqual([
      ...['conversations', 'interests', 'messages', 'moderation_log', 'moderation_queue'],
      ...['profile_interests', 'profiles', 'reports', 'reservation_history', 'reservations', 'users'],
    ])
    expect(new Set(columns.map(({ schema }: { schema: string }) => schema))).toEqual(new Set(['public']))
  })
})

describe("the admin's page", () => {
  const form = { 'Content-Type': 'application/x-www-form-urlencoded', Origin: origin }
  const typeKey = (key: string, headers: Headers = {}, path = '/admin') =>
    send(path, { ...form, ...headers }, 'POST', `key=${encodeURIComponent(key)}`)

  test('is opened by the secret key, which is exchanged for the cookie', async () => {
    for (const path of ['/admin', '/mail', '/mail/7']) {
      const { status, headers, text } = await typeKey(` ${secretKey}\n`, {}, path)
      expect([status, headers.location, text]).toEqual([303, path, ''])
      expect(headers['set-cookie']).toEqual([`${cookie}; Path=/; HttpOnly; SameSite=Strict`])
    }
  })

  test.each([
    ['no key', ''],
    ['the publishable key', publishableKey],
    ['a beginning of the secret key', secretKey.slice(0, -1)],
    ['more than the secret key', `${secretKey}x`],
    ["a user's token", userToken],
  ])('is not opened by %s', async (_, key) => {
    const { status, headers, text } = await typeKey(key)
    expect([status, headers['set-cookie']]).toEqual([401, undefined])
    expect(text).toMatch(/role="alert">This is not the secret key/)
    if (key) expect(text).not.toContain(key)
  })

  test('takes no large body', async () => expect((await typeKey('x'.repeat(20_000))).status).toBe(413))

  test.each(foreign)('neither opens nor closes %s', async (_, headers) => {
    const opening = await typeKey(secretKey, headers)
    const closing = await send('/admin/logout', { Cookie: cookie, ...headers }, 'POST')
    for (const answer of [opening, closing]) {
      expect([403, 404]).toContain(answer.status)
      expect(answer.headers['set-cookie']).toBeUndefined()
    }
    const json = { Cookie: cookie, 'Content-Type': 'application/json', ...headers }
    expect((await send('/rest/v1/rpc/find_people', json, 'POST', '{"query": ""}')).status).toBe(401)
  })

  test('decides nothing by a link: functions that write refuse GET', async () => {
    const [ana, ben] = [await signUp('Ana'), await signUp('Ben')]
    const { body: report } = await ana.call('POST', '/users/me/reports', { user_id: ben.id, reason: 'spam' })
    const [about, decides] = [`report=${report.id}`, `person=${ben.id}&note=x`]
    const evidence = [`read_evidence?${about}`, `resolve_report?${about}&action=suspend&note=x`]
    for (const call of [...evidence, `restrict_person?${decides}&restriction=suspend`, `erase_person?${decides}`]) {
      expect([call, await statusOf(`/rest/v1/rpc/${call}`, { Cookie: cookie })]).toEqual([call, 405])
    }
    expect((await ben.call('GET', '/users/me')).status).toBe(200)
  })

  test.each([['this', cookie], ['an earlier', `dashboard_${port}=${'x'.repeat(43)}`]])(
    'ends the access by the cookie of %s start',
    async (_, given) => {
      const { status, headers } = await send('/admin/logout', { Cookie: given, Origin: origin }, 'POST')
      expect([status, headers.location]).toEqual([303, '/admin'])
      expect(headers['set-cookie']).toEqual([expect.stringMatching(/^dashboard_\d+=; .*Max-Age=0$/)])
    },
  )
})

test('mails are shown to whoever has opened the dashboard, without scripts', async () => {
  const { email } = await signUp('Ana <script>alert(1)</script>')
  expect((await call('POST', '/auth/recover', { email })).status).toBe(202)
  const list = await vi.waitUntil(async () => {
    const { text } = await send('/mail', { Cookie: cookie })
    return text.includes(email) && text
  }, { timeout: 60_000 })
  const [, path] = new RegExp(`href="(/mail/\\d+)">[^<]*</a> to ${email.toLowerCase()}`).exec(list)!
  const mail = await send(path!, { Cookie: cookie })
  expect([mail.status, mail.text]).toEqual([200, expect.stringMatching(/token/)])
  expect(mail.text).not.toContain('<script')
  expect(mail.headers['content-security-policy']).not.toMatch(/script-src|unsafe-eval/)
  for (const [, headers] of closed) {
    const { status, text } = await send(path!, headers)
    expect([[200, 404].includes(status), text.includes(email)]).toEqual([true, false])
  }
  expect(await statusOf('/mail/999999', { Cookie: cookie })).toBe(404)
})
