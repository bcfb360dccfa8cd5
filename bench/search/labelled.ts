/** Loads a labelled set of tests/search into an empty database, with the offline provider's embeddings. */
import { embedJobs, type Job } from '../../functions/_shared/embeddings/drain.ts'
import { offline } from '../../functions/_shared/embeddings/offline.ts'
import type { AgeRange } from '../../functions/users/query_age.ts'
import { knownWords } from '../../functions/_shared/embeddings/query_vector.ts'
import { asksForNobody, type Reading, readQuery, textToEmbed } from '../../functions/users/read_query.ts'
import { type Database, openPglite, openPostgres } from '../../supabase/local/database.ts'
import { openPlatform } from '../../supabase/local/platform.ts'
import { readSettings } from '../../supabase/local/settings.ts'

export interface Filters {
  interests: string[]
  cities: string[]
  countries: string[]
  age?: AgeRange | null
  /** Without a letter or digit. */
  isNobody?: boolean
}

export interface Query {
  id: string
  kind: string
  q: string
  filters: Filters
  /** The grade of each relevant profile, by profile id: 3 exactly meant, 2 good, 1 somewhat. */
  grades: Map<number, number>
  vector: number[] | null
  /** The query as the database has read it, and the age that it asks for. */
  words: string
  /** The caller, or else a profile that is exactly meant; and one that has nothing to do with the query. */
  kindred: number
  stranger: number
}

export const embedder = offline()

export const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

export const sets = ['labelled', 'unseen', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'tastes'] as const
type LabelledSet = typeof sets[number]

export const read = (set: LabelledSet, name: string) =>
  JSON.parse(Deno.readTextFileSync(new URL(`../../tests/search/${set}/${name}`, import.meta.url)))

/** A database with the schema and interests only: the empty one of this address, or PGlite in memory. */
export const openEmpty = async (url = Deno.env.get('DATABASE_URL')): Promise<Database> => {
  const settings = readSettings({ DATABASE_URL: url, DATA_DIR: 'memory', SEED: 'none' })
  const database = settings.databaseUrl ? await openPostgres(settings.databaseUrl) : await openPglite(null)
  const keys = { jwtSecret: 'x'.repeat(32), publishableKey: 'sb_publishable_x', secretKey: 'sb_secret_x' }
  await openPlatform(database, keys, settings)
  return database
}

/** Parameters: words, vector, model, semantic ratio, filters, limit, the profile of the caller. */
export const findProfiles = `
  select private.find_profiles(
    request => jsonb_build_object('model', $3::text, 'limit', $6::integer, 'offset', 0), asked => asked,
    filter => private.read_filter(($5::text)::jsonb, asked, null), query_vector => $2::text::extensions.halfvec,
    context_vector => (
      select embedding from private.search_contexts join public.profiles using (user_id) where profiles.id = $7
    ),
    semantic_ratio => $4
  )::text as answer
  from (select private.read_query(($1::text)::jsonb) as asked offset 0) as read`

/** Makes all missing embeddings of the offline provider, and counts the words of the lexicon. */
export const makeVectors = async (database: Database): Promise<void> => {
  await database.query('select private.count_words()', [])
  await database.query('select private.adopt_model($1)', [embedder.model])
  while (true) {
    const [claimed] = await database.query('select private.claim_embeddings($1, 64) as jobs', [embedder.model])
    const jobs = claimed!.jobs as Job[]
    if (jobs.length === 0) return
    const saved = await embedJobs(jobs, (texts) => embedder.embed(texts, new AbortController().signal))
    const parameters = [embedder.model, JSON.stringify(saved)]
    await database.query('select private.save_embeddings($1, ($2::text)::jsonb)', parameters)
  }
}

const loadPeople = async (database: Database, set: LabelledSet): Promise<Map<string, number>> => {
  const people = JSON.stringify(read(set, 'profiles.json'))
  await database.query(
    `insert into public.interests (name)
     select distinct interest
     from jsonb_to_recordset(($1::text)::jsonb) as person (interests text[])
     cross join unnest(interests) as interest
     on conflict do nothing`,
    [people],
  )
  await database.query(
    `
    with people as (
      select * from jsonb_to_recordset(($1::text)::jsonb) as person (
        key text, name text, first_name text, last_name text, age integer, city text, country text, interests text[],
        biography text, bio text, location text,
        is_searchable boolean
      )
    ),
    users as (
      insert into public.users (name, email, bio, location)
      select name, key || '@example.com', bio, location from people order by key
      returning id, email
    ),
    profiles as (
      insert into public.profiles (user_id, first_name, last_name, age, biography, country, city, is_searchable)
      select users.id, first_name, last_name, age, biography, country, city, coalesce(is_searchable, true)
      from people join users on users.email = key || '@example.com'
      order by key
      returning id, user_id
    )
    insert into public.profile_interests (profile_id, interest_id)
    select profiles.id, interests.id
    from people
    join users on users.email = key || '@example.com'
    join profiles on profiles.user_id = users.id
    join public.interests on interests.name = any (people.interests)
  `,
    [people],
  )
  const rows = await database.query(
    `select split_part(email, '@', 1) as key, profiles.id::integer as id
     from public.users join public.profiles on profiles.user_id = users.id`,
    [],
  )
  return new Map(rows.map(({ key, id }) => [String(key), Number(id)]))
}

/** What a search reads from a query, with the offline provider's vector; null if it is zero. */
export const understand = async (database: Pick<Database, 'query'>, q: string) => {
  const known = await knownWords(q)
  const read = readQuery(q, known)
  const words = JSON.stringify(read.words)
  const [row] = await database.query(
    `select private.describe_query(private.read_query(($1::text)::jsonb), '{}')::text as reading`,
    [words],
  )
  const reading: Reading = JSON.parse(String(row!.reading))
  const text = textToEmbed(read.text, reading, true)
  const [vector] = text === '' ? [] : await embedder.embed([text], new AbortController().signal)
  return { words, age: read.age, vector: vector?.some((value) => value !== 0) ? vector : null }
}

/** Loads the profiles, makes their embeddings, and returns the queries. */
export const loadLabelled = async (database: Database, set: LabelledSet = 'labelled'): Promise<Query[]> => {
  const ids = await loadPeople(database, set)
  await makeVectors(database)
  const queries: Query[] = []
  for (const { id, kind, q, caller, filters = {}, grades } of read(set, 'queries.json')) {
    const graded = new Map(Object.entries(grades).map(([key, grade]) => [ids.get(key)!, Number(grade)]))
    const all = [...ids.values()].sort((a, b) => a - b)
    // Another one for each query, so that no single stranger decides.
    const strangers = all.filter((profile) => !graded.has(profile))
    const { words, age, vector } = await understand(database, q)
    queries.push({
      id,
      kind,
      q,
      words,
      filters: {
        age,
        isNobody: asksForNobody(q),
        interests: filters.interests ?? [],
        cities: filters.city ?? [],
        countries: filters.country ?? [],
      },
      grades: graded,
      vector,
      kindred: ids.get(caller) ?? [...graded].toSorted((one, other) => other[1] - one[1])[0]?.[0] ?? all[0]!,
      stranger: strangers[queries.length * 7 % strangers.length]!,
    })
  }
  return queries
}
