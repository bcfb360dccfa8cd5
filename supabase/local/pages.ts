import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type Context, Hono } from 'hono'
import { compress } from 'hono/compress'
import { etag } from 'hono/etag'
import { html } from 'hono/html'
import { getMimeType } from 'hono/utils/mime'
import type { Config } from '../../demo/config.ts'
import { describeError } from '../../functions/_shared/errors.ts'
import { log } from '../../functions/_shared/log.ts'
import { BodyError } from './body.ts'
import type { Dashboard } from './dashboard.ts'
import { accountsForPage } from './demo_accounts.ts'
import { keyForm } from './key_form.ts'
import { formReferrer, pageHeaders, type Policy, self } from './page_headers.ts'
import type { Env } from './path.ts'
import type { Keys, Settings } from './settings.ts'

/** Bundles a page's script with what it imports. The bundler is loaded on the first request. */
const bundle = async (entry: URL): Promise<string> => {
  const { build } = await import('rolldown')
  const { output: [script] } = await build({
    input: fileURLToPath(entry),
    platform: 'browser',
    tsconfig: false,
    write: false,
    logLevel: 'silent',
    output: { format: 'esm', minify: true, codeSplitting: false },
  })
  return script.code
}

/** Bundles each script once. After a failure the next request tries again. */
const openBundles = (folder: URL, build = bundle) => {
  const scripts = new Map<string, Promise<string>>()
  return (entry: string): Promise<string> => {
    const script = scripts.get(entry) ?? build(new URL(entry, folder))
    scripts.set(entry, script)
    script.catch(() => scripts.delete(entry))
    return script
  }
}

/** A page that asks its own server only; `more` is what it may beyond its files. */
const openPage = (title: string, more: Policy, referrer = {}) => {
  const page = new Hono<Env>()
  const policy = { scriptSrc: self, styleSrc: self, imgSrc: self, connectSrc: self, ...more }
  page.use(pageHeaders({ ...policy, requireTrustedTypesFor: ["'script'"] }, referrer))
  page.onError((error, c) => {
    if (error instanceof BodyError) throw error
    log('error', `${title} could not be built`, describeError(error))
    return c.text(`${title} could not be built, everything else works: ${error.message}\n`, 500)
  })
  page.use(compress())
  page.use(async (c, next) => {
    await next()
    const unversioned = c.res.headers.has('ETag') ? 'no-cache' : 'no-store'
    const isVersioned = c.req.query('v') && (c.res.ok || c.res.status === 304)
    c.header('Cache-Control', isVersioned ? 'public, max-age=31536000, immutable' : unversioned)
  })
  return page
}

/** A page whose files have addresses by their contents, so that browsers keep them for ever. */
const withVersions = (html: string, files: Record<string, string>): string =>
  Object.entries(files).reduce((page, [name, content]) => {
    const version = createHash('sha256').update(content).digest('hex').slice(0, 16)
    return page.replaceAll(`${name}"`, `${name}?v=${version}"`)
  }, html)

const send = (c: Context, name: string, content: string | Uint8Array<ArrayBuffer>): Response => {
  c.header('Content-Type', getMimeType(name)!)
  return c.body(content)
}
const noPage = (c: Context) => c.text('There is no such page\n', 404)

const demoFolder = new URL('../../demo/', import.meta.url)
/** The style sheets in their order: what comes later may override what comes before. */
const styles =
  ('base controls forms dialog menu avatar layout bar login overview conversations people search page chat messages ' +
    'attachments reservations front phone').split(' ')
/** The pages of one person, and the two people side by side; demo/router.ts reads these addresses. */
const addresses = ['/', '/side-by-side', '/people', '/people/:id', '/c/:id', '/me']

