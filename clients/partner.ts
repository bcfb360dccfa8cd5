import type { Surroundings } from './parts.ts'
import type { Messages } from './messages.ts'
import { stepsOf } from './reservations.ts'
import { createRetryLoop } from './retry_loop.ts'
import type { Reservation, ReservationWithHistory } from './types.ts'
import { createTyping } from './typing.ts'

/** What has ended changes only if an admin corrects it. */
const isUnchanged = (known: ReservationWithHistory, { id, title, price, date, status }: Reservation): boolean =>
  known.id === id && known.status === status && known.title === title && known.price === price &&
  known.date === date && status !== 'pending' && status !== 'accepted'

/** Reads who else is in a conversation, and its reservations with all their terms and steps. */
const createDetails = (
  { store, myId }: Messages,
  { api, me }: Surroundings,
  isReachable: () => boolean,
  onOther: () => void,
) => {
  const { id } = store.view
  const show = (reservations: readonly ReservationWithHistory[]) => {
    const own = reservations.map((one) => ({ ...one, can: stepsOf(one, myId(), isReachable()) }))
    if (JSON.stringify(own) !== JSON.stringify(store.view.reservations)) store.set({ reservations: own })
  }
  const loop = createRetryLoop(async (signal) => {
    const [{ id: myId }, { Voyager, Local, Reservations }] = await Promise.all([me, api.conversation(id, signal)])
    if (signal.aborted) return
    store.set({ other: Voyager.id === myId ? Local : Voyager })
    onOther()
    const { reservations } = store.view
    const read = await Promise.all(
      Reservations.map((one) =>
        reservations.find((known) => isUnchanged(known, one)) ?? api.reservation(id, one.id, signal)
      ),
    )
    if (!signal.aborted) show(read.filter((one) => one !== null))
  })
  /** Shows what the user can do now. */
  const update = () => show(store.view.reservations)
  return { update, run: loop.run, runNow: loop.runNow, close: loop.close }
}

/** Leaves the typing topic while either has blocked the other, as Realtime may still let them send on it. */
export const createPartner = (messages: Messages, inbox: Surroundings) => {
  const { store, myId } = messages
  const { blocks: { isBlocked }, list: { hidesAddress } } = inbox
  let closed = false
  // The other account is not active any more, while Realtime may still let it send.
  let isInactive = false

  const isReachable = (): boolean => {
    const { other, messages } = store.view
    return other !== null && isBlocked(other.id) === false && !isInactive &&
      !(hidesAddress(other.id) && messages.some(({ user_id }) => user_id === other.id))
  }
  /** The blocks, the list, the participants or the messages have been read. */
  const update = () => {
    const { other, loaded } = store.view
    if (closed || !other || !loaded) return
    store.set({ blocked: isBlocked(other.id) === true })
    if (myId()) details.update()
    if (isReachable()) typing.join()
    else typing.leave()
  }
  const setInactive = (inactive: boolean) => {
    isInactive = inactive
    update()
  }
  const details = createDetails(messages, inbox, isReachable, update)
  const typing = createTyping(
    store.view.id,
    inbox.typingConnection,
    myId,
    (typing) => store.set({ typing }),
    () => setInactive(true),
  )
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
    close() {
      closed = true
      typing.close()
      details.close()
    },
  }
}
export type Partner = ReturnType<typeof createPartner>
