/**
 * Writes the migration that takes a database from what supabase/migrations build to what sql/schema says, by the CLI's
 * comparison of the two. One of the same name that is not released yet is made anew, without what was added by hand.
 *   npm run migration -- NAME
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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
  const header = ["set local lock_timeout = '500ms';", "select '[1]'::extensions.vector;"]
  writeFileSync(file, `${header.join('\n')}\n\n${statements}\n\nselect private.schedule_jobs();\n`)
  console.log(`${file}: read it, and compare it with CONTRIBUTING.md, "Add a migration"`)
}
