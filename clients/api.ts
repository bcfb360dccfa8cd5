import { Problem } from './problem.ts'
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
}

type Method = 'GET' | 'POST'

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
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', close)
  }
}

const problemOf = async (error: unknown, response: Response | undefined): Promise<Problem> => {
  if (!response) return new Problem(error instanceof Error ? error.message : 'The service cannot be reached')
  const body = await response.json().catch(() => null)
  const retryAfter = Number(response.headers.get('Retry-After') ?? 0) * 1000 || 0
  return new Problem(body?.error ?? `The service answered ${response.status}`, response.status, retryAfter, body)
}

/** The service's endpoints, called through supabase-js: it knows the address, and puts the session's token on. */
export const openApi = (supabase: Client, timeout: number): Api => {
  let refreshing: Promise<void> | null = null

  const refreshNow = async () => {
    const { error } = await supabase.auth.refreshSession()
    if (error) throw new Problem(error.message, error.name === 'AuthRetryableFetchError' ? 0 : 401)
  }
  // Many requests may learn at once that the token is no longer good, and a refresh token is good for one use.
  const refresh = () => refreshing ??= refreshNow().finally(() => refreshing = null)

  const ask = <Body>(signal: AbortSignal, method: Method, path: string, body?: Record<string, unknown>) =>
    within(timeout, signal, async (limit): Promise<{ body: Body; more: boolean }> => {
      for (let refreshed = false;; refreshed = true) {
        const { data, error, response } = await supabase.functions.invoke<Body>(path, { method, body, signal: limit })
        if (!error) {
          return { body: data as Body, more: response?.headers.get('Link')?.includes('rel="next"') ?? false }
        }
        if (response?.status !== 401 || refreshed) throw await problemOf(error, response)
        await refresh()
      }
    })

  const messages = async (conversation: number, query: string, signal: AbortSignal): Promise<Page> => {
    const { body, more } = await ask<Message[]>(signal, 'GET', `conversations/${conversation}/messages?${query}`)
    return { messages: body, more }
  }
  const turned = ({ messages, more }: Page): Page => ({ messages: messages.toReversed(), more })

  return {
    me: async (signal) => {
      const { id, name } = (await ask<Person>(signal, 'GET', 'users/me')).body
      return { id, name }
    },
    conversations: async (signal) => (await ask<ListedConversation[]>(signal, 'GET', 'conversations')).body,
    unread: async (signal) => (await ask<Unread>(signal, 'GET', 'conversations/unread')).body,
    detail: async (id, signal) => (await ask<ConversationDetail>(signal, 'GET', `conversations/${id}`)).body,
    converse: async (otherUser, signal) => {
      try {
        return (await ask<{ id: number }>(signal, 'POST', 'conversations', { other_user_id: otherUser })).body.id
      } catch (error) {
        if (!(error instanceof Problem) || error.status !== 409) throw error
        return (error.body as { conversation_id: number }).conversation_id
      }
    },
    newest: async (id, signal) => turned(await messages(id, 'limit=50', signal)),
    before: async (id, message, signal) => turned(await messages(id, `before_id=${message}&limit=50`, signal)),
    after: (id, message, signal) => messages(id, `${message ? `after_id=${message}` : 'order=asc'}&limit=100`, signal),
    send: async (id, { content, attachment = null }, client_id, signal) =>
      (await ask<Message>(signal, 'POST', `conversations/${id}/messages`, { content, attachment, client_id })).body,
    markRead: async (id, up_to_message_id, signal) => {
      await ask(signal, 'POST', `conversations/${id}/read`, { up_to_message_id })
    },
  }
}
