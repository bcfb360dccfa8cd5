/** Runs every pgTAP file of this folder on a database of its own, each in a transaction that is rolled back; prints what they said as JSON. */
import { openPglite, openPostgres } from '../../supabase/local/database.ts'
import { openPlatform } from '../../supabase/local/platform.ts'
import { readSettings } from '../../supabase/local/settings.ts'

const here = new URL('./', import.meta.url)
const read = (path: string): string => Deno.readTextFileSync(new URL(path, here))

const files = [...Deno.readDirSync(here)]
  .filter((entry) => entry.isDirectory)
  .flatMap((noun) => [...Deno.readDirSync(new URL(`${noun.name}/`, here))].map((file) => `${noun.name}/${file.name}`))
  .filter((file) => file.endsWith('.test.sql'))
  .sort()

const settings = readSettings({ ...Deno.env.toObject(), DATA_DIR: 'memory', SEED: 'none' })
const database = settings.databaseUrl ? await openPostgres(settings.databaseUrl) : await openPglite(null)
const keys = { jwtSecret: 'x'.repeat(32), publishableKey: 'sb_publishable_x', secretKey: 'sb_secret_x' }
await openPlatform(database, keys, settings)
await database.run(
  `create schema if not exists tap; create extension if not exists pgtap with schema tap; ${read('people.sql')}`,
)

const said: Record<string, string[]> = {}
for (const file of files) {
  try {
    // pgTAP answers each assertion with a row of text; everything else answers with rows that are no TAP.
    const results = await database.script(
      `begin; set local search_path = tap, public; ${read(file)}; select * from finish();`,
    )
    said[file] = results.flatMap((row) => row.split('\n')).filter((line) => /^(not )?ok |^1\.\.|^#|^\s*#/.test(line))
  } catch (error) {
    said[file] = [`not ok - the file ran to its end: ${(error as Error).message}`]
  } finally {
    await database.run('rollback')
  }
}
console.log(JSON.stringify(said))
await database.close()
Deno.exit(0)
