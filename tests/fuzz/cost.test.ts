import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

// FUZZ_COST is the seconds of the long run (npm run test:fuzz:cost), with 10,000 profiles and a seed of its own. The
// short one has 300 profiles and always tries the same.
const seconds = Number(process.env.FUZZ_COST ?? 0)
const options = seconds > 0
  ? [`--seconds=${seconds}`, `--seed=${Date.now() % 2 ** 31}`]
  : ['--profiles=300', '--tries=300', '--seconds=600', '--seed=1']

test.each([
  ['the costliest search', 10, []],
  ['with highlights, facets and nearness the costliest search', 15, ['--details']],
])('%s reads at most %i times the pages of an ordinary one', async (_, most, details) => {
  const env = { DATABASE_URL: process.env.COST_DATABASE_URL ?? '' }
  const result = await runScript<{ ratio: number }>('tests/fuzz/cost.ts', [...options, ...details], env)
  if (seconds > 0) console.log(JSON.stringify(result))
  // The search has found some that are not ordinary.
  expect(result.ratio, JSON.stringify(result)).toBeGreaterThan(2)
  expect(result.ratio, JSON.stringify(result)).toBeLessThanOrEqual(most)
}, 15 * 60_000 + 3 * seconds * 1000)
