/** The least time that answers take which must not tell, by the time they took, how much there was to do. */
export interface Floor {
  /** Starts the clock of one request. */
  begin: () => {
    /** Waits until the answer may go out. */
    reached: () => Promise<void>
    /** The request took so long without having to hide it: what the others take is likely to be as much. */
    learn: () => void
  }
}

const halfLife = 30_000

/**
 * `least` milliseconds, or `each` for every request that begins within `least` of this one, whatever there is to do for it: ten at once for one
 * address are hashed one after the other where there is an account, and took 1.1 s against 0.5. Where answers take longer than that just now,
 * half as much again as the slowest of them, because a machine under load hashes more slowly; what was slow is forgotten by halves. Never more
 * than `most`. A wait is a timer, so a thousand at once cost what their connections cost.
 */
export const openFloor = (least: number, each: number, most: number): Floor => {
  let slowest = 0
  let since = performance.now()
  const begun: number[] = []

  const learn = (took: number): void => {
    const now = performance.now()
    slowest = Math.max(took, slowest * 2 ** ((since - now) / halfLife))
    since = now
  }

  const floorOf = (began: number): number => {
    const beside = begun.filter((other) => Math.abs(other - began) <= least).length
    learn(0)
    return Math.min(most, Math.max(least, each * beside, 1.5 * slowest))
  }

  return {
    begin: () => {
      const began = performance.now()
      begun.push(began)
      // Whoever could still ask for it has been answered.
      while (begun[0]! < began - 2 * most) begun.shift()
      const took = () => performance.now() - began
      return {
        reached: async () => {
          learn(took())
          // Others may have begun, or turned out to be slow, while this one waited.
          for (
            let floor = floorOf(began);
            took() < floor;
            floor = floorOf(began)
          ) {
            await new Promise((resolve) => setTimeout(resolve, Math.ceil(floor - took())))
          }
        },
        learn: () => learn(took()),
      }
    },
  }
}
