import { type ErrorCode, ServiceError, toServiceError } from './errors.ts'
import type { InboxSession } from './session.ts'
import type { ChangePage, Client, ConversationDetail, Draft, ListedConversation } from './types.ts'
import type { Message, Person, Unread } from './types.ts'

/** Messages, oldest first, and whether there is another page in the same direction. */
export interface Page {
  messages: Message[]
  more: boolean
}

export interface Api {
  me(signal: AbortSignal): Promise<Person>
  conversations(signal: AbortSignal): Promise<ListedConversation[]>
  unread(signal: AbortSignal): Promise<Unread>
  /** A page of what has changed since a cursor; null: the present cursor. */
  changes(after: string | null, signal: AbortSignal): Promise<ChangePage>
  conversation(id: number, signal: AbortSignal): Promise<ConversationDetail>
  /** Opens a conversation with this user, or returns the id of the existing one. */
  findOrCreateConversation(otherUser: number, signal: AbortSignal): Promise<number>
  newestMessages(conversation: number, signal: AbortSignal): Promise<Page>
  messagesBefore(conversation: number, message: number, signal: AbortSignal): Promise<Page>
  /** `message` 0 reads from the first message on. */
  messagesAfter(conversation: number, message: number, signal: AbortSignal): Promise<Page>
  send(conversation: number, draft: Draft, clientId: string, signal: AbortSignal): Promise<Message>
  markRead(conversation: number, upTo: number, signal: AbortSignal): Promise<void>
  /** The ids of the users whom the caller has blocked. */
  blockedUsers(signal: AbortSignal): Promise<number[]>
}

/** Runs a task with a timeout. Stops waiting on timeout or abort even if the task ignores its signal. */
const withTimeout = async <Result>(
  milliseconds: number,
  signal: AbortSignal,
  task: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  if (signal.aborted) throw new ServiceError('Closed')
  const limit = new AbortController()
  const close = () => limit.abort(new ServiceError('Closed'))
  const timer = setTimeout(() => limit.abort(new ServiceError('The service did not answer in time')), milliseconds)
  signal.addEventListener('abort', close)
  const aborted = new Promise<never>((_, reject) => {
    limit.signal.addEventListener('abort', () => reject(limit.signal.reason))
  })
  try {
    return await Promise.race([task(limit.signal), aborted])
  } catch (error) {
    throw toServiceError(error)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', close)
  }
}

export const isJson = (response: Response | undefined): boolean =>
  response?.headers.get('Content-Type')?.toLowerCase().startsWith('application/json') ?? false

// A timer set for more than 24 days fires at once.
const longestRetryAfter = 3_600_000
const retryAfterOf = ({ headers }: Response): number =>
  Math.min(longestRetryAfter, Number(headers.get('Retry-After')) * 1000 || 0)

// A proxy or a captive portal may answer with any status and body. Treat it as no answer, but respect its Retry-After.
const foreignResponse = (response: Response): ServiceError =>
  new ServiceError(`The response (status ${response.status}) is not the service's`, 0, retryAfterOf(response))

const errorOf = async (error: unknown, response: Response | undefined): Promise<ServiceError> => {
  if (!response) return toServiceError(error)
  const body: unknown = isJson(response) ? await response.json().catch(() => null) : null
  const message = (body as { error?: unknown } | null)?.error
  // The service's errors are {"error": "…"}; the platform's gateway has other JSON: {"code": "NOT_FOUND", "message":
  // …}.
  if (typeof message !== 'string' && response.status < 500) return foreignResponse(response)
  return new ServiceError(
    typeof message === 'string' ? message : `The service answered ${response.status}`,
    response.status,
    retryAfterOf(response),
    body,
    response.headers.get('X-Error-Code') as ErrorCode | null,
  )
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
const isSuccess = (body: unknown): body is { success: true } => has(body, 'success') && body.success === true

interface RequestOptions<Body> {
  path: string
  /** The body of a POST request; a request without it is a GET. */
  post?: Record<string, unknown>
  /** Whether a response body has the shape that this endpoint returns. */
  isBody: (body: unknown) => body is Body
  status?: number
}

/** The service's endpoints, called through supabase-js, which knows the base URL. */
export const createApi = ({ functions }: Client, session: InboxSession, timeout: number): Api => {
  const request = <Body>(signal: AbortSignal, { path, post, isBody, status = 200 }: RequestOptions<Body>) =>
    withTimeout(timeout, signal, async (limit): Promise<{ body: Body; more: boolean }> => {
      for (let refreshed = false;; refreshed = true) {
        const token = await session.token()
        const { data, error, response } = await functions.invoke<unknown>(path, {
          method: post ? 'POST' : 'GET',
          body: post,
          // Without this header supabase-js would add the token of whichever user is signed in by then.
          headers: { Authorization: `Bearer ${token}` },
          signal: limit,
        })
        if (!error && response) {
          if (response.status !== status || !isJson(response) || !isBody(data)) throw foreignResponse(response)
          return { body: data, more: response.headers.get('Link')?.includes('rel="next"') ?? false }
        }
        const failure = await errorOf(error, response)
        if (failure.status !== 401 || refreshed) throw failure
        await session.refresh(token)
      }
    })
  const get = async <Body>(signal: AbortSignal, path: string, isBody: (body: unknown) => body is Body): Promise<Body> =>
    (await request(signal, { path, isBody })).body

  const messages = async (conversation: number, query: string, signal: AbortSignal): Promise<Page> => {
    const { body, more } = await request(signal, {
      path: `conversations/${conversation}/messages?${query}`,
      isBody: isList<Message>,
    })
    // An empty page ends the listing. Otherwise the caller would read from the beginning again.
    return { messages: body, more: more && body.length > 0 }
  }
  const oldestFirst = ({ messages, more }: Page): Page => ({ messages: messages.toReversed(), more })

  return {
    me: async (signal) => {
      const { id, name } = await get(signal, 'users/me', hasId<Person>)
      return { id, name }
    },
    conversations: (signal) => get(signal, 'conversations', isList<ListedConversation>),
    unread: (signal) => get(signal, 'conversations/unread', isUnread),
    changes: (after, signal) =>
      get(signal, `conversations/changes?limit=100${after === null ? '' : `&after=${after}`}`, isChanges),
    conversation: (id, signal) => get(signal, `conversations/${id}`, hasId<ConversationDetail>),
    findOrCreateConversation: async (otherUser, signal) => {
      try {
        const post = { other_user_id: otherUser }
        return (await request(signal, { path: 'conversations', post, isBody: hasId, status: 201 })).body.id
      } catch (error) {
        const { status, body } = toServiceError(error)
        if (status !== 409 || !has(body, 'conversation_id')) throw error
        return body.conversation_id as number
      }
    },
    newestMessages: async (id, signal) => oldestFirst(await messages(id, 'limit=50', signal)),
    messagesBefore: async (id, message, signal) =>
      oldestFirst(await messages(id, `before_id=${message}&limit=50`, signal)),
    messagesAfter: (id, message, signal) => messages(id, `after_id=${message}&limit=100`, signal),
    send: async (id, { content, attachment = null }, client_id, signal) => {
      const path = `conversations/${id}/messages`
      const post = { content, attachment, client_id }
      return (await request(signal, { path, post, isBody: hasId<Message>, status: 201 })).body
    },
    markRead: async (id, up_to_message_id, signal) => {
      await request(signal, { path: `conversations/${id}/read`, post: { up_to_message_id }, isBody: isSuccess })
    },
    blockedUsers: async (signal) => (await get(signal, 'users/me/blocks', isBlocks)).map(({ user_id }) => user_id),
  }
}
