// A statement is one round trip to the database, also when it is prepared, and also through a pooler.
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { startPooler } from '../tools/pooler.ts'
import { connected } from '../tools/postgres.ts'
import { runScript } from '../tools/run_script.ts'
import { platform } from '../tools/supabase.ts'

const account = randomUUID()
beforeAll(() =>
  connected(platform('counted'), (sql) =>
    sql.unsafe(`
      insert into auth.users (id, email, email_confirmed_at)
      values ('${account}', '${account}@example.com', now());
      create function api.echo(value jsonb) returns json language sql set search_path = '' as 'select $1';
      create function private.echo(value text) returns json language sql set search_path = '' as 'select to_json($1)';
      grant execute on function api.echo(jsonb), private.echo(text) to edge_functions;
    `))
)

test.each(['a server', 'a pooler'])('every statement is one round trip to %s, the first one too', async (target) => {
  const server = platform('counted', 'edge_functions')
  const pooler = target === 'a pooler' ? await startPooler(server, { connections: 1 }) : null
  if (pooler) onTestFinished(pooler.stop)
  const { opening, statements, described } = await runScript<{
    opening: number
    statements: number[]
    described: number[]
  }>('tests/postgres/round_trips.ts', [account], { EDGE_DATABASE_URL: pooler?.url ?? server })
  expect(statements).toEqual(Array(statements.length).fill(1))
  expect(statements.length).toBeGreaterThan(5)
  // The question about TLS, and the login.
  expect(opening).toBe(2)
  // The proxy sees what postgres.js would do.
  expect(described).toEqual([2, 2])
})
