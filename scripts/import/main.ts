/**
 * Brings users, profiles, conversations, messages and reservations of another service in, and tells nobody
 * (docs/migrate.md).
 *   npm run import -- FOLDER [--check] [--since=TIMESTAMP]     --check writes nothing; --since: only what changed since
 *   npm run import -- --schema                                 prints the JSON Schema of each file's lines
 * Into the database of DATABASE_URL, as its owner, or else of DATA_DIR, whose stack is stopped.
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import postgres from 'postgres'
import type { Query } from '../../functions/_shared/postgres.ts'
import { CannotStart } from '../../supabase/local/cannot_start.ts'
import { openDataDir } from '../../supabase/local/data_dir.ts'
import { openPglite } from '../../supabase/local/database.ts'
import { readSettings } from '../../supabase/local/settings.ts'
import { check } from './check.ts'
import { jsonSchemas, kinds } from './format.ts'
import { load } from './load.ts'

const openDatabase = async (): Promise<{ query: Query; close: () => Promise<void> }> => {
  const { databaseUrl, dataDir } = readSettings(Deno.env.toObject())
  if (!databaseUrl) {
    await openDataDir(dataDir, {})
    return await openPglite(dataDir)
  }
  // Supavisor in transaction mode knows no prepared statements.
  const sql = postgres(databaseUrl, { max: 1, prepare: false, onnotice: () => {} })
  return { query: (text, values) => sql.unsafe(text, values as never[]), close: () => sql.end() }
}

const number = (value: number): string => value.toLocaleString('en')

const run = async (folder: string, isCheck: boolean, since: Date | null): Promise<boolean> => {
  const { query, close } = await openDatabase()
  try {
    const [found] = await query(`select to_regprocedure('private.rebuild_inbox()') is not null as is_ours`, [])
    if (!found?.is_ours) throw new CannotStart('The database has not this schema; start the service once, or push it')
    let amiss = 0
    const counts = await check(folder, query, ({ file, line, reason }) => {
      if (amiss++ < 1000) console.log(`${file}:${line}: ${reason}`)
    })
    console.log(kinds.map((kind) => `${number(counts[kind]!)} ${kind}`).join(', '))
    if (amiss > 0) console.log(`${number(amiss)} lines do not fit; nothing was written`)
    if (amiss > 0 || isCheck) return amiss === 0

    const findings = await load(folder, query, since, (kind, done) => {
      const progress = done > 0 ? `${kind}: ${number(done)} of ${number(counts[kind]!)}` : kind
      if (Deno.stdout.isTerminal()) process.stdout.write(`\r\x1b[K${progress}`)
      else if (done % 100_000 === 0) console.log(progress)
    })
    console.log(`\nAudit: ${Object.entries(findings).map(([name, count]) => `${name} ${count}`).join(', ')}`)
    return Object.values(findings).every((count) => Number(count) === 0)
  } finally {
    await close()
  }
}

try {
  const { values, positionals: [folder, ...more] } = parseArgs({
    args: Deno.args,
    allowPositionals: true,
    options: { check: { type: 'boolean' }, since: { type: 'string' }, schema: { type: 'boolean' } },
  })
  const since = values.since === undefined ? null : new Date(values.since)
  if (values.schema) console.log(JSON.stringify(jsonSchemas(), null, 2))
  else if (!folder || more.length > 0 || since && Number.isNaN(since.getTime())) {
    throw new CannotStart('Usage: npm run import -- FOLDER [--check] [--since=TIMESTAMP], or --schema')
  } else if (!await run(folder, values.check ?? false, since)) Deno.exitCode = 1
} catch (error) {
  // Of an error of the database only what says which row it means.
  const { message, detail = '' } = error as Error & { detail?: string }
  const stopped = `The import has stopped, and can be repeated: ${message} ${detail}`
  console.error(error instanceof CannotStart ? message : stopped)
  Deno.exitCode = 1
}
Deno.exit()
