import { z } from 'zod'
import { id, limit, timestamp } from '../validate.ts'
import { isoMoment, moment } from './reservations.ts'

const fields = {
  archived: z.boolean().describe('Until a newer message comes'),
  muted_until: timestamp.nullable().describe('No notifications until then; unread messages are counted as before'),
  pinned: z.boolean(),
}

export const state = z.strictObject({ conversation_id: z.int(), ...fields }).meta({ id: 'ConversationState' })

/** In the export, within its conversation. */
export const exportedState = z.strictObject(fields)

export const newState = z.strictObject({
  archived: z.boolean().optional().describe('Out of the inbox until a newer message comes'),
  muted_until: moment(isoMoment).nullish().describe('In the future; null: not muted'),
  pinned: z.boolean().optional().describe('At most 20 conversations can be pinned'),
})

export const statePage = z.object({
  limit: limit(100).optional().describe('How many; by default all, and more than 100 are taken as 100'),
  before_id: id.optional().describe('Only conversations with a smaller id, for the next page'),
})
