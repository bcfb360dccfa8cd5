/**
 * Finds the most expensive search that a caller may send: generates queries from a grammar and mutates the costliest
 * ones. The cost of a search is the minimum of several times, as a multiple of an ordinary search (the median of
 * bench/search's queries), which is measured again throughout. For a server on this machine the time is processor time
 * (Linux), which other processes do not affect. Prints the JSON of {profiles, tried, ordinary, milliseconds, ratio,
 * request}.
 *
 *   deno run -A tests/fuzz/cost.ts [--profiles=10000] [--seconds=120] [--tries=…] [--rounds=6] [--seed=1] [--fault=…]
 *     [--details]
 *
 * Runs on PGlite, or on the Postgres of DATABASE_URL, which must be empty or filled by this script or speed.ts. --fault
 * seeds a fault of cost_faults.ts first. --details adds highlights, facets and nearness to a profile.
 */
import postgres from 'postgres'
import { makeProfiles, makeQueries, model } from '../../bench/search/generated.ts'
import { fill } from '../../bench/search/fill.ts'
import { openEmpty } from '../../bench/search/labelled.ts'
import type { Query } from '../../functions/_shared/postgres.ts'
import { seededRandom } from '../tools/random.ts'
import { costFaults } from './cost_faults.ts'

const textOption = (name: string): string | undefined =>
  Deno.args.find((arg) => arg.startsWith(`--${name}=`))?.split('=')[1]
const option = (name: string, standard: number): number => Number(textOption(name) ?? standard)
const count = option('profiles', 10_000)
const seconds = option('seconds', 120)
const tries = option('tries', Infinity)
const rounds = option('rounds', 6)
const withDetails = Deno.args.includes('--details')
const random = seededRandom(option('seed', 1))
const below = (limit: number): number => Math.floor(random() * limit)
const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!
const chance = (share: number): boolean => random() < share

const connect = (url: string): Query => {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  return (text, values) => sql.unsafe(text, values as never[], { prepare: true })
}

/** Opens the database, and fills it unless it is filled. The caller with a token also has a search context. */
const openProfiles = async (): Promise<{ query: Query; queries: ReturnType<typeof makeQueries> }> => {
  const url = Deno.env.get('DATABASE_URL')
  const server = url ? connect(url) : null
  const isFilled = await server?.('select from private.search_entries limit 1', []).then(
    (rows) => rows.length > 0,
    () => false,
  )
  const database = isFilled ? null : await openEmpty()
  const query = server ?? database!.query
  const interests = (await query('select name from public.interests order by name', [])).map(({ name }) => String(name))
  const profiles = makeProfiles(count, interests)
  if (database) await fill(database, profiles)
  await query(
    `insert into private.search_contexts (user_id, content_hash, model, embedding)
     select user_id, '', model, embedding from private.search_entries where user_id = 1
     on conflict do nothing`,
    [],
  )
  return { query, queries: makeQueries(200, profiles) }
}

const { query, queries } = await openProfiles()
const fault = textOption('fault')
if (fault) {
  // Never committed, so that the database can be reused.
  await query('begin', [])
  await costFaults[fault]!(query)
}
const column = async (text: string): Promise<string[]> => (await query(text, [])).map((row) => String(row.value))
const words = await column(
  `select word as value from ts_stat('select words from private.search_words')
   where word !~ '^[.@]' order by ndoc desc, word`,
)
const facets = {
  interests: await column('select distinct unnest(interests) as value from private.search_entries order by 1'),
  cities: await column('select city as value from private.search_entries group by 1 order by count(*) desc, 1'),
  countries: await column(
    'select country as value from private.search_entries group by 1 order by count(*) desc, 1',
  ),
}
const texts = await column('select biography as value from private.search_entries order by profile_id limit 200')

interface Search {
  /** Words, quoted phrases and exclusions. */
  parts: string[]
  /** No space follows the last word, so it is a prefix. */
  endsInPrefix: boolean
  vector: number[] | null
  interests: string[]
  cities: string[]
  countries: string[]
  limit: number
  offset: number
  explain: boolean
  highlight: boolean
  /** Facets to count. */
  facets: string[]
  /** A profile that hits are to be like. */
  like: number | null
  token: boolean
}

