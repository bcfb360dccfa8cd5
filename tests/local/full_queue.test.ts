// More requests at once than the pool can serve: some wait, the others are rejected and may retry.
import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

// Clients may cache the list of interests, but no error.
const times = (count: number, status: number, retryAfter: string | null = null) =>
  Array(count).fill({ status, retryAfter, cacheable: status === 200 })

test.each([
  ['two connections and a queue of three', { DATABASE_POOL: '2', DATABASE_QUEUE: '3' }, 5],
  ['six connections and a queue of a thousand by default', {}, 1006],
])('requests that find the queue full get 503 and Retry-After: %s', async (_, settings, capacity) => {
  const env = { ACCESS_LOG: 'off', ...settings }
  expect(await runScript('tests/local/full_queue.ts', [String(capacity + 4)], env)).toEqual({
    first: [...times(capacity, 200), ...times(4, 503, '1')],
    // Requests leave the queue when they are answered, and also when they fail.
    failed: times(5, 500),
    then: times(5, 200),
  })
})
