import postgres from 'postgres'
import { settings } from './settings.ts'
import type { Claims } from './token.ts'

/** One statement and its parameters; answers with its rows. Objects go to json parameters. */
export type Query = (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>

/** What a verb answers: the JSON to send, as Postgres wrote it, and what else it tells the door. */
export interface Reply {
  body: string
  aside: { next?: number; replayed?: boolean; place?: Record<string, number> }
}

/** Calls one verb of schema `api` as the caller: db`send_message(${id}, ${draft})`. */
export type Verbs = (text: TemplateStringsArray, ...values: unknown[]) => Promise<Reply>

let query: Query | undefined

/** Lets a stack without a Postgres server (PGlite) stand in for the connection. */
export const provideQuery = (provided: Query): void => {
  query = provided
}

/** Callers get no more rights where the role was dropped on the way, since each statement becomes its caller; but the doors would have. */
const warnOfOtherRole = async (sql: postgres.Sql): Promise<void> => {
  const [row] = await sql`select current_user as role`.catch(() => [])
  if (!row || row.role === 'edge_functions') return
  console.warn(
    JSON.stringify({ message: 'The doors should log in as edge_functions: set EDGE_DATABASE_URL', role: row.role }),
  )
}

// Longer than the 5 s of their own, because here the wait for a connection counts, too.
const othersTimeLimit = 8000

const connect = (): Query => {
  const url = settings.databaseUrl
  if (!url) throw new Error('EDGE_DATABASE_URL or SUPABASE_DB_URL must be set')
  // A pooler's log-in carries the project after a full stop.
  const logsInAsDoors = /^edge_functions(\.|$)/.test(decodeURIComponent(new URL(url).username))
  const sql = postgres(url, {
    // Three connections beat ten and twenty on two cores: as many answers a second, a quarter of the p99.
    max: 3,
    idle_timeout: 60,
    connect_timeout: 5,
    // Whoever else the URL logs in as, the connection starts in the doors' own role. Poolers refuse or drop that: through one, log in as
    // edge_functions itself.
    connection: { application_name: 'edge_functions', ...(!logsInAsDoors && { role: 'edge_functions' }) },
    onnotice: () => {},
  })
  if (!logsInAsDoors) void warnOfOtherRole(sql)
  // Behind a pooler that gives each transaction another connection and keeps no prepared statements, `?prepare=false` in the URL turns
  // them off; a query is then two round trips.
  const ask: Query = (text, values) => sql.unsafe(text, values as never[], { prepare: true })
  if (logsInAsDoors) return ask
  // A log-in of their own brings the doors' time limit along. Another's does not, and poolers refuse who asks for one.
  return async (text, values) => {
    const asked = sql.unsafe(text, values as never[], { prepare: true })
    const late = setTimeout(() => asked.cancel(), othersTimeLimit)
    return await asked.finally(() => clearTimeout(late))
  }
}

// What a statement meets that was under way while a migration was committed, or that was chosen to give way to another: it left nothing
// behind, and the next try finds the world in order.
const passing = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  '42703', // undefined_column
  '42704', // undefined_object
  '42804', // datatype_mismatch
  '42883', // undefined_function
  '42P01', // undefined_table
  '0A000', // cached plan must not change result type
  'XX000', // cache lookup failed
])

/** One statement, which is atomic, and once more if what stopped it will have passed. */
const ask: Query = async (text, values) => {
  query ??= connect()
  try {
    return await query(text, values)
  } catch (error) {
    if (!passing.has((error as { code?: string } | null)?.code ?? '')) throw error
    return await query(text, values)
  }
}

/** The database with the rights of one caller; `strict` refuses unknown and deactivated accounts. */
export const actAs = (claims: Claims | null, strict: boolean): Verbs => async (text, ...values) => {
  const verb = text.reduce((sql, part, index) => `${sql}$${index + 1}${part}`)
  // One round trip. `case` makes the caller's identity precede the verb; the subquery, which Postgres cannot flatten because it is
  // volatile, makes the verb precede its aside.
  const [row] = await ask(
    `select reply.body, current_setting('api.aside', true) as aside
     from (select case when private.act_as($1::jsonb, ${strict}) then api.${verb}::text end as body) as reply`,
    [claims, ...values],
  )
  return { body: String(row?.body), aside: row?.aside ? JSON.parse(String(row.aside)) : {} }
}

/** Calls one of the helpers that bring vectors or count turns, as the doors themselves: in nobody's name. Answers with its JSON. */
export const asWorker = async (text: TemplateStringsArray, ...values: unknown[]): Promise<string> => {
  const helper = text.reduce((sql, part, index) => `${sql}$${index}${part}`)
  const [row] = await ask(`select private.${helper}::text as body`, values)
  return String(row?.body)
}
