-- Keeps the index in sync: the transaction that changes a profile also updates its entry, the entry's words and the
-- context of its owner (refresh_search_context, in 76_embeddings.sql).

create function private.fold(value text)
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return lower(extensions.unaccent('extensions.unaccent', normalize(value, nfkc)));
end
$$;
comment on function private.fold(text) is
  'Folds case, accents and compatibility forms. Immutable as long as nobody edits the dictionary unaccent.';

create function private.words_of(value text)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select coalesce(array_agg(left(matches.word[1], 60) order by matches.position), '{}')
    from regexp_matches(
      regexp_replace(
        private.fold(value),
        '([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])', ' \1 ', 'g'
      ),
      '[^[:space:][:punct:][:cntrl:]]+', 'g'
    ) with ordinality as matches (word, position)
  );
end
$$;
comment on function private.words_of(text) is
  'The folded words of a text, in order. In scripts without spaces (Han, kana, Thai, Lao, Khmer, Burmese) every
character is a word.';

create function private.positions_of(profile public.profiles, name text, interests text[])
returns jsonb
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    with texts (attribute, element, value) as (
      values
        (0, 0, name),
        (2, 0, profile.city),
        (3, 0, profile.country),
        (4, 0, profile.biography),
        (5, 0, profile.first_name),
        (5, 1, profile.last_name)
      union all
      select 1, ordinality::integer - 1, interest
      from unnest(interests) with ordinality as listed (interest, ordinality)
    ),
    texts_as_words as materialized (
      select attribute, element, private.words_of(value) as words
      from texts
      where value is not null
    ),
    occurrences as (
      select attribute, element, ordinality::integer - 1 as place, word
      from texts_as_words
      cross join lateral unnest(words) with ordinality as listed (word, ordinality)
      -- Some characters fold into many words, which could run into the positions of the next text.
      where ordinality <= 9000
      union all
      select attribute, element, least(9000, cardinality(words)), ''
      from texts_as_words
    ),
    numbered as (
      select
        word,
        private.word_position(attribute => attribute, element => element, place => place) as word_position,
        row_number() over (partition by word order by attribute, element, place) as occurrence
      from occurrences
    )
    select coalesce(jsonb_object_agg(word, word_positions), '{}')
    from (
      select word, jsonb_agg(word_position order by word_position) as word_positions
      from numbered
      -- The tenth occurrence of a word says nothing that the first nine did not.
      where occurrence <= 9 or word = ''
      group by word
    ) as grouped
  );
end
$$;
comment on function private.positions_of(public.profiles, text, text[]) is
  'The packed positions of each word of a profile, as {word: [position]}.';

create function private.words_from_positions(word_positions jsonb)
returns tsvector
language plpgsql immutable security invoker set search_path = ''
as $$
begin
  return (
    select coalesce(
      string_agg(
        quote_literal(word) || ':' || least(16383, attribute_start + element * 40 + place + 1)
          || substr('ABCCDA', attribute + 1, 1),
        ' '
      ),
      ''
    )::tsvector
    from (
      select
        word,
        private.attribute_of(word_position) as attribute,
        private.element_of(word_position) as element,
        private.place_of(word_position) as place,
        -- The attributes are far apart, so that no phrase matches across two of them.
        (array[0, 200, 2400, 2600, 2800, 15000])[private.attribute_of(word_position) + 1] as attribute_start
      from jsonb_each(word_positions - '') as entry (word, list)
      cross join lateral (select value::integer as word_position from jsonb_array_elements(list)) as unpacked
    ) as placed
  );
end
$$;
comment on function private.words_from_positions(jsonb) is 'The same words as a tsvector, for phrase matching.';

create function private.refresh_search_entry(profile bigint)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
  current_profile public.profiles;
  owner public.users;
  interest_names text[];
  positions jsonb;
  hash text;
