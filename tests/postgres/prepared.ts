/**
 * Run by pooler.test.ts: sends one statement again and again on this many connections, which are open at the same time,
 * and then counts what the server has prepared. Prints {"errors": ["<SQLSTATE>", …], "prepared": …}.
 *   EDGE_DATABASE_URL=… deno run -A tests/postgres/prepared.ts CONNECTIONS
 */
import process from 'node:process'
import { openPool } from '../../functions/_shared/postgres.ts'

const connections = Number(process.argv[2])
const limits = { connections, waitMilliseconds: 4000, answerMilliseconds: 6000, idleMilliseconds: 60_000 }
const query = openPool(process.env.EDGE_DATABASE_URL!, limits)

const errors: string[] = []
const ask = async (value: number): Promise<void> => {
  try {
    const [row] = await query('select $1::integer as value, pg_sleep(0.01)', [value])
    if (row?.value !== String(value)) throw new Error(`The answer to ${value} is ${row?.value}`)
  } catch (error) {
    const { code } = error as { code?: string }
    if (!code) throw error
    errors.push(code)
  }
}
for (let round = 0; round < 20; round++) {
  await Promise.all(Array.from({ length: connections }, (_, index) => ask(round * connections + index)))
}
const [row] = await query(`select count(*) from pg_prepared_statements where statement like 'select $1%'`, [])
console.log(JSON.stringify({ errors, prepared: Number(row?.count) }))
process.exit(0)
