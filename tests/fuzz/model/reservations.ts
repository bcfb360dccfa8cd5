import { expect } from 'vitest'
import type { Answer, Person } from '../../tools/people.ts'
import {
  accountError,
  asAdmin,
  type Command,
  command,
  expectStatus,
  isBlocked,
  logForBoth,
  mayWriteFirst,
  type Model,
  type ModelConversation,
  type ModelReservation,
  partnerIn,
  takesPart,
  talkAt,
  userIn,
} from './model.ts'

const day = 24 * 60 * 60 * 1000
const firstSlot = Date.parse('2036-06-01T12:00:00Z')

export const move = (reservation: ModelReservation, status: string, by: number | null): void => {
  reservation.status = status
  reservation.history.push([status, by])
}
/** Counted from the latest. */
const reservationAt = (talk: ModelConversation | undefined, which: number): ModelReservation | undefined =>
  talk?.reservations.at(-1 - which % Math.max(talk.reservations.length, 1))
const partnerRefuses = (model: Model, talk: ModelConversation, caller: number): boolean => {
  const partner = partnerIn(talk, caller)
  return isBlocked(model, caller, partner) || !model.users[partner]!.active
}
/** The host has accepted another one that overlaps it. */
const isTaken = ({ conversations }: Model, { id, host, date, endsAt }: ModelReservation): boolean =>
  endsAt !== null &&
  conversations.flatMap(({ reservations }) => reservations).some((other) =>
    other.id !== id && other.host === host && other.status === 'accepted' && other.endsAt !== null &&
    other.date < endsAt && date < other.endsAt
  )

/** A reservation of this many days from one of four slots on; 0 days: without an end. */
export const offer = (who: number, which: number, slot: number, days: number, asHost: boolean): Command =>
  command(`${who} offers slot ${slot} for ${days} days in ${which}, host ${asHost}`, async (model, { users }) => {
    const talk = talkAt(model, which)
    if (!talk) return
    const caller = userIn(talk, who)
    const date = firstSlot + slot * day
    const endsAt = days > 0 ? date + days * day : null
    const answer = await users[caller]!.call('POST', `/conversations/${talk.id}/reservations`, {
      ...{ title: 'A', price: 10, date: new Date(date).toISOString() },
      ...(endsAt && { ends_at: new Date(endsAt).toISOString() }),
      ...(asHost && { host_id: users[caller]!.id }),
    })
    const error = accountError(model, caller)
    if (error) return expectStatus(answer, error)
    if (!takesPart(talk, caller)) return expectStatus(answer, 404)
    if (partnerRefuses(model, talk, caller) || !mayWriteFirst(talk, caller)) return expectStatus(answer, 403)
    expectStatus(answer, 201)
    const host = asHost ? caller : talk.local
    expect(answer.body).toMatchObject({ status: 'pending', offered_by: users[caller]!.id, host_id: users[host]!.id })
    talk.reservations.push({
      ...{ id: answer.body.id, title: 'A', status: 'pending', offeredBy: caller, revision: 1 },
      ...{ host, date, endsAt, isPast: false },
      history: [['pending', caller]],
    })
    logForBoth(model, 'reservation', talk, answer.body.id)
  })

export const counter = (who: number, which: number, index: number, title: string): Command =>
  command(`${who} counters ${index} of ${which} with ${title}`, async (model, { users }) => {
    const talk = talkAt(model, which)
    const reservation = reservationAt(talk, index)
    if (!talk || !reservation) return
    const caller = userIn(talk, who)
    const path = `/conversations/${talk.id}/reservations/${reservation.id}`
    const answer = await users[caller]!.call('PATCH', path, { title })
    const error = accountError(model, caller)
    if (error) return expectStatus(answer, error)
    if (!takesPart(talk, caller)) return expectStatus(answer, 404)
    if (partnerRefuses(model, talk, caller)) return expectStatus(answer, 403)
    if (reservation.status !== 'pending') return expectConflict(answer, reservation)
    const isChange = reservation.title !== title
    if (isChange && !mayWriteFirst(talk, caller)) return expectStatus(answer, 403)
    expectStatus(answer, 200)
    if (!isChange) return
    Object.assign(reservation, { title, offeredBy: caller, revision: reservation.revision + 1 })
    reservation.history.push(['pending', caller])
    logForBoth(model, 'reservation', talk, reservation.id)
  })

