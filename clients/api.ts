import type { Session } from '@supabase/supabase-js'
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

/** Calls in the name of the user for whom the inbox was opened, with a time limit, until it is closed. */
export const createApi = (client: Client, session: InboxSession, timeout: number, closed: AbortSignal) => {
  const onSilence = () => answeringOf(client.auth).set({ answers: false })
  const failed = (thrown: unknown): ServiceError => {
    const error = toServiceError(thrown)
    if (error.code === 'offline') onSilence()
    return error
  }
  const { GET, POST, PATCH, DELETE } = createApiClient(client, session, (task) => {
    const silence = setTimeout(onSilence, longestSilence)
    const answer = withTimeout(timeout, task, closed).finally(() => clearTimeout(silence))
    return answer.catch((error) => Promise.reject(failed(error)))
  })
  const answerOf = async <Body>(call: Call<Body>, isBody: Check, status: number) => {
    const { data, error, response } = await call
    if (error || response.status !== status || !isBody(data)) throw failed(errorOf(response, error))
    return { body: data as Body, response }
  }
  const bodyOf = async <Body>(call: Call<Body>, isBody = hasId, status = 200): Promise<Body> =>
    (await answerOf(call, isBody, status)).body
  return {
    me: () => bodyOf(GET('/users/me')).then(({ id, name }) => ({ id, name })),
    conversations: async () => {
      const params = { query: { partner: true, states: true } }
      return await bodyOf(GET('/conversations', { params }), Array.isArray) as ListedConversation[]
    },
    unread: () => bodyOf(GET('/conversations/unread'), has('conversations', Array.isArray)),
    /** A page of what has changed since a cursor; null: the present cursor. */
    changes: (after: string | null) => {
      const query = { limit: 100, ...(after !== null && { after }) }
      return bodyOf(GET('/conversations/changes', { params: { query } }), isChanges)
    },
    conversation: (id: number) => bodyOf(GET('/conversations/{id}', { params: { path: { id } } })),
    reservation: (id: number, rid: number) =>
      bodyOf(GET('/conversations/{id}/reservations/{rid}', { params: { path: { id, rid } } })).catch(
        (error: ServiceError) => error.status === 404 ? null : Promise.reject(error),
      ),
    /**
     * The newest messages, or those before or after one, oldest first, and whether there are more in that direction;
     * `after_id` 0 reads from the first message on.
     */
    messages: async (id: number, end: { before_id?: number; after_id?: number }) => {
      const isForward = end.after_id !== undefined
      // A service of 1.0 knows no states, and leaves them out.
      const params = { path: { id }, query: { ...end, limit: isForward ? 100 : 50, states: true } }
      const { body, response } = await answerOf(GET('/conversations/{id}/messages', { params }), Array.isArray, 200)
      // An empty page ends the listing. Otherwise the caller would read from the beginning again.
      const more = body.length > 0 && (response.headers.get('Link')?.includes('rel="next"') ?? false)
      return { messages: isForward ? body : body.toReversed(), more }
    },
    send: (id: number, { content, attachment = null }: Draft, client_id: string) => {
      const body = { content, attachment, client_id }
      return bodyOf(POST('/conversations/{id}/messages', { params: { path: { id } }, body }), hasId, 201)
    },
    edit: (id: number, messageId: number, content: string) => {
      const params = { path: { id, messageId }, query: { states: true } }
      return bodyOf(PATCH('/conversations/{id}/messages/{messageId}', { params, body: { content } }))
    },
    unsend: async (id: number, messageId: number) => {
      const params = { path: { id, messageId } }
      await bodyOf(DELETE('/conversations/{id}/messages/{messageId}', { params }), (body) => body === undefined, 204)
    },
    markRead: (id: number, up_to_message_id: number) => {
      const options = { params: { path: { id } }, body: { up_to_message_id } }
      return bodyOf(POST('/conversations/{id}/read', options), has('success', Boolean))
    },
    findOrCreateConversation: (other_user_id: number): Promise<number> =>
      bodyOf(POST('/conversations', { body: { other_user_id } }), hasId, 201).then(
        ({ id }) => id,
        (error: ServiceError) => {
          const id = fieldOf(error.body, 'conversation_id')
          if (error.status === 409 && id) return id as number
          throw error
        },
      ),
    blockedUsers: async () => (await bodyOf(GET('/users/me/blocks'), Array.isArray)).map(({ user_id }) => user_id),
    /** Resolves when the file is in Storage, by this try or by an earlier one. */
    upload: async ({ url, mime_type: type }: Attachment, file: Blob, onProgress: UploadOptions['onProgress']) => {
      // Not every storage keeps the type.
      const typed = new Blob([file], { type })
      const send = (one: Session) => upload(client, one, 'attachments', url, typed, { onProgress, signal: closed })
      const current = (await session.current())!
      await send(current).catch(async (error) => {
        // A token that Storage rejects is one of these as well.
        const isRefused = [400, 401, 403].includes(toServiceError(error).status)
        const next = isRefused ? await session.refreshed(current) : null
        return next ? send(next) : Promise.reject(error)
      })
    },
  }
}
export type Api = ReturnType<typeof createApi>
