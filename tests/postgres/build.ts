import { readdirSync, readFileSync } from 'node:fs'
import type { TestProject } from 'vitest/node'
import { connected } from '../tools/postgres.ts'
import { type Outcome, platform, supabase } from '../tools/supabase.ts'

declare module 'vitest' {
  interface ProvidedContext {
    push: Outcome
  }
}

// One fault for each check.
const faulty = `
  alter table public.messages alter column content drop not null;
  create function private.faulty_without_search_path() returns integer language sql as 'select 1';
  create function private.faulty_unknown_column() returns integer language plpgsql set search_path = '' as
    'begin return (select no_such_column from public.users); end';
`

const leaking = `
  do $$
  begin
    execute replace(pg_get_functiondef('private.act_as'::regproc), ', true)', ', false)');
  end
  $$
`

const execute = (url: string, ...scripts: string[]): Promise<void> =>
  connected(url, async (sql) => {
    for (const script of scripts) await sql.unsafe(script)
  })

/**
 * Creates the databases before the stack and all tests, sequentially, because roles are shared by the whole server:
 *   pushed     by `supabase db push` from the migrations
 *   scripted   from sql/schema, file by file; used by functions that start alone
 *   faulty     a copy with faults
 *   pooled     a copy with test data
 *   leaking    a copy in which the caller's identity outlives the statement
 *   storage    a copy that looks like a project with Storage
 *   queued     a copy for several workers on the embedding queue
 *   writing    a copy for several writers of profiles
 *   racing     a copy for several writers of reservations
 *   moderated  a copy for several moderators
 *   inbox      a copy for large inboxes, and several writers of one
 *   changes    a copy for the feed of changes
 *   parts      a copy of which one table is partitioned
 *   erased     a copy for erasing accounts under locks
 *   abandoned  a copy with a statement of variable duration
 *   counted    a copy to count round trips
 *   bare, postgres   the platform alone; only `postgres` has pg_cron
 */
export default async (project: TestProject) => {
  project.provide('push', await supabase(['db', 'push', '--include-seed', '--yes', `--db-url=${platform('pushed')}`]))
  const files = readdirSync('sql/schema', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => readFileSync(`sql/schema/${file}`, 'utf8'))
  await execute(platform('scripted'), ...files)
  for (
    const copy of [
      'faulty',
      'pooled',
      'leaking',
      'storage',
      'queued',
      'erased',
      'abandoned',
      'embedded',
      'counted',
      'writing',
      'racing',
      'moderated',
      'inbox',
      'changes',
      'parts',
    ]
  ) {
    await execute(platform('postgres', 'supabase_admin'), `create database ${copy} template scripted owner postgres`)
  }
  await execute(platform('faulty'), faulty)
  await execute(platform('leaking'), leaking)
  await execute(platform('storage', 'supabase_admin'), 'create table storage.migrations (id integer)')
}
