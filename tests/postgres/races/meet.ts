// Races that hold something open: one side is stopped between two of its statements, or before its commit, while
// another runs until it has ended or waits. What two people see then does not depend on how quick the machine is.
import postgres from 'postgres'
import { expect } from 'vitest'
import { pause } from '../../tools/wait.ts'

// Whoever has named the statement of a table in `tests.stop`, or the beginning of a function, waits there for the lock
// that the test holds. Of several, separated by commas, at the last.
const places = `
  create schema tests;
  grant usage on schema tests to public;
  create function tests.stop_at(place text) returns void language plpgsql set search_path = '' as $$
    declare
      stops constant text[] := string_to_array(current_setting('tests.stop', true), ', ');
    begin
      if stops[1] = place then
        perform set_config('tests.stop', array_to_string(stops[2:], ', '), true);
        if cardinality(stops) = 1 then
          perform pg_advisory_xact_lock(1, pg_backend_pid());
        end if;
      end if;
    end
  $$;
  create function tests.stop_before() returns trigger language plpgsql set search_path = '' as $$
    begin
      perform tests.stop_at(lower(tg_op) || ' ' || tg_table_name);
      return null;
    end
  $$;
  do $$
    declare
      name text;
    begin
      execute format('alter database %I set deadlock_timeout = 50', current_database());
      execute format('alter database %I set track_functions = ''all''', current_database());
      for name in select format('%I.%I', schemaname, tablename) from pg_tables where schemaname in ('public', 'private')
      loop
        execute 'create trigger stop before insert or update or delete on ' || name || ' execute function tests.stop_before()';
      end loop;
      execute regexp_replace(
        pg_get_functiondef('private.add_to_lexicon'::regproc), '\\nbegin\\n',
        E'\\nbegin\\n  perform tests.stop_at(''add_to_lexicon'');\\n'
      );
    end
  $$;
  insert into public.interests (name) select 'Interest ' || n from generate_series(1, 9) as n;
  create table tests.clock as select interval '0' as ahead;
  grant all on tests.clock to public;
  create or replace function private.present() returns timestamptz language plpgsql volatile set search_path = '' as $$
    begin
      return clock_timestamp() + (select ahead from tests.clock);
    end
  $$;
`

export interface Side {
  caller: number | null
  text: string
  /** The statement before which it waits; none: it waits before its commit. */
  stop: string
}

const literal = (value: unknown): string =>
  typeof value === 'number'
    ? `${value}`
    : `'${(typeof value === 'string' ? value : JSON.stringify(value)).replaceAll("'", "''")}'`

/** A side of a race: by(ana)`api.block_person(${ben})`, or a statement. */
export const by = (caller: number | null, stop = '') => (parts: TemplateStringsArray, ...values: unknown[]): Side => {
  const text = String.raw(parts, ...values.map(literal)).trim()
  return { caller, stop, text: /^(select|insert|update|delete|with) /.test(text) ? text : `select ${text} as answer` }
}
/** An admin, a worker or the clock. */
export const admin = by(null)

/** What a race answered to a side: the first column of the first row, or the SQLSTATE and message of a refusal. */
// Tests assert the shape.
// deno-lint-ignore no-explicit-any
export type Answer = any

const bigint = { to: 20, from: [20], parse: Number, serialize: String }

