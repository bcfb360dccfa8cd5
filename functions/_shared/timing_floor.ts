const halfLife = 30_000

/**
 * A minimum response time, which hides from a client how much work its request caused: the largest of three times, and
 * never more than `max`.
 * - `min` milliseconds.
 * - `perRequest` for each request that starts within `min` of this one, whatever work it causes. Auth hashes ten
 *   concurrent log-ins of one address one after the other where the account exists: 1.1 s against 0.5 s.
 * - 1.5 times the slowest recent response, because a machine under load hashes more slowly. It decays exponentially.
 * Waiting costs a timer and the open connection.
 */
export const createTimingFloor = (min: number, perRequest: number, max: number) => {
  let slowest = 0
  let since = performance.now()
  const starts: number[] = []

  const record = (duration: number): void => {
    const now = performance.now()
    slowest = Math.max(duration, slowest * 2 ** ((since - now) / halfLife))
    since = now
  }

  const floorOf = (start: number): number => {
    const concurrent = starts.filter((other) => Math.abs(other - start) <= min).length
    record(0)
    return Math.min(max, Math.max(min, perRequest * concurrent, 1.5 * slowest))
  }

  return {
    start: () => {
      const start = performance.now()
      starts.push(start)
      // Older requests have all been answered.
      while (starts[0]! < start - 2 * max) starts.shift()
      const elapsed = () => performance.now() - start
      return {
        /** Resolves once the response may be sent. */
        wait: async () => {
          record(elapsed())
          // The floor can rise while this request waits.
          for (let floor = floorOf(start); elapsed() < floor; floor = floorOf(start)) {
            await new Promise((resolve) => setTimeout(resolve, Math.ceil(floor - elapsed())))
          }
        },
        /** Records the duration of a request that need not be hidden: others probably take as long. */
        record: () => record(elapsed()),
      }
    },
  }
}
