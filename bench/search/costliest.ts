/**
 * Finds the most expensive search that a caller may send: generates queries from a grammar and mutates the costliest
 * ones. The cost of a search is the pages that Postgres reads for its statements, as a multiple of an ordinary one (the
 * median of generated.ts's). Unlike time this is the same in every run, whatever else the machine does.
 * Prints the JSON of {profiles, tried, ordinary, pages, ratio, milliseconds, request}.
 *
 *   deno run -A bench/search/costliest.ts [--profiles=10000] [--seconds=120] [--tries=…] [--seed=1] [--details]
 *
 * Runs on PGlite, or on the Postgres of DATABASE_URL, which must be empty or filled by this before.
 * --details adds facets and nearness to a profile.
 */
import { openFilled } from './fill.ts'
import { makeQueries, model } from './generated.ts'
import { readQuery } from '../../functions/users/read_query.ts'
import { seededRandom } from '../../tests/tools/random.ts'

const option = (name: string, standard: number): number =>
  Number(Deno.args.find((arg) => arg.startsWith(`--${name}=`))?.split('=')[1] ?? standard)
const count = option('profiles', 10_000)
const withDetails = Deno.args.includes('--details')
const random = seededRandom(option('seed', 1))
const below = (limit: number): number => Math.floor(random() * limit)
const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!
const chance = (share: number): boolean => random() < share

const { database: { query }, profiles } = await openFilled(count)
const queries = makeQueries(200, profiles)
// The caller with a token also has a search context.
await query(
  `insert into private.search_contexts (user_id, content_hash, model, embedding)
   select user_id, '', model, embedding from private.search_entries where user_id = 1
   on conflict do nothing`,
  [],
)

const column = async (text: string): Promise<string[]> => (await query(text, [])).map((row) => String(row.value))
const words = await column(
  `select word as value from ts_stat('select words from private.search_words')
   where word !~ '^[@~]' order by ndoc desc, word`,
)
const facets = {
  interests: await column('select distinct unnest(interests) as value from private.search_entries order by 1'),
  cities: await column('select city as value from private.search_entries group by 1 order by count(*) desc, 1'),
  countries: await column('select country as value from private.search_entries group by 1 order by count(*) desc, 1'),
}
const texts = await column('select biography as value from private.search_entries order by profile_id limit 200')

const withTypo = (word: string): string => {
  const at = 1 + below(Math.max(1, word.length - 2))
  return word.slice(0, at) + pick(['', 'q', word[at] + 'e', (word[at + 1] ?? '') + word[at]]) + word.slice(at + 1)
}
const word = (): string =>
  pick([
    () => words[0]!,
    () => pick(words.slice(0, pick([5, 20, 500]))),
    () => pick(words),
    () => pick(words.filter(({ length }) => length >= 9)),
    () => withTypo(pick(words.slice(0, 2000))),
    () => pick(words).slice(0, 1 + below(3)),
    () => pick(['寿司', '東京', 'のが', 'ผัดไทย', 'မြန်မာ']).repeat(1 + below(20)),
    () => pick(['a', '\ufdfa', '-', '寿', '!', '🏔']).repeat(1 + below(300)),
  ])()
const some = <Item>(max: number, make: () => Item): Item[] => Array.from({ length: 1 + below(max) }, make)
const phrase = (): string => {
  const text = pick(texts).split(' ')
  const from = below(text.length)
  const one = pick([word(), pick(words.slice(0, 5))])
  return pick([some(12, word), text.slice(from, from + 1 + below(5)), Array(1 + below(90)).fill(one)]).join(' ')
}
const part = (): string =>
  pick([word, word, word, () => `"${phrase()}"`, () => `-${word()}`, () => `-"${phrase()}"`, () => phrase()])()
const values = (all: string[]): string[] =>
  chance(0.7) ? [] : pick([() => [pick(all)], () => all.slice(0, 50), () => some(50, () => pick(all))])()

