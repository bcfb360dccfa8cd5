import { expect, test } from 'vitest'
import { openDashboard } from '../../supabase/local/dashboard.ts'
import { readSettings } from '../../supabase/local/settings.ts'

const open = (HOST: string) => openDashboard(readSettings({ HOST, PORT: '54321' }))

/** Opens the link under a host name and from an address, then a page of the dashboard with the cookie that it set. */
const visit = (dashboard: ReturnType<typeof open>, host: string, peer: string) => {
  const link = new URL(dashboard.link ?? 'http://127.0.0.1:54321/?token=x')
  link.host = host
  const page = new URL('/editor', link)
  const request = (url: URL, headers = {}) => new Request(url, { headers: { Host: host, ...headers } })
  const opened = dashboard.open(request(link), link, peer)!
  const Cookie = opened.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const gives = dashboard.cookieFor(request(page), page, peer) !== null
  return { status: opened.status, gives, isAuthorized: dashboard.isAuthorized(request(page, { Cookie }), page, peer) }
}

test.each([
  ['127.0.0.1', '127.0.0.1:54321', '127.0.0.1'],
  ['127.0.0.1', 'localhost:54321', '127.0.0.1'],
  ['::1', '[::1]:54321', '::1'],
  ['0.0.0.0', '127.0.0.1:54321', '127.0.0.1'],
  ['::', '127.0.0.1:54321', '::ffff:127.0.0.1'],
  ['::', 'localhost:54321', '::1'],
])('with HOST %s the link works on this machine, under %s from %s', (host, name, peer) => {
  expect(visit(open(host), name, peer)).toEqual({ status: 302, gives: true, isAuthorized: true })
})

test.each([
  ['127.0.0.1', 'rebound.example:54321', '127.0.0.1'],
  ['0.0.0.0', '192.0.2.7:54321', '192.0.2.8'],
  ['0.0.0.0', '127.0.0.1:54321', '192.0.2.8'],
  ['0.0.0.0', '192.0.2.7:54321', '127.0.0.1'],
  ['0.0.0.0', '127.0.0.1:54321', '::ffff:192.0.2.8'],
  ['0.0.0.0', '127.0.0.1:54321', 'elsewhere'],
  ['0.0.0.0', '127.0.0.1:54321', ''],
])('with HOST %s the link does not work under %s from %s', (host, name, peer) => {
  expect(visit(open(host), name, peer)).toEqual({ status: 401, gives: false, isAuthorized: false })
})

test('each start makes another token, and without a loopback address there is no link', () => {
  const links = [open('127.0.0.1').link, open('127.0.0.1').link]
  expect(new Set(links).size).toBe(2)
  for (const link of links) expect(link).toMatch(/^http:\/\/127\.0\.0\.1:54321\/\?token=[\w-]{43}$/)
  expect([open('192.0.2.7').link, open('stack.example').link]).toEqual([null, null])
})
