/**
 * How the offline model's cosines read (private.search_models), from the labelled set of tests/search/labelled:
 *   similarity_floor   mean cosine of all pairs of query and profile
 *   similarity_ceiling      their 99.95th percentile
 *   similarity_threshold     the cosine from where on a profile counts as a hit: of all steps of .01 the one with the best mean F2 over one half of
 *                   the queries, for finding graded profiles (recall counts four times as much as precision: what is left out is lost,
 *                   while what is let in stands last); reported on the other half, which had no say
 *
 *   deno run -A bench/search/calibrate.ts        (PGlite; DATABASE_URL for an empty Postgres)
 */
import { loadLabelled, openEmpty, type Query } from './labelled.ts'

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

const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
const all = [...cosines.values()].flat().map(({ cosine }) => cosine).sort((a, b) => a - b)
const percentile = (share: number): number => all[Math.min(all.length - 1, Math.floor(all.length * share))]!

const judge = (some: Query[], least: number) => {
  const each = some.map((query) => {
    const found = cosines.get(query)!.filter(({ cosine }) => cosine >= least)
    const right = found.filter(({ id }) => query.grades.has(id)).length
    return {
      recall: right / query.grades.size,
      total: found.length,
      f2: 5 * right / (4 * query.grades.size + found.length),
    }
  })
  return {
    recall: mean(each.map(({ recall }) => recall)),
    total: mean(each.map(({ total }) => total)),
    f2: mean(each.map(({ f2 }) => f2)),
  }
}

const chosenOn = queries.filter((_, index) => index % 2 === 0)
const heldOut = queries.filter((_, index) => index % 2 === 1)
const steps = Array.from({ length: 60 }, (_, index) => (index + 1) / 100)
const nearEnough = steps.reduce((best, step) => judge(chosenOn, step).f2 > judge(chosenOn, best).f2 ? step : best)

console.log(`similarity_floor ${mean(all).toFixed(3)}   (${all.length} pairs of ${queries.length} queries)`)
console.log(
  `similarity_ceiling    ${percentile(0.9995).toFixed(3)}   (95 % ${percentile(0.95).toFixed(3)}, 99 % ${
    percentile(0.99).toFixed(3)
  })`,
)
console.log(`similarity_threshold   ${nearEnough.toFixed(2)}`)
console.log(
  '\n         one half                    the other\n  from   recall   total      F2   recall   total      F2',
)
for (const step of steps.filter((step) => step === nearEnough || Math.round(step * 100) % 5 === 0)) {
  const cells = [judge(chosenOn, step), judge(heldOut, step)].map(({ recall, total, f2 }) =>
    `${recall.toFixed(3).padStart(8)}${total.toFixed(1).padStart(8)}${f2.toFixed(3).padStart(8)}`
  )
  console.log(`   ${step.toFixed(2)}${cells.join(' ')}${step === nearEnough ? '  <' : ''}`)
}
Deno.exit(0)
