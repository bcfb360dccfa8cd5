// Who is refused is in tests/attack/tokens.test.ts; migrations and data are read in tests/doctor/doctor.test.ts.
import { expect, inject, test } from 'vitest'
import { call } from '../tools/people.ts'
import { search } from '../tools/search.ts'

const { secretKey } = inject('stack')

const scrape = async (): Promise<string> => {
  const { status, headers, text } = await call('GET', '/health/metrics', undefined, { token: secretKey })
  expect(status, text).toBe(200)
  expect(headers.get('Content-Type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  return text
}
const valueOf = (text: string, series: string): number =>
  Number(text.split('\n').find((line) => line.startsWith(`${series} `))?.slice(series.length + 1))

test('every line is valid Prometheus text, and no series is repeated', async () => {
  const text = await scrape()
  for (const name of ['dead', 'oldest_seconds']) expect(valueOf(text, `embedding_queue_${name}`)).not.toBeNaN()
  const lines = text.split('\n')
  expect(lines.pop()).toBe('')
  for (const line of lines) {
    expect(line).toMatch(
      /^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z0-9]+="[^"\\]*"(,[a-z0-9]+="[^"\\]*")*\})? [\d.e+-]+)$/,
    )
  }
  const series = lines.filter((line) => !line.startsWith('#')).map((line) => line.slice(0, line.lastIndexOf(' ')))
  expect(new Set(series).size).toBe(series.length)
})

// The sources of all functions share one process, and its counts. Each bundle has its own, and `health` shows those.
const counted = process.env.FUNCTIONS_DENO
  ? { path: '/health/openapi.json', route: '/health/openapi.json', status: '2xx' }
  : { path: '/users/999999999', route: '/users/:id', status: '4xx' }

test('a request is counted under its route pattern', async () => {
  const series = `method="GET",route="${counted.route}",status="${counted.status}"`
  const before = await scrape()
  await call('GET', counted.path)
  const after = await scrape()
  const full = `http_requests_total{${series}}`
  expect(valueOf(after, full) - (valueOf(before, full) || 0), full).toBeGreaterThanOrEqual(1)
})

test('user input never becomes a label', async () => {
  const secret = `zyx${Date.now()}`
  for (const path of ['/users', '', `/conversations/${secret}/${secret}`, '/health']) {
    await call('GET', `${path}/${secret}`)
  }
  await search({ q: secret })
  await call(secret.toUpperCase(), '/users/me')
  const text = await scrape()
  expect(text.toLowerCase()).not.toContain(secret)
  expect(text).toContain('http_requests_total{method="unknown",route="unknown",status="4xx"}')
})
