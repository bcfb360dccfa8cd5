import type { Session } from '@supabase/supabase-js'
import createFetchClient, { type Client as FetchClient } from 'openapi-fetch'
import { isJson } from './api.ts'
import type { paths } from './openapi.ts'
import type { Client } from './types.ts'

/** `GET('/users/{id}', …)` and so on for every endpoint, typed by docs/openapi.json. */
export type ApiClient = FetchClient<paths>

const errorResponse = (error: string, status: number, headers?: Headers): Response => {
  const response = new Response(JSON.stringify({ error }), { status, headers })
  response.headers.set('Content-Type', 'application/json')
  return response
}

// A gateway, a proxy or a captive portal may answer with any status and body.
const foreignResponse = ({ status, headers }: Response): Response =>
  errorResponse(`The response (status ${status}) is not the service's`, status < 400 ? 502 : status, headers)

const serviceError = async (response: Response): Promise<Response> => {
  const body: unknown = isJson(response) ? await response.clone().json().catch(() => null) : null
  return typeof (body as { error?: unknown } | null)?.error === 'string' ? response : foreignResponse(response)
}

// openapi-fetch wants an absolute URL. Only what follows it is used.
const baseUrl = 'http://localhost'

/**
 * Calls of every endpoint with the token of whoever is signed in, or without one. Each resolves to `{data, response}`,
 * or to `{error: {error}, response}`. Where no answer came, `response.status` is 503. Rejects only if its `signal` is
 * aborted.
 */
export const createApiClient = ({ auth, functions }: Pick<Client, 'auth' | 'functions'>): ApiClient => {
  const currentSession = async () => (await auth.getSession()).data.session

  let refreshing: Promise<unknown> | null = null
  /** The user's next session after the service rejected this one's token; null if there is none. */
  const refreshed = async (rejected: Session): Promise<Session | null> => {
    if ((await currentSession())?.access_token === rejected.access_token) {
      // A refresh token can be used once.
      await (refreshing ??= auth.refreshSession().finally(() => refreshing = null))
    }
    const session = await currentSession()
    // Nothing is sent in the name of a user who has signed in meanwhile.
    const isNew = session?.user.id === rejected.user.id && session.access_token !== rejected.access_token
    return isNew ? session : null
  }

  const send = async (request: Request, body: string, session: Session | null): Promise<Response> => {
    const { data, error, response } = await functions.invoke<unknown>(request.url.slice(baseUrl.length + 1), {
      method: request.method as 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
      headers: {
        ...Object.fromEntries(request.headers),
        ...(session && { Authorization: `Bearer ${session.access_token}` }),
      },
      body: body || undefined,
      signal: request.signal,
    })
    request.signal.throwIfAborted()
    if (!response) return errorResponse(`The service did not answer: ${(error as Error).message}`, 503)
    if (error) return serviceError(response)
    const { status, headers } = response
    if (status === 204) return new Response(null, { status, headers })
    if (isJson(response)) return new Response(JSON.stringify(data), { status, headers })
    return headers.get('Content-Type')?.startsWith('text/plain')
      ? new Response(data as string, { status, headers })
      : foreignResponse(response)
  }

  return createFetchClient<paths>({
    baseUrl,
    fetch: async (request) => {
      const body = await request.text()
      const session = await currentSession()
      const response = await send(request, body, session)
      const next = response.status === 401 && session ? await refreshed(session) : null
      return next ? send(request, body, next) : response
    },
  })
}
