import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

// FUZZ_COST is the seconds of the long run (npm run test:fuzz:cost), on a server with 10,000 profiles. The quick run
// shares the processors with other tests and has 300 profiles. Each search scans all of them, and the costliest one
// costs 9 ordinary ones, so the limit only detects gross regressions.
const seconds = Number(process.env.FUZZ_COST ?? 0)
const isLong = seconds > 0
const maxRatio = isLong ? 10 : 30
const timeout = 180_000 + 3 * seconds * 1000

interface Result {
  ordinary: number
  milliseconds: number
  ratio: number
  request: { q: string }
}
const findCostliest = async (options: string[]): Promise<Result> => {
  const env = { DATABASE_URL: process.env.COST_DATABASE_URL ?? '' }
  const result = await runScript<Result>('tests/fuzz/cost.ts', options, env)
  if (isLong) console.log(JSON.stringify(result))
  return result
}

test('the costliest search costs at most ten ordinary ones, and under 300 ms', async () => {
  const seed = Date.now() % 2 ** 31
  const result = await findCostliest(
    isLong ? [`--seconds=${seconds}`, `--seed=${seed}`] : ['--profiles=300', '--tries=60', '--seconds=40', '--seed=1'],
  )
  expect(result.ratio, JSON.stringify(result)).toBeGreaterThan(1)
  expect(result.ratio, JSON.stringify(result)).toBeLessThanOrEqual(maxRatio)
  if (isLong) expect(result.milliseconds, JSON.stringify(result)).toBeLessThan(300)
}, timeout)

test.runIf(isLong)('with highlights, facets and nearness at most fifteen ordinary ones, and under 300 ms', async () => {
  const seed = Date.now() % 2 ** 31
  const result = await findCostliest([`--seconds=${seconds}`, `--seed=${seed}`, '--details'])
  expect(result.ratio, JSON.stringify(result)).toBeLessThanOrEqual(15)
  expect(result.milliseconds, JSON.stringify(result)).toBeLessThan(300)
}, timeout)

test('a seeded fault in the cost of long phrases is found', async () => {
  const result = await findCostliest(
    isLong
      ? [`--seconds=${seconds}`, '--rounds=1', '--seed=1', '--fault=long-phrases']
      : ['--profiles=100', '--tries=40', '--seconds=40', '--rounds=1', '--seed=1', '--fault=slow-phrases'],
  )
  expect(result.ratio, JSON.stringify(result)).toBeGreaterThan(maxRatio)
  expect(result.request.q).toMatch(/"(\S+ ){10}/)
}, timeout)
