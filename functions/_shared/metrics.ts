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
