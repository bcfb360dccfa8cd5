import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { openMailServer } from '../notifications/receivers.ts'
import { connected } from '../tools/postgres.ts'
import { openProxy } from '../tools/proxy.ts'
import { serveFunction } from '../tools/serve_function.ts'
import { testKeys } from '../tools/stack.ts'
import { platform } from '../tools/supabase.ts'
import { migrate, roleToken, startAuth, startStorage } from './servers.ts'

// The stub of the platform, without its tables of Auth and Storage and the triggers that guard them.
const makeRoom = (database: string) => `
  drop schema auth cascade;
  create schema auth authorization supabase_auth_admin;
  grant usage on schema auth to postgres, anon, authenticated, service_role;
  alter role supabase_auth_admin set search_path = auth;
  alter default privileges for role supabase_auth_admin in schema auth grant all on tables to postgres, dashboard_user;
  alter default privileges for role supabase_auth_admin in schema auth grant all on sequences to postgres;
  drop schema storage cascade;
  create schema storage authorization supabase_storage_admin;
  grant usage on schema storage to postgres, anon, authenticated, service_role;
  alter role supabase_storage_admin set search_path = storage;
  grant create on database ${database} to supabase_auth_admin, supabase_storage_admin;
  grant anon, authenticated, service_role to supabase_storage_admin;
  alter default privileges in schema storage grant all on tables to postgres, anon, authenticated, service_role;
  alter default privileges for role supabase_storage_admin in schema storage
    grant all on tables to postgres, anon, authenticated, service_role;
`

/** Makes a database with the migrations of Auth and Storage, and then with ours, as role postgres. */
const makeDatabase = async (name: string): Promise<void> => {
  await connected(platform('postgres', 'supabase_admin'), (sql) => sql.unsafe(`create database ${name}`).then(() => {}))
  const url = platform(name, 'supabase_admin')
  const psql = `${process.env.PREFIX}/usr/lib/postgresql/17/bin/psql`
  const runFile = (file: string) => execFileSync(psql, ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', file, url])
  runFile('tests/postgres/platform.sql')
  await connected(url, (sql) => sql.unsafe(makeRoom(name)))
  migrate(name)
  // Dropped with schema auth.
  runFile('tests/postgres/platform_guard.sql')
  const seed = readdirSync('sql/seed').filter((file) => file.includes('interests')).map((file) => `sql/seed/${file}`)
  const migrations = readdirSync('supabase/migrations').sort().map((file) => `supabase/migrations/${file}`)
  await connected(platform(name), async (sql) => {
    for (const file of [...migrations, ...seed]) await sql.unsafe(readFileSync(file, 'utf8'))
  })
}

/** A project: a database, Auth, Storage, a mail server, the Edge Functions, and one origin for all. */
export default async (project: TestProject) => {
  const { EMAIL_CONFIRMATION } = project.config.env
  const confirmation = EMAIL_CONFIRMATION === 'on'
  const database = `project_${EMAIL_CONFIRMATION}`
  await makeDatabase(database)
  const files = mkdtempSync(join(tmpdir(), 'storage-'))
  const mails = join(files, 'mails')
  writeFileSync(mails, '')
  // As the local stack prints them.
  const mail = await openMailServer(0, ({ recipients: [to], html, text }) => {
    const link = (html ?? text ?? '').replaceAll('&amp;', '&').replaceAll(/["<>]/g, ' ')
    appendFileSync(mails, `To: ${to!.toLowerCase()}\n${link}\n`)
  })
  const mailPort = Number(new URL(mail.url).port)
  const { publishableKey, secretKey } = testKeys
  const tokens = new Map([[publishableKey, await roleToken('anon')], [secretKey, await roleToken('service_role')]])
  const routes = new Map<string, string>()
  // As the platform's gateway it exchanges API keys for tokens of a role, though not for functions.
  const { origin, close } = await openProxy(({ url, headers }) => {
    const [path, target] = [...routes].find(([path]) => url!.startsWith(path)) ?? ['', 'http://127.0.0.1:1']
    const { host: _, ...others } = headers
    const token = tokens.get((headers.authorization ?? `Bearer ${headers.apikey}`).replace('Bearer ', ''))
    const exchanged = token && !path.startsWith('/functions/') && { authorization: `Bearer ${token}` }
    return {
      target: new URL(target + url!.slice(path.length)),
      headers: { 'x-forwarded-for': '127.0.0.1', ...others, ...exchanged },
    }
  })
  const env = { GOTRUE_MAILER_AUTOCONFIRM: String(!confirmation) }
  const auth = await startAuth({ database, origin, mailPort, env })
  const storage = await startStorage({ database, files })
  routes.set('/auth/v1', auth.origin).set('/storage/v1', storage.origin)
  const unlimited = ['SIGNUP', 'LOGIN', 'REFRESH', 'RECOVER', 'PROFILE', 'SEND', 'OPEN']
  const functions = await Promise.all(['auth', 'users', 'conversations'].map(async (name) => {
    const served = await serveFunction(`functions/${name}/index.ts`, {
      SUPABASE_URL: origin,
      SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: publishableKey }),
      SUPABASE_SECRET_KEYS: JSON.stringify({ default: secretKey }),
      SUPABASE_DB_URL: platform(database),
      ...Object.fromEntries(unlimited.map((limit) => [`RATE_LIMIT_${limit}`, 'off'])),
    })
    routes.set(`/functions/v1/${name}`, `${served.base}/${name}`)
    return served
  }))
  project.provide('stack', { base: `${origin}/functions/v1`, origin, dashboard: '', ...testKeys })
  project.provide('supplied', { databaseUrl: platform(database, 'supabase_admin'), mails, confirmation })
  return async () => {
    for (const one of [...functions, auth, storage]) await one.stop()
    close()
    mail.close()
    rmSync(files, { recursive: true })
  }
}
