import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { connected } from '../tools/postgres.ts'
import { platform } from '../tools/supabase.ts'
import { authEnvironment } from './auth_server.ts'
import { migrateStorage, storageFolder } from './storage_server.ts'

const template = 'project'

const asAdmin = (statement: string) =>
  connected(platform('postgres', 'supabase_admin'), (sql) => sql.unsafe(statement).then(() => {}))

// The stub of the platform, without its tables of Auth and Storage and the triggers that guard them.
const makeRoom = `
  drop schema auth cascade;
  create schema auth authorization supabase_auth_admin;
  grant usage on schema auth to postgres, anon, authenticated, service_role;
  alter role supabase_auth_admin set search_path = auth;
  grant create on database ${template} to supabase_auth_admin;
  alter default privileges for role supabase_auth_admin in schema auth grant all on tables to postgres, dashboard_user;
  alter default privileges for role supabase_auth_admin in schema auth grant all on sequences to postgres;
`
const makeRoomForStorage = (database: string) => `
  create schema storage authorization supabase_storage_admin;
  grant usage on schema storage to postgres, anon, authenticated, service_role;
  alter role supabase_storage_admin set search_path = storage;
  grant create on database ${database} to supabase_storage_admin;
  grant anon, authenticated, service_role to supabase_storage_admin;
  alter default privileges in schema storage grant all on tables to postgres, anon, authenticated, service_role;
  alter default privileges for role supabase_storage_admin in schema storage
    grant all on tables to postgres, anon, authenticated, service_role;
`

/** Makes a database with the migrations of Auth and Storage, and then with ours, as role postgres. */
export default async () => {
  await asAdmin(`create database ${template}`)
  const psql = `${process.env.PREFIX}/usr/lib/postgresql/17/bin/psql`
  const url = platform(template, 'supabase_admin')
  const runFile = (file: string) => execFileSync(psql, ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', file, url])
  runFile('tests/postgres/platform.sql')
  await connected(
    url,
    (sql) =>
      sql.unsafe(storageFolder ? `${makeRoom} drop schema storage cascade; ${makeRoomForStorage(template)}` : makeRoom),
  )
  execFileSync(process.env.AUTH_SERVER!, ['migrate'], {
    env: authEnvironment({ database: template, origin: 'http://127.0.0.1', port: 0, mailPort: 0 }),
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (storageFolder) migrateStorage(template)
  // Dropped with schema auth.
  runFile('tests/postgres/platform_guard.sql')
  await connected(platform(template), async (sql) => {
    for (const file of readdirSync('supabase/migrations').sort()) {
      await sql.unsafe(readFileSync(`supabase/migrations/${file}`, 'utf8'))
    }
    await sql.unsafe(
      readdirSync('sql/seed').filter((file) => file.includes('interests'))
        .map((file) => readFileSync(`sql/seed/${file}`, 'utf8')).join('\n'),
    )
  })
}

/** A copy of that database; returns its name. */
export const copyDatabase = async (): Promise<string> => {
  const name = `project_${randomUUID().slice(0, 8)}`
  await asAdmin(`create database ${name} template ${template}`)
  return name
}

/** A database with Storage's tables alone, for a local stack; returns its name. */
export const makeStorageDatabase = async (): Promise<string> => {
  const name = `demo_${randomUUID().slice(0, 8)}`
  await asAdmin(`create database ${name}`)
  await connected(platform(name, 'supabase_admin'), (sql) => sql.unsafe(makeRoomForStorage(name)))
  migrateStorage(name)
  return name
}
