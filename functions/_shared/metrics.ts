// Counts since this process started. On Supabase an Edge Function runs as many short-lived processes, each with its own
// counts; docs/runbook.md says how to read them there.

/** Upper bounds in seconds: a cached profile takes 1 ms, a search 20 ms, and beyond 5 s clients have given up. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

interface Histogram {
  count: number
  seconds: number
  /** Cumulative, one for each bound. */
  buckets: number[]
}

const requests = new Map<string, Histogram>()
let inFlight = 0

/** Counts a request in flight. Call the returned function once its response is ready. */
export const startRequest = (): (method: string, route: string, status: number, seconds: number) => void => {
  inFlight++
  return (method, route, status, seconds) => {
    inFlight--
    const labels = `method="${method}",route="${route}",status="${Math.floor(status / 100)}xx"`
    const histogram = requests.get(labels) ?? { count: 0, seconds: 0, buckets: bounds.map(() => 0) }
    requests.set(labels, histogram)
    histogram.count++
    histogram.seconds += seconds
    bounds.forEach((bound, index) => seconds <= bound && histogram.buckets[index]!++)
  }
}

type Sample = [labels: string, value: number]

/** One metric in the Prometheus text format 0.0.4. */
export const formatMetric = (name: string, type: 'counter' | 'gauge', help: string, samples: Sample[]): string =>
  [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([labels, value]) => `${name}${labels && `{${labels}}`} ${value}`),
    '',
  ].join('\n')

const formatHistogram = (name: string, help: string): string => {
  const lines = [...requests].flatMap(([labels, { count, seconds, buckets }]) => [
    ...bounds.map((bound, index) => `${name}_bucket{${labels},le="${bound}"} ${buckets[index]}`),
    `${name}_bucket{${labels},le="+Inf"} ${count}`,
    `${name}_sum{${labels}} ${seconds}`,
    `${name}_count{${labels}} ${count}`,
  ])
  return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines, ''].join('\n')
}

const startTime = Date.now() / 1000

export const formatRequestMetrics = (): string =>
  formatMetric(
    'http_requests_total',
    'counter',
    'Number of requests, by method, route pattern and status class.',
    [...requests].map(([labels, { count }]): Sample => [labels, count]),
  ) + formatHistogram('http_request_duration_seconds', 'Request duration until the response headers, in seconds.') +
  formatMetric('http_requests_in_flight', 'gauge', 'Number of requests in flight.', [['', inFlight]]) +
  formatMetric('process_start_time_seconds', 'gauge', 'Unix time at which the process started.', [['', startTime]])
