import { answeringOf } from './api_client.ts'
import { type Handlers, openConnection, openPersistentChannel, type PersistentChannel } from './channel.ts'
import { watchDelivery } from './delivery.ts'
import { offlineError, ServiceError } from './errors.ts'
import { scheduleResync, startHeartbeat } from './resync.ts'
import type { Client, Realtime, Status } from './types.ts'

// For a channel that the server closed while the connection stayed.
const closedJitter = 1000

// Realtime says with the join that it passes events on, unless it has just begun to serve the project.
const readyWait = 50

// After a run of events: Realtime drops those beyond a plan's limit, and lost some when it had just been started. What
// was read because of an event may also be what was before its commit.
const recheckDelay = () => 2000 + Math.random() * 2000

const createTimer = (act: () => void) => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const cancel = () => {
    clearTimeout(timer)
    timer = undefined
  }
  const now = () => {
    cancel()
    act()
  }
  const start = (milliseconds: number) => {
    cancel()
    timer = setTimeout(now, milliseconds)
  }
  return { start, now, cancel, isWaiting: () => timer !== undefined }
}

/**
 * `follow` asks until there is an answer, and reads at once when somebody else has got one; `recheck` looks whether
 * anything was missed, and `rejoin` joins the other channels.
 */
type Actions = Record<'onJoinChange' | 'onConnectionChange' | 'follow' | 'resync' | 'recheck' | 'rejoin', () => void>

/** The channel of an inbox, and when what it may have missed is read. */
export const createInboxChannel = (
  { auth, realtime }: Client,
  { poll: [shortest, longest], resyncJitter }: { poll: readonly [number, number]; resyncJitter: number },
  actions: Actions,
) => {
  const service = answeringOf(auth)
  const onSilence = () => service.set({ answers: false })
  const unsubscribe = service.subscribe(() => {
    actions.onConnectionChange()
    actions.follow()
  })
  const resync = createTimer(actions.resync)
  const recheck = createTimer(actions.recheck)
  const delivery = watchDelivery(() => {
    actions.onConnectionChange()
    schedule.restart()
  })
  let channel: PersistentChannel | null = null
  let typing: Realtime | undefined
  let joins = 0
  let join = 0
  let reason: string | null = null
  // How long after the next join the resync may begin, as all clients may have been cut off together; null: at once,
  // the first time and after the page became visible.
  let within: number | null = null

  const usualInterval = () => shortest + Math.random() * (longest - shortest)
  const onJoinChange = (joined: boolean, error: string | null) => {
    join = joined ? ++joins : 0
    reason = error
    delivery.reset(within === null)
    actions.onJoinChange()
    for (const timer of [recheck, resync]) timer.cancel()
    schedule.restart()
    if (joined) {
      // Events from before this join were missed.
      resync.start(within === null ? readyWait : Math.random() * within)
      within = 0
    } else if (within !== null) {
      const isAlone = reason === 'CLOSED' && realtime.isConnected()
      within = Math.max(within, isAlone ? Math.min(closedJitter, resyncJitter) : resyncJitter)
    }
  }
  const onReady = () => {
    // What was read before this does not count.
    join = ++joins
    delivery.ready()
    actions.onJoinChange()
    if (resync.isWaiting()) return
    recheck.start(recheckDelay())
    resync.now()
  }
  const schedule = scheduleResync(
    (isAlone) => {
      if (isAlone && !join) within = null
      channel?.rejoin()
      actions.rejoin()
      resync.now()
    },
    onSilence,
    () => join ? delivery.interval(usualInterval()) : usualInterval(),
  )
  const stopHeartbeat = startHeartbeat(realtime, onSilence)

  return {
    delivery,
    /** The number of the current join, or 0 while it is not joined. */
    join: () => join,
    /** The status of a view, whether it is known to lack something and the error of its last request. */
    statusOf(isBehind: boolean, error: ServiceError | null): Status {
      if (!join || !service.view.answers || error?.temporary) return 'offline'
      return isBehind ? 'catching up' : delivery.isLive() ? 'live' : 'delayed'
    },
    /** Why it is not joined. */
    error(): ServiceError | null {
      if (!service.view.answers || reason !== null && !realtime.isConnected()) return offlineError(reason)
      return reason === null ? null : new ServiceError(reason)
    },
    isOpen: () => channel !== null,
    open(user: number, handlers: Handlers) {
      channel = openPersistentChannel(realtime, `user:${user}`, handlers, onJoinChange, { onReady })
    },
    /** The connection for typing: a join that is refused there delays no message. */
    typingConnection: () => typing ??= openConnection(realtime),
    /** An event has arrived. */
    arrived() {
      delivery.ready()
      recheck.start(recheckDelay())
    },
    close() {
      unsubscribe()
      schedule.stop()
      stopHeartbeat()
      for (const timer of [recheck, resync]) timer.cancel()
      delivery.close()
      channel?.close()
      join = 0
    },
  }
}
export type InboxChannel = ReturnType<typeof createInboxChannel>
