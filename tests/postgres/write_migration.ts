/**
 * Writes the migration that takes a database from what supabase/migrations build to what sql/schema says, by the CLI's
 * comparison of the two. One of the same name that is not released yet is made anew, without what was added by hand.
 *   npm run migration -- NAME
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connected } from '../tools/postgres.ts'
import { platform, supabase } from '../tools/supabase.ts'
import { buildSchemas } from './build.ts'

const folder = 'supabase/migrations'
const list = 'supabase/released.sha256'

const name = Deno.args[0] ?? ''
if (!/^[a-z][a-z0-9_]*$/.test(name)) {
  console.error('usage: npm run migration -- NAME (of a-z, 0-9 and _)')
  Deno.exit(2)
}
const released = existsSync(list) ? readFileSync(list, 'utf8') : ''
const before = readdirSync(folder).find((file) =>
  new RegExp(`^[0-9]+_${name}[.]sql$`).test(file) && !released.includes(file)
)
const text = before && readFileSync(`${folder}/${before}`, 'utf8')
if (before) rmSync(`${folder}/${before}`)

const fail = (reason: string): never => {
  if (before) writeFileSync(`${folder}/${before}`, text!)
  console.error(reason)
  Deno.exit(1)
}

/** Locks what these statements change. A request may hold one of them and wait for another: then all are let go. */
const lockTables = async (statements: string): Promise<string> => {
  const names = [...statements.matchAll(
    /^(?:ALTER TABLE|DROP INDEX|(?:CREATE|DROP) (?:UNIQUE )?(?:INDEX|POLICY|TRIGGER) [^;]*? ON) ("?\w+"?[.]"?\w+"?)/gm,
  )]
  const [row] = await connected(platform('pushed'), (sql) =>
    sql`
      select string_agg(distinct format('%s.%s', relnamespace::regnamespace, relname), ', ') as tables
      from unnest(${names.map(([, name]) => name!)}::text[]) as name
      left join pg_index as i on i.indexrelid = to_regclass(name)
      join pg_class as c on c.oid = coalesce(i.indrelid, to_regclass(name))`)
  return row!.tables === null ? '' : `do $$
begin
  for attempt in 1..20 loop
    begin
      lock table ${row!.tables} in access exclusive mode;
      exit;
    exception when lock_not_available then
      if attempt = 20 then
        raise;
      end if;
      perform pg_sleep(.1);
    end;
  end loop;
end
$$;`
}

const push = await buildSchemas()
if (push.code !== 0) fail(push.stderr)
const command = ['db', 'diff', '--from', platform('pushed'), '--to', platform('migrated')]
const { code, stdout, stderr } = await supabase(command)
if (code !== 0) fail(stderr)
const statements = stdout.trim()
if (statements === '') {
  console.log('The migrations build what sql/schema says')
} else {
  const version = new Date().toISOString().replaceAll(/\D/g, '').slice(0, 14)
  const file = `${folder}/${version}_${name}.sql`
  // Without pgvector's library role postgres may not set its parameters, as some functions do.
  const header = [
    "set local lock_timeout = '500ms';",
    "select '[1]'::extensions.vector;",
    await lockTables(statements),
  ]
  writeFileSync(file, `${header.join('\n')}\n\n${statements}\n\nselect private.schedule_jobs();\n`)
  console.log(`${file}: read it, and compare it with CONTRIBUTING.md, "Add a migration"`)
}
