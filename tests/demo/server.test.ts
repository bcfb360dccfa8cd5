// The server of the demo page, and what needs no browser of the demo and the page of admins.
import { gzipSync } from 'node:zlib'
import { describe, expect, inject, test, vi } from 'vitest'
import { plainWords } from '../../admin/api.ts'
import { everybody, formatRoute, parseRoute, type Route } from '../../demo/router.ts'
import { outcomes } from '../../functions/notify/templates/outcomes.ts'
import { demo } from '../../supabase/local/pages.ts'
import { readSettings } from '../../supabase/local/settings.ts'
import { testKeys } from '../tools/stack.ts'

const { origin } = inject('stack')

test('the page is served under the address of each of its pages, and asks its own server only', async () => {
  for (const path of ['', '/side-by-side', '/people?q=jazz', '/people/12', '/c/7', '/c/seven', '/me']) {
    const response = await fetch(`${origin}/demo${path}`)
    const policy = response.headers.get('Content-Security-Policy')!.split('; ')
    expect(policy).toEqual(expect.arrayContaining([
      "default-src 'none'",
      "script-src 'self'",
      `connect-src 'self' ws://${new URL(origin).host} wss://${new URL(origin).host}`,
      "require-trusted-types-for 'script'",
      'trusted-types service-worker',
    ]))
    const html = expect.stringMatching(/"\/demo\/main\.js\?v=\w{16}"/)
    expect([path, response.status, await response.text()]).toEqual([path, 200, html])
  }
  for (const path of ['', '/main.js', '/style.css', '/icon.svg', '/config.json']) {
    const { status, headers } = await fetch(`${origin}/demo${path}`)
    const shown = [headers.get('X-Content-Type-Options'), headers.get('Access-Control-Allow-Origin')]
    expect([path, status, ...shown]).toEqual([path, 200, 'nosniff', null])
  }
  for (const path of ['/pane.ts', '/styles/base.css', '/people/1/2', '/you']) {
    expect([path, (await fetch(`${origin}/demo${path}`)).status]).toEqual([path, 404])
  }
  expect((await fetch(`${origin}/demo/`, { redirect: 'manual' })).headers.get('Location')).toBe('/demo')
})

test('browsers keep the files of a page, by addresses that change with them, and get them compressed', async () => {
  const html = await (await fetch(`${origin}/demo`)).text()
  const [, script] = /src="(\/demo\/main\.js\?v=\w+)"/.exec(html)!
  const [, styles] = /href="(\/demo\/style\.css\?v=\w+)"/.exec(html)!
  for (
    const [path, caching] of [
      [script, 'public, max-age=31536000, immutable'],
      [styles, 'public, max-age=31536000, immutable'],
      ['/demo', 'no-store'],
      ['/demo/main.js', 'no-store'],
      ['/demo/config.json', 'no-store'],
      ['/demo/style.css', 'no-cache'],
      ['/demo/nobody?v=1', 'no-store'],
    ] as const
  ) {
    const { headers } = await fetch(origin + path)
    expect([path, headers.get('Cache-Control')]).toEqual([path, caching])
  }
  expect(await (await fetch(`${origin}/docs/`)).text()).toMatch(/"main\.js\?v=\w{16}"/)
  const { headers } = await fetch(origin + script, { headers: { 'Accept-Encoding': 'gzip' } })
  expect(headers.get('Content-Encoding') ?? 'gzip').toBe('gzip')
  const ETag = (await fetch(`${origin}/demo/picture.webp`)).headers.get('ETag')!
  const again = await fetch(`${origin}/demo/picture.webp?v=1`, { headers: { 'If-None-Match': ETag } })
  expect([again.status, await again.text()]).toEqual([304, ''])
  expect(again.headers.get('Cache-Control')).toContain('immutable')
})

test('the page has the publishable key and no secret, and less than 107 kB of compressed scripts', async () => {
  const read = async (path: string) => (await fetch(`${origin}/demo${path}`)).text()
  const { publishableKey, currency } = JSON.parse(await read('/config.json'))
  expect([publishableKey, currency]).toEqual([testKeys.publishableKey, 'EUR'])
  for (const path of ['', '/config.json', '/main.js']) {
    const text = await read(path)
    for (const secret of [testKeys.secretKey, testKeys.jwtSecret]) expect(text).not.toContain(secret)
  }
  const scripts = await Promise.all(['/main.js', '/service_worker.js'].map(read))
  expect(gzipSync(scripts[0]!).length + gzipSync(scripts[1]!).length).toBeLessThan(107_000)
})

test('a failed build answers 500 with the reason, and the next request builds again', async () => {
  let broken = true
  const make = () => broken ? Promise.reject(new Error('no bundler here')) : Promise.resolve('run()')
  const page = demo(readSettings({}), testKeys, make)
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  const refused = await page.request('/')
  const text = 'The demo page could not be built, everything else works: no bundler here\n'
  expect([refused.status, await refused.text()]).toEqual([500, text])
  expect(logged).toHaveBeenCalledOnce()
  logged.mockRestore()
  broken = false
  expect((await page.request('/')).status).toBe(200)
  expect(await (await page.request('/main.js')).text()).toBe('run()')
})

