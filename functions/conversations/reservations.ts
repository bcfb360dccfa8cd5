import { Hono } from 'hono'
import ical, { ICalEventStatus } from 'ical-generator'
import { asUser } from '../_shared/auth.ts'
import { sendJson } from '../_shared/app.ts'
import { httpError } from '../_shared/errors.ts'
import { route } from '../_shared/openapi.ts'
import { conversationParam, forbidden, idempotencyHeader, notFound } from '../_shared/schemas/conversations.ts'
import * as shape from '../_shared/schemas/reservations.ts'
import { project, settings } from '../_shared/settings.ts'
import { writeOnce } from '../_shared/write_once.ts'

const cannotReserve =
  `${forbidden}, or the other account was deactivated or erased, or has not answered the first messages and offers`
const refusals = ['forbidden', 'blocked', 'first_contact_limit', 'conflict'] as const
const answered = [...refusals, 'stale_revision'] as const
const reservationNotFound = 'No such reservation, or the caller is not a participant'

// A file of it is an address of its own.
const reservationPath = '/:id/reservations/:rid{(?!.*\\.ics$)[^/]+}'

export const reservations = new Hono()

reservations.post(
  '/:id/reservations',
  route('offerReservation', 'Offer a reservation; with an Idempotency-Key, exactly once', {
    201: [shape.reservation, 'Idempotency-Replayed'],
    403: cannotReserve,
    404: notFound,
    422: 'The Idempotency-Key was used with another payload',
  }, ['forbidden', 'blocked', 'first_contact_limit']),
  asUser({ params: conversationParam, headers: idempotencyHeader, json: shape.newReservation }),
  (c) =>
    writeOnce(c, c.var, 'RATE_LIMIT_RESERVE', (db, draft) =>
      db`offer_reservation(
        conversation => ${c.var.params.id}, draft => ${draft}, first_contact_limit => ${settings.FIRST_CONTACT_LIMIT}
      )`),
)

reservations.get(
  '/:id/reservations/:rid{[^/]+\\.ics}',
  route('getReservationFile', 'What is agreed, as a file for a calendar', {
    200: shape.calendarFile,
    404: reservationNotFound,
    409: 'It is not agreed',
  }),
  asUser({ params: shape.reservationFileParams }),
  async (c) => {
    const { id, rid } = c.var.params
    const read = JSON.parse((await c.var.db`get_reservation(${id}, ${rid})`).body)
    if (!['accepted', 'completed'].includes(read.status)) httpError('conflict', 'This reservation is not agreed')
    const calendar = ical({ prodId: '//Voyagers and locals//EN' })
    calendar.createEvent({
      // Later files replace this one in a calendar.
      id: `reservation-${rid}@${new URL(project.url).host}`,
      sequence: read.revision,
      stamp: read.updatedAt,
      start: read.date,
      end: read.ends_at,
      summary: read.title,
      status: ICalEventStatus.CONFIRMED,
    })
    const name = `attachment; filename="reservation-${rid}.ics"`
    const headers = { 'Content-Type': 'text/calendar; charset=utf-8', 'Content-Disposition': name }
    // RFC 5545: each line ends with CRLF, the last one as well.
    return c.body(`${calendar}\r\n`, 200, headers)
  },
)

reservations.get(
  reservationPath,
  route('getReservation', 'A reservation with its history', {
    200: shape.reservationWithHistory,
    404: reservationNotFound,
  }),
  asUser({ params: shape.reservationParams }),
  async (c) => sendJson(c, await c.var.db`get_reservation(${c.var.params.id}, ${c.var.params.rid})`),
)

reservations.patch(
  reservationPath,
  route('counterReservation', 'Make a counter-offer, which the other participant answers', {
    200: shape.reservation,
    403: cannotReserve,
    404: reservationNotFound,
    409: shape.conflict,
  }, answered),
  asUser({ params: shape.reservationParams, json: shape.counterOffer }, 'RATE_LIMIT_RESERVE'),
  async (c) => {
    const { params: { id, rid }, json: { revision, ...changes } } = c.var
    const call = c.var.db`counter_reservation(
      conversation => ${id}, reservation => ${rid}, revision => ${revision}, changes => ${changes},
      first_contact_limit => ${settings.FIRST_CONTACT_LIMIT}
    )`
    return sendJson(c, await call)
  },
)

const { offerAnswer, stepNote } = shape
const steps = [
  ['accept', 'Accept an offer of the other participant, as it was read', offerAnswer, [...answered, 'overlap']],
  ['decline', 'Decline an offer of the other participant, as it was read', offerAnswer, answered],
  ['cancel', 'Cancel a reservation that is pending or accepted', stepNote, ['first_contact_limit', 'conflict']],
  ['complete', 'Complete an accepted reservation that has ended', stepNote, refusals],
] as const

for (const [step, summary, json, codes] of steps) {
  reservations.post(
    `/:id/reservations/:rid/${step}`,
    route(`${step}Reservation`, summary, {
      200: shape.reservation,
      403: step === 'cancel'
        ? 'The account is deactivated, or has reached the limit of first contact with its note'
        : cannotReserve,
      404: reservationNotFound,
      409: shape.conflict,
    }, codes),
    asUser({ params: shape.reservationParams, json }, 'RATE_LIMIT_RESERVE'),
    async (c) => {
      const { params: { id, rid }, json: { note = null, revision = null } = {} } = c.var
      const call = c.var.db`step_reservation(
        conversation => ${id}, reservation => ${rid}, step => ${step}, note => ${note}, revision => ${revision},
        first_contact_limit => ${settings.FIRST_CONTACT_LIMIT})`
      return sendJson(c, await call)
    },
  )
}
