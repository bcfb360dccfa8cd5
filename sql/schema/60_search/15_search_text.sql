-- How texts become words of the index, and how words are found that are mistyped.

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
  city_names constant text[] := private.other_names_of(profile.city);
  country_names constant text[] := private.other_names_of(profile.country);
  facets constant text[] := array(
    select private.facet('interest', interest) from unnest(interests) as interest
    union all
    select private.facet('city', profile.city) where profile.city is not null
    union all
    select private.facet('country', profile.country) where profile.country is not null
    union all
    select private.facet(kind, other)
    from (values ('city', city_names), ('country', country_names)) as places (kind, others)
    cross join lateral unnest(others) as other
    where other !~ '^@'
    union all
    select private.facet('age', age)
    from unnest(array[coalesce(profile.age::text, 'unknown'), profile.age / 10 || '0s']) as age
    where age is not null
  );
begin
  return (
    with texts (attribute, element, value, others) as (
      values
        (0, 0, name, '{}'),
        (2, 0, profile.city, city_names),
        (3, 0, profile.country, country_names),
        (4, 0, profile.biography, '{}'),
        (5, 0, profile.first_name, '{}'),
        (5, 1, profile.last_name, '{}')
      union all
      select 1, ordinality::integer - 1, interest, '{}'
      from unnest(interests) with ordinality as listed (interest, ordinality)
    )
    select coalesce(string_agg(
      private.lexeme(word) || ':' || private.text_start(attribute, element) + place - 1
        || substr('ABCCDC', attribute + 1, 1),
      ' '
    ), '')::tsvector
    from texts
    -- Some characters fold into many words, which could run into the next text.
    cross join lateral (
      select (
        private.words_of(value) || case when others <> '{}' then regexp_split_to_array(trim(regexp_replace(
          '. ' || array_to_string(others, ' . '), ' *([' || private.unspaced_letters() || ']) *', ' \1 ', 'g'
        )), ' +') end
      )[:(array[290, 60, 290, 290, 11000, 390])[attribute + 1]] as words
    ) as split
    cross join lateral unnest(array['.'] || words || array['.']) with ordinality as listed (word, place)
    where value is not null
  ) || array_to_tsvector(facets);
end
$$;
comment on function private.words_vector(public.profiles, text, text[]) is
  'All words of a profile with their places, each text between two full stops, and its facets. Behind a city or country
follow its other names. Weight A: name;
B: interests; C: city, country, first and last name; D: biography.';

create function private.deletions(letters text, depth integer)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  found text[] := array[letters];
begin
  -- Every new word of the lexicon pays this: 5 µs, where one statement for each depth takes 60.
  for one in 1..char_length(letters) loop
    found := found || overlay(letters placing '' from one for 1);
    if depth = 2 then
      for two in one + 1..char_length(letters) loop
        found := found || overlay(overlay(letters placing '' from two for 1) placing '' from one for 1);
      end loop;
    end if;
  end loop;
  return found;
end
$$;
comment on function private.deletions(text, integer) is 'The letters without up to `depth` of them, which is 1 or 2.';

create function private.deletion_keys(word text)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  depth constant integer := case when char_length(word) < 7 then 1 else 2 end;
begin
  return private.deletions(left(word, 4 + depth), depth);
end
$$;
comment on function private.deletion_keys(text) is
  'What a word may be found by when it is mistyped. If two words are at most n errors apart, or one and the beginning of
the other, then deleting up to n of the first letters of each makes them equal (as in SymSpell). One error is forgiven
from 5 letters on and two from 9, so the first 5 and 6 letters suffice.';
create index search_lexicon_deletions_idx
  on private.search_lexicon using gin (private.deletion_keys(word)) with (fastupdate = off);
comment on index private.search_lexicon_deletions_idx is
  'Candidates for a mistyped word. To compare it with each of 80,000 words that has its first letter took 5.5 ms.';

create function private.entry_text(profile bigint)
returns text
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select concat_ws('. ', nullif(array_to_string(interests, ', '), ''), concat_ws(', ', city, country), biography)
    from private.search_entries
    where profile_id = profile
  );
end
$$;
comment on function private.entry_text(bigint) is 'The text that a profile''s embedding is made from.';

create function private.context_text(person bigint)
returns text
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select concat_ws(
      '. ',
      (
        select string_agg(interests.name, ', ' order by interests.name)
        from public.profiles
        join public.profile_interests on profile_interests.profile_id = profiles.id
        join public.interests on interests.id = profile_interests.interest_id
        where profiles.user_id = users.id
      ),
      users.bio,
      users.location
    )
    from public.users
    where id = person and is_active
  );
end
$$;
comment on function private.context_text(bigint) is 'The text that the embedding of a user''s context is made from.';
