// No caller receives another's rows after a statement was abandoned.
import { beforeAll, expect, test } from 'vitest'
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

// Each login has a time limit of its own in Postgres, and so a code path of its own.
test.concurrent.each(['edge_functions', 'postgres'])(
  'callers queued behind an abandoned statement get their own row or an error, logged in as %s',
  async (role) => {
    const env = { DATABASE_POOL: '1', EDGE_DATABASE_URL: platform('abandoned', role) }
    const answers = await runScript<Record<string, string>>('tests/postgres/give_up.ts', [], env)
    expect(answers.slow).toBe('error')
    expect(answers.after).toBe('after')
    for (const [caller, answer] of Object.entries(answers)) expect(['error', caller], caller).toContain(answer)
    // Late callers waited less than the limit.
    expect(Object.values(answers).filter((answer) => answer !== 'error').length).toBeGreaterThan(2)
  },
)
