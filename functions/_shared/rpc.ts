import { log } from './log.ts'
import { connectTo, limitUnderWay, openPool, type Query, retryOnce } from './postgres.ts'
import { settings } from './settings.ts'
import { surviveConnectionLoss } from './connection_loss.ts'
import type { Claims } from './token.ts'

/** What a verb answers: the JSON to send, as Postgres wrote it, and what else it tells the door. */
export interface Reply {
  body: string
  metadata: { next?: number; replayed?: boolean; place?: Record<string, number> }
}

/** Calls one verb of schema `api` as the caller: db`send_message(${id}, ${draft})`. */
export type Rpc = (text: TemplateStringsArray, ...values: unknown[]) => Promise<Reply>

let query: Query | undefined

const overConnections = (run: Query): Query =>
  limitUnderWay(retryOnce(run), settings.databasePool + settings.databaseQueue)

/** Lets a stack without a Postgres server (PGlite) stand in for the connection. */
export const provideQuery = (provided: Query): void => {
  query = overConnections(provided)
}

/** Callers get no more rights where the role was dropped on the way, since each statement becomes its caller; but the doors would have. */
const warnOfOtherRole = async (query: Query): Promise<void> => {
  const [row] = await query('select current_user as role', []).catch(() => [])
  if (!row || row.role === 'edge_functions') return
  log('warn', 'The doors should log in as edge_functions: set EDGE_DATABASE_URL', { role: row.role })
}

const connect = (): Query => {
  const url = settings.databaseUrl
  if (!url) throw new Error('EDGE_DATABASE_URL or SUPABASE_DB_URL must be set')
  // A pooler's log-in carries the project after a full stop.
  const logsInAsDoors = /^edge_functions(\.|$)/.test(decodeURIComponent(new URL(url).username))
  surviveConnectionLoss()
  const connection = {
    application_name: 'edge_functions',
    // Whoever else the URL logs in as, the connection starts in the doors' own role and with its time limit, which comes with a log-in alone.
    // Poolers refuse or drop both: through one, log in as edge_functions itself.
    ...(!logsInAsDoors && { role: 'edge_functions', statement_timeout: 5000 }),
  }
  // Behind a pooler that gives each transaction another connection and keeps no prepared statements, `?prepare=false` in the URL turns
  // them off; a query is then two round trips.
  const pool = openPool(() => connectTo(url, { connection }), {
    connections: settings.databasePool,
    waitMilliseconds: 4000,
    // Longer than the 5 s after which Postgres ends a statement by itself.
    answerMilliseconds: 6000,
    idleMilliseconds: 60_000,
  })
  if (!logsInAsDoors) void warnOfOtherRole(pool)
  return pool
}

/** One statement of this instance. */
const ask: Query = (text, values) => (query ??= overConnections(connect()))(text, values)

/** The database with the rights of one caller; `strict` refuses unknown and deactivated accounts. */
export const actAs = (claims: Claims | null, strict: boolean): Rpc => async (text, ...values) => {
  const verb = text.reduce((sql, part, index) => `${sql}$${index + 1}${part}`)
  // One round trip. `case` makes the caller's identity precede the verb; the subquery, which Postgres cannot flatten because it is
  // volatile, makes the verb precede its aside.
  const [row] = await ask(
    `select reply.body, current_setting('api.response_metadata', true) as metadata
     from (select case when private.act_as($1::jsonb, ${strict}) then api.${verb}::text end as body) as reply`,
    [claims, ...values],
  )
  return { body: String(row?.body), metadata: row?.metadata ? JSON.parse(String(row.metadata)) : {} }
}

/** Calls one of the helpers that bring vectors or count turns, as the doors themselves: in nobody's name. Answers with its JSON. */
export const asService = async (text: TemplateStringsArray, ...values: unknown[]): Promise<string> => {
  const helper = text.reduce((sql, part, index) => `${sql}$${index}${part}`)
  const [row] = await ask(`select private.${helper}::text as body`, values)
  return String(row?.body)
}
