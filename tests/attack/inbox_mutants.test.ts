import { expect, test } from 'vitest'
import { makeDatabase } from '../tools/postgres.ts'
import { runScript } from '../tools/run_script.ts'

interface Report {
  mutants: number
  survivors: string[]
  impossible: string[]
}

// MUTANTS=1 tries every one; by default one in seven, because all take half a minute of processor time.
const oneIn = process.env.MUTANTS ?? '7'

test('the tests detect a mutant of each guard of the inbox and of conversation states', async () => {
  const DATABASE_URL = await makeDatabase('inbox_mutants')
  const report = await runScript<Report>('tests/db/inbox_mutants.ts', [oneIn], { DATABASE_URL })
  expect(report.impossible).toEqual([])
  expect(report.survivors).toEqual([])
  expect(report.mutants).toBeGreaterThan(80 / Number(oneIn))
}, 10 * 60_000)
