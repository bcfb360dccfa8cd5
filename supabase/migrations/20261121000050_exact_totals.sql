-- Totals that count everybody who is near enough in meaning, and a search that scores in full only whom the page may show. What every search
-- asks keeps its plans now, and runs as the verb that calls it.
drop function private.nearest_profiles(extensions.halfvec, text, private.search_filter, integer, double precision);

create or replace function private.fold(value text)
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return lower(extensions.unaccent('extensions.unaccent', normalize(value, nfkc)));
end
$$;
comment on function private.fold(text) is
  'Text without case, accents and compatibility forms. Immutable as long as the dictionary unaccent is not edited.';

create or replace function private.words_of(value text)
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

create or replace function private.typo_budget(word text)
returns integer
language sql immutable parallel safe
as $$
  select case when char_length(word) < 5 then 0 when char_length(word) < 9 then 1 else 2 end
$$;
comment on function private.typo_budget(text) is 'How many errors a word of this length may hold: as in Meilisearch, none below 5 letters, one below 9, else two.';

create or replace function private.swaps_of(word text)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select array_agg(distinct overlay(word placing substr(word, place + 1, 1) || substr(word, place, 1) from place for 2))
    from generate_series(1, char_length(word) - 1) as place
  );
end
$$;
comment on function private.swaps_of(text) is 'The word with two neighbours changed about, in every place.';

create or replace function private.typos(typed text, meant text, budget integer)
returns integer
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select case
      when typed = meant then 0
      -- A swap of neighbours is one error, and two to Levenshtein; so this many mistakes of his cannot be within the budget.
      when extensions.levenshtein_less_equal(typed, meant, 2 * budget) > 2 * budget then null
      else (
        select nullif(least(budget + 1, min(distance)), budget + 1)
        from (
          select extensions.levenshtein_less_equal(typed, meant, budget) as distance
          union all
          select 1 + case distance
            when 2 then case when meant = any (private.swaps_of(swapped)) then 1 else 2 end
            else distance
          end
          from unnest(private.swaps_of(typed)) as swapped
          cross join lateral (select extensions.levenshtein_less_equal(swapped, meant, 2) as distance) as measured
        ) as ways
      )
    end
  );
end
$$;
comment on function private.typos(text, text, integer) is
  'How many errors (a letter wrong, missing or too many, or two neighbours swapped) make one word of the other; null above the budget.';

create or replace function private.expand_word(typed text, unfinished boolean)
returns table (word text, typos integer, exact boolean, entries integer)
language plpgsql stable security invoker set search_path = ''
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
          -- Leaves few for the lateral, which takes ten times as long: its forms of a word are within one letter of this.
          and extensions.levenshtein_less_equal(
            typed, case when unfinished then left(lexicon.word, size) else lexicon.word end, 2 * budget + 1
          ) <= 2 * budget + 1
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
  'The words of the index that a typed word may stand for, with their errors.';

create or replace function private.parse_query(query text)
returns setof private.query_word
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return query
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
    where rank <= 10;
end
$$;
comment on function private.parse_query(text) is
  'The words of a query: the first 10 units count, a unit being a word, a "phrase", or a run of letters of a script without spaces;
-word and -"phrase" exclude; the last word may be unfinished.';

create or replace function private.terms_of(words private.query_word[])
returns private.search_term[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
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
  );
end
$$;
comment on function private.terms_of(private.query_word[]) is 'What a query looks for in the index.';

