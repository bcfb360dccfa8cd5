// No caller receives another's rows after a statement was abandoned.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startPooler } from '../tools/pooler.ts'
import { connected } from '../tools/postgres.ts'
import { runScript } from '../tools/run_script.ts'
import { platform } from '../tools/supabase.ts'

beforeAll(() =>
  connected(platform('abandoned'), (sql) =>
    sql.unsafe(`
      create function api.echo_after(seconds double precision, caller text)
      returns json
      language plpgsql volatile security invoker set search_path = ''
      as $$
      begin
        perform pg_sleep(seconds);
        return to_json(caller);
      end
      $$;
      grant execute on function api.echo_after(double precision, text) to edge_functions;
    `))
)

const stops: (() => void)[] = []
afterAll(() => stops.forEach((stop) => stop()))

/** Each login has a time limit of its own in Postgres, and a pooler closes what Postgres closes: other code paths. */
const ways = {
  'as edge_functions': () => platform('abandoned', 'edge_functions'),
  'as postgres': () => platform('abandoned', 'postgres'),
  'through a pooler': async () => {
    const { url, stop } = await startPooler(platform('abandoned', 'edge_functions'), { connections: 1 })
    stops.push(stop)
    return url
  },
}

test.concurrent.each(Object.entries(ways))(
  'callers queued behind an abandoned statement get their own row or an error, %s',
  async (_, way) => {
    const env = { DATABASE_POOL: '1', EDGE_DATABASE_URL: await way() }
    const answers = await runScript<Record<string, string>>('tests/postgres/give_up.ts', [], env)
    expect(answers.slow).toBe('error')
    expect(answers.after).toBe('after')
    for (const [caller, answer] of Object.entries(answers)) expect(['error', caller], caller).toContain(answer)
    // Late callers waited less than the limit.
    expect(Object.values(answers).filter((answer) => answer !== 'error').length).toBeGreaterThan(2)
  },
)

test.concurrent('callers that find the queue of a pool of one full get 503, the others their own row', async () => {
  const env = { DATABASE_POOL: '1', DATABASE_QUEUE: '10', EDGE_DATABASE_URL: await ways['through a pooler']() }
  type Call = { caller: string; answer: string | number; milliseconds: number }
  const { calls, after } = await runScript<{ calls: Call[]; after: Call }>(
    'tests/postgres/full_queue.ts',
    ['30', '2'],
    env,
  )
  const queued = calls.slice(0, 11)
  expect(queued.map(({ answer }) => answer)).toEqual(queued.map(({ caller }) => caller))
  for (const { milliseconds } of queued) expect(milliseconds).toBeGreaterThan(1900)
  const refused = calls.slice(11)
  expect(refused.map(({ answer }) => answer)).toEqual(Array(20).fill(503))
  for (const { milliseconds } of refused) expect(milliseconds).toBeLessThan(1000)
  expect(after.answer).toBe('after')
})
