import type { Context } from 'hono'
import { requireUser } from '../_shared/auth.ts'
import { createApp, sendJson } from '../_shared/app.ts'
import { validate } from '../_shared/validate.ts'
import { consumeRateLimit, consumeSendLimit } from '../_shared/rate_limit.ts'
import { route } from '../_shared/openapi.ts'
import { httpError } from '../_shared/errors.ts'
import { settings } from '../_shared/settings.ts'
import { matchesMimeType } from './attachments.ts'
import * as shape from '../_shared/schemas/conversations.ts'

const conversations = createApp('conversations')
const notFound = 'No such conversation, or the caller is not a participant'
const messageNotFound = 'No such message, or the caller is not a participant'
const forbidden = 'The account is deactivated, or one of the two has blocked the other'
const cannotSend = `${forbidden}, or the other account was erased`

conversations.get(
  '/',
  route("The caller's conversations, latest activity first", { 200: shape.conversation.array() }),
  requireUser,
  validate({ query: shape.listPage }),
  async (c) => {
    const { limit = null, offset = 0 } = c.var.query
    return sendJson(c, await c.var.db`list_conversations(${limit}, ${offset})`)
  },
)

conversations.post(
  '/',
  route('Open a conversation with another user', {
    201: shape.opened,
    403: forbidden,
    404: 'No such user',
    409: shape.alreadyOpen,
  }),
  requireUser,
  validate({ json: shape.newConversation }),
  async (c) => {
    await consumeRateLimit('RATE_LIMIT_OPEN', c.var.claims.sub)
    return sendJson(c, await c.var.db`open_conversation(${c.var.json.other_user_id})`, 201)
  },
)

conversations.get(
  '/unread',
  route('Unread messages, in total and by conversation', { 200: shape.unread }),
  requireUser,
  async (c) => sendJson(c, await c.var.db`count_unread()`),
)

conversations.get(
  '/:id',
  route('A conversation with its reservations', { 200: shape.conversationDetail, 404: notFound }),
  requireUser,
  validate({ params: shape.conversationParam }),
  async (c) => sendJson(c, await c.var.db`get_conversation(${c.var.params.id})`),
)

type Page = { limit: number; offset?: number; order?: string; before_id?: number; after_id?: number }

/** The Link header of the next page: by cursor if this page used one, else by offset. */
const nextPageLink = (c: Context, page: Page, lastId: number): string => {
  const url = new URL(`${settings.url}/functions/v1${c.req.path}`)
  const { before_id, after_id, offset = 0, ...others } = page
  const position = before_id ? { before_id: lastId } : after_id ? { after_id: lastId } : { offset: offset + page.limit }
  for (const [name, value] of Object.entries({ ...others, ...position })) url.searchParams.set(name, String(value))
  return `<${url}>; rel="next"`
}

conversations.get(
  '/:id/messages',
  route('A page of messages; the Link header names the next one', { 200: shape.message.array(), 404: notFound }),
  requireUser,
  validate({ params: shape.conversationParam, query: shape.messagePage }),
  async (c) => {
    const page = await c.var.db`list_messages(${c.var.params.id}, ${c.var.query})`
    if (page.metadata.next) c.header('Link', nextPageLink(c, c.var.query, page.metadata.next))
    return sendJson(c, page)
  },
)

conversations.post(
  '/:id/messages',
  route('Send a message; with an Idempotency-Key, exactly once', {
    201: shape.message,
    403: cannotSend,
    404: notFound,
    422: 'The Idempotency-Key was used with another payload',
  }),
  requireUser,
  validate({ params: shape.conversationParam, headers: shape.idempotencyHeader, json: shape.newMessage }),
  async (c) => {
    const { 'idempotency-key': fromHeader } = c.var.headers
    const { client_id: fromBody, ...draft } = c.var.json
    if (fromHeader && fromBody && fromHeader !== fromBody) {
      httpError(400, 'client_id: differs from the Idempotency-Key header')
    }
    const client_id = fromBody ?? fromHeader ?? null
    const { id } = c.var.params
    await consumeSendLimit(c.var.claims.sub, client_id)
    // The database refuses a wrong type, because a retry must return the first response whatever the file is now.
    const matches_mime_type = draft.attachment ? await matchesMimeType(draft.attachment, id, c.var.token) : null
    const sent = await c.var.db`send_message(${id}, ${{ ...draft, client_id, matches_mime_type }})`
    if (sent.metadata.replayed) c.header('Idempotency-Replayed', 'true')
    return sendJson(c, sent, 201)
  },
)

conversations.patch(
  '/:id/messages/:messageId/read',
  route('Mark a received message as read', { 200: shape.success, 404: messageNotFound }),
  requireUser,
  validate({ params: shape.messageParams }),
  async (c) => {
    const { id, messageId } = c.var.params
    const call = c.var.db`mark_read(conversation => ${id}, message => ${messageId}, and_before => false)`
    return sendJson(c, await call)
  },
)

conversations.post(
  '/:id/read',
  route('Mark all received messages up to one as read', { 200: shape.success, 404: messageNotFound }),
  requireUser,
  validate({ params: shape.conversationParam, json: shape.readUpTo }),
  async (c) => {
    const { params: { id }, json: { up_to_message_id } } = c.var
    const call = c.var.db`mark_read(conversation => ${id}, message => ${up_to_message_id}, and_before => true)`
    return sendJson(c, await call)
  },
)

export default { fetch: conversations.fetch }
