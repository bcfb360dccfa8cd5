import type { z } from 'zod'
import { asUser, requireUser } from '../_shared/auth.ts'
import { createApp, nextPageLink, sendJson, sendPage } from '../_shared/app.ts'
import { removeFiles } from '../_shared/files.ts'
import { isBlank } from '../_shared/validate.ts'
import { route } from '../_shared/openapi.ts'
import { settings } from '../_shared/settings.ts'
import * as shape from '../_shared/schemas/conversations.ts'
import * as inbox from '../_shared/schemas/inbox.ts'
import { writeOnce } from '../_shared/write_once.ts'
import { reservations } from './reservations.ts'
import { search } from './search.ts'

const conversations = createApp('conversations')
const { forbidden, notFound } = shape
const messageNotFound = 'No such message, or the caller is not a participant'
const ownMessageNotFound = 'No such message, or the caller has not sent it'
const cannotSend = `${forbidden}, or the other account was erased, or the limit of messages before an answer is reached`

conversations.get(
  '/',
  route('listConversations', "The caller's conversations, latest activity first", {
    200: [shape.conversation.array(), 'Link'],
  }),
  asUser({ query: shape.listPage }),
  async (c) => {
    const { limit = null, offset = 0, archived = 'all', pinned, partner, states } = c.var.query
    const only = archived === 'all' ? null : archived === 'true'
    const page = await c.var.db`list_conversations(
      page_limit => ${limit}, page_offset => ${offset}, archived => ${only}, pinned_first => ${pinned === 'first'},
      with_partner => ${partner === true}, emails => ${settings.PARTNER_EMAIL}, with_states => ${states === true})`
    return sendPage(c, page, c.var.query, 'offset')
  },
)

conversations.post(
  '/',
  route('openConversation', 'Open a conversation with another user', {
    201: shape.opened,
    403: forbidden,
    404: 'No such user',
    409: shape.alreadyOpen,
  }, ['forbidden', 'blocked', 'already_open']),
  asUser({ json: shape.newConversation }, 'RATE_LIMIT_OPEN'),
  async (c) => sendJson(c, await c.var.db`open_conversation(${c.var.json.other_user_id})`, 201),
)

conversations.get(
  '/unread',
  route('countUnread', 'Unread messages, in total and by conversation', { 200: shape.unread }),
  requireUser,
  async (c) => sendJson(c, await c.var.db`count_unread()`),
)

conversations.get(
  '/states',
  route(
    'listConversationStates',
    'The conversations that the caller has archived, muted or pinned, by descending conversation_id',
    { 200: [inbox.state.array(), 'Link'] },
  ),
  asUser({ query: inbox.statePage }),
  async (c) => sendPage(c, await c.var.db`list_conversation_states(${c.var.query})`, c.var.query),
)

conversations.get(
  '/changes',
  route('listChanges', 'What has changed since the last request, in all conversations', {
    200: inbox.changes,
    410: 'The cursor is older than 30 days or from before a restore: read everything anew',
  }),
  asUser({ query: inbox.changePage }),
  async (c) => {
    const { after = null, limit } = c.var.query
    return sendJson(c, await c.var.db`list_changes(after => ${after}, page_limit => ${limit})`)
  },
)

conversations.route('/', search)

conversations.put(
  '/:id/state',
  route('setConversationState', 'Archive, mute or pin a conversation for oneself; what is absent stays unchanged', {
    200: inbox.state,
    404: notFound,
  }, ['invalid', 'too_many']),
  asUser({ params: shape.conversationParam, json: inbox.newState }, 'RATE_LIMIT_STATE'),
  async (c) => sendJson(c, await c.var.db`set_conversation_state(${c.var.params.id}, ${c.var.json})`),
)

conversations.get(
  '/:id',
  route('getConversation', 'A conversation with its reservations', { 200: shape.conversationDetail, 404: notFound }),
  asUser({ params: shape.conversationParam }),
  async (c) => sendJson(c, await c.var.db`get_conversation(${c.var.params.id})`),
)

