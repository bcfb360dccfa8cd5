import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const answers = (count: number, status: number, retryAfter: string | null = null) =>
  Array(count).fill({ status, retryAfter })

const run = async (count: string, env: Record<string, string>, hold = '300') => {
  const { stdout } = await promisify(execFile)(
    'node_modules/.bin/deno',
    ['run', '-A', 'tests/local/search_concurrency.ts', count, hold],
    { env: { ...process.env, ACCESS_LOG: 'off', RATE_LIMIT_SEARCH_ANONYMOUS: 'off', ...env } },
  )
  return JSON.parse(stdout)
}

test.concurrent.each([
  ['half of the connections', {}, 3],
  ['as many as the setting says', { SEARCH_CONCURRENCY: '1' }, 1],
  ['never all connections', { SEARCH_CONCURRENCY: '9' }, 5],
  ['one connection where there is no other', { DATABASE_POOL: '1' }, 1],
])('searches take %s, a hundred wait, and the next are sent away', async (_, settings, running) => {
  const told = await run(String(running + 104), settings)
  expect(told).toEqual({
    underWay: running,
    most: running,
    meanwhile: 200,
    answers: [...answers(running + 100, 200), ...answers(4, 503, '1')],
  })
})

test.concurrent('nobody waits longer than four seconds for the turn to search', async () => {
  expect(await run('7', {}, '4500')).toEqual({
    underWay: 3,
    most: 3,
    meanwhile: 200,
    answers: [...answers(3, 200), ...answers(4, 503, '1')],
  })
})
