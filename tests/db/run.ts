/**
 * Runs every pgTAP file on one database, or those whose names begin with an argument, each in a transaction that is
 * rolled back; prints the TAP lines as JSON.
 */
import { files, openTestDatabase, runFile } from './database.ts'

const database = await openTestDatabase()
const output: Record<string, string[]> = {}
// Compiled to WebAssembly these take nearly as long as all others, and it is the same code: they run on a server alone.
const slow = ['search/recall', 'users/lines'].map((name) => `${name}.test.sql`)
for (const file of files.filter((file) => !Deno.args.length || Deno.args.some((name) => file.startsWith(name)))) {
  if (slow.includes(file) && !Deno.env.get('DATABASE_URL')) continue
  output[file] = await runFile(database, 'begin', file)
  await database.run('rollback')
}
console.log(JSON.stringify(output))
await database.close()
Deno.exit(0)
