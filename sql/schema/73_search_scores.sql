-- How well an entry holds the words of a query.

create type private.search_term as (
  place integer,
  unit integer,
  word text,
  typos integer,
  exact boolean,
  entries integer,
  quoted boolean,
  phrase tsquery,
  phrase_ids bigint[]
);
comment on type private.search_term is
  'A word of the index that a word of the query may stand for: the place in the query, how many entries have it, whether the query has it in
quotes, and the phrase it must stand in, if any; once it is known who has that phrase, those profiles instead of it.';

create function private.terms_of(words private.query_word[])
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
      select unit, string_agg(quote_literal(word), ' <-> ' order by position)::tsquery as phrase
      from parsed
      where together
      group by unit
    )
    select array_agg(
      row(
        parsed.place, parsed.unit, meant.word, meant.typos, meant.exact, meant.entries, parsed.quoted, phrases.phrase, null
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
    -- Nobody has a phrase of which nobody has a word.
    where parsed.place is not null
      and (not parsed.together or not exists (
        select
        from parsed as beside
        where beside.unit = parsed.unit and beside.word not in (select lexicon.word from private.search_lexicon as lexicon)
      ))
  );
end
$$;
comment on function private.terms_of(private.query_word[]) is 'What a query looks for in the index.';

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

create function private.postings_of(terms private.search_term[], ids bigint[])
returns table (profile_id bigint, word text, place integer, typos integer, exact boolean, word_positions integer[])
language sql stable security invoker
as $$
  select posting.profile_id, posting.word, posting.place, posting.typos, posting.exact, posting.word_positions
  from (
    -- The words of few entries are read as they are; of the others, only what the candidates have. The offset keeps Postgres from reading
    -- all postings there are.
    select listed.*, term.word, term.place, term.typos, term.exact, term.phrase
    from unnest(terms) as term
    cross join lateral (
      select search_postings.profile_id, search_postings.word_positions
      from private.search_postings
      where search_postings.word = term.word
      offset 0
    ) as listed
    join unnest(ids) as candidate (id) on candidate.id = listed.profile_id
    where term.entries <= cardinality(ids) and term.phrase_ids is null
    union all
    select listed.*, term.word, term.place, term.typos, term.exact, term.phrase
    from unnest(terms) as term
    cross join lateral (
      select search_postings.profile_id, search_postings.word_positions
      from private.search_postings
      where search_postings.word = term.word and search_postings.profile_id = any (ids)
      offset 0
    ) as listed
    where term.entries > cardinality(ids) and term.phrase_ids is null
    union all
    select listed.*, term.word, term.place, term.typos, term.exact, term.phrase
    from unnest(terms) as term
    cross join lateral (
      select search_postings.profile_id, search_postings.word_positions
      from private.search_postings
      where search_postings.word = term.word and search_postings.profile_id = any (term.phrase_ids)
      offset 0
    ) as listed
    join unnest(ids) as candidate (id) on candidate.id = listed.profile_id
    where term.phrase_ids is not null
  ) as posting
  -- find_profiles has looked already, and asks without phrases.
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
        -- The first word_position is in the best attribute, and where the word is there twice, another may be in a better place.
        min(rank_cost + cost) as at_worst,
        min(rank_cost + case when cardinality(posting.word_positions) > 1 then 0 else cost end) as at_best,
        bool_or(posting.typos = 0 and posting.word_positions[1] < 1000000) as in_name
      from private.postings_of(terms, ids) as posting
      cross join lateral (
        select
          posting.typos * 1000 + posting.word_positions[1] / 1000000 * 100 as rank_cost,
          private.position_cost(abs(posting.word_positions[1] % 10000 - (posting.place - 1))) as cost
      ) as first
      group by posting.profile_id, posting.place
    ),
    tallies as (
      select
        matched.profile_id,
        count(*)::integer as kept,
        sum(matched.at_worst / 1000)::integer as typos,
        greatest(sum(allowed[matched.place]), case when count(*) > 1 then count(*) else 0 end)::integer + 1 as typo_max,
        sum(matched.at_worst % 1000 / 100)::integer as attributes,
        sum(matched.at_worst % 100)::integer as worst_cost,
        sum(matched.at_best % 100)::integer as nearest,
        count(*) filter (where matched.in_name) = asked as named
      from matched
      group by matched.profile_id
    )
    select
      tallies.profile_id,
      private.keyword_score(
        asked, kept, typos, typo_max, 3 * (kept - 1), attributes, 5 * kept + 1, worst_cost, 2 + kept / (kept + 1)::double precision
      ),
      private.keyword_score(asked, kept, typos, typo_max, 0, attributes, 5 * kept + 1, nearest, 0),
      tallies.named
    from tallies;
end
$$;
comment on function private.keyword_bounds(bigint[], private.search_term[], integer, integer[]) is
  'Between what the keyword scores of entries lie, by which words they hold in which attributes, at a third of what the scores themselves
take. Arguments and `named` as in keyword_scores, with its weights.';

