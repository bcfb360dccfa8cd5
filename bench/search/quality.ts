/**
 * How well the search finds what people mean: the labelled queries of tests/search/labelled through private.find_profiles, by words alone, by
 * meaning alone and by both, with the offline provider's vectors. Prints for every kind of query
 *   nDCG@10     order of the first ten, gain 2^grade - 1
 *   MRR         one over the place of the first hit of grade 2 or 3
 *   recall@20   share of the profiles of grade 2 or 3 among the first twenty
 *   total       mean estimatedTotalHits
 * then, with --each, every query whose hybrid order is worse than that of one leg alone by .1 or more.
 *
 *   deno run -A bench/search/quality.ts [--each] [--try=similarity_floor,similarity_ceiling,similarity_threshold]
 *
 * On PGlite, or on the empty Postgres of DATABASE_URL; --try measures with other numbers than private.search_models has.
 */
import { embedder, loadLabelled, openEmpty, type Query } from './labelled.ts'

interface Scores {
  ndcg: number
  mrr: number
  recall: number
  total: number
}

const ways = {
  'words': { vector: false, ratio: 0 },
  'meaning': { vector: true, ratio: 1 },
  'both .5': { vector: true, ratio: 0.5 },
  'both .7': { vector: true, ratio: 0.7 },
}
type Way = keyof typeof ways

const database = await openEmpty()
const queries = await loadLabelled(database)
const numbers = Deno.args.find((arg) => arg.startsWith('--try='))?.slice('--try='.length).split(',').map(Number)
if (numbers) {
  await database.query(
    `update private.search_models
     set similarity_floor = $2::text::real, similarity_ceiling = $3::text::real, similarity_threshold = $4::text::real
     where name = $1`,
    [embedder.model, ...numbers.map(String)],
  )
}

const gains = (grades: number[]): number =>
  grades.slice(0, 10).reduce((sum, grade, place) => sum + (2 ** grade - 1) / Math.log2(place + 2), 0)

const ask = async (query: Query, { vector, ratio }: { vector: boolean; ratio: number }): Promise<Scores> => {
  const [row] = await database.query(
    'select private.find_profiles($1, $2::text::extensions.halfvec, $3, $4, ($5::text)::jsonb, null, 20, 0, false)::text as answer',
    [
      query.q,
      vector && query.vector ? JSON.stringify(query.vector) : null,
      embedder.model,
      ratio,
      JSON.stringify(query.filters),
    ],
  )
  const answer = JSON.parse(row!.answer as string) as { hits: { id: number }[]; estimatedTotalHits: number }
  const found = answer.hits.map(({ id }) => query.grades.get(id) ?? 0)
  const wanted = [...query.grades.values()]
  const first = found.findIndex((grade) => grade >= 2)
  return {
    ndcg: gains(found) / gains(wanted.toSorted((a, b) => b - a)),
    mrr: first < 0 ? 0 : 1 / (first + 1),
    recall: found.filter((grade) => grade >= 2).length / wanted.filter((grade) => grade >= 2).length,
    total: answer.estimatedTotalHits,
  }
}

const results: { query: Query; scores: Record<Way, Scores> }[] = []
for (const query of queries) {
  const scores = {} as Record<Way, Scores>
  for (const [name, way] of Object.entries(ways)) scores[name as Way] = await ask(query, way)
  results.push({ query, scores })
}

const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
const kinds = [...new Set(queries.map(({ kind }) => kind))]
const row = (label: string, cells: string[]): string =>
  label.padEnd(18) + cells.map((cell) => cell.padStart(22)).join('')
console.log('nDCG@10 / MRR / recall@20 / total')
console.log(row('', Object.keys(ways)))
for (const kind of [...kinds, 'all']) {
  const some = results.filter(({ query }) => kind === 'all' || query.kind === kind)
  const cells = (Object.keys(ways) as Way[]).map((way) =>
    (['ndcg', 'mrr', 'recall'] as const)
      .map((measure) => mean(some.map(({ scores }) => scores[way][measure])).toFixed(3).replace(/^0/, ''))
      .concat(mean(some.map(({ scores }) => scores[way].total)).toFixed(0).padStart(3))
      .join(' ')
  )
  console.log(row(`${kind} (${some.length})`, cells))
}

if (Deno.args.includes('--each')) {
  console.log('\nnDCG@10 of queries where both .7 is worse than a leg alone: words, meaning, both .5, both .7')
  for (const { query, scores } of results) {
    const [words, meaning, half, most] = (Object.keys(ways) as Way[]).map((way) => scores[way].ndcg)
    if (Math.max(words!, meaning!) - most! < 0.1) continue
    console.log(
      `${query.id} ${query.kind.padEnd(11)}${
        [words, meaning, half, most].map((value) => value!.toFixed(2)).join(' ')
      }  ${query.q}`,
    )
  }
}
await database.close()
Deno.exit(0)
