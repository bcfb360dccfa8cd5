-- Keeping the index in step: whatever changes a profile changes its entry, and the entry its words, in one transaction.

create function private.refresh_search_entry(profile bigint)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
  shown public.profiles;
  owner public.users;
  likes text[];
  fresh jsonb;
  hash text;
begin
  -- One transaction at a time keeps the index, until it commits. What this one reads is then what the one before has left: nobody's hiding is
  -- undone by somebody who read the profile before it was hidden. And two whose words cross cannot wait for each other for ever.
  perform pg_advisory_xact_lock('private.search_entries'::regclass::oid::bigint);
  select * into shown from public.profiles where id = profile and is_searchable;
  select * into owner from public.users where id = shown.user_id and is_active;
  if owner.id is null then
    delete from private.search_entries where profile_id = profile;
    return;
  end if;
  select coalesce(array_agg(interests.name order by interests.name), '{}')
  into likes
  from public.profile_interests
  join public.interests on interests.id = profile_interests.interest_id
  where profile_interests.profile_id = profile;

  fresh := private.positions_of(shown, owner.name, likes);
  hash := md5(concat_ws(e'\n', array_to_string(likes, ', '), shown.city, shown.country, shown.biography));
  insert into private.search_entries as entry (
    profile_id, user_id, name, biography, city, country, interests, image_url,
    interest_keys, city_key, country_key, words, content_hash
  )
  values (
    profile, owner.id, owner.name, shown.biography, shown.city, shown.country, likes, shown.image_url,
    array(select private.fold(trim(name)) from unnest(likes) as name),
    private.fold(trim(shown.city)), private.fold(trim(shown.country)), private.words_from_positions(fresh), hash
  )
  on conflict (profile_id) do update set
    name = excluded.name,
    biography = excluded.biography,
    city = excluded.city,
    country = excluded.country,
    interests = excluded.interests,
    image_url = excluded.image_url,
    interest_keys = excluded.interest_keys,
    city_key = excluded.city_key,
    country_key = excluded.country_key,
    words = excluded.words,
    content_hash = excluded.content_hash,
    -- A vector of a text that is gone would find what its owner took back.
    embedding = case when entry.content_hash = excluded.content_hash then entry.embedding end,
    model = case when entry.content_hash = excluded.content_hash then entry.model end
  where (entry.words, entry.image_url, entry.name, entry.biography, entry.city, entry.country, entry.interests)
    is distinct from
    (excluded.words, excluded.image_url, excluded.name, excluded.biography, excluded.city, excluded.country, excluded.interests);
  if found then
    delete from private.search_postings where profile_id = profile and not fresh ? word;
    insert into private.search_postings (word, profile_id, word_positions)
    select word, profile, array(select word_position::integer from jsonb_array_elements_text(list) as word_position)
    from jsonb_each(fresh) as standing (word, list)
    on conflict (word, profile_id) do update set word_positions = excluded.word_positions where search_postings.word_positions <> excluded.word_positions;
  end if;
end
$$;
comment on function private.refresh_search_entry(bigint) is
  'Makes a profile''s entry what it should be now, or removes it. Definer, because whoever changes a profile may not write the index.';

create function private.is_unconfirmed(profile bigint)
returns boolean
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- Shared, so that who confirms them waits for what is written here, and then reads it. Who is being confirmed right now is not waited for,
  -- because that waits for the lock of the index, which this transaction may hold.
  perform
  from public.users
  where id = (select user_id from public.profiles where profiles.id = profile) and confirmed_at is null
  for share skip locked;
  return found;
end
$$;
comment on function private.is_unconfirmed(bigint) is
  'Whether a profile is of somebody whose address is not confirmed: they are in no search until it is, and the index need not follow them. Auth
mails whoever signs up before it commits; with the lock of the index, all who change a profile would wait for its mail server. For definer
triggers alone.';

create function private.sync_profile()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not private.is_unconfirmed(new.id) then
    perform private.refresh_search_entry(new.id);
  end if;
  if tg_op = 'INSERT' then
    perform private.refresh_search_context(new.user_id);
  end if;
  return null;
end
$$;
comment on function private.sync_profile() is 'The index follows a profile. Definer, as refresh_search_entry.';

