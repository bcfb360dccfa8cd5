/** A database of generated profiles whose embeddings are those of their texts, and kinds of queries for it. */
import postgres from 'postgres'
import { fill } from './fill.ts'
import { makeProfiles, makeQueries, type Profile, type Query } from './generated.ts'
import { embedder, openEmpty } from './labelled.ts'

export const percentile = (values: number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!

/** Processor time of a process of this machine, which runs as one thread and is idle, in ms. */
export const processorTime = (pid: number): number =>
  Number(Deno.readTextFileSync(`/proc/${pid}/schedstat`).split(' ')[0]) / 1e6

export const backendOf = async (sql: postgres.Sql): Promise<number> =>
  (await sql`select pg_backend_pid() as pid`)[0]!.pid

const embedTexts = async (profiles: Profile[]): Promise<Profile[]> => {
  const texts = profiles.map(({ interests, city, country, biography }) =>
    `${interests.join(', ')}. ${city}, ${country}. ${biography}`
  )
  const vectors = await embedder.embed(texts, new AbortController().signal)
  return profiles.map((profile, at) => ({ ...profile, embedding: vectors[at]! }))
}

/** The empty database of DATABASE_URL, or one that was filled by this before. */
export const openWithTexts = async (url: string, count: number) => {
  const database = await openEmpty()
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  const interests = (await sql`select name from public.interests order by name`).map(({ name }) => String(name))
  const profiles = makeProfiles(count, interests)
  const [before] = await sql`select count(*)::integer as entries from private.search_entries`
  if (before!.entries === 0) await fill(database, await embedTexts(profiles))
  else if (before!.entries !== count) throw new Error(`The database holds ${before!.entries} profiles already`)
  await database.close()
  return { sql, profiles }
}

const isFiltered = ({ filters }: Query): boolean => Object.values(filters).some((list) => list.length > 0)

/** Queries by kind. Common words are the hundred that most biographies have, .04 to .98 of them. */
export const makeKinds = (profiles: Profile[]): Map<string, Query[]> => {
  const holders = new Map<string, number>()
  for (const { biography } of profiles) {
    for (const word of new Set(biography.split(' '))) holders.set(word, (holders.get(word) ?? 0) + 1)
  }
  const common = [...holders].toSorted((one, other) => other[1] - one[1]).slice(0, 100).map(([word]) => word)
  const commonWords = (length: number): Query[] =>
    Array.from({ length: 500 }, (_, at) => ({
      // Steps without a common factor with 100, so that each word meets others.
      q: Array.from({ length }, (_, place) => common[(at * [1, 7, 13][place]! + place * 31) % 100]).join(' ') + ' ',
      vector: [],
      filters: { interests: [], cities: [], countries: [] },
    }))
  const queries = makeQueries(5000, profiles)
  return new Map([
    ['ordinary', queries.filter((query) => !isFiltered(query))],
    ['ordinary, filtered', queries.filter(isFiltered)],
    ['1 common word', commonWords(1)],
    ['2 common words', commonWords(2)],
    ['3 common words', commonWords(3)],
  ])
}
