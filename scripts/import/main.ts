/**
 * Brings users, profiles, conversations, messages and reservations of another service in, and tells nobody
 * (docs/migrate.md).
 *   npm run import -- FOLDER [--check] [--since=TIMESTAMP]     --check writes nothing; --since: only what changed since
 *   npm run import -- --schema                                 prints the JSON Schema of each file's lines
 * Into the database of DATABASE_URL, as its owner, or else of DATA_DIR, whose stack is stopped.
 */
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import postgres from 'postgres'
import type { Query } from '../../functions/_shared/postgres.ts'
import { CannotStart } from '../../supabase/local/cannot_start.ts'
import { openDataDir } from '../../supabase/local/data_dir.ts'
import { openPglite } from '../../supabase/local/database.ts'
import { readSettings } from '../../supabase/local/settings.ts'
import { jsonSchemas, kinds } from './format.ts'
import { load } from './load.ts'
import { fileOf } from './read.ts'

const openDatabase = async (): Promise<Query> => {
  const { databaseUrl, dataDir } = readSettings(Deno.env.toObject())
  if (!databaseUrl) {
    await openDataDir(dataDir, {})
    return (await openPglite(dataDir)).query
  }
  // Supavisor in transaction mode knows no prepared statements.
  const sql = postgres(databaseUrl, { max: 1, prepare: false, onnotice: () => {} })
  return (text, values) => sql.unsafe(text, values as never[])
}

try {
  const { values, positionals: [folder, ...more] } = parseArgs({
    allowPositionals: true,
    options: { check: { type: 'boolean' }, since: { type: 'string' }, schema: { type: 'boolean' } },
  })
  const since = values.since === undefined ? null : new Date(values.since)
  if (values.schema) {
    console.log(JSON.stringify(jsonSchemas(), null, 2))
    Deno.exit()
  }
  if (!folder || more.length > 0 || since && Number.isNaN(since.getTime())) {
    throw new CannotStart('Usage: npm run import -- FOLDER [--check] [--since=TIMESTAMP], or --schema')
  }
  if (!kinds.some((kind) => existsSync(fileOf(folder, kind)))) {
    throw new CannotStart(`${folder} has no file of an import, as users.jsonl (docs/migrate.md)`)
  }
  const query = await openDatabase()
  const [found] = await query(`select to_regproc('private.rebuild_inbox') is not null as is_ours`, [])
  if (!found?.is_ours) throw new CannotStart('The database has not this schema; start the service once, or push it')
  Deno.exitCode = await load(folder, query, since, values.check ?? false) ? 0 : 1
} catch (error) {
  // Of an error of the database only what says which row it means.
  const { message, detail = '' } = error as Error & { detail?: string }
  const stopped = `The import has stopped, and can be repeated: ${message} ${detail}`
  console.error(error instanceof CannotStart ? message : stopped)
  Deno.exitCode = 1
}
Deno.exit()
