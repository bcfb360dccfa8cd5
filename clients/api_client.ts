import type { Session } from '@supabase/supabase-js'
import { type ErrorCode, offlineError, ServiceError } from './errors.ts'
import type { paths } from './openapi.ts'
import { createSessions } from './session.ts'
import { createStore, type Store } from './store.ts'
import type { Client } from './types.ts'

const methods = ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'] as const
type Method = typeof methods[number]
type PathOf<Of extends Method> = {
  [Path in keyof paths]: paths[Path] extends Record<Lowercase<Of>, object> ? Path : never
}[keyof paths]
type Operation<Of extends Method, Path extends keyof paths> = paths[Path] extends Record<Lowercase<Of>, infer Given>
  ? Given
  : never

/** Where one of a query is 'true' or 'false' or another word, a boolean is one, too: generators have no such type. */
type Query<Given> = {
  [Name in keyof Given]: string extends Given[Name] ? Given[Name]
    : 'true' extends Given[Name] ? Given[Name] | boolean
    : Given[Name]
}
type Typed<Given> = { [Part in keyof Given]: Part extends 'query' ? Query<Given[Part]> : Given[Part] }
type Params<Of> = Of extends { parameters: infer Given } ? ParamsOf<Typed<Given>> : never
type ParamsOf<Given> = Partial<Given> extends Given ? { params?: Given } : { params: Given }
type Body<Of> = Of extends { requestBody?: never } ? { body?: never }
  : Of extends { requestBody: { content: { 'application/json': infer Json } } } ? { body: Json }
  : Of extends { requestBody?: { content: { 'application/json': infer Json } } } ? { body?: Json }
  : never
type Init<Of> = Params<Of> & Body<Of> & { signal?: AbortSignal | undefined }
type Optional<Given> = Partial<Given> extends Given ? [Given?] : [Given]
type Content<Given> = Given extends { content: infer Types } ? Types[keyof Types] : undefined
type Success = 200 | 201 | 202 | 204
type Answer<Of> = Of extends { responses: infer All } ?
    & { response: Response }
    & (
      | { data: Content<All[keyof All & Success]>; error?: undefined }
      | { data?: undefined; error: Content<All[Exclude<keyof All, Success | 304>]> }
    )
  : never

/**
 * `GET('/users/{id}', …)` and so on for every endpoint, typed by docs/openapi.json. The types are our own:
 * openapi-fetch lets unknown fields of a body compile; Hey API refuses them too, but takes 4.1 kB (gzip) and a function
 * for each endpoint where this takes 1.4.
 */
export type ApiClient = {
  [Of in Method]: <Path extends PathOf<Of>>(
    path: Path,
    ...init: Optional<Init<Operation<Of, Path>>>
  ) => Promise<Answer<Operation<Of, Path>>>
}

const isJson = ({ headers }: Response): boolean =>
  headers.get('Content-Type')?.toLowerCase().startsWith('application/json') ?? false

/** The code of an error of the service; null for other answers, as of a gateway, a proxy or a captive portal. */
const errorCodeOf = (response: Response): ErrorCode | null =>
  isJson(response) ? response.headers.get('X-Error-Code') as ErrorCode | null : null

export type Call<Data> = Promise<{ data?: Data; error?: { error: string; cause?: string }; response: Response }>
type Loose = Awaited<Call<unknown>>

const offlineAnswer = (cause: string, status: number, headers?: Headers): Loose => {
  const response = new Response(null, { status, headers })
  response.headers.delete('X-Error-Code')
  return { error: { error: offlineError(cause).message, cause }, response }
}

const foreignAnswer = ({ status, headers }: Response): Loose =>
  offlineAnswer(`The response (status ${status}) is not the service's`, status < 400 ? 502 : status, headers)

const answering = new WeakMap<Client['auth'], Store<{ answers: boolean }>>()
/** Whether the service has answered the last call on this supabase-js client, whoever made it. */
export const answeringOf = (auth: Client['auth']): Store<{ answers: boolean }> => {
  const store = answering.get(auth) ?? createStore({ answers: true })
  answering.set(auth, store)
  return store
}

