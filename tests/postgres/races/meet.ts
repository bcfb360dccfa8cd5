// Races that hold something open: one side is stopped between two of its statements, or before its commit, while
// another runs until it has ended or waits. What people see then does not depend on how quick the machine is.
import postgres from 'postgres'
import { expect } from 'vitest'
import { pause } from '../../tools/wait.ts'
import { by, literal, type Side } from './sides.ts'

// Whoever has named the statement of a table in `tests.stop` waits there for the lock
// that the test holds; of several, at the last.
const places = `
  create schema tests;
  grant usage on schema tests to public;
  create function tests.stop_before() returns trigger language plpgsql set search_path = '' as $$
    declare
      stops constant text[] := string_to_array(current_setting('tests.stop', true), ', ');
    begin
      if stops[1] = lower(tg_op) || ' ' || tg_table_name then
        perform set_config('tests.stop', array_to_string(stops[2:], ', '), true);
        perform pg_advisory_xact_lock(1, pg_backend_pid()) where cardinality(stops) = 1;
      end if;
      return null;
    end
  $$;
  do $$
    declare
      name text;
    begin
      execute format('alter database %I set deadlock_timeout = 50', current_database());
      execute format('alter database %I set track_functions = ''all''', current_database());
      for name in select oid::regclass from pg_class
        where relkind in ('r', 'p') and relnamespace in ('public'::regnamespace, 'private'::regnamespace)
      loop
        execute format(
          'create trigger stop before insert or update or delete on %s execute function tests.stop_before()', name
        );
      end loop;
    end
  $$;
  create table tests.clock as select interval '0' as ahead;
  grant all on tests.clock to public;
  create or replace function private.present() returns timestamptz language plpgsql volatile set search_path = '' as $$
    begin
      return clock_timestamp() + (select ahead from tests.clock);
    end
  $$;
`

/** What a side was answered: the first column of the first row, or the SQLSTATE and message of a refusal. */
// Tests assert the shape.
// deno-lint-ignore no-explicit-any
export type Answer = any

const bigint = { to: 20, from: [20], parse: Number, serialize: String }

export const openRaces = async (url: (role?: string) => string, { countsWaiting = true } = {}) => {
  const open = (role?: string) => postgres(url(role), { max: 1, onnotice: () => {}, types: { bigint } })
  const control = open('supabase_admin')
  await control.unsafe(places)
  const sides = [open(), open(), open()]
  const pids: number[] = []
  for (const sql of [control, ...sides]) pids.push((await sql`select pg_backend_pid() as pid`)[0]!.pid)

  /** Rows, and of one column its values. */
  const ask = async <Row = Answer>(parts: TemplateStringsArray, ...values: unknown[]): Promise<Row[]> => {
    const rows = await control.unsafe(String.raw(parts, ...values.map(literal)))
    return rows.map((row) => Object.keys(row).length === 1 ? Object.values(row)[0] : { ...row }) as Row[]
  }
  /** What an API function answers to somebody meanwhile. */
  const askAs = (caller: number) => async (parts: TemplateStringsArray, ...values: unknown[]): Promise<Answer> => {
    await ask`select set_config('api.caller', ${`${caller}`}, false)`
    const [row] = await control.unsafe(by(caller)(parts, ...values).text)
    await ask`select set_config('api.caller', '', false)`
    return row!.answer
  }

  const start = async ({ caller, stop, text }: Side, index: number, isLast: boolean) => {
    const [sql, pid] = [sides[index]!, pids[index + 1]!]
    let [isDone, letGo] = [false, () => {}]
    const released = new Promise<void>((resolve) => letGo = resolve)
    if (stop) await ask`select pg_advisory_lock(1, ${pid})`
    await sql.unsafe(`
      begin;
      set local statement_timeout = '20s';
      select set_config('api.caller', '${caller ?? ''}', true), set_config('tests.stop', '${stop}', true)`)
    const end = async (how: string) => {
      // Without the flush the statistics of calls and deadlocks would come late.
      await sql.unsafe(`${how}; select pg_stat_force_next_flush()`)
      isDone = true
    }
    const outcome = sql.unsafe(text).then(async (results): Promise<Answer> => {
      isDone = !isLast
      if (!isLast) await released
      await end('commit')
      // Of several statements it is the last that answers.
      const [row] = Array.isArray(results[0]) ? results.at(-1)! : results
      return row && Object.values(row)[0]
    }, async ({ code, message }) => {
      await end('rollback')
      return `${code} ${message}`
    })
    const release = async () => {
      if (stop) await ask`select pg_advisory_unlock(1, ${pid})`
      letGo()
    }
    // It may wait for an autovacuum, too.
    const blockers = async () =>
      (await ask<number[]>`select pg_blocking_pids(${pid})`)[0]!.filter((one) => pids.includes(one))
    while (!isDone && (await blockers()).length === 0) await pause(1)
    const where = await blockers()
    return { outcome, release, cameTo: where.length > 0 ? '' : stop, waits: where.some((one) => one !== pids[0]) }
  }

  const countDeadlocks = () => ask<number>`select deadlocks from pg_stat_database where datname = current_database()`
  let [deadlocks] = await countDeadlocks()

  /**
   * Starts one side after the other, each when the one before has stopped, then lets them go on in this order. Only the
   * last commits at once, and has to wait for the others or must not. Nothing but a refusal of ours may come of it.
   */
  const meet = async (all: Side[], waits: boolean, meanwhile?: () => Promise<unknown>): Promise<Answer[]> => {
    const started: Awaited<ReturnType<typeof start>>[] = []
    let error: unknown
    try {
      for (const [index, side] of all.entries()) started.push(await start(side, index, index === all.length - 1))
      await meanwhile?.()
    } catch (thrown) {
      error = thrown
    }
    for (const { release } of started) await release()
    const answers = await Promise.all(started.map(({ outcome }) => outcome))
    if (error) throw error
    const hasWaited = started.at(-1)!.waits
    // Whoever loses a deadlock may go on as if nothing had been.
    const [after] = await countDeadlocks()
    const isDeadlock = after !== deadlocks
    deadlocks = after
    expect({ answers, hasWaited, isDeadlock, neverCameTo: started.map(({ cameTo }) => cameTo).join('') }).toEqual({
      answers: answers.map((answer) => /^[0-9A-Z]{5} /.test(answer) ? expect.stringMatching(/^(PT|23P01)/) : answer),
      // Without a lock it need not wait. That is no harm by itself.
      hasWaited: waits && !countsWaiting ? hasWaited : waits,
      isDeadlock: false,
      neverCameTo: '',
    })
    return answers
  }
  return { ask, askAs, meet, execute: (text: string) => control.unsafe(text) }
}
