import type { Session } from '@supabase/supabase-js'
import createFetchClient, { type Client as FetchClient } from 'openapi-fetch'
import { type ErrorCode, offlineError, ServiceError } from './errors.ts'
import type { paths } from './openapi.ts'
import { createStore, type Store } from './store.ts'
import type { Client } from './types.ts'

/** `GET('/users/{id}', …)` and so on for every endpoint, typed by docs/openapi.json. */
export type ApiClient = FetchClient<paths>

/** In whose name requests are sent. */
interface Sessions {
  current(): Promise<Session | null>
  /** The same user's next session after the service rejected this one's token; null if there is none. */
  refreshed(rejected: Session): Promise<Session | null>
}

/** The sessions of whoever is signed in at the time of the request. */
const currentSessions = (auth: Client['auth']): Sessions => {
  const current = async () => (await auth.getSession()).data.session
  let refreshing: Promise<unknown> | null = null
  return {
    current,
    async refreshed(rejected) {
      if ((await current())?.access_token === rejected.access_token) {
        // A refresh token can be used once.
        await (refreshing ??= auth.refreshSession().finally(() => refreshing = null))
      }
      const session = await current()
      // Nothing is sent in the name of a user who has signed in meanwhile.
      const isNew = session?.user.id === rejected.user.id && session.access_token !== rejected.access_token
      return isNew ? session : null
    },
  }
}

const isJson = ({ headers }: Response): boolean =>
  headers.get('Content-Type')?.toLowerCase().startsWith('application/json') ?? false

/** The code of an error of the service; null for other answers, as of a gateway, a proxy or a captive portal. */
const errorCodeOf = (response: Response): ErrorCode | null =>
  isJson(response) ? response.headers.get('X-Error-Code') as ErrorCode | null : null

const offlineResponse = (cause: string, status: number, headers?: Headers): Response => {
  const { message: error } = offlineError(cause)
  const response = new Response(JSON.stringify({ error, cause }), { status, headers })
  response.headers.set('Content-Type', 'application/json')
  response.headers.delete('X-Error-Code')
  return response
}

const foreignResponse = ({ status, headers }: Response): Response =>
  offlineResponse(`The response (status ${status}) is not the service's`, status < 400 ? 502 : status, headers)

const answering = new WeakMap<Client['auth'], Store<{ answers: boolean }>>()
/** Whether the service has answered the last call on this supabase-js client, whoever made it. */
export const answeringOf = (auth: Client['auth']): Store<{ answers: boolean }> => {
  const store = answering.get(auth) ?? createStore({ answers: true })
  answering.set(auth, store)
  return store
}

// openapi-fetch wants an absolute URL. Only what follows it is used.
const baseUrl = 'http://localhost'

/**
 * Calls of every endpoint with the token of whoever is signed in, or without one. Each resolves to `{data, response}`,
 * or to `{error: {error}, response}`; `dataOf` throws instead. Where no answer came, `response.status` is 503. Rejects
 * only if its `signal` is aborted.
 */
export const createApiClient = (
  { auth, functions }: Pick<Client, 'auth' | 'functions'>,
  sessions: Sessions = currentSessions(auth),
): ApiClient => {
  const store = answeringOf(auth)
  const exchange = async (request: Request, body: string, session: Session | null): Promise<Response> => {
    const { data, error, response } = await functions.invoke<unknown>(request.url.slice(baseUrl.length + 1), {
      method: request.method as 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
      headers: {
        ...Object.fromEntries(request.headers),
        // Without this header supabase-js would add the token of whichever user is signed in by then.
        ...(session && { Authorization: `Bearer ${session.access_token}` }),
      },
      body: body || undefined,
      signal: request.signal,
    })
    request.signal.throwIfAborted()
    if (!response) return offlineResponse((error as Error).message, 503)
    if (error) return errorCodeOf(response) ? response : foreignResponse(response)
    const { status, headers } = response
    if (status === 204) return new Response(null, { status, headers })
    if (isJson(response)) return new Response(JSON.stringify(data), { status, headers })
    return /^text\/(plain|calendar)\b/.test(headers.get('Content-Type') ?? '')
      ? new Response(data as string, { status, headers })
      : foreignResponse(response)
  }
  const send: typeof exchange = async (...request) => {
    const response = await exchange(...request)
    store.set({ answers: response.ok || errorCodeOf(response) !== null })
    return response
  }

  return createFetchClient<paths>({
    baseUrl,
    fetch: async (request) => {
      const body = await request.text()
      const session = await sessions.current()
      const response = await send(request, body, session)
      const isRejected = response.status === 401 && errorCodeOf(response)
      const next = isRejected && session ? await sessions.refreshed(session) : null
      return next ? send(request, body, next) : response
    },
  })
}

// A timer set for more than 24 days fires at once.
const longestRetryAfter = 3_600_000
const retryAfterOf = ({ headers }: Response): number =>
  Math.min(longestRetryAfter, Number(headers.get('Retry-After')) * 1000 || 0)

/** Why a call failed; of an answer that is not the service's only its Retry-After is respected. */
export const errorOf = (response: Response, body?: { error: string; cause?: string }): ServiceError => {
  const code = errorCodeOf(response)
  if (code && body) return new ServiceError(body.error, response.status, retryAfterOf(response), body, code)
  const cause = body?.cause ?? `The response (status ${response.status}) is not the service's`
  return offlineError(cause, retryAfterOf(response))
}

/** What a call of an ApiClient brings. Throws a ServiceError instead of resolving to an error. */
export const dataOf = async <Data>(
  call: Promise<{ data?: Data; error?: { error: string }; response: Response }>,
): Promise<Data> => {
  const { data, error, response } = await call
  if (!response.ok) throw errorOf(response, error)
  return data as Data
}
