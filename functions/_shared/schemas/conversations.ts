import { z } from 'zod'
import { flag, id, idOrZero, isBlank, jsonId, limit, line, offset, text, timestamp, webAddress } from '../validate.ts'

export const person = z.strictObject({ id: z.int(), name: z.string() })
const contact = z.strictObject({ id: z.int(), name: z.string(), email: z.string() })

// The names that Supabase Storage accepts, without the colon, which would make a path look like a URL.
const fileName = /^[\w!.*'()&$@=;+,? -]+$/

/** A path in the private bucket `attachments`, or an https URL. */
const attachmentUrl = text(1, 2048).refine((url) => {
  if (/^https:/i.test(url)) return webAddress.test(url.replace(/^https:/i, 'https:'))
  return url.split('/').every((name) => fileName.test(name) && name.trim() === name && name !== '.' && name !== '..')
}, 'must be an https URL or a path in the bucket attachments')
  // The scheme is stored in lower case.
  .transform((url) => url.replace(/^https:/i, 'https:'))
  .meta({ jsonSchema: { type: 'string', minLength: 1, maxLength: 2048 } })

export const attachment = z.object({
  url: attachmentUrl.describe('An https URL, or a path in the private bucket attachments'),
  name: line(1, 255).describe('The name to show'),
  mime_type: text(1, 255).refine((type) => /^[\w.+-]+\/[\w.+-]+$/.test(type), 'must be a media type')
    .describe('For example image/jpeg; must be what the file in the bucket is'),
  size: z.int('must be a whole number').nonnegative('must not be negative').describe('In bytes'),
}).meta({ id: 'Attachment' })

const messageStates = {
  editedAt: timestamp.nullable().optional().describe('With states=true: when its sender last corrected it'),
  deletedAt: timestamp.nullable().optional()
    .describe('With states=true: when its sender took it back; its content is empty since'),
}

export const message = z.strictObject({
  id: z.int(),
  user_id: z.int(),
  conversation_id: z.int(),
  content: z.string(),
  attachment: attachment.nullable(),
  read: z.boolean(),
  createdAt: timestamp,
  Sender: person,
  ...messageStates,
}).meta({ id: 'Message' })

export const foundMessage = z.strictObject({
  ...message.shape,
  _snippet: z.string().describe(
    'Plain text, at most 160 characters: the part of the content that has the most words of the query, ' +
      'cut between words; an ellipsis (…), which counts, marks what is left out',
  ),
}).meta({ id: 'FoundMessage' })

export const conversation = z.strictObject({
  id: z.int(),
  voyager_id: z.int(),
  local_id: z.int(),
  Voyager: contact,
  Local: contact,
  Messages: z.array(
    z.strictObject({
      id: z.int(),
      content: z.string(),
      user_id: z.int(),
      read: z.boolean(),
      createdAt: timestamp,
      ...messageStates,
      attachment: attachment.nullable().optional().describe('With states=true: its file'),
    }),
  ),
  createdAt: timestamp,
  partner: z.strictObject({
    ...person.shape,
    profile: z.strictObject({ id: z.int(), image_url: z.string().nullable() }).nullable()
      .describe('Null where there is none to see: hidden, inactive, erased, or across a block'),
  }).optional().describe('With partner=true: the other participant, with what their public profile shows'),
}).meta({ id: 'Conversation' })

export const status = z.enum(['pending', 'accepted', 'declined', 'cancelled', 'completed'])
  .meta({ id: 'ReservationStatus' })

export const conversationDetail = z.strictObject({
  id: z.int(),
  Voyager: person,
  Local: person,
  Reservations: z.array(
    z.strictObject({ id: z.int(), title: z.string(), price: z.number(), date: timestamp, status })
      .meta({ id: 'Reservation' }),
  ),
}).meta({ id: 'ConversationDetail' })

export const opened = z.strictObject({ id: z.int(), voyager_id: z.int(), local_id: z.int() })
export const alreadyOpen = z.strictObject({ error: z.string(), conversation_id: z.int() })
export const unread = z.strictObject({
  total: z.int(),
  conversations: z.array(z.strictObject({ conversation_id: z.int(), unread: z.int() })),
})
export const success = z.strictObject({ success: z.boolean() })

const conversationId = id.describe("The conversation's id")
export const conversationParam = z.object({ id: conversationId })
export const messageParams = z.object({ id: conversationId, messageId: id.describe("The message's id") })
const states = flag('Adds editedAt and deletedAt to each message')
export const listPage = z.object({
  limit: limit(100).optional().describe('How many; by default all, and more than 100 are taken as 100'),
  offset: offset.optional().describe('How many to skip'),
  archived: z.enum(['true', 'false', 'all']).optional()
    .describe('Only the archived conversations, or only the others; absent or all: both'),
  pinned: z.enum(['first']).optional().describe('Pinned conversations come before the rest'),
  partner: flag('Adds the other participant, with profile id and photo'),
  states: flag('Adds attachment, editedAt and deletedAt to each message'),
})
export const messagePage = z.object({
  limit: limit(100).default(50),
  offset: offset.optional().describe('How many to skip'),
  order: z.enum(['asc', 'desc']).optional().describe('By time; by default desc, the newest first'),
  before_id: id.optional().describe('Only messages older than this one, newest first'),
  after_id: idOrZero.optional().describe('Only messages newer than this one, oldest first; 0: from the first one on'),
  states,
})
  .refine(
    (page) => page.before_id === undefined || page.after_id === undefined,
    'before_id and after_id exclude each other',
  ).refine(
    (page) => !(page.before_id && page.order === 'asc'),
    'before_id pages newest first, order=asc cannot go with it',
  ).refine(
    (page) => !(page.after_id !== undefined && page.order === 'desc'),
    'after_id pages oldest first, order=desc cannot go with it',
  )

export const messageSearch = z.object({
  q: text(1, 512).describe('Words, of which the first ten are looked for; the last one may be unfinished'),
  conversation_id: id.optional().describe('Only in this conversation'),
  limit: limit(100).default(20),
  before_id: id.optional().describe('Only messages older than this one'),
})

export const clientId = z.uuid('must be a UUID').transform((uuid) => uuid.toLowerCase())

export const newConversation = z.object({ other_user_id: jsonId.describe('With whom') })
export const idempotencyHeader = z.object({
  'idempotency-key': clientId.optional().describe(
    'A UUID that the client makes: a repeat with it returns the first answer',
  ),
})
// Clients of the older service may send more.
export const newMessage = z.object({
  content: text(0, 5000).default('').describe('Plain text; may be blank only beside an attachment'),
  attachment: attachment.nullish().describe('A file that has been uploaded, or an https URL'),
  client_id: clientId.nullish().describe('As the header Idempotency-Key'),
}).refine((draft) => !isBlank(draft.content) || draft.attachment, {
  path: ['content'],
  message: 'must not be blank unless there is an attachment',
})
export const correction = z.object({
  content: text(0, 5000).describe('Plain text; may be blank only beside an attachment, which stays'),
})
export const correctionQuery = z.object({ states })
export const readUpTo = z.object({ up_to_message_id: jsonId.describe('This message and all before it') })

/** What the API reference says of refusals that several endpoints share. */
export const notFound = 'No such conversation, or the caller is not a participant'
export const forbidden = 'The account is deactivated, or one of the two has blocked the other'
