/**
 * Measures the recall of the vector walk: how many of the nearest 20 and 100 profiles private.nearest_profiles finds,
 * for each kind of vectors of corpora.ts. What it should find is the result of an exact scan of all vectors under the
 * same conditions: everybody, all but 2 % who are hidden, a filter that some sixth passes, and near a profile instead
 * of a query. Only profiles within max_distance count; whoever is as near as the last of them counts as found. Queries
 * that nobody is near are left out.
 *
 *   [DATABASE_URL=…] deno run -A bench/search/recall.ts 10000 [--kinds=everyday,random] [--index=16/64,24/128]
 *     [--ef_search=40,60] [--queries=200]
 *
 * Runs on PGlite, or on the database of DATABASE_URL, which is empty or was filled by this bench before. --index tries
 * other values of m and ef_construction than those of the index, --ef_search others than that of the function. Also
 * prints the share of the nearest hundred that the worst tenth of the queries finds at most, the size of the index and
 * the pages that a walk reads; and, for a server on this machine, processor time in ms: of a walk, of saving one
 * vector, and of making the index, for each profile. Walks with different values of ef_search take turns, so that other
 * load on the machine affects them alike.
 */
import postgres from 'postgres'
import type { Query } from '../../functions/_shared/postgres.ts'
import { corpora } from './corpora.ts'
import { fill } from './fill.ts'
import { makeProfiles, model } from './generated.ts'
import { mean, openEmpty } from './labelled.ts'
import { backendOf, percentile, processorTime } from './real_texts.ts'

const url = Deno.env.get('DATABASE_URL')
const count = Number(Deno.args[0])
if (!count) throw new Error('A number of profiles is required')
const option = (name: string, standard: string): string[] =>
  (Deno.args.find((arg) => arg.startsWith(`--${name}=`))?.split('=')[1] ?? standard).split(',')
/** How many vectors are saved one by one, and what share is looked for. */
const saved = 100
const sizes = [20, 100]

const database = await openEmpty()
const interests = (await database.query('select name from public.interests order by name', []))
  .map(({ name }) => String(name))
const profiles = makeProfiles(count + saved, interests)
const [before] = await database.query('select count(*)::integer as entries from private.search_entries', [])
if (before!.entries === 0) await fill(database, profiles.slice(0, count))
else if (before!.entries !== count) throw new Error(`The database holds ${before!.entries} profiles already`)

const sql = url ? postgres(url, { max: 1, onnotice: () => {} }) : null
const query: Query = sql ? (text, values) => sql.unsafe(text, values as never[], { prepare: true }) : database.query
const run = (text: string) => query(text, [])
const read = async (text: string, values: unknown[] = []) => Object.values((await query(text, values))[0]!)[0]
const backend = sql && await backendOf(sql)
/** Runs a task and returns its processor time in ms. */
const timed = async (task: () => Promise<unknown>): Promise<number> => {
  const start = backend ? processorTime(backend) : NaN
  await task()
  return backend ? processorTime(backend) - start : NaN
}