/** The next page: by cursor if this page used one, else by offset. */
const nextPage = (page: z.output<typeof shape.messagePage>, lastId: number) => {
  const { before_id, after_id, offset = 0, ...others } = page
  if (before_id !== undefined) return { ...others, before_id: lastId }
  if (after_id !== undefined) return { ...others, after_id: lastId }
  return { ...others, offset: offset + page.limit }
}

conversations.get(
  '/:id/messages',
  route('listMessages', 'A page of messages; the Link header names the next one', {
    200: [shape.message.array(), 'Link'],
    404: notFound,
  }),
  asUser({ params: shape.conversationParam, query: shape.messagePage }),
  async (c) => {
    const page = await c.var.db`list_messages(${c.var.params.id}, ${c.var.query})`
    if (page.metadata.next) c.header('Link', nextPageLink(nextPage(c.var.query, page.metadata.next)))
    return sendJson(c, page)
  },
)

conversations.post(
  '/:id/messages',
  route('sendMessage', 'Send a message; with an Idempotency-Key, exactly once', {
    201: [shape.message, 'Idempotency-Replayed'],
    403: cannotSend,
    404: notFound,
    422: 'The Idempotency-Key was used with another payload',
  }, ['forbidden', 'blocked', 'first_contact_limit']),
  asUser({ params: shape.conversationParam, headers: shape.idempotencyHeader, json: shape.newMessage }),
  (c) =>
    writeOnce(c, c.var, 'RATE_LIMIT_SEND', (db, draft) => {
      const message = { ...draft, first_contact_limit: settings.FIRST_CONTACT_LIMIT }
      return db`send_message(${c.var.params.id}, ${message})`
    }),
)

conversations.patch(
  '/:id/messages/:messageId',
  route('editMessage', "Correct a message of one's own", {
    200: shape.message,
    403: `${forbidden}, or the other account was erased, or the message is too old, or was corrected before an answer`,
    404: ownMessageNotFound,
    409: 'The message was taken back',
  }, ['forbidden', 'blocked', 'first_contact_limit']),
  asUser({ params: shape.messageParams, query: shape.correctionQuery, json: shape.correction }, 'RATE_LIMIT_SEND'),
  async (c) => {
    const { db, params: { id, messageId }, query: { states }, json: { content } } = c.var
    const edited = await db`edit_message(
      conversation => ${id}, message => ${messageId}, new_content => ${content}, is_blank => ${isBlank(content)},
      minutes => ${settings.EDIT_MINUTES}, first_contact_limit => ${settings.FIRST_CONTACT_LIMIT},
      with_states => ${states === true})`
    return sendJson(c, edited)
  },
)

conversations.delete(
  '/:id/messages/:messageId',
  route('unsendMessage', "Take a message of one's own back", {
    204: 'Taken back, also if it was before',
    403: 'The message is too old',
    404: ownMessageNotFound,
  }, ['forbidden']),
  asUser({ params: shape.messageParams }, 'RATE_LIMIT_SEND'),
  async (c) => {
    const { db, params: { id, messageId } } = c.var
    const hours = settings.UNSEND_HOURS
    const { metadata } = await db`unsend_message(conversation => ${id}, message => ${messageId}, hours => ${hours})`
    if (metadata.file) await removeFiles('attachments', [metadata.file], c.var.token)
    return c.body(null, 204)
  },
)

conversations.patch(
  '/:id/messages/:messageId/read',
  route('markMessageRead', 'Mark a received message as read', { 200: shape.success, 404: messageNotFound }),
  asUser({ params: shape.messageParams }),
  async (c) => {
    const { db, params: { id, messageId } } = c.var
    return sendJson(c, await db`mark_read(conversation => ${id}, message => ${messageId}, and_before => false)`)
  },
)

conversations.post(
  '/:id/read',
  route('markConversationRead', 'Mark all received messages up to one as read', {
    200: shape.success,
    404: messageNotFound,
  }),
  asUser({ params: shape.conversationParam, json: shape.readUpTo }),
  async (c) => {
    const { db, params: { id }, json: { up_to_message_id: message } } = c.var
    return sendJson(c, await db`mark_read(conversation => ${id}, message => ${message}, and_before => true)`)
  },
)

conversations.route('/', reservations)

export default { fetch: conversations.fetch }
