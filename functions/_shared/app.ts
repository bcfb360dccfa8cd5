import { type Context, Hono } from 'hono'
import { cors } from 'hono/cors'
import { methodNotAllowed } from 'hono/method-not-allowed'
import { requestId } from 'hono/request-id'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { Reply } from './rpc.ts'
import { logAs } from './log.ts'
import { requestMetrics } from './request_metrics.ts'
import { openApiDocument } from './openapi.ts'
import { onError } from './errors.ts'

// What browsers ask before they ask.
const preflight = cors({
  origin: '*',
  allowMethods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
  allowHeaders: [
    'Authorization',
    'Content-Type',
    'Idempotency-Key',
    'If-None-Match',
    'X-Request-Id',
    'apikey',
    'x-client-info',
  ],
  maxAge: 86_400,
})

const common = Object.entries({
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'ETag, Idempotency-Replayed, Link, Retry-After, WWW-Authenticate, X-Request-Id',
  'X-Content-Type-Options': 'nosniff',
  // Unless a route says otherwise.
  'Cache-Control': 'private, no-store',
})

/** What every Edge Function has in common: request ids, a line in the log, CORS, errors as {error}, 404, 405, and its OpenAPI document. */
export const door = (name: string): Hono => {
  const app = new Hono().basePath(`/${name}`)
  app.use(requestId(), (c, next) => logAs(c.get('requestId'), next), requestMetrics)
  // Before there is an answer: put on one that is there, each header copies it, and a body that was copied is sent as a stream, which takes as
  // long as all the rest of a door.
  app.use(async (c, next) => {
    for (const [name, value] of common) c.header(name, value)
    if (c.req.method === 'OPTIONS') return preflight(c, next)
    await next()
    if (c.req.method !== 'HEAD') return
    // What HEAD leaves out is as long as what GET would have sent. Hono takes the body away after this, and 0 would be told. A file to keep is
    // made as it is sent, and nobody makes it to count it.
    if (!c.res.body || c.res.headers.has('Content-Disposition')) return
    c.header('Content-Length', `${(await c.res.clone().blob()).size}`)
  })
  app.use(methodNotAllowed({
    app,
    onMethodNotAllowed: (c, methods) =>
      c.json({ error: 'Method not allowed' }, 405, { Allow: [...methods, 'OPTIONS'].join(', ') }),
  }))
  app.onError(onError)
  app.notFound((c) => c.json({ error: 'Not found' }, 404, { 'Cache-Control': 'no-store' }))
  // Made once: it takes as long as several searches, and anybody may ask for it.
  let document: string | undefined
  app.get('/openapi.json', (c) => {
    document ??= JSON.stringify(openApiDocument(app, name))
    return c.body(document, 200, { 'Content-Type': 'application/json' })
  })
  return app
}

/** Sends what a verb answered, as Postgres wrote it. */
export const answer = (c: Context, reply: Reply, status: ContentfulStatusCode = 200): Response =>
  c.body(reply.body, status, { 'Content-Type': 'application/json' })
