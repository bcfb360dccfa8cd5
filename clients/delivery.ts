import { onClosed } from './closing.ts'

// An event takes milliseconds, some 0.4 s where the database commits without waiting for its log, and longer on a slow
// network.
const eventTimeout = 3000
// Realtime usually says within half a second of a join that it passes events on.
const joiningInterval = 700
const missingInterval = 2000
const quickFor = 10_000

/** Whether events arrive, as far as this client can know: a channel stays joined during an outage of them. */
export const watchDelivery = (closed: AbortSignal, onChange: () => void) => {
  let state: 'joining' | 'live' | 'missing' = 'joining'
  let since = 0
  const newest = new Map<number, number>()
  const expected = new Map<number, number>()
  const timers = new Set<ReturnType<typeof setTimeout>>()

  const isLive = () => state === 'live'
  const clearTimers = () => {
    for (const timer of timers) clearTimeout(timer)
    timers.clear()
    expected.clear()
  }
  onClosed(closed, clearTimers)
  /** This message was read or told of: its event is not awaited. */
  const seen = (conversation: number, message: number) =>
    newest.set(conversation, Math.max(message, newest.get(conversation) ?? 0))
  /** Whether this message has been told of or seen, or a later one of its conversation. */
  const knows = (conversation: number, message: number) => message <= (newest.get(conversation) ?? 0)
  /** This message exists, so its event must come. */
  const expect = (conversation: number, message: number) => {
    if (knows(conversation, message) || message <= (expected.get(conversation) ?? 0)) return
    expected.set(conversation, message)
    since = Date.now()
    const timer = setTimeout(() => {
      timers.delete(timer)
      if (isLive() && !knows(conversation, message)) set('missing')
    }, eventTimeout)
    timers.add(timer)
  }
  const set = (next: typeof state) => {
    const isChanged = next !== state
    state = next
    if (isChanged) onChange()
  }

  return {
    /** Realtime has said that it passes events on, or has done it, and none is known to be missing since. */
    isLive,
    /** The channel was joined or lost. `isAlone`: not together with the channels of all other clients. */
    reset(isAlone: boolean) {
      clearTimers()
      state = 'joining'
      // Where all clients wait for the same server they ask every seven seconds.
      since = Date.now() - (isAlone ? 0 : 40_000)
    },
    /** Realtime passes on what the database sends from now on, as it has said, or has shown by an event. */
    ready: () => set('live'),
    seen,
    knows,
    expect,
    /** The time until the next poll: less than usual while events do not arrive. It grows until one finds something. */
    interval(usual: number) {
      if (isLive()) return usual
      const shortest = state === 'missing' ? missingInterval : joiningInterval
      return Math.min(usual, Math.max(shortest, (Date.now() - since - quickFor) / 4) * (1 + Math.random() / 4))
    },
  }
}
