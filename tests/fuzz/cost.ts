/**
 * Searches for the dearest search that anybody may ask for: queries by a grammar, the dearest of which are changed a little, again and again.
 * What a search costs is the least of several times, as a multiple of an ordinary one (the median of bench/search's queries), which is
 * measured anew all the while. Of a server on this machine it is processor time (Linux), which others do not add to. Prints {ordinary, dearest, milliseconds, ratio, tried, request} as JSON.
 *
 *   deno run -A tests/fuzz/cost.ts [--profiles=10000] [--seconds=120] [--tries=…] [--seed=1] [--plant]
 *
 * On PGlite, or on the empty Postgres of DATABASE_URL, or one that this or speed.ts has filled before. --plant breaks the search first as
 * cost_plant.ts says.
 */
import postgres from 'postgres'
import { makeProfiles, makeQueries, model } from '../../bench/search/generated.ts'
import { fill } from '../../bench/search/fill.ts'
import { openEmpty } from '../../bench/search/labelled.ts'
import type { Query } from '../../functions/_shared/postgres.ts'
import { numbersFrom } from '../tools/random.ts'
import { plant } from './cost_plant.ts'

const option = (name: string, otherwise: number): number =>
  Number(Deno.args.find((arg) => arg.startsWith(`--${name}=`))?.split('=')[1] ?? otherwise)
const count = option('profiles', 10_000)
const seconds = option('seconds', 120)
const tries = option('tries', Infinity)
const random = numbersFrom(option('seed', 1))
const below = (most: number): number => Math.floor(random() * most)
const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!
const chance = (share: number): boolean => random() < share

const connect = (url: string): Query => {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  return (text, values) => sql.unsafe(text, values as never[], { prepare: true })
}

/** The crowd, made now or before. Whoever asks with a token has a context as well. */
const openCrowd = async (): Promise<{ query: Query; queries: ReturnType<typeof makeQueries> }> => {
  const url = Deno.env.get('DATABASE_URL')
  const known = url ? connect(url) : null
  const isFilled = await known?.('select from private.search_entries limit 1', []).then(
    (rows) => rows.length > 0,
    () => false,
  )
  const database = isFilled ? null : await openEmpty()
  const query = known ?? database!.query
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

const { query, queries } = await openCrowd()
if (Deno.args.includes('--plant')) {
  // Never committed, so that a database can be used again.
  await query('begin', [])
  await plant(query)
}
const column = async (text: string): Promise<string[]> => (await query(text, [])).map((row) => String(row.value))
const words = await column('select word as value from private.search_lexicon order by entries desc, word')
const facets = {
  interests: await column('select distinct unnest(interest_keys) as value from private.search_entries order by 1'),
  cities: await column('select city_key as value from private.search_entries group by 1 order by count(*) desc, 1'),
  countries: await column(
    'select country_key as value from private.search_entries group by 1 order by count(*) desc, 1',
  ),
}
const texts = await column('select biography as value from private.search_entries order by profile_id limit 200')

interface Asked {
  /** Words, and quotes and exclusions as they are typed. */
  parts: string[]
  /** Whether the last word may go on. */
  unfinished: boolean
  vector: number[] | null
  interests: string[]
  cities: string[]
  countries: string[]
  limit: number
  offset: number
  explain: boolean
  token: boolean
}

const mistyped = (word: string): string => {
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
    () => mistyped(pick(words.slice(0, 2000))),
    () => pick(words).slice(0, 1 + below(3)),
    () => pick(scripts).repeat(1 + below(20)),
    () => pick(['a', '\ufdfa', '-', '寿', '!', '🏔']).repeat(1 + below(300)),
  ])()
const some = <Item>(most: number, make: () => Item): Item[] => Array.from({ length: 1 + below(most) }, make)
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

const invent = (): Asked => ({
  parts: chance(0.1) ? [] : pick([
    () => some(12, part),
    () => some(12, word),
    () => Array(1 + below(20)).fill(part()),
    () => words.slice(0, 10),
  ])(),
  unfinished: chance(0.4),
  vector: chance(0.5) ? pick(queries).vector : null,
  interests: values(facets.interests),
  cities: values(facets.cities),
  countries: values(facets.countries),
  limit: pick([1, 20, 20, 100]),
  offset: pick([0, 0, 0, 100, 450, 899, 999, 1e9]),
  explain: chance(0.3),
  token: chance(0.3),
})

