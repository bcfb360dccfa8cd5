/** Fills a database with the generated profiles of generated.ts, for speed.ts and tests/fuzz/cost.ts. */
import type { Database } from '../../supabase/local/database.ts'
import { model, type Profile } from './generated.ts'

// Bypasses the triggers, which work row by row, and calls the same functions for a thousand profiles at once.
export const fill = async (database: Database, profiles: Profile[]): Promise<void> => {
  const indexes = await database.query(
    `select indexname, indexdef from pg_indexes
     where schemaname = 'private' and indexname in (
       'search_entries_interest_keys_idx', 'search_entries_embedding_idx', 'search_postings_profile_id_idx'
     )`,
    [],
  )
  for (const { indexname } of indexes) await database.run(`drop index private.${indexname}`)
  await database.run('set session_replication_role = replica')
  for (let from = 0; from < profiles.length; from += 1000) {
    const people = profiles.slice(from, from + 1000).map(({ embedding, ...person }) => ({
      ...person,
      embedding: JSON.stringify(embedding),
    }))
    await database.query(
      `
      with people as materialized (
        select * from jsonb_to_recordset(($1::text)::jsonb) as person (
          id bigint, name text, first_name text, last_name text, city text, country text, biography text,
          interests text[], embedding text
        )
      ),
      users as (
        insert into public.users (id, name, email) overriding system value
        select id, name, id || '@example.com' from people
      ),
      profiles as (
        insert into public.profiles (id, user_id, first_name, last_name, biography, city, country, is_searchable)
        overriding system value
        select id, id, first_name, last_name, biography, city, country, true from people
        returning *
      ),
      indexed as materialized (
        select
          people.*,
          private.positions_of(profile => profiles, name => people.name, interests => people.interests) as positions
        from people join profiles on profiles.id = people.id
      ),
      entries as (
        insert into private.search_entries (
          profile_id, user_id, name, biography, city, country, interests, interest_keys, city_key, country_key, words,
          content_hash, model, embedding
        )
        select
          id, id, name, biography, city, country, interests,
          array(select private.fold(interest) from unnest(interests) as interest),
          private.fold(city), private.fold(country), private.words_from_positions(positions), md5(biography), $2,
          embedding::extensions.halfvec
        from indexed
      )
      insert into private.search_postings (word, profile_id, word_positions)
      select word, id, array(select value::integer from jsonb_array_elements_text(list))
      from indexed
      cross join lateral jsonb_each(positions) as entry (word, list)
    `,
      [JSON.stringify(people), model],
    )
  }
  await database.query(
    `insert into private.search_lexicon (word, entries)
     select word, count(*) from private.search_postings where word <> '' group by word`,
    [],
  )
  await database.run('set session_replication_role = origin')
  await database.run("set maintenance_work_mem = '1GB'")
  for (const { indexdef } of indexes) await database.run(String(indexdef))
  for (const table of ['entries', 'postings', 'lexicon']) await database.run(`vacuum analyze private.search_${table}`)
}
