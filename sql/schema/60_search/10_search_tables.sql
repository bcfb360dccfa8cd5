-- The search. Its index has one row for each profile that is searchable and whose owner is active. What a query passes
-- through, in this order:
--   25 parse_query: its words · corrections_of: what a mistyped one may stand for
--   30 read_words: those written together, and places · read_query: queries of the index, and how rare each is
--   35 api.understand_query: completed, corrected, a name, or nothing; what remains, the Edge Function embeds
--   55 api.search_profiles: from here on with the vector
--   40 read_filter: what every hit must meet, and who meets it if they are few
--   55 find_profiles, the ranking: 50 nearest_profiles and keyword_candidates; 45 keyword_scores, for the best of them;
--      the page as JSON
--   60 and 65 highlights, facets and nearness to one profile, if asked for
-- Around it: 10 tables · 12 names of places · 15 how texts become words · 20 triggers that keep the index in sync
-- 70 completions of a search box · 75 embeddings, made later from a queue · 80 audit and repair
create extension if not exists unaccent with schema extensions;
create extension if not exists fuzzystrmatch with schema extensions;
create extension if not exists vector with schema extensions;

create table private.search_models (
  name text primary key,
  similarity_floor double precision not null,
  similarity_ceiling double precision not null,
  similarity_threshold double precision not null,
  trust double precision not null check (trust > 0 and trust <= 1),
  check (similarity_floor < similarity_threshold and similarity_threshold < similarity_ceiling)
);
comment on table private.search_models is
  'How to read the cosines of each embedding model: floor and ceiling, between which they are ranked (the first
percentile of all queries and profiles, and the 99.8th); threshold, from where on a profile is a hit: the lowest, which
has the highest recall, at which .15 of what is found is relevant, among short texts and among long ones alike.
bench/search/calibrate.ts computes them. Trust: how much a similarity says beside words; it is multiplied by this before
the two are weighed (as `distribution` does for an embedder of Meilisearch).';
alter table private.search_models enable row level security;

-- Those of the offline model are measured: its similarities reach 1 as often as words do, and then say less. The others
-- follow what makers and users of the models report; nobody has measured them here, nor their trust.
insert into private.search_models (name, similarity_floor, similarity_ceiling, similarity_threshold, trust)
values
  ('offline-wordnet-v3', -0.11, 0.7, 0.13, 3.0 / 7),
  ('text-embedding-3-small', 0.1, 0.6, 0.3, 3.0 / 7),
  ('gte-small', 0.72, 0.92, 0.8, 3.0 / 7);

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
  'The profiles that a search can find, as hits show them: those that are searchable and whose owner is active.';
comment on column private.search_entries.content_hash is
  'Hash of the text that the embedding is made from. While it stays the same, the embedding is kept.';
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
comment on index private.search_entries_embedding_idx is
  'Nearest neighbours. Filters are applied during the index scan, not after it.';
create index search_entries_unembedded_idx on private.search_entries (profile_id) where embedding is null;
comment on index private.search_entries_unembedded_idx is
  'Whether a profile that is no neighbour of a query has no embedding. To read its entry takes four times as long.';

-- One copy of each word. Postings (a row for each word and profile) took 81 MB for 10,000 profiles where this takes 10,
-- and a change of interests touched 1,000 pages. Apart from the entries, because an embedding is saved more often than
-- words change. Rows of up to 8 kB stay in line: reading a thousand candidates out of line takes ten times as long.
create table private.search_words (
  profile_id bigint primary key references private.search_entries (profile_id) on delete cascade,
  words tsvector not null
) with (toast_tuple_target = 8160);
comment on table private.search_words is
  'The words of each entry with their places (private.text_start), between two full stops for each text, and the values
that filters compare (private.facet).';
-- Without a list of pending words, which each search would read from beginning to end.
create index search_words_words_idx on private.search_words using gin (words) with (fastupdate = off);
alter table private.search_words enable row level security;

create function private.text_start(attribute integer, element integer)
returns integer
language sql immutable parallel safe
as $$
  select case attribute
    when 0 then 1 when 1 then 301 + 62 * element when 2 then 3501 when 3 then 3801 when 4 then 4101
    else 15401 + 400 * element
  end
$$;
comment on function private.text_start(integer, integer) is
  'Where a text begins in the tsvector of its profile: the full stop before its first word. attribute: 0 name,
1 interests, 2 city, 3 country, 4 biography, 5 first and last name; element: which of the texts of the attribute, such
as the second interest. A position of a tsvector is at most 16,383.';

-- The readers of positions have no search_path, so that Postgres inlines them.
create function private.attribute_at(word_position integer)
returns integer
language sql immutable parallel safe
as $$
  select case
    when word_position < 301 then 0
    when word_position < 3501 then 1
    when word_position < 3801 then 2
    when word_position < 4101 then 3
    when word_position < 15401 then 4
    else 5
  end
$$;
comment on function private.attribute_at(integer) is 'The attribute that has this position.';

create function private.text_start_at(word_position integer)
returns integer
language sql immutable parallel safe
as $$
  select case
    when word_position < 301 then 1
    when word_position < 3501 then 301 + (word_position - 301) / 62 * 62
    when word_position < 3801 then 3501
    when word_position < 4101 then 3801
    when word_position < 15401 then 4101
    else 15401 + (word_position - 15401) / 400 * 400
  end
$$;
comment on function private.text_start_at(integer) is 'Where the text begins that has this position.';

create table private.search_lexicon (
  word text collate "C" not null
);
comment on table private.search_lexicon is
  'Every word of the index. Typing errors are matched against it. Words are only added, and swept now and then
(private.sweep_lexicon). It has no counters, which every change of a profile would update, and no unique constraint:
with one, two transactions that add the same new words wait for each other, and in another order they deadlock. A word
that both add is there twice until the sweep.';
create index search_lexicon_word_idx on private.search_lexicon (word);
alter table private.search_lexicon enable row level security;

create table private.search_lexicon_queue (
  profile_id bigint primary key references private.search_entries (profile_id) on delete cascade
);
comment on table private.search_lexicon_queue is
  'Profiles with words that the lexicon still lacks. A new word costs 60 µs there, so a change of a profile adds ten,
and the others follow (private.drain_lexicon_queue). Until then they are found only as they are written.';
alter table private.search_lexicon_queue enable row level security;

create table private.search_removed_words (
  word text collate "C" not null
);
comment on table private.search_removed_words is
  'Words that profiles no longer have. The next sweep deletes those from the lexicon that nobody else has.';
alter table private.search_removed_words enable row level security;

create table private.search_contexts (
  user_id bigint primary key references public.users (id) on delete cascade,
  content_hash text not null,
  model text references private.search_models (name) on delete set null,
  embedding extensions.halfvec(384)
);
comment on table private.search_contexts is
  'The embedding of each user''s own interests, bio and location. It is mixed into their searches, so that a search
needs no second embedding.';
create index search_contexts_model_idx on private.search_contexts (model);
alter table private.search_contexts enable row level security;

create table private.search_locks (
  profile_id bigint primary key references public.profiles (id) on delete cascade
);
comment on table private.search_locks is
  'A row for each profile, to be locked while its entry is written. Locking the profile instead would deadlock: one
transaction updates the profile and then the user, another deactivates the user and then writes the entry.';
alter table private.search_locks enable row level security;
