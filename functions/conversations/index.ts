import type { Context } from 'hono'
import { requireUser } from '../_shared/auth.ts'
import { answer, door } from '../_shared/app.ts'
import { validate } from '../_shared/validate.ts'
import { consumeRateLimit, consumeSend } from '../_shared/rate_limit.ts'
import { route } from '../_shared/openapi.ts'
import { httpError } from '../_shared/errors.ts'
import { settings } from '../_shared/settings.ts'
import { matchesMimeType } from './attachments.ts'
import * as shape from '../_shared/schemas/conversations.ts'

const conversations = door('conversations')
const notYours = 'No such conversation, or none of yours'
const notWithThem = 'The account is deactivated, or one of the two blocked the other'
const notToThem = `${notWithThem}, or the other erased themselves`

conversations.get(
  '/',
  route("The caller's conversations, latest activity first", { 200: shape.conversation.array() }),
  requireUser,
  validate({ query: shape.listPage }),
  async (c) => {
    const { limit = null, offset = 0 } = c.var.query
    return answer(c, await c.var.db`list_conversations(${limit}, ${offset})`)
  },
)

conversations.post(
  '/',
  route('Open the conversation of a pair', {
    201: shape.opened,
    403: notWithThem,
    404: 'No such user',
    409: shape.alreadyOpen,
  }),
  requireUser,
  validate({ json: shape.newConversation }),
  async (c) => {
    await consumeRateLimit('RATE_LIMIT_OPEN', c.var.claims.sub)
    return answer(c, await c.var.db`open_conversation(${c.var.json.other_user_id})`, 201)
  },
)

conversations.get(
  '/unread',
  route('How many messages are unread, and where', { 200: shape.unread }),
  requireUser,
  async (c) => answer(c, await c.var.db`count_unread()`),
)

conversations.get(
  '/:id',
  route('A conversation with its reservations', { 200: shape.conversationDetail, 404: notYours }),
  requireUser,
  validate({ params: shape.conversationParam }),
  async (c) => answer(c, await c.var.db`get_conversation(${c.var.params.id})`),
)

type Page = { limit: number; offset?: number; order?: string; before_id?: number; after_id?: number }

/** The page after this one, as an absolute address: by cursor where a cursor was used, else by offset. */
const nextPage = (c: Context, page: Page, lastId: number): string => {
  const url = new URL(`${settings.url}/functions/v1${c.req.path}`)
  const { before_id, after_id, offset = 0, ...rest } = page
  const byCursor = before_id ? { before_id: lastId } : after_id ? { after_id: lastId } : { offset: offset + page.limit }
  for (const [name, value] of Object.entries({ ...rest, ...byCursor })) url.searchParams.set(name, String(value))
  return `<${url}>; rel="next"`
}

conversations.get(
  '/:id/messages',
  route('A page of a conversation; Link names the next one', { 200: shape.message.array(), 404: notYours }),
  requireUser,
  validate({ params: shape.conversationParam, query: shape.messagePage }),
  async (c) => {
    const page = await c.var.db`list_messages(${c.var.params.id}, ${c.var.query})`
    if (page.metadata.next) c.header('Link', nextPage(c, c.var.query, page.metadata.next))
    return answer(c, page)
  },
)

conversations.post(
  '/:id/messages',
  route('Send a message; with a key, exactly once', {
    201: shape.message,
    403: notToThem,
    404: notYours,
    422: 'The key was used otherwise',
  }),
  requireUser,
  validate({ params: shape.conversationParam, headers: shape.idempotencyKey, json: shape.newMessage }),
  async (c) => {
    const { 'idempotency-key': key } = c.var.headers
    const { client_id = key, ...draft } = c.var.json
    if (key && client_id && key !== client_id) httpError(400, 'client_id: differs from the Idempotency-Key header')
    const name = client_id ?? key ?? null
    const { id } = c.var.params
    await consumeSend(c.var.claims.sub, name)
    // Whatever the file turns out to be, the database says what is answered: the first answer again, where this was sent before.
    const matches_mime_type = draft.attachment ? await matchesMimeType(draft.attachment, id, c.var.token) : null
    const sent = await c.var.db`send_message(${id}, ${{ ...draft, client_id: name, matches_mime_type }})`
    if (sent.metadata.replayed) c.header('Idempotency-Replayed', 'true')
    return answer(c, sent, 201)
  },
)

conversations.patch(
  '/:id/messages/:messageId/read',
  route('Mark a received message as read', { 200: shape.success, 404: 'No such message, or none of yours' }),
  requireUser,
  validate({ params: shape.messageParams }),
  async (c) => answer(c, await c.var.db`mark_read(${c.var.params.id}, ${c.var.params.messageId}, false)`),
)

conversations.post(
  '/:id/read',
  route('Mark all received messages up to one as read', {
    200: shape.success,
    404: 'No such message, or none of yours',
  }),
  requireUser,
  validate({ params: shape.conversationParam, json: shape.readUpTo }),
  async (c) => answer(c, await c.var.db`mark_read(${c.var.params.id}, ${c.var.json.up_to_message_id}, true)`),
)

export default { fetch: conversations.fetch }
