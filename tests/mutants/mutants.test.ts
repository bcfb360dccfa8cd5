import { expect, test } from 'vitest'
import { base, isDue, seed } from '../tools/changed.ts'
import { runScript } from '../tools/run_script.ts'
import type { Report } from './run.ts'

// Nothing else can make a mutant survive.
const isWanted = isDue('sql', 'tests/db', 'tests/mutants', 'tests/rules')

test.runIf(isWanted)('the rules and the pgTAP files notice broken policies, grants and functions', async () => {
  const args = [`--seed=${seed}`, `--base=${base ?? ''}`, '--seconds=45', '--rest=20', '--each=5']
  const env = { DATABASE_URL: process.env.MUTANTS_DATABASE_URL! }
  const report = await runScript<Report>('tests/mutants/run.ts', args, env)
  const { broken, survivors, tried } = report
  expect(broken).toEqual([])
  // Survivors are to be tested or accepted; of the accepted those are stale that are noticed, or no mutants any more.
  console.log(`Mutants: ${JSON.stringify(report, null, 2)}`)
  expect(Math.min(tried.policy ?? 0, tried.grant ?? 0)).toBeGreaterThan(0)
  // Another seed has other survivors, so they are printed: a commit must not fail for its hash. That most survive would
  // mean that the rules did not run.
  expect(survivors.length).toBeLessThan(Object.values(tried).reduce((sum, count) => sum + count, 0) / 4)
}, 20 * 60_000)