// A copy of the function for each ef_search.
const signature = 'private.nearest_profiles(extensions.halfvec,text,private.search_filter,integer,double precision)'
const source = String(await read(`select pg_get_functiondef('${signature}'::regprocedure)`))
const setting = /(ef_search"? TO ')(\d+)/
const widths = option('ef_search', setting.exec(source)![2]!)
for (const width of widths) {
  await run(source.replace('private.nearest_profiles', `pg_temp.nearest_${width}`).replace(setting, `$1${width}`))
}
const indexName = 'private.search_entries_embedding_idx'
const definition = String(await read(`select pg_get_indexdef('${indexName}'::regclass)`))
// All its work is to be this backend's.
await run('set max_parallel_maintenance_workers = 0')
await run("set maintenance_work_mem = '1GB'")

const threshold = Number(await read(`select similarity_threshold from private.search_models where name = '${model}'`))
const country = await read(
  `select private.lexeme(private.facet('country', country)) from private.search_entries
   group by country order by abs(count(*) - ${count / 6}) limit 1`,
)
interface Condition {
  name: string
  filter: string
  maxDistance: number
  isNearProfile?: boolean
}
const conditions: Condition[] = [
  { name: 'all', filter: "row(null, null, '{}', null)", maxDistance: 1 - threshold },
  {
    name: 'most',
    filter: `row(null, null, array(select generate_series(1, ${count}, 50)), null)`,
    maxDistance: 1 - threshold,
  },
  { name: 'sixth', filter: `row($_$${country}$_$::tsquery, null, '{}', null)`, maxDistance: 1 - threshold },
  { name: 'near', filter: "row(null, null, '{}', null)", maxDistance: 2, isNearProfile: true },
]

// Both statements return the distances of the nearest hundred.
const exactScan = ({ filter, maxDistance }: Condition): string => `
  select coalesce(json_agg(distance order by distance), '[]')::text
  from (
    select distance
    from (
      select entry.embedding operator(extensions.<=>) $1::text::extensions.halfvec as distance
      from private.search_entries as entry
      join private.search_words as stored using (profile_id)
      where private.matches_filter(profile_id, stored.words, ${filter}::private.search_filter)
      offset 0
    ) as measured
    where distance <= ${maxDistance}
    order by distance
    limit 100
  ) as nearest`
const walk = (width: string, { filter, maxDistance }: Condition): string => `
  select coalesce(json_agg(distance order by distance), '[]')::text
  from pg_temp.nearest_${width}(
    query_vector => $1::text::extensions.halfvec, query_model => '${model}',
    filter => ${filter}::private.search_filter, max_results => 100, max_distance => ${maxDistance}
  )`
const distances = async (text: string, vector: number[]): Promise<number[]> =>
  JSON.parse(String(await read(text, [JSON.stringify(vector)])))
const pagesOf = async (text: string, vector: number[]): Promise<number> => {
  const plan = await read(`explain (analyze, buffers, timing off, format json) ${text}`, [JSON.stringify(vector)])
  const [{ Plan: top }] = typeof plan === 'string' ? JSON.parse(plan) : plan
  return top['Shared Hit Blocks'] + top['Shared Read Blocks']
}

const recall = (found: number[], nearest: number[], size: number): number => {
  const wanted = nearest.slice(0, size)
  // The same distance can differ in its last digits.
  return found.slice(0, size).filter((distance) => distance <= wanted.at(-1)! + 1e-9).length / wanted.length
}

/** Gives the profiles these vectors, and leaves them without an index. */
const load = async (vectors: number[][]): Promise<void> => {
  await run(`drop index if exists ${indexName}`)
  for (let from = 0; from < count; from += 1000) {
    await query(
      `update private.search_entries set embedding = vector::extensions.halfvec
       from json_array_elements_text(($2::text)::json) with ordinality as given (vector, place)
       where profile_id = $1::integer + place`,
      [from, JSON.stringify(vectors.slice(from, from + 1000).map((vector) => JSON.stringify(vector)))],
    )
  }
  await run('vacuum full analyze private.search_entries')
}

/** Saves the last vectors one by one, and returns the processor time of one. */
const save = async (vectors: number[][]): Promise<number> => {
  await run('begin')
  const used = await timed(async () => {
    for (const [at, vector] of vectors.entries()) {
      await query(
        'update private.search_entries set embedding = $2::text::extensions.halfvec where profile_id = $1',
        [at * 31 % count + 1, JSON.stringify(vector)],
      )
    }
  })
  await run('rollback')
  return used / vectors.length
}

const print = (cells: string[]): void => {
  console.log(cells.map((cell, at) => at === 0 ? cell.padEnd(10) : cell.padStart(10)).join(''))
}
const columns = conditions.flatMap(({ name }) => sizes.map((size) => `${name}@${size}`))
print(['kind', 'm/ef_c', 'MB', 'index', 'save', 'ef_search', ...columns, 'worst', 'pages', 'walk'])
for (const kind of option('kinds', Object.keys(corpora).join(','))) {
  const { vectors, queries } = await corpora[kind]!(profiles, Number(option('queries', '200')[0]))
  await load(vectors.slice(0, count))
  const cases = []
  for (const [number, condition] of conditions.entries()) {
    for (const [at, asked] of queries.entries()) {
      const vector = condition.isNearProfile ? vectors[at * 7 % count]! : asked
      const nearest = await distances(exactScan(condition), vector)
      if (nearest.length > 0) cases.push({ number, condition, vector, nearest })
    }
  }
  for (const index of option('index', 'as it is')) {
    const [m, construction] = index.split('/')
    const options = ` WITH (m = ${m}, ef_construction = ${construction})`
    await run(`drop index if exists ${indexName}`)
    const made = await timed(() => run(construction ? definition.replace(/ WITH .*|$/, options) : definition))
    const size = Number(await read(`select pg_relation_size('${indexName}')`)) / 1e6
    const results = widths.map((width) => ({
      width,
      shares: columns.map((): number[] => []),
      pages: [] as number[],
      used: [] as number[],
    }))
    for (const { number, condition, vector, nearest } of cases) {
      for (const { width, shares, pages, used } of results) {
        const text = walk(width, condition)
        let found: number[] = []
        const time = await timed(async () => found = await distances(text, vector))
        for (const [at, size] of sizes.entries()) {
          shares[number * sizes.length + at]!.push(recall(found, nearest, size))
        }
        if (number > 0) continue
        used.push(time)
        pages.push(await pagesOf(text, vector))
      }
    }
    const saving = await save(vectors.slice(count))
    for (const { width, shares, pages, used } of results) {
      const figures = [...shares.map(mean), percentile(shares[1]!, 0.1)].map((share) => share.toFixed(3))
      const times = [size.toFixed(1), made / count, saving].map((time) => Number(time).toFixed(2))
      print([kind, index, ...times, width, ...figures, mean(pages).toFixed(0), mean(used).toFixed(2)])
    }
  }
  await run(`drop index if exists ${indexName}`)
  await run(definition)
}
await sql?.end()
await database.close()
Deno.exit(0)
