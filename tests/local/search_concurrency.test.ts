import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'
import { testKeys } from '../tools/stack.ts'

const times = (count: number, status: number, retryAfter: string | null = null) =>
  Array(count).fill({ status, retryAfter })

const limits = {
  ACCESS_LOG: 'off',
  RATE_LIMIT_SEARCH: 'off',
  RATE_LIMIT_PROFILE: 'off',
  JWT_SECRET: testKeys.jwtSecret,
  JWT_ISSUER: 'http://x/auth/v1',
}
const request = async (what: 'search' | 'change', count: number, settings: Record<string, string>, hold = 300) => {
  const { answers, ...counts } = await runScript<{ answers: { status: number; retryAfter: string | null }[] }>(
    'tests/local/search_concurrency.ts',
    [String(count), String(hold), what],
    { ...limits, ...settings },
  )
  // Tokens are verified and avatars read first, so the requests wait in another order.
  return { ...counts, answers: answers.toSorted((one, other) => one.status - other.status) }
}

test.concurrent.each(
  [
    ['searches', 'half of the connections', {}, 3],
    ['searches', 'as many as the setting says', { SEARCH_CONCURRENCY: '1' }, 1],
    ['searches', 'the only connection if there is one', { DATABASE_POOL: '1' }, 1],
    ['changes of accounts', 'a quarter of the connections', { DATABASE_POOL: '12' }, 3],
    ['changes of accounts', 'at least one connection', {}, 1],
  ] as const,
)('%s use %s, a hundred more wait, and the next are rejected', async (what, _, settings, running) => {
  expect(await request(what === 'searches' ? 'search' : 'change', running + 104, settings)).toEqual({
    running,
    maxRunning: running,
    meanwhile: 200,
    answers: [...times(running + 100, 200), ...times(4, 503, '1')],
  })
})

test.concurrent('a search waits for a connection four seconds at most', async () => {
  expect(await request('search', 7, {}, 4500)).toEqual({
    running: 3,
    maxRunning: 3,
    meanwhile: 200,
    answers: [...times(3, 200), ...times(4, 503, '1')],
  })
})
