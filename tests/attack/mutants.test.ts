import { beforeAll, expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

interface Mutant {
  kind: string
  what: string
  statement: string
}
interface Report {
  mutants: number
  kinds: Record<string, number>
  detectedBy: Record<string, number>
  survivors: Mutant[]
  impossible: Mutant[]
}

const minutes = 15

let report: Report
beforeAll(async () => {
  report = await runScript('tests/db/mutants.ts', [], { DATABASE_URL: process.env.MUTANTS_DATABASE_URL! })
}, minutes * 60_000)

test('there are mutants of each policy and each grant', () => {
  expect(report.kinds).toHaveProperty('row level security')
  expect(report.kinds.policy).toBeGreaterThan(50)
  for (const kind of ['table', 'column', 'sequence', 'routine', 'rights', 'schema', 'default', 'role']) {
    expect(report.kinds[kind]).toBeGreaterThan(10)
  }
})

test('every mutant can be applied', () => expect(report.impossible).toEqual([]))

test('the pgTAP files notice every mutant', () => {
  expect(report.survivors).toEqual([])
  expect(Object.values(report.detectedBy).reduce((sum, count) => sum + count, 0)).toBe(report.mutants)
})
