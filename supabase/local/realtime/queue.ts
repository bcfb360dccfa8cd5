import { log } from '../../../functions/_shared/log.ts'
import { describeError } from '../../../functions/_shared/errors.ts'

export interface Queue {
  /** Word of something that has been committed, under this id. */
  add: (id: string) => void
}

/**
 * Delivers what the database tells of, in the order that it tells of it, some at a time. What cannot be delivered is `lost`, and so is what
 * waits behind it: `what` is its name in the log.
 */
export const openQueue = (
  what: string,
  batch: number,
  deliver: (ids: string[]) => Promise<void>,
  lost: () => void,
): Queue => {
  let waiting: string[] = []
  let atWork = false

  const work = async (): Promise<void> => {
    if (atWork) return
    atWork = true
    try {
      while (waiting.length > 0) await deliver(waiting.splice(0, batch))
    } catch (error) {
      log('error', `${what} could not be read`, describeError(error))
      waiting = []
      lost()
    } finally {
      atWork = false
    }
  }
  return {
    add: (id) => {
      waiting.push(id)
      void work()
    },
  }
}

/** What was told of is to be found: somebody removed it before it was delivered, or it took longer to commit than such things are kept. */
export const expectAll = (ids: string[], found: number): void => {
  if (found < ids.length) throw new Error(`${ids.length - found} of ${ids.length} are gone`)
}
