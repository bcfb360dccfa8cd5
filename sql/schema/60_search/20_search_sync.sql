-- Keeps the index in sync, in the transaction that changes a profile.

create function private.naming(weights text[])
returns real
language sql immutable parallel safe
as $$
  select case
    when weights && '{A,C}' then 1
    when weights && '{B}' then -1
    -- A biography may mention a name.
    else -0.5
  end
$$;
comment on function private.naming(text[]) is
  'Whether a profile has a word as a name of people or places, by its weights there: 1, or less.';

create function private.refresh_search_entry(profile bigint)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
  current_profile public.profiles;
  owner public.users;
  interest_names text[];
  vector tsvector;
  hash text;
  hash_before text;
begin
  -- Held until the transaction ends. Whoever refreshes this entry next waits, and then reads what is committed, so that
  -- one that read a profile before it was hidden cannot put it back.
  perform from private.search_locks where profile_id = profile for update;
  if not found then
    insert into private.search_locks (profile_id) values (profile)
    on conflict (profile_id) do update set profile_id = excluded.profile_id;
  end if;
  select * into current_profile from public.profiles where id = profile and is_searchable;
  select * into owner from public.users where id = current_profile.user_id and is_active;
  if owner.id is null then
    delete from private.search_entries where profile_id = profile;
    return;
  end if;
  interest_names := array(
    select interests.name
    from public.profile_interests
    join public.interests on interests.id = profile_interests.interest_id
    where profile_interests.profile_id = profile
    order by interests.name
  );
  vector := private.words_vector(profile => current_profile, name => owner.name, interests => interest_names);
  hash := md5(concat_ws(
    e'\n', array_to_string(interest_names, ', '), current_profile.city, current_profile.country,
    current_profile.biography
  ));
  select content_hash into hash_before from private.search_entries where profile_id = profile;
  insert into private.search_entries as entry
  values (
    profile, owner.id, owner.name, current_profile.biography, current_profile.city, current_profile.country,
    interest_names, current_profile.image_url, hash
  )
  on conflict (profile_id) do update set
    (name, biography, city, country, interests, image_url, content_hash) = (
      excluded.name, excluded.biography, excluded.city, excluded.country, excluded.interests, excluded.image_url, hash
    ),
    -- The embedding of an old text would still find what the owner has deleted.
    embedding = case when entry.content_hash = hash then entry.embedding end,
    model = case when entry.content_hash = hash then entry.model end
  where (entry.image_url, entry.name, entry.city, entry.country, entry.interests, entry.content_hash)
    is distinct from (
      excluded.image_url, excluded.name, excluded.city, excluded.country, excluded.interests, excluded.content_hash
    );
  if hash_before is distinct from hash then
    -- Those of the old text, too, would still find what the owner has deleted.
    delete from private.search_sentences where profile_id = profile;
    perform private.enqueue_embedding('profile', profile);
  end if;
  insert into private.search_completions as stored (profile_id, keys)
  select profile, array_to_tsvector(array(
    select left(kind || ' ' || array_to_string(words[first_word:], ' '), 60)
    from (
      values ('names', owner.name), ('cities', current_profile.city)
      union all
      select 'interests', unnest(interest_names)
    ) as printed (kind, value)
    cross join lateral (select private.words_of(value) as words) as split
    cross join lateral generate_series(1, least(8, cardinality(words))) as first_word
  ))
  on conflict (profile_id) do update set keys = excluded.keys
  where stored.keys <> excluded.keys;
  insert into private.search_words as stored (profile_id, words)
  values (profile, vector)
  on conflict (profile_id) do update set words = excluded.words
  where stored.words <> excluded.words;
  if found then
    insert into private.search_lexicon (word, holders, named)
    select lexeme, 1, private.naming(weights)
    from unnest(vector)
    where not exists (select from private.search_lexicon as lexicon where lexicon.word = lexeme);
  end if;
end
$$;
comment on function private.refresh_search_entry(bigint) is
  'Inserts, updates or deletes the entry of a profile. Definer, because users may not write the index.';

create function private.refresh_search_context(person bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  content text := private.context_text(person);
begin
  if content is null or content = '' then
    delete from private.search_contexts where user_id = person;
    return;
  end if;
  insert into private.search_contexts as context (user_id, content_hash)
  values (person, md5(content))
  on conflict (user_id) do update set content_hash = excluded.content_hash, embedding = null, model = null
  where context.content_hash <> excluded.content_hash;
  if found then
    perform private.enqueue_embedding('context', person);
  end if;
end
$$;
comment on function private.refresh_search_context(bigint) is 'Inserts, updates or deletes the context of a user.';

create function private.sync_search_index()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  case tg_table_name
    when 'profiles' then
      perform private.refresh_search_entry(new.id);
      if tg_op = 'INSERT' then
        perform private.refresh_search_context(new.user_id);
      end if;
    when 'users' then
      perform private.refresh_search_entry(id) from public.profiles where user_id = new.id;
      perform private.refresh_search_context(new.id);
    when 'interests' then
      perform private.refresh_search_entry(profiles.id), private.refresh_search_context(profiles.user_id)
      from public.profile_interests
      join public.profiles on profiles.id = profile_interests.profile_id
      where profile_interests.interest_id = new.id;
    when 'profile_interests' then
      perform private.refresh_search_entry(id), private.refresh_search_context(user_id)
      from public.profiles
      where id in (select profile_id from changed);
  end case;
  return null;
end
$$;
comment on function private.sync_search_index() is
  'Updates entry and context of whom a change concerns. Definer, as refresh_search_entry.';

create trigger sync_profile
  after insert or update on public.profiles
  for each row execute function private.sync_search_index();

create trigger sync_user
  after update on public.users
  for each row
  when (
    (old.name, old.is_active, old.bio, old.location) is distinct from (new.name, new.is_active, new.bio, new.location)
  )
  execute function private.sync_search_index();

create trigger sync_interest
  after update of name on public.interests
  for each row execute function private.sync_search_index();

create trigger sync_added_interests
  after insert on public.profile_interests
  referencing new table as changed
  for each statement execute function private.sync_search_index();

create trigger sync_removed_interests
  after delete on public.profile_interests
  referencing old table as changed
  for each statement execute function private.sync_search_index();

-- A statement that updates rows calls it twice: for the profiles as they were, and as they are.
create trigger sync_left_interests
  after update on public.profile_interests
  referencing old table as changed
  for each statement execute function private.sync_search_index();

create trigger sync_entered_interests
  after update on public.profile_interests
  referencing new table as changed
  for each statement execute function private.sync_search_index();