create function private.postings_of(terms private.search_term[], ids bigint[])
returns table (profile_id bigint, place integer, typos integer, exact boolean, spots integer[])
language sql stable security invoker
as $$
  select posting.profile_id, posting.place, posting.typos, posting.exact, posting.spots
  from (
    -- The words of few entries are read as they are; of the others, only what the candidates have. The offset keeps Postgres from reading
    -- all postings there are.
    select listed.*, term.place, term.typos, term.exact, term.phrase
    from unnest(terms) as term
    cross join lateral (
      select search_postings.profile_id, search_postings.spots
      from private.search_postings
      where search_postings.word = term.word
      offset 0
    ) as listed
    join unnest(ids) as candidate (id) on candidate.id = listed.profile_id
    where term.entries <= cardinality(ids)
    union all
    select listed.*, term.place, term.typos, term.exact, term.phrase
    from unnest(terms) as term
    cross join lateral (
      select search_postings.profile_id, search_postings.spots
      from private.search_postings
      where search_postings.word = term.word and search_postings.profile_id = any (ids)
      offset 0
    ) as listed
    where term.entries > cardinality(ids)
  ) as posting
  where posting.phrase is null
    or exists (
      select
      from private.search_entries as entry
      where entry.profile_id = posting.profile_id and entry.words @@ posting.phrase
    )
$$;
comment on function private.postings_of(private.search_term[], bigint[]) is
  'Which of these entries hold which of the terms, and where. Without a search_path, to be inlined.';

create function private.keyword_score(
  asked integer,
  kept integer,
  typos integer,
  typo_max integer,
  apart integer,
  attributes integer,
  attribute_max integer,
  positions integer,
  inexact double precision
)
returns double precision
language sql immutable parallel safe
as $$
  -- Horner: each rule's part is divided by the ranks of all rules before it.
  select 1 - (
    asked - kept + (
      typos + (apart + (attributes + (positions + inexact / 3) / (10 * kept + 1)) / attribute_max) / (3 * (kept - 1) + 1)
    ) / typo_max
  ) / asked
$$;
comment on function private.keyword_score(integer, integer, integer, integer, integer, integer, integer, integer, double precision) is
  'Meilisearch''s keyword score, 0 to 1, of what the rules count: 1 - sum over its rules i of (max_i - rank_i) / product of max_j for
j <= i, the closed form of its nested ranks. Without a search_path, to be inlined.';

create function private.keyword_bounds(ids bigint[], terms private.search_term[], asked integer, allowed integer[])
returns table (profile_id bigint, at_least double precision, at_most double precision, named boolean)
language plpgsql stable security invoker
set search_path = ''
-- As in keyword_scores.
set plan_cache_mode = 'force_generic_plan'
set enable_nestloop = off
as $$
begin
  return query
    with matched as (
      select
        posting.profile_id,
        posting.place,
        -- The first spot is in the best attribute.
        min(posting.typos * 10 + posting.spots[1] / 1000000) as standing,
        bool_or(posting.typos = 0 and posting.spots[1] < 1000000) as in_name
      from private.postings_of(terms, ids) as posting
      group by posting.profile_id, posting.place
    ),
    tallies as (
      select
        matched.profile_id,
        count(*)::integer as kept,
        sum(matched.standing / 10)::integer as typos,
        greatest(sum(allowed[matched.place]), case when count(*) > 1 then count(*) else 0 end)::integer + 1 as typo_max,
        sum(matched.standing % 10)::integer as attributes,
        count(*) filter (where matched.in_name) = asked as named
      from matched
      group by matched.profile_id
    )
    select
      tallies.profile_id,
      private.keyword_score(
        asked, kept, typos, typo_max, 3 * (kept - 1), attributes, 5 * kept + 1, 10 * kept, 2 + kept / (kept + 1)::double precision
      ),
      private.keyword_score(asked, kept, typos, typo_max, 0, attributes, 5 * kept + 1, 0, 0),
      tallies.named
    from tallies;
end
$$;
comment on function private.keyword_bounds(bigint[], private.search_term[], integer, integer[]) is
  'Between what the keyword scores of entries lie, by which words they hold in which attributes, at a third of what the scores themselves
take. Arguments and `named` as in keyword_scores.';

