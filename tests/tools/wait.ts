export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Waits until the condition holds; fails if it does not within a time that no busy machine needs. */
export const until = async (holds: () => boolean | Promise<boolean>, seconds = 50): Promise<void> => {
  const end = Date.now() + seconds * 1000
  while (!await holds()) {
    if (Date.now() > end) throw new Error(`It does not hold after ${seconds} s: ${holds}`)
    await pause(10)
  }
}
