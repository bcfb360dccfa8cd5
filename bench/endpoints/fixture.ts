/** Starts a Postgres for the bench and loads fixture.sql. */
import { SignJWT } from 'jose'
import postgres from 'postgres'
import { openPostgres } from '../../supabase/local/database.ts'
import { openPlatform } from '../../supabase/local/platform.ts'
import { readSettings } from '../../supabase/local/settings.ts'
import { freePort } from '../../tests/tools/ports.ts'
import type { Query } from '../search/generated.ts'
import { jwtSecret, password, publishableKey, secretKey, uuidOf } from './keys.ts'
import type { Defer } from './defer.ts'
import { fillSearchData } from './search_data.ts'

export interface Size {
  users: number
  conversations: number
  messages: number
}

/** The database, the programs of the bench, and what cases need to create requests. */
export interface Fixture extends Size {
  url: string
  postmaster: number
  /** Where tests/postgres/install.sh has put the programs. */
  prefix: string
  bin: string
  wrk: string
  sql: postgres.Sql
  /** Search queries. */
  queries: Query[]
  token: (user: number) => Promise<string>
  /** Copies the data into a database without row level security. Call it before anything else connects. */
  withoutPolicies: () => Promise<{ url: string; sql: postgres.Sql }>
}

const root = new URL('../../', import.meta.url).pathname
const run = async (command: string, args: string[], env: Record<string, string> = {}): Promise<void> => {
  const { success } = await new Deno.Command(command, { args, env, cwd: root, stdout: 'null' }).output()
  if (!success) throw new Error(`${command} ${args.join(' ')} failed`)
}

// Durable, with memory settings that fit the machine.
const conf = `
fsync = on
synchronous_commit = on
full_page_writes = on
shared_buffers = 2GB
max_wal_size = 8GB
autovacuum = off`

// Except on conversations: their list depends on the policy, so without it the query would return other rows.
const disablePolicies = `
do $$
declare
  target regclass;
begin
  for target in
    select oid
    from pg_class
    where relnamespace = 'public'::regnamespace and relrowsecurity and relname <> 'conversations'
  loop
    execute format('alter table %s disable row level security', target);
  end loop;
end
$$`

const build = async (url: string): Promise<void> => {
  const database = await openPostgres(url)
  const keys = { jwtSecret, publishableKey, secretKey }
  const app = await openPlatform(database, keys, readSettings({ DATABASE_URL: url, DATA_DIR: 'memory', SEED: 'none' }))
  const { ok } = await app.fetch(
    new Request('http://localhost/auth/v1/signup', {
      method: 'POST',
      headers: { apikey: publishableKey, 'Content-Type': 'application/json' },
      body: JSON.stringify({ email: 'somebody@example.com', password }),
    }),
  )
  if (!ok) throw new Error('The sign-up failed')
  await database.close()
}

export const postmasterOf = async (url: string): Promise<number> => {
  const sql = postgres(url, { max: 1 })
  const [found] = await sql`select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::integer as pid`
  await sql.end()
  return found!.pid
}

export const openFixture = async (size: Size, defer: Defer): Promise<Fixture> => {
  // With fewer, the users that fixture.sql leaves out would have conversations with each other.
  if (size.users < 5000) throw new Error('--users must be at least 5000')
  const folder = await Deno.makeTempDir({ prefix: 'bench.' })
  await Deno.chmod(folder, 0o755)
  // As root, the server runs as the user nobody, who may lack access to the clone's folder.
  const prefix = `${Deno.uid() === 0 ? '/tmp/postgres17-bench' : `${root}.cache/postgres17`}`
  await run('bash', ['tests/postgres/install.sh', prefix])
  const port = await freePort()
  const server = (...args: string[]) =>
    run('bash', ['tests/postgres/server.sh', ...args], { PREFIX: prefix, POSTGRES_CONF: conf })
  defer(async () => {
    try {
      await server('stop', `${folder}/data`)
    } finally {
      await Deno.remove(folder, { recursive: true })
    }
  })
  await server('start', `${folder}/data`, String(port))
  const bin = `${prefix}/usr/lib/postgresql/17/bin`
  const at = (database: string) => `postgresql://supabase_admin@127.0.0.1:${port}/${database}`
  await run(`${bin}/createdb`, ['--maintenance-db', at('postgres'), 'bench'])
  const url = at('bench')
  await build(url)
  const sizes = Object.entries(size).flatMap(([name, value]) => ['-v', `${name}=${value}`])
  await run(`${bin}/psql`, ['-XqAt', '-v', 'ON_ERROR_STOP=1', ...sizes, '-f', 'bench/endpoints/fixture.sql', url])
  const psql = (database: string, ...statements: string[]) =>
    run(`${bin}/psql`, ['-XqAt', ...statements.flatMap((statement) => ['-c', statement]), at(database)])
  const key = new TextEncoder().encode(jwtSecret)
  const queries = await fillSearchData(url, size.users)
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  defer(() => sql.end())
  return {
    ...size,
    url,
    postmaster: await postmasterOf(url),
    prefix,
    bin,
    wrk: `${prefix}/usr/bin/wrk`,
    sql,
    queries,
    token: (user) =>
      new SignJWT({ sub: uuidOf('0', user), session_id: uuidOf('1', user), role: 'authenticated' })
        .setProtectedHeader({ alg: 'HS256' }).setAudience('authenticated').setExpirationTime('12h').sign(key),
    withoutPolicies: async () => {
      await psql('postgres', 'create database bench_open template bench strategy file_copy')
      await psql('bench_open', disablePolicies)
      const sql = postgres(at('bench_open'), { max: 1, onnotice: () => {} })
      defer(() => sql.end())
      return { url: at('bench_open'), sql }
    },
  }
}
