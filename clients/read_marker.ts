import type { Api } from './api.ts'
import { type ServiceError, toServiceError } from './errors.ts'
import { createRetryLoop } from './retry_loop.ts'
import type { Unsent, UnsentStore } from './unsent.ts'

const withMarker = (conversation: number, upTo: number) => (unsent: Unsent): Unsent => ({
  ...unsent,
  readMarkers: { ...unsent.readMarkers, [conversation]: Math.max(upTo, unsent.readMarkers[conversation] ?? 0) },
})
const withoutMarker = (conversation: number, upTo: number) => (unsent: Unsent): Unsent => {
  const { [conversation]: stored = 0, ...others } = unsent.readMarkers
  return stored > upTo ? unsent : { ...unsent, readMarkers: others }
}

/** What sends: `onMarked` is told after each try of a read marker. */
export interface Sending {
  closed: AbortSignal
  api: Api
  unsent: UnsentStore
  onMarked: (conversation: number, error: ServiceError | null) => void
}

/** Sends up to which message a conversation is read, also for an earlier page. */
export const createReadMarker = (conversation: number, { closed, api, unsent, onMarked }: Sending) => {
  let [sent, confirmed] = [0, 0]
  const marked = () => unsent.current().readMarkers[conversation] ?? 0
  const loop = createRetryLoop(closed, async () => {
    const upTo = marked()
    if (!upTo) return
    sent = Math.max(upTo, sent)
    try {
      await api.markRead(conversation, upTo)
      confirmed = Math.max(upTo, confirmed)
      onMarked(conversation, null)
    } catch (thrown) {
      const error = toServiceError(thrown)
      if (!closed.aborted) onMarked(conversation, error)
      if (error.temporary) throw error
    }
    unsent.change(withoutMarker(conversation, upTo))
  })
  return {
    /** Up to which message the service has confirmed it as read. */
    confirmed: () => confirmed,
    /** Marks everything up to this message as read; a marker never moves back. */
    mark: (upTo: number) => upTo > Math.max(sent, marked()) && unsent.change(withMarker(conversation, upTo)),
    sync: () => marked() && loop.run(),
    runNow: () => marked() && loop.runNow(),
  }
}
