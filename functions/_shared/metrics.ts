import { createMiddleware } from 'hono/factory'
import { matchedRoutes } from 'hono/route'
import { log } from './log.ts'
import { settings } from './settings.ts'

// Counts since this process started. On Supabase an Edge Function runs as many short-lived processes, each with its own
// counts; docs/runbook.md says how to read them there.

const requests = new Map<string, number>()
let inFlight = 0

export type Sample = [labels: string, value: number]

/** One metric in the Prometheus text format 0.0.4. */
const format = (name: string, type: 'counter' | 'gauge', help: string, samples: Sample[]): string =>
  `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n` +
  samples.map(([labels, value]) => `${name}${labels && `{${labels}}`} ${value}\n`).join('')

export const gauge = (name: string, help: string, value: number | Sample[]): string =>
  format(name, 'gauge', help, typeof value === 'number' ? [['', value]] : value)

const startTime = Date.now() / 1000

export const formatRequestMetrics = (): string =>
  format('http_requests_total', 'counter', 'Number of requests, by method, route pattern and status class.', [
    ...requests,
  ]) +
  gauge('http_requests_in_flight', 'Number of requests in flight.', inFlight) +
  gauge('process_start_time_seconds', 'Unix time at which the process started.', startTime)

/** Counts requests, and logs those that ACCESS_LOG names, by route pattern, because a path can contain user input. */
export const requestMetrics = createMiddleware(async (c, next) => {
  const start = performance.now()
  inFlight++
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
    inFlight--
    const labels = `method="${method}",route="${route}",status="${Math.floor(status / 100)}xx"`
    requests.set(labels, (requests.get(labels) ?? 0) + 1)
    const { ACCESS_LOG: logged } = settings
    const isSlow = ms > 1000 && logged === 'slow'
    if (logged === 'all' || logged !== 'off' && (status >= 500 || isSlow)) {
      log('info', 'Request completed', { method, route, status, ms: Math.round(ms * 10) / 10 })
    }
  }
})
