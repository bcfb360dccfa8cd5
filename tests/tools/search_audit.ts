/**
 * Counts the differences between the search's index and the profiles; every count is 0. missing: not in the index, but
 * should be; surplus: in it, but should not be; stale: with other texts; misworded: with other words, and unlisted:
 * words that the lexicon lacks (both of 100 random profiles); forgotten: without an embedding and not queued for one.
 */
export const searchAudit = `
  with expected as (
    select
      profiles, profiles.id, users.id as user_id, users.name, profiles.biography, profiles.city, profiles.country,
      coalesce(interest_names.names, '{}') as interests, profiles.image_url
    from public.profiles
    join public.users on users.id = profiles.user_id
    left join (
      select profile_id, array_agg(interests.name order by interests.name) as names
      from public.profile_interests
      join public.interests on interests.id = profile_interests.interest_id
      group by profile_id
    ) as interest_names on interest_names.profile_id = profiles.id
    where profiles.is_searchable and users.is_active
  ),
  -- Comparing every word takes up to 5 ms a profile (PGlite, a busy machine), so each audit takes a random hundred.
  sample as (
    select expected.profiles, expected.id, expected.name, expected.interests
    from expected
    join private.search_entries as entry on entry.profile_id = expected.id
    order by random()
    limit 100
  ),
  findings (finding, amount) as (
    select 'missing', count(*)
    from expected
    where not exists (select from private.search_entries where profile_id = expected.id)
    union all
    select 'surplus', count(*)
    from private.search_entries
    where not exists (select from expected where expected.id = profile_id)
    union all
    select 'stale', count(*)
    from expected
    join private.search_entries as entry on entry.profile_id = expected.id
    where (entry.user_id, entry.name, entry.biography, entry.city, entry.country, entry.interests, entry.image_url)
      is distinct from (
        expected.user_id, expected.name, expected.biography, expected.city, expected.country, expected.interests,
        expected.image_url
      )
    union all
    select 'misworded', count(*)
    from sample
    left join private.search_words as stored on stored.profile_id = sample.id
    where stored.words is distinct from private.words_vector(
      profile => sample.profiles, name => sample.name, interests => sample.interests
    )
    union all
    select 'unlisted', count(distinct word)
    from sample
    join private.search_words as stored on stored.profile_id = sample.id
    cross join lateral unnest(tsvector_to_array(stored.words)) as listed (word)
    where word not in (select lexicon.word from private.search_lexicon as lexicon)
    union all
    select 'forgotten', count(*)
    from (
      select 'profile' as kind, profile_id as id from private.search_entries where model is null
      union all
      select 'context', user_id from private.search_contexts where model is null
    ) as without_vector
    where not exists (
      select from private.embedding_queue as job where job.kind = without_vector.kind and job.id = without_vector.id
    )
  )
  select json_object_agg(finding, amount order by finding) as findings from findings
`
