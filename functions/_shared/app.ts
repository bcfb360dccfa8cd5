import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'
import { methodNotAllowed } from 'hono/method-not-allowed'
import { requestId } from 'hono/request-id'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { RpcResult } from './rpc.ts'
import { log, traceOf, withRequest } from './log.ts'
import { requestMetrics } from './metrics.ts'
import { openApiDocument, release } from './openapi.ts'
import { onError } from './errors.ts'
import { settingsError } from './setting_rules.ts'

// CORS preflight, also for every header of supabase-js (tests/http/protocol.test.ts compares them).
const preflight = cors({
  origin: '*',
  allowMethods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
  allowHeaders: [
    ...['Authorization', 'Content-Type', 'Idempotency-Key', 'If-None-Match', 'X-Request-Id'],
    ...['apikey', 'baggage', 'traceparent', 'tracestate', 'x-client-info', 'x-retry-count'],
  ],
  maxAge: 86_400,
})

/** What every answer has. */
export const commonHeaders = Object.entries({
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers':
    'ETag, Idempotency-Replayed, Link, Retry-After, WWW-Authenticate, X-Error-Code, X-Request-Id',
  'X-Content-Type-Options': 'nosniff',
  // Routes may override this.
  'Cache-Control': 'private, no-store',
})

/** An answer to HEAD does not say how long that to GET is. Of one without a body Deno says 0, but not of a stream. */
export const withoutLength = (response: Response): Response =>
  [204, 304].includes(response.status) ? response : new Response(new Blob().stream(), response)

const methodNotAllowedResponse = (c: Context, methods: string[]): Response =>
  c.json({ error: 'Method not allowed' }, 405, {
    Allow: [...methods, 'OPTIONS'].join(', '),
    'X-Error-Code': 'method_not_allowed',
  })

/** Paths without parameters know their methods: a GET of /users/profile is 405 and not GET /users/:id. */
const rejectOtherMethods = (app: Hono): MiddlewareHandler => async (c, next) => {
  const routes = app.routes.filter(({ method, path }) => path === c.req.path && method !== 'ALL')
  const methods = new Set(routes.flatMap(({ method }) => method === 'GET' ? ['GET', 'HEAD'] : method))
  if (methods.size === 0 || methods.has(c.req.method)) return await next()
  return methodNotAllowedResponse(c, [...methods])
}

/** The header of W3C Trace Context, if it is valid. */
const traceparentOf = ({ req }: Context): string | undefined =>
  /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.exec(req.header('traceparent') ?? '')?.[0]

/** The app of an Edge Function: request ids, access log, CORS, errors as {error}, 404, 405 and its OpenAPI document. */
export const createApp = (name: string): Hono => {
  const app = new Hono().basePath(`/${name}`)
  app.use(
    // A request that names no id has that of its trace.
    requestId({ generator: (c) => traceOf(traceparentOf(c)) ?? crypto.randomUUID() }),
    (c, next) => withRequest({ 'x-request-id': c.get('requestId'), traceparent: traceparentOf(c) }, next),
    requestMetrics,
  )
  // Set headers before creating the response: changing them later copies the body, and a copy is sent as a stream,
  // which takes as long as the rest of the function.
  app.use(async (c, next) => {
    for (const [name, value] of commonHeaders) c.header(name, value)
    if (c.req.method === 'OPTIONS') return preflight(c, next)
    await next()
  })
  // A setting that is not understood is refused, and not taken for its default, which may be the open one.
  const misunderstood = settingsError(Deno.env.toObject())
  if (misunderstood) {
    log('error', misunderstood)
    app.use((c) => Promise.resolve(c.json({ error: 'Internal server error' }, 500, { 'X-Error-Code': 'internal' })))
  }
  app.use(rejectOtherMethods(app))
  app.use(methodNotAllowed({
    app,
    onMethodNotAllowed: (c, methods) => {
      // Hono keeps the headers of the 404 that it replaces.
      c.res.headers.delete('X-Error-Code')
      return methodNotAllowedResponse(c, methods)
    },
  }))
  app.onError(onError)
  app.notFound((c) => c.json({ error: 'Not found' }, 404, { 'Cache-Control': 'no-store', 'X-Error-Code': 'not_found' }))
  // Built once: it takes as long as several searches, and the route is public.
  let document: string | undefined
  app.get('/openapi.json', (c) => {
    document ??= JSON.stringify(openApiDocument(app, name))
    // `npm run doctor` compares the releases of all functions.
    return c.body(document, 200, { 'Content-Type': 'application/json', 'X-Release': release })
  })
  const { fetch } = app
  app.fetch = (request, ...others) =>
    request.method === 'HEAD'
      ? Promise.resolve(fetch(request, ...others)).then(withoutLength)
      : fetch(request, ...others)
  return app
}

export const sendNothing = (c: Context, _: RpcResult): Response => c.body(null, 204)

/** Sends the JSON of an API function as Postgres wrote it. */
export const sendJson = (c: Context, result: RpcResult, status: ContentfulStatusCode = 200): Response =>
  c.body(result.body, status, { 'Content-Type': 'application/json' })

/** The Link header of the next page; relative, because a function does not know by which address it was asked. */
export const nextPageLink = (parameters: Record<string, unknown>): string => {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined)
  return `<?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}>; rel="next"`
}

/** Sends a page of a list, with a link to the next page if there is one. */
export const sendPage = (c: Context, page: RpcResult, query: Record<string, unknown>, by = 'before_id'): Response => {
  if (page.metadata.next) c.header('Link', nextPageLink({ ...query, [by]: page.metadata.next }))
  return sendJson(c, page)
}
