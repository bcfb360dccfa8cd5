import type { ServiceError } from './errors.ts'
import { createRetryLoop } from './retry_loop.ts'
import { createTimer } from './timers.ts'

// A commit becomes visible to readers a moment after Realtime has sent its event: 2 to 62 ms were measured.
const times = [50, 250, 1250, 4250]

/**
 * Reads on demand what a view shows, and knows whether the view is known to lack something. `read` resolves to whether
 * all is there of which was told. It asks `awaits` whether a message that it lacks (0: none) may still appear or counts
 * as removed, and is repeated until then. `currentJoin` is the number of the channel's join, or 0 without one.
 */
export const createReader = (
  closed: AbortSignal,
  currentJoin: () => number,
  read: (awaits: (message: number) => boolean) => Promise<boolean>,
  onResult: (error: ServiceError | null) => void,
  interval = 0,
) => {
  // The join after which all was read that was missed before it, or 0.
  let coveredJoin = 0
  const caughtUp = (join: number) => void (coveredJoin = Math.max(coveredJoin, join))
  let missing = 0
  let missingSince = 0
  const timer = createTimer(() => loop.run(), closed)
  const awaits = (message: number): boolean => {
    timer.cancel()
    if (message !== missing) missingSince = Date.now()
    const elapsed = Date.now() - missingSince
    const next = message ? times.find((time) => time > elapsed) : undefined
    missing = next ? message : 0
    if (!next) return false
    timer.start(next - elapsed)
    coveredJoin = 0
    return true
  }
  const task = async () => {
    const join = currentJoin()
    if (await read(awaits)) caughtUp(join)
  }
  const loop = createRetryLoop(closed, task, onResult, interval)
  return {
    ...loop,
    isDone: () => loop.isDone() && !missing,
    isBehind: () => !coveredJoin || coveredJoin !== currentJoin(),
    fellBehind: () => void (coveredJoin = 0),
    caughtUp,
  }
}
