import { fileURLToPath } from 'node:url'
import type { App } from '@supabase/lite'
import { type Context, Hono } from 'hono'
import { cors } from 'hono/cors'
import { serveStatic } from 'hono/deno'
import { createMiddleware } from 'hono/factory'
import { createApp } from '../../functions/_shared/app.ts'
import { codeOf } from '../../functions/_shared/error_codes.ts'
import { describeError } from '../../functions/_shared/errors.ts'
import { log } from '../../functions/_shared/log.ts'
import type { auth } from './auth.ts'
import { BodyError, readBody } from './body.ts'
import type { Dashboard } from './dashboard.ts'
import { dataApiLimitError, missingFilterError } from './data_api_limits.ts'
import type { Database } from './database.ts'
import { formHeaders, pageHeaders, self } from './page_headers.ts'
import { admin, demo, reference } from './pages.ts'
import type { EdgeFunction } from './edge_functions.ts'
import type { Inbox } from './inbox.ts'
import { keyForm } from './key_form.ts'
import { callLite } from './lite_call.ts'
import { jsonExceedsDepth } from './nesting.ts'
import { inSchemas } from './patched_connection.ts'
import { type Env, isUnder, readPath } from './path.ts'
import { postgrestError } from './postgrest.ts'
import type { openRealtime } from './realtime/server.ts'
import type { Keys, Settings } from './settings.ts'
import type { openStorage } from './storage/server.ts'

const functionsPath = '/functions/v1'

// @supabase/lite serves the dashboard's page; only its command line serves the page's files.
const dashboardFiles = fileURLToPath(new URL('../', import.meta.resolve('@supabase/lite/dist/manifest.json')))

/**
 * The dashboard runs its own files and calls this server. It shows what users wrote, so inline scripts and scripts made
 * from strings are forbidden. Inline styles are allowed, because its libraries insert style sheets.
 */
const headers = pageHeaders({
  scriptSrc: self,
  styleSrc: [...self, "'unsafe-inline'"],
  imgSrc: [...self, 'data:'],
  fontSrc: self,
  connectSrc: self,
  requireTrustedTypesFor: ["'script'"],
  // Pages of other origins show files of Storage.
}, { crossOriginResourcePolicy: false })

/** Every origin may read every answer, errors included: keys and tokens authorize, cookies do not. */
const crossOrigin = cors({
  origin: '*',
  maxAge: 86_400,
  exposeHeaders: [
    ...['Content-Range', 'Content-Location', 'Preference-Applied', 'Retry-After', 'WWW-Authenticate'],
    'X-Sb-Error-Code',
  ],
})

/**
 * What the table editor lists, of the introspection of @supabase/lite: the schema of the Data API alone, as it matches
 * columns by table name and would show those of auth.users as ours; and the views, which it can read, as tables.
 */
const shownTables = (found: object) => {
  const shown = inSchemas(found, (schema) => schema === 'public')
  const [tables = [], views = []] = [shown.tables, shown.views]
  return {
    ...shown,
    tables: [...tables, ...views.map(({ name }) => ({ ...tables[0], name, schema: 'public', type: 'view' }))],
  }
}

interface Parts {
  platform: App
  database: Database
  settings: Settings
  keys: Keys
  functions: Record<string, EdgeFunction>
  realtime: Awaited<ReturnType<typeof openRealtime>>
  storage: Awaited<ReturnType<typeof openStorage>>
  dashboard: Dashboard
  inbox: Inbox
  authRoutes: ReturnType<typeof auth>
}

const openFunctions = ({ functions }: Parts) => {
  const unknownFunction = createApp('unknown')
  return (request: Request, url: URL, peerAddress: string): Response | Promise<Response> => {
    // As on the platform, the path that a function sees begins with its name.
    const inner = new URL(url)
    inner.pathname = url.pathname.slice(functionsPath.length) || '/'
    const [, name = ''] = inner.pathname.split('/')
    const found = Object.hasOwn(functions, name) ? functions[name]! : unknownFunction
    if (found === unknownFunction) inner.pathname = '/unknown/function'
    const forwarded = new Request(inner, request)
    forwarded.headers.append('X-Forwarded-For', peerAddress)
    return found.fetch(forwarded)
  }
}

/** Calls Auth, the Data API or the dashboard of @supabase/lite. */
const openLite = ({ database, platform }: Parts) => async (c: Context<Env>): Promise<Response> => {
  const { path, isDashboard } = c.env
  // Read the body before taking the mutex, so that a slow client blocks nobody.
  const body = c.req.raw.body && await readBody(c.req.raw.body)
  if (body && jsonExceedsDepth(body)) throw new BodyError(400, 'The body is nested too deep')
  const request = body ? new Request(c.req.raw, { body }) : c.req.raw
  // @supabase/lite would treat every request from this machine as the dashboard's.
  const peerAddress = isDashboard ? '127.0.0.1' : 'elsewhere'
  return await database.mutex(() => callLite(platform, request, path, body, peerAddress))
}

