import { answeringOf, createApiClient, errorOf } from './api_client.ts'
import { offlineError, ServiceError, toServiceError } from './errors.ts'
import type { InboxSession } from './session.ts'
import { upload, type UploadOptions } from './uploads.ts'
import type { ChangePage, Client, ConversationDetail, Draft, ListedConversation } from './types.ts'
import type { Attachment, Message, Person, ReservationWithHistory, Unread } from './types.ts'

/** Messages, oldest first, and whether there is another page in the same direction. */
export interface Page {
  messages: Message[]
  more: boolean
}

// An answer may still come, but by then the user should know.
const longestSilence = 9000

/**
 * Runs a task with a timeout. Stops waiting on timeout or abort even if the task ignores its signal. `onSilence` is
 * called when it takes long, and when it fails without an answer of the service.
 */
const withTimeout = async <Result>(
  milliseconds: number,
  signal: AbortSignal,
  onSilence: () => void,
  task: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  if (signal.aborted) throw new ServiceError('Closed')
  const limit = new AbortController()
  const close = () => limit.abort(new ServiceError('Closed'))
  const timer = setTimeout(() => limit.abort(offlineError(`No answer within ${milliseconds} ms`)), milliseconds)
  const silence = setTimeout(onSilence, longestSilence)
  signal.addEventListener('abort', close)
  const aborted = new Promise<never>((_, reject) => {
    limit.signal.addEventListener('abort', () => reject(limit.signal.reason))
  })
  try {
    return await Promise.race([task(limit.signal), aborted])
  } catch (thrown) {
    const error = toServiceError(thrown)
    if (error.code === 'offline') onSilence()
    throw error
  } finally {
    clearTimeout(timer)
    clearTimeout(silence)
    signal.removeEventListener('abort', close)
  }
}

const has = <Name extends string>(body: unknown, name: Name): body is Record<Name, unknown> =>
  typeof body === 'object' && body !== null && name in body
const isList = <Item>(body: unknown): body is Item[] => Array.isArray(body)
const hasId = <Row extends { id: number }>(body: unknown): body is Row => has(body, 'id') && Number.isInteger(body.id)
const isUnread = (body: unknown): body is Unread => has(body, 'conversations') && isList(body.conversations)
const isChanges = (body: unknown): body is ChangePage =>
  has(body, 'changes') && isList(body.changes) && has(body, 'cursor') && typeof body.cursor === 'string' &&
  has(body, 'more')
const isBlocks = (body: unknown): body is { user_id: number }[] =>
  isList(body) && body.every((block) => has(block, 'user_id') && Number.isInteger(block.user_id))
const isNothing = (body: unknown): body is undefined => body === undefined
const isSuccess = (body: unknown): body is { success: true } => has(body, 'success') && body.success === true

type Call = Promise<{ data?: unknown; error?: { error: string }; response: Response }>

