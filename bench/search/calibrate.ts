/**
 * Computes the similarities of private.search_models for the offline model, from the labelled set of
 * tests/search/labelled:
 *   similarity_floor      first percentile of the cosines of all pairs of a query and a profile
 *   similarity_ceiling    their 99.8th percentile: from the median to the 99th, nDCG@10 was .843 instead of .848, and
 *                         .823 instead of .836 at ratio .7, because what is beyond is in no order
 *   similarity_threshold  from which cosine on a profile is a hit: the lowest, which has the highest recall, from which
 *                         on the stated share (--precision, .15 by default) of what is found is graded, for short
 *                         biographies and for long ones. A missing profile is lost, an irrelevant one is ranked last.
 *
 * A short text gets higher cosines, and a long one lower, so all is done with texts of three lengths: each profile's
 * text up to 200 characters, all of it, and those of as many profiles in one as make 800 characters, which has the best
 * of their grades and so more that is graded. One half of the queries chooses, the other half is what the table shows.
 *
 *   deno run -A bench/search/calibrate.ts [--precision=.15]        (PGlite; DATABASE_URL for an empty Postgres)
 */
import { embedder, loadLabelled, mean, openEmpty, type Query } from './labelled.ts'

const stated = Number(Deno.args.find((arg) => arg.startsWith('--precision='))?.slice('--precision='.length) ?? 0.15)
const database = await openEmpty()
const queries = (await loadLabelled(database)).filter(({ vector }) => vector)
const rows = await database.query(
  'select profile_id::integer as id, private.entry_text(profile_id) as text from private.search_entries order by 1',
  [],
)
// What private.calibrate_model finds without knowing what is relevant, to be compared.
await database.query('update private.search_models set measured_profiles = 0 where name = $1', [embedder.model])
const began = performance.now()
await database.query('select private.calibrate_model($1)', [embedder.model])
const took = performance.now() - began
const [measured] = await database.query('select * from private.search_models where name = $1', [embedder.model])
await database.close()

type Text = { ids: number[]; text: string }
const whole: Text[] = rows.map(({ id, text }) => ({ ids: [Number(id)], text: String(text) }))
const joined = (from: number): Text => {
  const some = [whole[from]!]
  const text = () => some.map(({ text }) => text).join('. ')
  while (text().length <= 800) some.push(whole[(from + some.length) % whole.length]!)
  return { ids: some.flatMap(({ ids }) => ids), text: text() }
}
const texts = {
  short: whole.map(({ ids, text }) => ({ ids, text: text.slice(0, 200).replace(/\S+$/, '') })),
  whole,
  long: whole.map((_, at) => joined(at)),
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
const pairs = {
  short: await pairsOf(texts.short),
  whole: await pairsOf(texts.whole),
  long: await pairsOf(texts.long),
}

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
const isPrecise = (step: number) =>
  [pairs.short, pairs.long].every((some) => evaluate(some, step, 0).precision >= stated)
const threshold = steps.find(isPrecise) ?? steps.at(-1)!
const cosines = pairs.whole.map(({ cosine }) => cosine).sort((a, b) => a - b)
const percentile = (share: number) => cosines[Math.floor((cosines.length - 1) * share)]!.toFixed(3)
console.log(`similarity_floor     ${percentile(0.01)}   (${cosines.length} pairs of ${queries.length} queries)`)
console.log(`similarity_ceiling   ${percentile(0.998)}   (50 % ${percentile(0.5)}, 99 % ${percentile(0.99)})`)
console.log(`similarity_threshold ${threshold.toFixed(2)}   (precision ${stated})`)
const byItself = ['floor', 'ceiling', 'threshold'].map((name) => Number(measured![`similarity_${name}`]).toFixed(3))
console.log(`calibrate_model: ${byItself.join(', ')}, in ${took.toFixed()} ms`)
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
