import { openPersistentChannel, type PersistentChannel } from './channel.ts'
import type { InboxParts } from './inbox.ts'
import { createRetryLoop } from './retry_loop.ts'
import type { Store } from './store.ts'
import { createTimer, onClosed } from './timers.ts'
import type { EventPayload, Reservation, ReservationDetail, ReservationStep, ReservationWithHistory } from './types.ts'
import type { ConversationView } from './views.ts'

/**
 * What a participant can do about a reservation now; `change` is a counter offer. The service decides
 * (api.step_reservation), and tests/rules/reservations.rules.ts compares. Whoever cannot reach the other, across a
 * block or after an erasure, can only leave.
 */
export const stepsOf = (
  { status, offered_by }: Pick<ReservationDetail, 'status' | 'offered_by'>,
  me: number,
  isReachable: boolean,
): ReservationStep[] => {
  if (status === 'accepted') return ['cancel']
  if (status !== 'pending') return []
  if (!isReachable) return ['cancel']
  return offered_by === me ? ['change', 'cancel'] : ['accept', 'decline', 'change', 'cancel']
}

/** What has ended changes only if an admin corrects it. */
const isUnchanged = (known: ReservationWithHistory, listed: Reservation): boolean =>
  !['pending', 'accepted'].includes(listed.status) &&
  Object.entries(listed).every(([name, value]) => known[name as keyof Reservation] === value)

// The indicator lasts a little longer than the interval between two typing events.
const typingInterval = 3000
const typingDuration = 5000

/** Tells each participant that the other is typing, while the topic of the conversation is joined. */
const createTyping = (store: Store<ConversationView>, inbox: InboxParts, onInactive: () => void) => {
  const { closed, myId, channel: { typingConnection } } = inbox
  let typedAt = 0
  let sentAt = 0
  let channel: PersistentChannel | null = null
  const timer = createTimer(() => store.set({ typing: false }), closed)
  /** Once an interval, and at once after a join if the user typed while it was under way. */
  const send = () => {
    const now = Date.now()
    if (!myId() || now - typedAt >= typingInterval || now - sentAt < typingInterval) return
    if (channel?.send('typing', { user_id: myId() })) sentAt = now
  }
  const handlers = {
    typing(payload: Pick<EventPayload, 'user_id'> | null) {
      if (payload?.user_id === myId()) return
      timer.start(typingDuration)
      store.set({ typing: true })
    },
    closed: onInactive,
  }
  onClosed(closed, () => channel?.close())
  return {
    stop: timer.now,
    join() {
      const topic = `typing:${store.view.id}`
      const onChange = (joined: boolean) => joined && send()
      channel ??= openPersistentChannel(typingConnection(), topic, handlers, onChange, { pauseAfterRefusal: true })
    },
    leave() {
      if (!channel) return
      channel.close()
      channel = null
      timer.now()
    },
    typed() {
      typedAt = Date.now()
      send()
    },
    /** The text was sent, so the next keystroke begins another. */
    reset: () => void (typedAt = sentAt = 0),
    retryRefused: () => channel?.retryRefused(),
    rejoin: () => channel?.rejoin(),
  }
}

/**
 * Reads who else is in a conversation, and its reservations with all their terms and steps. Leaves the typing topic
 * while either has blocked the other, as Realtime may still let them send on it.
 */
export const createPartner = (store: Store<ConversationView>, inbox: InboxParts) => {
  const { closed, api, me, myId, list: { isBlocked, hidesAddress } } = inbox
  const { id } = store.view
  // The other account is not active any more, while Realtime may still let it send.
  let isInactive = false

  const isReachable = (): boolean => {
    const { other, messages } = store.view
    return other !== null && isBlocked(other.id) === false && !isInactive &&
      !(hidesAddress(other.id) && messages.some(({ user_id }) => user_id === other.id))
  }
  const show = (reservations: readonly ReservationWithHistory[]) => {
    const own = reservations.map((one) => ({ ...one, can: stepsOf(one, myId(), isReachable()) }))
    if (JSON.stringify(own) !== JSON.stringify(store.view.reservations)) store.set({ reservations: own })
  }
  /** The list, the participants or the messages have been read. */
  const update = () => {
    const { other, loaded, reservations } = store.view
    if (closed.aborted || !other || !loaded) return
    store.set({ blocked: isBlocked(other.id) === true })
    if (myId()) show(reservations)
    if (isReachable()) typing.join()
    else typing.leave()
  }
  const setInactive = (inactive: boolean) => {
    isInactive = inactive
    update()
  }
  const details = createRetryLoop(closed, async () => {
    const [{ id: myId }, { Voyager, Local, Reservations }] = await Promise.all([me, api.conversation(id)])
    if (closed.aborted) return
    store.set({ other: Voyager.id === myId ? Local : Voyager })
    update()
    const known = store.view.reservations
    const read = Reservations.map((one) =>
      known.find((before) => isUnchanged(before, one)) ?? api.reservation(id, one.id)
    )
    show((await Promise.all(read)).filter((one) => one !== null))
  })
  const typing = createTyping(store, inbox, () => setInactive(true))
  details.run()

  return {
    details,
    typing,
    update,
    wrote(sender: number | null) {
      if (sender !== myId()) {
        typing.stop()
        setInactive(false)
      }
      // Whoever can write is not blocked any more.
      typing.retryRefused()
    },
  }
}
export type Partner = ReturnType<typeof createPartner>
