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

/**
 * Sends read markers, one position for each conversation, also those of an earlier page, or of another one that may be
 * closed before they are answered. Calls `onResult` after each try.
 */
export const createReadMarkers = (
  api: Api,
  unsent: UnsentStore,
  onResult: (conversation: number, error: ServiceError | null) => void,
) => {
  const requested = new Map<number, number>()
  const confirmed = new Map<number, number>()
  const markers = () => Object.entries(unsent.current().readMarkers)
  const send = async (conversation: number, upTo: number, signal: AbortSignal) => {
    try {
      await api.markRead(conversation, upTo, signal)
      confirmed.set(conversation, Math.max(upTo, confirmed.get(conversation) ?? 0))
      onResult(conversation, null)
    } catch (thrown) {
      const error = toServiceError(thrown)
      if (!signal.aborted) onResult(conversation, error)
      if (error.temporary) throw error
    }
    unsent.change(withoutMarker(conversation, upTo))
  }
  const loop = createRetryLoop(async (signal) => {
    // One that fails again and again must not keep the others.
    const sent = await Promise.allSettled(markers().map(([id, upTo]) => send(Number(id), upTo, signal)))
    const failed = sent.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined
    if (failed) throw failed.reason
  })
  unsent.subscribe(() => markers().length > 0 && loop.run())
  return {
    /** Up to which message the service has confirmed this conversation as read. */
    confirmed: (conversation: number) => confirmed.get(conversation) ?? 0,
    /** Marks everything up to this message as read; a marker never moves back. */
    mark(conversation: number, upTo: number) {
      if (upTo <= (requested.get(conversation) ?? 0)) return
      requested.set(conversation, upTo)
      unsent.change(withMarker(conversation, upTo))
    },
    runNow: () => markers().length > 0 && loop.runNow(),
    close: loop.close,
  }
}
export type ReadMarkers = ReturnType<typeof createReadMarkers>
