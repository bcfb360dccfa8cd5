import { isVisible } from './resync.ts'
import type { Realtime } from './types.ts'

// A heartbeat has twice this time, longer than a refused join holds it up. So silence shows within nine seconds; alone
// supabase-js takes up to fifty.
const interval = 3000

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
  }, interval)
  return () => clearInterval(timer)
}