interface LooseInit {
  params?: { path?: Record<string, unknown>; query?: Record<string, unknown>; header?: Record<string, string> }
  body?: Record<string, unknown>
  signal?: AbortSignal
}

const addressOf = (path: string, { path: ids = {}, query = {} }: NonNullable<LooseInit['params']>): string => {
  const named = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  const search = named.map(([name, value]) => `${name}=${encodeURIComponent(`${value}`)}`).join('&')
  const filled = path.slice(1).replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(`${ids[name]}`))
  return search ? `${filled}?${search}` : filled
}

type Limit = <Result>(task: (signal?: AbortSignal) => Promise<Result>, signal?: AbortSignal) => Promise<Result>

/**
 * Calls of every endpoint with the token of whoever is signed in, or without one. Each resolves to `{data, response}`,
 * or to `{error: {error}, response}`; `dataOf` throws instead. Where no answer came, `response.status` is 503. Rejects
 * only if its `signal` is aborted.
 */
export const createApiClient = (
  { auth, functions }: Pick<Client, 'auth' | 'functions'>,
  sessions = createSessions(auth),
  limited: Limit = (task, signal) => task(signal),
): ApiClient => {
  const store = answeringOf(auth)
  const exchange = async (method: Method, path: string, init: LooseInit, session: Session | null): Promise<Loose> => {
    const { params = {}, body, signal } = init
    const { data, error, response } = await functions.invoke<unknown>(addressOf(path, params), {
      method,
      // Without this header supabase-js would add the token of whichever user is signed in by then.
      headers: { ...params.header, ...(session && { Authorization: `Bearer ${session.access_token}` }) },
      ...(body && { body }),
      ...(signal && { signal }),
    })
    signal?.throwIfAborted()
    if (!response) return offlineAnswer((error as Error).message, 503)
    const isOwn = response.status === 204 || isJson(response) ||
      /^text\/(plain|calendar)\b/.test(response.headers.get('Content-Type') ?? '')
    if (!error) return isOwn ? { data: data === '' ? undefined : data, response } : foreignAnswer(response)
    const said = errorCodeOf(response) && await response.json().catch(() => null)
    return said ? { error: said, response } : foreignAnswer(response)
  }
  const send: typeof exchange = async (...request) => {
    const answer = await exchange(...request)
    store.set({ answers: !answer.error || errorCodeOf(answer.response) !== null })
    return answer
  }
  const call = (method: Method) => (path: string, init: LooseInit = {}) =>
    limited(async (signal) => {
      const session = await sessions.current()
      const answer = await send(method, path, { ...init, signal }, session)
      const isRejected = answer.response.status === 401 && errorCodeOf(answer.response)
      const next = isRejected && session ? await sessions.refreshed(session) : null
      return next ? send(method, path, { ...init, signal }, next) : answer
    }, init.signal)
  return Object.fromEntries(methods.map((method) => [method, call(method)])) as unknown as ApiClient
}

// A timer set for more than 24 days fires at once.
const longestRetryAfter = 3_600_000
const retryAfterOf = ({ headers }: Response): number =>
  Math.min(longestRetryAfter, Number(headers.get('Retry-After')) * 1000 || 0)

/** Why a call failed; of an answer that is not the service's only its Retry-After is respected. */
export const errorOf = (response: Response, body: Loose['error']): ServiceError => {
  const code = errorCodeOf(response)
  if (code && body) return new ServiceError(body.error, response.status, retryAfterOf(response), body, code)
  const cause = body?.cause ?? `The response (status ${response.status}) is not the service's`
  return offlineError(cause, retryAfterOf(response))
}

/** What a call of an ApiClient brings. Throws a ServiceError instead of resolving to an error. */
export const dataOf = async <Data>(call: Call<Data>): Promise<Data> => {
  const { data, error, response } = await call
  if (!response.ok) throw errorOf(response, error)
  return data as Data
}
