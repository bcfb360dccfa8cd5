// A pooler in transaction mode must not mix up callers.
import { createServer } from 'node:net'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startPooler } from '../tools/pooler.ts'
import { connected } from '../tools/postgres.ts'
import { listen } from '../tools/ports.ts'
import { runScript } from '../tools/run_script.ts'
import { serveFunction } from '../tools/serve_function.ts'
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

/** The database through a pooler that has this many connections. */
const pooled = async (database: string, login: string, connections: number, settings = ''): Promise<URL> => {
  const { url, stop } = await startPooler(platform(database, login), { connections, settings })
  stops.push(stop)
  return new URL(url)
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
  { database = 'pooled', login = 'edge_functions', size = 1, rounds = 50 },
) => {
  const url = await pooled(database, login, size)
  await fill(url.href, size)
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

  test('every caller keeps their identity on two connections, where prepared statements may be missing', async () => {
    const { counts, stderr } = await alternate({ rounds: 200, size: 2 })
    expect(withoutServers(counts)).toEqual({ answers: expected(200), servers: 2 })
    expect(stderr).toBe('')
  })

  test('every caller keeps their identity if the pooler drops the role, and a warning is logged', async () => {
    const { counts, stderr } = await alternate({ login: 'postgres' })
    expect(withoutServers(counts)).toEqual({ answers: expected(50, 'postgres'), servers: 1 })
    expect(stderr).toContain('Not connected as edge_functions')
  })

  test('an identity that outlives its statement would be noticed', async () => {
    const { counts } = await alternate({ database: 'leaking' })
    expect(withoutServers(counts).answers.edge_functions).not.toEqual(expected(50).edge_functions)
  })
})

describe('statements are prepared', () => {
  const send = (url: string, connections: number) =>
    runScript<{ errors: string[]; prepared: number }>('tests/postgres/prepared.ts', [`${connections}`], {
      EDGE_DATABASE_URL: url,
    })

  test('on a direct connection', async () => {
    expect(await send(platform('pooled', 'edge_functions'), 1)).toEqual({ errors: [], prepared: 1 })
  })

  test('through a pooler that knows them', async () => {
    const url = await pooled('pooled', 'edge_functions', 1, 'max_prepared_statements = 100')
    expect(await send(url.href, 2)).toEqual({ errors: [], prepared: 1 })
  })

  test('until a pooler answers that one is not there', async () => {
    const url = await pooled('pooled', 'edge_functions', 2)
    await fill(url.href, 2)
    expect((await send(url.href, 1)).errors).toEqual(['26000'])
  })

  test('until a pooler answers that one is already there', async () => {
    const url = await pooled('pooled', 'edge_functions', 1)
    expect((await send(url.href, 2)).errors).toEqual(['42P05'])
  })

  test('and one that a pooler answers so is repeated, and runs once', async () => {
    const url = await pooled('pooled', 'edge_functions', 2)
    await fill(url.href, 2)
    await connected(platform('pooled'), (sql) =>
      sql.unsafe(`
        create table private.counted (number integer not null);
        create function private.count_once(number integer) returns json language sql set search_path = '' as
          'insert into private.counted values (number) returning to_json(counted.number)';
        grant insert, select on private.counted to edge_functions;
        grant execute on function private.count_once(integer) to edge_functions;
      `))
    const env = { EDGE_DATABASE_URL: url.href, DATABASE_POOL: '4' }
    const { answers } = await runScript<{ answers: number[] }>('tests/postgres/count_once.ts', [], env)
    const numbers = Array.from({ length: 200 }, (_, number) => number)
    expect(answers).toEqual(numbers)
    const rows = await connected(platform('pooled'), (sql) => sql`select number from private.counted order by number`)
    expect(rows.map(({ number }) => number)).toEqual(numbers)
  })
})

/** A server that refuses every connection as Supavisor does; with the number of connections. */
const refuseConnections = async () => {
  let connections = 0
  const refusal = 'SFATAL\0VFATAL\0CXX000\0M(EMAXCONN) max client connections reached, limit: 200\0\0'
  const message = Buffer.concat([Buffer.from('E'), Buffer.alloc(4), Buffer.from(refusal)])
  message.writeInt32BE(message.length - 1, 1)
  const server = createServer((socket) => {
    connections++
    socket.on('error', () => {})
    socket.once('data', () => socket.end(message))
  })
  stops.push(() => server.close())
  return {
    url: `postgresql://edge_functions@127.0.0.1:${await listen(server)}/postgres?sslmode=disable`,
    count: () => connections,
  }
}

describe('a pooler without a free connection', () => {
  const serveUsers = async (url: string) => {
    const served = await serveFunction('functions/users/index.ts', { EDGE_DATABASE_URL: url, DATABASE_POOL: '1' })
    stops.push(served.stop)
    return { ...served, ask: () => fetch(`${served.base}/users/interests`) }
  }

  test('is answered with 503 and logged, and the instance recovers', async () => {
    const url = await pooled('pooled', 'edge_functions', 1, 'max_client_conn = 1')
    const { ask, log } = await serveUsers(url.href)
    await connected(url.href, async (sql) => {
      await sql`select 1`
      for (const answer of await Promise.all([ask(), ask(), ask()])) {
        expect([answer.status, answer.headers.get('Retry-After')]).toEqual([503, '1'])
        expect(await answer.json()).toEqual({ error: 'The service is busy, please try again' })
      }
      expect(log()).toContain('Database connection refused')
      expect(log()).toContain('08P01')
    })
    expect((await ask()).status).toBe(200)
  })

  test('is not asked a second time by the same request', async () => {
    const { url, count } = await refuseConnections()
    const { ask, log } = await serveUsers(url)
    const before = count()
    expect((await ask()).status).toBe(503)
    expect(count() - before).toBe(1)
    expect(log()).toContain('"code":"XX000"')
  })
})

test.concurrent.each(['a server', 'a pooler'])(
  'anonymous statements end after 3 s and those of users after 5 s, independently, through %s',
  async (path) => {
    const url = path === 'a pooler'
      ? await pooled('pooled', 'edge_functions', 2)
      : new URL(platform('pooled', 'edge_functions'))
    type Outcome = { code: string | number | null; milliseconds: number }
    const env = { DATABASE_POOL: '2', EDGE_DATABASE_URL: url.href }
    const { user, anonymous, anonymousAgain, userAgain, userTooLong } = await runScript<
      Record<'user' | 'anonymous' | 'anonymousAgain' | 'userAgain' | 'userTooLong', Outcome>
    >('tests/postgres/take_long.ts', [ana], env)
    expect([user, anonymous, anonymousAgain, userAgain, userTooLong].map(({ code }) => code))
      .toEqual([null, '25P04', null, null, '57014'])
    expect(anonymous.milliseconds).toBeGreaterThan(2900)
    expect(anonymous.milliseconds).toBeLessThan(4000)
  },
)