/** Words, quoted phrases and exclusions, and the other parameters. Without a space the last word is a prefix. */
const generate = () => ({
  parts: chance(0.1) ? [] : pick([
    () => some(12, part),
    () => some(12, word),
    () => Array<string>(1 + below(20)).fill(part()),
    () => words.slice(0, 10),
  ])(),
  end: chance(0.4) ? '' : ' ',
  vector: chance(0.5) ? pick(queries).vector : null,
  interests: values(facets.interests),
  cities: values(facets.cities),
  countries: values(facets.countries),
  limit: pick([1, 20, 20, 100]),
  offset: pick([0, 0, 0, 100, 450, 899, 999, 1e9]),
  explain: chance(0.3),
  facets: withDetails && chance(0.3) ? ['interests', 'city', 'country'] : [],
  like: withDetails && chance(0.2) ? 1 + below(count) : null,
  token: chance(0.3),
})
type Search = ReturnType<typeof generate>

/** Adds, removes, repeats or joins a part, or takes a parameter of another search. */
const mutate = (search: Search): Search => {
  const fresh = generate()
  const at = below(search.parts.length + 1)
  const name = pick(Object.keys(search) as (keyof Search)[])
  if (name !== 'parts' && chance(0.5)) return { ...search, [name]: fresh[name] }
  const joined = `"${search.parts[at] ?? word()} ${word()}"`.replaceAll('""', '"')
  const added = pick([[part()], [pick([...search.parts, word()])], [joined], [], fresh.parts])
  return { ...search, parts: search.parts.toSpliced(at, below(2), ...added).slice(-15) }
}

const requestOf = ({ parts, end, facets, token: _, ...rest }: Search): Record<string, unknown> => {
  // As the Edge Function truncates it.
  const q = [...parts.join(' ') + end].slice(0, 512).join('').slice(0, 512)
  // Nothing is known to the model, so that every word is completed or corrected.
  const { words } = readQuery(q.isWellFormed() ? q : '', new Set())
  return { ...rest, ...(facets.length > 0 && { facets }), words, model }
}

/** Returns the pages that a search reads: if words were mistyped or begun, the functions send it once more. */
const measure = async (search: Search): Promise<number> => {
  const statement = `select case
      when set_config('api.caller', $1, true) is not null then api.search_profiles(($2::text)::jsonb)
    end as found`
  const parameters = [search.token ? '1' : '', JSON.stringify(requestOf(search))]
  const [explained] = await query(`explain (analyze, buffers, format json) ${statement}`, parameters)
  const [{ Plan: plan }] = [explained!['QUERY PLAN']].flatMap((text) =>
    typeof text === 'string' ? JSON.parse(text) : text
  )
  const kinds = ['Shared Hit', 'Shared Read', 'Temp Read', 'Temp Written']
  const pages = kinds.reduce((sum, kind) => sum + plan[`${kind} Blocks`], 0)
  // explain keeps the answer to itself.
  const [row] = await query(
    `select jsonb_array_length(corrections || completions)::text as mistyped
     from private.read_query(($1::text)::jsonb -> 'words')`,
    [parameters[1]],
  )
  return row!.mistyped === '0' ? pages : 2 * pages
}

const plain = { limit: 20, offset: 0, explain: false, facets: [], like: null, token: false }
const ordinarySearches: Search[] = queries.slice(0, 60).map(({ q, vector, filters }) => ({
  ...{ parts: [q.trim()], end: q.endsWith(' ') ? ' ' : '', vector, ...filters, ...plain },
}))
const ordinaryCosts: number[] = []
// Twice: what a connection reads of the catalogue for the first one is no search.
for (const search of [...ordinarySearches, ...ordinarySearches]) ordinaryCosts.push(await measure(search))
const ordinary = ordinaryCosts.slice(ordinarySearches.length).toSorted((a, b) => a - b)[ordinarySearches.length >> 1]!

let candidates: { search: Search; pages: number }[] = []
let tried = 0
const end = performance.now() + option('seconds', 120) * 1000
while (performance.now() < end && tried < option('tries', Infinity)) {
  const search = candidates.length < 10 || chance(0.3) ? generate() : mutate(pick(candidates).search)
  candidates = [...candidates, { search, pages: await measure(search) }]
    .toSorted((one, other) => other.pages - one.pages).slice(0, 20)
  tried++
}
const [{ search, pages }] = candidates as [typeof candidates[0]]
const started = performance.now()
await measure(search)
const { vector, ...request } = requestOf(search)
console.log(JSON.stringify({
  ...{ profiles: count, tried, ordinary, pages, ratio: Number((pages / ordinary).toFixed(1)) },
  milliseconds: Math.round(performance.now() - started),
  request: { ...request, vector: vector !== null, token: search.token },
}))
Deno.exit(0)
