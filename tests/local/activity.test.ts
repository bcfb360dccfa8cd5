import { expect, test } from 'vitest'
import { openActivity } from '../../supabase/local/activity.ts'

test('searches and errors are counted in the hour in which they happened, for a day', () => {
  let [searches, errors, time] = [2, 1, Date.parse('2026-01-01T10:30:00Z')]
  const read = openActivity(() =>
    [
      `http_requests_total{method="GET",route="/users/search",status="2xx"} ${searches}`,
      'http_requests_total{method="GET",route="/users/search",status="4xx"} 9',
      `http_requests_total{method="POST",route="/users",status="5xx"} ${errors}`,
      'http_request_duration_seconds_count{method="GET",route="/users/search",status="5xx"} 7',
    ].join('\n'), () => time)
  read()
  ;[searches, errors, time] = [5, 1, time + 3_600_000]
  const { searches: found, errors: failed } = read()
  expect([found.length, found.slice(-3), failed.slice(-3)]).toEqual([24, [0, 2, 3], [0, 1, 0]])
  time += 23 * 3_600_000
  expect(read().searches).toEqual([3, ...Array(23).fill(0)])
})
