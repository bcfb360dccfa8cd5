// The files of an import (docs/migrate.md), a schema for each: the shape of a line. The database refuses the rest.
import { z } from 'zod'
import { email } from '../../functions/_shared/schemas/accounts.ts'
import { attachment } from '../../functions/_shared/schemas/conversations.ts'
import { profileChanges, role } from '../../functions/_shared/schemas/users.ts'
import { jsonId, line, text } from '../../functions/_shared/validate.ts'

const moment = z.iso.datetime({ offset: true, error: 'must be an ISO 8601 timestamp with its offset' })
const times = {
  created_at: moment.optional(),
  updated_at: moment.optional().describe('What --since is compared with, or created_at without it'),
}
const { name, bio, location, interest_ids: _, ...profileFields } = profileChanges.shape
export const profileColumns = Object.keys(profileFields)

/** In the order in which they are loaded. */
export const formats = {
  users: z.strictObject({
    id: jsonId,
    name: name.unwrap(),
    email,
    password_hash: z.string().regex(/^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/, 'must be a bcrypt hash').nullish()
      .describe('Without one the account is entered by password recovery'),
    bio,
    location,
    role: role.optional(),
    is_active: z.boolean().optional(),
    ...times,
  }),
  interests: z.strictObject({ name: line(1, 60) }),
  profiles: z.strictObject({
    id: jsonId,
    user_id: jsonId,
    ...profileFields,
    interests: z.array(z.string()).max(50, 'must name at most 50 interests').optional().describe('Names'),
    ...times,
  }),
  conversations: z.strictObject({ id: jsonId, voyager_id: jsonId, local_id: jsonId, ...times }),
  messages: z.strictObject({
    id: jsonId,
    conversation_id: jsonId,
    user_id: jsonId.describe('The sender'),
    content: text(0, 5000),
    attachment: attachment.nullish(),
    read: z.boolean().optional(),
    ...times,
  }),
  reservations: z.strictObject({
    id: jsonId,
    conversation_id: jsonId,
    title: line(1, 200),
    price: z.number().min(0, 'must be 0 or more'),
    date: moment,
    ends_at: moment.nullish(),
    status: z.enum(['pending', 'accepted', 'declined', 'cancelled', 'completed']),
    host_id: jsonId.optional().describe('By default the local'),
    ...times,
  }),
}

export type Kind = keyof typeof formats
export const kinds = Object.keys(formats) as Kind[]
export type Row = Record<string, unknown>

const written = { io: 'input', unrepresentable: 'any' } as const
/** The JSON Schema of each file's lines. */
export const jsonSchemas = () => Object.fromEntries(kinds.map((kind) => [kind, z.toJSONSchema(formats[kind], written)]))
