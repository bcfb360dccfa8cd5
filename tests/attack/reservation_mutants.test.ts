import { expect, test } from 'vitest'
import { makeDatabase } from '../tools/postgres.ts'
import { runScript } from '../tools/run_script.ts'

interface Report {
  mutants: number
  detectedBy: Record<string, number>
  survivors: string[]
  impossible: string[]
}

// MUTANTS=1 tries every one; by default one in three, because all take most of a minute of processor time.
const oneIn = process.env.MUTANTS ?? '3'

test('the tests detect a mutant of each guard of the reservations', async () => {
  const DATABASE_URL = await makeDatabase('mutants')
  const report = await runScript<Report>('tests/db/reservation_mutants.ts', [oneIn], { DATABASE_URL })
  expect(report.impossible).toEqual([])
  expect(report.survivors).toEqual([])
  expect(report.mutants).toBeGreaterThan(100 / Number(oneIn))
}, 10 * 60_000)
