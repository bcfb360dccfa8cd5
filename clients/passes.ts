import { backoff, type Problem, problemFrom } from './problem.ts'

/** Work that is repeated on demand: one pass at a time, and whoever asks during one gets another after it. */
export interface Passes {
  /** Asks for a pass; one that waits out a failure or its pause comes when it comes. */
  run(): void
  /** Asks for a pass now, because things may have changed for the better; not before the time that the service has named. */
  hurry(): void
  close(): void
}

/**
 * A pass that fails for a reason that may go away is tried again, later and later. `pause` is the least time between two passes, in
 * milliseconds. `ended` hears how each pass went.
 */
export const openPasses = (
  pass: (signal: AbortSignal) => Promise<void>,
  ended: (problem: Problem | null) => void = () => {},
  pause = 0,
): Passes => {
  const life = new AbortController()
  let running = false
  let wanted = false
  let failures = 0
  let notBefore = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  const later = (milliseconds: number) => {
    timer = setTimeout(() => {
      timer = undefined
      if (wanted) start()
    }, milliseconds)
  }

  const start = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    running = true
    wanted = false
    let problem: Problem | null = null
    try {
      await pass(life.signal)
      failures = 0
    } catch (error) {
      problem = problemFrom(error)
    } finally {
      running = false
    }
    if (life.signal.aborted) return
    ended(problem)
    if (problem?.temporary) {
      wanted = true
      notBefore = Date.now() + problem.retryAfter
      later(backoff(failures++, problem.retryAfter))
    } else if (pause) later(pause)
    else if (wanted) start()
  }

  return {
    run() {
      wanted = true
      if (!running && timer === undefined && !life.signal.aborted) start()
    },
    hurry() {
      wanted = true
      if (Date.now() < notBefore) return
      failures = 0
      if (!running && !life.signal.aborted) start()
    },
    close() {
      life.abort()
      clearTimeout(timer)
    },
  }
}
