import type { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite/vector'
import { pgtap } from '@electric-sql/pglite/pgtap'
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
import { CannotStart } from './settings.ts'

/** The stack's one database, as its parts use it. */
export interface Database {
  /** For @supabase/lite: Auth, Data API, dashboard. */
  connection: App['connection']
  /** Whatever uses `connection` goes through here. */
  gate: Mutex
  /** One statement as the owner. */
  query: Query
  /** A script as the owner. */
  run: (script: string) => Promise<void>
  /** A script as the owner; answers with the first column of every row that its statements return. */
  script: (script: string) => Promise<string[]>
  /** What the doors use; null where they connect by themselves, as `edgeUrl` says. */
  doors: Query | null
  edgeUrl: (password: string) => string | null
  /** Hears what the database says on a channel of NOTIFY; `gap` is called when something may have gone unheard. */
  listen: (channel: string, hear: (word: string) => void, gap: () => void) => Promise<void>
  close: () => Promise<void>
}

const firstColumn = (rows: unknown[]): string[] => rows.map((row) => String(Object.values(row as object)[0]))

// Changed by another meanwhile, made by another meanwhile (internal_error, which has no code of its own; duplicate_object; unique_violation).
const overtaken = new Set(['XX000', '42710', '23505'])

/**
 * Changes what another stack that starts may change as well, such as a role, which belongs to the whole server. Of two who do at once one
 * fails, and goes well the next time.
 */
export const besideOthers = async (change: () => Promise<void>, tries = 5): Promise<void> => {
  try {
    return await change()
  } catch (error) {
    if (tries === 1 || !overtaken.has((error as { code?: string }).code ?? '')) throw error
    await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 200))
    return await besideOthers(change, tries - 1)
  }
}

const mostParameters = 32_767

/** PGlite reads their number with a sign: of one answer with more it loses its place among all that follow, and nobody is answered any more. */
const limitParameters = (driver: PGlite): void => {
  const query = driver.query.bind(driver)
  driver.query = async (text, values, options) => {
    if (values && values.length > mostParameters) {
      // What Postgres says of more than it can count.
      throw Object.assign(new Error(`A statement may have ${mostParameters} parameters`), { code: '54023' })
    }
    return await query(text, values, options)
  }
}

/** Postgres in this process, kept in a folder or in memory. The settings are those of the Data API's connections. */
export const openPglite = async (
  dataDir: string | null,
  settings: Record<string, string> = {},
): Promise<Database> => {
  const kept = dataDir === null ? null : databaseFolder(dataDir)
  const connection = patchConnection(
    await createPgliteConnection({
      url: kept ? `file://${kept.folder}` : 'memory://',
      pgliteOptions: { extensions: { vector, pgtap, fuzzystrmatch, unaccent } },
    }),
  )
  const { driver } = connection
  try {
    await driver.waitReady
  } catch (error) {
    throw new CannotStart(`DATA_DIR ${dataDir} holds no database that can be opened: ${(error as Error).message}`)
  }
  kept?.made()
  limitParameters(driver)
  for (const [name, value] of Object.entries(settings)) {
    await driver.query('select set_config($1, $2, false)', [name, value])
  }
  const gate = createMutex()
  const query: Query = (text, values) =>
    gate(async () => (await driver.query<Record<string, unknown>>(text, values)).rows)
  return {
    connection: connection as unknown as App['connection'],
    gate,
    query,
    run: (script) => gate(async () => void await driver.exec(script)),
    script: (script) => gate(async () => (await driver.exec(script)).flatMap((result) => firstColumn(result.rows))),
    doors: query,
    edgeUrl: () => null,
    listen: (channel, hear) => gate(async () => void await driver.listen(channel, hear)),
    close: () => gate(() => connection.close()),
  }
}

// The platform's own limit for signed-in callers of the Data API, in milliseconds.
const timeLimit = { statement_timeout: 8000 }

// @supabase/lite hands JSON over as text. PGlite takes that as it is; postgres.js would wrap it into a JSON string once more, and the
// metadata of a new account would reach its trigger as one long string.
const written = (oid: number): postgres.PostgresType => ({
  to: oid,
  from: [oid],
  serialize: (value: unknown) => typeof value === 'string' ? value : JSON.stringify(value),
  parse: (text: string) => JSON.parse(text),
})
const json = written(114)
const jsonb = written(3802)

/** A Postgres server. The settings are those of the Data API's connections. */
export const openPostgres = async (url: string, settings: Record<string, string> = {}): Promise<Database> => {
  // A second at most from one attempt to the next, where postgres.js waits up to 20: whoever listens is to know soon that there was a gap.
  const backoff = (attempt: number): number => Math.min(3 ** attempt / 100, 1)
  const sql = postgres(url, { max: 1, connect_timeout: 5, backoff, fetch_types: false, onnotice: () => {} })
  try {
    const [found] = await sql`select exists (select from pg_available_extensions where name = 'vector') as vector`
    if (!found?.vector) throw new CannotStart('The database of DATABASE_URL has no pgvector; install that extension')
  } catch (error) {
    await sql.end({ timeout: 0 })
    if (error instanceof CannotStart) throw error
    throw new CannotStart(
      `The database of DATABASE_URL cannot be reached: ${
        (error as Error).message || (error as { code?: string }).code
      }`,
    )
  }
  const connection = patchConnection(
    createPostgresConnection({
      url,
      postgresOptions: { types: { json, jsonb }, connection: { ...timeLimit, ...settings }, onnotice: () => {} },
    }),
  )
  return {
    connection: connection as unknown as App['connection'],
    gate: (work) => work(),
    query: (text, values) => sql.unsafe(text, values as never[]),
    run: async (script) => void await sql.unsafe(script),
    script: async (script) =>
      ([await sql.unsafe(script)].flat() as (postgres.Row | postgres.Row[])[]).flatMap((result) =>
        firstColumn([result].flat())
      ),
    doors: null,
    edgeUrl: (password) => {
      const edge = new URL(url)
      edge.username = 'edge_functions'
      edge.password = password
      return edge.href
    },
    listen: async (channel, hear, gap) => {
      let connected = false
      // Called anew whenever the connection had to be made anew.
      await sql.listen(channel, hear, () => connected ? gap() : connected = true)
    },
    close: async () => {
      await connection.close()
      await sql.end({ timeout: 1 })
    },
  }
}
