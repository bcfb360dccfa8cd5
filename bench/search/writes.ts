/**
 * Measures what changes of profiles cost with the index of the search: processor time of a change, changes a second of
 * one client and of eight that change different profiles, with what they wait for, and changes of many profiles in one
 * transaction, which is rolled back.
 *
 *   DATABASE_URL=… deno run -A bench/search/writes.ts 10000 [--rounds=4] [--seconds=4] [--asynchronous]
 *
 * --asynchronous turns synchronous_commit off, so that no change waits for the disk.
 *
 * The database is empty, or was filled by this bench before. Changed profiles have no embedding until the next POST
 * /embed, so use another one to measure searches.
 */
import postgres from 'postgres'
import { median } from '../endpoints/table.ts'
import { backendOf, openWithTexts, processorTime } from './real_texts.ts'

const url = Deno.env.get('DATABASE_URL')
const count = Number(Deno.args[0])
if (!url || !count) throw new Error('DATABASE_URL and a number of profiles are required')
const option = (name: string, fallback: number): number =>
  Number(Deno.args.find((arg) => arg.startsWith(`--${name}=`))?.split('=')[1] ?? fallback)
const rounds = option('rounds', 4)
const seconds = option('seconds', 4)
const writers = 8

const { sql, profiles } = await openWithTexts(url, count)
// As after their first change, with which profiles get a lock of their own.
await sql`insert into private.search_locks select id from public.profiles on conflict do nothing`
await sql`vacuum analyze private.search_locks`
const allInterests = (await sql`select id::integer from public.interests order by id`).map(({ id }) => Number(id))

interface Client {
  sql: postgres.Sql
  backend: number
}
const clients: Client[] = await Promise.all(Array.from({ length: writers }, async () => {
  const connection = { synchronous_commit: Deno.args.includes('--asynchronous') ? 'off' : 'on' }
  const sql = postgres(url, { max: 1, onnotice: () => {}, connection })
  return { sql, backend: await backendOf(sql) }
}))

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
const changeBiography = ({ sql }: Client, id: number) =>
  sql.unsafe('update public.profiles set biography = $2 where id = $1', [id, newBiography()], { prepare: true })
const changeInterests = ({ sql }: Client, id: number) => {
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

for (const [name, change] of [['biography', changeBiography], ['interests', changeInterests]] as const) {
  const used: number[] = []
  for (let at = 0; at < 440; at++) {
    const before = processorTime(clients[0]!.backend)
    await change(clients[0]!, 1 + at * 13 % count)
    // The first ones warm up.
    if (at >= 40) used.push(processorTime(clients[0]!.backend) - before)
  }
  const mean = used.reduce((sum, value) => sum + value, 0) / used.length
  console.log(`a change of ${name}: ${mean.toFixed(2)} ms of processor time, median ${median(used).toFixed(2)}`)
}

// All processors: busy and all ticks.
const processors = (): [number, number] => {
  const ticks = Deno.readTextFileSync('/proc/stat').split('\n')[0]!.split(/\s+/).slice(1, 9).map(Number)
  const all = ticks.reduce((sum, value) => sum + value, 0)
  return [all - ticks[3]! - ticks[4]!, all]
}

/** Samples what the clients' backends do, until it is stopped. */
const watch = (some: Client[], waits: Map<string, number>): () => Promise<void> => {
  let running = true
  const ids = some.map(({ backend }) => backend)
  const done = (async () => {
    while (running) {
      const rows = await sql`
        select coalesce(wait_event_type || ' ' || wait_event, 'on a processor, or ready for one') as event
        from pg_stat_activity
        where pid = any (${ids}) and state = 'active'`
      for (const { event } of rows) waits.set(event, (waits.get(event) ?? 0) + 1)
      await new Promise((resolve) => setTimeout(resolve, 15))
    }
  })()
  return () => {
    running = false
    return done
  }
}

const results = new Map<number, { rate: number; cost: number; share: number; busy: number }[]>([[1, []], [writers, []]])
const waits = new Map<number, Map<string, number>>([[1, new Map()], [writers, new Map()]])
for (let round = 0; round < rounds; round++) {
  for (const size of [1, writers]) {
    const some = clients.slice(0, size)
    const before = some.map(({ backend }) => processorTime(backend))
    const [busyBefore, allBefore] = processors()
    const stop = watch(some, waits.get(size)!)
    const start = performance.now()
    let changes = 0
    await Promise.all(some.map(async (client, number) => {
      for (let at = 0; performance.now() < start + seconds * 1000; at++) {
        const id = 1 + (number + writers * at + round * 1999 * writers) % count
        await (at % 2 === 0 ? changeBiography : changeInterests)(client, id)
        changes++
      }
    }))
    const took = performance.now() - start
    await stop()
    const [busy, all] = processors()
    const used = some.reduce((sum, { backend }, at) => sum + processorTime(backend) - before[at]!, 0)
    results.get(size)!.push({
      rate: changes / took * 1000,
      cost: used / changes,
      share: used / took,
      busy: (busy - busyBefore) / (all - allBefore),
    })
  }
}
for (const [size, rows] of results) {
  const of = (key: 'rate' | 'cost' | 'share' | 'busy') => median(rows.map((row) => row[key]))
  console.log(
    `${size} clients: ${of('rate').toFixed(0)} changes a second, ${of('cost').toFixed(2)} ms of processor time each, ` +
      `on ${of('share').toFixed(2)} processors; all processors were busy for ${(of('busy') * 100).toFixed(0)} %`,
  )
  const samples = [...waits.get(size)!].toSorted((one, other) => other[1] - one[1])
  const sum = samples.reduce((sum, [, number]) => sum + number, 0)
  for (const [event, number] of samples) console.log(`  ${(number / sum * 100).toFixed(1).padStart(5)} % ${event}`)
}
const [alone, together] = [1, writers].map((size) => median(results.get(size)!.map(({ rate }) => rate)))
console.log(`${(together! / alone!).toFixed(2)} times as many changes\n`)

const rolledBack = new Error('rolled back')
for (const many of [1000, 5000, 10_000].filter((many) => many <= count)) {
  const { sql, backend } = clients[0]!
  let used = 0
  let took = 0
  await sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`
    await sql`update public.profiles set biography = biography || ' again' || id where id <= ${many}`
    await sql`set local session_replication_role = origin`
    ;[used, took] = [processorTime(backend), performance.now()]
    await sql`select private.refresh_search_entry(id) from public.profiles where id <= ${many}`
    ;[used, took] = [processorTime(backend) - used, performance.now() - took]
    throw rolledBack
  }).catch((error) => {
    if (error !== rolledBack) throw error
  })
  console.log(
    `${many} profiles in one transaction: ${(used / many).toFixed(2)} ms of processor time each, ` +
      `${(took / many).toFixed(2)} ms`,
  )
  await sql`vacuum analyze private.search_entries`
  await sql`vacuum analyze private.search_words`
  await sql`vacuum analyze public.profiles`
}
await Promise.all(clients.map(({ sql }) => sql.end()))
await sql.end()
Deno.exit(0)
