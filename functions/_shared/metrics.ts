import { createMiddleware } from 'hono/factory'
import { matchedRoutes } from 'hono/route'
import { log } from './log.ts'
import { settings } from './settings.ts'

// Counts since this process started. On Supabase an Edge Function runs as many short-lived processes, each with its own
// counts; docs/runbook.md says how to read them there.

const requests = new Map<string, number>()
let inFlight = 0

/** Counts a request in flight. Call the returned function once its response is ready. */
export const startRequest = (): (method: string, route: string, status: number) => void => {
  inFlight++
  return (method, route, status) => {
    inFlight--
    const labels = `method="${method}",route="${route}",status="${Math.floor(status / 100)}xx"`
    requests.set(labels, (requests.get(labels) ?? 0) + 1)
  }
}

export type Sample = [labels: string, value: number]

/** One metric in the Prometheus text format 0.0.4. */
const format = (name: string, type: 'counter' | 'gauge', help: string, samples: Sample[]): string =>
  [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([labels, value]) => `${name}${labels && `{${labels}}`} ${value}`),
    '',
  ].join('\n')

export const gauge = (name: string, help: string, value: number | Sample[]): string =>
  format(name, 'gauge', help, typeof value === 'number' ? [['', value]] : value)

const startTime = Date.now() / 1000

export const formatRequestMetrics = (): string =>
  format('http_requests_total', 'counter', 'Number of requests, by method, route pattern and status class.', [
    ...requests,
  ]) +
  gauge('http_requests_in_flight', 'Number of requests in flight.', inFlight) +
  gauge('process_start_time_seconds', 'Unix time at which the process started.', startTime)

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
