/**
 * Computes the similarities of private.search_models for the offline model, from the labelled set of
 * tests/search/labelled:
 *   similarity_floor      mean cosine of all pairs of a query and a profile
 *   similarity_ceiling    their 99.95th percentile
 *   similarity_threshold  from which cosine on a profile is a hit: the step of .01 with the best mean F2 on one half of
 *                         the queries, for finding graded profiles. F2 weighs recall four times as much as precision: a
 *                         missing profile is lost, an irrelevant one is ranked last. The other half validates it.
 *
 *   deno run -A bench/search/calibrate.ts        (PGlite; DATABASE_URL for an empty Postgres)
 */
import { loadLabelled, mean, openEmpty, type Query } from './labelled.ts'

const database = await openEmpty()
const queries = (await loadLabelled(database)).filter(({ vector }) => vector)

const cosines = new Map<Query, { id: number; cosine: number }[]>()
for (const query of queries) {
  const rows = await database.query(
    `select profile_id::integer as id, 1 - (embedding operator(extensions.<=>) $1::text::extensions.halfvec) as cosine
     from private.search_entries`,
    [JSON.stringify(query.vector)],
  )
  cosines.set(query, rows.map(({ id, cosine }) => ({ id: Number(id), cosine: Number(cosine) })))
}
await database.close()

const all = [...cosines.values()].flat().map(({ cosine }) => cosine).sort((a, b) => a - b)
const percentile = (share: number): number => all[Math.min(all.length - 1, Math.floor(all.length * share))]!

const evaluate = (some: Query[], threshold: number) => {
  const each = some.map((query) => {
    const found = cosines.get(query)!.filter(({ cosine }) => cosine >= threshold)
    const relevant = found.filter(({ id }) => query.grades.has(id)).length
    return {
      recall: relevant / query.grades.size,
      total: found.length,
      f2: 5 * relevant / (4 * query.grades.size + found.length),
    }
  })
  return {
    recall: mean(each.map(({ recall }) => recall)),
    total: mean(each.map(({ total }) => total)),
    f2: mean(each.map(({ f2 }) => f2)),
  }
}

const training = queries.filter((_, index) => index % 2 === 0)
const validation = queries.filter((_, index) => index % 2 === 1)
const steps = Array.from({ length: 60 }, (_, index) => (index + 1) / 100)
const threshold = steps.reduce((best, step) => evaluate(training, step).f2 > evaluate(training, best).f2 ? step : best)

const decimals = (share: number): string => percentile(share).toFixed(3)
console.log(`similarity_floor     ${mean(all).toFixed(3)}   (${all.length} pairs of ${queries.length} queries)`)
console.log(`similarity_ceiling   ${decimals(0.9995)}   (95 % ${decimals(0.95)}, 99 % ${decimals(0.99)})`)
console.log(`similarity_threshold ${threshold.toFixed(2)}`)
console.log(
  '\n         training                    validation\n  from   recall   total      F2   recall   total      F2',
)
for (const step of steps.filter((step) => step === threshold || Math.round(step * 100) % 5 === 0)) {
  const cells = [evaluate(training, step), evaluate(validation, step)].map(({ recall, total, f2 }) =>
    `${recall.toFixed(3).padStart(8)}${total.toFixed(1).padStart(8)}${f2.toFixed(3).padStart(8)}`
  )
  console.log(`   ${step.toFixed(2)}${cells.join(' ')}${step === threshold ? '  <' : ''}`)
}
Deno.exit(0)
