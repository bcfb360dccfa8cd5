import { expect, inject, test, vi } from 'vitest'
import { call, signUp } from '../../tools/people.ts'
import { dashboardCookie } from '../../tools/stack.ts'

const stack = inject('stack')
const get = async (path: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(`${stack.origin}${path}`, { headers: { Accept: 'text/html', ...headers } })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

test('mails are shown to whoever has opened the dashboard, without scripts', async () => {
  const { email } = await signUp('Ana <script>alert(1)</script>')
  expect((await call('POST', '/auth/recover', { email })).status).toBe(202)
  const cookie = { Cookie: await dashboardCookie(stack.dashboard) }
  const list = await vi.waitUntil(async () => {
    const answer = await get('/mail', cookie)
    return answer.text.includes(email) && answer
  }, { timeout: 20_000 })
  expect(list.headers.get('Content-Security-Policy')).toMatch(/^default-src 'none'; .*frame-ancestors 'none'/)
  const [, path] = new RegExp(`href="(/mail/\\d+)">[^<]*</a> to ${email.toLowerCase()}`).exec(list.text)!
  const mail = await get(path!, cookie)
  expect(mail.status).toBe(200)
  expect(mail.text).toMatch(/token/)
  expect(mail.text).not.toContain('<script')
  expect(mail.headers.get('Content-Security-Policy')).not.toMatch(/script-src|unsafe-eval/)
  const others: Record<string, string>[] = [
    {},
    { Cookie: `${cookie.Cookie}x` },
    { ...cookie, Origin: 'https://evil.example' },
  ]
  for (const headers of others) {
    for (const address of ['/mail', path!]) {
      const refused = await get(address, headers)
      expect([refused.status, refused.text.includes(email)]).toEqual([404, false])
    }
  }
  expect((await get('/mail/999999', cookie)).status).toBe(404)
})
