import { answeringOf, type ApiClient, createApiClient, errorOf } from './api_client.ts'
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

/** Stops waiting on timeout or abort, even if the task ignores its signal. Tells of a wait that is long or in vain. */
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

/** Requests with a time limit. `isBody`: whether a body has this endpoint's shape, as a proxy may answer with any. */
const createRequest = ({ auth }: Client, timeout: number) => {
  const onSilence = () => answeringOf(auth).set({ answers: false })
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
  const bodyOf = async <Body>(...parameters: Parameters<typeof request<Body>>): Promise<Body> =>
    (await request(...parameters)).body
  return { request, bodyOf }
}
type Requests = ReturnType<typeof createRequest>

/** The calls that read and change messages. */
const createMessageCalls = ({ GET, POST, PATCH, DELETE }: ApiClient, { request, bodyOf }: Requests) => {
  type PageQuery = { limit: number; before_id?: number; after_id?: number }
  const messages = async (id: number, query: PageQuery, signal: AbortSignal): Promise<Page> => {
    // A service of 1.0 knows no states, and leaves them out.
    const params = { path: { id }, query: { ...query, states: true } }
    const call = (signal: AbortSignal) => GET('/conversations/{id}/messages', { params, signal })
    const { body, more } = await request(signal, isList<Message>, call)
    // An empty page ends the listing. Otherwise the caller would read from the beginning again.
    return { messages: body, more: more && body.length > 0 }
  }
  const oldestFirst = ({ messages, more }: Page): Page => ({ messages: messages.toReversed(), more })

  return {
    newestMessages: async (id: number, signal: AbortSignal) => oldestFirst(await messages(id, { limit: 50 }, signal)),
    messagesBefore: async (id: number, before_id: number, signal: AbortSignal) =>
      oldestFirst(await messages(id, { before_id, limit: 50 }, signal)),
    /** `after_id` 0 reads from the first message on. */
    messagesAfter: (id: number, after_id: number, signal: AbortSignal) =>
      messages(id, { after_id, limit: 100 }, signal),
    send: (id: number, { content, attachment = null }: Draft, client_id: string, signal: AbortSignal) => {
      const options = { params: { path: { id } }, body: { content, attachment, client_id } }
      const call = (signal: AbortSignal) => POST('/conversations/{id}/messages', { ...options, signal })
      return bodyOf(signal, hasId<Message>, call, 201)
    },
    edit: (id: number, messageId: number, content: string, signal: AbortSignal) => {
      const options = { params: { path: { id, messageId }, query: { states: true } }, body: { content } }
      const call = (signal: AbortSignal) => PATCH('/conversations/{id}/messages/{messageId}', { ...options, signal })
      return bodyOf(signal, hasId<Message>, call)
    },
    unsend: (id: number, messageId: number, signal: AbortSignal) => {
      const params = { path: { id, messageId } }
      const call = (signal: AbortSignal) => DELETE('/conversations/{id}/messages/{messageId}', { params, signal })
      return bodyOf(signal, isNothing, call, 204)
    },
    markRead: (id: number, up_to_message_id: number, signal: AbortSignal) => {
      const options = { params: { path: { id } }, body: { up_to_message_id } }
      return bodyOf(signal, isSuccess, (signal) => POST('/conversations/{id}/read', { ...options, signal }))
    },
  }
}

/** What the inbox calls, in the name of the user for whom it was opened. */
export const createApi = (client: Client, session: InboxSession, timeout: number) => {
  const calls = createApiClient(client, session)
  const { GET, POST } = calls
  const requests = createRequest(client, timeout)
  const { bodyOf } = requests
  return {
    ...createMessageCalls(calls, requests),
    me: async (signal: AbortSignal): Promise<Person> => {
      const { id, name } = await bodyOf(signal, hasId<Person>, (signal) => GET('/users/me', { signal }))
      return { id, name }
    },
    conversations: (signal: AbortSignal) => {
      const params = { query: { partner: true, states: true } } as const
      return bodyOf(signal, isList<ListedConversation>, (signal) => GET('/conversations', { params, signal }))
    },
    unread: (signal: AbortSignal) => bodyOf(signal, isUnread, (signal) => GET('/conversations/unread', { signal })),
    /** A page of what has changed since a cursor; null: the present cursor. */
    changes: (after: string | null, signal: AbortSignal) => {
      const params = { query: { limit: 100, ...(after !== null && { after }) } }
      return bodyOf(signal, isChanges, (signal) => GET('/conversations/changes', { params, signal }))
    },
    conversation: (id: number, signal: AbortSignal) => {
      const params = { path: { id } }
      return bodyOf(signal, hasId<ConversationDetail>, (signal) => GET('/conversations/{id}', { params, signal }))
    },
    /** Null if it is gone. */
    reservation: (conversation: number, rid: number, signal: AbortSignal) => {
      const params = { path: { id: conversation, rid } }
      const call = (signal: AbortSignal) => GET('/conversations/{id}/reservations/{rid}', { params, signal })
      return bodyOf(signal, hasId<ReservationWithHistory>, call).catch((error: ServiceError) => {
        if (error.status === 404) return null
        throw error
      })
    },
    /** Opens a conversation with this user, or returns the id of the existing one. */
    findOrCreateConversation: (other_user_id: number, signal: AbortSignal): Promise<number> => {
      const call = (signal: AbortSignal) => POST('/conversations', { body: { other_user_id }, signal })
      return bodyOf(signal, hasId, call, 201).then(({ id }) => id, (error: ServiceError) => {
        if (error.status === 409 && has(error.body, 'conversation_id')) return error.body.conversation_id as number
        throw error
      })
    },
    /** The ids of the users whom the caller has blocked. */
    blockedUsers: async (signal: AbortSignal) => {
      const blocks = await bodyOf(signal, isBlocks, (signal) => GET('/users/me/blocks', { signal }))
      return blocks.map(({ user_id }) => user_id)
    },
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
  }
}

export type Api = ReturnType<typeof createApi>
