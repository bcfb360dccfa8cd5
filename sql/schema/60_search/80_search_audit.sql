-- For operators: does the index agree with the profiles, and how long is the queue of embeddings?

create function private.audit_search_index()
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  return (
    -- A statement sees one snapshot, and in every snapshot the index is in sync, so that writers need not wait.
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
    select json_object_agg(finding, amount order by finding) from findings
  );
end
$$;
comment on function private.audit_search_index() is
  'Counts the differences between the index and the profiles. missing: not in the index, but
should be; surplus: in it, but should not be; stale: with other texts; misworded: with other words, and unlisted: words
that the lexicon lacks (both of 100 random profiles); forgotten: without an embedding and not
queued for one.';

create function private.rebuild_search_index()
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  delete from private.search_entries as entry
  where not exists (
    select
    from public.profiles
    join public.users on users.id = profiles.user_id
    where profiles.id = entry.profile_id and profiles.is_searchable and users.is_active
  );
  -- Makes every entry stale, so that each is written again. An embedding stays if its text is the same.
  update private.search_entries set name = '';
  perform private.refresh_search_entry(id) from public.profiles where is_searchable order by id;
  perform private.refresh_search_context(id) from public.users;
  perform private.count_words();
  insert into private.embedding_queue (kind, id)
  select 'profile', profile_id from private.search_entries where model is null
  union all
  select 'context', user_id from private.search_contexts where model is null
  on conflict (kind, id) do nothing;
  return private.audit_search_index();
end
$$;
comment on function private.rebuild_search_index() is
  'Rebuilds the index from the profiles, and returns the audit. A profile that it has written cannot change until it has
finished, which takes up to 5 ms per profile.';

create function private.describe_search()
returns json
language sql stable security definer set search_path = ''
as $$
  select json_build_object(
    'waiting', count(*) filter (where attempts < 8),
    'dead', count(*) filter (where attempts >= 8),
    'oldest', coalesce(extract(epoch from now() - min(queued_at) filter (where attempts < 8)), 0)
  )
  from private.embedding_queue
$$;
comment on function private.describe_search() is
  'The state of the queue: how many texts wait, how many are dead letters, and the age of the oldest that waits, in
seconds. Definer, because edge_functions has no rights on it.';
grant execute on function private.describe_search() to edge_functions;
