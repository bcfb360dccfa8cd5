import type { Context } from 'hono'
import { knownCaller } from '../_shared/caller.ts'
import { answer, door } from '../_shared/door.ts'
import { input } from '../_shared/input.ts'
import { takeTurn, takeTurnToSend } from '../_shared/limits.ts'
import { says } from '../_shared/openapi.ts'
import { refuse } from '../_shared/problem.ts'
import { settings } from '../_shared/settings.ts'
import { hasItsType } from './attachments.ts'
import * as shape from './shapes.ts'

const conversations = door('conversations')
const notYours = 'No such conversation, or none of yours'
const notWithThem = 'The account is deactivated, or one of the two blocked the other'
const notToThem = `${notWithThem}, or the other erased themselves`

conversations.get(
  '/',
  says("The caller's conversations, latest activity first", { 200: shape.conversation.array() }),
  knownCaller,
  input({ query: shape.listPage }),
  async (c) => {
    const { limit = null, offset = 0 } = c.var.query
    return answer(c, await c.var.db`list_conversations(${limit}, ${offset})`)
  },
)

conversations.post(
  '/',
  says('Open the conversation of a pair', {
    201: shape.opened,
    403: notWithThem,
    404: 'No such user',
    409: shape.alreadyOpen,
  }),
  knownCaller,
  input({ json: shape.newConversation }),
  async (c) => {
    await takeTurn('RATE_LIMIT_OPEN', c.var.claims.sub)
    return answer(c, await c.var.db`open_conversation(${c.var.json.other_user_id})`, 201)
  },
)

conversations.get(
  '/unread',
  says('How many messages are unread, and where', { 200: shape.unread }),
  knownCaller,
  async (c) => answer(c, await c.var.db`count_unread()`),
)

conversations.get(
  '/:id',
  says('A conversation with its reservations', { 200: shape.conversationDetail, 404: notYours }),
  knownCaller,
  input({ params: shape.conversationParam }),
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
  says('A page of a conversation; Link names the next one', { 200: shape.message.array(), 404: notYours }),
  knownCaller,
  input({ params: shape.conversationParam, query: shape.messagePage }),
  async (c) => {
    const page = await c.var.db`list_messages(${c.var.params.id}, ${c.var.query})`
    if (page.aside.next) c.header('Link', nextPage(c, c.var.query, page.aside.next))
    return answer(c, page)
  },
)

conversations.post(
  '/:id/messages',
  says('Send a message; with a key, exactly once', {
    201: shape.message,
    403: notToThem,
    404: notYours,
    422: 'The key was used otherwise',
  }),
  knownCaller,
  input({ params: shape.conversationParam, headers: shape.idempotencyKey, json: shape.newMessage }),
  async (c) => {
    const { 'idempotency-key': key } = c.var.headers
    const { client_id = key, ...draft } = c.var.json
    if (key && client_id && key !== client_id) refuse(400, 'client_id: differs from the Idempotency-Key header')
    const name = client_id ?? key ?? null
    const { id } = c.var.params
    await takeTurnToSend(c.var.claims.sub, name)
    // Whatever the file turns out to be, the database says what is answered: the first answer again, where this was sent before.
    const type_is_true = draft.attachment ? await hasItsType(draft.attachment, id, c.var.token) : null
    const sent = await c.var.db`send_message(${id}, ${{ ...draft, client_id: name, type_is_true }})`
    if (sent.aside.replayed) c.header('Idempotency-Replayed', 'true')
    return answer(c, sent, 201)
  },
)

conversations.patch(
  '/:id/messages/:messageId/read',
  says('Mark a received message as read', { 200: shape.success, 404: 'No such message, or none of yours' }),
  knownCaller,
  input({ params: shape.messageParams }),
  async (c) => answer(c, await c.var.db`mark_read(${c.var.params.id}, ${c.var.params.messageId}, false)`),
)

conversations.post(
  '/:id/read',
  says('Mark all received messages up to one as read', {
    200: shape.success,
    404: 'No such message, or none of yours',
  }),
  knownCaller,
  input({ params: shape.conversationParam, json: shape.readUpTo }),
  async (c) => answer(c, await c.var.db`mark_read(${c.var.params.id}, ${c.var.json.up_to_message_id}, true)`),
)

export default { fetch: conversations.fetch }
