// A pooler in transaction mode must not mix up callers.
import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../tools/ports.ts'
import { connected } from '../tools/postgres.ts'
import { runScript } from '../tools/run_script.ts'
import { platform, run } from '../tools/supabase.ts'

const ana = '00000000-0000-4000-8000-00000000000a'
const ben = '00000000-0000-4000-8000-00000000000b'
const ids: Record<string, number> = {}
const stops: (() => void)[] = []
afterAll(() => stops.forEach((stop) => stop()))

// Functions that return the identity of the caller: one API function, one for edge_functions.
const identityFunctions = `
  create function private.describe_caller() returns json language plpgsql set search_path = '' as $$
    declare
      rows json;
    begin
      if current_user = 'authenticated' then
        rows := (select json_agg(id) from public.users);
      end if;
      return json_build_object('role', current_user, 'me', private.my_id(), 'rows', rows, 'server', pg_backend_pid());
    end
  $$;
  create function api.sleep_for(seconds double precision) returns json
  language plpgsql volatile set search_path = '' as $$
    begin
      perform pg_sleep(seconds);
      return 'null'::json;
    end
  $$;
  grant execute on function api.sleep_for(double precision) to edge_functions;
  create function api.describe_caller(ignored jsonb) returns json language sql set search_path = '' as
    'select private.describe_caller()';
  grant execute on function private.describe_caller() to anon, authenticated, edge_functions;
  grant execute on function private.my_id(), api.describe_caller(jsonb) to edge_functions;
`