const expectConflict = (answer: Answer, { status }: ModelReservation): void => {
  expectStatus(answer, 409)
  expect(answer.body.status).toBe(status)
}
const results: Record<string, string> = {
  accept: 'accepted',
  decline: 'declined',
  cancel: 'cancelled',
  complete: 'completed',
}

export const step = (who: number, which: number, index: number, name: string): Command =>
  command(`${who} tries to ${name} ${index} of ${which}`, async (model, { users }) => {
    const talk = talkAt(model, which)
    const reservation = reservationAt(talk, index)
    if (!talk || !reservation) return
    const caller = userIn(talk, who)
    const isStale = name === 'accept an older offer'
    const path = `/conversations/${talk.id}/reservations/${reservation.id}/${isStale ? 'accept' : name}`
    const revision = reservation.revision - Number(isStale)
    const answer = await users[caller]!.call('POST', path, { revision: revision || 99 })
    const error = accountError(model, caller)
    if (error) return expectStatus(answer, error)
    if (!takesPart(talk, caller)) return expectStatus(answer, 404)
    if (name !== 'cancel' && partnerRefuses(model, talk, caller)) return expectStatus(answer, 403)
    if (isStale) return expectConflict(answer, reservation)
    const next = results[name]!
    const isRepeat = reservation.status === next
    const isPossible = name === 'cancel'
      ? ['pending', 'accepted'].includes(reservation.status)
      : name !== 'complete' && reservation.status === 'pending' && reservation.offeredBy !== caller &&
        !(name === 'accept' && isTaken(model, reservation))
    if (!isRepeat && !isPossible) return expectConflict(answer, reservation)
    expectStatus(answer, 200)
    expect(answer.body.status).toBe(next)
    if (isRepeat) return
    move(reservation, next, caller)
    logForBoth(model, 'reservation', talk, reservation.id)
  })

/** Whoever has to answer an offer does. */
export const answer = (which: number, index: number, name: 'accept' | 'decline'): Command =>
  command(`whoever has to answer will ${name} ${index} of ${which}`, async (model, real) => {
    const talk = talkAt(model, which)
    const reservation = reservationAt(talk, index)
    if (talk && reservation) await step(partnerIn(talk, reservation.offeredBy), which, index, name).run(model, real)
  })

/** Its time passes: an admin writes one that has, because tests cannot move the clock of a running stack. */
export const end = (which: number, index: number): Command =>
  command(`the time of ${index} of ${which} passes`, async (model, real) => {
    const reservation = reservationAt(talkAt(model, which), index)
    if (!reservation) return
    // Different times, so that two of a host do not overlap.
    const date = Date.parse('2001-01-01') + reservation.id * day
    const endsAt = reservation.endsAt && date + day / 2
    const answer = await asAdmin(real, 'PATCH', `reservations?id=eq.${reservation.id}`, {
      date: new Date(date).toISOString(),
      ends_at: endsAt && new Date(endsAt).toISOString(),
    })
    expectStatus(answer, 200)
    if (reservation.date !== date) {
      reservation.history.push([reservation.status, null])
      reservation.revision++
    }
    Object.assign(reservation, { date, endsAt, isPast: true })
    if (reservation.status === 'pending') move(reservation, 'cancelled', null)
    if (reservation.status === 'accepted') move(reservation, 'completed', null)
  })

export const compareReservations = async (
  caller: number,
  mine: ModelConversation[],
  users: Person[],
): Promise<void> => {
  const me = users[caller]!
  const expected = mine.flatMap((talk) => talk.reservations.map((reservation) => ({ talk, reservation })))
    .toSorted((one, other) => other.reservation.id - one.reservation.id)
  const { body } = await me.call('GET', '/users/me/reservations?limit=100')
  expect(
    body.map((
      one: Answer['body'],
    ) => [one.id, one.conversation_id, one.title, one.status, one.offered_by, one.revision]),
  )
    .toEqual(expected.map(({ talk, reservation: { id, title, status, offeredBy, revision } }) => [
      ...[id, talk.id, title, status, users[offeredBy]!.id, revision],
    ]))
  for (const { talk, reservation } of expected.slice(0, 3)) {
    const detail = await me.call('GET', `/conversations/${talk.id}/reservations/${reservation.id}`)
    const history = detail.body.history.map((entry: Answer['body']) => [entry.status, entry.by])
    expect(history).toEqual(reservation.history.map(([status, by]) => [status, by === null ? null : users[by]!.id]))
  }
}