create or replace function private.keyword_scores(
  ids bigint[],
  terms private.search_term[],
  asked integer,
  allowed integer[],
  weights integer[] default '{0, 1, 2, 3, 4, 5}'
)
returns table (profile_id bigint, score double precision, named boolean, ranks integer[])
language plpgsql stable security invoker
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
    with found as materialized (
      select posting.profile_id, posting.place, posting.typos, posting.exact, spot
      from private.postings_of(terms, ids) as posting
      cross join lateral unnest(posting.spots) as spot
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
      private.keyword_score(
        asked, kept, placed.typos, typo_max, apart, attributes, attribute_max, positions,
        3 - exactness + case when exactness = 1 then (kept - exacts) / (kept + 1)::double precision else 0 end
      ),
      placed.named,
      array[
        kept, asked, placed.typos, typo_max, apart, proximity_max, attributes, attribute_max, positions, position_max, exactness, exacts
      ]
    from placed;
end
$$;
comment on function private.keyword_scores(bigint[], private.search_term[], integer, integer[], integer[]) is
  'The keyword scores of entries that hold some of the terms. `asked` is how many words the query has, `allowed` how many errors each may
hold, `weights` the order of the attributes name, interests, city, country, biography, first and last name. `named`: whether all the words
stand in the name as typed. `ranks` is what keyword_details reads.';

-- Who may be found at all, who holds words of the query, and who is near it in meaning. Nothing of the search asks as its owner but the
-- verb, search_profiles: what it calls, nobody else may call.
create or replace function private.as_keys(list jsonb)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select coalesce(array_agg(distinct private.fold(trim(value))), '{}')
    from jsonb_array_elements_text(coalesce(list, '[]')) as value
  );
end
$$;
comment on function private.as_keys(jsonb) is 'The values of a filter as facet keys: folded and trimmed.';

create or replace function private.bearing_terms(terms private.search_term[])
returns private.search_term[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
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
  );
end
$$;
comment on function private.bearing_terms(private.search_term[]) is
  'The terms that bring somebody into the hits, rarest first; without those of common words, unless there are no others.';

create or replace function private.holders_of(
  terms private.search_term[],
  sought private.search_filter,
  within bigint[],
  most integer
)
returns bigint[]
language plpgsql stable security invoker
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
  'Who holds any of the terms and passes the filters, those first who hold the most of the query, at most so many.';

create or replace function private.nearest_profiles(
  meaning extensions.halfvec,
  meaning_model text,
  sought private.search_filter,
  besides bigint[],
  reach integer,
  furthest double precision
)
returns bigint[]
language plpgsql stable security invoker
set search_path = 'extensions'
-- About in the order of the distances: to have them exactly in order costs half as much again, and who ranks them measures them anyway.
set hnsw.iterative_scan = 'relaxed_order'
set hnsw.ef_search = 100
-- The one plan that there is to be: a walk along the index.
set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off
set enable_sort = off
as $$
declare
  nearest bigint[] := array[]::bigint[];
  neighbour record;
  strangers integer := 0;
begin
  for neighbour in
    select profile_id, embedding <=> meaning as distance
    from private.search_entries as entry
    where model = meaning_model
      and private.is_sought(entry, sought)
      and profile_id not in (select unnest(besides))
    order by embedding <=> meaning
  loop
    if neighbour.distance <= furthest then
      nearest := nearest || neighbour.profile_id;
      strangers := 0;
    else
      strangers := strangers + 1;
    end if;
    -- As many as come at a time: when all of them are too far away, so are those that would come after them.
    exit when strangers = 100 or cardinality(nearest) >= reach;
  end loop;
  return nearest;
end
$$;
comment on function private.nearest_profiles(extensions.halfvec, text, private.search_filter, bigint[], integer, double precision) is
  'The profiles nearest to a vector by cosine distance besides some that are known, at most so many and so far away, along the index.';

-- The search itself: whom words or meaning found, in what order, and the page that is asked for.
-- Without `set search_path`, so that it is inlined: called, twenty of them take a millisecond.
create or replace function private.hit_body(entry private.search_entries, score double precision)
returns json
language sql stable security invoker
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