/** A little different: a part more, less, twice or another, or one of the parameters. */
const change = (asked: Asked): Asked => {
  const fresh = invent()
  const at = below(asked.parts.length + 1)
  const spliced = (remove: number, ...added: string[]) => ({
    ...asked,
    parts: asked.parts.toSpliced(at, remove, ...added),
  })
  return pick<() => Asked>([
    () => spliced(0, part()),
    () => spliced(1, part()),
    () => spliced(1),
    () => spliced(0, pick([...asked.parts, word()])),
    () => spliced(1, `"${asked.parts[at] ?? word()} ${word()}"`.replaceAll('""', '"')),
    () => ({ ...asked, unfinished: !asked.unfinished }),
    () => ({ ...asked, vector: fresh.vector }),
    () => ({ ...asked, [pick(['interests', 'cities', 'countries'])]: pick([fresh.interests, fresh.cities, []]) }),
    () => ({ ...asked, limit: fresh.limit, offset: fresh.offset }),
    () => ({ ...asked, explain: true }),
    () => ({ ...asked, token: !asked.token }),
    () => ({ ...asked, parts: [...asked.parts, ...fresh.parts].slice(-15) }),
  ])()
}

const requestOf = ({ parts, unfinished, token: _, ...rest }: Asked): Record<string, unknown> => {
  // What the function lets through.
  const q = [...parts.join(' ') + (unfinished ? '' : ' ')].slice(0, 512).join('').slice(0, 512)
  return { ...rest, q: q.isWellFormed() ? q : '', model }
}

const [backend] = await query('select pg_backend_pid() as pid', [])
const schedule = `/proc/${backend!.pid}/schedstat`
const isServer = Boolean(Deno.env.get('DATABASE_URL'))
/** Milliseconds that the server's process has run; else what the clock says. */
const clock = (): number => {
  try {
    if (isServer) return Number(Deno.readTextFileSync(schedule).split(' ')[0]) / 1e6
  } catch { /* another system, or another machine */ }
  return performance.now()
}

/** As act_as and the verb in one statement. */
const once = async (asked: Asked): Promise<number> => {
  const start = clock()
  await query(
    `select length(answer) from (
       select case when set_config('api.caller', $1, true) is not null then api.search_profiles(($2::text)::jsonb)::text end as answer
     ) as answered`,
    [asked.token ? '1' : '', JSON.stringify(requestOf(asked))],
  )
  return clock() - start
}
const least = async (times: number, asked: Asked): Promise<number> => {
  let best = await once(asked)
  for (let time = 1; time < times && best < 2000; time++) best = Math.min(best, await once(asked))
  return best
}

const usual: Asked[] = queries.slice(0, 60).map(({ q, vector, filters }) => ({
  ...{
    parts: [q.trim()],
    unfinished: !q.endsWith(' '),
    vector,
    ...filters,
    limit: 20,
    offset: 0,
    explain: false,
    token: false,
  },
}))
const ordinary: number[] = []
/** The median of what ordinary queries take, as far as they were measured. */
const measureOrdinary = async (times: number): Promise<number> => {
  for (const [at, asked] of usual.entries()) {
    ordinary[at] = Math.min(ordinary[at] ?? Infinity, await least(times, asked))
  }
  return ordinary.toSorted((a, b) => a - b)[ordinary.length >> 1]!
}
await measureOrdinary(3)

interface Known {
  asked: Asked
  cost: number
}
let known: Known[] = []
let tried = 0
const end = performance.now() + seconds * 1000
while (performance.now() < end && tried < tries) {
  if (tried % 500 === 499) await measureOrdinary(1)
  const asked = known.length < 10 || chance(0.3) ? invent() : change(pick(known).asked)
  let cost = await once(asked)
  tried++
  const bar = known.length < 20 ? 0 : known.at(-1)!.cost
  // Once it may have waited for somebody else.
  if (cost > bar) cost = Math.min(cost, await least(2, asked))
  if (cost > bar) known = [...known, { asked, cost }].toSorted((a, b) => b.cost - a.cost).slice(0, 20)
}

// Those that only met a busy moment are measured again, in turns with the ordinary ones.
let usually = Infinity
for (let round = 0; round < 6; round++) {
  for (const entry of known) entry.cost = Math.min(entry.cost, await least(2, entry.asked))
  usually = await measureOrdinary(1)
}
known.sort((a, b) => b.cost - a.cost)
const [dearest] = known
const { vector, ...request } = requestOf(dearest!.asked)
console.log(JSON.stringify({
  profiles: count,
  tried,
  ordinary: Number(usually.toFixed(2)),
  milliseconds: Number(dearest!.cost.toFixed(1)),
  ratio: Number((dearest!.cost / usually).toFixed(1)),
  request: { ...request, vector: vector !== null, token: dearest!.asked.token },
}))
Deno.exit(0)