test('a push says what has become of a reservation, as mails do, or how many messages there are', async () => {
  const listeners: Record<string, (event: object) => void> = {}
  const shown: [string, { body: string; data: string }][] = []
  const self = {
    addEventListener: (type: string, listener: (event: object) => void) => listeners[type] = listener,
    registration: { showNotification: (...all: (typeof shown)[0]) => Promise.resolve(shown.push(all)) },
  }
  new Function('self', await (await fetch(`${origin}/demo/service_worker.js`)).text())(self)
  const push = (data: object) => {
    const sent = {
      conversation_id: 7,
      name: 'Inês',
      unread: 0,
      status: null,
      title: null,
      date: null,
      text: null,
      ...data,
    }
    listeners.push!({ data: { json: () => sent }, waitUntil: () => {} })
    const [name, { body, data: address }] = shown.at(-1)!
    return [name, body, address]
  }
  const date = '2026-12-03T20:30:00.000Z'
  for (const [status, words] of Object.entries(outcomes)) {
    const body = expect.stringMatching(new RegExp(`^“Jazz”, .*2026.*, ${words}$`))
    expect(push({ status, title: 'Jazz', date })).toEqual(['Inês', body, '/demo/c/7'])
  }
  expect(push({ status: 'accepted', date })[1]).toMatch(/^A reservation, .*is agreed$/)
  expect(push({ unread: 1 })[1]).toBe('1 unread message')
  expect(push({ unread: 2, text: 'Hello' })[1]).toBe('Hello')
})

test('passwords are included for demo accounts only, and only on a loopback host', async () => {
  const logIns = async (env: Record<string, string>) =>
    (await (await demo(readSettings(env), testKeys).request('/config.json')).json()).logIns
  expect(await logIns({ SEED: 'demo' })).toHaveLength(2)
  expect(await logIns({ SEED: 'demo', HOST: '127.0.0.1' })).toHaveLength(2)
  expect(await logIns({ SEED: 'demo', HOST: '0.0.0.0' })).toEqual([])
  expect(await logIns({ SEED: 'none' })).toEqual([])
  expect((await (await fetch(`${origin}/demo/config.json`)).json()).logIns).toEqual([])
})

describe('an address of the demo', () => {
  const jazz = { q: 'jazz & tea', interests: ['Jazz', 'Tea'], cities: ['São Paulo'], countries: ['Brazil'], like: 12 }
  test.each<[Route, string]>([
    [{ page: 'inbox' }, '/demo'],
    [{ page: 'me' }, '/demo/me'],
    [{ page: 'conversation', id: 7 }, '/demo/c/7'],
    [{ page: 'profile', id: 12 }, '/demo/people/12'],
    [{ page: 'people', search: everybody }, '/demo/people'],
    [{ page: 'people', search: { ...everybody, q: 'jazz' } }, '/demo/people?q=jazz'],
    [
      { page: 'people', search: jazz },
      '/demo/people?q=jazz+%26+tea&like=12&interest=Jazz&interest=Tea&city=S%C3%A3o+Paulo&country=Brazil',
    ],
  ])('for %j is %s, and back', (route, address) => {
    expect(formatRoute(route)).toBe(address)
    expect(parseRoute(`http://127.0.0.1:54321${address}#there`)).toEqual(route)
  })
  test('that nobody has made is unknown, and a bad id of whom to be like is none', () => {
    for (const path of ['c/seven', 'c/0', 'c/-1', 'c/7/8', 'c/', 'you', 'people/1e3']) {
      expect([path, parseRoute(`/demo/${path}`)]).toEqual([path, { page: 'unknown' }])
    }
    expect(parseRoute('/demo/people?like=x')).toEqual({ page: 'people', search: everybody })
  })
})

test.each([
  [
    'error: new row for relation "reservations" violates check constraint "price is not negative"',
    'Not saved. The rule is: price is not negative',
  ],
  [
    'conflicting key value violates exclusion constraint "accepted reservations of a host do not overlap"',
    'Not saved. The rule is: accepted reservations of a host do not overlap',
  ],
  [
    'null value in column "date" of relation "reservations" violates not-null constraint',
    'Not saved: date must not be empty',
  ],
  ['invalid input syntax for type numeric: "a \n b"', 'Not saved: “a \n b” is not a number'],
  ['permission denied for table reports', 'permission denied for table reports'],
  [
    'error: duplicate key value violates unique constraint "users_email_key"',
    'duplicate key value violates unique constraint "users_email_key"',
  ],
])('admins read the error %j as %j', (message, shown) => {
  expect(plainWords(message)).toBe(shown)
})
