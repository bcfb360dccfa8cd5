import { onClosed } from './timers.ts'
import type { Realtime } from './types.ts'

// Node and Deno have neither a document nor these events.
const browser: Partial<Pick<Window, 'document' | 'addEventListener'>> = globalThis
export const isVisible = (): boolean => browser.document?.visibilityState !== 'hidden'

/**
 * Calls `onBack` when the page becomes visible and when the network returns, `onOffline` when the browser says that it
 * is lost.
 */
export const watchPage = (signal: AbortSignal, onBack: () => void, onOffline: () => void) => {
  browser.document?.addEventListener('visibilitychange', () => isVisible() && onBack(), { signal })
  browser.addEventListener?.('online', onBack, { signal })
  browser.addEventListener?.('offline', onOffline, { signal })
}

// A heartbeat has twice this time, longer than a refused join holds it up. So silence shows within nine seconds; alone
// supabase-js takes up to fifty.
const heartbeatInterval = 3000

/** Sends heartbeats while the page is visible. Without an answer supabase-js ends the connection and opens another. */
export const startHeartbeat = (closed: AbortSignal, realtime: Realtime, onSilence: () => void) => {
  let unanswered = 0
  const timer = setInterval(() => {
    if (!isVisible() || !realtime.isConnected()) return
    unanswered = realtime.pendingHeartbeatRef === null ? 0 : unanswered + 1
    if (unanswered === 1) return
    if (unanswered) onSilence()
    // One that is sent while the last has no answer ends the connection.
    realtime.sendHeartbeat()
  }, heartbeatInterval)
  onClosed(closed, () => clearInterval(timer))
}
