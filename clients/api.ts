import { answeringOf, type Call, createApiClient, errorOf } from './api_client.ts'
import { type ServiceError, toServiceError } from './errors.ts'
import type { InboxSession } from './session.ts'
import { withTimeout } from './timers.ts'
import { upload, type UploadOptions } from './uploads.ts'
import type { Attachment, Client, Draft, ListedConversation } from './types.ts'

// An answer may still come, but by then the user should know.
const longestSilence = 9000

// Whether a body has the shape of an endpoint's, as a proxy may answer with any.
type Check = (value: unknown) => boolean
const fieldOf = (body: unknown, name: string): unknown => (body as Record<string, unknown> | null | undefined)?.[name]
const has = (name: string, check: Check): Check => (body) => check(fieldOf(body, name))
const hasId = has('id', Number.isInteger)
const isChanges: Check = (body) =>
  has('changes', Array.isArray)(body) && has('cursor', (one) => typeof one === 'string')(body)

/** Calls in the name of the user for whom the inbox was opened, with a time limit. */
const createCalls = (client: Client, session: InboxSession, timeout: number) => {
  const onSilence = () => answeringOf(client.auth).set({ answers: false })
  const failed = (thrown: unknown): ServiceError => {
    const error = toServiceError(thrown)
    if (error.code === 'offline') onSilence()
    return error
  }
  const calls = createApiClient(client, session, (task, signal) => {
    const silence = setTimeout(onSilence, longestSilence)
    const answer = withTimeout(timeout, task, signal).finally(() => clearTimeout(silence))
    return answer.catch((error) => Promise.reject(failed(error)))
  })
  const answerOf = async <Body>(call: Call<Body>, isBody: Check, status: number) => {
    const { data, error, response } = await call
    if (error || response.status !== status || !isBody(data)) throw failed(errorOf(response, error))
    return { body: data as Body, response }
  }
  const bodyOf = async <Body>(call: Call<Body>, isBody = hasId, status = 200): Promise<Body> =>
    (await answerOf(call, isBody, status)).body
  return { ...calls, answerOf, bodyOf }
}

export const createApi = (client: Client, session: InboxSession, timeout: number) => {
  const { GET, POST, PATCH, DELETE, answerOf, bodyOf } = createCalls(client, session, timeout)
  return {
    me: (signal: AbortSignal) => bodyOf(GET('/users/me', { signal })).then(({ id, name }) => ({ id, name })),
    conversations: async (signal: AbortSignal) => {
      const params = { query: { partner: true, states: true } }
      return await bodyOf(GET('/conversations', { params, signal }), Array.isArray) as ListedConversation[]
    },
    unread: (signal: AbortSignal) =>
      bodyOf(GET('/conversations/unread', { signal }), has('conversations', Array.isArray)),
    /** A page of what has changed since a cursor; null: the present cursor. */
    changes: (after: string | null, signal: AbortSignal) => {
      const params = { query: { limit: 100, ...(after !== null && { after }) } }
      return bodyOf(GET('/conversations/changes', { params, signal }), isChanges)
    },
    conversation: (id: number, signal: AbortSignal) =>
      bodyOf(GET('/conversations/{id}', { params: { path: { id } }, signal })),
    reservation: (id: number, rid: number, signal: AbortSignal) =>
      bodyOf(GET('/conversations/{id}/reservations/{rid}', { params: { path: { id, rid } }, signal })).catch(
        (error: ServiceError) => error.status === 404 ? null : Promise.reject(error),
      ),
    /**
     * The newest messages, or those before or after one, oldest first, and whether there are more in that direction;
     * `after_id` 0 reads from the first message on.
     */
    messages: async (id: number, end: { before_id?: number; after_id?: number }, signal: AbortSignal) => {
      const isForward = end.after_id !== undefined
      // A service of 1.0 knows no states, and leaves them out.
      const query = { ...end, limit: isForward ? 100 : 50, states: true }
      const call = GET('/conversations/{id}/messages', { params: { path: { id }, query }, signal })
      const { body, response } = await answerOf(call, Array.isArray, 200)
      // An empty page ends the listing. Otherwise the caller would read from the beginning again.
      const more = body.length > 0 && (response.headers.get('Link')?.includes('rel="next"') ?? false)
      return { messages: isForward ? body : body.toReversed(), more }
    },
    send: (id: number, { content, attachment = null }: Draft, client_id: string, signal: AbortSignal) => {
      const options = { params: { path: { id } }, body: { content, attachment, client_id } }
      return bodyOf(POST('/conversations/{id}/messages', { ...options, signal }), hasId, 201)
    },
    edit: (id: number, messageId: number, content: string, signal: AbortSignal) => {
      const params = { path: { id, messageId }, query: { states: true } }
      return bodyOf(PATCH('/conversations/{id}/messages/{messageId}', { params, body: { content }, signal }))
    },
    unsend: async (id: number, messageId: number, signal: AbortSignal) => {
      const params = { path: { id, messageId } }
      await bodyOf(
        DELETE('/conversations/{id}/messages/{messageId}', { params, signal }),
        (body) => body === undefined,
        204,
      )
    },
    markRead: (id: number, up_to_message_id: number, signal: AbortSignal) => {
      const options = { params: { path: { id } }, body: { up_to_message_id } }
      return bodyOf(POST('/conversations/{id}/read', { ...options, signal }), has('success', Boolean))
    },
    /** Opens a conversation with this user, or returns the id of the existing one. */
    findOrCreateConversation: (other_user_id: number, signal: AbortSignal): Promise<number> =>
      bodyOf(POST('/conversations', { body: { other_user_id }, signal }), hasId, 201).then(
        ({ id }) => id,
        (error: ServiceError) => {
          const id = fieldOf(error.body, 'conversation_id')
          if (error.status === 409 && id) return id as number
          throw error
        },
      ),
    blockedUsers: async (signal: AbortSignal) =>
      (await bodyOf(GET('/users/me/blocks', { signal }), Array.isArray)).map(({ user_id }) => user_id),
    /** Resolves when the file is in Storage, by this try or by an earlier one. */
    upload: async ({ url, mime_type: type }: Attachment, file: Blob, options: UploadOptions) => {
      // Not every storage keeps the type.
      const typed = new Blob([file], { type })
      const current = (await session.current())!
      try {
        await upload(client, current, 'attachments', url, typed, options)
      } catch (error) {
        // A token that Storage rejects is one of these as well.
        const isRefused = [400, 401, 403].includes(toServiceError(error).status)
        const next = isRefused ? await session.refreshed(current) : null
        if (!next) throw error
        await upload(client, next, 'attachments', url, typed, options)
      }
    },
  }
}
export type Api = ReturnType<typeof createApi>