create trigger sync_profile
  after insert or update on public.profiles
  for each row
  execute function private.sync_profile();

create function private.sync_user()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.refresh_search_entry(id) from public.profiles where user_id = new.id;
  perform private.refresh_search_context(new.id);
  return null;
end
$$;
comment on function private.sync_user() is 'The index follows a user''s name and whether they are active, their context what they say of themselves. Definer, as refresh_search_entry.';

create trigger sync_user
  after update on public.users
  for each row
  when (
    (old.name, old.is_active, old.bio, old.location) is distinct from (new.name, new.is_active, new.bio, new.location)
  )
  execute function private.sync_user();

create function private.sync_interest()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.refresh_search_entry(profiles.id), private.refresh_search_context(profiles.user_id)
  from public.profile_interests
  join public.profiles on profiles.id = profile_interests.profile_id
  where profile_interests.interest_id = new.id;
  return null;
end
$$;
comment on function private.sync_interest() is 'The index follows an interest that is renamed. Definer, as refresh_search_entry.';

create trigger sync_interest
  after update of name on public.interests
  for each row
  execute function private.sync_interest();

create function private.sync_profile_interests()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.refresh_search_entry(profile_id)
  from (select distinct profile_id from changed) as profiles
  where not private.is_unconfirmed(profile_id);
  perform private.refresh_search_context(user_id) from public.profiles where id in (select profile_id from changed);
  return null;
end
$$;
comment on function private.sync_profile_interests() is 'The index follows what profiles like. Definer, as refresh_search_entry.';

create trigger follow_added_interests
  after insert on public.profile_interests
  referencing new table as changed
  for each statement
  execute function private.sync_profile_interests();

create trigger follow_dropped_interests
  after delete on public.profile_interests
  referencing old table as changed
  for each statement
  execute function private.sync_profile_interests();

create function private.sync_swapped_interests()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.refresh_search_entry(profiles.id), private.refresh_search_context(profiles.user_id)
  from public.profiles
  where id in (select profile_id from before union select profile_id from after);
  return null;
end
$$;
comment on function private.sync_swapped_interests() is 'The index follows an interest put in another''s place. Definer, as refresh_search_entry.';

create trigger sync_swapped_interests
  after update on public.profile_interests
  referencing old table as before new table as after
  for each statement
  execute function private.sync_swapped_interests();

create function private.count_words(deltas private.search_lexicon[])
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  insert into private.search_lexicon as lexicon (word, entries)
  select word, entries from unnest(deltas) where entries > 0
  on conflict (word) do update set entries = lexicon.entries + excluded.entries;

  delete from private.search_lexicon as lexicon
  using unnest(deltas) as delta
  where delta.word = lexicon.word and lexicon.entries + delta.entries <= 0;

  update private.search_lexicon as lexicon
  set entries = lexicon.entries + delta.entries
  from unnest(deltas) as delta
  where delta.word = lexicon.word and delta.entries < 0;
end
$$;
comment on function private.count_words(private.search_lexicon[]) is 'Adds to and takes from the lexicon; a word that no entry has any more is gone.';

create function private.sync_postings()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  deltas private.search_lexicon[];
begin
  if tg_op = 'INSERT' then
    select array_agg(row(word, entries)::private.search_lexicon)
    into deltas
    from (select word, count(*)::integer as entries from added where word <> '' group by word) as counts;
  else
    select array_agg(row(word, entries)::private.search_lexicon)
    into deltas
    from (select word, -count(*)::integer as entries from gone where word <> '' group by word) as counts;
  end if;
  if deltas is not null then
    -- As in refresh_search_entry, for entries that go with their profile.
    perform pg_advisory_xact_lock('private.search_entries'::regclass::oid::bigint);
    perform private.count_words(deltas);
  end if;
  return null;
end
$$;
comment on function private.sync_postings() is 'The lexicon follows the postings. Definer, as refresh_search_entry.';

create trigger follow_added_postings
  after insert on private.search_postings
  referencing new table as added
  for each statement
  execute function private.sync_postings();

create trigger follow_gone_postings
  after delete on private.search_postings
  referencing old table as gone
  for each statement
  execute function private.sync_postings();
