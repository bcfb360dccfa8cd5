-- A faster search: where words stand moves from a document in each entry into postings, vectors lie in line, and a query is parsed once.
drop trigger follow_added_entries on private.search_entries;
drop trigger follow_changed_entries on private.search_entries;
drop trigger follow_gone_entries on private.search_entries;
drop function private.follow_entries();
drop function private.find_profiles(text, extensions.halfvec, text, double precision, jsonb, bigint, integer, bigint, boolean);
drop function private.hit_body(private.search_entries, double precision);
drop function private.keyword_scores(bigint[], private.search_term[], integer, integer[], integer[]);
drop function private.terms_of(text);
drop function private.expand_word(text, boolean);
drop type private.search_term;
drop function private.parse_query(text);

create table private.search_postings (
  word text collate "C",
  profile_id bigint not null references private.search_entries (profile_id) on delete cascade,
  spots integer[] not null,
  primary key (word, profile_id) include (spots)
);
comment on table private.search_postings is
  'Who has each word, and where it stands: attribute * 1,000,000 + element * 10,000 + position from 0. The empty word marks where
each text ends. A thousand candidates are read from here in a sixth of the time that documents with all their words take.';
create index search_postings_profile_id_idx on private.search_postings (profile_id);
alter table private.search_postings enable row level security;

drop index private.search_entries_words_idx;
insert into private.search_postings (word, profile_id, spots)
select word, profile_id, array(select spot::integer from jsonb_array_elements_text(list) as spot)
from private.search_entries
cross join lateral jsonb_each(spots) as standing (word, list);

alter table private.search_entries drop column spots;
alter table private.search_entries alter column embedding set storage plain;
-- What is stored beside the table comes in line when it is written again.
update private.search_entries set embedding = embedding::real[]::extensions.halfvec where embedding is not null;

comment on column private.search_entries.words is
  'Every word, for phrases: weight A name, first and last name, B interests, C city and country, D biography.';

comment on function private.words_from_spots(jsonb) is 'The same words as a tsvector, in which phrases are found.';

comment on function private.spots_of(public.profiles, text, text[]) is 'Where each word of a profile stands; see search_postings.';

