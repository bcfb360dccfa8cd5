import { expect, test } from 'vitest'
import { base, isDue, seed } from '../tools/changed.ts'
import { runScript } from '../tools/run_script.ts'
import type { Report } from './run.ts'

// Nothing else can make a mutant survive.
const isWanted = isDue('sql', 'tests/db', 'tests/mutants', 'tests/rules')

test.runIf(isWanted)('the rules and the pgTAP files notice broken policies and functions', async () => {
  const report = await runScript<Report>('tests/mutants/run.ts', [
    `--seed=${seed}`,
    `--base=${base ?? ''}`,
    '--rest=25',
    '--each=5',
  ], {
    DATABASE_URL: process.env.MUTANTS_DATABASE_URL!,
  })
  expect(report.broken).toEqual([])
  const { survivors, tried, undecided } = report
  console.log(`Mutants: ${JSON.stringify({ ...tried, undecided })}`)
  if (survivors.length > 0) console.log(`Survivors, to be tested unless they are equal:\n${survivors.join('\n')}`)
  expect(tried.policy).toBeGreaterThan(0)
  // Many of a sample are equal to the original, or about a lock, so a survivor is printed. That most survive would mean
  // that the rules did not run.
  expect(survivors.length).toBeLessThan(Object.values(tried).reduce((sum, count) => sum + count, 0) / 4)
}, 20 * 60_000)
