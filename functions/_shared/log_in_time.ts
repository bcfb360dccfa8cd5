// In milliseconds.
const [min, perRequest, max, halfLife] = [500, 200, 5000, 30_000]

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

/**
 * Starts the minimum time of a log-in, which hides from a client how much work it caused: the largest of three times,
 * and never more than `max`.
 * - `min` milliseconds.
 * - `perRequest` for each log-in that starts within `min` of this one, whatever work it causes. Auth hashes ten
 *   concurrent log-ins of one address one after the other where the account exists: 1.1 s against 0.5 s.
 * - 1.5 times the slowest recent one, because a machine under load hashes more slowly. It decays exponentially.
 */
export const startLogIn = () => {
  const start = performance.now()
  starts.push(start)
  // Older ones have all been answered.
  while (starts[0]! < start - 2 * max) starts.shift()
  const elapsed = () => performance.now() - start
  return {
    /** Resolves once the response may be sent. */
    wait: async (): Promise<void> => {
      record(elapsed())
      // The floor can rise while this one waits.
      for (let floor = floorOf(start); elapsed() < floor; floor = floorOf(start)) {
        await new Promise((resolve) => setTimeout(resolve, Math.ceil(floor - elapsed())))
      }
    },
    /** Records the duration of one that need not be hidden: others probably take as long. */
    record: (): void => record(elapsed()),
  }
}
