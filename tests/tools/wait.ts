export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Waits until the condition holds or the time is up. The test asserts the result. */
export const eventually = async (holds: () => boolean, seconds = 10): Promise<void> => {
  const end = Date.now() + seconds * 1000
  while (!holds() && Date.now() < end) await pause(10)
}

/** Waits until the condition holds; fails if it does not within a time that no busy machine needs. */
export const until = async (holds: () => boolean | Promise<boolean>, seconds = 50): Promise<void> => {
  const end = Date.now() + seconds * 1000
  while (!await holds()) {
    if (Date.now() > end) throw new Error(`It does not hold after ${seconds} s: ${holds}`)
    await pause(10)
  }
}

/** Long enough for an unwanted event to arrive, and for earlier events to be over. */
export const aWhile = (): Promise<void> => pause(300)
