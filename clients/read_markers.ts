import type { Api } from './api.ts'
import { ServiceError } from './errors.ts'
import { createRetryLoop, type RetryLoop } from './retry_loop.ts'
import type { Unsent, UnsentStore } from './unsent.ts'

interface Marker {
  requested: number
  /** The latest marker with a final answer, including a refusal. */
  answered: number
  confirmed: number
  loop: RetryLoop
  listeners: Set<(error: ServiceError | null) => void>
}

const withMarker = (conversation: number, upTo: number) => (unsent: Unsent): Unsent => ({
  ...unsent,
  readMarkers: { ...unsent.readMarkers, [conversation]: Math.max(upTo, unsent.readMarkers[conversation] ?? 0) },
})
const withoutMarker = (conversation: number, upTo: number) => (unsent: Unsent): Unsent => {
  const { [conversation]: stored = 0, ...others } = unsent.readMarkers
  return stored > upTo ? unsent : { ...unsent, readMarkers: others }
}

/**
 * Sends read markers, one position per conversation. Like the outbox, they continue after a conversation is closed, and
 * when the user's inbox is opened again after the page was closed. Calls `onConfirmed` after each that was accepted.
 */
export const createReadMarkers = (api: Api, unsent: UnsentStore, onConfirmed: () => void) => {
  const markers = new Map<number, Marker>()

  const markerOf = (conversation: number): Marker => {
    const existing = markers.get(conversation)
    if (existing) return existing
    const finish = (upTo: number) => {
      marker.answered = upTo
      unsent.change(withoutMarker(conversation, upTo))
    }
    const loop = createRetryLoop(async (signal) => {
      // One request for the newest position covers all before it. A later position takes one more run.
      const upTo = marker.requested
      if (upTo <= marker.answered) return
      try {
        await api.markRead(conversation, upTo, signal)
        marker.confirmed = upTo
      } catch (error) {
        if (error instanceof ServiceError && !error.temporary) finish(upTo)
        throw error
      }
      finish(upTo)
      onConfirmed()
    }, (error) => {
      for (const listener of marker.listeners) listener(error)
    })
    const marker: Marker = { requested: 0, answered: 0, confirmed: 0, loop, listeners: new Set() }
    markers.set(conversation, marker)
    return marker
  }

  // Markers of an earlier page, or of another one that may be closed before they are answered.
  unsent.subscribe(() => {
    for (const [conversation, upTo] of Object.entries(unsent.current.readMarkers)) {
      const marker = markerOf(Number(conversation))
      if (upTo <= marker.requested) continue
      marker.requested = upTo
      marker.loop.run()
    }
  })

  return {
    /** Up to which message the service has confirmed this as read, counting markers sent from here. */
    confirmed: (conversation: number) => markers.get(conversation)?.confirmed ?? 0,
    /** Marks everything up to this message as read; a marker never moves back. */
    markRead(conversation: number, upTo: number) {
      if (upTo > markerOf(conversation).requested) unsent.change(withMarker(conversation, upTo))
    },
    /** Calls the listener with the result of each request for this conversation. */
    subscribe(conversation: number, listener: (error: ServiceError | null) => void) {
      const { listeners } = markerOf(conversation)
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    /** Retries pending markers now. */
    retryNow() {
      for (const { requested, answered, loop } of markers.values()) if (requested > answered) loop.runNow()
    },
    close() {
      for (const { loop, listeners } of markers.values()) {
        listeners.clear()
        loop.close()
      }
    },
  }
}
export type ReadMarkers = ReturnType<typeof createReadMarkers>