/** What the inbox calls, in the name of the user for whom it was opened. */
export const createApi = (client: Client, session: InboxSession, timeout: number) => {
  const { GET, POST, PATCH, DELETE } = createApiClient(client, session)
  const onSilence = () => answeringOf(client.auth).set({ answers: false })

  /** `isBody`: whether a body has the shape that this endpoint returns, as a proxy may answer with any. */
  const request = <Body>(
    signal: AbortSignal,
    isBody: (body: unknown) => body is Body,
    call: (signal: AbortSignal) => Call,
    status = 200,
  ): Promise<{ body: Body; more: boolean }> =>
    withTimeout(timeout, signal, onSilence, async (limit) => {
      const { data, error, response } = await call(limit)
      if (error || response.status !== status || !isBody(data)) throw errorOf(response, error)
      return { body: data, more: response.headers.get('Link')?.includes('rel="next"') ?? false }
    })

  type PageQuery = { limit: number; before_id?: number; after_id?: number }
  const messages = async (id: number, query: PageQuery, signal: AbortSignal): Promise<Page> => {
    // A service of 1.0 knows no states, and leaves them out.
    const params = { path: { id }, query: { ...query, states: true } }
    const { body, more } = await request(
      signal,
      isList<Message>,
      (signal) => GET('/conversations/{id}/messages', { params, signal }),
    )
    // An empty page ends the listing. Otherwise the caller would read from the beginning again.
    return { messages: body, more: more && body.length > 0 }
  }
  const oldestFirst = ({ messages, more }: Page): Page => ({ messages: messages.toReversed(), more })

  return {
    me: async (signal: AbortSignal): Promise<Person> => {
      const { body: { id, name } } = await request(signal, hasId<Person>, (signal) => GET('/users/me', { signal }))
      return { id, name }
    },
    conversations: async (signal: AbortSignal) => {
      const params = { query: { partner: true, states: true } } as const
      return (await request(signal, isList<ListedConversation>, (signal) => GET('/conversations', { params, signal })))
        .body
    },
    unread: async (signal: AbortSignal) =>
      (await request(signal, isUnread, (signal) => GET('/conversations/unread', { signal }))).body,
    /** A page of what has changed since a cursor; null: the present cursor. */
    changes: async (after: string | null, signal: AbortSignal) => {
      const params = { query: { limit: 100, ...(after !== null && { after }) } }
      return (await request(signal, isChanges, (signal) => GET('/conversations/changes', { params, signal }))).body
    },
    conversation: async (id: number, signal: AbortSignal) => {
      const params = { path: { id } }
      const call = (signal: AbortSignal) => GET('/conversations/{id}', { params, signal })
      return (await request(signal, hasId<ConversationDetail>, call)).body
    },
    /** Null if it is gone. */
    reservation: async (conversation: number, rid: number, signal: AbortSignal) => {
      const params = { path: { id: conversation, rid } }
      const call = (signal: AbortSignal) => GET('/conversations/{id}/reservations/{rid}', { params, signal })
      try {
        return (await request(signal, hasId<ReservationWithHistory>, call)).body
      } catch (error) {
        if (toServiceError(error).status === 404) return null
        throw error
      }
    },
    /** Opens a conversation with this user, or returns the id of the existing one. */
    findOrCreateConversation: async (other_user_id: number, signal: AbortSignal): Promise<number> => {
      try {
        const call = (signal: AbortSignal) => POST('/conversations', { body: { other_user_id }, signal })
        return (await request(signal, hasId, call, 201)).body.id
      } catch (error) {
        const { status, body } = toServiceError(error)
        if (status !== 409 || !has(body, 'conversation_id')) throw error
        return body.conversation_id as number
      }
    },
    newestMessages: async (id: number, signal: AbortSignal) => oldestFirst(await messages(id, { limit: 50 }, signal)),
    messagesBefore: async (id: number, before_id: number, signal: AbortSignal) =>
      oldestFirst(await messages(id, { before_id, limit: 50 }, signal)),
    /** `after_id` 0 reads from the first message on. */
    messagesAfter: (id: number, after_id: number, signal: AbortSignal) =>
      messages(id, { after_id, limit: 100 }, signal),
    /** Resolves when the file is in Storage, by this try or by an earlier one. */
    upload: async ({ url, mime_type: type }: Attachment, file: Blob, options: UploadOptions) => {
      // Not every storage keeps the type.
      const typed = new Blob([file], { type })
      const current = await session.current()
      try {
        await upload(client, current, 'attachments', url, typed, options)
      } catch (error) {
        // A token that Storage rejects is one of these as well.
        if (![400, 401, 403].includes(toServiceError(error).status ?? 0)) throw error
        await upload(client, await session.refreshed(current), 'attachments', url, typed, options)
      }
    },
    send: async (id: number, { content, attachment = null }: Draft, client_id: string, signal: AbortSignal) => {
      const options = { params: { path: { id } }, body: { content, attachment, client_id } }
      const call = (signal: AbortSignal) => POST('/conversations/{id}/messages', { ...options, signal })
      return (await request(signal, hasId<Message>, call, 201)).body
    },
    edit: async (id: number, messageId: number, content: string, signal: AbortSignal) => {
      const options = { params: { path: { id, messageId }, query: { states: true } }, body: { content } }
      const call = (signal: AbortSignal) => PATCH('/conversations/{id}/messages/{messageId}', { ...options, signal })
      return (await request(signal, hasId<Message>, call)).body
    },
    unsend: async (id: number, messageId: number, signal: AbortSignal) => {
      const params = { path: { id, messageId } }
      const call = (signal: AbortSignal) => DELETE('/conversations/{id}/messages/{messageId}', { params, signal })
      await request(signal, isNothing, call, 204)
    },
    markRead: async (id: number, up_to_message_id: number, signal: AbortSignal) => {
      const options = { params: { path: { id } }, body: { up_to_message_id } }
      await request(signal, isSuccess, (signal) => POST('/conversations/{id}/read', { ...options, signal }))
    },
    /** The ids of the users whom the caller has blocked. */
    blockedUsers: async (signal: AbortSignal) => {
      const { body } = await request(signal, isBlocks, (signal) => GET('/users/me/blocks', { signal }))
      return body.map(({ user_id }) => user_id)
    },
  }
}

export type Api = ReturnType<typeof createApi>
