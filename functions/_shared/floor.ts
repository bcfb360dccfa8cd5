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

const halfLife = 20_000

/**
 * `least` milliseconds, and twice or four times as much, up to `most`, where answers have lately taken nearly as long or longer: a machine under load
 * hashes more slowly, and the floor has to stay above that. In few and wide steps, so that the time says little of who is slow just now. A wait is a
 * timer, so a thousand at once cost what their connections cost.
 */
export const openFloor = (least: number, most: number): Floor => {
  let slowest = 0
  let since = performance.now()

  const learn = (took: number): number => {
    const now = performance.now()
    slowest = Math.max(took, slowest * 2 ** ((since - now) / halfLife))
    since = now
    let floor = least
    while (floor < 1.25 * slowest && floor < most) floor *= 2
    return floor
  }

  return {
    begin: () => {
      const began = performance.now()
      const took = () => performance.now() - began
      return {
        reached: async () => {
          const floor = learn(took())
          await new Promise((resolve) => setTimeout(resolve, floor - took()))
        },
        learn: () => void learn(took()),
      }
    },
  }
}