create or replace function private.refresh_search_entry(profile bigint)
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
    interest_keys, city_key, country_key, words, content_hash
  )
  values (
    profile, owner.id, owner.name, shown.biography, shown.city, shown.country, likes, shown.image_url,
    array(select private.fold(trim(name)) from unnest(likes) as name),
    private.fold(trim(shown.city)), private.fold(trim(shown.country)), private.words_from_spots(fresh), hash
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
    insert into private.search_postings (word, profile_id, spots)
    select word, profile, array(select spot::integer from jsonb_array_elements_text(list) as spot)
    from jsonb_each(fresh) as standing (word, list)
    on conflict (word, profile_id) do update set spots = excluded.spots where search_postings.spots <> excluded.spots;
  end if;
end
$$;

create function private.follow_postings()
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
comment on function private.follow_postings() is 'The lexicon follows the postings. Definer, as refresh_search_entry.';

create trigger follow_added_postings
  after insert on private.search_postings
  referencing new table as added
  for each statement
  execute function private.follow_postings();

create trigger follow_gone_postings
  after delete on private.search_postings
  referencing old table as gone
  for each statement
  execute function private.follow_postings();

create function private.expand_word(typed text, unfinished boolean)
returns table (word text, typos integer, exact boolean, entries integer)
language plpgsql stable security definer set search_path = ''
as $$
declare
  budget integer := private.typo_budget(typed);
  size integer := char_length(typed);
  swaps text[] := private.swaps_of(typed);
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
          select min(case
            when distance <= 1 then distance
            when form = any (swaps) then 1
            when distance <= budget then distance
            when budget > 1 then private.typos(typed, form, budget)
          end) as typos
          from unnest(case
            when unfinished and char_length(lexicon.word) > size
              then array[left(lexicon.word, size), left(lexicon.word, size + 1), left(lexicon.word, size - 1)]
            else array[lexicon.word]
          end) as form
          -- A swap of neighbours is one error, and two to Levenshtein.
          cross join lateral (select extensions.levenshtein_less_equal(typed, form, 2 * budget) as distance) as measured
          where distance <= 2 * budget
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
    select found.word, min(found.typos), bool_or(found.exact), max(found.entries)
    from found
    group by found.word;
end
$$;
comment on function private.expand_word(text, boolean) is
  'The words of the index that a typed word may stand for, with their errors. Definer, because callers do not read the lexicon.';

create type private.query_word as (unit integer, place integer, word text, quoted boolean, excluded boolean, unfinished boolean);
comment on type private.query_word is
  'A word of a query: the unit and the place it stands in, both counted for themselves among the excluded.';

create function private.parse_query(query text)
returns setof private.query_word
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

create type private.search_term as (
  place integer,
  unit integer,
  word text,
  typos integer,
  exact boolean,
  entries integer,
  quoted boolean,
  phrase tsquery
);
comment on type private.search_term is
  'A word of the index that a word of the query may stand for: the place in the query, how many entries have it, whether the query has it in
quotes, and the phrase it must stand in, if any.';

create function private.terms_of(words private.query_word[])
returns private.search_term[]
language sql stable security definer set search_path = ''
as $$
  with parsed as (
    select *, count(*) over (partition by unit) > 1 as together
    from unnest(words)
    where not excluded
  ),
  phrases as (
    select unit, string_agg(quote_literal(word), ' <-> ' order by place)::tsquery as phrase
    from parsed
    where together
    group by unit
  )
  select array_agg(
    row(
      parsed.place, parsed.unit, meant.word, meant.typos, meant.exact, meant.entries, parsed.quoted, phrases.phrase
    )::private.search_term
  )
  from parsed
  left join phrases using (unit)
  cross join lateral (
    select lexicon.word, 0 as typos, true as exact, lexicon.entries
    from private.search_lexicon as lexicon
    where (parsed.together or parsed.quoted) and lexicon.word = parsed.word
    union all
    select expanded.word, expanded.typos, expanded.exact, expanded.entries
    from private.expand_word(parsed.word, parsed.unfinished) as expanded
    where not (parsed.together or parsed.quoted)
  ) as meant
$$;
comment on function private.terms_of(private.query_word[]) is 'What a query looks for in the index. Definer, because callers do not read the lexicon.';

create function private.keyword_scores(
  ids bigint[],
  terms private.search_term[],
  asked integer,
  allowed integer[],
  weights integer[] default '{0, 1, 2, 3, 4, 5}'
)
returns table (profile_id bigint, score double precision, named boolean, ranks integer[])
language plpgsql stable security definer
set search_path = ''
-- Planning this anew for each call would take longer than doing it; and Postgres, who takes what these expressions yield for few rows, would
-- join them by nested loops, which for 1,000 candidates took minutes.
set plan_cache_mode = 'force_generic_plan'
set enable_nestloop = off
as $$
declare
  heaviest constant integer := (select max(weight) from unnest(weights) as weight);
begin
  return query
    with postings as (
      -- The words of few entries are read as they are; of the others, only what the candidates have. The offset keeps Postgres from reading
      -- all postings there are.
      select posting.*, term.place, term.typos, term.exact, term.phrase
      from unnest(terms) as term
      cross join lateral (
        select listed.profile_id, listed.spots
        from private.search_postings as listed
        where listed.word = term.word
        offset 0
      ) as posting
      join unnest(ids) as candidate (id) on candidate.id = posting.profile_id
      where term.entries <= cardinality(ids)
      union all
      select posting.*, term.place, term.typos, term.exact, term.phrase
      from unnest(terms) as term
      cross join lateral (
        select listed.profile_id, listed.spots
        from private.search_postings as listed
        where listed.word = term.word and listed.profile_id = any (ids)
        offset 0
      ) as posting
      where term.entries > cardinality(ids)
    ),
    found as materialized (
      select postings.profile_id, postings.place, postings.typos, postings.exact, spot
      from postings
      cross join lateral unnest(postings.spots) as spot
      where postings.phrase is null
        or exists (
          select
          from private.search_entries as entry
          where entry.profile_id = postings.profile_id and entry.words @@ postings.phrase
        )
    ),
    matched as materialized (
      select
        found.profile_id,
        found.place,
        -- The fewest errors, then the best attribute, then the best place within it.
        min(
          found.typos * 1000000
            + weights[found.spot / 1000000 + 1] * 100 + private.position_cost(abs(found.spot % 10000 - (found.place - 1)))
        ) as standing,
        bool_or(found.exact) as exact,
        bool_or(found.typos = 0 and found.spot < 1000000) as in_name
      from found
      group by found.profile_id, found.place
    ),
    tallies as materialized (
      select
        matched.profile_id,
        count(*)::integer as kept,
        sum(matched.standing / 1000000)::integer as typos,
        greatest(sum(allowed[matched.place]), case when count(*) > 1 then count(*) else 0 end)::integer + 1 as typo_max,
        sum(matched.standing % 1000000 / 100)::integer as attributes,
        sum(matched.standing % 100)::integer as positions,
        count(*) filter (where matched.exact)::integer as exacts,
        count(*) filter (where matched.in_name) = asked as named,
        bit_or(1::bigint << least(matched.place, 62)) as places
      from matched
      group by matched.profile_id
    ),
    best as materialized (
      select found.profile_id, found.place, found.spot
      from found
      join matched on matched.profile_id = found.profile_id and matched.place = found.place
      where asked > 1 and found.typos = matched.standing / 1000000
    ),
    closeness as (
      select pairs.profile_id, sum(3 - pairs.apart)::integer as saved
      from (
        select
          one.profile_id,
          min(least(3, case when other.spot > one.spot then other.spot - one.spot - 1 else one.spot - other.spot end)) as apart
        from best as one
        join best as other
          on other.profile_id = one.profile_id
          and other.place = one.place + 1
          and other.spot / 10000 = one.spot / 10000
        group by one.profile_id, one.place
      ) as pairs
      group by pairs.profile_id
    ),
    openings as (
      -- Texts that begin with the words found, in their order: each stands where there are as many found places before its own.
      select found.profile_id, found.spot / 10000 as text, tallies.kept
      from found
      join tallies on tallies.profile_id = found.profile_id
      where found.exact
        and found.place < 62
        and found.spot % 10000 < asked
        and found.spot % 10000 = bit_count((tallies.places & ((1::bigint << found.place) - 1))::bit(64))
      group by found.profile_id, found.spot / 10000, tallies.kept
      having count(*) = tallies.kept
    ),
    opened as (
      select
        openings.profile_id,
        max(case when ends.spots @> array[openings.text * 10000 + openings.kept] then 3 else 2 end) as exactness
      from openings
      cross join lateral (
        select listed.spots
        from private.search_postings as listed
        where listed.word = '' and listed.profile_id = openings.profile_id
        offset 0
      ) as ends
      group by openings.profile_id
    ),
    placed as (
      select
        tallies.*,
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
      placed.profile_id,
      -- Horner: each rule's part is divided by the ranks of all rules before it.
      1 - (
        asked - kept + (
          placed.typos + (
            apart + (
              attributes + (
                positions + (
                  3 - exactness + case when exactness = 1 then (kept - exacts) / (kept + 1)::double precision else 0 end
                ) / 3
              ) / position_max
            ) / attribute_max
          ) / proximity_max
        ) / typo_max
      ) / asked,
      placed.named,
      array[
        kept, asked, placed.typos, typo_max, apart, proximity_max, attributes, attribute_max, positions, position_max, exactness, exacts
      ]
    from placed;
end
$$;
comment on function private.keyword_scores(bigint[], private.search_term[], integer, integer[], integer[]) is
  'Meilisearch''s keyword score, 0 to 1, of entries that hold some of the terms: 1 - sum over its rules i of (max_i - rank_i) / product of
max_j for j <= i, the closed form of its nested ranks. `asked` is how many words the query has, `allowed` how many errors each may
hold, `weights` the order of the attributes name, interests, city, country, biography, first and last name. `ranks` is what keyword_details
reads. Definer, because callers do not read the index.';

create function private.keyword_details(ranks integer[])
returns json
language sql immutable parallel safe set search_path = ''
as $$
  select json_build_object(
    'words', json_build_array(ranks[1], ranks[2]),
    'typo', json_build_array(ranks[4] - ranks[3], ranks[4]),
    'proximity', json_build_array(ranks[6] - ranks[5], ranks[6]),
    'attribute', json_build_array(ranks[8] - ranks[7], ranks[8]),
    'position', json_build_array(ranks[10] - ranks[9], ranks[10]),
    'exactness', json_build_array(ranks[11], 3),
    'exactWords', case when ranks[11] = 1 then json_build_array(ranks[12] + 1, ranks[1] + 1) end
  )
  where ranks is not null
$$;
comment on function private.keyword_details(integer[]) is '[rank, max] of each of the rules that make a keyword score.';

create type private.search_filter as (
  interests text[],
  cities text[],
  countries text[],
  must tsquery,
  must_not tsquery,
  caller bigint
);
comment on type private.search_filter is 'What a profile must have to be found at all: facet keys, phrases, no excluded words, and another owner than the caller.';

-- Without `set search_path`, so that it is inlined and the indexes of what it asks for are used.
create function private.is_sought(entry private.search_entries, sought private.search_filter)
returns boolean
language sql immutable security invoker
as $$
  select (sought.interests = '{}' or entry.interest_keys && sought.interests)
    and (sought.cities = '{}' or entry.city_key = any (sought.cities))
    and (sought.countries = '{}' or entry.country_key = any (sought.countries))
    and (sought.must is null or entry.words @@ sought.must)
    and (sought.must_not is null or not entry.words @@ sought.must_not)
    and (sought.caller is null or entry.user_id <> sought.caller)
$$;
comment on function private.is_sought(private.search_entries, private.search_filter) is 'Whether a profile passes the filters of a search.';

create function private.hit_body(entry private.search_entries, score double precision)
returns json
language sql stable set search_path = ''
as $$
  select json_build_object(
    'id', entry.profile_id,
    'user_id', entry.user_id,
    'name', entry.name,
    'biography', entry.biography,
    'city', entry.city,
    'country', entry.country,
    'interests', to_json(entry.interests),
    'image_url', entry.image_url,
    '_rankingScore', score
  )
$$;
comment on function private.hit_body(private.search_entries, double precision) is 'A search hit, as printed.';

create function private.bearing_terms(terms private.search_term[])
returns private.search_term[]
language sql stable security definer set search_path = ''
as $$
  with units as (
    -- A word that every fourth profile has tells nothing of any one: it counts where it stands, and brings nobody up by itself. With 25
    -- profiles or fewer no word is common.
    select
      unit,
      max(entries) > greatest(25, (select max(entries) / 4 from private.search_lexicon)) and not bool_or(quoted) as is_common
    from unnest(terms)
    group by unit
  )
  select array_agg(term order by term.entries, term.word)
  from unnest(terms) as term
  join units using (unit)
  where not is_common or (select bool_and(is_common) from units)
$$;
comment on function private.bearing_terms(private.search_term[]) is
  'The terms that bring somebody into the hits, rarest first; without those of common words, unless there are no others. Definer, because
callers do not read the lexicon.';

create function private.holders_of(
  terms private.search_term[],
  sought private.search_filter,
  within bigint[],
  most integer
)
returns bigint[]
language plpgsql stable security definer
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  anybody constant boolean := sought.interests || sought.cities || sought.countries = '{}'
    and coalesce(sought.must, sought.must_not) is null
    and sought.caller is null;
begin
  return array(
    select profile_id
    from (
      select profile_id, unit
      from (
        select posting.profile_id, term.unit
        from unnest(terms) as term
        cross join lateral (
          -- The offsets keep Postgres to its index.
          (
            select listed.profile_id
            from private.search_postings as listed
            where within is null and listed.word = term.word
            offset 0
          )
          union all
          (
            select listed.profile_id
            from private.search_postings as listed
            where within is not null and listed.word = term.word and listed.profile_id = any (within)
            offset 0
          )
        ) as posting
        where (anybody and term.phrase is null)
          or exists (
            select
            from private.search_entries as entry
            where entry.profile_id = posting.profile_id
              and (term.phrase is null or entry.words @@ term.phrase)
              and private.is_sought(entry, sought)
          )
        -- One profile may hold every term.
        limit most * cardinality(terms)
      ) as held
      group by profile_id, unit
    ) as units
    group by profile_id
    order by count(*) desc, profile_id
    limit most
  );
end
$$;
comment on function private.holders_of(private.search_term[], private.search_filter, bigint[], integer) is
  'Who holds any of the terms and passes the filters, those first who hold the most of the query, at most so many. Definer, because callers
do not read the index.';

create function private.nearest_profiles(
  meaning extensions.halfvec,
  meaning_model text,
  sought private.search_filter,
  reach integer,
  furthest double precision
)
returns bigint[]
language plpgsql stable security definer
set search_path = 'extensions'
set hnsw.iterative_scan = 'strict_order'
set hnsw.ef_search = 100
-- The one plan that there is to be: a walk along the index.
set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off
set enable_sort = off
as $$
begin
  return array(
    select profile_id
    from (
      select profile_id, embedding <=> meaning as distance
      from private.search_entries as entry
      where model = meaning_model
        and private.is_sought(entry, sought)
      order by embedding <=> meaning
      limit reach
    ) as nearest
    where distance <= furthest
  );
end
$$;
comment on function private.nearest_profiles(extensions.halfvec, text, private.search_filter, integer, double precision) is
  'The profiles nearest to a vector by cosine distance, at most so many and so far away, along the index. Definer, because callers do not read it.';

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
-- Planning its statements anew would take longer than most of them.
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  -- No more are scored, and no total counts further, whatever a query matches.
  most constant integer := 1000;
  -- Up to so many rows, measuring every one is as quick as walking the index, and exact.
  few constant integer := 2000;
  model private.search_models;
  words constant private.query_word[] := array(select part from private.parse_query(query) as part);
  asked constant integer := coalesce((select max(place) from unnest(words) where not excluded), 0);
  allowed constant integer[] := array(select private.typo_budget(word) from unnest(words) where not excluded order by place);
  -- As many neighbours as one walk of the index yields; who asks with no words gets them all, near or not.
  reach constant integer := case when asked > 0 then 100 else most end;
  furthest double precision := 2;
  terms private.search_term[];
  sought private.search_filter;
  filtered boolean;
  within bigint[];
  by_words bigint[] := array[]::bigint[];
  by_meaning bigint[] := array[]::bigint[];
  answer json;
begin
  select * into model from private.search_models where name = meaning_model;
  if model.name is null then
    meaning := null;
  end if;
  if asked > 0 then
    furthest := 1 - model.near_enough;
    terms := coalesce(private.terms_of(words), '{}');
  end if;
  with units as (
    select excluded, quoted, string_agg(quote_literal(word), ' <-> ' order by place)::tsquery as phrase
    from unnest(words)
    group by excluded, quoted, unit
  )
  select
    private.as_keys(filters -> 'interests'),
    private.as_keys(filters -> 'cities'),
    private.as_keys(filters -> 'countries'),
    (select string_agg(phrase::text, ' & ')::tsquery from units where quoted and not excluded),
    (select string_agg('(' || phrase::text || ')', ' | ')::tsquery from units where excluded),
    caller
  into sought;
  filtered := sought.interests || sought.cities || sought.countries <> '{}';

  if filtered or not exists (select from private.search_entries offset few) then
    -- Planned for the filters at hand, so that it takes their indexes.
    execute 'select array(select profile_id from private.search_entries as entry where private.is_sought(entry, $1) limit $2 + 1)'
    into within
    using sought, few;
    if cardinality(within) > few then
      within := null;
    end if;
  end if;

  if cardinality(terms) > 0 then
    by_words := private.holders_of(private.bearing_terms(terms), sought, within, most);
  end if;
  if asked = 0 and meaning is null then
    by_words := array(
      select profile_id
      from private.search_entries as entry
      where private.is_sought(entry, sought)
      order by profile_id
      limit most
    );
  end if;

  if meaning is not null and within is not null then
    by_meaning := array(
      select profile_id
      from private.search_entries
      where profile_id = any (within)
        and search_entries.model = meaning_model
        and embedding <=> meaning <= furthest
      order by embedding <=> meaning, profile_id
      limit reach
    );
  elsif meaning is not null then
    by_meaning := private.nearest_profiles(meaning, meaning_model, sought, reach, furthest);
  end if;

  with keyword as (
    select * from private.keyword_scores(by_words, terms, asked, allowed)
  ),
  measured as materialized (
    select profile_id, entry.model = meaning_model and meaning is not null as has_meaning, 1 - (embedding <=> meaning) as cosine
    from private.search_entries as entry
    where profile_id = any (by_words || by_meaning)
  ),
  scored as (
    select
      measured.profile_id,
      case when asked = 0 and meaning is null then 1 else coalesce(keyword.score, 0) end as keyword,
      keyword.named,
      keyword.ranks,
      case when has_meaning then cosine end as cosine,
      -- A leg that is missing, for the whole query or for one entry, leaves all the weight to the other.
      case when not coalesce(has_meaning, false) then 0 when cardinality(by_words) = 0 then 1 else ratio end as ratio
    from measured
    left join keyword on keyword.profile_id = measured.profile_id
  ),
  calibrated as (
    select
      *,
      coalesce(least(1, greatest(0, (cosine - model.nothing_alike) / (model.much_alike - model.nothing_alike))), 0) as semantic
    from scored
  ),
  ranked as materialized (
    select
      *,
      greatest(
        (1 - calibrated.ratio) * keyword + calibrated.ratio * semantic,
        case when named then keyword end
      ) as score
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
            private.hit_body(entry, page.score)::jsonb || jsonb_build_object('_rankingScoreDetails', jsonb_build_object(
              'words', private.keyword_details(page.ranks),
              'keyword', page.keyword,
              'cosine', page.cosine,
              'nothingAlike', model.nothing_alike,
              'muchAlike', model.much_alike,
              'semantic', page.semantic,
              'ratio', page.ratio,
              'named', coalesce(page.named, false)
            ))
          )::json
          else private.hit_body(entry, page.score)
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