create function private.hybrid_score(ratio double precision, keyword double precision, semantic double precision, named boolean)
returns double precision
language sql immutable parallel safe
as $$
  select greatest((1 - ratio) * keyword + ratio * semantic, case when named then keyword end)
$$;
comment on function private.hybrid_score(double precision, double precision, double precision, boolean) is
  'Both parts of a score by their weights, and never less than that of the words where all of them stand in the name. Without a
search_path, to be inlined.';

create or replace function private.find_profiles(
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
language plpgsql stable security invoker
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
  -- Who asks with no words gets everybody, near or not.
  furthest double precision := 2;
  terms private.search_term[];
  sought private.search_filter;
  filtered boolean;
  reach integer;
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
    caller,
    private.kept_from(caller)
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

  -- Those besides whom the words brought, as many as the total still counts, and no fewer than make the first pages.
  reach := greatest(100, most - cardinality(by_words));
  if meaning is not null and within is not null then
    by_meaning := array(
      select profile_id
      from private.search_entries
      where profile_id = any (within)
        and profile_id not in (select unnest(by_words))
        and search_entries.model = meaning_model
        and embedding <=> meaning <= furthest
      order by embedding <=> meaning, profile_id
      limit reach
    );
  elsif meaning is not null then
    by_meaning := private.nearest_profiles(meaning, meaning_model, sought, by_words, reach, furthest);
  end if;

  with measured as materialized (
    select profile_id, entry.model = meaning_model and meaning is not null as has_meaning, 1 - (embedding <=> meaning) as cosine
    from private.search_entries as entry
    where profile_id = any (by_words || by_meaning)
  ),
  bounds as (
    select * from private.keyword_bounds(by_words, terms, asked, allowed)
  ),
  weighed as (
    select
      measured.profile_id,
      case when asked = 0 and meaning is null then 1 else coalesce(bounds.at_least, 0) end as at_least,
      case when asked = 0 and meaning is null then 1 else coalesce(bounds.at_most, 0) end as at_most,
      bounds.named,
      case when has_meaning then cosine end as cosine,
      case
        when has_meaning then least(1, greatest(0, (cosine - model.nothing_alike) / (model.much_alike - model.nothing_alike)))
        else 0
      end as semantic,
      -- A leg that is missing, for the whole query or for one entry, leaves all the weight to the other.
      case when not coalesce(has_meaning, false) then 0 when cardinality(by_words) = 0 then 1 else ratio end as ratio
    from measured
    left join bounds on bounds.profile_id = measured.profile_id
  ),
  candidates as materialized (
    select
      *,
      private.hybrid_score(weighed.ratio, at_least, semantic, named) as lowest,
      private.hybrid_score(weighed.ratio, at_most, semantic, named) as highest
    from weighed
  ),
  contenders as materialized (
    -- Who cannot come onto the page, however well they hold the words, need not be scored. Less a little, for what rounding does.
    select *
    from candidates
    where highest >= coalesce(
      (select lowest from candidates order by lowest desc offset least(page_offset, most) + page_limit - 1 limit 1) - 1e-9,
      0
    )
  ),
  keyword as (
    select *
    from private.keyword_scores(array(select profile_id from contenders where named is not null), terms, asked, allowed)
  ),
  ranked as (
    select
      contenders.profile_id,
      coalesce(keyword.score, contenders.at_least) as keyword,
      contenders.named,
      keyword.ranks,
      contenders.cosine,
      contenders.semantic,
      contenders.ratio,
      private.hybrid_score(contenders.ratio, coalesce(keyword.score, contenders.at_least), semantic, contenders.named) as score
    from contenders
    left join keyword on keyword.profile_id = contenders.profile_id
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
    'estimatedTotalHits', least(most, (select count(*) from candidates)),
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
1,000. Of everybody whom either leg found it reckons both parts of the score, that of the words as closely as the page needs.';

