import { z } from 'zod'
import { limit } from '../validate.ts'

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
