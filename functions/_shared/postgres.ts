import postgres from 'postgres'
import { openSocket, type SslMode, sslModes } from './postgres_socket.ts'
import { isConnectionLoss, serviceUnavailable } from './errors.ts'
import { settings } from './settings.ts'

/** One statement and its parameters; answers with its rows. Objects go to json parameters. */
export type Query = (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>

/** A connection to Postgres, and all that a pool needs to know of it. */
export interface Connection {
  query: Query
  isOpen: () => boolean
  /** Ends it at once. What it was asked fails; what Postgres still answers reaches nobody. */
  close: () => void
}

export interface Limits {
  connections: number
  /** How long a statement may wait for a connection. After that it is refused with 503, and was never sent. */
  waitMilliseconds: number
  /** How long a connection may take to answer and, where it is new, to open. */
  answerMilliseconds: number
  /** How long a connection that nobody uses stays open. */
  idleMilliseconds: number
}

/** Milliseconds until a connection must be open. */
const connectTimeout = 5000

/** The `sslmode` of a connection string, `prefer` if it has none. Throws on an unknown one. */
const sslModeOf = (url: URL): SslMode => {
  const mode = url.searchParams.get('sslmode') ?? 'prefer'
  const known = sslModes.find((one) => one === mode)
  if (!known) throw new Error(`sslmode is "${mode}", and must be one of ${sslModes.join(', ')}`)
  return known
}

/** One connection, opened when it is first asked something. `options` are of postgres.js. */
export const connectTo = (url: string, options: postgres.Options<Record<string, never>>): Connection => {
  let isOpen = true
  const closing = new AbortController()
  const address = new URL(url)
  const target = {
    host: address.hostname.replace(/^\[|\]$/g, ''),
    port: Number(address.port) || 5432,
    mode: sslModeOf(address),
    certificateAuthority: settings.databaseCertificateAuthority,
  }
  const sql = postgres(url, {
    max: 1,
    ssl: false,
    // An option that its types do not know.
    ...{ socket: () => openSocket(target, AbortSignal.any([closing.signal, AbortSignal.timeout(connectTimeout)])) },
    connect_timeout: connectTimeout / 1000,
    // Nothing here is an array. Asked for their types as it opens, a connection that is cut then takes the whole process with it.
    fetch_types: false,
    // The pool closes what is idle. This is for a connection that postgres.js opens once more after it was told to end.
    idle_timeout: 90,
    max_lifetime: null,
    backoff: (attempt: number) => Math.min(3 ** attempt / 100, 0.5),
    onnotice: () => {},
    onclose: () => isOpen = false,
    ...options,
  })
  return {
    query: (text, values) => sql.unsafe(text, values as never[], { prepare: true }),
    isOpen: () => isOpen,
    close: () => {
      isOpen = false
      closing.abort()
      sql.end({ timeout: 0 }).catch(() => {})
    },
  }
}

/** Counts as a lost connection: of one that is silent nobody can tell whether it still is one. */
class NoAnswer extends Error {
  code = 'NO_ANSWER'
}

/**
 * A pool in which nobody receives another's answer: a connection has one statement at a time, so nothing waits inside it behind somebody
 * else's, and a connection on which a statement was given up is closed and never used again. Nothing is cancelled from here: postgres.js 3.4.9
 * forgets a statement that is cancelled while it waits in a pipeline, and hands its answer to the next one (docs/reliability.md). Time limits
 * are Postgres's own; `answerMilliseconds` is for connections that have gone silent.
 */
export const openPool = (connect: () => Connection, limits: Limits): Query => {
  const idle: { connection: Connection; timer: ReturnType<typeof setTimeout> }[] = []
  const waiting = new Set<(connection: Connection) => void>()
  let inUse = 0

  /** An idle connection, the one that was used last first, or a new one. */
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
      // With this severity Postgres has refused the statement and is ready for the next. Whatever else went wrong, it may not be.
      if (!(error instanceof postgres.PostgresError && error.severity === 'ERROR')) connection.close()
      // What cut this connection has probably cut those that are idle.
      if (isConnectionLoss(error)) closeIdle()
      release(connection)
      throw error
    } finally {
      clearTimeout(timer)
    }
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

/** Asks once more where what stopped a statement will have passed. */
export const retryOnce = (query: Query): Query => async (text, values) => {
  try {
    return await query(text, values)
  } catch (error) {
    if (!passing.has((error as { code?: string } | null)?.code ?? '')) throw error
    return await query(text, values)
  }
}

/** How many statements run or wait for a connection; for the metrics. */
export const statements = { underWay: 0 }

/** Lets so many statements run or wait; the next is refused with 503, rather than all answered late. */
export const limitUnderWay = (query: Query, most: number): Query => async (text, values) => {
  if (statements.underWay >= most) serviceUnavailable()
  statements.underWay++
  try {
    return await query(text, values)
  } finally {
    statements.underWay--
  }
}
