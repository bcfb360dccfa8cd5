// What this process has counted since it started. An Edge Function on Supabase runs as many short-lived processes, each with counts of its
// own; docs/runbook.md says what to make of them there.

/** Upper bounds in seconds: a cached profile takes 1 ms, a search 20, and beyond 5 s clients have given up. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

interface Counted {
  count: number
  seconds: number
  /** How many took at most so long: one for each bound. */
  within: number[]
}

const requests = new Map<string, Counted>()
let underWay = 0

/** Says that a request came; what it answers with is to be called when it has been answered. */
export const began = (): (method: string, route: string, status: number, seconds: number) => void => {
  underWay++
  return (method, route, status, seconds) => {
    underWay--
    const labels = `method="${method}",route="${route}",status="${Math.floor(status / 100)}xx"`
    const counted = requests.get(labels) ?? { count: 0, seconds: 0, within: bounds.map(() => 0) }
    requests.set(labels, counted)
    counted.count++
    counted.seconds += seconds
    bounds.forEach((bound, at) => seconds <= bound && counted.within[at]!++)
  }
}

type Sample = [labels: string, value: number]

/** One metric in Prometheus' text format, 0.0.4. */
export const metric = (name: string, type: 'counter' | 'gauge', help: string, samples: Sample[]): string =>
  [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([labels, value]) => `${name}${labels && `{${labels}}`} ${value}`),
    '',
  ].join('\n')

const histogram = (name: string, help: string): string => {
  const lines = [...requests].flatMap(([labels, { count, seconds, within }]) => [
    ...bounds.map((bound, at) => `${name}_bucket{${labels},le="${bound}"} ${within[at]}`),
    `${name}_bucket{${labels},le="+Inf"} ${count}`,
    `${name}_sum{${labels}} ${seconds}`,
    `${name}_count{${labels}} ${count}`,
  ])
  return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines, ''].join('\n')
}

const started = Date.now() / 1000

/** What was counted of requests. */
export const countedRequests = (): string =>
  metric(
    'http_requests_total',
    'counter',
    'Requests answered, by route pattern.',
    [...requests].map(([labels, { count }]): Sample => [labels, count]),
  ) + histogram('http_request_duration_seconds', 'How long answers took, from the request to its headers.') +
  metric('http_requests_under_way', 'gauge', 'Requests not answered yet.', [['', underWay]]) +
  metric('process_start_time_seconds', 'gauge', 'When this process started.', [['', started]])