export const openRaces = async (url: (role?: string) => string, { countsWaiting = true } = {}) => {
  const options = { max: 1, onnotice: () => {}, types: { bigint } }
  const control = postgres(url('supabase_admin'), options)
  await control.unsafe(places)
  const sides = Array.from({ length: 3 }, () => postgres(url(), options))
  const pids: number[] = []
  for (const sql of [control, ...sides]) pids.push((await sql`select pg_backend_pid() as pid`)[0]!.pid)
  const [controlPid, ...sidePids] = pids as [number, ...number[]]

  const ask = async <Row = Answer>(parts: TemplateStringsArray, ...values: unknown[]): Promise<Row[]> => {
    const rows = await control.unsafe(String.raw(parts, ...values.map(literal)))
    return rows.map((row) => Object.keys(row).length === 1 ? Object.values(row)[0] : { ...row }) as Row[]
  }

  /** What an API function answers to somebody meanwhile. */
  const askAs = (caller: number) => async (parts: TemplateStringsArray, ...values: unknown[]): Promise<Answer> => {
    await ask`select set_config('api.caller', ${`${caller}`}, false)`
    const [answer] = await control.unsafe(`select ${String.raw(parts, ...values.map(literal))} as answer`)
    await ask`select set_config('api.caller', '', false)`
    return answer!.answer
  }

  /** Who waits, and whether for the test or for another side. */
  const whereIs = async (pid: number): Promise<'runs' | 'is stopped' | 'waits'> => {
    const [blockers] = await ask<number[]>`select pg_blocking_pids(${pid})`
    return blockers!.includes(controlPid)
      ? 'is stopped'
      : blockers!.some((pid) => sidePids.includes(pid))
      ? 'waits'
      : 'runs'
  }

  /**
   * Starts one side after the other, each when the one before has stopped, then lets them go on in this order. Only the
   * last commits at once. Nothing but a refusal of ours may come of it, and the last has to wait or must not.
   */
  const meet = async (
    all: Side[],
    { waits, meanwhile }: { waits: boolean; meanwhile?: () => Promise<unknown> },
  ): Promise<Answer[]> => {
    const started: { release: () => Promise<unknown>; outcome: Promise<Answer> }[] = []
    let hasWaited = false
    const start = async ({ caller, stop, text }: Side, index: number): Promise<void> => {
      const isLast = index === all.length - 1
      const [sql, pid] = [sides[index]!, sidePids[index]!]
      let [isDone, letGo] = [false, () => {}]
      const released = new Promise<void>((resolve) => letGo = resolve)
      if (stop) await ask`select pg_advisory_lock(1, ${pid})`
      await sql.unsafe(`
        begin;
        set local statement_timeout = '20s';
        select set_config('api.caller', '${caller ?? ''}', true), set_config('tests.stop', '${stop}', true)
      `)
      const end = (how: string) => sql.unsafe(`${how}; select pg_stat_force_next_flush()`)
      const outcome = sql.unsafe(text).then(
        async (results) => {
          if (!isLast) {
            isDone = true
            await released
          }
          await end('commit')
          isDone = true
          // Of several statements it is the last that answers.
          const [row] = Array.isArray(results[0]) ? results.at(-1)! : results
          return row && Object.values(row)[0]
        },
        async ({ code, message }) => {
          await end('rollback')
          isDone = true
          return `${code} ${message}`
        },
      )
      const release = async () => {
        if (stop) await ask`select pg_advisory_unlock(1, ${pid})`
        letGo()
      }
      started.push({ release, outcome })
      let where = await whereIs(pid)
      for (; where === 'runs' && !isDone; where = await whereIs(pid)) await pause(1)
      hasWaited = where === 'waits'
      if (stop && where === 'runs') throw new Error(`It never came to ${stop}: ${await outcome}`)
    }
    const outcomes = async (): Promise<Answer[]> => {
      for (const { release } of started) await release()
      return await Promise.all(started.map(({ outcome }) => outcome))
    }
    try {
      for (const [index, side] of all.entries()) await start(side, index)
      await meanwhile?.()
    } catch (error) {
      await outcomes()
      throw error
    }
    const answers = await outcomes()
    // Without a lock it need not wait. That is no harm by itself.
    expect({ answers, hasWaited }).toEqual({
      answers: answers.map((answer) => /^[0-9A-Z]{5} /.test(answer) ? expect.stringMatching(/^(PT|23P01)/) : answer),
      hasWaited: waits && !countsWaiting ? hasWaited : waits,
    })
    return answers
  }
  return {
    ask,
    askAs,
    meet,
    execute: (text: string) => control.unsafe(text),
    close: () => Promise.all([control, ...sides].map((sql) => sql.end({ timeout: 1 }))),
  }
}
