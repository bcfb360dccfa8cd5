import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'
import type { Report } from './run.ts'

const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim()

// The commit chooses the sample, so that each run tries others and the same commit the same ones. On the main branch a
// commit is compared with the one before.
const head = git('rev-parse', 'HEAD')
const main = git('for-each-ref', '--format=%(objectname)', 'refs/remotes/origin/main')
const base = main && main !== head ? git('merge-base', 'HEAD', main) : `${head}~1`

test('the rules and the pgTAP files notice what is broken in policies, grants and functions', async () => {
  const report = await runScript<Report>('tests/mutants/run.ts', [
    `--seed=${parseInt(head.slice(0, 8), 16)}`,
    `--base=${base}`,
  ], {
    DATABASE_URL: process.env.MUTANTS_DATABASE_URL!,
  })
  expect(report.broken).toEqual([])
  const { survivors, tried, undecided } = report
  console.log(`Mutants: ${JSON.stringify({ ...tried, undecided })}`)
  if (survivors.length > 0) console.log(`Survivors, to be tested or accepted:\n${survivors.join('\n')}`)
  expect(tried.policy).toBeGreaterThan(0)
  // Many of a sample are equal to the original, or about a lock, so a survivor is printed. That most survive would mean
  // that the rules did not run.
  expect(survivors.length).toBeLessThan(Object.values(tried).reduce((sum, count) => sum + count, 0) / 4)
}, 20 * 60_000)
