// The functions' connections, direct and behind a pooler in transaction mode: nobody gets another's rows, and a
// statement is one round trip. statements.ts sends them.
import { createServer } from 'node:net'
import postgres from 'postgres'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { useCopy } from '../tools/copies.ts'
import { startPooler } from '../tools/pooler.ts'
import { listen } from '../tools/ports.ts'
import { runScript } from '../tools/run_script.ts'
import { serveFunction } from '../tools/serve_function.ts'
import { run } from '../tools/supabase.ts'

const ana = '00000000-0000-4000-8000-00000000000a'
const ben = '00000000-0000-4000-8000-00000000000b'
const stops: (() => void)[] = []
afterAll(() => stops.forEach((stop) => stop()))

// Functions that say who called them, that take their time, and that count how often they ran.
const functions = `
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
  create function api.describe_caller(ignored jsonb) returns json language sql set search_path = '' as
    'select private.describe_caller()';
  create function api.sleep_for(seconds double precision) returns json
  language plpgsql volatile set search_path = '' as $$
    begin
      perform pg_sleep(seconds);
      return 'null'::json;
    end
  $$;
  create function api.echo_after(seconds double precision, caller text) returns json
  language plpgsql volatile set search_path = '' as $$
    begin
      perform pg_sleep(seconds);
      return to_json(caller);
    end
  $$;
  create function api.limit() returns json language sql set search_path = '' as
    'select to_json(current_setting(''transaction_timeout''))';
  create function api.echo(value jsonb) returns json language sql set search_path = '' as 'select $1';
  create function private.echo(value text) returns json language sql set search_path = '' as 'select to_json($1)';
  create table private.counted (number integer not null);
  create function private.count_once(number integer) returns json language sql set search_path = '' as
    'insert into private.counted values (number) returning to_json(counted.number)';
  grant insert, select on private.counted to edge_functions;
  grant execute on all functions in schema api to edge_functions;
  grant execute on function private.count_once(integer), private.echo(text) to edge_functions;
  grant execute on function private.describe_caller(), private.my_id() to anon, authenticated, edge_functions;
  insert into auth.users (id, email, email_confirmed_at)
  values ('${ana}', 'ana@pooled.example', now()), ('${ben}', 'ben@pooled.example', now());
`
const { url, owner } = await useCopy('pooled', functions)
const direct = url('edge_functions')

const throughPooler = async (connections: number, settings = '', database = direct): Promise<string> => {
  const pooler = await startPooler(database, { connections, settings })
  stops.push(pooler.stop)
  return pooler.url
}
const send = <Result>(database: string, args: unknown[], env: Record<string, string> = {}): Promise<Result> =>
  runScript(
    'tests/postgres/statements.ts',
    args.map((arg) => typeof arg === 'object' ? JSON.stringify(arg) : `${arg}`),
    { EDGE_DATABASE_URL: database, ...env },
  )

/** Waits until the pooler has opened all connections, which it does one by one on demand. */
const fill = async (database: string, size: number): Promise<void> => {
  const sql = postgres(database, { max: size, prepare: false })
  const servers = new Set<number>()
  while (servers.size < size) {
    const busy = Array.from({ length: size }, () => sql`select pg_backend_pid() as server, pg_sleep(0.02)`)
    for (const [row] of await Promise.all(busy)) servers.add(row!.server)
  }
  await sql.end()
}

describe('behind a pooler in transaction mode', () => {
  /** How often each caller got which identity, how many connections served them, and what was logged. */
  const alternate = async (rounds: number, { database = direct, size = 1 } = {}) => {
    const EDGE_DATABASE_URL = await throughPooler(size, '', database)
    await fill(EDGE_DATABASE_URL, size)
    const args = ['run', '-A', 'tests/postgres/statements.ts', 'alternate', `${rounds}`, ana, ben]
    const { stdout, stderr, code } = await run('deno', args, { EDGE_DATABASE_URL })
    expect(code, stderr).toBe(0)
    const servers = new Set<number>()
    const answers: Record<string, Record<string, number>> = {}
    for (const [caller, counts] of Object.entries(JSON.parse(stdout) as typeof answers)) {
      const own: Record<string, number> = answers[caller] = {}
      for (const [answer, times] of Object.entries(counts)) {
        const { server, ...identity } = answer.startsWith('{') ? JSON.parse(answer) : { server: 0, error: answer }
        servers.add(server)
        own[JSON.stringify(identity)] = (own[JSON.stringify(identity)] ?? 0) + times
      }
    }
    return { answers, servers: servers.size, stderr }
  }
  const expected = async (rounds: number, role = 'edge_functions') => {
    const rows = await owner<{ auth_id: string; me: number }[]>`select auth_id, id::int as me from public.users`
    const answer = (role: string, me: number | null) => ({
      [JSON.stringify({ role, me, rows: me && [me] })]: rounds,
    })
    return {
      ...Object.fromEntries(rows.map(({ auth_id, me }) => [auth_id, answer('authenticated', me)])),
      anonymous: answer('anon', null),
      edge_functions: answer(role, null),
    }
  }

  test.each([
    ['over 300 rounds on one connection', 300, 1, 'edge_functions', ''],
    ['on two connections, where prepared statements may be missing', 200, 2, 'edge_functions', ''],
    ['if the pooler drops the role, and a warning is logged', 50, 1, 'postgres', 'Not connected as edge_functions'],
  ])('every caller keeps their identity %s', async (_, rounds, size, role, warning) => {
    const { stderr, ...found } = await alternate(rounds, { database: url(role), size })
    expect(found).toEqual({ answers: await expected(rounds, role), servers: size })
    expect(stderr).toMatch(warning ? warning : /^$/)
  })
})

