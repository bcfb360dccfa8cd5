import type { Api } from './api.ts'
import { ServiceError } from './errors.ts'
import { perConversation } from './per_conversation.ts'
import { createRetryLoop } from './retry_loop.ts'
import { createStore } from './store.ts'
import type { Unsent, UnsentStore } from './unsent.ts'

const withMarker = (conversation: number, upTo: number) => (unsent: Unsent): Unsent => ({
  ...unsent,
  readMarkers: { ...unsent.readMarkers, [conversation]: Math.max(upTo, unsent.readMarkers[conversation] ?? 0) },
})
const withoutMarker = (conversation: number, upTo: number) => (unsent: Unsent): Unsent => {
  const { [conversation]: stored = 0, ...others } = unsent.readMarkers
  return stored > upTo ? unsent : { ...unsent, readMarkers: others }
}

const createReadMarker = (conversation: number, api: Api, unsent: UnsentStore, onConfirmed: () => void) => {
  const store = createStore({ confirmed: 0, error: null as ServiceError | null })
  let requested = 0
  // The latest one with a final answer, including a refusal.
  let answered = 0
  const finish = (upTo: number) => {
    answered = upTo
    unsent.change(withoutMarker(conversation, upTo))
  }
  const loop = createRetryLoop(async (signal) => {
    // One request for the newest position covers all before it. A later position takes one more run.
    const upTo = requested
    if (upTo <= answered) return
    try {
      await api.markRead(conversation, upTo, signal)
    } catch (error) {
      if (error instanceof ServiceError && !error.temporary) finish(upTo)
      throw error
    }
    store.set({ confirmed: upTo, error: null })
    finish(upTo)
    onConfirmed()
  }, (error) => error && store.set({ error }))

  return {
    /** Up to which message the service has confirmed this as read, and why it has not confirmed the last marker. */
    view: () => store.view,
    subscribe: store.subscribe,
    /** Marks everything up to this message as read; a marker never moves back. */
    markRead: (upTo: number) => void (upTo > requested && unsent.change(withMarker(conversation, upTo))),
    /** Sends what `unsent` has. */
    send(upTo: number) {
      if (upTo <= requested) return
      requested = upTo
      loop.run()
    },
    retryNow: () => requested > answered && loop.runNow(),
    close() {
      store.close()
      loop.close()
    },
  }
}
export type ReadMarker = ReturnType<typeof createReadMarker>

/** Sends read markers, one position per conversation. Calls `onConfirmed` after each that was accepted. */
export const createReadMarkers = (api: Api, unsent: UnsentStore, onConfirmed: () => void) => {
  const markers = perConversation((conversation) => createReadMarker(conversation, api, unsent, onConfirmed))
  // Also those of an earlier page, or of another one that may be closed before they are answered.
  unsent.subscribe(() => {
    for (const [conversation, upTo] of Object.entries(unsent.current().readMarkers)) {
      markers.of(Number(conversation)).send(upTo)
    }
  })
  return markers
}
export type ReadMarkers = ReturnType<typeof createReadMarkers>
