import { expect, test } from 'vitest'
import { makeDatabase } from '../tools/postgres.ts'
import { runScript } from '../tools/run_script.ts'

interface Report {
  mutants: number
  survivors: string[]
  impossible: string[]
}

// MUTANTS=1 tries every one. By default it is one in so many, because all take half a minute of processor time or more.
test.each([
  ['the reservations', 'reservation_mutants', 3, 100],
  ['reports, moderation and first contact', 'moderation_mutants', 3, 100],
  ['the inbox and of conversation states', 'inbox_mutants', 7, 80],
])('the tests detect a mutant of each guard of %s', async (_, name, byDefault, least) => {
  const oneIn = Number(process.env.MUTANTS ?? byDefault)
  const DATABASE_URL = await makeDatabase(name)
  const report = await runScript<Report>(`tests/db/${name}.ts`, [`${oneIn}`], { DATABASE_URL })
  expect(report.impossible).toEqual([])
  expect(report.survivors).toEqual([])
  expect(report.mutants).toBeGreaterThan(least / oneIn)
}, 10 * 60_000)
