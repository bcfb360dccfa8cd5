import { answeringOf } from './api_client.ts'
import { type Handlers, openConnection, openPersistentChannel, type PersistentChannel } from './channel.ts'
import { offlineError, ServiceError } from './errors.ts'
import type { Listener } from './store.ts'
import { createTimer, onClosed } from './timers.ts'
import type { Client, Realtime, Status } from './types.ts'

// Realtime says with the join that it passes events on, unless it has just begun to serve the project.
const readyWait = 50

// An event takes milliseconds, some 0.4 s where the database commits without waiting for its log, and longer on a slow
// network.
const eventTimeout = 3000
// After a run of events: Realtime drops those beyond a plan's limit, and lost some when it had just been started. What
// was read because of an event may also be what was before its commit.
const recheckDelay = () => eventTimeout + Math.random() * 500
const quickInterval = 2000
type Interval = readonly [shortest: number, longest: number]

// Node and Deno have neither a document nor these events.
const browser: Partial<Pick<Window, 'document' | 'addEventListener'>> = globalThis
const isVisible = (): boolean => browser.document?.visibilityState !== 'hidden'

// A heartbeat has twice this time, longer than a refused join holds it up. So silence shows within nine seconds; alone
// supabase-js takes up to fifty.
const heartbeatInterval = 3000

/** Sends heartbeats while the page is visible. Without an answer supabase-js ends the connection and opens another. */
const startHeartbeat = (closed: AbortSignal, realtime: Realtime, onSilence: () => void) => {
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

/** Polls, and knows whether events arrive: polls are quicker while they do not, and rarer again in silence. */
const createPoll = (closed: AbortSignal, [shortest, longest]: Interval, poll: Listener, onChange: Listener) => {
  // While the channel is joined, until Realtime has said that it passes events on, or has, and when one is missing.
  let isQuick = false
  let quickSince = 0
  const schedule = () => {
    const usual = shortest + Math.random() * (longest - shortest)
    const quick = Math.max(quickInterval, (Date.now() - quickSince) / 5) * (1 + Math.random() / 4)
    timer.start(isQuick ? Math.min(usual, quick) : usual)
  }
  const timer = createTimer(() => {
    poll()
    schedule()
  }, closed)
  const setQuick = (quick: boolean) => {
    quickSince = Date.now()
    if (isQuick === quick) return
    isQuick = quick
    onChange()
    schedule()
  }
  const doubt = createTimer(() => setQuick(true), closed)
  schedule()
  return {
    isQuick: () => isQuick,
    confirm() {
      doubt.cancel()
      setQuick(false)
    },
    expectEvent: () => doubt.isWaiting() || doubt.start(isQuick ? 0 : eventTimeout),
    reset(joined: boolean, isAlone: boolean) {
      doubt.cancel()
      isQuick = joined
      // Where all clients wait for the same server they ask every eight seconds.
      quickSince = Date.now() - (isAlone ? 0 : 40_000)
      schedule()
    },
  }
}

/**
 * `follow` asks until there is an answer, and reads at once when somebody else has got one; `recheck` looks whether
 * anything was missed, and `rejoin` joins the other channels.
 */
type Actions = Record<'onConnectionChange' | 'follow' | 'resync' | 'recheck' | 'rejoin', () => void>

/** The channel of an inbox, and when what it may have missed is read. */
export const createInboxChannel = (
  closed: AbortSignal,
  { auth, realtime }: Client,
  { poll: interval, resyncJitter }: { poll: Interval; resyncJitter: number },
  actions: Actions,
) => {
  const service = answeringOf(auth)
  const onSilence = () => service.set({ answers: false })
  onClosed(closed, service.subscribe(actions.follow))
  const resync = createTimer(actions.resync, closed)
  const recheck = createTimer(actions.recheck, closed)
  let channel: PersistentChannel | null = null
  let typing: Realtime | undefined
  let joins = 0
  let join = 0
  let reason: string | null = null
  // How long after the next join the resync may begin, as all clients may have been cut off together; null: at once,
  // the first time and after the page became visible.
  let within: number | null = null

  const retry = () => {
    channel?.rejoin()
    actions.rejoin()
    resync.now()
  }
  // After a poll, a service that was down may be back for all.
  const poll = createPoll(closed, interval, () => isVisible() && retry(), actions.onConnectionChange)
  const onJoinChange = (joined: boolean, error: string | null) => {
    // Where each join fails, the next one comes before a poll.
    if (joined || join) poll.reset(joined, within === null)
    join = joined ? ++joins : 0
    reason = error
    actions.onConnectionChange()
    for (const timer of [recheck, resync]) timer.cancel()
    if (joined) {
      // Events from before this join were missed.
      resync.start(within === null ? readyWait : Math.random() * within)
      within = 0
    } else if (within !== null) {
      // The server closed this channel, and the connection stayed.
      const isAlone = reason === 'CLOSED' && realtime.isConnected()
      within = Math.max(within, Math.min(resyncJitter, isAlone ? 1000 : Infinity))
    }
  }
  const onReady = () => {
    // What was read before this does not count.
    join = ++joins
    actions.onConnectionChange()
    poll.confirm()
    if (resync.isWaiting()) return
    recheck.start(recheckDelay())
    resync.now()
  }
  const onBack = () => {
    if (!join) within = null
    retry()
  }
  browser.document?.addEventListener('visibilitychange', () => isVisible() && onBack(), { signal: closed })
  browser.addEventListener?.('online', onBack, { signal: closed })
  browser.addEventListener?.('offline', onSilence, { signal: closed })
  startHeartbeat(closed, realtime, onSilence)

  return {
    /** The number of the current join, or 0 while it is not joined. */
    join: () => join,
    /** The status of a view, whether it is known to lack something and the error of its last request. */
    statusOf(isBehind: boolean, error: ServiceError | null): Status {
      if (!join || !service.view.answers || error?.temporary) return 'offline'
      return isBehind ? 'catching up' : poll.isQuick() ? 'delayed' : 'live'
    },
    error(): ServiceError | null {
      if (!service.view.answers || reason !== null && !realtime.isConnected()) return offlineError(reason)
      return reason === null ? null : new ServiceError(reason)
    },
    isOpen: () => channel !== null,
    open(user: number, handlers: Handlers) {
      channel = openPersistentChannel(realtime, `user:${user}`, handlers, onJoinChange, { onReady })
      onClosed(closed, channel.close)
    },
    /** The connection for typing: a join that is refused there delays no message. */
    typingConnection: () => typing ??= openConnection(realtime),
    arrived() {
      poll.confirm()
      recheck.start(recheckDelay())
    },
    expectEvent: () => join && poll.expectEvent(),
  }
}
export type InboxChannel = ReturnType<typeof createInboxChannel>
