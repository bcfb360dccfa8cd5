-- The search index has one row for each profile that is searchable and whose owner is active. The files from 70 to 77
-- build it:
--   70 tables · 71 triggers that keep the index in sync · 72 query parsing · 73 keyword scores · 74 candidates
--   75 api.search_profiles · 76 embeddings, made later from a queue · 77 audit and repair
create extension if not exists unaccent with schema extensions;
create extension if not exists fuzzystrmatch with schema extensions;
create extension if not exists vector with schema extensions;

create table private.search_models (
  name text primary key,
  similarity_floor double precision not null,
  similarity_ceiling double precision not null,
  similarity_threshold double precision not null,
  check (similarity_floor < similarity_threshold and similarity_threshold < similarity_ceiling)
);
comment on table private.search_models is
  'How to read the cosines of each embedding model: floor, that of unrelated texts; ceiling, that of the closest texts;
threshold, from where on a profile is a hit. bench/search/calibrate.ts computes them.';
alter table private.search_models enable row level security;

-- Those of the offline model are measured. The others follow what makers and users of the models report; nobody has
-- measured them here.
insert into private.search_models (name, similarity_floor, similarity_ceiling, similarity_threshold)
values
  ('offline-wordnet-v2', 0.03, 0.55, 0.13),
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
  'The profiles that a search can find: those that are searchable and whose owner is active.';
comment on column private.search_entries.words is
  'All words, for phrase matching. Weight A: name, first and last name; B: interests; C: city and country; D:
biography.';
comment on column private.search_entries.content_hash is
  'Hash of the text that the embedding is made from. While it stays the same, the embedding is kept.';
-- Only hits show the biography, so it is stored out of line. Every candidate's embedding is read, so it is stored in
-- line: out of line, a hundred neighbours take 6.5 ms instead of 1.2.
alter table private.search_entries alter column biography set storage external;
alter table private.search_entries alter column embedding set storage plain;
alter table private.search_entries enable row level security;

create index search_entries_user_id_idx on private.search_entries (user_id);
create index search_entries_model_idx on private.search_entries (model);
create index search_entries_interest_keys_idx
  on private.search_entries using gin (interest_keys) with (fastupdate = off);
create index search_entries_city_key_idx on private.search_entries (city_key);
create index search_entries_country_key_idx on private.search_entries (country_key);
create index search_entries_embedding_idx
  on private.search_entries using hnsw (embedding extensions.halfvec_cosine_ops);
comment on index private.search_entries_embedding_idx is
  'Nearest neighbours. Filters are applied during the index scan, not after it.';

create table private.search_postings (
  word text collate "C",
  profile_id bigint not null references private.search_entries (profile_id) on delete cascade,
  word_positions integer[] not null,
  primary key (word, profile_id) include (word_positions)
);
comment on table private.search_postings is
  'The inverted index: which profiles contain a word, and where. The empty word marks the end of each text. Reading a
thousand candidates from here takes a sixth of the time that reading documents with all their words takes.';
comment on column private.search_postings.word_positions is 'Packed by private.word_position, in ascending order.';
create index search_postings_profile_id_idx on private.search_postings (profile_id);
alter table private.search_postings enable row level security;

-- The accessors of packed positions have no search_path, so that Postgres inlines them: a search reads thousands of
-- positions.
create function private.word_position(attribute integer, element integer, place integer)
returns integer
language sql immutable parallel safe
as $$
  select attribute * 1000000 + element * 10000 + place
$$;
comment on function private.word_position(integer, integer, integer) is
  'Packs where a word stands. attribute: 0 name, 1 interests, 2 city, 3 country, 4 biography, 5 first and last name.
element: which of the texts of the attribute, such as the second interest. place: how many words come before it in this
text. All count from 0.';

create function private.attribute_of(word_position integer)
returns integer
language sql immutable parallel safe
as $$
  select word_position / 1000000
$$;
comment on function private.attribute_of(integer) is 'The attribute of a packed position.';

create function private.element_of(word_position integer)
returns integer
language sql immutable parallel safe
as $$
  select word_position / 10000 % 100
$$;
comment on function private.element_of(integer) is 'The element of a packed position within its attribute.';

create function private.place_of(word_position integer)
returns integer
language sql immutable parallel safe
as $$
  select word_position % 10000
$$;
comment on function private.place_of(integer) is 'The place of a packed position within its text, from 0.';

create table private.search_lexicon (
  word text collate "C" primary key,
  entries integer not null check (entries > 0)
);
comment on table private.search_lexicon is
  'Every word of the index and how many entries contain it. Typing errors and unfinished words are matched against it. A
word is deleted with the last entry that contains it.';
create index search_lexicon_shape_idx on private.search_lexicon (left(word, 1), char_length(word));
comment on index private.search_lexicon_shape_idx is
  'Candidates for a mistyped word: the same first letter, and about the same length.';
create index search_lexicon_tail_idx on private.search_lexicon (substr(word, 2));
comment on index private.search_lexicon_tail_idx is 'Candidates for a word whose first letter is mistyped.';
create index search_lexicon_entries_idx on private.search_lexicon (entries);
comment on index private.search_lexicon_entries_idx is 'How many entries contain the most common word.';
alter table private.search_lexicon enable row level security;
