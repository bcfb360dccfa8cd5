import type { Surroundings } from './conversation.ts'
import type { Messages } from './messages.ts'
import { stepsOf } from './reservations.ts'
import { createRetryLoop } from './retry_loop.ts'
import type { Reservation, ReservationWithHistory } from './types.ts'

/** What has ended changes only if an admin corrects it. */
const isUnchanged = (known: ReservationWithHistory, { id, title, price, date, status }: Reservation): boolean =>
  known.id === id && known.status === status && known.title === title && known.price === price &&
  known.date === date && status !== 'pending' && status !== 'accepted'

/**
 * Reads who else is in a conversation, and its reservations with all their terms and steps. `isReachable` is whether
 * the user can reach the other.
 */
export const createDetails = (
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
