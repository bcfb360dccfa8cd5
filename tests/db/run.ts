/** Runs every pgTAP file of this folder on a database of its own, each in a transaction that is rolled back; prints what they said as JSON. */
import { files, hear, openWorld } from './open.ts'

const database = await openWorld()
const said: Record<string, string[]> = {}
for (const file of files) {
  said[file] = await hear(database, 'begin', file)
  await database.run('rollback')
}
console.log(JSON.stringify(said))
await database.close()
Deno.exit(0)
