/**
 * Computes the similarities of private.search_models for the offline model, from the labelled set of
 * tests/search/labelled:
 *   similarity_floor      first percentile of the cosines of all pairs of a query and a profile
 *   similarity_ceiling    their 99.8th percentile: from the median to the 99th, nDCG@10 was .843 instead of .848, and
 *                         .823 instead of .836 at ratio .7, because what is beyond is in no order
 *   similarity_threshold  from which cosine on a profile is a hit: the lowest, which has the highest recall, from which
 *                         on .15 of what is found is graded, for short biographies and for long ones. A missing profile
 *                         is lost, an irrelevant one is ranked last.
 * Beside them are those that private.calibrate_model finds without knowing what is relevant.
 *
 * A short text gets higher cosines, and a long one lower, so the threshold is sought with texts of two lengths: each
 * profile's up to 200 characters, and those of as many profiles in one as make 800 characters, which has the best of
 * their grades and so more that is graded.
 *
 *   deno run -A bench/search/calibrate.ts        (PGlite; DATABASE_URL for an empty Postgres)
 */
import { embedder, loadLabelled, mean, openEmpty, type Query } from './labelled.ts'

const leastPrecision = 0.15
const database = await openEmpty()
const queries = (await loadLabelled(database)).filter(({ vector }) => vector)
const rows = await database.query(
  'select profile_id::integer as id, private.entry_text(profile_id) as text from private.search_entries order by 1',
  [],
)
await database.query('update private.search_models set measured_profiles = 0 where name = $1', [embedder.model])
await database.query('select private.calibrate_model($1)', [embedder.model])
const [byItself] = await database.query('select * from private.search_models where name = $1', [embedder.model])
await database.close()

type Text = { ids: number[]; text: string }
const whole: Text[] = rows.map(({ id, text }) => ({ ids: [Number(id)], text: String(text) }))
const joined = (from: number): Text => {
  const some = [whole[from]!]
  const text = () => some.map(({ text }) => text).join('. ')
  while (text().length <= 800) some.push(whole[(from + some.length) % whole.length]!)
  return { ids: some.flatMap(({ ids }) => ids), text: text() }
}
const short = whole.map(({ ids, text }) => ({ ids, text: text.slice(0, 200).replace(/\S+$/, '') }))
const long = whole.map((_, at) => joined(at))

type Pair = { query: Query; cosine: number; isGraded: boolean }
const pairsOf = async (some: Text[]): Promise<Pair[]> => {
  const vectors = await embedder.embed(some.map(({ text }) => text), new AbortController().signal)
  return queries.flatMap((query) =>
    some.map(({ ids }, at) => ({
      query,
      cosine: vectors[at]!.reduce((sum, x, i) => sum + x * query.vector![i]!, 0),
      isGraded: ids.some((id) => query.grades.has(id)),
    }))
  )
}

/** Mean over queries; one that finds nobody has none. */
const precision = (pairs: Pair[], threshold: number): number => {
  const found = Map.groupBy(pairs.filter(({ cosine }) => cosine >= threshold), ({ query }) => query)
  return mean([...found.values()].map((some) => mean(some.map(({ isGraded }) => Number(isGraded)))))
}

const lengths = await Promise.all([short, long].map(pairsOf))
const steps = Array.from({ length: 40 }, (_, index) => (index + 1) / 100)
const threshold = steps.find((step) => lengths.every((pairs) => precision(pairs, step) >= leastPrecision))
const cosines = (await pairsOf(whole)).map(({ cosine }) => cosine).sort((a, b) => a - b)
const percentile = (share: number) => cosines[Math.floor((cosines.length - 1) * share)]!
const found = { floor: percentile(0.01), threshold, ceiling: percentile(0.998) }
for (const [name, value] of Object.entries(found)) {
  const other = Number(byItself![`similarity_${name}`])
  console.log(`similarity_${name.padEnd(9)} ${value?.toFixed(3)}, by calibrate_model ${other.toFixed(3)}`)
}
Deno.exit(0)
