// More callers at once than the database can take: so many wait, the rest are sent away and can come back.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

// The list of interests may be kept, and what is said in its place never.
const times = (count: number, status: number, retryAfter: string | null = null) =>
  Array(count).fill({ status, retryAfter, kept: status === 200 })

test.each([
  ['two connections, and three may wait', { DATABASE_POOL: '2', DATABASE_QUEUE: '3' }, 5],
  ['six connections and a thousand who may wait, unless said otherwise', {}, 1006],
])('whoever finds the queue full is sent away for a second: %s', async (_, settings, most) => {
  const { stdout } = await promisify(execFile)(
    'node_modules/.bin/deno',
    ['run', '-A', 'tests/local/full_queue.ts', String(most + 4)],
    { env: { ...process.env, ACCESS_LOG: 'off', ...settings } },
  )
  expect(JSON.parse(stdout)).toEqual({
    first: [...times(most, 200), ...times(4, 503, '1')],
    // Who was served, and who failed, left their places to others.
    failed: times(5, 500),
    then: times(5, 200),
  })
})
