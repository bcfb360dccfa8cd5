import { besideOthers, type Database } from './database.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string): string => Deno.readTextFileSync(new URL(path, root))

const literal = (value: string): string => `'${value.replaceAll("'", "''")}'`

const inOneTransaction = async (database: Database, script: string): Promise<void> => {
  try {
    await database.run(`begin;\n${script}\n;commit;`)
  } catch (error) {
    await database.run('rollback')
    throw error
  }
}

/** Applies the migrations that the database has not seen, as `supabase db push` would, each in a transaction of its own. */
export const migrate = async (database: Database): Promise<void> => {
  await database.run(`
    create schema if not exists supabase_migrations;
    create table if not exists supabase_migrations.schema_migrations (version text primary key);
    alter table supabase_migrations.schema_migrations add column if not exists statements text[];
    alter table supabase_migrations.schema_migrations add column if not exists name text;
    create table if not exists supabase_migrations.seed_files (path text primary key, hash text not null);
  `)
  const rows = await database.query('select version from supabase_migrations.schema_migrations', [])
  const applied = new Set(rows.map((row) => row.version))
  const files = [...Deno.readDirSync(new URL('supabase/migrations', root))].map((file) => file.name).sort()
  for (const file of files) {
    const [, version, name] = /^(\d+)_(.+)\.sql$/.exec(file) ?? []
    if (!version || !name || applied.has(version)) continue
    const script = `${read(`supabase/migrations/${file}`)}
      ;insert into supabase_migrations.schema_migrations (version, name) values (${literal(version)}, ${literal(name)})`
    await besideOthers(() => inOneTransaction(database, script))
  }
}

const worlds = {
  none: ['interests.sql'],
  demo: ['interests.sql', 'demo_people_1.sql', 'demo_people_2.sql', 'demo_conversations.sql'],
}

/** Fills a new database, once and as a whole; one that was seeded before stays as its people have left it. */
export const seed = async (database: Database, world: keyof typeof worlds): Promise<void> => {
  const before = await database.query('select from supabase_migrations.seed_files', [])
  if (before.length > 0) return
  const scripts = worlds[world].map((file) => {
    const record = `insert into supabase_migrations.seed_files (path, hash) values (${
      literal(`../sql/seed/${file}`)
    }, 'seed')`
    return `${read(`sql/seed/${file}`)};${record}`
  })
  await inOneTransaction(database, scripts.join(';\n'))
}