create function private.keyword_scores(
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
  perform private.check_deadline();
  return query
    with held as materialized (
      select
        posting.*,
        -- The best attribute, then the best place within it. Most words are said once, and to look into an array takes a row's time.
        case
          when cardinality(posting.word_positions) = 1 then
            weights[posting.word_positions[1] / 1000000 + 1] * 100 + private.position_cost(abs(posting.word_positions[1] % 10000 - (posting.place - 1)))
          else (
            select min(weights[word_position / 1000000 + 1] * 100 + private.position_cost(abs(word_position % 10000 - (posting.place - 1))))
            from unnest(posting.word_positions) as word_position
          )
        end as rank_cost
      from private.postings_of(terms, ids) as posting
    ),
    matched as materialized (
      select
        held.profile_id,
        held.place,
        -- The fewest errors first.
        min(held.typos * 1000000 + held.rank_cost) as rank_cost,
        bool_or(held.exact) as exact,
        bool_or(held.typos = 0 and held.word_positions[1] < 1000000) as in_name
      from held
      group by held.profile_id, held.place
    ),
    tallies as materialized (
      select
        matched.profile_id,
        count(*)::integer as kept,
        sum(matched.rank_cost / 1000000)::integer as typos,
        greatest(sum(allowed[matched.place]), case when count(*) > 1 then count(*) else 0 end)::integer + 1 as typo_max,
        sum(matched.rank_cost % 1000000 / 100)::integer as attributes,
        sum(matched.rank_cost % 100)::integer as positions,
        count(*) filter (where matched.exact)::integer as exacts,
        count(*) filter (where matched.in_name) = asked as named,
        bit_or(1::bigint << matched.place) as places
      from matched
      group by matched.profile_id
    ),
    best as (
      select held.profile_id, held.word, bit_or(1::bigint << held.place) as here, min(held.word_positions) as word_positions
      from held
      join matched on matched.profile_id = held.profile_id and matched.place = held.place
      where held.typos = matched.rank_cost / 1000000
      group by held.profile_id, held.word
    ),
    rank_cost as materialized (
      select best.profile_id, best.word, word_position, best.here
      from best
      cross join lateral unnest(best.word_positions) as word_position
    ),
    -- Who is next to whom, in one sweep along the texts, the places of the query that stand at a word_position being bits beside it. Pairs of word_positions,
    -- joined, are as many as the square of how often the words are said: of a word ten times, 1,000 candidates had 180,000, and took 45 ms.
    swept as (
      select
        rank_cost.profile_id,
        rank_cost.word_position,
        rank_cost.here,
        lead(rank_cost.word_position::bigint << 32 | rank_cost.here, 1) over along as next_1,
        lead(rank_cost.word_position::bigint << 32 | rank_cost.here, 2) over along as next_2,
        lead(rank_cost.word_position::bigint << 32 | rank_cost.here, 3) over along as next_3
      from rank_cost
      where asked > 1
      window along as (partition by rank_cost.profile_id order by rank_cost.word_position)
    ),
    near as (
      select
        swept.profile_id, here,
        (next_1 >> 32) - word_position as ahead_1, next_1 & 4294967295 as there_1,
        (next_2 >> 32) - word_position as ahead_2, next_2 & 4294967295 as there_2,
        (next_3 >> 32) - word_position as ahead_3, next_3 & 4294967295 as there_3
      from swept
      where next_1 >> 32 <= word_position + 3 or here & (here >> 1) <> 0
    ),
    neighbours as (
      -- A place's bit says that between it and the place after it no word stands somewhere, or one, or two; the wrong way round is one more.
      select
        near.profile_id,
        bit_or((here & (here >> 1)) | case when ahead_1 = 1 then here & (there_1 >> 1) else 0 end) as no_word,
        bit_or(
          case ahead_1 when 1 then there_1 & (here >> 1) when 2 then here & (there_1 >> 1) else 0 end
            | case when ahead_2 = 2 then here & (there_2 >> 1) else 0 end
        ) as one_word,
        bit_or(
          case ahead_1 when 2 then there_1 & (here >> 1) when 3 then here & (there_1 >> 1) else 0 end
            | case ahead_2 when 2 then there_2 & (here >> 1) when 3 then here & (there_2 >> 1) else 0 end
            | case when ahead_3 = 3 then here & (there_3 >> 1) else 0 end
        ) as two_words
      from near
      group by near.profile_id
    ),
    closeness as (
      select
        neighbours.profile_id,
        3 * bit_count(no_word::bit(64))
          + 2 * bit_count((one_word & ~no_word)::bit(64))
          + bit_count((two_words & ~one_word & ~no_word)::bit(64)) as saved
      from neighbours
    ),
    openings as (
      -- Texts that begin with the words found, in their order: each stands where there are as many found places before its own.
      select held.profile_id, rank_cost.word_position / 10000 as text, tallies.kept
      from rank_cost
      join held on held.profile_id = rank_cost.profile_id and held.word = rank_cost.word
      join tallies on tallies.profile_id = rank_cost.profile_id
      where rank_cost.word_position % 10000 < asked
        and held.exact
        and rank_cost.word_position % 10000 = bit_count((tallies.places & ((1::bigint << held.place) - 1))::bit(64))
      group by held.profile_id, rank_cost.word_position / 10000, tallies.kept
      having count(*) = tallies.kept
    ),
    opened as (
      select
        openings.profile_id,
        max(case when ends.word_positions @> array[openings.text * 10000 + openings.kept] then 3 else 2 end) as exactness
      from openings
      cross join lateral (
        select listed.word_positions
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
        3 * (kept - 1) - coalesce(closeness.saved, 0)::integer as apart,
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
