import { type ServiceError, toServiceError } from './errors.ts'
import { createTimer } from './timers.ts'

/** Half a second, doubled with each failure up to 30 s, with jitter so that clients do not retry in lockstep. */
export const backoff = (failures: number, atLeast = 0): number =>
  Math.max(atLeast, Math.min(30_000, 500 * 2 ** failures)) * (1 + Math.random() / 2)

/**
 * Runs a task on demand, one run at a time; a call during a run causes one more after it. Retries after a temporary
 * error, with backoff, until `closed` is aborted. `interval` is the minimum time between runs, in milliseconds.
 */
export const createRetryLoop = (
  closed: AbortSignal,
  task: () => Promise<unknown>,
  onResult: (error: ServiceError | null) => void = () => {},
  interval = 0,
) => {
  let running = false
  let requested = false
  let failures = 0
  let error: ServiceError | null = null
  let notBefore = 0
  const timer = createTimer(() => requested && start(), closed)

  const start = async (): Promise<void> => {
    timer.cancel()
    running = true
    requested = false
    try {
      await task()
      error = null
      failures = 0
    } catch (thrown) {
      error = toServiceError(thrown)
    }
    running = false
    if (closed.aborted) return
    onResult(error)
    if (error?.temporary) {
      requested = true
      notBefore = Date.now() + error.retryAfter
      timer.start(backoff(failures++, error.retryAfter))
    } else if (interval) timer.start(interval)
    else if (requested) start()
  }

  return {
    /** Whether a run that began after the last request has succeeded. */
    isDone: () => !requested && !running && !error,
    /** Requests a run. It waits for a pending backoff or the minimum interval. */
    run() {
      requested = true
      if (!running && !timer.isWaiting() && !closed.aborted) start()
    },
    /** Requests a run now because conditions may have improved, but never earlier than a Retry-After allows. */
    runNow() {
      requested = true
      if (Date.now() < notBefore) return
      failures = 0
      if (!running && !closed.aborted) start()
    },
  }
}
