// The minimum response time of requests that must not reveal their work.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createTimingFloor, type TimingFloor } from '../../functions/_shared/floor.ts'
import { pause } from '../tools/wait.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** Starts a request for each of these durations at once and returns the response times. */
const durations = async (floor: TimingFloor, work: number[]): Promise<number[]> => {
  const responses = Promise.all(work.map(async (milliseconds) => {
    const start = performance.now()
    const timer = floor.start()
    await pause(milliseconds)
    await timer.wait()
    return Math.round(performance.now() - start)
  }))
  await vi.runAllTimersAsync()
  return await responses
}
const sequentially = (count: number) => Array.from({ length: count }, (_, index) => 80 * (index + 1))
const times = (count: number, value: number) => Array<number>(count).fill(value)
const quietPeriod = () => vi.advanceTimersByTimeAsync(600_000)

test.each([1, 2, 5, 10, 20])(
  '%i concurrent requests take the same time with and without hashing',
  async (count) => {
    const floor = createTimingFloor(500, 200, 5000)
    const expected = times(count, Math.max(500, 200 * count))
    expect(await durations(floor, times(count, 1))).toEqual(expected)
    await quietPeriod()
    expect(await durations(floor, sequentially(count))).toEqual(expected)
  },
)

test('a request that is answered while others turn out to be slow waits as long as they do', async () => {
  const all = await durations(createTimingFloor(500, 200, 5000), [1, 300, 620, 900])
  expect(Math.min(...all)).toBeGreaterThan(1340)
  expect(Math.max(...all)).toBeLessThan(1360)
})

test('after a slow request the next one is slow as well, and the effect decays', async () => {
  const floor = createTimingFloor(500, 200, 5000)
  expect(await durations(floor, [2000])).toEqual([3000])
  const [next] = await durations(floor, [1])
  expect(next).toBeGreaterThan(2500)
  expect(next).toBeLessThan(3000)
  await quietPeriod()
  expect(await durations(floor, [1])).toEqual([500])
})

test('no request waits longer than the maximum, or at all once it is late', async () => {
  const floor = createTimingFloor(500, 200, 5000)
  expect(await durations(floor, times(100, 1))).toEqual(times(100, 5000))
  expect(await durations(floor, [9000])).toEqual([9000])
})
