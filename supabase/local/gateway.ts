import { fileURLToPath } from 'node:url'
import type { App } from '@supabase/lite'
import { Hono } from 'hono'
import { cors } from 'hono/cors'
import { serveStatic } from 'hono/deno'
import { door } from '../../functions/_shared/door.ts'
import type { Database } from './database.ts'

type Door = { fetch: (request: Request) => Response | Promise<Response> }

const functions = '/functions/v1'

// @supabase/lite serves its dashboard's page, but its files only through its own command line.
const dashboardFiles = fileURLToPath(new URL('../', import.meta.resolve('@supabase/lite/dist/manifest.json')))

/** Reads the body before the work is let in, so that a slow client holds up nobody. */
const received = async (request: Request): Promise<Request> =>
  request.body === null ? request : new Request(request, { body: await request.arrayBuffer() })

/** Sends each request where Supabase's gateway would. */
export const openGateway = (platform: App, database: Database, doors: Record<string, Door>) => {
  const stranger = door(':name?')

  const toFunctions = (request: Request, url: URL): Response | Promise<Response> => {
    // The platform, too, hands a function the path that begins with its name.
    const inner = new URL(url)
    inner.pathname = url.pathname.slice(functions.length) || '/'
    const [, name = ''] = inner.pathname.split('/')
    const found = Object.hasOwn(doors, name) ? doors[name]! : stranger
    return found.fetch(new Request(inner, request))
  }

  const toPlatform = async (request: Request, peerAddress: string): Promise<Response> => {
    const whole = await received(request)
    return await database.gate(() => Promise.resolve(platform.fetch(whole, { peerAddress })))
  }

  const gateway = new Hono<{ Bindings: { peerAddress: string } }>()
  // Static files need no database, and preflights none either.
  gateway.on('OPTIONS', ['/auth/v1/*', '/rest/v1/*'], cors())
  gateway.get(
    '/static/*',
    serveStatic({ root: dashboardFiles, rewriteRequestPath: (path) => path.replace('/static', '') }),
  )
  gateway.all('*', (c) => {
    const url = new URL(c.req.url)
    return url.pathname === functions || url.pathname.startsWith(`${functions}/`)
      ? toFunctions(c.req.raw, url)
      : toPlatform(c.req.raw, c.env.peerAddress)
  })
  return gateway
}
