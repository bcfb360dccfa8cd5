-- Search: one row for each profile that is searchable and whose owner is active, and one function that finds them. Triggers keep the
-- rows in step within the transaction that changes a profile, whoever changes it; only the vectors come later, from a queue.
create extension if not exists unaccent with schema extensions;
create extension if not exists fuzzystrmatch with schema extensions;
create extension if not exists vector with schema extensions;

create function private.fold(value text)
returns text
language sql immutable parallel safe set search_path = ''
as $$
  select lower(extensions.unaccent('extensions.unaccent', normalize(value, nfkc)))
$$;
comment on function private.fold(text) is
  'Text without case, accents and compatibility forms. Immutable as long as the dictionary unaccent is not edited.';

create function private.words_of(value text)
returns text[]
language sql immutable parallel safe set search_path = ''
as $$
  select coalesce(array_agg(left(found.word[1], 60) order by found.position), '{}')
  from regexp_matches(
    regexp_replace(
      private.fold(value),
      '([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])', ' \1 ', 'g'
    ),
    '[^[:space:][:punct:][:cntrl:]]+', 'g'
  ) with ordinality as found (word, position)
$$;
comment on function private.words_of(text) is
  'The words of a text, folded, in order. In scripts without spaces (Han, kana, Thai, Lao, Khmer, Burmese) every character is one.';

create table private.search_models (
  name text primary key,
  nothing_alike double precision not null,
  much_alike double precision not null,
  near_enough double precision not null,
  check (nothing_alike < near_enough and near_enough < much_alike)
);
comment on table private.search_models is
  'How each embedding model''s cosines read: what unrelated texts have, what the closest have, and from where on a profile counts as a
hit. The numbers come from bench/search/calibrate.ts.';
alter table private.search_models enable row level security;

-- The offline model's are measured; the others' follow what their makers and users report, until somebody measures them here.
insert into private.search_models (name, nothing_alike, much_alike, near_enough)
values
  ('offline-wordnet-v1', 0.03, 0.55, 0.13),
  ('text-embedding-3-small', 0.1, 0.6, 0.3),
  ('gte-small', 0.72, 0.92, 0.8);

create table private.search_entries (
  profile_id bigint primary key references public.profiles (id) on delete cascade,
  user_id bigint not null references public.users (id) on delete cascade,
  name text not null,
  biography text,
  city text,
  country text,
  interests text[] not null,
  image_url text,
  interest_keys text[] not null,
  city_key text,
  country_key text,
  words tsvector not null,
  spots jsonb not null,
  content_hash text not null,
  model text references private.search_models (name) on delete set null,
  embedding extensions.halfvec(384)
);
comment on table private.search_entries is
  'The profiles in the search, and no other: searchable, and the owner active.';
comment on column private.search_entries.words is
  'Every word, for finding: weight A name, first and last name, B interests, C city and country, D biography.';
comment on column private.search_entries.spots is
  'Every word with the places it stands at, for scoring: attribute * 1,000,000 + element * 10,000 + position from 0. Looking a word up
here takes a sixth of unnesting the tsvector. The empty word marks where each text ends.';
comment on column private.search_entries.content_hash is 'Of the text that the embedding is made from; a profile whose text did not change needs no new one.';
-- Out of line, so that rows stay small where only keys and vectors are read.
alter table private.search_entries alter column biography set storage external;
alter table private.search_entries enable row level security;

create index search_entries_user_id_idx on private.search_entries (user_id);
create index search_entries_model_idx on private.search_entries (model);
create index search_entries_words_idx on private.search_entries using gin (words) with (fastupdate = off);
create index search_entries_interest_keys_idx on private.search_entries using gin (interest_keys) with (fastupdate = off);
create index search_entries_city_key_idx on private.search_entries (city_key);
create index search_entries_country_key_idx on private.search_entries (country_key);
create index search_entries_embedding_idx on private.search_entries using hnsw (embedding extensions.halfvec_cosine_ops);
comment on index private.search_entries_embedding_idx is 'Neighbours by meaning; filters are checked while it is walked, never after.';

create table private.search_lexicon (
  word text collate "C" primary key,
  entries integer not null check (entries > 0)
);
comment on table private.search_lexicon is
  'Every word of the index and in how many entries it is: what typing errors and beginnings are matched against, and nothing is left
of a word when its last profile goes.';
create index search_lexicon_shape_idx on private.search_lexicon (left(word, 1), char_length(word));
comment on index private.search_lexicon_shape_idx is 'Words that a typing error could have come from: same first letter, about as long.';
create index search_lexicon_tail_idx on private.search_lexicon (substr(word, 2));
comment on index private.search_lexicon_tail_idx is 'Words whose first letter is the error.';
create index search_lexicon_entries_idx on private.search_lexicon (entries);
comment on index private.search_lexicon_entries_idx is 'How common the commonest word is.';
alter table private.search_lexicon enable row level security;

create function private.spots_of(profile public.profiles, name text, interests text[])
returns jsonb
language sql stable security invoker set search_path = ''
as $$
  with texts (attribute, element, value) as (
    values
      (0, 0, name),
      (2, 0, profile.city),
      (3, 0, profile.country),
      (4, 0, profile.biography),
      (5, 0, profile.first_name),
      (5, 1, profile.last_name)
    union all
    select 1, ordinality - 1, interest
    from unnest(interests) with ordinality as listed (interest, ordinality)
  ),
  placed as (
    select attribute, element, position, word
    from texts
    cross join lateral unnest(private.words_of(value)) with ordinality as listed (word, position)
    -- Letters that fold into many words could run into the next text's spots.
    where position <= 9000
    union all
    select attribute, element, least(9000, cardinality(private.words_of(value))) + 1, ''
    from texts
    where value is not null
  ),
  standing as (
    select
      word,
      attribute * 1000000 + element * 10000 + position - 1 as spot,
      row_number() over (partition by word order by attribute, element, position) as nth
    from placed
  )
  select coalesce(jsonb_object_agg(word, spots), '{}')
  from (
    select word, jsonb_agg(spot order by spot) as spots
    from standing
    -- A word's tenth mention tells nothing that the first nine did not.
    where nth <= 9 or word = ''
    group by word
  ) as grouped
