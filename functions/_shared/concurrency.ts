import { serviceUnavailable } from './errors.ts'
import { settings } from './settings.ts'

/** Runs at most `maxRunning` at once, in order of arrival. Throws 503 if the queue is full or the wait too long. */
export const limitConcurrency = (maxRunning: () => number, maxQueued: number, maxWaitMilliseconds: number) => {
  const queue = new Set<() => void>()
  let running = 0

  const enqueue = async (): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const start = () => resolve(true)
    queue.add(start)
    const timer = setTimeout(() => resolve(!queue.delete(start)), maxWaitMilliseconds)
    return await promise.finally(() => clearTimeout(timer))
  }

  const run = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (running < maxRunning()) running++
    else if (queue.size >= maxQueued || !await enqueue()) serviceUnavailable()
    try {
      return await work()
    } finally {
      // The slot passes to the next in the queue. If it were freed in between, a new caller could take it first.
      const [next] = queue
      if (next) {
        queue.delete(next)
        next()
      } else running--
    }
  }
  /** How many run or wait. */
  const inFlight = (): number => running + queue.size
  return { run, inFlight }
}

const half = () => Math.max(1, Math.floor(settings.DATABASE_POOL / 2))
/**
 * Without a limit, searches take all connections and messages wait behind them. Two connections serve a hundred
 * ordinary searches a second; beyond that a retry is faster than the queue.
 */
export const { run: limitSearch } = limitConcurrency(half, 100, 4000)
