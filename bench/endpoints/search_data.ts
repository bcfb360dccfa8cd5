/** Gives the users of fixture.sql the generated profiles of bench/search, and creates queries for them. */
import postgres from 'postgres'
import { type Database, openPostgres } from '../../supabase/local/database.ts'
import { makeProfiles, makeQueries, type Query } from '../search/generated.ts'
import { embedder, makeVectors, understand } from '../search/labelled.ts'

const batchSize = 500
const pgbenchQueries = 1000

/** The path of GET /users/search for a query. */
export const pathOf = ({ q, filters }: Query): string => {
  const parameters = new URLSearchParams({ q })
  for (const interest of filters.interests) parameters.append('filterInterests', interest)
  for (const city of filters.cities) parameters.append('filterCity', city)
  for (const country of filters.countries) parameters.append('filterCountry', country)
  return `/users/search?${parameters}`
}

const requestOf = async (database: Database, { q, filters }: Query) => {
  const { words, ...read } = await understand(database, q)
  return { ...read, words: JSON.parse(words), model: embedder.model, ...filters, limit: 20, offset: 0 }
}

/** Fills profiles, index, vectors, and bench.requests for pgbench. Returns queries for wrk. */
export const fillSearchData = async (url: string, users: number): Promise<Query[]> => {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  const interests = (await sql`select name from public.interests order by name`).map(({ name }) => String(name))
  const profiles = makeProfiles(users, interests)
  for (let from = 0; from < users; from += batchSize) {
    const batch = profiles.slice(from, from + batchSize).map(({ embedding: _, ...person }) => person)
    await sql.begin(async (sql) => {
      await sql`set local session_replication_role = replica`
      await sql`
        update public.profiles
        set (first_name, last_name, biography, city, country) =
          (person.first_name, person.last_name, person.biography, person.city, person.country)
        from jsonb_to_recordset((${JSON.stringify(batch)}::text)::jsonb) as person (
          id bigint, first_name text, last_name text, biography text, city text, country text
        )
        where profiles.id = person.id`
    })
    await sql`
      select private.refresh_search_entry(id)
      from public.profiles
      where is_searchable and id > ${from} and id <= ${from + batchSize}`
  }
  const database = await openPostgres(url)
  await makeVectors(database)
  const queries = makeQueries(5000, profiles)
  const requests = await Promise.all(queries.slice(0, pgbenchQueries).map((query) => requestOf(database, query)))
  await database.close()

  await sql.unsafe(`
    create table bench.requests (id integer primary key, request jsonb not null);
    grant select on bench.requests to edge_functions, authenticated`)
  await sql`
    insert into bench.requests (id, request)
    select number, request
    from jsonb_array_elements((${JSON.stringify(requests)}::text)::jsonb) with ordinality as listed (request, number)`
  await sql`vacuum analyze`
  await sql.end()
  return queries
}
