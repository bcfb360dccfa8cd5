import { formatRequestMetrics } from '../../functions/_shared/metrics.ts'

/** How many searches and answers with 5xx there were in each of the last 24 hours, the current one last. */
export interface Activity {
  searches: number[]
  errors: number[]
}

const hour = 3_600_000
const search = /^http_requests_total\{method="GET",route="\/users\/search",status="2xx"\} (\d+)$/gm
const error = /^http_requests_total\{[^}]*status="5xx"\} (\d+)$/gm

const sum = (metrics: string, pattern: RegExp): number =>
  [...metrics.matchAll(pattern)].reduce((total, [, count]) => total + Number(count), 0)

/** Follows the counters of `GET /health/metrics`, which begin at each start. `read` is called every minute. */
export const openActivity = (metrics: () => string = formatRequestMetrics, now: () => number = Date.now) => {
  const hours = new Map<number, [searches: number, errors: number]>()
  let before: [number, number] = [0, 0]
  return (): Activity => {
    const text = metrics()
    const counted: typeof before = [sum(text, search), sum(text, error)]
    const current = Math.floor(now() / hour)
    const [searches, errors] = hours.get(current) ?? [0, 0]
    hours.set(current, [searches + counted[0] - before[0], errors + counted[1] - before[1]])
    before = counted
    for (const old of hours.keys()) if (old <= current - 24) hours.delete(old)
    const last = Array.from({ length: 24 }, (_, index) => hours.get(current - 23 + index) ?? [0, 0])
    return { searches: last.map(([count]) => count!), errors: last.map(([, count]) => count!) }
  }
}
