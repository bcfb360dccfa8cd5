import { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite/vector'
import { pgtap } from '@electric-sql/pglite/pgtap'
import { btree_gist } from '@electric-sql/pglite/contrib/btree_gist'
import { fuzzystrmatch } from '@electric-sql/pglite/contrib/fuzzystrmatch'
import { unaccent } from '@electric-sql/pglite/contrib/unaccent'
import type { App } from '@supabase/lite'
import { createPgliteConnection } from '@supabase/lite/pglite'
import { createPostgresConnection } from '@supabase/lite/postgres'
import postgres from 'postgres'
import type { Query } from '../../functions/_shared/postgres.ts'
import { databaseFolder } from './data_dir.ts'
import { createMutex, type Mutex } from './mutex.ts'
import { patchConnection } from './patched_connection.ts'
import { CannotStart } from './cannot_start.ts'

export interface Database {
  /** For @supabase/lite: Auth, Data API, dashboard. */
  connection: App['connection']
  /** Every use of `connection` holds it. */
  mutex: Mutex
  /** Runs one statement as the owner. */
  query: Query
  /** Runs a script as the owner; returns the first column of each row of its statements. */
  run: (script: string) => Promise<string[]>
  /** For the Edge Functions; null if they open their own connections, to `edgeUrl`. */
  functionsQuery: Query | null
  edgeUrl: (password: string) => string | null
  /** LISTEN. `onGap` is called when notifications may have been lost. */
  listen: (channel: string, onNotify: (payload: string) => void, onGap: () => void) => Promise<void>
  close: () => Promise<void>
}

const firstColumn = (rows: unknown[]): string[] => rows.map((row) => String(Object.values(row as object)[0]))

// internal_error ("tuple concurrently updated" has no code of its own), duplicate_object and unique_violation.
const conflicts = ['XX000', '42710', '23505']

/**
 * Retries a change that another starting stack may make at the same time, such as to a role, which belongs to the whole
 * server: of two such changes one fails, and succeeds when repeated.
 */
export const retryOnConflict = async (change: () => Promise<unknown>, tries = 5): Promise<void> => {
  try {
    await change()
  } catch (error) {
    if (tries === 1 || !conflicts.includes((error as { code?: string }).code ?? '')) throw error
    await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 200))
    return await retryOnConflict(change, tries - 1)
  }
}

// Object ids of the types.
const [json, jsonb, numeric, timestamp, timestamptz] = [114, 3802, 1700, 1114, 1184] as const

const maxParameters = 32_767

/**
 * PGlite reads the number of parameters as a signed 16-bit integer. After an answer with more it misreads all that
 * follow, and no statement is answered any more.
 */
const limitParameters = (driver: PGlite): void => {
  const query = driver.query.bind(driver)
  driver.query = async (text, values, options) => {
    if (values && values.length > maxParameters) {
      // too_many_arguments, as Postgres answers above its own limit.
      throw Object.assign(new Error(`A statement may have ${maxParameters} parameters`), { code: '54023' })
    }
    return await query(text, values, options)
  }
}

/**
 * After a PANIC PGlite's module is aborted, and PGlite would call it for ever, on this thread. As a server of Postgres
 * would, the process ends; what was acknowledged is in the WAL.
 */
const endOnPanic = (driver: PGlite): void => {
  for (const name of ['execProtocol', 'execProtocolStream'] as const) {
    const send = driver[name].bind(driver) as (...args: Parameters<PGlite[typeof name]>) => Promise<never>
    driver[name] = (...args: Parameters<PGlite[typeof name]>) =>
      send(...args).catch((error) => {
        if (error.severity !== 'PANIC') throw error
        console.error(
          `The database has stopped, and the service with it: ${error.message}. Make room, and start again.`,
        )
        Deno.exit(1)
      })
  }
}

/**
 * A timestamp as PostgREST prints it, 2026-11-22T04:17:56.931623+00:00. @supabase/lite prints what the driver returns,
 * which is Postgres' own format: 2026-11-22 04:17:56.931623+00.
 */
export const isoTimestamp = (text: string): string =>
  text.replace(
    /^(\S+) (\d\d:\d\d:\d\d(?:\.\d+)?)(?:([+-]\d\d)((?::\d\d)*))?/,
    (_, date, time, hours, rest) => `${date}T${time}${hours ? `${hours}${rest || ':00'}` : ''}`,
  )

