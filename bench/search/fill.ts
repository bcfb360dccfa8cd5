/** Fills a database with the generated profiles of generated.ts, for speed.ts, writes.ts and costliest.ts. */
import type { Database } from '../../supabase/local/database.ts'
import { makeProfiles, model, type Profile } from './generated.ts'
import { openEmpty } from './labelled.ts'

// Bypasses the triggers, which work row by row, and calls the same functions for a thousand profiles at once.
const fill = async (database: Database, profiles: Profile[]): Promise<void> => {
  const indexes = await database.query(
    `select indexname, indexdef from pg_indexes
     where schemaname = 'private' and indexname in (
       'search_entries_embedding_idx', 'search_words_words_idx', 'search_lexicon_deletions_idx'
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
      entries as (
        insert into private.search_entries (
          profile_id, user_id, name, biography, city, country, interests, content_hash, model, embedding
        )
        select id, id, name, biography, city, country, interests, md5(biography), $2, embedding::extensions.halfvec
        from people
      )
      insert into private.search_words (profile_id, words)
      select
        id, private.words_vector(profile => profiles, name => people.name, interests => people.interests)
      from people
      join profiles using (id)
    `,
      [JSON.stringify(people), model],
    )
  }
  // As many as an ordinary profile has interests and sentences, in its order as private.save_embeddings has them.
  await database.run(`
    insert into private.search_sentences (profile_id, place, embedding)
    select profile_id, place, embedding from private.search_entries cross join generate_series(1, 6) as place
    order by profile_id, place
  `)
  await database.run('select private.count_words()')
  await database.run('set session_replication_role = origin')
  await database.run("set maintenance_work_mem = '1GB'")
  for (const { indexdef } of indexes) await database.run(String(indexdef))
  for (const table of ['entries', 'words', 'lexicon', 'sentences']) {
    await database.run(`vacuum analyze private.search_${table}`)
  }
}

/** The database of DATABASE_URL, or PGlite in memory, which is empty or was filled by this before. */
export const openFilled = async (count: number): Promise<{ database: Database; profiles: Profile[] }> => {
  const database = await openEmpty()
  const interests = await database.query('select name from public.interests order by name', [])
  const profiles = makeProfiles(count, interests.map(({ name }) => String(name)))
  const [before] = await database.query('select count(*)::integer as entries from private.search_entries', [])
  if (before!.entries === 0) await fill(database, profiles)
  else if (before!.entries !== count) throw new Error(`The database holds ${before!.entries} profiles already`)
  return { database, profiles }
}
