// The stub must refuse what Supabase refuses. What it allows the migrations use.
import { expect, test } from 'vitest'
import { connected } from '../tools/postgres.ts'
import { platform } from '../tools/supabase.ts'

const run = (statement: string) => connected(platform('bare'), (sql) => sql.unsafe(statement))

test.each([
  'create table realtime.x (a integer)',
  'create function realtime.x() returns integer language sql return 1',
  'create or replace function realtime.topic() returns text language sql return null',
  'drop function realtime.topic()',
  'alter table realtime.messages enable row level security',
  'alter table realtime.messages add column x integer',
  'create index on realtime.messages (topic)',
  'drop table realtime.messages',
  'drop schema realtime cascade',
  'grant delete on realtime.messages to anon',
  'revoke select on realtime.messages from anon',
  'comment on table realtime.messages is $$x$$',
  'create policy p on realtime.messages using (true); comment on policy p on realtime.messages is $$x$$',
  'alter table storage.objects disable row level security',
  'alter table auth.users add column x integer',
  'create table auth.x (a integer)',
  'drop event trigger refuse_platform_changes',
  'alter role postgres superuser',
])('migrations cannot run: %s', async (statement) => {
  await expect(run(statement)).rejects.toMatchObject({ code: '42501' })
})

test('API roles have every right on a new table until a migration revokes it', async () => {
  const can = `select has_table_privilege('anon', 'public.forgotten', 'insert') as insert`
  expect(await run(`create table public.forgotten (a integer); ${can}`)).toMatchObject([{}, [{ insert: true }]])
})
