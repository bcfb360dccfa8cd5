import { readFile } from 'node:fs/promises'
import { type Context, Hono } from 'hono'
import { readBody } from './body.ts'
import { type Dashboard, equals, isLocal } from './dashboard.ts'
import type { Env } from './path.ts'
import type { Keys } from './settings.ts'

/**
 * What the pages for an admin at this path answer without the dashboard's cookie: a form for the secret key, which is
 * exchanged for this cookie, so that no script ever holds it.
 */
export const keyForm = (dashboard: Dashboard, keys: Keys, at: '/' | '*') => {
  const form = new Hono<Env>()
  const askForKey = async (c: Context<Env>, error = '') => {
    const alert = error && `<p class="notice" role="alert">${error}</p>`
    const page = await readFile(new URL('../../admin/key.html', import.meta.url), 'utf8')
    c.header('Cache-Control', 'no-store')
    return c.html(page.replace('<!-- error -->', alert), error ? 401 : 200)
  }
  form.use(at, async (c, next) => {
    const { url, peerAddress } = c.env
    return isLocal(c.req.raw, url, peerAddress) ? await next() : dashboard.frontPage(404)
  })
  form.post(at, async (c) => {
    const { url, peerAddress } = c.env
    const cookie = dashboard.cookieFor(c.req.raw, url, peerAddress)
    if (cookie === null) return c.json({ error: 'This form works on its own page alone' }, 403)
    const body = c.req.raw.body && await readBody(c.req.raw.body, { bytes: 10_000 })
    const key = new URLSearchParams(body ? new TextDecoder().decode(body) : '').get('key') ?? ''
    if (!equals(key.trim(), keys.secretKey)) return await askForKey(c, 'This is not the secret key of this stack.')
    return c.body(null, 303, { Location: url.pathname, 'Set-Cookie': cookie })
  })
  form.get(at, async (c, next) => c.env.isDashboard ? await next() : await askForKey(c))
  return form
}
