/**
 * Compares GET /users/search, anonymous, by words and meaning, with a plain full-text endpoint (serve_full_text.ts)
 * over the same profiles in the same database: answers a second, milliseconds, and processor time of Postgres and of
 * the server. The servers take turns within each round, so that other load on the machine affects them alike.
 *
 *   DATABASE_URL=… PREFIX=… deno run -A bench/search/full_text.ts 10000 [--rounds=3] [--seconds=2]
 *
 * The database is on this machine, and is empty or was filled by this bench before. PREFIX is where
 * tests/postgres/install.sh put its programs.
 */
import type postgres from 'postgres'
import { postmasterOf } from '../endpoints/fixture.ts'
import { publishableKey } from '../endpoints/keys.ts'
import { type Measurement, runWrk, type Server, start } from '../endpoints/measure.ts'
import { pathOf } from '../endpoints/search_data.ts'
import { median } from '../endpoints/table.ts'
import { makeKinds, openWithTexts } from './real_texts.ts'

const url = Deno.env.get('DATABASE_URL')
const prefix = Deno.env.get('PREFIX')
const count = Number(Deno.args[0])
if (!url || !prefix || !count) throw new Error('DATABASE_URL, PREFIX and a number of profiles are required')
const option = (name: string, fallback: number): number =>
  Number(Deno.args.find((arg) => arg.startsWith(`--${name}=`))?.split('=')[1] ?? fallback)
const rounds = option('rounds', 3)
const seconds = option('seconds', 2)
// That of an instance of the functions, for both.
const connections = '6'

const createPeer = async (sql: postgres.Sql): Promise<void> => {
  await sql`create schema if not exists bench`
  await sql`drop table if exists bench.full_text`
  // A name counts most and a biography least, as in ours.
  await sql`
    create table bench.full_text as
    select
      profile_id as id, user_id, name, biography, city, country, interests, image_url,
      setweight(to_tsvector('english', name), 'A')
        || setweight(to_tsvector('english', array_to_string(interests, ' ')), 'B')
        || setweight(to_tsvector('english', concat_ws(' ', city, country)), 'C')
        || setweight(to_tsvector('english', biography), 'D') as words
    from private.search_entries`
  await sql`alter table bench.full_text add primary key (id)`
  await sql`create index on bench.full_text using gin (words)`
  await sql`create index on bench.full_text (city)`
  await sql`create index on bench.full_text (country)`
  await sql`create index on bench.full_text using gin (interests)`
  await sql`vacuum analyze bench.full_text`
}

const { sql, profiles } = await openWithTexts(url, count)
await createPeer(sql)
const postmaster = await postmasterOf(url)
const kinds = makeKinds(profiles)

const deferred: (() => Promise<void>)[] = []
const defer = (task: () => Promise<void>) => void deferred.push(task)
try {
  const edge = new URL(url)
  edge.username = 'edge_functions'
  const functions = await start('serve_functions.ts', [], {
    EDGE_DATABASE_URL: edge.href,
    DATABASE_POOL: connections,
    // load.lua sends every request from another address, so that no rate limit is reached.
    CLIENT_ADDRESS_HEADER: 'cf-connecting-ip',
  }, defer)
  const plain = await start('../search/serve_full_text.ts', [], {
    DATABASE_URL: url,
    DATABASE_POOL: connections,
  }, defer)
  const contenders: [string, Server, string][] = [
    ['ours', functions, ''],
    ['full text, all words', plain, ''],
    ['full text, any word', plain, '&any=true'],
  ]
  const fixture = { postmaster, wrk: `${prefix}/usr/bin/wrk` }
  const cells = (values: (string | number)[]): string => values.map((value) => String(value).padStart(9)).join('')
  const heads = ['a second', 'ratio', 'by cpu', 'p50', 'p99', 'Postgres', 'server']
  console.log(`${count} profiles; milliseconds; processor time of an answer\n${''.padEnd(46)}${cells(heads)}`)
  for (const [kind, some] of kinds) {
    const files = await Promise.all(contenders.map(async ([, , suffix]) => {
      const file = await Deno.makeTempFile({ suffix: '.tsv' })
      await Deno.writeTextFile(
        file,
        some.map((query) => `GET\t${pathOf(query)}${suffix}\t${publishableKey}\t\n`).join(''),
      )
      defer(() => Deno.remove(file))
      return file
    }))
    for (const clients of [16, 1]) {
      const results: Measurement[][] = contenders.map(() => [])
      for (let round = 0; round <= rounds; round++) {
        for (const [at, [name, server]] of contenders.entries()) {
          const result = await runWrk(fixture, server, files[at]!, { seconds, connections: clients })
          if (result.failed > 0) throw new Error(`${name}: ${result.failed} requests failed`)
          // The first round warms up.
          if (round > 0) results[at]!.push(result)
        }
      }
      const of = (at: number, key: keyof Measurement) => median(results[at]!.map((result) => result[key]))
      const processor = (at: number) => median(results[at]!.map(({ database, server }) => database + server))
      const ratios = (at: number) => median(results[at]!.map(({ rate }, round) => results[0]![round]!.rate / rate))
      for (const [at, [name]] of contenders.entries()) {
        const label = `${kind}, ${clients === 1 ? '1 client' : `${clients} clients`}, ${name}`
        console.log(
          label.padEnd(46) + cells([
            of(at, 'rate').toFixed(0),
            at === 0 ? '' : ratios(at).toFixed(2),
            at === 0 ? '' : (processor(at) / processor(0)).toFixed(2),
            of(at, 'p50').toFixed(1),
            of(at, 'p99').toFixed(1),
            (of(at, 'database') / 1000).toFixed(2),
            (of(at, 'server') / 1000).toFixed(2),
          ]),
        )
      }
    }
  }
} finally {
  for (const task of deferred.reverse()) await task().catch(console.error)
  await sql.end()
}
Deno.exit(0)
