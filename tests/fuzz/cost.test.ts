import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

// FUZZ_COST is the seconds of the long run (npm run test:fuzz:cost), with 10,000 profiles and a seed of its own. The
// short run tries the same every time: 3.4 times.
const seconds = Number(process.env.FUZZ_COST ?? 0)
const maxRatio = 10
const options = seconds > 0
  ? [`--seconds=${seconds}`, `--seed=${Date.now() % 2 ** 31}`]
  : ['--profiles=2000', '--tries=100', '--seconds=600', '--seed=1']

test(`the costliest search reads at most ${maxRatio} times the pages of an ordinary one`, async () => {
  const env = { DATABASE_URL: process.env.COST_DATABASE_URL ?? '' }
  const result = await runScript<{ ratio: number }>('bench/search/costliest.ts', [...options, '--details'], env)
  if (seconds > 0) console.log(JSON.stringify(result))
  // Some that it has found are not ordinary.
  expect(result.ratio, JSON.stringify(result)).toBeGreaterThan(2)
  expect(result.ratio, JSON.stringify(result)).toBeLessThanOrEqual(maxRatio)
}, 15 * 60_000 + 3 * seconds * 1000)
