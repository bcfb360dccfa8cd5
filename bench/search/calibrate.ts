/**
 * Computes the similarities of private.search_models for the offline model, from the labelled set of
 * tests/search/labelled:
 *   similarity_floor      mean cosine of all pairs of a query and a profile
 *   similarity_ceiling    their 99.95th percentile
 *   similarity_threshold  from which cosine on a profile is a hit: the lowest at which the stated share (--precision,
 *                         .2 by default) of what is found is graded, for one half of the queries. The other half
 *                         validates it. A missing profile is lost, an irrelevant one is ranked last.
 *
 * A short text gets higher cosines, and a long one lower, so the same is done with texts of three lengths: the first
 * fifteen words of each profile's text, all of it, and those of three profiles in one, which has the best of their
 * grades. The threshold is for all three together, the table for each.
 *
 *   deno run -A bench/search/calibrate.ts [--precision=.2]        (PGlite; DATABASE_URL for an empty Postgres)
 */
import { embedder, loadLabelled, mean, openEmpty, type Query } from './labelled.ts'

const stated = Number(Deno.args.find((arg) => arg.startsWith('--precision='))?.slice('--precision='.length) ?? 0.2)
const database = await openEmpty()
const queries = (await loadLabelled(database)).filter(({ vector }) => vector)
const rows = await database.query(
  'select profile_id::integer as id, private.entry_text(profile_id) as text from private.search_entries order by 1',
  [],
)
await database.close()

type Text = { ids: number[]; text: string }
const whole: Text[] = rows.map(({ id, text }) => ({ ids: [Number(id)], text: String(text) }))
const texts: Record<string, Text[]> = {
  short: whole.map(({ ids, text }) => ({ ids, text: text.split(/\s+/).slice(0, 15).join(' ') })),
  whole,
  long: whole.map((_, at) => {
    const three = [0, 1, 2].map((step) => whole[(at + step) % whole.length]!)
    return { ids: three.flatMap(({ ids }) => ids), text: three.map(({ text }) => text).join('. ') }
  }),
}

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
const pairs: Record<string, Pair[]> = {}
for (const [length, some] of Object.entries(texts)) pairs[length] = await pairsOf(some)
const everything = Object.values(pairs).flat()

/** Means over queries; a query that finds nobody has no precision. */
const evaluate = (some: Pair[], threshold: number, half: number) => {
  const each = queries.filter((_, index) => index % 2 === half).map((query) => {
    const graded = some.filter((pair) => pair.query === query && pair.isGraded)
    const found = some.filter((pair) => pair.query === query && pair.cosine >= threshold)
    const hits = found.filter(({ isGraded }) => isGraded).length
    return { recall: hits / graded.length, total: found.length, precision: hits / found.length }
  })
  return {
    recall: mean(each.map(({ recall }) => recall)),
    precision: mean(each.map(({ precision }) => precision).filter((value) => !Number.isNaN(value))),
    total: mean(each.map(({ total }) => total)),
  }
}

const steps = Array.from({ length: 40 }, (_, index) => (index + 1) / 100)
const threshold = steps.find((step) => evaluate(everything, step, 0).precision >= stated) ?? steps.at(-1)!
const cosines = pairs.whole!.map(({ cosine }) => cosine).sort((a, b) => a - b)
const percentile = (share: number) => cosines[Math.floor((cosines.length - 1) * share)]!.toFixed(3)
console.log(`similarity_floor     ${mean(cosines).toFixed(3)}   (${cosines.length} pairs of ${queries.length} queries)`)
console.log(`similarity_ceiling   ${percentile(0.9995)}   (95 % ${percentile(0.95)}, 99 % ${percentile(0.99)})`)
console.log(`similarity_threshold ${threshold.toFixed(2)}   (precision ${stated})`)
console.log('\nrecall / precision / found, of the other half of the queries')
console.log(`  from${Object.keys(pairs).map((length) => length.padStart(20)).join('')}`)
for (const step of steps.filter((step) => step === threshold || Math.round(step * 100) % 2 === 0)) {
  const cells = Object.values(pairs).map((some) => {
    const { recall, precision, total } = evaluate(some, step, 1)
    return `${recall.toFixed(2)} ${precision.toFixed(2)} ${total.toFixed(1).padStart(5)}`.padStart(20)
  })
  console.log(`  ${step.toFixed(2)}${cells.join('')}${step === threshold ? '  <' : ''}`)
}
Deno.exit(0)
