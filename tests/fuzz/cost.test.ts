import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

// The long run has a server, 10,000 profiles, and two minutes: npm run test:fuzz:cost. The quick one shares its processors with other tests, and
// of 300 profiles each search looks at all, so that the dearest is 9 times an ordinary one; it only tells that nothing went badly wrong.
const seconds = Number(process.env.FUZZ_COST ?? 0)
const quick = ['--profiles=300', '--tries=60', '--seconds=40']
const most = seconds > 0 ? 10 : 30
const databaseUrl = process.env.COST_DATABASE_URL

interface Found {
  ordinary: number
  milliseconds: number
  ratio: number
  request: { q: string }
}
const dearest = async (...options: string[]): Promise<Found> => {
  const { stdout } = await promisify(execFile)(
    'node_modules/.bin/deno',
    ['run', '-A', 'tests/fuzz/cost.ts', ...(seconds > 0 ? [`--seconds=${seconds}`] : quick), ...options],
    { env: { ...process.env, DATABASE_URL: databaseUrl ?? '' } },
  )
  const found = stdout.trim().split('\n').at(-1)!
  if (seconds > 0) console.log(found)
  return JSON.parse(found)
}
const timeLimit = 180_000 + 3 * seconds * 1000

test('the dearest search costs at most ten ordinary ones, and under 300 ms', async () => {
  const found = await dearest(`--seed=${seconds > 0 ? Date.now() % 2 ** 31 : 1}`)
  expect(found.ratio, JSON.stringify(found)).toBeGreaterThan(1)
  expect(found.ratio, JSON.stringify(found)).toBeLessThanOrEqual(most)
  if (seconds > 0) expect(found.milliseconds, JSON.stringify(found)).toBeLessThan(300)
}, timeLimit)

test.runIf(seconds > 0)('the long phrases of before are found', async () => {
  const found = await dearest('--seed=1', '--plant')
  expect(found.ratio, JSON.stringify(found)).toBeGreaterThan(20)
  expect(found.request.q).toMatch(/"(\S+ ){10}/)
}, timeLimit)
