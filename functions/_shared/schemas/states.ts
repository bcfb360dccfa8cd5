import { z } from 'zod'
import { id, limit, timestamp } from '../validate.ts'
import { isoMoment, moment } from './reservations.ts'

const until = '2027-05-14T16:00:00.000Z'

const fields = {
  archived: z.boolean().describe('Until a newer message comes'),
  muted_until: timestamp.nullable().describe('No notifications until then; unread messages are counted as before'),
  pinned: z.boolean(),
}

export const state = z.strictObject({ conversation_id: z.int(), ...fields }).meta({
  id: 'ConversationState',
  examples: [{ conversation_id: 1, archived: false, muted_until: until, pinned: true }],
})

/** In the export, within its conversation. */
export const exportedState = z.strictObject(fields)

export const newState = z.strictObject({
  archived: z.boolean().optional().describe('Out of the inbox until a newer message comes'),
  muted_until: moment(isoMoment).nullish().describe('In the future; null: not muted'),
  pinned: z.boolean().optional().describe('At most 20 conversations can be pinned'),
}).meta({ examples: [{ muted_until: until, pinned: true }] })

export const statePage = z.object({
  limit: limit(100).optional().describe('How many; by default all, and more than 100 are taken as 100'),
  before_id: id.optional().describe('Only conversations with a smaller id, for the next page'),
})
