/**
 * Runs every pgTAP file on one database, or those whose names begin with an argument, each in a transaction that is
 * rolled back; prints the TAP lines as JSON.
 */
import { files, openTestDatabase, runFile } from './database.ts'

const database = await openTestDatabase()
const output: Record<string, string[]> = {}
for (const file of files.filter((file) => !Deno.args.length || Deno.args.some((name) => file.startsWith(name)))) {
  output[file] = await runFile(database, 'begin', file)
  await database.run('rollback')
}
console.log(JSON.stringify(output))
await database.close()
Deno.exit(0)
