import { fileURLToPath } from 'node:url'
import type { App } from '@supabase/lite'
import { type Context, Hono } from 'hono'
import { cors } from 'hono/cors'
import { serveStatic } from 'hono/deno'
import { createMiddleware } from 'hono/factory'
import { createApp } from '../../functions/_shared/app.ts'
import { log } from '../../functions/_shared/log.ts'
import { describeError } from '../../functions/_shared/errors.ts'
import { BodyRefused, readBody } from './body.ts'
import type { Dashboard } from './dashboard.ts'
import type { Database } from './database.ts'
import { demo } from './demo.ts'
import { isDeepJson, nestsDeeper, tooDeepQuery } from './depth.ts'
import { mostOfReturning, repeatsColumns, returningEmbeds } from './embeds.ts'
import { callLite } from './lite_call.ts'
import { isUnder, readPath } from './path.ts'
import type { Realtime } from './realtime/server.ts'
import type { Keys, Settings } from './settings.ts'

type Door = { fetch: (request: Request) => Response | Promise<Response> }

export interface Gateway {
  fetch: (request: Request, peer: { peerAddress: string }) => Response | Promise<Response>
}

const functions = '/functions/v1'

// @supabase/lite serves its dashboard's page, but its files only through its own command line.
const dashboardFiles = fileURLToPath(new URL('../', import.meta.resolve('@supabase/lite/dist/manifest.json')))

/**
 * What a page of the platform may do: run the dashboard's own files and speak with this server. What people wrote is shown there, so no script stands in a
 * page and none is made of text; its libraries do put style sheets into the page, which can run nothing.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

const withPolicy = createMiddleware(async (c, next) => {
  await next()
  if (c.res.headers.has('Content-Security-Policy') || c.res.status === 101) return
  c.header('Content-Security-Policy', policy)
  c.header('X-Frame-Options', 'DENY')
  c.header('X-Content-Type-Options', 'nosniff')
  c.header('Referrer-Policy', 'no-referrer')
})

const preflight = cors({ origin: '*', maxAge: 86_400 })
const exposed = [
  'Content-Range',
  'Content-Location',
  'Preference-Applied',
  'Retry-After',
  'WWW-Authenticate',
  'X-Sb-Error-Code',
]

/** Pages of every origin may read every answer, errors included: a key or a token decides, and no cookie counts for them. */
const crossOrigin = createMiddleware(async (c, next) => {
  if (c.req.method === 'OPTIONS') return preflight(c, next)
  await next()
  // An upgrade to a WebSocket.
  if (c.res.status === 101) return
  c.header('Access-Control-Allow-Origin', '*')
  c.header('Access-Control-Expose-Headers', exposed.join(', '))
})

// A pattern, or a search of texts without an index, can keep Postgres busy for ever, and PGlite, which is this process, cannot be told to stop.
const searchesTexts = (url: URL): boolean =>
  /\b(i?match|(pl|ph|w)?fts)(\(\w+\))?\./.test([...url.searchParams].flat().join('\n'))

