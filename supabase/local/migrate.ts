import { type Database, retryOnConflict } from './database.ts'
import { CannotStart } from './cannot_start.ts'
import type { Settings } from './settings.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string): string => Deno.readTextFileSync(new URL(path, root))

const literal = (value: string): string => `'${value.replaceAll("'", "''")}'`

export const inOneTransaction = async (database: Database, script: string): Promise<void> => {
  try {
    await database.run(`begin;\n${script}\n;commit;`)
  } catch (error) {
    await database.run('rollback')
    throw error
  }
}

/** What of a migration's text is the same after the CLI has split it into statements. */
const essence = (text: string): string => text.replaceAll(/[ \t\r\n;]+/g, '')

/**
 * Applies pending migrations, as `supabase db push` does, each in its own transaction, or without one if it builds an
 * index concurrently. A database with a migration of another text, or one that is not here, is refused and stays as it
 * is.
 */
export const migrate = async (database: Database): Promise<void> => {
  await database.run(`
    create schema if not exists supabase_migrations;
    create table if not exists supabase_migrations.schema_migrations (
      version text primary key, statements text[], name text
    );
    create table if not exists supabase_migrations.seed_files (path text primary key, hash text not null);
  `)
  const rows = await database.query(
    `select version, array_to_string(statements, '') as text from supabase_migrations.schema_migrations`,
    [],
  )
  const applied = new Map(rows.map(({ version, text }) => [String(version), essence(String(text ?? ''))]))
  const migrations = [...Deno.readDirSync(new URL('supabase/migrations', root))]
    .flatMap(({ name: file }) => {
      const [, version, name] = /^(\d+)_(.+)\.sql$/.exec(file) ?? []
      return version && name ? [{ version, name, sql: read(`supabase/migrations/${file}`) }] : []
    })
    .sort((one, other) => one.version < other.version ? -1 : 1)
  const own = new Map(migrations.map(({ version, sql }) => [version, essence(sql)]))
  for (const [version, text] of applied) {
    if (own.get(version) === text) continue
    const wrong = own.has(version)
      ? 'was made by another text of a migration than the one of this folder'
      : 'has a migration that is not in this folder'
    throw new CannotStart(
      `The database ${wrong} (${version}); start from the folder that made it, ` +
        'or choose another DATA_DIR (or DATABASE_URL)',
    )
  }
  for (const { version, name, sql } of migrations) {
    if (applied.has(version)) continue
    console.log(`Applying migration ${version}_${name} …`)
    const record = `
      insert into supabase_migrations.schema_migrations (version, name, statements)
      values (${literal(version)}, ${literal(name)}, array[${literal(sql)}])`
    // Postgres builds it outside of a transaction only, where each statement must be sent alone.
    const isConcurrent = /\bindex concurrently\b/i.test(sql)
    if (isConcurrent) await database.run(sql)
    await retryOnConflict(() => inOneTransaction(database, isConcurrent ? record : `${sql};${record}`))
  }
}

const seeds = {
  none: ['interests.sql'],
  demo: ['interests.sql', 'demo_people_1.sql', 'demo_people_2.sql', 'demo_conversations.sql', 'demo_moderation.sql'],
}

/** Seeds a new database, in one transaction; does nothing if it was seeded before. */
export const seed = async (database: Database, settings: Settings): Promise<void> => {
  const isEmpty = async (table: string) => (await database.query(`select from ${table} limit 1`, [])).length === 0
  if (!await isEmpty('supabase_migrations.seed_files')) return
  // People who were imported must not be taken for those of the demo.
  const name = await isEmpty('public.users') ? settings.seed : 'none'
  if (name === 'demo') console.log('Adding 220 demo users and their conversations …')
  const scripts = seeds[name].map((file) => {
    const record = `insert into supabase_migrations.seed_files (path, hash) values (${
      literal(`../sql/seed/${file}`)
    }, 'seed')`
    // The seed names the default address of the portraits.
    return `${read(`sql/seed/${file}`).replaceAll('127.0.0.1:54321', `127.0.0.1:${settings.port}`)};${record}`
  })
  await inOneTransaction(database, scripts.join(';\n'))
}
