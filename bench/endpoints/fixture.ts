/** Starts a Postgres for the bench and loads fixture.sql. */
import { SignJWT } from 'jose'
import postgres from 'postgres'
import { freePort } from '../../tests/tools/ports.ts'
import type { Query } from '../search/generated.ts'
import { openEmpty } from '../search/labelled.ts'
import { jwtSecret, uuidOf } from './keys.ts'
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
  bin: string
  wrk: string
  sql: postgres.Sql
  /** Search queries. */
  queries: Query[]
  token: (user: number) => Promise<string>
  /** Copies the data into a database without row level security. Call it before anything else connects. */
  withoutPolicies: () => Promise<string>
}

const root = new URL('../../', import.meta.url).pathname
const run = async (command: string, args: string[], env: Record<string, string> = {}): Promise<void> => {
  const { success } = await new Deno.Command(command, { args, env, cwd: root, stdout: 'null' }).output()
  if (!success) throw new Error(`${command} ${args.join(' ')} failed`)
}

// Durable, with memory settings that fit the limit of tests/postgres/server.sh.
const conf = `
fsync = on
synchronous_commit = on
full_page_writes = on
shared_buffers = 512MB
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

/** The same database with the Edge Functions' role. */
export const asEdgeFunctions = (url: string): string => Object.assign(new URL(url), { username: 'edge_functions' }).href

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
  await (await openEmpty(url)).close()
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
    postmaster: Number(Deno.readTextFileSync(`${folder}/data/postmaster.pid`).split('\n')[0]),
    bin,
    wrk: `${prefix}/usr/bin/wrk`,
    sql,
    queries,
    token: (user) =>
      new SignJWT({ sub: uuidOf(user), role: 'authenticated' })
        .setProtectedHeader({ alg: 'HS256' }).setAudience('authenticated').setExpirationTime('12h').sign(key),
    withoutPolicies: async () => {
      await psql('postgres', 'create database bench_open template bench strategy file_copy')
      await psql('bench_open', disablePolicies)
      return at('bench_open')
    },
  }
}