/** Refuses what the Data API serves with the secret key alone. */
const limitDataApi = ({ secretKey }: Keys) =>
  createMiddleware<Env>(async (c, next) => {
    const { path, url, isDashboard } = c.env
    if (!['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS'].includes(c.req.method)) {
      return c.json(postgrestError('PGRST117', `Unsupported HTTP method: ${c.req.method}`), 405)
    }
    const apikey = c.req.header('apikey') ?? url.searchParams.get('apikey')
    if (!apikey && !isDashboard) return c.json({ message: 'No API key found in request' }, 401)
    const filterError = missingFilterError(c.req.method, path, url)
    if (filterError) return c.json(filterError, 400)
    if (apikey === secretKey || (!apikey && isDashboard)) return await next()
    const limitError = dataApiLimitError(path, url)
    return limitError ? c.json(limitError, 400) : await next()
  })

/** An error that no part of the stack has answered. */
export const reject = (status: 400 | 405 | 503, error: string, headers: Record<string, string> = {}): Response =>
  Response.json({ error }, {
    status,
    headers: { 'Access-Control-Allow-Origin': '*', 'X-Error-Code': codeOf(status), ...headers },
  })

/** Routes each request as Supabase's gateway does. */
export const openGateway = (parts: Parts) => {
  const { settings, keys, realtime, storage, dashboard, inbox, authRoutes } = parts
  const toFunction = openFunctions(parts)
  const toPlatform = openLite(parts)
  const gateway = new Hono<Env>()
  gateway.onError((error, c) => {
    if (error instanceof BodyError) return c.json({ message: error.message }, error.status, { Connection: 'close' })
    log('error', 'Unhandled error', describeError(error))
    return c.json({ error: 'Internal server error' }, 500)
  })
  gateway.use(headers)
  for (const api of ['auth', 'rest', 'realtime', 'storage']) gateway.use(`/${api}/v1/*`, crossOrigin)
  gateway.use('/rest/v1/*', limitDataApi(keys))
  gateway.route('/auth/v1', authRoutes)
  gateway.all('/auth/v1/*', toPlatform)
  gateway.all('/rest/v1/*', toPlatform)
  gateway.route('/realtime/v1', realtime.routes)
  gateway.all('/realtime/v1/*', (c) => c.json({ error: 'Not found' }, 404))
  gateway.route('/storage/v1', storage.routes)
  gateway.get('/demo/', (c) => c.redirect('/demo'))
  gateway.route('/demo', demo(settings, keys))
  // The page's addresses are relative, because it can be published anywhere.
  gateway.get('/docs', (c) => c.redirect('/docs/'))
  gateway.route('/docs', reference())
  gateway.get('/admin/', (c) => c.redirect('/admin'))
  gateway.route('/admin', admin(dashboard, keys))
  gateway.use('/mail/*', formHeaders)
  gateway.route('/mail', keyForm(dashboard, keys, '*'))

  // What follows is the dashboard's.
  gateway.get('/', async (c, next) => dashboard.open(c.req.raw, c.env.url, c.env.peerAddress) ?? await next())
  gateway.use(async (c, next) => {
    if (c.env.isDashboard) return await next()
    const isPage = c.req.method === 'GET' && c.req.header('Accept')?.includes('text/html')
    return isPage ? dashboard.frontPage(404) : c.json({ error: 'Not found' }, 404)
  })
  gateway.route('/mail', inbox.routes)
  gateway.get(
    '/static/*',
    serveStatic({ root: dashboardFiles, rewriteRequestPath: (path) => path.replace('/static', '') }),
  )
  gateway.get('/_system/info', async (c) => {
    const response = await toPlatform(c)
    const text = await response.text()
    // The database URL contains the password, which no page needs.
    return new Response(settings.databaseUrl ? text.replaceAll(settings.databaseUrl, '') : text, {
      status: response.status,
      headers: { 'Content-Type': 'application/json' },
    })
  })
  gateway.get('/_system/introspect', async (c) => c.json(shownTables(await (await toPlatform(c)).json())))
  gateway.all('*', toPlatform)

  return {
    fetch: (request: Request, peerAddress: string, isFunction = false): Response | Promise<Response> => {
      // The Fetch standard forbids these methods, so such a request cannot be forwarded.
      if (['TRACE', 'TRACK', 'CONNECT'].includes(request.method.toUpperCase())) {
        return reject(405, 'Method not allowed', { Allow: 'GET, HEAD, POST' })
      }
      const url = URL.parse(request.url)
      if (!url || url.username || url.password) return reject(400, 'The URL is malformed')
      // Functions decode their paths themselves, as on the platform.
      if (isUnder(url.pathname, functionsPath)) return toFunction(request, url, peerAddress)
      const path = readPath(request, url)
      if (path === null) return reject(400, 'The path is ambiguous')
      const isDashboard = dashboard.isAuthorized(request, url, peerAddress)
      // Forward the decoded path, so that nothing behind the gateway decodes it differently.
      const isDecoded = path === url.pathname && !request.url.includes('#')
      url.pathname = path
      url.hash = ''
      if (isUnder(path, functionsPath)) return toFunction(request, url, peerAddress)
      const forwarded = isDecoded ? request : new Request(url, request)
      return gateway.fetch(forwarded, { peerAddress, path, url, isDashboard, isFunction })
    },
  }
}
