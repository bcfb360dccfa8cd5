import { expect, test } from 'vitest'
import { makeDatabase } from '../tools/postgres.ts'
import { runScript } from '../tools/run_script.ts'
import type { Report } from './schedules.ts'

test(
  'whatever two participants, an admin and the clock do, and in which order, readers see a legal history',
  async () => {
    const DATABASE_URL = await makeDatabase('schedules')
    // SCHEDULES=4 tries every sequence of four actions instead of every state.
    const depth = process.env.SCHEDULES ? [process.env.SCHEDULES] : []
    const report = await runScript<Report>('tests/db/schedules.ts', depth, { DATABASE_URL })
    expect(report.violations).toEqual([])
    if (depth.length === 0) {
      expect(report.states).toBeGreaterThan(150)
      expect(report.transitions).toBeGreaterThan(3000)
    }
  },
  10 * 60_000,
)
