import type { Realtime } from './types.ts'

// Node and Deno have neither a document nor these events.
const browser: Partial<Pick<Window, 'document' | 'addEventListener'>> = globalThis
const isVisible = (): boolean => browser.document?.visibilityState !== 'hidden'

/**
 * Calls `resync` when the page becomes visible, when the network returns, and each time after `interval` milliseconds.
 * A hidden page is not polled. `isAlone` is whether the cause concerns this client alone, so that nobody else reads
 * because of it: not after an interval, when a service that was down may be back for all. Calls `onOffline` when the
 * browser says that the network is lost.
 */
export const scheduleResync = (resync: (isAlone: boolean) => void, onOffline: () => void, interval: () => number) => {
  const closed = new AbortController()
  const { signal } = closed
  let timer: ReturnType<typeof setTimeout>
  const poll = () => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      if (isVisible()) resync(false)
      poll()
    }, interval())
  }
  poll()
  browser.document?.addEventListener('visibilitychange', () => isVisible() && resync(true), { signal })
  browser.addEventListener?.('online', () => resync(true), { signal })
  browser.addEventListener?.('offline', onOffline, { signal })
  return {
    restart: poll,
    stop() {
      clearTimeout(timer)
      closed.abort()
    },
  }
}

// A heartbeat has twice this time, longer than a refused join holds it up. So silence shows within nine seconds; alone
// supabase-js takes up to fifty.
const heartbeatInterval = 3000

/** Sends heartbeats while the page is visible. Without an answer supabase-js ends the connection and opens another. */
export const startHeartbeat = (realtime: Realtime, onSilence: () => void) => {
  let unanswered = 0
  const timer = setInterval(() => {
    if (!isVisible() || !realtime.isConnected()) return
    unanswered = realtime.pendingHeartbeatRef === null ? 0 : unanswered + 1
    if (unanswered === 1) return
    if (unanswered) onSilence()
    // One that is sent while the last has no answer ends the connection.
    realtime.sendHeartbeat()
  }, heartbeatInterval)
  return () => clearInterval(timer)
}
