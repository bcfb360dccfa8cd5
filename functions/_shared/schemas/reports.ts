import { z } from 'zod'
import { id, jsonId, limit, text, timestamp } from '../validate.ts'
import { clientId } from './conversations.ts'

const reason = z.enum(['spam', 'harassment', 'scam', 'danger', 'impersonation', 'other']).meta({ id: 'ReportReason' })

const columns = { id: z.int(), reason }

export const report = z.strictObject({ ...columns, status: z.literal('open'), createdAt: timestamp })
  .meta({ id: 'Report' })

const status = z.enum(['open', 'resolved']).meta({ id: 'ReportStatus' })

export const myReport = z.strictObject({ ...columns, status, createdAt: timestamp, resolvedAt: timestamp.nullable() })
  .meta({ id: 'MyReport' })

export const warning = z.strictObject({ reason, createdAt: timestamp }).meta({ id: 'Warning' })

export const exportedReport = z.strictObject({
  ...columns,
  user_id: z.int().describe('Who was reported'),
  message_id: z.int().nullable(),
  note: z.string().nullable(),
  share_messages: z.boolean(),
  status,
  createdAt: timestamp,
  resolvedAt: timestamp.nullable(),
})

export const newReport = z.strictObject({
  user_id: jsonId.nullish().describe('The reported person; either this or message_id'),
  message_id: jsonId.nullish().describe('A message that the caller has received; either this or user_id'),
  reason: reason.describe('What is wrong'),
  note: text(0, 2000).nullish().describe('For the moderators'),
  share_messages: z.boolean().nullish()
    .describe('Gives the moderators a copy of the latest 20 messages of the conversation'),
  block: z.boolean().nullish().describe('Blocks the person as well'),
  client_id: clientId.nullish().describe('As the header Idempotency-Key'),
}).refine((draft) => (draft.user_id ?? null) === null !== ((draft.message_id ?? null) === null), {
  path: ['user_id'],
  message: 'give either user_id or message_id',
})

export const reportPage = z.object({
  limit: limit(100).default(50),
  before_id: id.optional().describe('Only reports older than this one, for the next page'),
})
