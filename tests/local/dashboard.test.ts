import { expect, test } from 'vitest'
import { openDashboard } from '../../supabase/local/dashboard.ts'
import { readSettings } from '../../supabase/local/settings.ts'

const open = (HOST: string) => openDashboard(readSettings({ HOST, PORT: '54321' }))

/** Opens the link under a host name and from an address, then a page of the dashboard with the cookie that it set. */
const visit = (
  dashboard: ReturnType<typeof open>,
  host: string,
  peer: string,
  headers: Record<string, string> = {},
) => {
  const link = new URL(dashboard.link ?? 'http://127.0.0.1:54321/?token=x')
  link.host = host
  const opened = dashboard.open(new Request(link, { headers: { Host: host, ...headers } }), link, peer)!
  const Cookie = opened.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const page = new URL('/editor', link)
  return {
    status: opened.status,
    gives: dashboard.cookieFor(new Request(page, { headers: { Host: host, ...headers } }), page, peer) !== null,
    isAuthorized: dashboard.isAuthorized(
      new Request(page, { headers: { Host: host, Cookie, ...headers } }),
      page,
      peer,
    ),
  }
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
  ['127.0.0.1', '127.0.0.1.rebound.example:54321', '127.0.0.1'],
  ['127.0.0.1', 'localhost.rebound.example:54321', '127.0.0.1'],
  ['0.0.0.0', '192.0.2.7:54321', '192.0.2.8'],
  ['0.0.0.0', '127.0.0.1:54321', '192.0.2.8'],
  ['0.0.0.0', '192.0.2.7:54321', '127.0.0.1'],
  ['0.0.0.0', '127.0.0.1:54321', '::ffff:192.0.2.8'],
  ['0.0.0.0', '127.0.0.1:54321', 'elsewhere'],
  ['0.0.0.0', '127.0.0.1:54321', ''],
])('with HOST %s the link does not work under %s from %s', (host, name, peer) => {
  expect(visit(open(host), name, peer)).toEqual({ status: 401, gives: false, isAuthorized: false })
})

test('without a loopback address there is no link', () => {
  expect(open('192.0.2.7').link).toBeNull()
  expect(open('stack.example').link).toBeNull()
})

test('each start makes another token', () => {
  const links = [open('127.0.0.1').link, open('127.0.0.1').link]
  expect(new Set(links).size).toBe(2)
  for (const link of links) expect(link).toMatch(/^http:\/\/127\.0\.0\.1:54321\/\?token=[\w-]{43}$/)
})