/** Starts PgBouncer with this many connections and without prepared statements; returns its port. */
const startPooler = async (database: string, size: number): Promise<number> => {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'pooler-'))
  // PgBouncer does not run as root, and its user reads these files.
  chmodSync(folder, 0o755)
  const server = new URL(platform(database))
  writeFileSync(join(folder, 'users'), '"edge_functions" ""\n"postgres" ""\n')
  writeFileSync(
    join(folder, 'pooler.ini'),
    `[databases]
${database} = host=${server.hostname} port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${folder}/users
pool_mode = transaction
default_pool_size = ${size}
server_round_robin = 1
max_prepared_statements = 0
ignore_startup_parameters = role, statement_timeout
`,
  )
  const asUserNobody = process.getuid!() === 0 ? ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups'] : []
  const [command, ...args] = [...asUserNobody, `${process.env.PREFIX}/usr/sbin/pgbouncer`, join(folder, 'pooler.ini')]
  const pooler = spawn(command!, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  stops.push(() => {
    pooler.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  let output = ''
  for await (const line of createInterface(pooler.stderr)) {
    output += `${line}\n`
    if (!line.includes('process up')) continue
    pooler.stderr.resume()
    return port
  }
  throw new Error(`The pooler ended: ${output}`)
}

/** How often each caller got which answer. */
type Counts = Record<string, Record<string, number>>

/** Waits until the pooler has opened all connections, which it does one by one on demand. */
const fill = async (url: string, size: number): Promise<void> => {
  const sql = postgres(url, { max: size, prepare: false })
  const servers = new Set<number>()
  while (servers.size < size) {
    const busy = Array.from({ length: size }, () => sql`select pg_backend_pid() as server, pg_sleep(0.02)`)
    for (const [row] of await Promise.all(busy)) servers.add(row!.server)
  }
  await sql.end()
}

/** Runs alternating callers through a pooler; returns their answers and the log. */
const alternate = async (
  { database = 'pooled', login = 'edge_functions', query = '?prepare=false', size = 1, rounds = 50 },
) => {
  const url = new URL(platform(database, login))
  url.port = String(await startPooler(database, size))
  await fill(url.href, size)
  url.search = query
  const args = ['run', '-A', 'tests/postgres/alternate.ts', `${rounds}`, ana, ben]
  const { stdout, stderr, code } = await run('deno', args, { EDGE_DATABASE_URL: url.href })
  expect(code, stderr).toBe(0)
  return { counts: JSON.parse(stdout) as Counts, stderr }
}

/** The answers without the connection that served them, and the number of connections. */
const withoutServers = (counts: Counts) => {
  const servers = new Set<number>()
  const answers: Counts = {}
  for (const [caller, counted] of Object.entries(counts)) {
    for (const [answer, times] of Object.entries(counted)) {
      const { server, ...rest } = answer.startsWith('{') ? JSON.parse(answer) : { server: 0, error: answer }
      servers.add(server)
      const known = answers[caller] ??= {}
      const identity = JSON.stringify(rest)
      known[identity] = (known[identity] ?? 0) + times
    }
  }
  return { answers, servers: servers.size }
}

const expected = (rounds: number, role = 'edge_functions'): Counts => {
  const known = (account: string) => {
    const me = ids[account]
    return { [JSON.stringify({ role: 'authenticated', me, rows: [me] })]: rounds }
  }
  const unknown = (role: string) => ({ [JSON.stringify({ role, me: null, rows: null })]: rounds })
  return { [ana]: known(ana), [ben]: known(ben), anonymous: unknown('anon'), edge_functions: unknown(role) }
}

// Both databases are new, so the ids are the same.
const addUsers = (database: string): Promise<void> =>
  connected(platform(database), async (sql) => {
    await sql.unsafe(identityFunctions)
    for (const [name, account] of [['Ana', ana], ['Ben', ben]] as const) {
      await sql`
        insert into auth.users (id, email, email_confirmed_at, raw_user_meta_data)
        values (${account}, ${`${name}@pooled.example`}, now(), ${sql.json({ name })})
      `
      const [user] = await sql`select id from public.users where auth_id = ${account}`
      ids[account] = Number(user!.id)
    }
  })
beforeAll(async () => {
  await addUsers('pooled')
  await addUsers('leaking')
})

describe('behind a pooler in transaction mode', () => {
  test('every caller keeps their identity over 1,000 rounds on one connection', async () => {
    const { counts, stderr } = await alternate({ rounds: 1000 })
    expect(withoutServers(counts)).toEqual({ answers: expected(1000), servers: 1 })
    expect(stderr).toBe('')
  })

  test('every caller keeps their identity on two connections', async () => {
    const { counts, stderr } = await alternate({ rounds: 200, size: 2 })
    expect(withoutServers(counts)).toEqual({ answers: expected(200), servers: 2 })
    expect(stderr).toBe('')
  })

  test('every caller keeps their identity if the pooler drops the role, and a warning is logged', async () => {
    const { counts, stderr } = await alternate({ login: 'postgres' })
    expect(withoutServers(counts)).toEqual({ answers: expected(50, 'postgres'), servers: 1 })
    expect(stderr).toContain('Not connected as edge_functions')
  })

  test('prepared statements fail on two connections, so the URL must turn them off', async () => {
    const { counts } = await alternate({ query: '', size: 2 })
    expect(JSON.stringify(counts)).toMatch(/prepared statement .* does not exist/)
  })

  test('an identity that outlives its statement would be noticed', async () => {
    const { counts } = await alternate({ database: 'leaking' })
    expect(withoutServers(counts).answers.edge_functions).not.toEqual(expected(50).edge_functions)
  })
})

test.concurrent.each(['a server', 'a pooler'])(
  'anonymous statements end after 3 s and those of users after 5 s, independently, through %s',
  async (path) => {
    const url = new URL(platform('pooled', 'edge_functions'))
    if (path === 'a pooler') {
      url.port = String(await startPooler('pooled', 2))
      url.search = '?prepare=false'
    }
    type Outcome = { code: string | number | null; milliseconds: number }
    const env = { DATABASE_POOL: '2', EDGE_DATABASE_URL: url.href }
    const { user, anonymous, anonymousAgain, userAgain, userTooLong } = await runScript<
      Record<'user' | 'anonymous' | 'anonymousAgain' | 'userAgain' | 'userTooLong', Outcome>
    >('tests/postgres/take_long.ts', [ana], env)
    expect([user, anonymous, anonymousAgain, userAgain, userTooLong].map(({ code }) => code))
      .toEqual([null, 'CONNECTION_CLOSED', null, null, '57014'])
    expect(anonymous.milliseconds).toBeGreaterThan(2900)
    expect(anonymous.milliseconds).toBeLessThan(4000)
  },
)