/** The demo page: one person with an address for each page, or two people side by side. */
export const demo = (settings: Settings, keys: Keys, build = bundle) => {
  const read = (name: string) => readFile(new URL(name, demoFolder))
  const bundled = openBundles(demoFolder, build)
  const hostOf = (c: Context) => new URL(c.req.url).host
  const page = openPage('The demo page', {
    imgSrc: [...self, 'blob:'],
    // The WebSocket is named because not every browser includes it in 'self'.
    connectSrc: [...self, (c) => `ws://${hostOf(c)}`, (c) => `wss://${hostOf(c)}`],
    workerSrc: self,
    formAction: self,
    trustedTypes: ['service-worker'],
  })
  const readStyles = async () => (await Promise.all(styles.map((name) => read(`styles/${name}.css`)))).join('\n')
  const accounts = accountsForPage(settings)
  const portraitOf = (email: string) => `portraits/${email.split('@')[0]}.webp`
  // In the HTML, so that one can click before the script is there.
  const walkIns = accounts.map(({ email, name, who }) =>
    html`
      <button class="walk-in" value="${email}">
        <span class="avatar large" aria-hidden="true"><img src="/demo/${portraitOf(
          email,
        )}" alt="" loading="lazy"></span>
        <span class="name">Walk in as ${name.split(' ')[0]}</span>
        <span class="hint">${who}</span>
      </button>
    `
  )
  const people = html`
    <div class="walk-ins">${walkIns}</div>
    <p class="hint">They are invented, and what you do stays on this machine.</p>
  `
  const sendPage = async (c: Context) => {
    const files = { 'main.js': await bundled('main.ts'), 'style.css': await readStyles() }
    const page = `${await read('index.html')}`.replace('<!-- people -->', accounts.length ? `${people}` : '')
    return send(c, 'index.html', withVersions(page, files))
  }
  page.on('GET', addresses, sendPage)
  for (const name of ['main', 'service_worker']) {
    page.get(`/${name}.js`, async (c) => {
      // Otherwise it would not be for the page at /demo itself.
      c.header('Service-Worker-Allowed', '/demo')
      return send(c, `${name}.js`, await bundled(`${name}.ts`))
    })
  }
  // The front page asks for them without a version.
  page.get('/style.css', etag(), async (c) => send(c, 'style.css', await readStyles()))
  page.get('/picture.webp', etag(), async (c) => send(c, 'picture.webp', await read('../docs/demo.webp')))
  // The portraits of Storage are for whoever has logged in.
  for (const name of ['arriving.js', 'icon.svg', ...accounts.map(({ email }) => portraitOf(email))]) {
    page.get(`/${name}`, async (c) => send(c, name, await read(name)))
  }
  page.get('/config.json', (c) => {
    const config: Config = {
      publishableKey: keys.publishableKey,
      currency: settings.currency,
      logIns: accounts,
      // The first of the seed (sql/seed/demo_conversations.sql).
      story: accounts.length > 0 ? 1 : null,
    }
    return c.json(config)
  })
  // The page says itself that there is none such, and leads to the others.
  page.get('/:address{[^.]+}', (c) => {
    c.status(404)
    return sendPage(c)
  })
  page.all('*', noPage)
  return page
}

const adminFolder = new URL('../../admin/', import.meta.url)

/** The page of an admin: static files that call the Data API with the dashboard's cookie. */
export const admin = (dashboard: Dashboard, keys: Keys, build = bundle) => {
  const read = (name: string) => readFile(new URL(name, adminFolder))
  const bundled = openBundles(adminFolder, build)
  // The forms are those for the key and to log out.
  const page = openPage("The admin's page", { formAction: self, trustedTypes: ["'none'"] }, formReferrer)
  page.get('/style.css', async (c) => send(c, 'style.css', await read('style.css')))
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
    const files = { 'main.js': await bundled('main.ts'), 'style.css': `${await read('style.css')}` }
    return send(c, 'index.html', withVersions(`${await read('index.html')}`, files))
  })
  page.use(async (c, next) => c.env.isDashboard ? await next() : c.json({ error: 'Not found' }, 404))
  page.get('/main.js', async (c) => send(c, 'main.js', await bundled('main.ts')))
  page.all('*', noPage)
  return page
}

/** Where the files of the API reference are, here and in dist/docs. */
const referenceFiles: Record<string, URL> = {
  'index.html': new URL('../../docs/reference/page/index.html', import.meta.url),
  'main.js': new URL('../../docs/reference/page/main.js', import.meta.url),
  'style.css': new URL('../../docs/reference/page/style.css', import.meta.url),
  'openapi.json': new URL('../../docs/openapi.json', import.meta.url),
}

/** The API reference: docs/openapi.json as a page, which sends requests to this server alone. */
export const reference = () => {
  // Its icon is empty data.
  const page = openPage('The API reference', { imgSrc: ['data:'], trustedTypes: ["'none'"] })
  page.get('/openapi.json', async (c) => {
    const document = JSON.parse(await readFile(referenceFiles['openapi.json']!, 'utf8'))
    return c.json({ ...document, servers: [{ url: new URL('/functions/v1', c.req.url).href }] })
  })
  page.get('/:name{.*}', async (c) => {
    const name = c.req.param('name') || 'index.html'
    if (!Object.hasOwn(referenceFiles, name)) return noPage(c)
    const content = await readFile(referenceFiles[name]!)
    if (name !== 'index.html') return send(c, name, content)
    const names = Object.keys(referenceFiles).filter((other) => /\.(js|css)$/.test(other))
    const files = await Promise.all(names.map(async (other) => [other, await readFile(referenceFiles[other]!, 'utf8')]))
    return send(c, name, withVersions(`${content}`, Object.fromEntries(files)))
  })
  page.all('*', noPage)
  return page
}
