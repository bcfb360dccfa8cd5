import { openPersistentChannel, type PersistentChannel } from './channel.ts'
import { watchDelivery } from './delivery.ts'
import { scheduleResync, startHeartbeat } from './resync.ts'
import type { Realtime } from './types.ts'

// For a channel that the server closed while the connection stayed.
const closedJitter = 1000

// Realtime says with the join that it passes events on, unless it has just begun to serve the project.
const readyWait = 100

// After a run of events: Realtime drops those beyond a plan's limit, and lost some when it had just been started. What
// was read because of an event may also be what was before its commit.
const recheckDelay = () => 2000 + Math.random() * 2000

/** Calls `resync` after a join: at a random time, as all clients may have been cut off together, if no user waits. */
const createResyncTimer = (resyncJitter: number, resync: () => void) => {
  // How long after the next join the resync may begin, in milliseconds.
  let within = 0
  // Whether it begins at once: the first one, and after the page became visible.
  let isUrgent = true
  let canWait = false
  let timer: ReturnType<typeof setTimeout> | undefined
  const cancel = () => {
    clearTimeout(timer)
    timer = undefined
  }
  const now = () => {
    cancel()
    resync()
  }
  return {
    isUrgent: () => isUrgent,
    urge: () => void (isUrgent = true),
    isWaiting: () => timer !== undefined,
    now,
    /** Realtime passes events on. */
    ready: () => timer !== undefined && canWait || now(),
    joined() {
      cancel()
      timer = setTimeout(now, isUrgent ? readyWait : Math.random() * within)
      canWait = !isUrgent
      isUrgent = false
      within = 0
    },
    left(isAlone: boolean) {
      cancel()
      within = Math.max(within, isAlone ? Math.min(closedJitter, resyncJitter) : resyncJitter)
    },
    cancel,
  }
}

/** `recheck` looks whether anything was missed, and `rejoin` joins the other channels. */
type Actions = Record<'onJoinChange' | 'onDeliveryChange' | 'onSilence' | 'resync' | 'recheck' | 'rejoin', () => void>

/** The channel of an inbox, and when what it may have missed is read. */
export const createInboxChannel = (
  realtime: Realtime,
  { poll: [shortest, longest], resyncJitter }: { poll: readonly [number, number]; resyncJitter: number },
  actions: Actions,
) => {
  const resync = createResyncTimer(resyncJitter, actions.resync)
  const delivery = watchDelivery(() => {
    actions.onDeliveryChange()
    schedule.restart()
  })
  let channel: PersistentChannel | null = null
  let joins = 0
  let join = 0
  let error: string | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  const recheckSoon = () => {
    clearTimeout(timer)
    timer = setTimeout(actions.recheck, recheckDelay())
  }

  const onJoinChange = (joined: boolean, reason: string | null) => {
    join = joined ? ++joins : 0
    error = reason
    delivery.reset(resync.isUrgent())
    actions.onJoinChange()
    clearTimeout(timer)
    schedule.restart()
    // Events from before this join were missed.
    if (joined) resync.joined()
    else resync.left(reason === 'CLOSED' && realtime.isConnected())
  }
  const onReady = () => {
    // What was read before this does not count.
    join = ++joins
    delivery.ready()
    actions.onJoinChange()
    if (!resync.isWaiting()) recheckSoon()
    resync.ready()
  }
  const schedule = scheduleResync(
    (isAlone) => {
      if (isAlone && !join) resync.urge()
      channel?.rejoin()
      actions.rejoin()
      resync.now()
    },
    actions.onSilence,
    () => {
      const usual = shortest + Math.random() * (longest - shortest)
      return join && !delivery.isLive() ? Math.min(usual, delivery.interval()) : usual
    },
  )
  const stopHeartbeat = startHeartbeat(realtime, actions.onSilence)

  return {
    delivery,
    /** The number of the current join, or 0 while it is not joined. */
    join: () => join,
    /** Why it is not joined. */
    error: () => error,
    isOpen: () => channel !== null,
    open(user: number, handlers: Record<string, (payload: unknown) => void>) {
      channel = openPersistentChannel(realtime, `user:${user}`, handlers, onJoinChange, { onReady })
    },
    /** An event has arrived; of a message.created, with its conversation and message. */
    arrived(conversation?: number, message?: number) {
      delivery.arrived(conversation, message)
      recheckSoon()
    },
    close() {
      schedule.stop()
      stopHeartbeat()
      delivery.close()
      resync.cancel()
      clearTimeout(timer)
      channel?.close()
      join = 0
    },
  }
}
export type InboxChannel = ReturnType<typeof createInboxChannel>
