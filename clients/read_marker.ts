import type { Api } from './api.ts'
import { type ServiceError, toServiceError } from './errors.ts'
import { createRetryLoop } from './retry_loop.ts'
import type { UnsentStore } from './unsent.ts'

/** What sends: `onMarked` is told after each try of a read marker. */
export interface Sending {
  closed: AbortSignal
  api: Api
  unsent: UnsentStore
  onMarked: (conversation: number, error: ServiceError | null) => void
}

/** Sends up to which message a conversation is read. It is not stored: who opens the page again reads again. */
export const createReadMarker = (conversation: number, { closed, api, onMarked }: Sending) => {
  let [marked, confirmed] = [0, 0]
  const loop = createRetryLoop(closed, async () => {
    const upTo = marked
    try {
      await api.markRead(conversation, upTo, closed)
      confirmed = Math.max(upTo, confirmed)
      onMarked(conversation, null)
    } catch (thrown) {
      const error = toServiceError(thrown)
      if (!closed.aborted) onMarked(conversation, error)
      if (error.temporary) throw error
    }
  })
  return {
    /** Up to which message the service has confirmed it as read. */
    confirmed: () => confirmed,
    /** Marks everything up to this message as read; a marker never moves back. */
    mark(upTo: number) {
      if (upTo <= marked) return
      marked = upTo
      loop.run()
    },
    runNow: () => loop.isDone() || loop.runNow(),
  }
}
