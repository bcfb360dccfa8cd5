import { readFile } from 'node:fs/promises'
import { Hono } from 'hono'
import { secureHeaders } from 'hono/secure-headers'
import type { Config } from '../../demo/config.ts'
import { describeError } from '../../functions/_shared/errors.ts'
import { log } from '../../functions/_shared/log.ts'
import { accountsForPage } from './demo_accounts.ts'
import { bundle, openBundles } from './page_bundle.ts'
import type { Keys, Settings } from './settings.ts'

const folder = new URL('../../demo/', import.meta.url)
const read = (name: string) => readFile(new URL(name, folder), 'utf8')

/** The style sheets in their order: what comes later may override what comes before. */
const styles = [
  'base',
  'controls',
  'forms',
  'dialog',
  'menu',
  'avatar',
  'layout',
  'bar',
  'login',
  'overview',
  'conversations',
  'people',
  'search',
  'page',
  'chat',
  'messages',
  'attachments',
  'reservations',
  'phone',
]
const readStyles = async (): Promise<string> =>
  (await Promise.all(styles.map((name) => read(`styles/${name}.css`)))).join('\n')

/** The pages of one person, and the two people side by side; demo/router.ts reads these addresses. */
const pages = ['/', '/side-by-side', '/people', '/people/:id', '/c/:id', '/me']

/** The page's own files and this server. The WebSocket is named because not every browser includes it in 'self'. */
const policy = (host: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "worker-src 'self'",
    `connect-src 'self' ws://${host} wss://${host}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types service-worker',
  ].join('; ')

/** The demo page: one person with an address for each page, or two people side by side. */
export const demo = (settings: Settings, keys: Keys, build = bundle) => {
  const bundled = openBundles(folder, build)
  const page = new Hono()
  page.use(secureHeaders({ strictTransportSecurity: false }))
  page.use(async (c, next) => {
    await next()
    c.header('Content-Security-Policy', policy(new URL(c.req.url).host))
    c.header('Cache-Control', 'no-store')
  })
  page.onError((error, c) => {
    log('error', 'The demo page could not be built', describeError(error))
    return c.text(`The demo page could not be built, everything else works: ${error.message}\n`, 500)
  })
  for (const path of pages) {
    page.get(path, async (c) => {
      // Fail here, rather than serve a page without a script.
      await bundled('main.ts')
      return c.html(await read('index.html'))
    })
  }
  for (const name of ['main', 'service_worker']) {
    page.get(`/${name}.js`, async (c) => {
      return c.body(await bundled(`${name}.ts`), 200, { 'Content-Type': 'text/javascript; charset=utf-8' })
    })
  }
  page.get(
    '/style.css',
    async (c) => c.body(await readStyles(), 200, { 'Content-Type': 'text/css; charset=utf-8' }),
  )
  page.get('/icon.svg', async (c) => c.body(await read('icon.svg'), 200, { 'Content-Type': 'image/svg+xml' }))
  const accounts = accountsForPage(settings)
  const portraitOf = (email: string) => `portraits/${email.split('@')[0]}.webp`
  // Those of Storage are for whoever has logged in.
  for (const path of accounts.map(({ email }) => portraitOf(email))) {
    page.get(
      `/${path}`,
      async (c) => c.body(await readFile(new URL(path, folder)), 200, { 'Content-Type': 'image/webp' }),
    )
  }
  page.get('/config.json', (c) => {
    const config: Config = {
      publishableKey: keys.publishableKey,
      currency: settings.currency,
      logIns: accounts.map((account) => ({ ...account, portrait: `/demo/${portraitOf(account.email)}` })),
    }
    return c.json(config)
  })
  page.all('*', (c) => c.text('There is no such page\n', 404))
  return page
}
