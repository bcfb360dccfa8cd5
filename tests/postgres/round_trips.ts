/**
 * Run by round_trips.test.ts: sends statements one after the other and counts their round trips to the database.
 * Prints {"opening": …, "statements": […], "described": […]}: to open a connection, of each statement as the functions
 * send it, and of each as postgres.js sends it by itself when it prepares nothing.
 *   EDGE_DATABASE_URL=… deno run -A tests/postgres/round_trips.ts ACCOUNT
 */
import process from 'node:process'
import postgres from 'postgres'
import { countFlights } from '../tools/flights.ts'

const { url, count } = await countFlights(process.env.EDGE_DATABASE_URL!)
const countOf = async (work: () => Promise<unknown>): Promise<number> => {
  const before = count()
  await work()
  return count() - before
}

process.env.EDGE_DATABASE_URL = url
const { actAs, asService } = await import('../../functions/_shared/rpc.ts')
const { limitWrite } = await import('../../functions/_shared/rate_limit.ts')
const claims = { sub: process.argv[2]!, exp: Date.now() / 1000 + 3600 }
const user = actAs(claims, true)
const statements = [
  () => asService`echo(${'a'})`,
  () => asService`echo(${'a'})`,
  () => user`echo(${{ text: 'b' }})`,
  () => user`echo(${{ text: 'c'.repeat(100_000) }})`,
  () => user`echo(${null})`,
  () => actAs(null, false)`echo(${{}})`,
  // An error.
  () => user`echo(${'not JSON'})`.then(() => Promise.reject(new Error('No error')), () => {}),
  () => user`get_account()`,
  () => limitWrite('RATE_LIMIT_SEND', claims, null, (db) => db`get_account()`),
]
const opening = await countOf(statements[0]!) - 1
const counts: number[] = []
for (const statement of statements) counts.push(await countOf(statement))

const sql = postgres(url, { max: 1, fetch_types: false, prepare: false, ssl: false })
await sql.unsafe('select 1')
const described: number[] = []
for (const value of ['1', '2']) described.push(await countOf(() => sql.unsafe('select $1::integer', [value])))
console.log(JSON.stringify({ opening, statements: counts, described }))
process.exit(0)
