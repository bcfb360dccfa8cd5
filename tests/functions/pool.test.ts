import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

// Thirty notice rows that one caller leaves to another, a statement sent twice and a connection that stays open.
const count = Number(process.env.POOL_SCHEDULES ?? 300)
const seed = process.env.POOL_SEED ?? '42'

test(`in ${count} schedules of timeouts, lost connections and retries no rows are mixed up (${seed})`, async () => {
  const none = { mixedUp: 0, unsent: 0, doubled: 0, unknown: 0, unending: 0, leftOpen: 0, unusable: 0, inFlight: 0 }
  expect(await runScript('tests/functions/pool_schedules.ts', [`${count}`, seed])).toMatchObject({ violations: none })
})
