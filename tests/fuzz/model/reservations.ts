import { expect } from 'vitest'
import * as m from './model.ts'

const day = 24 * 60 * 60 * 1000
const firstSlot = Date.parse('2036-06-01T12:00:00Z')

export const move = (reservation: m.Reservation, status: string, by: number | null): void => {
  reservation.status = status
  reservation.history.push([status, by])
}
const partnerRefuses = ({ model }: m.Fixture, talk: m.Talk, caller: number): boolean => {
  const partner = m.partnerIn(talk, caller)
  return m.isBlocked(model, caller, partner) || !model.users[partner]!.active
}
/** The host has accepted another one that overlaps it. */
const isTaken = ({ talks }: m.Model, { id, host, date, endsAt }: m.Reservation): boolean =>
  endsAt !== null &&
  talks.flatMap(({ reservations }) => reservations).some((other) =>
    other.id !== id && other.host === host && other.status === 'accepted' && other.endsAt !== null &&
    other.date < endsAt && date < other.endsAt
  )

/** A reservation of this many days from one of four slots on; 0 days: without an end. */
export const offer = async (
  fixture: m.Fixture,
  talk: m.Talk,
  who: number,
  slot: number,
  days: number,
  asHost: boolean,
) => {
  const { model, users } = fixture
  const caller = m.userIn(talk, who)
  const date = firstSlot + slot * day
  const endsAt = days > 0 ? date + days * day : null
  const body = {
    ...{ title: 'A', price: 10, date: new Date(date).toISOString() },
    ...(endsAt && { ends_at: new Date(endsAt).toISOString() }),
    ...(asHost && { host_id: users[caller]!.id }),
  }
  const answer = await m.ask(fixture, caller, ['POST', `/conversations/${talk.id}/reservations`, body], [
    !m.takesPart(talk, caller) && 404,
    (partnerRefuses(fixture, talk, caller) || !m.mayWriteFirst(talk, caller)) && 403,
  ], 201)
  if (!answer) return
  const host = asHost ? caller : talk.local
  const { id } = answer.body
  expect(answer.body).toMatchObject({ status: 'pending', offered_by: users[caller]!.id, host_id: users[host]!.id })
  talk.reservations.push({
    ...{ id, title: 'A', status: 'pending', offeredBy: caller, revision: 1, host, date, endsAt, isPast: false },
    history: [['pending', caller]],
  })
  m.logForBoth(model, 'reservation', talk, id)
}

/** None is older than the first, so there it is one that has never been. */
const revisionFor = ({ revision }: m.Reservation, isStale: boolean): number => (revision - Number(isStale)) || 99
const pathOf = (talk: m.Talk, { id }: m.Reservation): string => `/conversations/${talk.id}/reservations/${id}`

/** With `isStale` of an older revision than the present one. */
export const counter = async (
  fixture: m.Fixture,
  talk: m.Talk,
  who: number,
  index: number,
  title: string,
  isStale: boolean,
) => {
  const reservation = m.nth(talk.reservations, index)
  if (!reservation) return
  const caller = m.userIn(talk, who)
  const isChange = reservation.title !== title
  const answer = await m.ask(fixture, caller, ['PATCH', pathOf(talk, reservation), {
    title,
    revision: revisionFor(reservation, isStale),
  }], [
    !m.takesPart(talk, caller) && 404,
    partnerRefuses(fixture, talk, caller) && 403,
    (isStale || reservation.status !== 'pending') && 409,
    isChange && !m.mayWriteFirst(talk, caller) && 403,
  ])
  if (!answer || !isChange) return
  Object.assign(reservation, { title, offeredBy: caller, revision: reservation.revision + 1 })
  reservation.history.push(['pending', caller])
  m.logForBoth(fixture.model, 'reservation', talk, reservation.id)
}

const results = { accept: 'accepted', decline: 'declined', cancel: 'cancelled', complete: 'completed' }
export type Step = keyof typeof results
/** With `isStale` by an older revision than the present one. */
export const step = async (
  fixture: m.Fixture,
  talk: m.Talk,
  who: number,
  index: number,
  name: Step,
  isStale: boolean,
) => {
  const reservation = m.nth(talk.reservations, index)
  if (!reservation) return
  const caller = m.userIn(talk, who)
  const next = results[name]
  const takesRevision = name === 'accept' || name === 'decline'
  const isRepeat = reservation.status === next
  const isPossible = name === 'cancel'
    ? ['pending', 'accepted'].includes(reservation.status)
    : name !== 'complete' && reservation.status === 'pending' && reservation.offeredBy !== caller &&
      !(name === 'accept' && isTaken(fixture.model, reservation))
  const answer = await m.ask(
    fixture,
    caller,
    [
      'POST',
      `${pathOf(talk, reservation)}/${name}`,
      takesRevision ? { revision: revisionFor(reservation, isStale) } : {},
    ],
    [
      !m.takesPart(talk, caller) && 404,
      name !== 'cancel' && partnerRefuses(fixture, talk, caller) && 403,
      (takesRevision && isStale || !isRepeat && !isPossible) && 409,
    ],
  )
  if (!answer) return
  expect(answer.body.status).toBe(next)
  if (isRepeat) return
  move(reservation, next, caller)
  m.logForBoth(fixture.model, 'reservation', talk, reservation.id)
}
/** Whoever has to answer an offer does. */
export const answer = async (fixture: m.Fixture, talk: m.Talk, index: number, name: Step) => {
  const reservation = m.nth(talk.reservations, index)
  if (reservation) await step(fixture, talk, m.partnerIn(talk, reservation.offeredBy), index, name, false)
}

/** Its time passes: an admin writes one that has, because tests cannot move the clock of a running stack. */
export const end = async (fixture: m.Fixture, talk: m.Talk, index: number) => {
  const reservation = m.nth(talk.reservations, index)
  if (!reservation) return
  // Different times, so that two of a host do not overlap.
  const date = Date.parse('2001-01-01') + reservation.id * day
  const endsAt = reservation.endsAt && date + day / 2
  const times = { date: new Date(date).toISOString(), ends_at: endsAt && new Date(endsAt).toISOString() }
  await m.askAdmin(fixture, ['PATCH', `reservations?id=eq.${reservation.id}`, times])
  if (reservation.date !== date) {
    reservation.history.push([reservation.status, null])
    reservation.revision++
  }
  Object.assign(reservation, { date, endsAt, isPast: true })
  if (reservation.status === 'pending') move(reservation, 'cancelled', null)
  if (reservation.status === 'accepted') move(reservation, 'completed', null)
}
