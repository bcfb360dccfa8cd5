/**
 * Writes the migration that takes a database from what supabase/migrations build to what sql/schema says, by the CLI's
 * comparison of the two. One of the same name that is not released yet is made anew, without what was added by hand.
 *   npm run migration -- NAME
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connected } from '../tools/postgres.ts'
import { platform, supabase } from '../tools/supabase.ts'
import { buildSchemas } from './build.ts'
import { loadVector, lockTables } from './migration_header.ts'

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

/** What these statements lock, measured: a foreign key locks the table it points to as well. */
const lockedBy = (statements: string): Promise<string[]> =>
  connected(platform('pushed'), async (sql) => {
    const tables = await sql`
      select oid, format('%s.%s', relnamespace::regnamespace, relname) as name
      from pg_class where relkind = 'r' and relnamespace <> 'pg_catalog'::regnamespace`
    const locks = await sql.unsafe(`begin; ${loadVector} ${statements};
      select relation from pg_locks
      where pid = pg_backend_pid() and mode in ('AccessExclusiveLock', 'ShareRowExclusiveLock', 'ShareLock');`)
    const locked = new Set(locks.at(-1)!.map(({ relation }: { relation: number }) => relation))
    return tables.filter(({ oid }) => locked.has(oid)).map(({ name }) => name)
  })

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
  const header = ["set local lock_timeout = '500ms';", loadVector, lockTables(await lockedBy(statements))]
  writeFileSync(file, `${header.join('\n')}\n\n${statements}\n\nselect private.schedule_jobs();\n`)
  console.log(`${file}: read it, and compare it with CONTRIBUTING.md, "Add a migration"`)
}
