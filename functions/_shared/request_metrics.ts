import { createMiddleware } from 'hono/factory'
import { matchedRoutes } from 'hono/route'
import { log } from './log.ts'
import { startRequest } from './metrics.ts'
import { settings } from './settings.ts'

/** Counts and logs each request by its route pattern, because a path can contain user input. */
export const requestMetrics = createMiddleware(async (c, next) => {
  const start = performance.now()
  const endRequest = startRequest()
  let status = 500
  try {
    await next()
    status = c.res.status
  } finally {
    const ms = performance.now() - start
    // Requests without a route share one series: otherwise each unknown path or method would create a new one.
    const handler = matchedRoutes(c).find(({ path, method }) => !path.endsWith('/*') && method !== 'ALL')
    const route = handler?.path ?? 'unknown'
    const method = handler?.method ?? 'unknown'
    endRequest(method, route, status, ms / 1000)
    if (settings.accessLog) log('info', 'Request completed', { method, route, status, ms: Math.round(ms * 10) / 10 })
  }
})