$$;
comment on function private.spots_of(public.profiles, text, text[]) is 'Where each word of a profile stands; see search_entries.spots.';

create function private.words_from_spots(spots jsonb)
returns tsvector
language sql immutable security invoker set search_path = ''
as $$
  select coalesce(
    string_agg(
      quote_literal(word) || ':' || least(16383, attribute_start + element * 40 + position + 1)
        || substr('ABCCDA', attribute + 1, 1),
      ' '
    ),
    ''
  )::tsvector
  from (
    select
      word,
      spot / 1000000 as attribute,
      spot / 10000 % 100 as element,
      spot % 10000 as position,
      -- Attributes stand apart, so that no phrase reaches from one into the next.
      (array[0, 200, 2400, 2600, 2800, 15000])[spot / 1000000 + 1] as attribute_start
    from jsonb_each(spots - '') as entry (word, list)
    cross join lateral (select value::integer as spot from jsonb_array_elements(list)) as placed
  ) as placed
$$;
comment on function private.words_from_spots(jsonb) is 'The same words as a tsvector, for the index that finds them.';

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

  fresh := private.spots_of(shown, owner.name, likes);
  hash := md5(concat_ws(e'\n', array_to_string(likes, ', '), shown.city, shown.country, shown.biography));
  insert into private.search_entries as entry (
    profile_id, user_id, name, biography, city, country, interests, image_url,
    interest_keys, city_key, country_key, words, spots, content_hash
  )
  values (
    profile, owner.id, owner.name, shown.biography, shown.city, shown.country, likes, shown.image_url,
    array(select private.fold(trim(name)) from unnest(likes) as name),
    private.fold(trim(shown.city)), private.fold(trim(shown.country)), private.words_from_spots(fresh), fresh, hash
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
    spots = excluded.spots,
    content_hash = excluded.content_hash,
    -- A vector of a text that is gone would find what its owner took back.
    embedding = case when entry.content_hash = excluded.content_hash then entry.embedding end,
    model = case when entry.content_hash = excluded.content_hash then entry.model end
  where (entry.spots, entry.image_url, entry.name, entry.biography, entry.city, entry.country, entry.interests)
    is distinct from
    (excluded.spots, excluded.image_url, excluded.name, excluded.biography, excluded.city, excluded.country, excluded.interests);
end
$$;
comment on function private.refresh_search_entry(bigint) is
  'Makes a profile''s entry what it should be now, or removes it. Definer, because whoever changes a profile may not write the index.';

create function private.follow_profile()
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
comment on function private.follow_profile() is 'The index follows a profile. Definer, as refresh_search_entry.';

create trigger follow_profile
  after insert or update on public.profiles
  for each row
  execute function private.follow_profile();

create function private.follow_user()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.refresh_search_entry(id) from public.profiles where user_id = new.id;
  perform private.refresh_search_context(new.id);
  return null;
end
$$;
comment on function private.follow_user() is 'The index follows a user''s name and whether they are active, their context what they say of themselves. Definer, as refresh_search_entry.';

create trigger follow_user
  after update on public.users
  for each row
  when (
    (old.name, old.is_active, old.bio, old.location) is distinct from (new.name, new.is_active, new.bio, new.location)
  )
  execute function private.follow_user();

create function private.follow_interest()
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
comment on function private.follow_interest() is 'The index follows an interest that is renamed. Definer, as refresh_search_entry.';

create trigger follow_interest
  after update of name on public.interests
  for each row
  execute function private.follow_interest();

create function private.follow_profile_interests()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.refresh_search_entry(profile_id) from (select distinct profile_id from changed) as profiles;
  perform private.refresh_search_context(user_id) from public.profiles where id in (select profile_id from changed);
  return null;
end
$$;
comment on function private.follow_profile_interests() is 'The index follows what profiles like. Definer, as refresh_search_entry.';

create trigger follow_added_interests
  after insert on public.profile_interests
  referencing new table as changed
  for each statement
  execute function private.follow_profile_interests();

create trigger follow_dropped_interests
  after delete on public.profile_interests
  referencing old table as changed
  for each statement
  execute function private.follow_profile_interests();

create function private.follow_swapped_interests()
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
comment on function private.follow_swapped_interests() is 'The index follows an interest put in another''s place. Definer, as refresh_search_entry.';

create trigger follow_swapped_interests
  after update on public.profile_interests
  referencing old table as before new table as after
  for each statement
  execute function private.follow_swapped_interests();

create function private.count_words(deltas private.search_lexicon[])
returns void
language sql volatile security invoker set search_path = ''
as $$
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
$$;
comment on function private.count_words(private.search_lexicon[]) is 'Adds to and takes from the lexicon; a word that no entry has any more is gone.';

create function private.follow_entries()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  deltas private.search_lexicon[];
begin
  if tg_op = 'INSERT' then
    select array_agg(row(word, entries)::private.search_lexicon)
    into deltas
    from (select word, count(*)::integer as entries from added, jsonb_object_keys(spots - '') as word group by word) as counts;
  elsif tg_op = 'DELETE' then
    select array_agg(row(word, entries)::private.search_lexicon)
    into deltas
    from (select word, -count(*)::integer as entries from gone, jsonb_object_keys(spots - '') as word group by word) as counts;
  else
    select array_agg(row(word, entries)::private.search_lexicon)
    into deltas
    from (
      select word, sum(one)::integer as entries
      from (
        select word, 1 as one
        from added join gone using (profile_id), jsonb_object_keys(added.spots - '') as word
        where added.spots is distinct from gone.spots
        union all
        select word, -1
        from added join gone using (profile_id), jsonb_object_keys(gone.spots - '') as word
        where added.spots is distinct from gone.spots
      ) as changes
      group by word
      having sum(one) <> 0
    ) as counts;
  end if;
  if deltas is not null then
    -- As in refresh_search_entry, for entries that go with their profile.
    perform pg_advisory_xact_lock('private.search_entries'::regclass::oid::bigint);
    perform private.count_words(deltas);
  end if;
  return null;
end
$$;
comment on function private.follow_entries() is 'The lexicon follows the entries. Definer, as refresh_search_entry.';

create trigger follow_added_entries
  after insert on private.search_entries
  referencing new table as added
  for each statement
  execute function private.follow_entries();

create trigger follow_changed_entries
  after update on private.search_entries
  referencing new table as added old table as gone
  for each statement
  execute function private.follow_entries();

create trigger follow_gone_entries
  after delete on private.search_entries
  referencing old table as gone
  for each statement
  execute function private.follow_entries();

-- What a query looks for: its words, and the words of the index that they may stand for.

create function private.typo_budget(word text)
returns integer
language sql immutable parallel safe set search_path = ''
as $$
  select case when char_length(word) < 5 then 0 when char_length(word) < 9 then 1 else 2 end
$$;
comment on function private.typo_budget(text) is 'How many errors a word of this length may hold: as in Meilisearch, none below 5 letters, one below 9, else two.';

create function private.swaps_of(word text)
returns text[]
language sql immutable parallel safe set search_path = ''
as $$
  select array_agg(distinct overlay(word placing substr(word, place + 1, 1) || substr(word, place, 1) from place for 2))
  from generate_series(1, char_length(word) - 1) as place
$$;
comment on function private.swaps_of(text) is 'The word with two neighbours changed about, in every place.';

create function private.typos(typed text, meant text, budget integer)
returns integer
language sql immutable parallel safe set search_path = ''
as $$
  select case
    when typed = meant then 0
    -- A swap of neighbours is one error, and two to Levenshtein; so this many mistakes of his cannot be within the budget.
    when extensions.levenshtein_less_equal(typed, meant, 2 * budget) > 2 * budget then null
    else (
      select nullif(least(budget + 1, min(distance)), budget + 1)
      from (
        select extensions.levenshtein_less_equal(typed, meant, budget) as distance
        union all
        select 1 + case
          when swapped = meant then 0
          when budget < 2 then budget
          when meant = any (private.swaps_of(swapped)) then 1
          else extensions.levenshtein_less_equal(swapped, meant, budget - 1)
        end
        from unnest(private.swaps_of(typed)) as swapped
      ) as ways
    )
  end
$$;
comment on function private.typos(text, text, integer) is
  'How many errors (a letter wrong, missing or too many, or two neighbours swapped) make one word of the other; null above the budget.';

create function private.expand_word(typed text, unfinished boolean)
returns table (word text, typos integer, exact boolean)
language plpgsql stable security definer set search_path = ''
as $$
declare
  budget integer := private.typo_budget(typed);
  size integer := char_length(typed);
begin
  return query
    with found as (
      select lexicon.word, 0 as typos, lexicon.word = typed collate "C" as exact, lexicon.entries
      from private.search_lexicon as lexicon
      where lexicon.word = typed collate "C"
      union all
      (
        select lexicon.word, 0, false, lexicon.entries
        from private.search_lexicon as lexicon
        where unfinished
          and lexicon.word > typed collate "C"
          and lexicon.word < typed || U&'\+10FFFF' collate "C"
        order by lexicon.entries desc, lexicon.word
        limit 200
      )
      union all
      (
        -- The first letter is right: a wrong one costs two, which below 9 letters is too much.
        select lexicon.word, cost.typos, false, lexicon.entries
        from private.search_lexicon as lexicon
        cross join lateral (
          select min(private.typos(typed, form, budget)) as typos
          from unnest(case
            when unfinished and char_length(lexicon.word) > size
              then array[left(lexicon.word, size), left(lexicon.word, size + 1), left(lexicon.word, size - 1)]
            else array[lexicon.word]
          end) as form
          -- Asked here, where it is cheap, it spares the careful count for all but a few words: 2 ms a search instead of 12.
          where extensions.levenshtein_less_equal(typed, form, 2 * budget) <= 2 * budget
        ) as cost
        where budget > 0
          and left(lexicon.word, 1) = left(typed, 1) collate "C"
          and char_length(lexicon.word) between size - budget and case when unfinished then 60 else size + budget end
          and cost.typos > 0
        order by cost.typos, lexicon.entries desc, lexicon.word
        limit 100
      )
      union all
      (
        -- The first letter is the error: wrong, missing, too many, or swapped with the second.
        select lexicon.word, 2, false, lexicon.entries
        from private.search_lexicon as lexicon
        where budget = 2
          and left(lexicon.word, 1) <> left(typed, 1) collate "C"
          and (
            substr(lexicon.word, 2) = substr(typed, 2) collate "C"
            or substr(lexicon.word, 2) = typed collate "C"
            or lexicon.word = substr(typed, 2) collate "C"
            or lexicon.word = overlay(typed placing substr(typed, 2, 1) || left(typed, 1) from 1 for 2) collate "C"
          )
      )
    )
    select found.word, min(found.typos), bool_or(found.exact)
    from found
    group by found.word;
end
$$;
comment on function private.expand_word(text, boolean) is
  'The words of the index that a typed word may stand for, with their errors. Definer, because callers do not read the lexicon.';

create function private.parse_query(query text)
returns table (unit integer, place integer, word text, quoted boolean, excluded boolean, unfinished boolean)
language sql immutable parallel safe set search_path = ''
as $$
  with pieces as (
    select
      ordinality as piece,
      coalesce(nullif(part[2], '') is not null, false) or part[1] is not null as is_quoted,
      coalesce(part[1], part[4]) = '-' as is_excluded,
      private.words_of(coalesce(part[2], part[5])) as words,
      max(ordinality) over () = ordinality and query !~ '[[:space:]"]$' as is_last
    from regexp_matches(query, '(-?)"([^"]*)("|$)|(-?)([^[:space:]"]+)', 'g') with ordinality as found (part, ordinality)
  ),
  listed as (
    select
      piece, is_quoted, is_excluded, position, word,
      is_last and position = cardinality(words) and not is_quoted and not is_excluded as is_unfinished,
      word ~ '^[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]' as is_letter
    from pieces
    cross join lateral unnest(words) with ordinality as numbered (word, position)
  ),
  -- A phrase is one unit, and so is a run of letters of a script without spaces; every other word is one by itself.
  started as (
    select *,
      case
        when position = 1 then 1
        when is_quoted or is_excluded then 0
        when is_letter and lag(is_letter) over (partition by piece order by position) then 0
        else 1
      end as starts
    from listed
  ),
  united as (
    select *, sum(starts) over (order by piece, position) as number
    from started
  ),
  kept as (
    select *, dense_rank() over (partition by is_excluded order by number) as rank
    from united
  )
  select
    number::integer,
    (row_number() over (partition by is_excluded order by piece, position))::integer,
    kept.word, is_quoted, is_excluded, is_unfinished and not is_letter
  from kept
  where rank <= 10
$$;
comment on function private.parse_query(text) is
  'The words of a query: the first 10 units count, a unit being a word, a "phrase", or a run of letters of a script without spaces;
-word and -"phrase" exclude; the last word may be unfinished.';

-- How well an entry holds the words of a query.

create type private.search_term as (place integer, unit integer, word text, typos integer, exact boolean, phrase tsquery);
comment on type private.search_term is
  'A word of the index that a word of the query may stand for: the place in the query, and the phrase it must stand in, if any.';

create function private.terms_of(query text)
returns private.search_term[]
language sql stable security definer set search_path = ''
as $$
  with parsed as (
    select *, count(*) over (partition by unit) > 1 as together
    from private.parse_query(query)
    where not excluded
  ),
  phrases as (
    select unit, string_agg(quote_literal(word), ' <-> ' order by place)::tsquery as phrase
    from parsed
    where together
    group by unit
  )
  select array_agg(row(parsed.place, parsed.unit, meant.word, meant.typos, meant.exact, phrases.phrase)::private.search_term)
  from parsed
  left join phrases using (unit)
  cross join lateral (
    select parsed.word, 0 as typos, true as exact
    where parsed.together or parsed.quoted
    union all
    select expanded.word, expanded.typos, expanded.exact
    from private.expand_word(parsed.word, parsed.unfinished) as expanded
    where not (parsed.together or parsed.quoted)
  ) as meant
$$;
comment on function private.terms_of(text) is 'What a query looks for in the index. Definer, because callers do not read the lexicon.';

create function private.position_cost(distance integer)
returns integer
language sql immutable parallel safe
as $$
  select case
    when distance < 2 then distance
    when distance <= 4 then 2
    when distance <= 7 then 3
    when distance <= 11 then 4
    when distance <= 16 then 5
    when distance <= 24 then 6
    when distance <= 64 then 7
    when distance <= 256 then 8
    when distance <= 1024 then 9
    else 10
  end
$$;
comment on function private.position_cost(integer) is
  'How much a word''s distance from where the query has it counts, 0 to 10; the buckets are Meilisearch''s. Without a search_path, to be inlined.';

create function private.keyword_scores(
  ids bigint[],
  terms private.search_term[],
  asked integer,
  allowed integer[],
  weights integer[] default '{0, 1, 2, 3, 4, 5}'
)
returns table (profile_id bigint, score double precision, named boolean, details json)
language plpgsql stable security definer
set search_path = ''
-- Postgres takes what these expressions yield for one row. Planned once for all callers, or joined by nested loops, a search with 800
-- candidates took minutes; so it takes milliseconds.
set plan_cache_mode = 'force_custom_plan'
set enable_nestloop = off
as $$
declare
  -- Looking words up one by one wins until there are about as many as an entry has.
  many constant boolean := cardinality(terms) > 40;
  heaviest constant integer := (select max(weight) from unnest(weights) as weight);
begin
  return query
    with found as (
      select entry.profile_id, term.place, term.typos, term.exact, (spot.value)::integer as spot
      from private.search_entries as entry
      cross join unnest(terms) as term
      cross join lateral jsonb_array_elements(entry.spots -> term.word) as spot
      where not many
        and entry.profile_id = any (ids)
        and (term.phrase is null or entry.words @@ term.phrase)
      union all
      select entry.profile_id, term.place, term.typos, term.exact, (spot.value)::integer
      from private.search_entries as entry
      cross join lateral jsonb_each(entry.spots) as held (word, spots)
      join unnest(terms) as term on term.word = held.word
      cross join lateral jsonb_array_elements(held.spots) as spot
      where many
        and entry.profile_id = any (ids)
        and (term.phrase is null or entry.words @@ term.phrase)
    ),
    fewest as (
      select *, min(found.typos) over (partition by found.profile_id, found.place) as least_typos
      from found
    ),
    best as (
      select *, dense_rank() over (partition by fewest.profile_id order by fewest.place) as nth
      from fewest
      where fewest.typos = fewest.least_typos
    ),
    matched as (
      select
        best.profile_id,
        best.place,
        min(best.typos) as typos,
        bool_or(best.exact) as exact,
        bool_or(best.typos = 0 and best.spot < 1000000) as in_name,
        -- The best attribute, and the best place within it.
        min(
          weights[best.spot / 1000000 + 1] * 100
            + private.position_cost(abs(best.spot % 10000 - (best.place - 1)))
        ) as standing
      from best
      group by best.profile_id, best.place
    ),
    pairs as (
      select one.profile_id, one.place, min(
        least(3, case when other.spot > one.spot then other.spot - one.spot - 1 else one.spot - other.spot end)
      ) as apart
      from best as one
      join best as other
        on other.profile_id = one.profile_id
        and other.place = one.place + 1
        and other.spot / 10000 = one.spot / 10000
      group by one.profile_id, one.place
    ),
    closeness as (
      select pairs.profile_id, sum(3 - apart)::integer as saved
      from pairs
      group by pairs.profile_id
    ),
    openings as (
      -- Texts that begin with the words found, in their order.
      select best.profile_id, best.spot / 10000 as text, count(distinct best.nth) as words
      from best
      where best.exact and best.spot % 10000 = best.nth - 1
      group by best.profile_id, best.spot / 10000
    ),
    tallies as (
      select
        matched.profile_id,
        count(*)::integer as kept,
        sum(matched.typos)::integer as typos,
        sum(allowed[matched.place])::integer as allowance,
        sum(matched.standing / 100)::integer as attributes,
        sum(matched.standing % 100)::integer as positions,
        count(*) filter (where matched.exact)::integer as exacts,
        count(*) filter (where matched.in_name) = asked as named
      from matched
      group by matched.profile_id
    ),
    opened as (
      select
        openings.profile_id,
        max(case when entry.spots -> '' @> to_jsonb(openings.text * 10000 + tallies.kept) then 3 else 2 end) as exactness
      from openings
      join tallies on tallies.profile_id = openings.profile_id and tallies.kept = openings.words
      join private.search_entries as entry on entry.profile_id = openings.profile_id
      group by openings.profile_id
    ),
    ranks as (
      select
        tallies.*,
        greatest(tallies.allowance, case when kept > 1 then kept else 0 end) + 1 as typo_max,
        3 * (kept - 1) + 1 as proximity_max,
        3 * (kept - 1) - coalesce(closeness.saved, 0) as apart,
        heaviest * kept + 1 as attribute_max,
        10 * kept + 1 as position_max,
        coalesce(opened.exactness, 1) as exactness
      from tallies
      left join opened on opened.profile_id = tallies.profile_id
      left join closeness on closeness.profile_id = tallies.profile_id
    )
    select
      ranks.profile_id,
      1
        - (asked - kept) / asked::double precision
        - ranks.typos / (asked::double precision * typo_max)
        - apart / (asked::double precision * typo_max * proximity_max)
        - attributes / (asked::double precision * typo_max * proximity_max * attribute_max)
        - positions / (asked::double precision * typo_max * proximity_max * attribute_max * position_max)
        - (3 - exactness) / (asked::double precision * typo_max * proximity_max * attribute_max * position_max * 3)
        - case when exactness = 1 then
            (kept - exacts) / (asked::double precision * typo_max * proximity_max * attribute_max * position_max * 3 * (kept + 1))
          else 0 end,
      ranks.named,
      json_build_object(
        'words', json_build_array(kept, asked),
        'typo', json_build_array(typo_max - ranks.typos, typo_max),
        'proximity', json_build_array(proximity_max - apart, proximity_max),
        'attribute', json_build_array(attribute_max - attributes, attribute_max),
        'position', json_build_array(position_max - positions, position_max),
        'exactness', json_build_array(exactness, 3),
        'exactWords', case when exactness = 1 then json_build_array(exacts + 1, kept + 1) end
      )
    from ranks;
end
$$;
comment on function private.keyword_scores(bigint[], private.search_term[], integer, integer[], integer[]) is
  'Meilisearch''s keyword score, 0 to 1, of entries that hold some of the terms: 1 - sum over its rules i of (max_i - rank_i) / product of
max_j for j <= i, the closed form of its nested ranks. `asked` is how many words the query has, `allowed` how many errors each may
hold, `weights` the order of the attributes name, interests, city, country, biography, first and last name. Details give [rank, max] of
each rule. Definer, because callers do not read the index.';

-- The search itself: who is found by words or by meaning, and in what order.
create function private.as_keys(list jsonb)
returns text[]
language sql immutable parallel safe set search_path = ''
as $$
  select coalesce(array_agg(distinct private.fold(trim(value))), '{}')
  from jsonb_array_elements_text(coalesce(list, '[]')) as value
$$;
comment on function private.as_keys(jsonb) is 'The values of a filter as facet keys: folded and trimmed.';

create function private.hit_body(entry private.search_entries, score double precision)
returns jsonb
language sql stable set search_path = ''
as $$
  select jsonb_build_object(
    'id', entry.profile_id,
    'user_id', entry.user_id,
    'name', entry.name,
    'biography', entry.biography,
    'city', entry.city,
    'country', entry.country,
    'interests', to_jsonb(entry.interests),
    'image_url', entry.image_url,
    '_rankingScore', score
  )
$$;
comment on function private.hit_body(private.search_entries, double precision) is 'A search hit, as printed.';

create function private.find_profiles(
  query text,
  meaning extensions.halfvec,
  meaning_model text,
  ratio double precision,
  filters jsonb,
  caller bigint,
  page_limit integer,
  page_offset bigint,
  explain boolean
)
returns json
language plpgsql stable security definer
set search_path = 'extensions'
set hnsw.iterative_scan = 'strict_order'
set hnsw.ef_search = 100
as $$
declare
  -- No more are scored, and no total counts further, whatever a query matches.
  most constant integer := 1000;
  -- Up to so many rows, measuring every one is as quick as walking the index, and exact.
  few constant integer := 2000;
  like_interests constant text[] := private.as_keys(filters -> 'interests');
  like_cities constant text[] := private.as_keys(filters -> 'cities');
  like_countries constant text[] := private.as_keys(filters -> 'countries');
  -- With so few profiles no word is common.
  few_profiles constant integer := 25;
  common integer;
  model private.search_models;
  parsed record;
  terms private.search_term[];
  any_word tsquery;
  every_word tsquery;
  must tsquery;
  must_not tsquery;
  by_words bigint[] := '{}';
  by_meaning bigint[] := '{}';
  near record;
  answer json;
begin
  select * into model from private.search_models where name = meaning_model;
  if model.name is null then
    meaning := null;
  end if;

  select
    coalesce(max(place) filter (where not excluded), 0) as asked,
    array_agg(private.typo_budget(word) order by place) filter (where not excluded) as allowed
  into parsed
  from private.parse_query(query);
  if parsed.asked > 0 then
    terms := coalesce(private.terms_of(query), '{}');
  end if;

  -- A word that every fourth profile has tells nothing of any one: it counts where it stands, and brings nobody up by itself.
  select max(entries) / 4 into common from private.search_lexicon;

  with units as (
    select unit, bool_or(quoted) as quoted, excluded, string_agg(quote_literal(word), ' <-> ' order by place)::tsquery as phrase
    from private.parse_query(query)
    group by unit, excluded
  ),
  meant as (
    select
      units.unit,
      units.quoted,
      coalesce(
        (array_agg(term.phrase) filter (where term.phrase is not null))[1],
        string_agg(quote_literal(term.word), ' | ')::tsquery
      ) as matches,
      coalesce(max(lexicon.entries), 0) > greatest(common, few_profiles) and not units.quoted as is_common
    from units
    left join unnest(terms) as term on term.unit = units.unit
    left join private.search_lexicon as lexicon on lexicon.word = term.word
    where not units.excluded
    group by units.unit, units.quoted
  )
  select
    (
      select string_agg('(' || matches::text || ')', ' | ')::tsquery
      from meant
      where not is_common or (select bool_and(is_common or matches is null) from meant)
    ),
    (select case when bool_and(matches is not null) then string_agg('(' || matches::text || ')', ' & ')::tsquery end from meant),
    (select string_agg('(' || matches::text || ')', ' & ')::tsquery from meant where quoted),
    (select string_agg('(' || phrase::text || ')', ' | ')::tsquery from units where excluded)
  into any_word, every_word, must, must_not;

  if every_word is not null then
    by_words := array(
      select profile_id
      from private.search_entries as entry
      where entry.words @@ every_word
        and (must_not is null or not entry.words @@ must_not)
        and user_id is distinct from caller
        and (cardinality(like_interests) = 0 or interest_keys && like_interests)
        and (cardinality(like_cities) = 0 or city_key = any (like_cities))
        and (cardinality(like_countries) = 0 or country_key = any (like_countries))
      limit most
    );
  end if;
  if any_word is not null and cardinality(by_words) < most then
    by_words := array(
      select unnest(by_words)
      union all
      (
        select profile_id
        from private.search_entries as entry
        where entry.words @@ any_word
          and (every_word is null or not entry.words @@ every_word)
          and (must is null or entry.words @@ must)
          and (must_not is null or not entry.words @@ must_not)
          and user_id is distinct from caller
          and (cardinality(like_interests) = 0 or interest_keys && like_interests)
          and (cardinality(like_cities) = 0 or city_key = any (like_cities))
          and (cardinality(like_countries) = 0 or country_key = any (like_countries))
        limit most - cardinality(by_words)
      )
    );
  end if;

  if meaning is not null then
    if (
      select count(*) <= few
      from (
        select
        from private.search_entries
        where (cardinality(like_interests) = 0 or interest_keys && like_interests)
          and (cardinality(like_cities) = 0 or city_key = any (like_cities))
          and (cardinality(like_countries) = 0 or country_key = any (like_countries))
        limit few + 1
      ) as filtered
    ) then
      by_meaning := array(
        select profile_id
        from private.search_entries as entry
        where entry.model = meaning_model
          and (parsed.asked = 0 or 1 - (embedding <=> meaning) >= model.near_enough)
          and (must is null or entry.words @@ must)
          and (must_not is null or not entry.words @@ must_not)
          and user_id is distinct from caller
          and (cardinality(like_interests) = 0 or interest_keys && like_interests)
          and (cardinality(like_cities) = 0 or city_key = any (like_cities))
          and (cardinality(like_countries) = 0 or country_key = any (like_countries))
        order by (embedding <=> meaning) + 0, profile_id
        limit most
      );
    else
      -- The index gives neighbours nearest first, so the walk ends where they are no longer near enough.
      for near in
        select profile_id, 1 - (embedding <=> meaning) as cosine
        from private.search_entries as entry
        where entry.model = meaning_model
          and (must is null or entry.words @@ must)
          and (must_not is null or not entry.words @@ must_not)
          and user_id is distinct from caller
          and (cardinality(like_interests) = 0 or interest_keys && like_interests)
          and (cardinality(like_cities) = 0 or city_key = any (like_cities))
          and (cardinality(like_countries) = 0 or country_key = any (like_countries))
        order by embedding <=> meaning
        limit most
      loop
        exit when parsed.asked > 0 and near.cosine < model.near_enough;
        by_meaning := by_meaning || near.profile_id;
      end loop;
    end if;
  end if;

  if parsed.asked = 0 and meaning is null then
    by_words := array(
      select profile_id
      from private.search_entries as entry
      where (must_not is null or not entry.words @@ must_not)
        and user_id is distinct from caller
        and (cardinality(like_interests) = 0 or interest_keys && like_interests)
        and (cardinality(like_cities) = 0 or city_key = any (like_cities))
        and (cardinality(like_countries) = 0 or country_key = any (like_countries))
      order by profile_id
      limit most
    );
  end if;

  with keyword as (
    select * from private.keyword_scores(by_words, terms, parsed.asked, parsed.allowed)
  ),
  scored as (
    select
      entry.profile_id,
      case when parsed.asked = 0 and meaning is null then 1 else coalesce(keyword.score, 0) end as keyword,
      keyword.named,
      keyword.details,
      case when entry.model = meaning_model and meaning is not null then 1 - (entry.embedding <=> meaning) end as cosine,
      -- A leg that is missing, for the whole query or for one entry, leaves all the weight to the other.
      case
        when meaning is null or entry.model is distinct from meaning_model then 0
        when cardinality(by_words) = 0 then 1
        else ratio
      end as ratio
    from private.search_entries as entry
    left join keyword on keyword.profile_id = entry.profile_id
    where entry.profile_id = any (by_words || by_meaning)
  ),
  calibrated as (
    select
      *,
      coalesce(least(1, greatest(0, (cosine - model.nothing_alike) / (model.much_alike - model.nothing_alike))), 0) as semantic
    from scored
  ),
  ranked as (
    select
      *,
      case
        when named then greatest((1 - calibrated.ratio) * keyword + calibrated.ratio * semantic, keyword)
        else (1 - calibrated.ratio) * keyword + calibrated.ratio * semantic
      end as score
    from calibrated
  ),
  page as (
    select *
    from ranked
    order by score desc, keyword desc, profile_id
    limit greatest(0, least(page_limit, most - page_offset))
    offset page_offset
  )
  select json_build_object(
    'hits', coalesce(
      json_agg(
        case
          when explain then (
            jsonb_build_object('_rankingScoreDetails', jsonb_build_object(
              'words', page.details,
              'keyword', page.keyword,
              'cosine', page.cosine,
              'nothingAlike', model.nothing_alike,
              'muchAlike', model.much_alike,
              'semantic', page.semantic,
              'ratio', page.ratio,
              'named', coalesce(page.named, false)
            )) || private.hit_body(entry, page.score)
          )::json
          else private.hit_body(entry, page.score)::json
        end
        order by page.score desc, page.keyword desc, page.profile_id
      ),
      '[]'
    ),
    'query', query,
    'estimatedTotalHits', least(most, (select count(*) from ranked)),
    'limit', page_limit,
    'offset', page_offset
  )
  into answer
  from page
  join private.search_entries as entry on entry.profile_id = page.profile_id;
  return answer;
end
$$;
comment on function private.find_profiles(text, extensions.halfvec, text, double precision, jsonb, bigint, integer, bigint, boolean) is
  'The search: profiles that hold the words of a query or are near it in meaning, filtered, best first, with their exact number up to
1,000. score = (1 - ratio) * keyword + ratio * semantic, both reckoned for every profile that either leg found, and never less than the
keyword score where all the words stand in the name. Definer, because callers do not read the index.';

-- Vectors: the queue that brings them, what people's own contexts mean, and the verb that puts all together.

create table private.search_contexts (
  user_id bigint primary key references public.users (id) on delete cascade,
  content_hash text not null,
  model text references private.search_models (name) on delete set null,
  embedding extensions.halfvec(384)
);
comment on table private.search_contexts is
  'What each person''s own interests, bio and location mean: mixed into their searches, so that a search needs no second embedding.';
create index search_contexts_model_idx on private.search_contexts (model);
alter table private.search_contexts enable row level security;

create table private.embedding_queue (
  kind text not null check (kind in ('profile', 'context')),
  id bigint not null,
  attempts integer not null default 0,
  due_at timestamptz not null default now(),
  last_error text,
  primary key (kind, id)
);
comment on table private.embedding_queue is
  'What needs a vector: profiles (by profile id) and contexts (by user id). A row goes when its vector is saved; after 8 attempts it
stays as a dead letter until its text or the model changes.';
create index embedding_queue_due_at_idx on private.embedding_queue (due_at) where attempts < 8;
alter table private.embedding_queue enable row level security;

create function private.enqueue_embedding()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  subject bigint;
begin
  if tg_argv[0] = 'profile' then
    subject := new.profile_id;
  else
    subject := new.user_id;
  end if;
  insert into private.embedding_queue (kind, id)
  values (tg_argv[0], subject)
  on conflict (kind, id) do update set attempts = 0, due_at = now(), last_error = null;
  return null;
end
$$;
comment on function private.enqueue_embedding() is 'Asks for a vector. Definer, because whoever changes a profile may not write the queue.';

create trigger enqueue_new_entry
  after insert on private.search_entries
  for each row
  execute function private.enqueue_embedding('profile');

create trigger enqueue_changed_entry
  after update of content_hash on private.search_entries
  for each row
  when (old.content_hash is distinct from new.content_hash)
  execute function private.enqueue_embedding('profile');

create trigger enqueue_context
  after insert or update of content_hash on private.search_contexts
  for each row
  when (new.embedding is null)
  execute function private.enqueue_embedding('context');

create function private.entry_text(profile bigint)
returns text
language sql stable security definer set search_path = ''
as $$
  select concat_ws('. ', nullif(array_to_string(interests, ', '), ''), concat_ws(', ', city, country), biography)
  from private.search_entries
  where profile_id = profile
$$;
comment on function private.entry_text(bigint) is 'What a profile''s vector is made from. Definer, because callers do not read the index.';

create function private.context_text(person bigint)
returns text
language sql stable security definer set search_path = ''
as $$
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
$$;
comment on function private.context_text(bigint) is 'What a person''s context is made from. Definer, because callers read only their own row.';

create function private.refresh_search_context(person bigint)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
  own text := private.context_text(person);
begin
  if own is null or own = '' then
    delete from private.search_contexts where user_id = person;
    return;
  end if;
  insert into private.search_contexts as context (user_id, content_hash)
  values (person, md5(own))
  on conflict (user_id) do update set
    content_hash = excluded.content_hash,
    embedding = null,
    model = null
  where context.content_hash <> excluded.content_hash;
end
$$;
comment on function private.refresh_search_context(bigint) is
  'Makes a person''s context what it should be now. Definer, because whoever changes a profile may not write the index.';

create function private.adopt_model(wanted text)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
  insert into private.search_models (name, nothing_alike, much_alike, near_enough)
  values (wanted, 0.1, 0.6, 0.3)
  on conflict do nothing;
  insert into private.embedding_queue (kind, id)
  select 'profile', profile_id from private.search_entries where model is distinct from wanted
  union all
  select 'context', user_id from private.search_contexts where model is distinct from wanted
  on conflict (kind, id) do nothing;
end
$$;
comment on function private.adopt_model(text) is
  'Queues everything that has no vector of this model. Vectors of different models are never compared: until theirs is made, profiles are
found by words. Definer, because the doors hold no right on the index.';
grant execute on function private.adopt_model(text) to edge_functions;

create function private.claim_embeddings(wanted text, most integer)
returns json
language sql volatile security definer set search_path = ''
as $$
  with claimed as (
    update private.embedding_queue as job
    set
      attempts = attempts + 1,
      -- Whoever claimed it has half a minute; then it is due again, later each time.
      due_at = now() + interval '30 seconds' * 2 ^ attempts
    where (kind, id) in (
      select kind, id
      from private.embedding_queue
      where due_at <= now() and attempts < 8
      order by due_at
      limit most
      for update skip locked
    )
    returning kind, id
  ),
  worded as (
    select
      kind,
      id,
      case kind when 'profile' then private.entry_text(id) else private.context_text(id) end as text,
      case kind
        when 'profile' then (select content_hash from private.search_entries where profile_id = id)
        else (select content_hash from private.search_contexts where user_id = id)
      end as content_hash
    from claimed
  ),
  -- Hidden or gone since it was queued: nothing is to be done.
  obsolete as (
    delete from private.embedding_queue as job
    using worded
    where job.kind = worded.kind and job.id = worded.id and worded.content_hash is null
  )
  select coalesce(
    json_agg(json_build_object('kind', kind, 'id', id, 'text', text, 'content_hash', content_hash)),
    '[]'
  )
  from worded
  where content_hash is not null
$$;
comment on function private.claim_embeddings(text, integer) is
  'Takes up to so many due jobs as [{kind, id, text, content_hash}]; two workers never get the same. Definer, because the doors hold no
right on the queue.';
grant execute on function private.claim_embeddings(text, integer) to edge_functions;

create function private.save_embeddings(made_by text, vectors jsonb)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
  with made as (
    select kind, id, content_hash, nullif(embedding, 'null')::text::extensions.halfvec as embedding
    from jsonb_to_recordset(vectors) as vector (kind text, id bigint, content_hash text, embedding jsonb)
  ),
  profiles as (
    update private.search_entries as entry
    set model = made_by, embedding = made.embedding
    from made
    where made.kind = 'profile' and entry.profile_id = made.id and entry.content_hash = made.content_hash
    returning 'profile' as kind, profile_id as id
  ),
  contexts as (
    update private.search_contexts as context
    set model = made_by, embedding = made.embedding
    from made
    where made.kind = 'context' and context.user_id = made.id and context.content_hash = made.content_hash
    returning 'context', user_id
  )
  delete from private.embedding_queue as job
  using (select * from profiles union all select * from contexts) as saved
  where job.kind = saved.kind and job.id = saved.id;
end
$$;
comment on function private.save_embeddings(text, jsonb) is
  'Keeps vectors [{kind, id, content_hash, embedding}] whose text is still the same; the others stay queued. Definer, because the doors
hold no right on the index.';
grant execute on function private.save_embeddings(text, jsonb) to edge_functions;

create function private.fail_embeddings(jobs jsonb, reason text)
returns void
language sql volatile security definer set search_path = ''
as $$
  update private.embedding_queue as job
  set last_error = left(reason, 500)
  from jsonb_to_recordset(jobs) as failed (kind text, id bigint)
  where job.kind = failed.kind and job.id = failed.id
$$;
comment on function private.fail_embeddings(jsonb, text) is
  'Notes why jobs failed; they come due again by themselves, later each time. Definer, because the doors hold no right on the queue.';
grant execute on function private.fail_embeddings(jsonb, text) to edge_functions;

create function private.count_pending_embeddings()
returns json
language sql stable security definer set search_path = ''
as $$
  select to_json(count(*)) from private.embedding_queue where attempts < 8
$$;
comment on function private.count_pending_embeddings() is 'How much waits for a vector. Definer, because the doors hold no right on the queue.';
grant execute on function private.count_pending_embeddings() to edge_functions;

create function api.search_profiles(request jsonb)
returns json
language plpgsql stable security definer set search_path = 'extensions'
as $$
declare
  me constant bigint := private.my_id();
  -- How much of a searcher's own context goes into what they search for.
  share constant real := 0.3;
  model constant text := request ->> 'model';
  asked halfvec := (request ->> 'vector')::halfvec;
  own halfvec;
begin
  if me is not null and model is not null then
    select embedding into own from private.search_contexts where user_id = me and search_contexts.model = request ->> 'model';
  end if;
  return private.find_profiles(
    coalesce(request ->> 'q', ''),
    case
      when own is null then asked
      when asked is null then case when trim(coalesce(request ->> 'q', '')) = '' then own end
      else l2_normalize(
        array_fill(1 - share, array[384])::halfvec * asked + array_fill(share, array[384])::halfvec * own
      )
    end,
    model,
    case when me is null then 0.5 else 0.7 end,
    request,
    me,
    (request ->> 'limit')::integer,
    (request ->> 'offset')::bigint,
    coalesce((request ->> 'explain')::boolean, false)
  );
end
$$;
comment on function api.search_profiles(jsonb) is
  'Profiles for {q, vector, model, interests, cities, countries, limit, offset, explain}: for a known caller at a semantic ratio of 0.7 and
with their own context, for anybody else at 0.5. Definer, because nobody reads the index: this is the one way to see it.';
grant execute on function api.search_profiles(jsonb) to edge_functions;