const withTypo = (word: string): string => {
  const at = 1 + below(Math.max(1, word.length - 2))
  return word.slice(0, at) + pick(['', 'q', word[at] + 'e', (word[at + 1] ?? '') + word[at]]) + word.slice(at + 1)
}
const scripts = ['寿司', '東京', 'のが', 'ผัดไทย', 'မြန်မာ']
const word = (): string =>
  pick([
    () => words[0]!,
    () => pick(words.slice(0, 5)),
    () => pick(words.slice(0, 20)),
    () => pick(words.slice(0, 500)),
    () => pick(words),
    () => pick(words.filter(({ length }) => length >= 9)),
    () => withTypo(pick(words.slice(0, 2000))),
    () => pick(words).slice(0, 1 + below(3)),
    () => pick(scripts).repeat(1 + below(20)),
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

const generate = (): Search => ({
  parts: chance(0.1) ? [] : pick([
    () => some(12, part),
    () => some(12, word),
    () => Array(1 + below(20)).fill(part()),
    () => words.slice(0, 10),
  ])(),
  endsInPrefix: chance(0.4),
  vector: chance(0.5) ? pick(queries).vector : null,
  interests: values(facets.interests),
  cities: values(facets.cities),
  countries: values(facets.countries),
  limit: pick([1, 20, 20, 100]),
  offset: pick([0, 0, 0, 100, 450, 899, 999, 1e9]),
  explain: chance(0.3),
  highlight: withDetails && chance(0.3),
  facets: withDetails && chance(0.3) ? ['interests', 'city', 'country'] : [],
  like: withDetails && chance(0.2) ? 1 + below(count) : null,
  token: chance(0.3),
})

/** Adds, removes, repeats or replaces a part, or changes a parameter. */
const mutate = (search: Search): Search => {
  const fresh = generate()
  const at = below(search.parts.length + 1)
  const spliced = (remove: number, ...added: string[]) => ({
    ...search,
    parts: search.parts.toSpliced(at, remove, ...added),
  })
  return pick<() => Search>([
    () => spliced(0, part()),
    () => spliced(1, part()),
    () => spliced(1),
    () => spliced(0, pick([...search.parts, word()])),
    () => spliced(1, `"${search.parts[at] ?? word()} ${word()}"`.replaceAll('""', '"')),
    () => ({ ...search, endsInPrefix: !search.endsInPrefix }),
    () => ({ ...search, vector: fresh.vector }),
    () => ({ ...search, [pick(['interests', 'cities', 'countries'])]: pick([fresh.interests, fresh.cities, []]) }),
    () => ({ ...search, limit: fresh.limit, offset: fresh.offset }),
    () => ({ ...search, explain: true }),
    () => ({ ...search, highlight: withDetails }),
    () => ({ ...search, facets: fresh.facets }),
    () => ({ ...search, like: fresh.like }),
    () => ({ ...search, token: !search.token }),
    () => ({ ...search, parts: [...search.parts, ...fresh.parts].slice(-15) }),
  ])()
}

const requestOf = ({ parts, endsInPrefix, facets, token: _, ...rest }: Search): Record<string, unknown> => {
  // As the Edge Function truncates it.
  const q = [...parts.join(' ') + (endsInPrefix ? '' : ' ')].slice(0, 512).join('').slice(0, 512)
  return { ...rest, ...(facets.length > 0 && { facets }), q: q.isWellFormed() ? q : '', model }
}

const [backend] = await query('select pg_backend_pid() as pid', [])
const schedule = `/proc/${backend!.pid}/schedstat`
const isServer = Boolean(Deno.env.get('DATABASE_URL'))
/** The processor time of the server's backend in milliseconds, else wall-clock time. */
const clock = (): number => {
  try {
    if (isServer) return Number(Deno.readTextFileSync(schedule).split(' ')[0]) / 1e6
  } catch { /* Not Linux, or the server runs on another machine. */ }
  return performance.now()
}

/** Sends both statements of a search, as the functions do, and returns their cost. */
const measure = async (search: Search): Promise<number> => {
  const start = clock()
  const call = (name: string, request: Record<string, unknown>) =>
    query(
      `select case
         when set_config('api.caller', $1, true) is not null then api.${name}(($2::text)::jsonb)::text
       end as answer`,
      [search.token ? '1' : '', JSON.stringify(request)],
    )
  const request = requestOf(search)
  // Nothing is known to the model, so that every word is completed or corrected.
  const [understood] = await call('understand_query', { q: request.q, known: '' })
  await call('search_profiles', { ...request, asked: JSON.parse(String(understood!.answer)).asked })
  return clock() - start
}
const minimumOf = async (times: number, search: Search): Promise<number> => {
  let best = await measure(search)
  for (let time = 1; time < times && best < 2000; time++) best = Math.min(best, await measure(search))
  return best
}

const ordinarySearches: Search[] = queries.slice(0, 60).map(({ q, vector, filters }) => ({
  ...{
    parts: [q.trim()],
    endsInPrefix: !q.endsWith(' '),
    vector,
    ...filters,
    limit: 20,
    offset: 0,
    explain: false,
    highlight: false,
    facets: [],
    like: null,
    token: false,
  },
}))
const ordinaryCosts: number[] = []
/** The median of the minimum costs of the ordinary searches so far. */
const measureOrdinary = async (times: number): Promise<number> => {
  for (const [at, search] of ordinarySearches.entries()) {
    ordinaryCosts[at] = Math.min(ordinaryCosts[at] ?? Infinity, await minimumOf(times, search))
  }
  return ordinaryCosts.toSorted((a, b) => a - b)[ordinaryCosts.length >> 1]!
}
await measureOrdinary(3)

interface Candidate {
  search: Search
  cost: number
}
let candidates: Candidate[] = []
let tried = 0
const end = performance.now() + seconds * 1000
while (performance.now() < end && tried < tries) {
  if (tried % 500 === 499) await measureOrdinary(1)
  const search = candidates.length < 10 || chance(0.3) ? generate() : mutate(pick(candidates).search)
  let cost = await measure(search)
  tried++
  const threshold = candidates.length < 20 ? 0 : candidates.at(-1)!.cost
  // A single time may include a wait for another process.
  if (cost > threshold) cost = Math.min(cost, await minimumOf(2, search))
  if (cost > threshold) candidates = [...candidates, { search, cost }].toSorted((a, b) => b.cost - a.cost).slice(0, 20)
}

// Measure again, alternating with the ordinary searches, because the machine may have been busy.
let ordinary = Infinity
for (let round = 0; round < rounds; round++) {
  for (const entry of candidates) entry.cost = Math.min(entry.cost, await minimumOf(2, entry.search))
  ordinary = await measureOrdinary(1)
}
candidates.sort((a, b) => b.cost - a.cost)
const [costliest] = candidates
const { vector, ...request } = requestOf(costliest!.search)
console.log(JSON.stringify({
  profiles: count,
  tried,
  ordinary: Number(ordinary.toFixed(2)),
  milliseconds: Number(costliest!.cost.toFixed(1)),
  ratio: Number((costliest!.cost / ordinary).toFixed(1)),
  request: { ...request, vector: vector !== null, token: costliest!.search.token },
}))
Deno.exit(0)
