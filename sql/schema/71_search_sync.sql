-- Keeps the index in sync: the transaction that changes a profile also updates its entry, the entry's words and the
-- context of its owner (refresh_search_context, in 77_embeddings.sql).

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

create function private.unspaced_letters()
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return '\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff';
end
$$;
comment on function private.unspaced_letters() is
  'The letters of scripts without spaces (Han, kana, Thai, Lao, Khmer, Burmese), for a character class.';

create function private.words_of(value text)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select coalesce(array_agg(left(matches.word[1], 60) order by matches.position), '{}')
    from regexp_matches(
      regexp_replace(private.fold(value), '([' || private.unspaced_letters() || '])', ' \1 ', 'g'),
      '[^[:space:][:punct:][:cntrl:]]+', 'g'
    ) with ordinality as matches (word, position)
  );
end
$$;
comment on function private.words_of(text) is
  'The folded words of a text, in order. In scripts without spaces every character is a word.';

create function private.name_hash(name text)
returns uuid
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return md5(array_to_string(private.words_of(name), ' '))::uuid;
end
$$;
comment on function private.name_hash(text) is 'Equal for names that have the same folded words in the same order.';
create index search_entries_name_hash_idx on private.search_entries (private.name_hash(name));

create function private.lexeme(word text)
returns text
language sql immutable parallel safe
as $$
  select '''' || replace(replace(word, '\', '\\'), '''', '''''') || ''''
$$;
comment on function private.lexeme(text) is 'A word as a tsvector or tsquery spells it.';

create function private.facet(kind text, value text)
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return '@' || kind || ' ' || left(private.fold(trim(value)), 200);
end
$$;
comment on function private.facet(text, text) is
  'A lexeme for a value that filters compare: folded, trimmed, and with a sign that no word has.';

create function private.words_vector(profile public.profiles, name text, interests text[])
returns tsvector
language plpgsql stable security invoker set search_path = ''
as $$
declare
  facets constant text[] := array(
    select private.facet('interest', interest) from unnest(interests) as interest
    union all
    select private.facet('city', profile.city) where profile.city is not null
    union all
    select private.facet('country', profile.country) where profile.country is not null
  );
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
    )
    select coalesce(string_agg(
      private.lexeme(word) || ':' || private.text_start(attribute, element) + place - 1
        || substr('ABCCDD', attribute + 1, 1),
      ' '
    ), '')::tsvector
    from texts
    -- Some characters fold into many words, which could run into the next text.
    cross join lateral (
      select (private.words_of(value))[:(array[290, 60, 290, 290, 11000, 390])[attribute + 1]] as words
    ) as split
    cross join lateral unnest(array['.'] || words || array['.']) with ordinality as listed (word, place)
    where value is not null
  ) || array_to_tsvector(facets);
end
$$;
comment on function private.words_vector(public.profiles, text, text[]) is
  'All words of a profile with their places, each text between two full stops, and its facets. Weight A: name;
B: interests; C: city and country; D: biography, first and last name.';

create table private.search_locks (
  profile_id bigint primary key references public.profiles (id) on delete cascade
);
comment on table private.search_locks is
  'A row for each profile, to be locked while its entry is written. Locking the profile instead would deadlock: one
transaction updates the profile and then the user, another deactivates the user and then writes the entry.';
alter table private.search_locks enable row level security;

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
begin
  -- Held until the transaction ends. Whoever refreshes this entry next waits here, and then reads what this transaction
  -- has committed. So one that read a profile before it was hidden cannot put it back. Nobody else waits.
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
  select coalesce(array_agg(interests.name order by interests.name), '{}')
  into interest_names
  from public.profile_interests
  join public.interests on interests.id = profile_interests.interest_id
  where profile_interests.profile_id = profile;

  vector := private.words_vector(profile => current_profile, name => owner.name, interests => interest_names);
  hash := md5(concat_ws(
    e'\n',
    array_to_string(interest_names, ', '), current_profile.city, current_profile.country, current_profile.biography
  ));
  insert into private.search_entries as entry (
    profile_id, user_id, name, biography, city, country, interests, image_url, content_hash
  )
  values (
    profile, owner.id, owner.name, current_profile.biography, current_profile.city, current_profile.country,
    interest_names, current_profile.image_url, hash
  )
  on conflict (profile_id) do update set
    name = excluded.name,
    biography = excluded.biography,
    city = excluded.city,
    country = excluded.country,
    interests = excluded.interests,
    image_url = excluded.image_url,
    content_hash = excluded.content_hash,
    -- The embedding of an old text would still find what the owner has deleted.
    embedding = case when entry.content_hash = excluded.content_hash then entry.embedding end,
    model = case when entry.content_hash = excluded.content_hash then entry.model end
  where (entry.image_url, entry.name, entry.biography, entry.city, entry.country, entry.interests)
    is distinct from (
      excluded.image_url, excluded.name, excluded.biography, excluded.city, excluded.country, excluded.interests
    );
  insert into private.search_words as stored (profile_id, words)
  values (profile, vector)
  on conflict (profile_id) do update set words = excluded.words
  where stored.words <> excluded.words;
  if found then
    insert into private.search_lexicon (word)
    select word
    from unnest(tsvector_to_array(vector)) as listed (word)
    where word !~ '^[.@]'
      and not exists (select from private.search_lexicon as lexicon where lexicon.word = listed.word);
  end if;
end
$$;
comment on function private.refresh_search_entry(bigint) is
  'Inserts, updates or deletes the entry of a profile. Definer, because users who change a profile may not write the
index.';

create function private.note_removed_words()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  insert into private.search_removed_words (word)
  select word
  from (
    select unnest(tsvector_to_array(old.words)) as word
    except
    select unnest(tsvector_to_array(new.words))
  ) as removed
  where word !~ '^[.@]';
  return null;
end
$$;
comment on function private.note_removed_words() is
  'Notes words for the next sweep of the lexicon. Definer, as refresh_search_entry.';

create trigger note_removed_words
  after update or delete on private.search_words
  for each row
  execute function private.note_removed_words();

create function private.sync_profile()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.refresh_search_entry(new.id);
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
  perform private.refresh_search_entry(id), private.refresh_search_context(user_id)
  from public.profiles
  where id in (select profile_id from changed);
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
