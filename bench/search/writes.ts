/**
 * Measures what changes of profiles cost with the index of the search: processor time of a change and of indexing a
 * profile anew, and how many changes a second eight clients make that change different profiles.
 *
 *   DATABASE_URL=… deno run -A bench/search/writes.ts 2000
 *
 * The database is on this machine, and is empty or was filled by this bench before. Changed profiles have no embedding
 * until the next POST /embed, so use another one to measure searches.
 */
import postgres from 'postgres'
import { backendOf, processorTime } from '../endpoints/measure.ts'
import { median } from '../endpoints/table.ts'
import { openFilled } from './fill.ts'

const url = Deno.env.get('DATABASE_URL')
const count = Number(Deno.args[0])
if (!url || !count) throw new Error('DATABASE_URL and a number of profiles are required')

const { database, profiles } = await openFilled(count)
await database.close()
const clients = Array.from({ length: 8 }, () => postgres(url, { max: 1, onnotice: () => {} }))
const sql = clients[0]!
const backend = await backendOf(sql)
const allInterests = (await sql`select id::integer from public.interests order by id`).map(({ id }) => Number(id))
// As after their first change, with which profiles get a lock of their own.
await sql`insert into private.search_locks select id from public.profiles on conflict do nothing`

// Another start each time: a change to the same words would change nothing.
let step = Math.floor(Math.random() * 1e6)
/** Forty words of other profiles. */
const newBiography = (): string => {
  step++
  return Array.from(
    { length: 4 },
    (_, part) =>
      profiles[(step * 31 + part * 977) % count]!.biography.split(' ').slice(part * 10, part * 10 + 10).join(' '),
  ).join(' ')
}
const changeBiography = (sql: postgres.Sql, id: number) =>
  sql.unsafe('update public.profiles set biography = $2 where id = $1', [id, newBiography()], { prepare: true })
const changeInterests = (sql: postgres.Sql, id: number) => {
  const wanted = Array.from({ length: 3 }, (_, at) => allInterests[(++step * 7 + at * 5) % allInterests.length]!)
  return sql.unsafe(
    `with removed as (
       delete from public.profile_interests where profile_id = $1 and interest_id <> all ($2::bigint[])
     )
     insert into public.profile_interests (profile_id, interest_id)
     select $1, wanted from unnest($2::bigint[]) as wanted
     on conflict do nothing`,
    [id, wanted],
    { prepare: true },
  )
}

for (const [name, change] of Object.entries({ biography: changeBiography, interests: changeInterests })) {
  const used: number[] = []
  for (let at = 0; at < 440; at++) {
    const before = processorTime(backend)
    await change(sql, 1 + at * 13 % count)
    // The first ones warm up.
    if (at >= 40) used.push(processorTime(backend) - before)
  }
  const mean = used.reduce((sum, value) => sum + value, 0) / used.length
  console.log(`a change of ${name}: ${mean.toFixed(2)} ms of processor time, median ${median(used).toFixed(2)}`)
}

const milliseconds = 4000
const rates: number[] = []
for (let round = 0; round < 4; round++) {
  const start = performance.now()
  let changes = 0
  await Promise.all(clients.map(async (client, number) => {
    for (let at = 0; performance.now() < start + milliseconds; at++, changes++) {
      const id = 1 + (number + clients.length * at + round * 1999 * clients.length) % count
      await (at % 2 === 0 ? changeBiography : changeInterests)(client, id)
    }
  }))
  rates.push(changes / (performance.now() - start) * 1000)
}
console.log(`${clients.length} clients: ${median(rates).toFixed(0)} changes a second`)

// Without the triggers, and then what they would have called.
await sql`set session_replication_role = replica`
await sql`update public.profiles set biography = biography || ' again' || id`
await sql`set session_replication_role = origin`
const before = processorTime(backend)
await sql`select private.refresh_search_entry(id) from public.profiles`
console.log(`a profile indexed anew: ${((processorTime(backend) - before) / count).toFixed(2)} ms of processor time`)
await Promise.all(clients.map((client) => client.end()))
Deno.exit(0)
