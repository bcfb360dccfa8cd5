/**
 * The cost of running a statement as the caller. Three variants of the same trivial read, as role edge_functions on a
 * Postgres that has the migrations:
 *   bare          one statement with the connection's own rights
 *   one call      one statement that calls act_as first (functions/_shared/rpc.ts)
 *   transaction   begin, set the claims and the role, read, commit: the usual way
 * Prints operations per second, as medians of interleaved rounds, and the ratio to bare. On a busy machine only the
 * ratios mean anything.
 *
 *   deno run -A bench/one_round_trip.ts postgresql://edge_functions@127.0.0.1:5432/postgres
 */
import postgres from 'postgres'
import { median } from './endpoints/table.ts'

const url = Deno.args[0]
if (!url) throw new Error('Usage: deno run -A bench/one_round_trip.ts DATABASE_URL')
const rounds = 7
const milliseconds = 1500
const inFlight = 16

const sql = postgres(url, { max: 8, onnotice: () => {} })
const claims = JSON.stringify({ role: 'anon' })

const variants: Record<string, () => Promise<unknown>> = {
  'bare': () => sql.unsafe('select 1 as body', [], { prepare: true }),
  'one call': () =>
    sql.unsafe(
      'select reply.body from (select case when private.act_as(null, false) then 1 end as body) as reply',
      [],
      { prepare: true },
    ),
  'transaction': () =>
    sql.begin(async (tx) => {
      await tx`select set_config('role', 'anon', true), set_config('request.jwt.claims', ${claims}, true)`
      return await tx`select 1 as body`
    }),
}

const rate = async (run: () => Promise<unknown>): Promise<number> => {
  const end = performance.now() + milliseconds
  let done = 0
  await Promise.all(Array.from({ length: inFlight }, async () => {
    for (; performance.now() < end; done++) await run()
  }))
  return done / milliseconds * 1000
}

const rates: Record<string, number[]> = Object.fromEntries(Object.keys(variants).map((name) => [name, []]))
for (const run of Object.values(variants)) await run()
for (let round = 0; round < rounds; round++) {
  for (const [name, run] of Object.entries(variants)) rates[name]!.push(await rate(run))
}
for (const [name, values] of Object.entries(rates)) {
  const share = median(values.map((value, round) => value / rates.bare![round]!))
  const [rate, percent] = [median(values).toFixed(0).padStart(7), (share * 100).toFixed(0).padStart(3)]
  console.log(`${name.padEnd(12)} ${rate} /s   ${percent} % of bare`)
}
await sql.end()