begin
  -- One transaction at a time updates the index, and it holds this lock until it commits. The next one then reads what
  -- the previous one wrote: a transaction that read a profile before it was hidden cannot put it back. And two
  -- transactions that change the same words cannot deadlock.
  perform pg_advisory_xact_lock('private.search_entries'::regclass::oid::bigint);
  select * into current_profile from public.profiles where id = profile and is_searchable;
  select * into owner from public.users where id = current_profile.user_id and is_active;
  if owner.id is null then
    delete from private.search_entries where profile_id = profile;
    return;
  end if;
  select coalesce(array_agg(interests.name order by interests.name), '{}')
  into interest_names
  from public.profile_interests
  join public.interests on interests.id = profile_interests.interest_id
  where profile_interests.profile_id = profile;

  positions := private.positions_of(profile => current_profile, name => owner.name, interests => interest_names);
  hash := md5(concat_ws(
    e'\n',
    array_to_string(interest_names, ', '), current_profile.city, current_profile.country, current_profile.biography
  ));
  insert into private.search_entries as entry (
    profile_id, user_id, name, biography, city, country, interests, image_url,
    interest_keys, city_key, country_key, words, content_hash
  )
  values (
    profile, owner.id, owner.name, current_profile.biography, current_profile.city, current_profile.country,
    interest_names, current_profile.image_url,
    array(select private.fold(trim(name)) from unnest(interest_names) as name),
    private.fold(trim(current_profile.city)), private.fold(trim(current_profile.country)),
    private.words_from_positions(positions), hash
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
    -- The embedding of an old text would still find what the owner has deleted.
    embedding = case when entry.content_hash = excluded.content_hash then entry.embedding end,
    model = case when entry.content_hash = excluded.content_hash then entry.model end
  where (entry.words, entry.image_url, entry.name, entry.biography, entry.city, entry.country, entry.interests)
    is distinct from (
      excluded.words, excluded.image_url, excluded.name, excluded.biography, excluded.city, excluded.country,
      excluded.interests
    );
  if found then
    delete from private.search_postings where profile_id = profile and not positions ? word;
    insert into private.search_postings as posting (word, profile_id, word_positions)
    select word, profile, array(select value::integer from jsonb_array_elements_text(list))
    from jsonb_each(positions) as entry (word, list)
    on conflict (word, profile_id) do update set word_positions = excluded.word_positions
    where posting.word_positions <> excluded.word_positions;
  end if;
end
$$;
comment on function private.refresh_search_entry(bigint) is
  'Inserts, updates or deletes the entry of a profile. Definer, because users who change a profile may not write the
index.';

create function private.is_unconfirmed(profile bigint)
returns boolean
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- The share lock makes a concurrent confirmation wait for this transaction, and then read what it wrote. A
  -- confirmation that already holds the row is skipped: it waits for the lock of the index, which this transaction may
  -- hold.
  perform
  from public.users
  where id = (select user_id from public.profiles where profiles.id = profile) and confirmed_at is null
  for share skip locked;
  return found;
end
$$;
comment on function private.is_unconfirmed(bigint) is
  'Whether the owner of a profile has not confirmed their address. Until then no search finds them, and the index is not
updated. Auth sends its mail before the sign-up commits: if that transaction held the lock of the index, every change of
a profile would wait for the mail server. Only for definer triggers.';

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
comment on function private.sync_profile() is
  'Updates the index when a profile changes. Definer, as refresh_search_entry.';

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
comment on function private.sync_user() is
  'Updates the index when a user''s name or is_active changes, and their context when bio or location does. Definer, as
refresh_search_entry.';

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
comment on function private.sync_interest() is
  'Updates the index when an interest is renamed. Definer, as refresh_search_entry.';

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
comment on function private.sync_profile_interests() is
  'Updates the index when interests are added to profiles or removed. Definer, as refresh_search_entry.';

create trigger sync_added_interests
  after insert on public.profile_interests
  referencing new table as changed
  for each statement
  execute function private.sync_profile_interests();

create trigger sync_removed_interests
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
comment on function private.sync_swapped_interests() is
  'Updates the index when one interest replaces another. Definer, as refresh_search_entry.';

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
comment on function private.count_words(private.search_lexicon[]) is
  'Adds to or subtracts from the counts of the lexicon, and deletes words that no entry contains any more.';

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
    from (select word, -count(*)::integer as entries from removed where word <> '' group by word) as counts;
  end if;
  if deltas is not null then
    -- The lock of refresh_search_entry. Entries that are deleted with their profile do not pass through that function.
    perform pg_advisory_xact_lock('private.search_entries'::regclass::oid::bigint);
    perform private.count_words(deltas);
  end if;
  return null;
end
$$;
comment on function private.sync_postings() is
  'Updates the lexicon when postings change. Definer, as refresh_search_entry.';

create trigger sync_added_postings
  after insert on private.search_postings
  referencing new table as added
  for each statement
  execute function private.sync_postings();

create trigger sync_removed_postings
  after delete on private.search_postings
  referencing old table as removed
  for each statement
  execute function private.sync_postings();
