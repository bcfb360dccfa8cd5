import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const answers = (count: number, status: number, retryAfter: string | null = null) =>
  Array(count).fill({ status, retryAfter })

test.each([
  ['all connections but one', {}, 2],
  ['as many as the setting says', { SEARCH_CONCURRENCY: '1' }, 1],
  ['never all connections', { SEARCH_CONCURRENCY: '9' }, 2],
  ['one connection where there is no other', { DATABASE_POOL: '1' }, 1],
])('searches take %s, a hundred wait, and the next are sent away', async (_, settings, running) => {
  const { stdout } = await promisify(execFile)(
    'node_modules/.bin/deno',
    ['run', '-A', 'tests/local/search_concurrency.ts', String(running + 104)],
    { env: { ...process.env, ACCESS_LOG: 'off', RATE_LIMIT_SEARCH_ANONYMOUS: 'off', ...settings } },
  )
  expect(JSON.parse(stdout)).toEqual({
    underWay: running,
    most: running,
    meanwhile: 200,
    answers: [...answers(running + 100, 200), ...answers(4, 503, '1')],
  })
})
