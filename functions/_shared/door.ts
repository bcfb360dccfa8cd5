import { type Context, Hono } from 'hono'
import { contextStorage } from 'hono/context-storage'
import { cors } from 'hono/cors'
import { methodNotAllowed } from 'hono/method-not-allowed'
import { requestId } from 'hono/request-id'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { Reply } from './database.ts'
import { observed } from './observed.ts'
import { openApiOf } from './openapi.ts'
import { onError } from './problem.ts'

const origins = cors({
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
  exposeHeaders: ['ETag', 'Idempotency-Replayed', 'Link', 'Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
  maxAge: 86_400,
})

/** What every Edge Function has in common: request ids, a line in the log, CORS, errors as {error}, 404, 405, and its OpenAPI document. */
export const door = (name: string): Hono => {
  const app = new Hono().basePath(`/${name}`)
  app.use(requestId(), contextStorage(), observed, origins)
  app.use(async (c, next) => {
    await next()
    c.header('X-Content-Type-Options', 'nosniff')
    if (!c.res.headers.has('Cache-Control')) c.header('Cache-Control', 'private, no-store')
  })
  app.use(methodNotAllowed({
    app,
    onMethodNotAllowed: (c, methods) =>
      c.json({ error: 'Method not allowed' }, 405, { Allow: [...methods, 'OPTIONS'].join(', ') }),
  }))
  app.onError(onError)
  app.notFound((c) => c.json({ error: 'Not found' }, 404, { 'Cache-Control': 'no-store' }))
  app.get('/openapi.json', (c) => c.json(openApiOf(app, name)))
  return app
}

/** Sends what a verb answered, as Postgres wrote it. */
export const answer = (c: Context, reply: Reply, status: ContentfulStatusCode = 200): Response =>
  c.body(reply.body, status, { 'Content-Type': 'application/json' })
