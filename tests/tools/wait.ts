export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Waits until something holds, and gives up quietly: what is expected is said by the test. */
export const eventually = async (holds: () => boolean, seconds = 10): Promise<void> => {
  const end = Date.now() + seconds * 1000
  while (!holds() && Date.now() < end) await pause(10)
}

/** Long enough for what must not come to have come, and for what came before to reach nobody who joins after. */
export const aWhile = (): Promise<void> => pause(300)
