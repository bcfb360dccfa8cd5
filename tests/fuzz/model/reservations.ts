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
/** A command about a reservation, counted from the latest. */
const about = (
  name: string,
  which: number,
  index: number,
  run: (fixture: m.Fixture, talk: m.Talk, reservation: m.Reservation, path: string) => unknown,
): m.Command =>
  m.inTalk(`${name} ${index} of ${which}`, which, (fixture, talk) => {
    const reservation = m.nth(talk.reservations, index)
    return reservation && run(fixture, talk, reservation, `/conversations/${talk.id}/reservations/${reservation.id}`)
  })

/** A reservation of this many days from one of four slots on; 0 days: without an end. */
export const offer = (who: number, which: number, slot: number, days: number, asHost: boolean): m.Command =>
  m.inTalk(`${who} offers slot ${slot} for ${days} days in ${which}, host ${asHost}`, which, async (fixture, talk) => {
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
  })

export const counter = (who: number, which: number, index: number, title: string): m.Command =>
  about(`${who} counters with ${title}`, which, index, async (fixture, talk, reservation, path) => {
    const caller = m.userIn(talk, who)
    const isChange = reservation.title !== title
    const answer = await m.ask(fixture, caller, ['PATCH', path, { title }], [
      !m.takesPart(talk, caller) && 404,
      partnerRefuses(fixture, talk, caller) && 403,
      reservation.status !== 'pending' && 409,
      isChange && !m.mayWriteFirst(talk, caller) && 403,
    ])
    if (!answer || !isChange) return
    Object.assign(reservation, { title, offeredBy: caller, revision: reservation.revision + 1 })
    reservation.history.push(['pending', caller])
    m.logForBoth(fixture.model, 'reservation', talk, reservation.id)
  })

const results: Record<string, string> = {
  ...{ accept: 'accepted', decline: 'declined', cancel: 'cancelled', complete: 'completed' },
}
const take = async (
  fixture: m.Fixture,
  talk: m.Talk,
  reservation: m.Reservation,
  path: string,
  caller: number,
  name: string,
) => {
  const isStale = name === 'accept an older offer'
  const next = results[isStale ? 'accept' : name]!
  const revision = reservation.revision - Number(isStale)
  const isRepeat = reservation.status === next
  const isPossible = name === 'cancel'
    ? ['pending', 'accepted'].includes(reservation.status)
    : name !== 'complete' && reservation.status === 'pending' && reservation.offeredBy !== caller &&
      !(name === 'accept' && isTaken(fixture.model, reservation))
  const refusals = [
    !m.takesPart(talk, caller) && 404,
    name !== 'cancel' && partnerRefuses(fixture, talk, caller) && 403,
    (isStale || !isRepeat && !isPossible) && 409,
  ]
  const step = isStale ? 'accept' : name
  const answer = await m.ask(fixture, caller, ['POST', `${path}/${step}`, { revision: revision || 99 }], refusals)
  if (!answer) return
  expect(answer.body.status).toBe(next)
  if (isRepeat) return
  move(reservation, next, caller)
  m.logForBoth(fixture.model, 'reservation', talk, reservation.id)
}
export const step = (who: number, which: number, index: number, name: string): m.Command =>
  about(
    `${who} tries to ${name}`,
    which,
    index,
    (fixture, talk, reservation, path) => take(fixture, talk, reservation, path, m.userIn(talk, who), name),
  )
/** Whoever has to answer an offer does. */
export const answer = (which: number, index: number, name: 'accept' | 'decline'): m.Command =>
  about(
    `whoever has to answer will ${name}`,
    which,
    index,
    (fixture, talk, reservation, path) =>
      take(fixture, talk, reservation, path, m.partnerIn(talk, reservation.offeredBy), name),
  )

/** Its time passes: an admin writes one that has, because tests cannot move the clock of a running stack. */
export const end = (which: number, index: number): m.Command =>
  about('the time passes of', which, index, async (fixture, _, reservation) => {
    // Different times, so that two of a host do not overlap.
    const date = Date.parse('2001-01-01') + reservation.id * day
    const endsAt = reservation.endsAt && date + day / 2
    await m.askAdmin(fixture, ['PATCH', `reservations?id=eq.${reservation.id}`, {
      date: new Date(date).toISOString(),
      ends_at: endsAt && new Date(endsAt).toISOString(),
    }])
    if (reservation.date !== date) {
      reservation.history.push([reservation.status, null])
      reservation.revision++
    }
    Object.assign(reservation, { date, endsAt, isPast: true })
    if (reservation.status === 'pending') move(reservation, 'cancelled', null)
    if (reservation.status === 'accepted') move(reservation, 'completed', null)
  })
