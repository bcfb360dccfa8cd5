import { serviceUnavailable } from './errors.ts'

/** Waits for its turn, runs the work, and answers as it does. */
export type Limit = <Result>(work: () => Promise<Result>) => Promise<Result>

/**
 * Runs so many at once, in order of arrival. So many more may wait, and none longer than so many milliseconds; whoever may not is refused with
 * 503 before it costs anything.
 */
export const limitConcurrency = (running: number, waiting: number, waitMilliseconds: number): Limit => {
  const queue = new Set<() => void>()
  let underWay = 0

  const turn = (): Promise<boolean> =>
    new Promise((resolve) => {
      const take = () => {
        clearTimeout(timer)
        resolve(true)
      }
      const timer = setTimeout(() => {
        queue.delete(take)
        resolve(false)
      }, waitMilliseconds)
      queue.add(take)
    })

  return async (work) => {
    if (underWay < running) underWay++
    else if (queue.size >= waiting || !await turn()) serviceUnavailable()
    try {
      return await work()
    } finally {
      // Whoever is next takes the place over; counted down in between, a newcomer could slip in before.
      const [next] = queue
      if (next) {
        queue.delete(next)
        next()
      } else underWay--
    }
  }
}
