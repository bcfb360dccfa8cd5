import { refuseBusy } from './problem.ts'

/** Waits for its turn, runs the work, and answers as it does. */
export type Limit = <Result>(work: () => Promise<Result>) => Promise<Result>

/** Runs so many at once, in order of arrival; so many more may wait, and the next is refused with 503 before it costs anything. */
export const limitConcurrency = (running: number, waiting: number): Limit => {
  const queue: (() => void)[] = []
  let underWay = 0
  return async (work) => {
    if (underWay < running) underWay++
    else if (queue.length < waiting) await new Promise<void>((resolve) => queue.push(resolve))
    else refuseBusy()
    try {
      return await work()
    } finally {
      // Whoever is next takes the place over; counted down in between, a newcomer could slip in before.
      const next = queue.shift()
      if (next) next()
      else underWay--
    }
  }
}
