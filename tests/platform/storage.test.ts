// The stub of Storage's schema is like its own.
import { readFileSync } from 'node:fs'
import { expect, inject, test } from 'vitest'
import type {} from '../contract/project.ts'
import { connected } from '../tools/postgres.ts'

const describeSchema = `
  select 'column ' || concat_ws(' ', table_name, column_name, data_type, is_generated) as line
  from information_schema.columns where table_schema = 'storage'
  union all
  select 'function ' || oid::regprocedure || ' ' || prorettype::regtype || ' ' || provolatile::text
  from pg_proc where pronamespace = 'storage'::regnamespace
  union all
  select 'trigger ' || pg_get_triggerdef(oid)
  from pg_trigger where tgrelid::regclass::text ~ '^storage' and not tgisinternal
  union all
  select 'index ' || indexdef from pg_indexes where schemaname = 'storage' and indexname ~ '^idx'
  union all
  select format('folder of %L: %L %L', name, storage.foldername(name), storage.filename(name))
  from unnest(array['a/b/c', 'a', '', 'a//b', '/a', 'a/', null]) as name`

test('Storage has the tables and functions of the stub', async () => {
  const stub = readFileSync('supabase/local/platform_storage.sql', 'utf8')
  const [real, imitated] = await connected(inject('supplied').databaseUrl, (sql) =>
    sql.begin(async (sql) => {
      const lines = async () => (await sql.unsafe(describeSchema)).map(({ line }) => line as string)
      const before = await lines()
      await sql.unsafe(`alter schema storage rename to before; ${stub}`)
      const after = await lines()
      await sql.unsafe('drop schema storage cascade; alter schema before rename to storage')
      return [before, after]
    }))
  expect(imitated!.filter((line) => !real!.includes(line))).toEqual([])
  expect(imitated!.length).toBeGreaterThan(30)
})
