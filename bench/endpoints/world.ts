/** A Postgres of the bench's own, with the data of world.sql. */
import { SignJWT } from 'jose'
import postgres from 'postgres'
import { openPostgres } from '../../supabase/local/database.ts'
import { openPlatform } from '../../supabase/local/platform.ts'
import { readSettings } from '../../supabase/local/settings.ts'
import { freePort } from '../../tests/tools/ports.ts'
import type { Query } from '../search/generated.ts'
import { makeFindable } from './findable.ts'
import { jwtSecret, password, publishableKey, secretKey, uuidOf } from './keys.ts'
import type { WhenDone } from './measure.ts'

export interface Size {
  users: number
  conversations: number
  messages: number
}

/** Where the programs are, and how to reach the database. */
export interface World extends Size {
  url: string
  postmaster: number
  bin: string
  wrk: string
  sql: postgres.Sql
  /** What people search for. */
  queries: Query[]
  token: (user: number) => Promise<string>
  /** Copies the data, before anything else asks, into a database without row level security; answers with its address and a connection. */
  withoutPolicies: () => Promise<{ url: string; sql: postgres.Sql }>
}

const root = new URL('../../', import.meta.url).pathname
const run = async (command: string, args: string[], env: Record<string, string> = {}): Promise<void> => {
  const { success } = await new Deno.Command(command, { args, env, cwd: root, stdout: 'null' }).output()
  if (!success) throw new Error(`${command} ${args.join(' ')} failed`)
}

// As a server has it that may not lose anything, but for memory that fits the machine.
const conf = `
fsync = on
synchronous_commit = on
full_page_writes = on
shared_buffers = 2GB
max_wal_size = 8GB
autovacuum = off`

// But for conversations: whose they are is all that the list of them asks, so without its policy it would be another question.
const openTables = `
do $$
declare
  noun regclass;
begin
  for noun in select oid from pg_class where relnamespace = 'public'::regnamespace and relrowsecurity and relname <> 'conversations' loop
    execute format('alter table %s disable row level security', noun);
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
  if (!ok) throw new Error('Nobody could sign up')
  await database.close()
}

const postmasterOf = async (url: string): Promise<number> => {
  const sql = postgres(url, { max: 1 })
  const [found] = await sql`select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::integer as pid`
  await sql.end()
  return found!.pid
}

export const openWorld = async (size: Size, whenDone: WhenDone): Promise<World> => {
  // Among fewer, strangers would not be (world.sql).
  if (size.users < 5000) throw new Error('There must be 5,000 people or more')
  const folder = await Deno.makeTempDir({ prefix: 'bench.' })
  await Deno.chmod(folder, 0o755)
  // As root the server runs as nobody, who may not enter every folder that a clone can be in.
  const prefix = `${Deno.uid() === 0 ? '/tmp/postgres17-bench' : `${root}.cache/postgres17`}`
  await run('bash', ['tests/postgres/install.sh', prefix])
  const port = await freePort()
  const server = (...args: string[]) =>
    run('bash', ['tests/postgres/server.sh', ...args], { PREFIX: prefix, POSTGRES_CONF: conf })
  whenDone(async () => {
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
  await run(`${bin}/psql`, ['-XqAt', '-v', 'ON_ERROR_STOP=1', ...sizes, '-f', 'bench/endpoints/world.sql', url])
  const psql = (database: string, ...statements: string[]) =>
    run(`${bin}/psql`, ['-XqAt', ...statements.flatMap((statement) => ['-c', statement]), at(database)])
  const key = new TextEncoder().encode(jwtSecret)
  const queries = await makeFindable(url, size.users)
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  whenDone(() => sql.end())
  return {
    ...size,
    url,
    postmaster: await postmasterOf(url),
    bin,
    wrk: `${prefix}/usr/bin/wrk`,
    sql,
    queries,
    token: (user) =>
      new SignJWT({ sub: uuidOf('0', user), session_id: uuidOf('1', user), role: 'authenticated' })
        .setProtectedHeader({ alg: 'HS256' }).setAudience('authenticated').setExpirationTime('12h').sign(key),
    withoutPolicies: async () => {
      await psql('postgres', 'create database bench_open template bench strategy file_copy')
      await psql('bench_open', openTables)
      const sql = postgres(at('bench_open'), { max: 1, onnotice: () => {} })
      whenDone(() => sql.end())
      return { url: at('bench_open'), sql }
    },
  }
}
