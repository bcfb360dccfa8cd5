import { createHash } from 'node:crypto'
import pg from 'pg'
import { ConnectionLoss, isConnectionRefusal, serviceUnavailable } from './errors.ts'

/** Runs one statement and returns its rows, each value as Postgres prints it. Objects are sent as JSON. */
export type Query = (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>

// As in libpq (https://www.postgresql.org/docs/17/libpq-ssl.html): `prefer` encrypts if it can, `require` always, and
// `verify-full` also checks the certificate and the host name.
const sslModes = ['disable', 'prefer', 'require', 'verify-full']

/** A parameter as text, whose type Postgres then takes from the statement. */
const asText = (value: unknown): string | null => {
  if (value === undefined) throw new TypeError('A parameter is undefined')
  if (value === null) return null
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** The name under which a statement is prepared: of its text, so that behind a pooler a name has one meaning. */
const nameOf = (text: string): string => createHash('sha256').update(text).digest('base64url')

// What a pooler that assigns a connection to each transaction answers to a statement that was prepared on another one.
const notPrepared = new Set(['26000', '42P05'])

/** Values stay text, so that bigints are exact and JSON is passed on as it came. */
const types = { getTypeParser: () => (text: string) => text }

/**
 * A pool that never hands one caller's rows to another. Each connection runs one statement at a time, nothing is
 * cancelled, and a connection on which a statement was given up is closed. A statement is one round trip
 * (tests/postgres/pooler.test.ts counts). Each connection prepares what it is sent, until a pooler answers that a
 * statement is not there, or already there: then nothing is prepared any more. Postgres enforces the statement timeout;
 * `query_timeout` is for silent connections. `ca` is the PEM of an authority that the runtime does not know.
 */
export const openPool = (url: string, { ca, ...config }: pg.PoolConfig & { ca?: string }): Query => {
  const target = new URL(url)
  const sslMode = target.searchParams.get('sslmode') ?? 'prefer'
  if (!sslModes.includes(sslMode)) throw new Error(`sslmode is "${sslMode}", and must be one of ${sslModes.join(', ')}`)
  target.search = ''

  const open = (isEncrypted: boolean): pg.Pool =>
    new pg.Pool({
      ...config,
      connectionString: target.href,
      application_name: 'edge_functions',
      types,
      ssl: isEncrypted && { rejectUnauthorized: sslMode === 'verify-full', ca },
    })
      // The pool removes a connection that was lost. Without listeners these events would end the process.
      .on('error', () => {})
      .on('connect', (client) => client.on('error', () => {}))
      .on('release', (_, client) => idle.add(client))
      .on('acquire', (client) => idle.delete(client))
      .on('remove', (client) => idle.delete(client))

  let prepares = true
  const idle = new Set<pg.PoolClient>()

  // `prefer` goes on without encryption if the handshake fails: Deno 2.1 always rejects unknown authorities.
  const choose = async (): Promise<pg.Pool> => {
    const pool = open(sslMode !== 'disable')
    if (sslMode !== 'prefer') return pool
    const client = await pool.connect().catch((error) => {
      if (/ssl|tls|certificate|issuer/i.test(String(error))) return null
      throw error
    })
    client?.release()
    return client ? pool : open(false)
  }
  let chosen: Promise<pg.Pool> | undefined
  const connect = async (): Promise<pg.PoolClient> => {
    chosen ??= choose().catch((error) => {
      chosen = undefined
      throw error
    })
    return await (await chosen).connect()
  }

  return async (text, values) => {
    const parameters = values.map(asText)
    const client = await connect().catch((error) => {
      if (error instanceof pg.DatabaseError) throw error
      if (error.message.startsWith('timeout exceeded')) return serviceUnavailable()
      throw new ConnectionLoss(error.message, { cause: error })
    })
    try {
      const { rows } = await client.query({ name: prepares ? nameOf(text) : undefined, text, values: parameters })
      client.release()
      return rows
    } catch (error) {
      // After an error of severity ERROR the connection is ready for the next statement. After others it may not be.
      const isReported = error instanceof pg.DatabaseError
      client.release(!(isReported && error.severity === 'ERROR'))
      if (isReported && notPrepared.has(error.code ?? '')) prepares = false
      if (isReported) throw error
      const loss = new ConnectionLoss((error as Error).message, { cause: error })
      // If this connection fell silent, idle ones have probably done so as well. The pool closes those with an error.
      if (loss.message === 'Query read timeout') idle.forEach((client) => client.emit('error', loss))
      throw loss
    }
  }
}

// Of a statement that met a migration, lost a deadlock or is not prepared: it was rolled back, and a retry succeeds.
const retryable = new Set([
  ...notPrepared,
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

export const retryOnce = (query: Query): Query => async (text, values) => {
  try {
    return await query(text, values)
  } catch (error) {
    // Poolers that have no connection left say XX000, too. Another attempt would only add to their load.
    if (isConnectionRefusal(error) || !retryable.has((error as { code?: string } | null)?.code ?? '')) throw error
    return await query(text, values)
  }
}
