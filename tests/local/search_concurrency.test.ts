import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

const times = (count: number, status: number, retryAfter: string | null = null) =>
  Array(count).fill({ status, retryAfter })

const search = (count: number, settings: Record<string, string>, hold = 300) =>
  runScript('tests/local/search_concurrency.ts', [String(count), String(hold)], {
    ACCESS_LOG: 'off',
    RATE_LIMIT_SEARCH_ANONYMOUS: 'off',
    ...settings,
  })

test.concurrent.each([
  ['half of the connections', {}, 3],
  ['as many as the setting says', { SEARCH_CONCURRENCY: '1' }, 1],
  ['the only connection if there is one', { DATABASE_POOL: '1' }, 1],
])('searches use %s, a hundred more wait, and the next are rejected', async (_, settings, running) => {
  expect(await search(running + 104, settings)).toEqual({
    running,
    maxRunning: running,
    meanwhile: 200,
    answers: [...times(running + 100, 200), ...times(4, 503, '1')],
  })
})

test.concurrent('a search waits for a connection four seconds at most', async () => {
  expect(await search(7, {}, 4500)).toEqual({
    running: 3,
    maxRunning: 3,
    meanwhile: 200,
    answers: [...times(3, 200), ...times(4, 503, '1')],
  })
})
