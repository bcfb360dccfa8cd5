// A commit becomes visible to readers a moment after Realtime has sent its event: 2 to 62 ms were measured.
const times = [50, 250, 1250, 4250]

/** Repeats a read that lacks a message of which was told, until the message counts as removed. */
export const createRepeats = (read: () => void) => {
  let missing = 0
  let since = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  return {
    /** Whether the message that the last read lacks may still appear; 0: it lacks none. */
    awaits(message: number): boolean {
      clearTimeout(timer)
      if (message !== missing) since = Date.now()
      missing = message
      const elapsed = Date.now() - since
      const next = message ? times.find((time) => time > elapsed) : undefined
      if (next !== undefined) timer = setTimeout(read, next - elapsed)
      return next !== undefined
    },
    stop: () => clearTimeout(timer),
  }
}
