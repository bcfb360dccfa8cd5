import { expect, test } from 'vitest'
import { makeDatabase } from '../tools/postgres.ts'
import { runScript } from '../tools/run_script.ts'

interface Report {
  mutants: number
  survivors: string[]
  impossible: string[]
}

test('the tests detect a mutant of each guard of reports, moderation and first contact', async () => {
  const DATABASE_URL = await makeDatabase('moderation_mutants')
  const report = await runScript<Report>('tests/db/moderation_mutants.ts', [], { DATABASE_URL })
  expect(report.impossible).toEqual([])
  expect(report.survivors).toEqual([])
  expect(report.mutants).toBeGreaterThan(100)
}, 10 * 60_000)
