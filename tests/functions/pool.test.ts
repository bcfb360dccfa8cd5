import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

const schedules = (...args: string[]): Promise<Record<string, number>> =>
  runScript('tests/functions/pool_schedules.ts', args)

// A hundredth of these detects the fault below.
const count = Number(process.env.POOL_SCHEDULES ?? 3000)
const seed = process.env.POOL_SEED ?? '42'

test(
  `in ${count} schedules of timeouts, lost connections, retries and full queues no rows are mixed up (seed ${seed})`,
  async () => {
    const found = await schedules(String(count), seed)
    expect(found).toMatchObject({
      schedules: count,
      mixedUp: 0,
      unsent: 0,
      doubled: 0,
      unending: 0,
      unusable: 0,
      leftOpen: 0,
      inFlight: 0,
    })
    // Each outcome must be frequent, or the test shows nothing.
    for (const outcome of ['answers', 'errors', 'busy']) expect(found[outcome], outcome).toBeGreaterThan(1000)
  },
  300_000,
)

test('the same schedules detect mixed-up rows if statements are cancelled in a pipeline', async () => {
  expect((await schedules('200', seed)).mixedUp).toBe(0)
  expect((await schedules('200', seed, 'pipelined')).mixedUp).toBeGreaterThan(0)
})
