import { createMiddleware } from 'hono/factory'
import { matchedRoutes } from 'hono/route'
import { log } from './log.ts'
import { began } from './metrics.ts'
import { settings } from './settings.ts'

/** Counts each request and writes a line about it: under the pattern of its route, because a path can hold what somebody typed. */
export const requestMetrics = createMiddleware(async (c, next) => {
  const start = performance.now()
  const ended = began()
  let status = 500
  try {
    await next()
    status = c.res.status
  } finally {
    const ms = performance.now() - start
    // What no route took is counted together, for every made-up path would be a series of its own; so would every made-up method.
    const handler = matchedRoutes(c).find(({ path, method }) => !path.endsWith('/*') && method !== 'ALL')
    const route = handler?.path ?? 'unknown'
    const method = handler?.method ?? 'unknown'
    ended(method, route, status, ms / 1000)
    if (settings.accessLog) log('info', 'answered', { method, route, status, ms: Math.round(ms * 10) / 10 })
  }
})
