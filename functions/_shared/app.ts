import { type Context, Hono } from 'hono'
import { cors } from 'hono/cors'
import { methodNotAllowed } from 'hono/method-not-allowed'
import { requestId } from 'hono/request-id'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { RpcResult } from './rpc.ts'
import { withRequestId } from './log.ts'
import { requestMetrics } from './request_metrics.ts'
import { openApiDocument } from './openapi.ts'
import { onError } from './errors.ts'
import { release } from './release.ts'

// CORS preflight.
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

const commonHeaders = Object.entries({
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'ETag, Idempotency-Replayed, Link, Retry-After, WWW-Authenticate, X-Request-Id',
  'X-Content-Type-Options': 'nosniff',
  // Routes may override this.
  'Cache-Control': 'private, no-store',
})

/** The app of an Edge Function: request ids, access log, CORS, errors as {error}, 404, 405 and its OpenAPI document. */
export const createApp = (name: string): Hono => {
  const app = new Hono().basePath(`/${name}`)
  app.use(requestId(), (c, next) => withRequestId(c.get('requestId'), next), requestMetrics)
  // Set headers before creating the response; changing them later copies the body. A copied body is sent as a stream,
  // which takes as long as the rest of the function.
  app.use(async (c, next) => {
    for (const [name, value] of commonHeaders) c.header(name, value)
    if (c.req.method === 'OPTIONS') return preflight(c, next)
    await next()
    if (c.req.method !== 'HEAD') return
    // HEAD announces the length of the GET body. Hono removes the body after this middleware, and the length would
    // be 0. Downloads are streamed, and reading a whole one only to measure it is too expensive.
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
  // Built once: it takes as long as several searches, and the route is public.
  let document: string | undefined
  app.get('/openapi.json', (c) => {
    document ??= JSON.stringify(openApiDocument(app, name))
    // `npm run doctor` compares the releases of all functions.
    return c.body(document, 200, { 'Content-Type': 'application/json', 'X-Release': release })
  })
  return app
}

/** Sends the JSON of an API function as Postgres wrote it. */
export const sendJson = (c: Context, result: RpcResult, status: ContentfulStatusCode = 200): Response =>
  c.body(result.body, status, { 'Content-Type': 'application/json' })
