-- What whoever runs the service asks of the search: whether the index says what the profiles say, and how its queue does.

create table private.search_audit (
  finding text primary key,
  amount bigint not null check (amount >= 0),
  audited_at timestamptz not null
);
comment on table private.search_audit is
  'What the latest audit of the index found: a row for each thing that it looks for, 0 where all is well.';
alter table private.search_audit enable row level security;

create function private.audit_search_index()
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- One audit at a time; whoever comes meanwhile has the one before.
  if pg_try_advisory_xact_lock('private.search_audit'::regclass::oid::bigint) then
    -- One statement sees one moment, and in each moment the index is in step: nobody who writes need wait.
    with shown as (
      select
        profiles, profiles.id, users.id as user_id, users.name, profiles.biography, profiles.city, profiles.country,
        coalesce(likes.names, '{}') as interests, profiles.image_url
      from public.profiles
      join public.users on users.id = profiles.user_id
      left join (
        select profile_id, array_agg(interests.name order by interests.name) as names
        from public.profile_interests
        join public.interests on interests.id = profile_interests.interest_id
        group by profile_id
      ) as likes on likes.profile_id = profiles.id
      where profiles.is_searchable and users.is_active
    ),
    -- Looking at every word again takes up to 5 ms a profile (PGlite, a busy machine), so a hundred are drawn, others each time.
    drawn as (
      select shown.profiles, shown.id, shown.name, shown.interests, entry.words
      from shown
      join private.search_entries as entry on entry.profile_id = shown.id
      order by random()
      limit 100
    ),
    findings (finding, amount) as (
      select 'missing', count(*)
      from shown
      where not exists (select from private.search_entries where profile_id = shown.id)
      union all
      select 'surplus', count(*)
      from private.search_entries
      where not exists (select from shown where shown.id = profile_id)
      union all
      select 'stale', count(*)
      from shown
      join private.search_entries as entry on entry.profile_id = shown.id
      where (entry.user_id, entry.name, entry.biography, entry.city, entry.country, entry.interests, entry.image_url)
        is distinct from
        (shown.user_id, shown.name, shown.biography, shown.city, shown.country, shown.interests, shown.image_url)
      union all
      select 'misworded', count(*)
      from drawn
      cross join lateral private.positions_of(drawn.profiles, drawn.name, drawn.interests) as fresh
      cross join lateral (
        select coalesce(jsonb_object_agg(word, to_jsonb(word_positions)), '{}') as word_positions
        from private.search_postings
        where profile_id = drawn.id
      ) as kept
      where kept.word_positions <> fresh or drawn.words <> private.words_from_positions(fresh)
      union all
      select 'miscounted', count(*)
      from private.search_lexicon as lexicon
      full join (
        select word, count(*) as entries from private.search_postings where word <> '' group by word
      ) as counted using (word)
      where lexicon.entries is distinct from counted.entries
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
    insert into private.search_audit as audit (finding, amount, audited_at)
    select finding, amount, now()
    from findings
    on conflict (finding) do update set amount = excluded.amount, audited_at = excluded.audited_at;
  end if;
  return (select json_object_agg(finding, amount order by finding) from private.search_audit);
end
$$;
comment on function private.audit_search_index() is
  'Counts where the index and the profiles differ. missing, surplus: in the search or not, and should not be or be; stale: with other
texts; misworded: found by other words (of 100 drawn at random); miscounted: words whose number the lexicon has wrong; forgotten: without a
vector and not queued for one.';

create function private.rebuild_search_index()
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- As in refresh_search_entry: whoever writes a profile waits until this is done.
  perform pg_advisory_xact_lock('private.search_entries'::regclass::oid::bigint);
  delete from private.search_entries as entry
  where not exists (
    select
    from public.profiles
    join public.users on users.id = profiles.user_id
    where profiles.id = entry.profile_id and profiles.is_searchable and users.is_active
  );
  -- No entry looks as it should, so each is written anew; a vector stays where its text is the same.
  update private.search_entries set name = '';
  perform private.refresh_search_entry(id) from public.profiles where is_searchable;
  perform private.refresh_search_context(id) from public.users;
  delete from private.search_lexicon;
  insert into private.search_lexicon (word, entries)
  select word, count(*)::integer from private.search_postings where word <> '' group by word;
  insert into private.embedding_queue (kind, id)
  select 'profile', profile_id from private.search_entries where model is null
  union all
  select 'context', user_id from private.search_contexts where model is null
  on conflict (kind, id) do nothing;
  return private.audit_search_index();
end
$$;
comment on function private.rebuild_search_index() is
  'Makes the index what the profiles say, whatever it was; answers with the audit. Nobody can change a profile meanwhile: up to 12 ms for each that there is.';

create function private.describe_search()
returns json
language sql stable security definer set search_path = ''
as $$
  select json_build_object(
    'waiting', count(*) filter (where attempts < 8),
    'dead', count(*) filter (where attempts >= 8),
    'oldest', coalesce(extract(epoch from now() - min(queued_at) filter (where attempts < 8)), 0),
    'audit', (select json_object_agg(finding, amount order by finding) from private.search_audit),
    'audit_age', (select extract(epoch from now() - max(audited_at)) from private.search_audit)
  )
  from private.embedding_queue
$$;
comment on function private.describe_search() is
  'How the queue does, and what the latest audit found and how many seconds ago; null where there was none. Definer, because the doors hold no
right on either.';
grant execute on function private.describe_search() to edge_functions;

create function private.report_search(oldest_audit double precision)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not exists (select from private.search_audit where audited_at > now() - oldest_audit * interval '1 second') then
    perform private.audit_search_index();
  end if;
  return private.describe_search();
end
$$;
comment on function private.report_search(double precision) is
  'As describe_search, but audits first where the latest is more than so many seconds old, which can take too long. Definer, as that.';
grant execute on function private.report_search(double precision) to edge_functions;
