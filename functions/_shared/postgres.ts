import postgres from 'postgres'
import { openSocket, readTarget } from './postgres_socket.ts'
import { isConnectionLoss, isConnectionRefusal, serviceUnavailable } from './errors.ts'
import { settings } from './settings.ts'

/** Runs one statement and returns its rows. Objects are sent as JSON. */
export type Query = (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>

/** A connection as the pool sees it. */
export interface Connection {
  query: Query
  isOpen: () => boolean
  /** Closes it at once. Running statements reject, and late results are dropped. */
  close: () => void
}

export interface PoolLimits {
  connections: number
  /** How long a statement may wait for a connection. After that it is refused with 503 without having been sent. */
  waitMilliseconds: number
  /** How long a statement may take, including the opening of a new connection. */
  answerMilliseconds: number
  /** How long an idle connection stays open. */
  idleMilliseconds: number
}

/** Milliseconds until a connection must be open. */
const connectTimeout = 5000

/** A parameter as text, whose type Postgres then takes from the statement. */
const asText = (value: unknown): string | null => {
  if (value === undefined) throw new TypeError('A parameter is undefined')
  if (value === null) return null
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/**
 * One round trip, and nothing prepared, so that it works through poolers that assign a connection to each transaction.
 * Given arguments, postgres.js 3.4.9 asks for their types first, which is a second round trip for every statement that
 * it has not prepared. It sends all at once if the query has its parameters already. tests/postgres/round_trips.test.ts
 * counts.
 */
const send = async (sql: postgres.Sql, text: string, values: unknown[]): Promise<Record<string, unknown>[]> => {
  const query = sql.unsafe(text, [], { prepare: false, ...{ simple: false } })
  return await Object.assign(query, { parameters: values.map(asText) })
}

/** One postgres.js connection, which opens at its first statement. */
export const connectTo = (url: string, options: postgres.Options<Record<string, never>>): Connection => {
  let isOpen = true
  const closing = new AbortController()
  const target = readTarget(url, settings.databaseCertificateAuthority)
  const sql = postgres(url, {
    max: 1,
    // The socket is encrypted already where it must be. An option that the types do not know.
    ssl: false,
    ...{ socket: () => openSocket(target, AbortSignal.any([closing.signal, AbortSignal.timeout(connectTimeout)])) },
    connect_timeout: connectTimeout / 1000,
    // We pass no arrays. If postgres.js fetches their types and the connection is lost meanwhile, the process crashes.
    fetch_types: false,
    // The pool closes idle connections. This closes one that postgres.js reopens after `end`.
    idle_timeout: 90,
    max_lifetime: null,
    backoff: (attempt: number) => Math.min(3 ** attempt / 100, 0.5),
    onnotice: () => {},
    onclose: () => isOpen = false,
    ...options,
  })
  return {
    query: (text, values) => send(sql, text, values),
    isOpen: () => isOpen,
    close: () => {
      isOpen = false
      closing.abort()
      sql.end({ timeout: 0 }).catch(() => {})
    },
  }
}

/** Counts as a connection loss: a silent connection cannot be told from a dead one. */
class NoAnswer extends Error {
  code = 'NO_ANSWER'
}

/**
 * A pool that never hands one caller's rows to another. Each connection runs one statement at a time, so nothing is
 * pipelined, and a connection on which a statement was abandoned is closed and not reused. The pool cancels nothing:
 * postgres.js 3.4.9 forgets a statement that is cancelled while it waits in a pipeline, and gives its rows to the next
 * one (docs/reliability.md). Postgres enforces the statement timeout; `answerMilliseconds` is for silent connections.
 */
export const openPool = (connect: () => Connection, limits: PoolLimits): Query => {
  const idle: { connection: Connection; timer: ReturnType<typeof setTimeout> }[] = []
  const waiting = new Set<(connection: Connection) => void>()
  let inUse = 0

  /** The idle connection that was used last, or a new one. */
  const takeConnection = (): Connection => {
    for (let entry = idle.pop(); entry; entry = idle.pop()) {
      clearTimeout(entry.timer)
      if (entry.connection.isOpen()) return entry.connection
    }
    return connect()
  }

  const acquire = async (): Promise<Connection | null> => {
    if (inUse < limits.connections) {
      const connection = takeConnection()
      inUse++
      return connection
    }
    return await new Promise((resolve) => {
      const take = (connection: Connection) => {
        clearTimeout(timer)
        resolve(connection)
      }
      const timer = setTimeout(() => {
        waiting.delete(take)
        resolve(null)
      }, limits.waitMilliseconds)
      waiting.add(take)
    })
  }

  const keepIdle = (connection: Connection): void => {
    const timer = setTimeout(() => {
      idle.splice(idle.indexOf(entry), 1)
      connection.close()
    }, limits.idleMilliseconds)
    const entry = { connection, timer }
    idle.push(entry)
  }

  const release = (connection: Connection): void => {
    const [next] = waiting
    if (next) {
      waiting.delete(next)
      return next(connection.isOpen() ? connection : connect())
    }
    inUse--
    if (connection.isOpen()) keepIdle(connection)
  }

  const closeIdle = (): void => {
    for (const entry of idle.splice(0)) {
      clearTimeout(entry.timer)
      entry.connection.close()
    }
  }

  return async (text, values) => {
    const connection = await acquire() ?? serviceUnavailable()
    const { promise: silence, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(new NoAnswer('The database did not answer')), limits.answerMilliseconds)
    try {
      const rows = await Promise.race([connection.query(text, values), silence])
      release(connection)
      return rows
    } catch (error) {
      // After an error of severity ERROR the connection is ready for the next statement. After others it may not be.
      if (!(error instanceof postgres.PostgresError && error.severity === 'ERROR')) connection.close()
      // The idle connections are probably lost as well. Not so if the server has closed this one: it does that to
      // anonymous callers (private.act_as), and the pool notices closed connections by itself.
      if (isConnectionLoss(error) && (error as { code?: string }).code !== 'CONNECTION_CLOSED') closeIdle()
      release(connection)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
}

// Errors of a statement that ran while a migration committed, or that lost a deadlock. It was rolled back, and a retry
// succeeds.
const retryable = new Set([
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

/** Retries a statement once after a transient error. */
export const retryOnce = (query: Query): Query => async (text, values) => {
  try {
    return await query(text, values)
  } catch (error) {
    // Poolers that have no connection left say XX000, too. Another attempt would only add to their load.
    if (isConnectionRefusal(error) || !retryable.has((error as { code?: string } | null)?.code ?? '')) throw error
    return await query(text, values)
  }
}

/** The number of statements that run or wait for a connection, for the metrics. */
export const statements = { inFlight: 0 }

/** Refuses statements beyond the limit with 503, so that the others are answered in time. */
export const limitInFlight = (query: Query, max: number): Query => async (text, values) => {
  if (statements.inFlight >= max) serviceUnavailable()
  statements.inFlight++
  try {
    return await query(text, values)
  } finally {
    statements.inFlight--
  }
}
