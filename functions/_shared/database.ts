import postgres from 'postgres'
import { log } from './log.ts'
import { isCut, refuseBusy } from './problem.ts'
import { settings } from './settings.ts'
import { surviveCuts } from './survive_cuts.ts'
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
  log('warn', 'The doors should log in as edge_functions: set EDGE_DATABASE_URL', { role: row.role })
}

// Longer than the 5 s after which Postgres ends the doors' statements, because here the wait for a connection counts, too.
const othersTimeLimit = 7000
const timeLimit = 8000

/** As a cut: of a connection that is silent nobody can tell whether it still is one. */
class NoAnswer extends Error {
  code = 'NO_ANSWER'
}

// What cancel() of postgres.js 3.4.9 calls as well; but it drops the promise, and where Postgres cannot be reached that ends the process.
const cancel = (asked: Promise<unknown>): void => {
  const { canceller } = asked as unknown as { canceller: ((query: unknown) => Promise<void>) | null }
  canceller?.(asked).catch(() => {})
}

const connect = (): Query => {
  const url = settings.databaseUrl
  if (!url) throw new Error('EDGE_DATABASE_URL or SUPABASE_DB_URL must be set')
  // A pooler's log-in carries the project after a full stop.
  const logsInAsDoors = /^edge_functions(\.|$)/.test(decodeURIComponent(new URL(url).username))
  surviveCuts()
  const sql = postgres(url, {
    // Three beat ten and twenty on two cores: as many answers a second, a quarter of the p99 (npm run bench -- --pools=3,10,20 --only=/messages).
    max: settings.databasePool,
    idle_timeout: 60,
    connect_timeout: 5,
    // At most half a second from one attempt to the next, where postgres.js waits up to 20: that long after an outage it would be one still.
    backoff: (attempt: number) => Math.min(3 ** attempt / 100, 0.5),
    // Nothing here is an array. Asked for their types as it opens, a connection that is cut then takes the whole process with it.
    fetch_types: false,
    // Whoever else the URL logs in as, the connection starts in the doors' own role. Poolers refuse or drop that: through one, log in as
    // edge_functions itself.
    connection: { application_name: 'edge_functions', ...(!logsInAsDoors && { role: 'edge_functions' }) },
    onnotice: () => {},
  })
  if (!logsInAsDoors) void warnOfOtherRole(sql)
  let answered = 0
  // Behind a pooler that gives each transaction another connection and keeps no prepared statements, `?prepare=false` in the URL turns
  // them off; a query is then two round trips.
  const run: Query = async (text, values) => {
    const asked = sql.unsafe(text, values as never[], { prepare: true })
    const { promise: late, reject } = Promise.withResolvers<never>()
    // A log-in of the doors' own brings their time limit along. Another's does not, and poolers refuse who asks for one.
    const ending = logsInAsDoors ? undefined : setTimeout(() => cancel(asked), othersTimeLimit)
    const giveUp = setTimeout(() => {
      reject(new NoAnswer('The database did not answer in time'))
      // What was told that it failed is not to be done after all, if it has not begun.
      cancel(asked)
    }, timeLimit)
    const begun = performance.now()
    try {
      const rows = await Promise.race([asked, late])
      answered = performance.now()
      return rows
    } catch (error) {
      // Where others were answered meanwhile, this one only waited for its turn, and nothing is wrong with the connections.
      if (error instanceof NoAnswer && answered > begun) throw error
      // postgres.js 3.4.9 may take a connection that was cut for one in use, and what is asked on it then is never sent and never fails
      // (porsager/postgres#1208). So where one is cut, all are let go and new ones opened. Whatever else is under way keeps its own time.
      if (isCut(error)) {
        if (query === run) query = undefined
        sql.end({ timeout: timeLimit / 1000 }).catch(() => {})
      }
      throw error
    } finally {
      clearTimeout(ending)
      clearTimeout(giveUp)
    }
  }
  return run
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

/** How many statements run or wait for a connection; for the metrics. */
export const statements = { underWay: 0 }

/** Lets in what the connections can take and so many more as may wait; the next is sent away (503), rather than all answered late. */
const inTurn = async <Answer>(work: () => Promise<Answer>): Promise<Answer> => {
  if (statements.underWay >= settings.databasePool + settings.databaseQueue) {
    refuseBusy()
  }
  statements.underWay++
  try {
    return await work()
  } finally {
    statements.underWay--
  }
}

/** One statement, which is atomic, and once more if what stopped it will have passed. */
const ask: Query = (text, values) => {
  const run = query ??= connect()
  return inTurn(async () => {
    try {
      return await run(text, values)
    } catch (error) {
      if (!passing.has((error as { code?: string } | null)?.code ?? '')) throw error
      return await run(text, values)
    }
  })
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
