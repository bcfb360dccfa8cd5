import { z } from 'zod'
import { id, jsonId, limit, line, text, timestamp } from '../validate.ts'
import { clientId, person, status } from './conversations.ts'

const fields = {
  id: z.int(),
  conversation_id: z.int(),
  title: z.string(),
  price: z.number(),
  date: timestamp,
  ends_at: timestamp.nullable(),
  status,
  host_id: z.int().describe('Who receives the other'),
  offered_by: z.int().nullable().describe('Who made the current offer; null for an admin'),
  revision: z.int().describe('Of the terms: one more with every change of title, price, date or ends_at'),
  createdAt: timestamp,
  updatedAt: timestamp,
}

export const reservation = z.strictObject(fields).meta({ id: 'ReservationDetail' })

const step = z.strictObject({
  status,
  by: z.int().nullable().describe('A user id; null for an admin or the clock'),
  note: z.string().nullable(),
  title: z.string(),
  price: z.number(),
  date: timestamp,
  ends_at: timestamp.nullable(),
  createdAt: timestamp,
}).meta({ id: 'ReservationStep' })

export const reservationWithHistory = z.strictObject({
  ...fields,
  history: z.array(step).describe('Every step, oldest first'),
}).meta({ id: 'ReservationWithHistory' })

export const myReservation = z.strictObject({ ...fields, partner: person }).meta({ id: 'MyReservation' })

export const conflict = z.strictObject({ error: z.string(), status }).meta({ id: 'ReservationConflict' })

const title = line(1, 120)
// Without multipleOf: validators divide by 0.01 and refuse 0.07.
const price = z.number().min(0, 'must be 0 to 100,000').max(100_000, 'must be 0 to 100,000')
  .refine((value) => Math.round(value * 100) / 100 === value, 'must have at most two decimals')
  .meta({ jsonSchema: { type: 'number', minimum: 0, maximum: 100_000 } })

const dateTime = { type: 'string', format: 'date-time' }
/** As the answers print it. Postgres has no year 0, and four digits are all that the answers have. */
export const moment = (schema: z.ZodType<string>) =>
  schema.transform((value) => new Date(value).toISOString())
    .refine((value) => /^(?!0000)\d{4}-/.test(value), 'must be in the years 1 to 9999')
    .meta({ jsonSchema: dateTime })
export const isoMoment = z.iso.datetime({ offset: true, error: 'must be an ISO 8601 timestamp with its offset' })

const date = moment(isoMoment).meta({ jsonSchema: { ...dateTime, description: 'In the future' } })
const endsAt = moment(isoMoment).nullish().describe('After date, by 366 days at most; without it others may overlap')

export const newReservation = z.strictObject({
  title: title.describe('What is offered'),
  price: price.describe('0 to 100,000, with two decimals at most'),
  date,
  ends_at: endsAt,
  host_id: jsonId.nullish().describe('One of the two participants; by default the local'),
  client_id: clientId.nullish().describe('As the header Idempotency-Key'),
})

const revision = z.int32('must be an integer').min(1, 'must be 1 or more').describe('Of the offer that was read')

export const counterOffer = z.strictObject({
  revision,
  title: title.optional().describe('What is offered'),
  price: price.optional().describe('0 to 100,000, with two decimals at most'),
  date: date.optional(),
  ends_at: endsAt,
})

const note = text(0, 500).nullish().describe('For the history')

/** What a step takes: a note, and to answer an offer its revision. */
type StepBody = z.ZodType<{ note?: string | null; revision?: number } | undefined>

// The revision is not needed, since whoever is in a reservation can always leave it.
export const stepNote: StepBody = z.strictObject({ note, revision: revision.optional() }).optional()

export const offerAnswer: StepBody = z.strictObject({ revision, note })

export const reservationParams = z.object({
  id: id.describe("The conversation's id"),
  rid: id.describe("The reservation's id"),
})

export const reservationFileParams = reservationParams.extend({
  rid: z.string().transform((name) => name.replace('.ics', '')).pipe(id).describe("The reservation's id")
    .meta({ ...id.meta() }),
})

export const calendarFile = z.string().meta({ mediaType: 'text/calendar', description: 'iCalendar (RFC 5545)' })

const queryMoment = moment(z.union([isoMoment, z.iso.date()], { error: 'must be a date or an ISO 8601 timestamp' }))

export const reservationPage = z.object({
  status: status.optional().describe('Only reservations with this status'),
  from: queryMoment.optional().describe('Only reservations whose date is this or later'),
  to: queryMoment.optional().describe('Only reservations whose date is earlier'),
  limit: limit(100).default(50),
  before_id: id.optional().describe('Only reservations older than this one, for the next page'),
})
