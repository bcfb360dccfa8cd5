/**
 * Measures how long a search takes on Postgres with generated profiles (generated.ts), in milliseconds and in
 * processor time of its backend, on one connection that runs one query after the other: private.find_profiles by
 * words and meaning and by words alone, with and without filters, next to the bare SQL of both lookups, which
 * neither scores nor ranks nor counts. --others adds Orama and MiniSearch in this process, with the same documents
 * and queries. Then it measures exactness: the first twenty by meaning against a full scan, and filters that one
 * profile in a hundred passes.
 *
 *   DATABASE_URL=… deno run -A bench/search/speed.ts 10000 [--others=FOLDER]
 *
 * The database is on this machine, and is empty or was filled by this bench before. FOLDER has @orama/orama and
 * minisearch installed.
 */
import { createRequire } from 'node:module'
import process from 'node:process'
import postgres from 'postgres'
import { readQuery } from '../../functions/users/read_query.ts'
import { makeProfiles, makeQueries, model, type Profile, type Query } from './generated.ts'
import { fill } from './fill.ts'
import { findProfiles, openEmpty } from './labelled.ts'
import { backendOf, percentile, processorTime } from './real_texts.ts'

const url = Deno.env.get('DATABASE_URL')
const count = Number(Deno.args[0])
if (!url || !count) throw new Error('DATABASE_URL and a number of profiles are required')
const rounds = 3

const database = await openEmpty()
const sql = postgres(url, { max: 1, onnotice: () => {} })
const interests = (await sql`select name from public.interests order by name`).map(({ name }) => String(name))
const profiles = makeProfiles(count, interests)
const queries = makeQueries(200, profiles)

const started = performance.now()
const [before] = await sql`select count(*)::integer as entries from private.search_entries`
if (before!.entries === 0) await fill(database, profiles)
else if (before!.entries !== count) throw new Error(`The database holds ${before!.entries} profiles already`)
await database.close()
const [size] = await sql`select count(*)::integer as words from private.search_lexicon`
console.log(`${count} profiles, ${size!.words} words, ready in ${((performance.now() - started) / 1000).toFixed(0)} s`)

interface Answer {
  hits: { id: number }[]
  estimatedTotalHits: number
}

const find = async (
  { q, vector, filters }: Query,
  by: { meaning: boolean; ratio?: number; limit?: number },
): Promise<Answer> => {
  const queryVector = by.meaning ? JSON.stringify(vector) : null
  const tokens = JSON.stringify(readQuery(q, () => false).tokens)
  const parameters = [tokens, '', queryVector, model, by.ratio ?? 0.5, JSON.stringify(filters), by.limit ?? 20, null]
  const [row] = await sql.unsafe(findProfiles, parameters, { prepare: true })
  return JSON.parse(row!.answer)
}
const bare = postgres(url, { max: 1, onnotice: () => {} })
await bare`set hnsw.ef_search = 100`
const bareBackend = await backendOf(bare)
const ofBare = () => processorTime(bareBackend)
const anyWord = ({ q }: Query) =>
  bare.unsafe(
    `select profile_id
     from private.search_words
     where words @@ replace(plainto_tsquery('simple', $1)::text, '&', '|')::tsquery
     limit 20`,
    [q],
    { prepare: true },
  )
const neighbours = ({ vector }: Query) =>
  bare.unsafe(
    `select profile_id
     from private.search_entries
     order by embedding operator(extensions.<=>) $1::text::extensions.halfvec
     limit 20`,
    [JSON.stringify(vector)],
    { prepare: true },
  )

interface Contender {
  name: string
  run: (query: Query) => unknown
  /** Processor time so far in ms. */
  processor: () => number
}

const backend = await backendOf(sql)
const ofPostgres = () => processorTime(backend)
const ofThisProcess = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Each query goes to all contenders before the next one does, so that other load on the machine affects them alike. */
const time = async (some: Query[], contenders: Contender[]): Promise<void> => {
  const results = contenders.map((contender) => ({ ...contender, took: [] as number[], used: [] as number[] }))
  for (const query of some.slice(0, 20)) {
    for (const { run } of contenders) await run(query)
  }
  for (let round = 0; round < rounds; round++) {
    for (const query of some) {
      for (const { run, processor, took, used } of results) {
        const [start, before] = [performance.now(), processor()]
        await run(query)
        took.push(performance.now() - start)
        used.push(processor() - before)
      }
    }
  }
  const quantiles = (values: number[]): string =>
    [0.5, 0.95, 0.99].map((share) => percentile(values, share).toFixed(1).padStart(8)).join('')
  for (const { name, took, used } of results) console.log(`${name.padEnd(44)}${quantiles(took)}${quantiles(used)}`)
}

