-- Search: one row for each profile that is searchable and whose owner is active, and one function that finds them. Triggers keep the
-- rows in step within the transaction that changes a profile, whoever changes it; only the vectors come later, from a queue.
create extension if not exists unaccent with schema extensions;
create extension if not exists fuzzystrmatch with schema extensions;
create extension if not exists vector with schema extensions;

create function private.fold(value text)
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return lower(extensions.unaccent('extensions.unaccent', normalize(value, nfkc)));
end
$$;
comment on function private.fold(text) is
  'Text without case, accents and compatibility forms. Immutable as long as the dictionary unaccent is not edited.';

create function private.words_of(value text)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select coalesce(array_agg(left(found.word[1], 60) order by found.position), '{}')
    from regexp_matches(
      regexp_replace(
        private.fold(value),
        '([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])', ' \1 ', 'g'
      ),
      '[^[:space:][:punct:][:cntrl:]]+', 'g'
    ) with ordinality as found (word, position)
  );
end
$$;
comment on function private.words_of(text) is
  'The words of a text, folded, in order. In scripts without spaces (Han, kana, Thai, Lao, Khmer, Burmese) every character is one.';

create table private.search_models (
  name text primary key,
  similarity_floor double precision not null,
  similarity_ceiling double precision not null,
  similarity_threshold double precision not null,
  check (similarity_floor < similarity_threshold and similarity_threshold < similarity_ceiling)
);
comment on table private.search_models is
  'How each embedding model''s cosines read: what unrelated texts have, what the closest have, and from where on a profile counts as a
hit. The numbers come from bench/search/calibrate.ts.';
alter table private.search_models enable row level security;

-- The offline model's are measured; the others' follow what their makers and users report, until somebody measures them here.
insert into private.search_models (name, similarity_floor, similarity_ceiling, similarity_threshold)
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
  content_hash text not null,
  model text references private.search_models (name) on delete set null,
  embedding extensions.halfvec(384)
);
comment on table private.search_entries is
  'The profiles in the search, and no other: searchable, and the owner active.';
comment on column private.search_entries.words is
  'Every word, for phrases: weight A name, first and last name, B interests, C city and country, D biography.';
comment on column private.search_entries.content_hash is 'Of the text that the embedding is made from; a profile whose text did not change needs no new one.';
-- Out of line what only hits show, in line what every candidate is measured by: fetched from beside the table, a hundred neighbours take 6.5 ms
-- instead of 1.2.
alter table private.search_entries alter column biography set storage external;
alter table private.search_entries alter column embedding set storage plain;
alter table private.search_entries enable row level security;

create index search_entries_user_id_idx on private.search_entries (user_id);
create index search_entries_model_idx on private.search_entries (model);
create index search_entries_interest_keys_idx on private.search_entries using gin (interest_keys) with (fastupdate = off);
create index search_entries_city_key_idx on private.search_entries (city_key);
create index search_entries_country_key_idx on private.search_entries (country_key);
create index search_entries_embedding_idx on private.search_entries using hnsw (embedding extensions.halfvec_cosine_ops);
comment on index private.search_entries_embedding_idx is 'Neighbours by meaning; filters are checked while it is walked, never after.';

create table private.search_postings (
  word text collate "C",
  profile_id bigint not null references private.search_entries (profile_id) on delete cascade,
  word_positions integer[] not null,
  primary key (word, profile_id) include (word_positions)
);
comment on table private.search_postings is
  'Who has each word, and where it stands: attribute * 1,000,000 + element * 10,000 + position from 0. The empty word marks where
each text ends. A thousand candidates are read from here in a sixth of the time that documents with all their words take.';
create index search_postings_profile_id_idx on private.search_postings (profile_id);
alter table private.search_postings enable row level security;

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
      select 1, ordinality - 1, interest
      from unnest(interests) with ordinality as listed (interest, ordinality)
    ),
    worded as materialized (
      select attribute, element, private.words_of(value) as words
      from texts
      where value is not null
    ),
    placed as (
      select attribute, element, position, word
      from worded
      cross join lateral unnest(words) with ordinality as listed (word, position)
      -- Letters that fold into many words could run into the next text's word_positions.
      where position <= 9000
      union all
      select attribute, element, least(9000, cardinality(words)) + 1, ''
      from worded
    ),
    word_lists as (
      select
        word,
        attribute * 1000000 + element * 10000 + position - 1 as word_position,
        row_number() over (partition by word order by attribute, element, position) as nth
      from placed
    )
    select coalesce(jsonb_object_agg(word, word_positions), '{}')
    from (
      select word, jsonb_agg(word_position order by word_position) as word_positions
      from word_lists
      -- A word's tenth mention tells nothing that the first nine did not.
      where nth <= 9 or word = ''
      group by word
    ) as grouped
  );
end
$$;
comment on function private.positions_of(public.profiles, text, text[]) is 'Where each word of a profile stands; see search_postings.';

create function private.words_from_positions(word_positions jsonb)
returns tsvector
language plpgsql immutable security invoker set search_path = ''
as $$
begin
  return (
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
        word_position / 1000000 as attribute,
        word_position / 10000 % 100 as element,
        word_position % 10000 as position,
        -- Attributes stand apart, so that no phrase reaches from one into the next.
        (array[0, 200, 2400, 2600, 2800, 15000])[word_position / 1000000 + 1] as attribute_start
      from jsonb_each(word_positions - '') as entry (word, list)
      cross join lateral (select value::integer as word_position from jsonb_array_elements(list)) as placed
    ) as placed
  );
end
$$;
comment on function private.words_from_positions(jsonb) is 'The same words as a tsvector, in which phrases are found.';
