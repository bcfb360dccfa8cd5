-- The search. docs/search.md is its design on a page, and says which file does what to a query. 85 is another search,
-- of one's own messages.
create extension if not exists unaccent with schema extensions;
create extension if not exists fuzzystrmatch with schema extensions;
create extension if not exists vector with schema extensions;

create table private.search_models (
  name text primary key,
  similarity_floor double precision not null,
  similarity_ceiling double precision not null,
  similarity_threshold double precision not null,
  trust double precision not null check (trust > 0 and trust <= 1),
  measured_profiles integer not null default 0,
  check (similarity_floor < similarity_threshold and similarity_threshold < similarity_ceiling)
);
comment on table private.search_models is
  'How to read the cosines of each embedding model: floor and ceiling, between which they are ranked (the first
percentile of all queries and profiles, and the 99.8th); threshold, from where on a profile is a hit: the lowest at
which .15 of what is found is relevant (bench/search/calibrate.ts; private.calibrate_model for other models than the
offline one, at so many `measured_profiles`); trust: how much a similarity says beside words.';
alter table private.search_models enable row level security;

insert into private.search_models values ('offline-wordnet-v3', -0.11, 0.7, 0.13, 3.0 / 7, 160);

create table private.search_entries (
  profile_id bigint primary key references public.profiles (id) on delete cascade,
  user_id bigint not null references public.users (id) on delete cascade,
  name text not null,
  biography text,
  city text,
  country text,
  interests text[] not null,
  image_url text,
  content_hash text not null,
  model text references private.search_models (name) on delete set null,
  embedding extensions.halfvec(384)
);
comment on table private.search_entries is
  'The profiles that a search can find, as hits show them: the searchable ones of active users.';
comment on column private.search_entries.content_hash is 'While it stays the same, the embedding is kept.';
-- Only hits show the biography, so it is stored out of line. Every candidate's embedding is read, so it is stored in
-- line: out of line, a hundred neighbours take 6.5 ms instead of 1.2.
alter table private.search_entries alter column biography set storage external;
alter table private.search_entries alter column embedding set storage plain;
alter table private.search_entries enable row level security;

create index search_entries_user_id_idx on private.search_entries (user_id);
create index search_entries_model_idx on private.search_entries (model);
-- With 64 for ef_construction, the default, a walk reads a tenth more to find as many, and saving a vector takes 4.3 ms
-- instead of 5.3. docs/scale.md has other values.
create index search_entries_embedding_idx
  on private.search_entries using hnsw (embedding extensions.halfvec_cosine_ops)
  with (m = 16, ef_construction = 128);

create table private.search_sentences (
  profile_id bigint references private.search_entries (profile_id) on delete cascade,
  place smallint,
  embedding extensions.halfvec(384) not null,
  primary key (profile_id, place)
);
comment on table private.search_sentences is
  'The embeddings of each interest and sentence (private.entry_parts), since one on a matter is hidden in the embedding
of a whole life. There is none where the model knows no word.';
alter table private.search_sentences alter column embedding set storage plain;
alter table private.search_sentences enable row level security;

-- Postings (a row for each word and profile) took 81 MB for 10,000 profiles where this takes 10, and a change of
-- interests touched 1,000 pages. Apart from the entries, because an embedding is saved more often than words change.
-- Rows of up to 8 kB stay in line: reading a thousand candidates out of line takes ten times as long.
create table private.search_words (
  profile_id bigint primary key references private.search_entries (profile_id) on delete cascade,
  words tsvector not null
) with (toast_tuple_target = 8160);
comment on table private.search_words is
  'The words of each entry with their positions and weights (A names, B interests, C places, D biography); after @ the
values of filters and the places of residence, after ~ names in other scripts and what biographies deny.';
-- Without a list of pending words, which each search would read from beginning to end.
create index search_words_words_idx on private.search_words using gin (words) with (fastupdate = off);
alter table private.search_words enable row level security;

create table private.search_lexicon (
  word text collate "C" not null,
  holders integer not null,
  named real not null
) with (fillfactor = 80);
comment on table private.search_lexicon is
  'Every word of the index, how many profiles have it, and the sum of what private.naming says of it. A change adds new
words; an hourly job counts (private.count_words). It has no unique constraint: two transactions that add the same words
would wait for each other, and in another order deadlock. What both add is there twice until the next count.';
create index search_lexicon_word_idx on private.search_lexicon (word);
alter table private.search_lexicon enable row level security;

create table private.search_contexts (
  user_id bigint primary key references public.users (id) on delete cascade,
  content_hash text not null,
  model text references private.search_models (name) on delete set null,
  embedding extensions.halfvec(384)
);
comment on table private.search_contexts is 'The embedding of each user''s own interests, bio and location.';
create index search_contexts_model_idx on private.search_contexts (model);
alter table private.search_contexts enable row level security;

create table private.search_locks (profile_id bigint primary key references public.profiles (id) on delete cascade);
comment on table private.search_locks is
  'A row for each profile, to be locked while its entry is written. Locking the profile would deadlock: one transaction
updates the profile and then the user, another deactivates the user and then writes the entry.';
alter table private.search_locks enable row level security;
