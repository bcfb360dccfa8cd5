import { Problem, problemFrom } from './problem.ts'
import type { OwnSession } from './session.ts'
import type { Client, ConversationDetail, Draft, ListedConversation, Message, Person, Unread } from './shapes.ts'

/** Messages oldest first, and whether there are more in the direction that was asked for. */
export interface Page {
  messages: Message[]
  more: boolean
}

export interface Api {
  me(signal: AbortSignal): Promise<Person>
  conversations(signal: AbortSignal): Promise<ListedConversation[]>
  unread(signal: AbortSignal): Promise<Unread>
  detail(conversation: number, signal: AbortSignal): Promise<ConversationDetail>
  /** Opens the conversation with this person, or finds the one there is. */
  converse(otherUser: number, signal: AbortSignal): Promise<number>
  newest(conversation: number, signal: AbortSignal): Promise<Page>
  before(conversation: number, message: number, signal: AbortSignal): Promise<Page>
  /** After message 0 is from the beginning. */
  after(conversation: number, message: number, signal: AbortSignal): Promise<Page>
  send(conversation: number, draft: Draft, clientId: string, signal: AbortSignal): Promise<Message>
  markRead(conversation: number, upTo: number, signal: AbortSignal): Promise<void>
  /** The ids of those whom one has blocked. */
  blocked(signal: AbortSignal): Promise<number[]>
}

/** Does the work, and stops waiting for it when the time is over or the signal comes, even where the work ignores that. */
const within = async <Result>(
  milliseconds: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  if (signal.aborted) throw new Problem('Closed')
  const limit = new AbortController()
  const close = () => limit.abort(new Problem('Closed'))
  const timer = setTimeout(() => limit.abort(new Problem('The service did not answer in time')), milliseconds)
  signal.addEventListener('abort', close)
  const over = new Promise<never>((_, reject) => {
    limit.signal.addEventListener('abort', () => reject(limit.signal.reason))
  })
  try {
    return await Promise.race([work(limit.signal), over])
  } catch (error) {
    throw problemFrom(error)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', close)
  }
}

const isJson = (response: Response | undefined): boolean =>
  response?.headers.get('Content-Type')?.toLowerCase().startsWith('application/json') ?? false

// A timer that is set for more than 24 days goes off at once.
const longestWait = 3_600_000
const retryAfterOf = ({ headers }: Response): number =>
  Math.min(longestWait, Number(headers.get('Retry-After')) * 1000 || 0)

// A proxy, or the log-in page of a network, may answer anything in the service's place: nothing of it is the service's word, but whoever
// asks for time is given it.
const stranger = (response: Response): Problem =>
  new Problem(`Something else answered in the service's place, with ${response.status}`, 0, retryAfterOf(response))

const problemOf = async (error: unknown, response: Response | undefined): Promise<Problem> => {
  if (!response) return problemFrom(error)
  const body: unknown = isJson(response) ? await response.json().catch(() => null) : null
  const told = (body as { error?: unknown } | null)?.error
  // The service says in a sentence why it refuses; the platform's gateway has JSON of its own, as {"code": "NOT_FOUND", "message": …}.
  if (typeof told !== 'string' && response.status < 500) return stranger(response)
  return new Problem(
    typeof told === 'string' ? told : `The service answered ${response.status}`,
    response.status,
    retryAfterOf(response),
    body,
  )
}

const has = <Name extends string>(body: unknown, name: Name): body is Record<Name, unknown> =>
  typeof body === 'object' && body !== null && name in body
const isList = <Item>(body: unknown): body is Item[] => Array.isArray(body)
const isThing = <Thing extends { id: number }>(body: unknown): body is Thing =>
  has(body, 'id') && Number.isInteger(body.id)
const isUnread = (body: unknown): body is Unread => has(body, 'conversations') && isList(body.conversations)
const isBlocks = (body: unknown): body is { user_id: number }[] =>
  isList(body) && body.every((block) => has(block, 'user_id') && Number.isInteger(block.user_id))
const isSuccess = (body: unknown): body is { success: true } => has(body, 'success') && body.success === true

interface Question<Body> {
  path: string
  /** What is posted; without it, it is a GET. */
  post?: Record<string, unknown>
  /** Whether a body is what the service answers to this. */
  is: (body: unknown) => body is Body
  status?: number
}

/** The service's endpoints, called through supabase-js, which knows the address. */
export const openApi = ({ functions }: Client, session: OwnSession, timeout: number): Api => {
  const ask = <Body>(signal: AbortSignal, { path, post, is, status = 200 }: Question<Body>) =>
    within(timeout, signal, async (limit): Promise<{ body: Body; more: boolean }> => {
      for (let renewed = false;; renewed = true) {
        const token = await session.token()
        // Else supabase-js would put on the token of whoever is signed in by then.
        const headers = { Authorization: `Bearer ${token}` }
        const { data, error, response } = await functions.invoke<unknown>(path, {
          method: post ? 'POST' : 'GET',
          body: post,
          headers,
          signal: limit,
        })
        if (!error && response) {
          if (response.status !== status || !isJson(response) || !is(data)) throw stranger(response)
          return { body: data, more: response.headers.get('Link')?.includes('rel="next"') ?? false }
        }
        const problem = await problemOf(error, response)
        if (problem.status !== 401 || renewed) throw problem
        await session.renew(token)
      }
    })
  const read = async <Body>(signal: AbortSignal, path: string, is: (body: unknown) => body is Body): Promise<Body> =>
    (await ask(signal, { path, is })).body

  const messages = async (conversation: number, query: string, signal: AbortSignal): Promise<Page> => {
    const { body, more } = await ask(signal, {
      path: `conversations/${conversation}/messages?${query}`,
      is: isList<Message>,
    })
    // A page of none has none after it, or reading on would begin anew.
    return { messages: body, more: more && body.length > 0 }
  }
  const turned = ({ messages, more }: Page): Page => ({ messages: messages.toReversed(), more })

  return {
    me: async (signal) => {
      const { id, name } = await read(signal, 'users/me', isThing<Person>)
      return { id, name }
    },
    conversations: (signal) => read(signal, 'conversations', isList<ListedConversation>),
    unread: (signal) => read(signal, 'conversations/unread', isUnread),
    detail: (id, signal) => read(signal, `conversations/${id}`, isThing<ConversationDetail>),
    converse: async (otherUser, signal) => {
      try {
        const post = { other_user_id: otherUser }
        return (await ask(signal, { path: 'conversations', post, is: isThing, status: 201 })).body.id
      } catch (error) {
        const { status, body } = problemFrom(error)
        if (status !== 409 || !has(body, 'conversation_id')) throw error
        return body.conversation_id as number
      }
    },
    newest: async (id, signal) => turned(await messages(id, 'limit=50', signal)),
    before: async (id, message, signal) => turned(await messages(id, `before_id=${message}&limit=50`, signal)),
    after: (id, message, signal) => messages(id, `${message ? `after_id=${message}` : 'order=asc'}&limit=100`, signal),
    send: async (id, { content, attachment = null }, client_id, signal) => {
      const post = { content, attachment, client_id }
      return (await ask(signal, { path: `conversations/${id}/messages`, post, is: isThing<Message>, status: 201 })).body
    },
    markRead: async (id, up_to_message_id, signal) => {
      await ask(signal, { path: `conversations/${id}/read`, post: { up_to_message_id }, is: isSuccess })
    },
    blocked: async (signal) => (await read(signal, 'users/me/blocks', isBlocks)).map(({ user_id }) => user_id),
  }
}