export const openPglite = async (dataDir: string | null): Promise<Database> => {
  const stored = dataDir === null ? null : databaseFolder(dataDir)
  if (stored?.isNew) console.log(`Making a database in ${dataDir}, once; this takes about ten seconds …`)
  const connection = patchConnection(
    await createPgliteConnection({
      url: stored ? `file://${stored.folder}` : 'memory://',
      pgliteOptions: {
        // PGlite touches all of its buffers at the start, so Postgres's default of 128 MB costs 120 MB for nothing: the
        // demo world's searches and lists take as long with these.
        startParams: [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB'],
        extensions: { vector, pgtap, btree_gist, fuzzystrmatch, unaccent },
        parsers: { [timestamp]: isoTimestamp, [timestamptz]: isoTimestamp, [numeric]: Number },
      },
    }),
  )
  const { driver } = connection
  try {
    await driver.waitReady
  } catch (error) {
    throw new CannotStart(
      `DATA_DIR ${dataDir} holds no database that can be opened: ${(error as Error).message.split('\n')[0]}; ` +
        'restore it from a backup, or move the folder away to start anew',
    )
  }
  stored?.initialized()
  limitParameters(driver)
  endOnPanic(driver)
  const mutex = createMutex()
  const query: Query = (text, values) =>
    mutex(async () => (await driver.query<Record<string, unknown>>(text, values)).rows)
  return {
    connection: connection as unknown as App['connection'],
    mutex,
    query,
    run: (script) => mutex(async () => (await driver.exec(script)).flatMap((result) => firstColumn(result.rows))),
    functionsQuery: query,
    edgeUrl: () => null,
    listen: (channel, onNotify) => mutex(async () => void await driver.listen(channel, onNotify)),
    close: () => mutex(() => connection.close()),
  }
}

// As on the platform for signed-in callers of the Data API, in milliseconds.
const timeout = { statement_timeout: 8000 }

// @supabase/lite passes JSON as text. PGlite takes it as it is; postgres.js would encode it again, and the metadata of
// a new account would reach its trigger as one JSON string.
const serializeJson = (value: unknown) => typeof value === 'string' ? value : JSON.stringify(value)
const typeOf = (oid: number, parse: (text: string) => unknown, serialize = (value: unknown) => value) => ({
  to: oid,
  from: [oid],
  parse,
  serialize,
})
const types = {
  json: typeOf(json, JSON.parse, serializeJson),
  jsonb: typeOf(jsonb, JSON.parse, serializeJson),
  numeric: typeOf(numeric, Number, String),
  timestamp: typeOf(timestamp, isoTimestamp),
  timestamptz: typeOf(timestamptz, isoTimestamp),
}

export const openPostgres = async (url: string): Promise<Database> => {
  // Wait 1 s at most between attempts, where postgres.js waits up to 20 s: listeners should learn of a gap soon.
  const backoff = (attempt: number): number => Math.min(3 ** attempt / 100, 1)
  const sql = postgres(url, { max: 1, connect_timeout: 5, backoff, fetch_types: false, onnotice: () => {} })
  try {
    const [found] = await sql`select exists (select from pg_available_extensions where name = 'vector') as vector`
    if (!found?.vector) throw new CannotStart('The database of DATABASE_URL has no pgvector; install that extension')
  } catch (error) {
    await sql.end({ timeout: 0 })
    if (error instanceof CannotStart) throw error
    const { message, code } = error as Error & { code?: string }
    throw new CannotStart(`The database of DATABASE_URL cannot be reached: ${message || code}`)
  }
  const connection = patchConnection(
    createPostgresConnection({
      url,
      postgresOptions: { types, connection: timeout, onnotice: () => {} },
    }),
  )
  return {
    connection: connection as unknown as App['connection'],
    mutex: (work) => work(),
    query: (text, values) => sql.unsafe(text, values as never[]),
    run: async (script) =>
      ([await sql.unsafe(script)].flat() as (postgres.Row | postgres.Row[])[]).flatMap((result) =>
        firstColumn([result].flat())
      ),
    functionsQuery: null,
    edgeUrl: (password) => {
      const edge = new URL(url)
      edge.username = 'edge_functions'
      edge.password = password
      return edge.href
    },
    listen: async (channel, onNotify, onGap) => {
      let connected = false
      // postgres.js calls the third argument after every reconnect.
      await sql.listen(channel, onNotify, () => connected ? onGap() : connected = true)
    },
    close: async () => {
      await connection.close()
      await sql.end({ timeout: 1 })
    },
  }
}
