import { readdirSync, readFileSync } from 'node:fs'
import { connected, copyDatabase } from '../tools/postgres.ts'
import { type Outcome, platform, supabase } from '../tools/supabase.ts'

/** Builds `pushed` and `migrated`, and returns what the CLI says of the first. */
export const buildSchemas = async (): Promise<Outcome> => {
  const push = await supabase(['db', 'push', '--include-seed', '--yes', `--db-url=${platform('pushed')}`])
  await connected(platform('migrated'), async (sql) => {
    const files = readdirSync('sql/schema', { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.sql')
    )
    for (const file of files.sort()) await sql.unsafe(readFileSync(`sql/schema/${file}`, 'utf8'))
  })
  return push
}

/**
 * Creates the databases before the stack and all tests, one after the other, because roles are shared by the whole
 * server. Whoever needs another one asks for a copy of `migrated` (tests/tools/copies.ts).
 *   pushed     by `supabase db push` from the migrations
 *   migrated   from sql/schema, file by file, with the places; nobody connects to it, because a template must not be
 *              in use
 *   scripted   its copy for functions that start alone
 *   bare, postgres   the platform alone; only `postgres` has pg_cron
 */
export default async () => {
  const { code, stderr } = await buildSchemas()
  // The two then differ (schema.test.ts).
  if (code !== 0) console.error(stderr)
  await connected(
    platform('migrated'),
    (sql) => sql`select private.load_places(${readFileSync('sql/data/places.tsv', 'utf8')})`,
  )
  await copyDatabase('scripted')
}
