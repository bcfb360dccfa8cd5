import { readdirSync, readFileSync } from 'node:fs'
import type { TestProject } from 'vitest/node'
import { connected } from '../tools/postgres.ts'
import { type Outcome, platform, supabase } from '../tools/supabase.ts'

declare module 'vitest' {
  interface ProvidedContext {
    push: Outcome
  }
}

// A fault for each thing that watches.
const planted = `
  alter table public.messages alter column content drop not null;
  create function private.planted_without_search_path() returns integer language sql as 'select 1';
  create function private.planted_unknown_column() returns integer language plpgsql set search_path = '' as
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
 * Before the stack and every test, one after the other, because the databases share their roles, and these belong to who makes them first:
 *   pushed     what `supabase db push` makes of the migrations
 *   scripted   what sql/schema makes, file by file; functions that boot use it
 *   planted    the same, with faults
 *   pooled     the same, to be filled
 *   leaking    the same, but whoever becomes a caller stays one
 *   stored     the same, as it is where Storage runs
 *   queued     the same, for several who drain the queue
 *   erased     the same, for whose log-ins go, and locks that others would wait for
 *   crossed    the same, with a statement that takes as long as it is told
 *   bare, postgres   what the platform has, and nothing of ours; pg_cron works in the latter alone
 */
export default async (project: TestProject) => {
  project.provide('push', await supabase(['db', 'push', '--include-seed', '--yes', `--remote=${platform('pushed')}`]))
  const files = readdirSync('sql/schema').sort().map((file) => readFileSync(`sql/schema/${file}`, 'utf8'))
  await execute(platform('scripted'), ...files)
  for (const copy of ['planted', 'pooled', 'leaking', 'stored', 'queued', 'erased', 'crossed']) {
    await execute(platform('postgres', 'supabase_admin'), `create database ${copy} template scripted owner postgres`)
  }
  await execute(platform('planted'), planted)
  await execute(platform('leaking'), leaking)
  await execute(platform('stored', 'supabase_admin'), 'create table storage.migrations (id integer)')
}