// Each reads every text once more: of 1500, on 300 messages of 5000 characters, nobody else was answered for 41 s.
const mostLikes = 10
const likes = (url: URL): number =>
  [...url.searchParams].flat().reduce((sum, part) => {
    const count = part.match(/\bi?like(\(\w+\))?\./g)?.length ?? 0
    // All commas, where some of the patterns are in a list.
    return sum + count + (/\bi?like\(/.test(part) ? part.split(',').length - 1 : 0)
  }, 0)

const returning = (path: string, url: URL): (number | null)[] =>
  url.searchParams.getAll('select').map((select) => returningEmbeds(path.split('/')[3] ?? '', select))

/** A request that begins with few rows, where each brings more of its own table. */
const withFewRows = (request: Request, url: URL): Request => {
  const few = new URL(url)
  few.searchParams.set(
    'limit',
    String(Math.min(Number(few.searchParams.get('limit') ?? Infinity) || 0, mostOfReturning)),
  )
  const handedOn = new Request(few, request)
  handedOn.headers.delete('Range')
  return handedOn
}

// Nobody means conditions to be nested deeper.
const mostLogic = 10

/** What nobody but the holder of the secret key may ask of the Data API. */
const tooMuch = (path: string, url: URL): { code: string; message: string } | null => {
  if (searchesTexts(url)) {
    return { code: 'PGRST100', message: 'match, imatch and fts, of any kind, are for the secret key alone' }
  }
  if (likes(url) > mostLikes) return { code: 'PGRST100', message: `like and ilike may ask for ${mostLikes} patterns` }
  if (returning(path, url).includes(null)) {
    return { code: 'PGRST100', message: 'select may embed ten tables, three deep, and one of them within itself' }
  }
  if (url.searchParams.getAll('select').some(repeatsColumns)) {
    return { code: 'PGRST100', message: 'select names the same column too often' }
  }
  const isLogic = (name: string) => /(^|\.)(or|and)$/.test(name)
  if ([...url.searchParams].some(([name, value]) => isLogic(name) && nestsDeeper(value, mostLogic))) {
    return { code: 'PGRST100', message: 'or and and may be nested ten deep' }
  }
  const tooDeep = tooDeepQuery(url)
  return tooDeep ? { code: 'PGRST100', message: tooDeep } : null
}

/** What the database holds, as @supabase/lite lists it, of one schema. */
const ofSchema = (schema: string, found: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(found).map(([what, entries]) => [
      what,
      Array.isArray(entries) ? entries.filter((entry) => (entry?.schema ?? schema) === schema) : entries,
    ]),
  )

/** Sends each request where Supabase's gateway would. */
export const openGateway = (
  platform: App,
  database: Database,
  settings: Settings,
  keys: Keys,
  doors: Record<string, Door>,
  realtime: Realtime,
  dashboard: Dashboard,
): Gateway => {
  const stranger = createApp('unknown')

  const toFunctions = (request: Request, url: URL, peerAddress: string): Response | Promise<Response> => {
    // The platform, too, hands a function the path that begins with its name.
    const inner = new URL(url)
    inner.pathname = url.pathname.slice(functions.length) || '/'
    const [, name = ''] = inner.pathname.split('/')
    if (Object.hasOwn(doors, name)) {
      const handedOn = new Request(inner, request)
      handedOn.headers.append('X-Forwarded-For', peerAddress)
      return doors[name]!.fetch(handedOn)
    }
    inner.pathname = '/unknown/function'
    return stranger.fetch(new Request(inner, request))
  }

  type Env = { Bindings: { peerAddress: string; path: string; url: URL; isDashboard: boolean } }
  const gateway = new Hono<Env>()

  const toPlatform = async (c: Context<Env>): Promise<Response> => {
    const { path, isDashboard } = c.env
    // Before the work is let in, so that a slow client holds up nobody.
    const body = c.req.raw.body && await readBody(c.req.raw.body)
    if (body && isDeepJson(body)) throw new BodyRefused(400, 'The body is nested too deep')
    const request = body ? new Request(c.req.raw, { body }) : c.req.raw
    // By itself it would take everybody for the dashboard who is on this machine.
    const peerAddress = isDashboard ? '127.0.0.1' : 'elsewhere'
    return await database.gate(() => callLite(platform, request, path, body, peerAddress))
  }

  gateway.onError((error, c) => {
    if (error instanceof BodyRefused) return c.json({ message: error.message }, error.status, { Connection: 'close' })
    log('error', 'What nobody foresaw', describeError(error))
    return c.json({ error: 'Internal server error' }, 500)
  })
  gateway.use(withPolicy)
  for (const root of ['/auth/v1', '/rest/v1', '/realtime/v1', '/storage/v1']) gateway.use(`${root}/*`, crossOrigin)

  gateway.use('/rest/v1/*', async (c, next) => {
    const { path, url, isDashboard } = c.env
    const apikey = c.req.header('apikey') ?? url.searchParams.get('apikey')
    if (!apikey && !isDashboard) return c.json({ message: 'No API key found in request' }, 401)
    if (apikey === keys.secretKey || (!apikey && isDashboard)) return await next()
    const refusal = tooMuch(path, url)
    if (refusal) return c.json(refusal, 400)
    if (returning(path, url).some(Boolean)) c.req.raw = withFewRows(c.req.raw, url)
    return await next()
  })
  gateway.all('/auth/v1/*', toPlatform)
  gateway.all('/rest/v1/*', toPlatform)
  gateway.route('/realtime/v1', realtime.routes)
  gateway.all('/realtime/v1/*', (c) => c.json({ error: 'Not found' }, 404))
  gateway.all('/storage/v1/*', (c) =>
    c.json({
      statusCode: '501',
      error: 'Not Implemented',
      message:
        'Storage does not run on this machine: files need Supabase (docs/deploy.md, section 7), or an https URL in the message',
    }, 501))
  gateway.get('/demo/', (c) => c.redirect('/demo'))
  gateway.route('/demo', demo(settings, keys))

  // The rest is the dashboard's.
  gateway.get('/', async (c, next) => dashboard.enter(c.req.raw, c.env.url, c.env.peerAddress) ?? await next())
  gateway.use(async (c, next) => {
    if (c.env.isDashboard) return await next()
    const isPage = c.req.method === 'GET' && c.req.header('Accept')?.includes('text/html')
    return isPage ? dashboard.closed(404) : c.json({ error: 'Not found' }, 404)
  })
  gateway.get(
    '/static/*',
    serveStatic({ root: dashboardFiles, rewriteRequestPath: (path) => path.replace('/static', '') }),
  )
  gateway.get('/_system/info', async (c) => {
    const response = await toPlatform(c)
    // The address of the database holds its password, which no page needs.
    const text = settings.databaseUrl
      ? (await response.text()).replaceAll(settings.databaseUrl, '')
      : await response.text()
    return new Response(text, { status: response.status, headers: { 'Content-Type': 'application/json' } })
  })
  // The Data API shows one schema, and so does the table editor, which by a table's name alone takes columns of auth.users for those of ours.
  gateway.get('/_system/introspect', async (c) => {
    const found: Record<string, unknown> = await (await toPlatform(c)).json()
    return c.json(ofSchema('public', found))
  })
  gateway.all('*', toPlatform)

  const refused = (status: 400 | 405, error: string, headers: Record<string, string> = {}) =>
    Response.json({ error }, { status, headers: { 'Access-Control-Allow-Origin': '*', ...headers } })

  return {
    fetch: (request, { peerAddress }) => {
      // The Fetch standard has no such methods, so no request of theirs can be handed on.
      if (['TRACE', 'TRACK', 'CONNECT'].includes(request.method.toUpperCase())) {
        return refused(405, 'Method not allowed', { Allow: 'GET, HEAD, POST' })
      }
      const url = URL.parse(request.url)
      if (!url || url.username || url.password) return refused(400, 'The address is malformed')
      // Functions read their paths themselves, as on the platform.
      if (isUnder(url.pathname, functions)) return toFunctions(request, url, peerAddress)
      const path = readPath(request, url)
      if (path === null) return refused(400, 'The path is not written plainly')
      const isDashboard = dashboard.isOpenTo(request, url, peerAddress)
      if (path === url.pathname && !request.url.includes('#')) {
        return gateway.fetch(request, { peerAddress, path, url, isDashboard })
      }
      // What was escaped without need is handed on plainly, so that nobody after this has anything to decode.
      url.pathname = path
      url.hash = ''
      if (isUnder(path, functions)) return toFunctions(request, url, peerAddress)
      return gateway.fetch(new Request(url, request), { peerAddress, path, url, isDashboard })
    },
  }
}