const isFiltered = ({ filters }: Query): boolean => Object.values(filters).some((list) => list.length > 0)
const free = queries.filter((query) => !isFiltered(query))
const filtered = queries.filter(isFiltered)

interface Others {
  orama: {
    create: (options: unknown) => Promise<unknown>
    insertMultiple: (database: unknown, documents: unknown[], batch?: number) => Promise<unknown>
    search: (database: unknown, query: unknown) => Promise<unknown>
  }
  MiniSearch: new (options: unknown) => {
    addAll: (documents: unknown[]) => void
    search: (query: string, options?: unknown) => unknown[]
  }
}

const openOthers = async ({ orama, MiniSearch }: Others, documents: Profile[]): Promise<Contender[]> => {
  const fields = ['name', 'city', 'country', 'biography', 'first_name', 'last_name']
  const database = await orama.create({
    schema: {
      ...Object.fromEntries(fields.map((field) => [field, 'string'])),
      interests: 'string[]',
      embedding: 'vector[384]',
    },
  })
  await orama.insertMultiple(database, documents.map((document) => ({ ...document, id: String(document.id) })), 1000)
  const engine = new MiniSearch({
    fields: [...fields, 'interests'],
    extractField: (document: Record<string, unknown>, field: string) => String(document[field] ?? ''),
  })
  engine.addAll(documents)
  return [{
    name: 'Orama hybrid, in process, tolerance 1',
    run: ({ q, vector }) =>
      orama.search(database, {
        mode: 'hybrid',
        term: q.trim(),
        vector: { value: vector, property: 'embedding' },
        similarity: 0.13,
        tolerance: 1,
        limit: 20,
      }),
    processor: ofThisProcess,
  }, {
    name: 'MiniSearch, in process, words alone',
    run: ({ q }) => engine.search(q, { prefix: true, fuzzy: 0.2 }).slice(0, 20),
    processor: ofThisProcess,
  }]
}

const folder = Deno.args.find((arg) => arg.startsWith('--others='))?.slice('--others='.length)
const load = folder && createRequire(new URL('x.js', `file://${Deno.realPathSync(folder)}/`))
const others = load ? await openOthers({ orama: load('@orama/orama'), MiniSearch: load('minisearch') }, profiles) : []

console.log(`${''.padEnd(44)}     p50     p95     p99     p50     p95     p99 of processor time`)
await time(free, [
  {
    name: `words and meaning (${free.length} queries)`,
    run: (query) => find(query, { meaning: true }),
    processor: ofPostgres,
  },
  { name: 'words alone', run: (query) => find(query, { meaning: false }), processor: ofPostgres },
  { name: 'bare SQL: any word, limit 20', run: anyWord, processor: ofBare },
  { name: 'bare SQL: HNSW, limit 20', run: neighbours, processor: ofBare },
  ...others,
])
await time(filtered, [
  {
    name: `words and meaning, filtered (${filtered.length})`,
    run: (query) => find(query, { meaning: true }),
    processor: ofPostgres,
  },
  { name: 'words alone, filtered', run: (query) => find(query, { meaning: false }), processor: ofPostgres },
])
const large = [...Map.groupBy(profiles, ({ country }) => country)]
  .toSorted((one, other) => other[1].length - one[1].length)[0]!
await time(free.map((query) => ({ ...query, filters: { interests: [], cities: [], countries: [large[0]] } })), [
  {
    name: `words and meaning, in a country of ${large[1].length}`,
    run: (query) => find(query, { meaning: true }),
    processor: ofPostgres,
  },
])

let found = 0
for (const query of free) {
  const { hits } = await find({ ...query, q: '' }, { meaning: true, ratio: 1 })
  const exact = await sql.unsafe(
    `select profile_id::integer as id from private.search_entries
     order by (embedding operator(extensions.<=>) $1::text::extensions.halfvec) + 0, profile_id limit 20`,
    [JSON.stringify(query.vector)],
  )
  const ids = new Set(hits.map(({ id }) => id))
  found += exact.filter(({ id }) => ids.has(id)).length / exact.length
}
console.log(`\nfirst twenty by meaning, against a full scan: ${(found / free.length * 100).toFixed(1)} %`)

const hundredth = count / 100
const rare = await sql`
  select city, count(*)::integer as people
  from private.search_entries
  group by city
  order by abs(count(*) - ${hundredth})
  limit 5`
for (const { city, people } of rare) {
  const { estimatedTotalHits, hits } = await find(
    { ...free[0]!, q: '', filters: { interests: [], cities: [city], countries: [] } },
    { meaning: true, limit: 1000 },
  )
  console.log(`a city with ${people} profiles: ${hits.length} hits, total ${estimatedTotalHits}`)
}
await sql.end()
await bare.end()
Deno.exit(0)
