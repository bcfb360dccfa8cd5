import { createMiddleware } from 'hono/factory'
import { matchedRoutes } from 'hono/route'
import { log } from './log.ts'
import { startRequest } from './metrics.ts'
import { settings } from './settings.ts'

/** In milliseconds. */
const slow = 1000

const isLogged = (status: number, ms: number): boolean => {
  const { ACCESS_LOG: accessLog } = settings
  if (accessLog === 'all') return true
  return accessLog !== 'off' && (status >= 500 || (accessLog === 'slow' && ms > slow))
}

/** Counts requests, and logs those that ACCESS_LOG names, by route pattern, because a path can contain user input. */
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
    endRequest(method, route, status)
    if (isLogged(status, ms)) log('info', 'Request completed', { method, route, status, ms: Math.round(ms * 10) / 10 })
  }
})
