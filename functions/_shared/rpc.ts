import { limitConcurrency } from './concurrency.ts'
import { currentRequest, log } from './log.ts'
import { openPool, type Query, retryOnce } from './postgres.ts'
import { project, settings } from './settings.ts'
import type { Claims } from './token.ts'

/** The JSON of an API function as Postgres wrote it, and its response metadata. */
export interface RpcResult {
  body: string
  metadata: { next?: number; replayed?: boolean; existing?: boolean; place?: Place; file?: string; wait?: number }
}
type Place = Record<string, number>

/** Calls one function of schema `api` as the caller: db`send_message(${id}, ${draft})`. */
export type Rpc = (text: TemplateStringsArray, ...values: unknown[]) => Promise<RpcResult>

let query: Query | undefined

// One more statement than run or wait for a connection is refused at once, so that these are answered in time.
const limiter = limitConcurrency(() => settings.DATABASE_POOL + settings.DATABASE_QUEUE, 0, 0)
export const { inFlight } = limiter

/** Replaces the connection pool, for the local stack on PGlite. */
export const provideQuery = (provided: Query): void => {
  query = provided
}

/** Callers gain no rights with another role, because each statement switches to its caller. The functions would. */
const warnOfOtherRole = async (query: Query): Promise<void> => {
  const [row] = await query('select current_user as role', []).catch(() => [])
  if (!row || row.role === 'edge_functions') return
  log('warn', 'Not connected as edge_functions: set EDGE_DATABASE_URL', { role: row.role })
}

const connect = (url: string | undefined): Query => {
  if (!url) throw new Error('EDGE_DATABASE_URL or SUPABASE_DB_URL must be set')
  // Poolers append the project to the user name, after a full stop.
  const logsInAsEdgeFunctions = /^edge_functions(\.|$)/.test(decodeURIComponent(new URL(url).username))
  const pool = openPool(url, {
    max: settings.DATABASE_POOL,
    connectionTimeoutMillis: 4000,
    // Above the statement timeout of 5 s.
    query_timeout: 6000,
    idleTimeoutMillis: 60_000,
    // With another login, start the connection in our role and with its time limit, which Postgres sets at login only.
    // Poolers refuse or drop both; through one, log in as edge_functions.
    options: logsInAsEdgeFunctions ? undefined : '-c role=edge_functions -c statement_timeout=5s',
    ca: settings.DATABASE_CA_CERTIFICATE,
  })
  if (!logsInAsEdgeFunctions) void warnOfOtherRole(pool)
  return pool
}

const run: Query = (text, values) => limiter.run(() => retryOnce(query ??= connect(project.databaseUrl))(text, values))

/** The API functions with the rights of one caller. `strict` refuses unknown (401) and deactivated (403) accounts. */
export const actAs = (claims: Claims | null, strict: boolean, limit?: unknown[]): Rpc => async (text, ...values) => {
  const call = text.reduce((sql, part, index) => `${sql}$${index + 1}${part}`)
  const isWithinLimit = limit
    ? `private.consume_rate_limit(${
      ['kind', 'who', 'seconds_each', 'burst'].map((name, index) => `${name} => $${values.length + index + 2}`)
    })::text = '0' and `
    : ''
  // One round trip. `case` evaluates act_as before the function. The subquery is volatile, so Postgres does not flatten
  // it, and the function runs before its metadata is read.
  const [row] = await run(
    `select reply.body, current_setting('api.response_metadata', true) as metadata
     from (
       select case when ${isWithinLimit}private.act_as($1::jsonb, ${strict}) then api.${call}::text end
         as body
     ) as reply`,
    // The request's ids reach mails and webhooks through private.notify.
    [claims && { ...claims, request: currentRequest() }, ...values, ...limit ?? []],
  )
  return { body: String(row?.body), metadata: row?.metadata ? JSON.parse(String(row.metadata)) : {} }
}

/** Calls a function of schema `private` as edge_functions, without a caller, and returns its JSON. */
export const asService = async (text: TemplateStringsArray, ...values: unknown[]): Promise<string> => {
  const call = text.reduce((sql, part, index) => `${sql}$${index}${part}`)
  const [row] = await run(`select private.${call}::text as body`, values)
  return String(row?.body)
}
