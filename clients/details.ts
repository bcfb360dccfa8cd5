import type { Api } from './api.ts'
import { stepsOf } from './reservations.ts'
import { createRetryLoop } from './retry_loop.ts'
import type { OwnReservation, Person, Reservation, ReservationWithHistory } from './types.ts'

/**
 * Reads who else is in a conversation, and its reservations with all their terms and steps, and tells of them.
 * `isReachable` is whether the user can reach the other.
 */
export const createDetails = (
  id: number,
  api: Api,
  me: Promise<Person>,
  isReachable: () => boolean,
  onOther: (other: Person) => void,
  onReservations: (reservations: readonly OwnReservation[]) => void,
) => {
  let reservations: readonly ReservationWithHistory[] = []
  let shown = '[]'
  /** What has ended changes only if an admin corrects it. */
  const known = ({ id, title, price, date, status }: Reservation): ReservationWithHistory | undefined =>
    reservations.find((known) =>
      known.id === id && known.status === status && known.title === title && known.price === price &&
      known.date === date && status !== 'pending' && status !== 'accepted'
    )
  const show = (me: number) => {
    const own = reservations.map((one) => ({ ...one, can: stepsOf(one, me, isReachable()) }))
    const next = JSON.stringify(own)
    if (next === shown) return
    shown = next
    onReservations(own)
  }
  const loop = createRetryLoop(async (signal) => {
    const [{ id: myId }, { Voyager, Local, Reservations }] = await Promise.all([me, api.conversation(id, signal)])
    if (signal.aborted) return
    onOther(Voyager.id === myId ? Local : Voyager)
    const read = await Promise.all(
      Reservations.map((one) => known(one) ?? api.reservation(id, one.id, signal)),
    )
    if (signal.aborted) return
    reservations = read.filter((one) => one !== null)
    show(myId)
  })
  return {
    run: loop.run,
    runNow: loop.runNow,
    /** Shows what the user can do now. */
    show,
    /** Begins with what an earlier page has shown. */
    begin(earlier: readonly OwnReservation[]) {
      reservations = earlier
      shown = JSON.stringify(earlier)
      onReservations(earlier)
    },
    close: loop.close,
  }
}
