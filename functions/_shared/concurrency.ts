import { serviceUnavailable } from './errors.ts'

interface Limiter {
  run: <Result>(work: () => Promise<Result>) => Promise<Result>
  /** How many run or wait. */
  inFlight: () => number
}

/** Runs at most `maxRunning` at once, in order of arrival. Throws 503 if the queue is full or the wait too long. */
export const limitConcurrency = (
  maxRunning: () => number,
  maxQueued: number,
  maxWaitMilliseconds: number,
): Limiter => {
  const queue = new Set<() => void>()
  let running = 0

  const enqueue = (): Promise<boolean> =>
    new Promise((resolve) => {
      const start = () => {
        clearTimeout(timer)
        resolve(true)
      }
      const timer = setTimeout(() => {
        queue.delete(start)
        resolve(false)
      }, maxWaitMilliseconds)
      queue.add(start)
    })

  const run: Limiter['run'] = async (work) => {
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
  return { run, inFlight: () => running + queue.size }
}