describe('statements are prepared', () => {
  test('on a direct connection', async () => {
    expect(await send(direct, ['prepare', 1])).toEqual({ errors: [], prepared: 1 })
  })

  test('through a pooler that knows them', async () => {
    const pooler = await throughPooler(1, 'max_prepared_statements = 100')
    expect(await send(pooler, ['prepare', 2])).toEqual({ errors: [], prepared: 1 })
  })

  test('until a pooler answers that one is not there, or already there', async () => {
    const pooler = await throughPooler(2)
    await fill(pooler, 2)
    expect(await send(pooler, ['prepare', 1])).toMatchObject({ errors: ['26000'] })
    expect(await send(await throughPooler(1), ['prepare', 2])).toMatchObject({ errors: ['42P05'] })
  })

  test('and one that a pooler answers so is repeated, and runs once', async () => {
    const pooler = await throughPooler(2)
    await fill(pooler, 2)
    const numbers = Array.from({ length: 200 }, (_, number) => number)
    expect(await send(pooler, ['count'], { DATABASE_POOL: '4' })).toEqual(numbers)
    const rows = await owner`select number from private.counted order by number`
    expect(rows.map(({ number }) => number)).toEqual(numbers)
  })
})

test.each(['a server', 'a pooler'])('every statement is one round trip to %s, the first one too', async (target) => {
  const database = target === 'a pooler' ? await throughPooler(1) : direct
  expect(await send(database, ['roundTrips', ana])).toEqual({
    // The question about TLS, and the login.
    opening: 2,
    statements: Array(8).fill(1),
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
  const serveUsers = async (EDGE_DATABASE_URL: string) => {
    const served = await serveFunction('functions/users/index.ts', { EDGE_DATABASE_URL, DATABASE_POOL: '1' })
    stops.push(served.stop)
    return { ...served, ask: () => fetch(`${served.base}/users/interests`) }
  }

  test('is answered with 503 and logged, and the instance recovers', async () => {
    const pooler = await throughPooler(1, 'max_client_conn = 1')
    const { ask, log } = await serveUsers(pooler)
    const other = postgres(pooler, { max: 1 })
    onTestFinished(() => other.end())
    await other`select 1`
    for (const answer of await Promise.all([ask(), ask(), ask()])) {
      expect([answer.status, answer.headers.get('Retry-After')]).toEqual([503, '1'])
      expect(await answer.json()).toEqual({ error: 'The service is busy, please try again' })
    }
    expect(log()).toContain('Database connection refused')
    expect(log()).toContain('08P01')
    await other.end()
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

type Call = { caller: string; answer: string | number }
// Each login has a time limit of its own in Postgres, and a pooler closes what Postgres closes: other code paths.
test.concurrent.each(['as edge_functions', 'as postgres', 'through a pooler'])(
  'callers queued behind an abandoned statement get their own row or an error, %s',
  async (way) => {
    const login = way === 'as postgres' ? url() : direct
    const database = way === 'through a pooler' ? await throughPooler(1) : login
    const late = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth'].map((caller) => [caller, 0, 1.5])
    const calls = await send<Call[]>(database, ['call', [['slow', 9], ...late]], { DATABASE_POOL: '1' })
    // A status or SQLSTATE is a refusal, and anything else is somebody else's.
    const answers = calls.map(({ caller, answer }) =>
      answer === caller ? 'own' : /^[0-9A-Z]{3,5}$/.test(`${answer}`) ? 'refused' : answer
    )
    expect(new Set(answers)).toEqual(new Set(['own', 'refused']))
    // The slow one is given up. Late callers waited less than the limit.
    expect([answers[0], answers.at(-1)]).toEqual(['refused', 'own'])
    expect(answers.filter((answer) => answer === 'own').length).toBeGreaterThan(2)
  },
)

// Which limit ended a statement is told by the code, and not by how long it took.
test.concurrent.each(['to a server', 'to a server as postgres', 'through a pooler'])(
  'anonymous statements end after 3 s and those of users after 5 s, independently, %s',
  async (way) => {
    const login = way.endsWith('postgres') ? url() : direct
    const database = way === 'through a pooler' ? await throughPooler(2) : login
    const limits = ['3s', '3s', '0', '0']
    expect(await send(database, ['takeLong', ana], { DATABASE_POOL: '2' }))
      .toEqual({ user: '57014', anonymous: '25P04', limits: [...limits, ...limits] })
  },
)
