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

export const changePage = z.object({
  after: z.string()
    .regex(/^[A-Za-z0-9_-]{1,4000}$/, 'must be a cursor of this list')
    .optional()
    .describe('The cursor of the last answer; without it the answer is the present cursor and no changes'),
  limit: limit(100).default(50),
})

const change = z.strictObject({
  kind: z.enum(['conversation', 'message', 'read', 'reservation', 'state', 'message.removed', 'message.changed'])
    .meta({ id: 'ChangeKind' }),
  conversation_id: z.int(),
  id: z.int().describe(
    'Of the conversation, reservation or message; for read, of the newest message that was marked as read',
  ),
}).meta({ id: 'Change' })

export const changes = z.strictObject({
  changes: z.array(change).describe('Oldest first, each entity once at its latest'),
  cursor: z.string().describe('For the next request; valid for 30 days, for this user alone'),
  more: z.boolean().describe('Whether another page follows at once'),
}).meta({ id: 'Changes' })
