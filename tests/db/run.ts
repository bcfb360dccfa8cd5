/** Runs every pgTAP file on one database, each in a transaction that is rolled back; prints the TAP lines as JSON. */
import { files, openTestDatabase, runFile } from './database.ts'

const database = await openTestDatabase()
const output: Record<string, string[]> = {}
for (const file of files) {
  output[file] = await runFile(database, 'begin', file)
  await database.run('rollback')
}
console.log(JSON.stringify(output))
await database.close()
Deno.exit(0)
