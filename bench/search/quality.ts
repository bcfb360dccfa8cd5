/**
 * Measures how well the search ranks: the labelled queries of tests/search through private.find_profiles, by words
 * alone, by meaning alone and by both, with the offline provider's embeddings. `token` is both with a token, `own` and
 * `stranger` for callers whose interests, bio and location are those of somebody who is exactly meant (which gains most
 * by that), or of the set's caller, and those of somebody irrelevant. For every kind of query it prints nDCG@10: the
 * order of the first ten, gain 2^grade - 1; where nobody is meant, 1 if no score is above .5; of kind taste, 1 if the
 * first hit is of the caller's kind. With --curve also the share of the hits by meaning alone that are graded, by the
 * score that they show. The last line is the nDCG of every kind and mode as JSON, which tests/search/quality.test.ts
 * compares with figures.json.
 *
 *   deno run -A bench/search/quality.ts [--set=unseen] [--curve] [--deployed=URL]
 *
 * Runs on PGlite, or on the empty Postgres of DATABASE_URL. --deployed also sends every query to this address of the
 * function `users`, which uses the same database; what it answers should be as good as `both`.
 */
import { embedder, findProfiles, loadLabelled, mean, openEmpty, type Query, sets } from './labelled.ts'

interface Setting {
  vector: boolean
  ratio: number
  context?: 'kindred' | 'stranger'
  url?: string
}
const deployed = Deno.args.find((arg) => arg.startsWith('--deployed='))?.slice('--deployed='.length)
const modes = {
  'words': { vector: false, ratio: 0 },
  'meaning': { vector: true, ratio: 1 },
  'both': { vector: true, ratio: 0.5 },
  'token': { vector: true, ratio: 0.7 },
  'own': { vector: true, ratio: 0.7, context: 'kindred' },
  'stranger': { vector: true, ratio: 0.7, context: 'stranger' },
  ...deployed && { deployed: { vector: true, ratio: 0.5, url: deployed } },
} satisfies Record<string, Setting>

const wantedSet = Deno.args.find((arg) => arg.startsWith('--set='))?.slice('--set='.length) ?? 'labelled'
const set = sets.find((name) => name === wantedSet)
if (!set) throw new Error(`--set must be one of ${sets.join(', ')}`)
const database = await openEmpty()
const queries = await loadLabelled(database, set)

const gains = (grades: number[]): number =>
  grades.slice(0, 10).reduce((sum, grade, place) => sum + (2 ** grade - 1) / Math.log2(place + 2), 0)

interface Answer {
  hits: { id: number; _rankingScore: number }[]
}

const ask = async (url: string, { q, filters: { interests, cities, countries } }: Query): Promise<Answer> => {
  const lists = { filterInterests: interests, filterCity: cities, filterCountry: countries }
  const filters = Object.entries(lists).filter(([, names]) => names.length > 0)
  const parameters = new URLSearchParams([['q', q], ...filters.map(([name, names]) => [name, names.join()])])
  const answer = await fetch(`${url}/search?${parameters}`)
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  return await answer.json()
}

const find = async (query: Query, { vector, ratio, context }: Setting, limit = 20): Promise<Answer> => {
  const queryVector = vector && query.vector ? JSON.stringify(query.vector) : null
  const filters = JSON.stringify(query.filters)
  const parameters = [
    query.words,
    queryVector,
    embedder.model,
    ratio,
    filters,
    limit,
    context ? query[context] : null,
  ]
  const [row] = await database.query(findProfiles, parameters)
  return JSON.parse(row!.answer as string)
}

const measure = async (query: Query, setting: Setting): Promise<number> => {
  const { hits } = await (setting.url ? ask(setting.url, query) : find(query, setting))
  const wanted = [...query.grades.values()]
  if (wanted.length === 0) return hits.some(({ _rankingScore }) => _rankingScore > 0.5) ? 0 : 1
  const found = hits.map(({ id }) => query.grades.get(id) ?? 0)
  return query.kind === 'taste' ? Number(found[0]! >= 2) : gains(found) / gains(wanted.toSorted((a, b) => b - a))
}

const results: { kind: string; scores: Record<string, number> }[] = []
for (const query of queries) {
  const scores: Record<string, number> = {}
  for (const [name, mode] of Object.entries(modes)) scores[name] = await measure(query, mode)
  results.push({ kind: query.kind, scores })
}

const row = (label: string, cells: string[]): string =>
  label.padEnd(18) + cells.map((cell) => cell.padStart(10)).join('')
console.log(row('nDCG@10', Object.keys(modes)))
const ndcg: Record<string, Record<string, number>> = {}
for (const kind of [...new Set(queries.map(({ kind }) => kind)), 'all']) {
  const some = results.filter((result) => kind === 'all' || result.kind === kind)
  const means = Object.keys(modes).map((mode) => mean(some.map(({ scores }) => scores[mode]!)).toFixed(3))
  console.log(row(`${kind} (${some.length})`, means))
  ndcg[kind] = Object.fromEntries(Object.keys(modes).map((mode, at) => [mode, Number(means[at])]))
}

if (Deno.args.includes('--curve')) {
  console.log('\nhits by meaning alone: score, how many, share that is graded')
  const alone: { score: number; isWanted: boolean }[] = []
  for (const query of queries) {
    const byWords = new Set((await find(query, modes.words, 1000)).hits.map(({ id }) => id))
    const { hits } = await find(query, modes.both, 1000)
    alone.push(
      ...hits.filter(({ id }) => !byWords.has(id))
        .map(({ id, _rankingScore }) => ({ score: _rankingScore, isWanted: query.grades.has(id) })),
    )
  }
  for (const from of [0, 0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65]) {
    const some = alone.filter(({ score }) => score >= from && score < from + (from < 0.4 ? 0.1 : 0.05) + 1e-9)
    const share = mean(some.map(({ isWanted }) => isWanted ? 1 : 0))
    console.log(`${from.toFixed(2)} ${String(some.length).padStart(5)} ${share.toFixed(2)}`)
  }
}
console.log(JSON.stringify(ndcg))
await database.close()
Deno.exit(0)
