import { readFile } from 'node:fs/promises'
import { Hono } from 'hono'
import { secureHeaders } from 'hono/secure-headers'
import { describeError } from '../../functions/_shared/errors.ts'
import { log } from '../../functions/_shared/log.ts'
import { BodyError } from './body.ts'
import { type Dashboard, isLocal } from './dashboard.ts'
import { keyForm } from './key_form.ts'
import { bundle, openBundles } from './page_bundle.ts'
import type { Keys } from './settings.ts'

const folder = new URL('../../admin/', import.meta.url)
const read = (name: string) => readFile(new URL(name, folder), 'utf8')

/** The page's own files and this server. The form is the one to log out. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

type Env = { Bindings: { peerAddress: string; url: URL; isDashboard: boolean } }

/** The page of an admin: static files that call the Data API with the dashboard's cookie. */
export const admin = (dashboard: Dashboard, keys: Keys, build = bundle) => {
  const bundled = openBundles(folder, build)
  const page = new Hono<Env>()
  page.onError((error, c) => {
    if (error instanceof BodyError) throw error
    log('error', "The admin's page could not be built", describeError(error))
    return c.text("The admin's page could not be built, everything else works\n", 500)
  })
  // With no-referrer browsers hide the origin of a form, which the gateway compares.
  page.use(secureHeaders({ strictTransportSecurity: false, referrerPolicy: 'same-origin' }))
  page.use(async (c, next) => {
    await next()
    c.header('Content-Security-Policy', policy)
    c.header('Cache-Control', 'no-store')
  })
  page.get(
    '/style.css',
    async (c) => c.body(await read('style.css'), 200, { 'Content-Type': 'text/css; charset=utf-8' }),
  )
  page.use(async (c, next) => {
    const { url, peerAddress } = c.env
    return isLocal(c.req.raw, url, peerAddress) ? await next() : dashboard.closedPage(404)
  })
  page.route('/', keyForm(dashboard, keys, '/'))
  // Also with the cookie of an earlier start, which opens nothing any more.
  page.post('/logout', (c) => {
    const { url, peerAddress } = c.env
    if (dashboard.cookieFor(c.req.raw, url, peerAddress) === null) {
      return c.json({ error: 'This form works on its own page alone' }, 403)
    }
    return c.body(null, 303, { Location: '/admin', 'Set-Cookie': dashboard.expiredCookie })
  })
  page.get('/', async (c) => {
    // Fail here, rather than serve a page without a script.
    await bundled('main.ts')
    return c.html(await read('index.html'))
  })
  page.use(async (c, next) => c.env.isDashboard ? await next() : c.json({ error: 'Not found' }, 404))
  page.get(
    '/main.js',
    async (c) => c.body(await bundled('main.ts'), 200, { 'Content-Type': 'text/javascript; charset=utf-8' }),
  )
  page.all('*', (c) => c.text('There is no such page\n', 404))
  return page
}
