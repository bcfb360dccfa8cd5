import { fileURLToPath } from 'node:url'
import type { App } from '@supabase/lite'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { cors } from 'hono/cors'
import { serveStatic } from 'hono/deno'
import { door } from '../../functions/_shared/door.ts'
import { log } from '../../functions/_shared/log.ts'
import { traces } from '../../functions/_shared/problem.ts'
import type { Database } from './database.ts'
import { demo } from './demo.ts'
import type { Realtime } from './realtime/server.ts'
import { isLoopback, type Keys, type Settings } from './settings.ts'

type Door = { fetch: (request: Request) => Response | Promise<Response> }

const functions = '/functions/v1'

// @supabase/lite serves its dashboard's page, but its files only through its own command line.
const dashboardFiles = fileURLToPath(new URL('../', import.meta.resolve('@supabase/lite/dist/manifest.json')))

/** Reads the body before the work is let in, so that a slow client holds up nobody. */
const received = async (request: Request): Promise<Request> =>
  request.body === null ? request : new Request(request, { body: await request.arrayBuffer() })

const local = (name: string): boolean => name === 'localhost' || name === '[::1]' || /^127(\.\d+){3}$/.test(name)

/** Whether a request comes from the dashboard in a browser on this machine, or a program here; not from another page in that browser. */
const isAtHome = (request: Request, url: URL, peerAddress: string): boolean => {
  // Through a proxy on this machine, everybody seems to be on it.
  if (
    ['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Real-IP', 'Via'].some((name) => request.headers.has(name))
  ) return false
  const origin = request.headers.get('Origin')
  return (peerAddress === '::1' || local(peerAddress)) && local(url.hostname) && (!origin || origin === url.origin) &&
    !['cross-site', 'same-site'].includes(request.headers.get('Sec-Fetch-Site') ?? '')
}

// A pattern can keep Postgres busy for ever, and PGlite, which is this process, cannot be told to stop.
const matchesPattern = (url: URL): boolean =>
  url.pathname.startsWith('/rest/') && /\bi?match(\((any|all)\))?\./.test([...url.searchParams].flat().join('\n'))

/** Sends each request where Supabase's gateway would. */
export const openGateway = (
  platform: App,
  database: Database,
  settings: Settings,
  keys: Keys,
  doors: Record<string, Door>,
  realtime: Realtime,
) => {
  const stranger = door('unknown')

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

  const toPlatform = async (request: Request, peerAddress: string): Promise<Response> => {
    const whole = await received(request)
    return await database.gate(() => Promise.resolve(platform.fetch(whole, { peerAddress })))
  }

  const gateway = new Hono<{ Bindings: { peerAddress: string } }>()
  gateway.onError((error, c) => {
    log('error', 'What nobody foresaw', traces(error))
    return c.json({ error: 'Internal server error' }, 500)
  })
  // The Fetch standard has no TRACE, so no request of it can be handed on.
  gateway.on('TRACE', '*', (c) => c.json({ error: 'Method not allowed' }, 405, { Allow: 'GET, HEAD, POST' }))
  // Static files need no database, and preflights none either.
  gateway.on('OPTIONS', ['/auth/v1/*', '/rest/v1/*'], cors())
  gateway.get(
    '/static/*',
    serveStatic({ root: dashboardFiles, rewriteRequestPath: (path) => path.replace('/static', '') }),
  )

  gateway.use(async (c, next) => {
    const url = new URL(c.req.url)
    const atHome = isLoopback(settings) && isAtHome(c.req.raw, url, c.env.peerAddress)
    // What the dashboard asks of the stack itself, and keyless admin work, are for the dashboard alone.
    if (url.pathname.startsWith('/_system') && !atHome) return c.json({ error: 'Not found' }, 404)
    const apikey = c.req.header('apikey') ?? url.searchParams.get('apikey')
    if (url.pathname.startsWith('/rest/') && !apikey && !atHome) {
      return c.json({ message: 'No API key found in request' }, 401)
    }
    if (matchesPattern(url) && apikey !== keys.secretKey && (apikey || !atHome)) {
      return c.json({ code: 'PGRST100', message: 'match and imatch are for the secret key alone' }, 400)
    }
    return await next()
  })
  const megabyte = bodyLimit({
    maxSize: 1_048_576,
    onError: (c) => c.json({ message: 'The body is over 1 MB' }, 413),
  })
  gateway.use('/auth/*', megabyte)
  gateway.use('/rest/*', megabyte)
  gateway.get('/_system/info', async (c) => {
    const response = await toPlatform(c.req.raw, c.env.peerAddress)
    // The address of the database holds its password, which no page needs.
    const text = settings.databaseUrl
      ? (await response.text()).replaceAll(settings.databaseUrl, '')
      : await response.text()
    return new Response(text, { status: response.status, headers: { 'Content-Type': 'application/json' } })
  })
  gateway.route('/realtime/v1', realtime.routes)
  gateway.get('/demo/', (c) => c.redirect('/demo'))
  gateway.route('/demo', demo(settings, keys))
  gateway.use('/storage/v1/*', cors())
  gateway.all('/storage/v1/*', (c) =>
    c.json({
      statusCode: '501',
      error: 'Not Implemented',
      message:
        'Storage does not run on this machine: files need Supabase (docs/deploy.md, section 7), or an https URL in the message',
    }, 501))
  gateway.all('*', (c) => {
    const url = new URL(c.req.url)
    return url.pathname === functions || url.pathname.startsWith(`${functions}/`)
      ? toFunctions(c.req.raw, url, c.env.peerAddress)
      : toPlatform(c.req.raw, c.env.peerAddress)
  })
  return gateway
}
