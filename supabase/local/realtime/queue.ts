import { describeError } from '../../../functions/_shared/errors.ts'
import { log } from '../../../functions/_shared/log.ts'

export interface Queue {
  /** Adds the id of a committed row. */
  add: (id: string) => void
}

/**
 * Delivers rows in the order of their notifications, a batch at a time. If a batch fails, everything queued is dropped
 * and `onLoss` is called. `label` is the queue's name in the log.
 */
export const openQueue = (
  label: string,
  batchSize: number,
  deliver: (ids: string[]) => Promise<void>,
  onLoss: () => void,
): Queue => {
  let pending: string[] = []
  let isRunning = false

  const run = async (): Promise<void> => {
    if (isRunning) return
    isRunning = true
    try {
      while (pending.length > 0) await deliver(pending.splice(0, batchSize))
    } catch (error) {
      log('error', `${label} could not be read`, describeError(error))
      pending = []
      onLoss()
    } finally {
      isRunning = false
    }
  }
  return {
    add: (id) => {
      pending.push(id)
      void run()
    },
  }
}

/** Throws if rows are missing: they were deleted before delivery, or their commit took longer than rows are kept. */
export const expectAll = (ids: string[], found: number): void => {
  if (found < ids.length) throw new Error(`${ids.length - found} of ${ids.length} rows are gone`)
}
