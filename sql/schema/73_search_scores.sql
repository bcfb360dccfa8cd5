-- The score of an entry: how well it matches the words of a query, by Meilisearch's ranking rules, and with its
-- similarity in meaning. Functions without a search_path are inlined.

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
  'The cost, 0 to 10, of the distance between a word''s places in the text and in the query. The buckets are
Meilisearch''s.';

create function private.match_cost(typos integer, attribute_weight integer, position_cost integer)
returns integer
language sql immutable parallel safe
as $$
  select typos * 1000000 + attribute_weight * 100 + position_cost
$$;
comment on function private.match_cost(integer, integer, integer) is
  'Packs the costs of a match so that min() finds the best one: the fewest typos first, then the best attribute, then
the best position. Before Postgres 18, min() does not take composite types.';

create function private.match_typos(cost integer)
returns integer
language sql immutable parallel safe
as $$
  select cost / 1000000
$$;
comment on function private.match_typos(integer) is 'The typos of a match_cost.';

create function private.match_attribute(cost integer)
returns integer
language sql immutable parallel safe
as $$
  select cost % 1000000 / 100
$$;
comment on function private.match_attribute(integer) is 'The attribute weight of a match_cost.';

create function private.match_position(cost integer)
returns integer
language sql immutable parallel safe
as $$
  select cost % 100
$$;
comment on function private.match_position(integer) is 'The position cost of a match_cost.';

create function private.postings_of(terms private.search_term[], ids bigint[])
returns table (profile_id bigint, word text, place integer, typos integer, exact boolean, word_positions integer[])
language sql stable security invoker
as $$
  select posting.profile_id, posting.word, posting.place, posting.typos, posting.exact, posting.word_positions
  from (
    -- Rare words: read all their postings. `offset 0` keeps Postgres from reading the whole table.
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
    -- Common words: look up the candidates.
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
    -- Words of a phrase: look up the profiles that contain the phrase.
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
  -- find_profiles has resolved the phrases, so its terms have none.
  where posting.phrase is null
    or exists (
      select
      from private.search_entries as entry
      where entry.profile_id = posting.profile_id and entry.words @@ posting.phrase
    )
$$;
comment on function private.postings_of(private.search_term[], bigint[]) is
  'Which of the profiles contain which of the terms, and where.';

create type private.keyword_ranks as (
  words_asked integer,
  words_matched integer,
  typos integer,
  typo_max integer,
  proximity_cost integer,
  attribute_cost integer,
  attribute_max integer,
  position_cost integer,
  exactness integer,
  exact_words integer
);
comment on type private.keyword_ranks is
  'What Meilisearch''s rules count for one entry, for the words that it matches. A cost is how far the rank is below the
best; a max is the number of ranks of a rule. exactness: 3 if the words are a whole text, 2 if a text begins with them,
else 1.';

create function private.keyword_score(ranks private.keyword_ranks)
returns double precision
language sql immutable parallel safe
as $$
  -- Horner's method: the part of each rule is divided by the maxima of all rules before it.
  select 1 - (
    ranks.words_asked - ranks.words_matched + (
      ranks.typos + (
        ranks.proximity_cost + (
          ranks.attribute_cost + (
            ranks.position_cost + (
              3 - ranks.exactness + case
                when ranks.exactness = 1
                  then (ranks.words_matched - ranks.exact_words) / (ranks.words_matched + 1)::double precision
                else 0
              end
            ) / 3
          ) / (10 * ranks.words_matched + 1)
        ) / ranks.attribute_max
      ) / (3 * (ranks.words_matched - 1) + 1)
    ) / ranks.typo_max
  ) / ranks.words_asked
$$;
comment on function private.keyword_score(private.keyword_ranks) is
  'Meilisearch''s keyword score, 0 to 1: 1 - sum over its rules i of (max_i - rank_i) / product of max_j for j <= i, the
closed form of its nested ranks.';

create function private.keyword_bounds(
  ids bigint[],
  terms private.search_term[],
  words_asked integer,
  typo_budgets integer[]
)
returns table (profile_id bigint, at_least double precision, at_most double precision, in_name boolean)
language plpgsql stable security invoker
set search_path = ''
-- As in keyword_scores.
set plan_cache_mode = 'force_generic_plan'
set enable_nestloop = off
as $$
begin
  return query
    with matches as (
      select
        posting.profile_id,
        posting.place,
        -- The first position is in the best attribute. If the word occurs again, another position may be better.
        min(private.match_cost(
          typos => posting.typos, attribute_weight => attribute, position_cost => cost
        )) as max_cost,
        min(private.match_cost(
          typos => posting.typos,
          attribute_weight => attribute,
          position_cost => case when cardinality(posting.word_positions) > 1 then 0 else cost end
        )) as min_cost,
        bool_or(posting.typos = 0 and attribute = 0) as in_name
      from private.postings_of(terms, ids) as posting
      cross join lateral (
        select
          private.attribute_of(posting.word_positions[1]) as attribute,
          private.position_cost(abs(private.place_of(posting.word_positions[1]) - (posting.place - 1))) as cost
      ) as first_position
      group by posting.profile_id, posting.place
    ),
    tallies as (
      select
        matches.profile_id,
        count(*)::integer as words_matched,
        sum(private.match_typos(matches.max_cost))::integer as typos,
        greatest(sum(typo_budgets[matches.place]), case when count(*) > 1 then count(*) else 0 end)::integer + 1
          as typo_max,
        sum(private.match_attribute(matches.max_cost))::integer as attribute_cost,
        sum(private.match_position(matches.max_cost))::integer as max_position_cost,
        sum(private.match_position(matches.min_cost))::integer as min_position_cost,
        count(*) filter (where matches.in_name) = words_asked as in_name
      from matches
      group by matches.profile_id
    )
    select
      tallies.profile_id,
      private.keyword_score(row(
        words_asked, words_matched, typos, typo_max, 3 * (words_matched - 1),
        attribute_cost, 5 * words_matched + 1, max_position_cost, 1, 0
      )::private.keyword_ranks),
      private.keyword_score(row(
        words_asked, words_matched, typos, typo_max, 0,
        attribute_cost, 5 * words_matched + 1, min_position_cost, 3, words_matched
      )::private.keyword_ranks),
      tallies.in_name
    from tallies;
end
$$;
comment on function private.keyword_bounds(bigint[], private.search_term[], integer, integer[]) is
  'Lower and upper bounds of keyword scores, from the attributes that contain the words. Takes a third of the time of
the scores themselves. Parameters and in_name as in keyword_scores, with its default weights.';

create function private.keyword_scores(
  ids bigint[],
  terms private.search_term[],
  words_asked integer,
  typo_budgets integer[],
  attribute_weights integer[] default '{0, 1, 2, 3, 4, 5}'
)
returns table (profile_id bigint, score double precision, in_name boolean, ranks private.keyword_ranks)
language plpgsql stable security invoker
set search_path = ''
-- Planning these statements takes longer than running them. And Postgres underestimates how many rows the expressions
-- return, and would use nested loops, which took minutes for 1,000 candidates.
set plan_cache_mode = 'force_generic_plan'
set enable_nestloop = off
as $$
declare
  max_weight constant integer := (select max(weight) from unnest(attribute_weights) as weight);
begin
  perform private.check_deadline();
  return query
    with matches as materialized (
      select
        posting.*,
        -- Most words occur once, and unnesting an array takes as long as reading a row.
        case
          when cardinality(posting.word_positions) = 1 then private.match_cost(
            typos => posting.typos,
            attribute_weight => attribute_weights[private.attribute_of(posting.word_positions[1]) + 1],
            position_cost =>
              private.position_cost(abs(private.place_of(posting.word_positions[1]) - (posting.place - 1)))
          )
          else (
            select min(private.match_cost(
              typos => posting.typos,
              attribute_weight => attribute_weights[private.attribute_of(word_position) + 1],
              position_cost => private.position_cost(abs(private.place_of(word_position) - (posting.place - 1)))
            ))
            from unnest(posting.word_positions) as word_position
          )
        end as cost
      from private.postings_of(terms, ids) as posting
    ),
    best_matches as materialized (
      select
        matches.profile_id,
        matches.place,
        min(matches.cost) as cost,
        bool_or(matches.exact) as exact,
        bool_or(matches.typos = 0 and private.attribute_of(matches.word_positions[1]) = 0) as in_name
      from matches
      group by matches.profile_id, matches.place
    ),
    tallies as materialized (
      select
        best_matches.profile_id,
        count(*)::integer as words_matched,
        sum(private.match_typos(best_matches.cost))::integer as typos,
        greatest(sum(typo_budgets[best_matches.place]), case when count(*) > 1 then count(*) else 0 end)::integer + 1
          as typo_max,
        sum(private.match_attribute(best_matches.cost))::integer as attribute_cost,
        sum(private.match_position(best_matches.cost))::integer as position_cost,
        count(*) filter (where best_matches.exact)::integer as exact_words,
        count(*) filter (where best_matches.in_name) = words_asked as in_name,
        bit_or(1::bigint << best_matches.place) as places
      from best_matches
      group by best_matches.profile_id
    ),
    best_words as (
      select
        matches.profile_id,
        matches.word,
        bit_or(1::bigint << matches.place) as places,
        min(matches.word_positions) as word_positions
      from matches
      join best_matches on best_matches.profile_id = matches.profile_id and best_matches.place = matches.place
      where matches.typos = private.match_typos(best_matches.cost)
      group by matches.profile_id, matches.word
    ),
    occurrences as materialized (
      select best_words.profile_id, best_words.word, word_position, best_words.places
      from best_words
      cross join lateral unnest(best_words.word_positions) as word_position
    ),
    -- Finds adjacent words in one pass over the positions of each profile. `places` is a bit mask of the query words
    -- that stand at a position. Joining pairs of positions instead grows with the square of the occurrences: for a word
    -- that occurs ten times, 1,000 candidates had 180,000 pairs, and took 45 ms.
    nearby as (
      select
        occurrences.profile_id,
        occurrences.word_position,
        occurrences.places,
        lead(occurrences.word_position, 1) over following - occurrences.word_position as distance_1,
        lead(occurrences.word_position, 2) over following - occurrences.word_position as distance_2,
        lead(occurrences.word_position, 3) over following - occurrences.word_position as distance_3,
        lead(occurrences.places, 1) over following as places_1,
        lead(occurrences.places, 2) over following as places_2,
        lead(occurrences.places, 3) over following as places_3
      from occurrences
      where words_asked > 1
      window following as (partition by occurrences.profile_id order by occurrences.word_position)
    ),
    neighbours as (
      -- Bit n is set if no word, one word or two words stand between query words n and n + 1 anywhere. In reverse order
      -- the distance counts one more.
      select
        nearby.profile_id,
        bit_or(
          (places & (places >> 1)) | case when distance_1 = 1 then places & (places_1 >> 1) else 0 end
        ) as none_between,
        bit_or(
          case distance_1 when 1 then places_1 & (places >> 1) when 2 then places & (places_1 >> 1) else 0 end
            | case when distance_2 = 2 then places & (places_2 >> 1) else 0 end
        ) as one_between,
        bit_or(
          case distance_1 when 2 then places_1 & (places >> 1) when 3 then places & (places_1 >> 1) else 0 end
            | case distance_2 when 2 then places_2 & (places >> 1) when 3 then places & (places_2 >> 1) else 0 end
            | case when distance_3 = 3 then places & (places_3 >> 1) else 0 end
        ) as two_between
      from nearby
      where distance_1 <= 3 or places & (places >> 1) <> 0
      group by nearby.profile_id
    ),
    -- Materialized, because Postgres inlines keyword_score only if its arguments are simple.
    proximities as materialized (
      select
        neighbours.profile_id,
        (
          3 * bit_count(none_between::bit(64))
          + 2 * bit_count((one_between & ~none_between)::bit(64))
          + bit_count((two_between & ~one_between & ~none_between)::bit(64))
        )::integer as proximity
      from neighbours
    ),
    openings as (
      -- Texts that begin with the matched words in the order of the query: each at the place that equals the number of
      -- matched words before it.
      select
        matches.profile_id,
        occurrences.word_position - private.place_of(occurrences.word_position) as text_start,
        tallies.words_matched
      from occurrences
      join matches on matches.profile_id = occurrences.profile_id and matches.word = occurrences.word
      join tallies on tallies.profile_id = occurrences.profile_id
      where private.place_of(occurrences.word_position) < words_asked
        and matches.exact
        and private.place_of(occurrences.word_position)
          = bit_count((tallies.places & ((1::bigint << matches.place) - 1))::bit(64))
      group by matches.profile_id, text_start, tallies.words_matched
      having count(*) = tallies.words_matched
    ),
    exactness as (
      select
        openings.profile_id,
        max(
          case when text_ends.word_positions @> array[openings.text_start + openings.words_matched] then 3 else 2 end
        ) as exactness
      from openings
      cross join lateral (
        select posting.word_positions
        from private.search_postings as posting
        where posting.word = '' and posting.profile_id = openings.profile_id
        offset 0
      ) as text_ends
      group by openings.profile_id
    )
    select tallies.profile_id, private.keyword_score(ranked.ranks), tallies.in_name, ranked.ranks
    from tallies
    left join exactness on exactness.profile_id = tallies.profile_id
    left join proximities on proximities.profile_id = tallies.profile_id
    cross join lateral (
      select row(
        words_asked, words_matched, typos, typo_max, 3 * (words_matched - 1) - coalesce(proximity, 0),
        attribute_cost, max_weight * words_matched + 1, position_cost, coalesce(exactness.exactness, 1), exact_words
      )::private.keyword_ranks as ranks
    ) as ranked;
end
$$;
comment on function private.keyword_scores(bigint[], private.search_term[], integer, integer[], integer[]) is
  'The keyword scores of the profiles that contain some of the terms. words_asked is how many words the query has,
typo_budgets how many errors each of them tolerates, attribute_weights the weights of name, interests, city, country,
biography, and first and last name. in_name tells whether the name contains all the words as typed.';

create function private.keyword_details(ranks private.keyword_ranks)
returns json
language sql immutable parallel safe set search_path = ''
as $$
  select json_build_object(
    'words', json_build_array(ranks.words_matched, ranks.words_asked),
    'typo', json_build_array(ranks.typo_max - ranks.typos, ranks.typo_max),
    'proximity', json_build_array(proximity_max - ranks.proximity_cost, proximity_max),
    'attribute', json_build_array(ranks.attribute_max - ranks.attribute_cost, ranks.attribute_max),
    'position', json_build_array(position_max - ranks.position_cost, position_max),
    'exactness', json_build_array(ranks.exactness, 3),
    'exactWords', case
      when ranks.exactness = 1 then json_build_array(ranks.exact_words + 1, ranks.words_matched + 1)
    end
  )
  from (
    select 3 * (ranks.words_matched - 1) + 1 as proximity_max, 10 * ranks.words_matched + 1 as position_max
  ) as maxima
  where ranks is not null
$$;
comment on function private.keyword_details(private.keyword_ranks) is
  '[rank, max] of each of the rules that make a keyword score.';

create function private.hybrid_score(
  semantic_ratio double precision,
  keyword double precision,
  semantic double precision,
  in_name boolean
)
returns double precision
language sql immutable parallel safe
as $$
  select greatest((1 - semantic_ratio) * keyword + semantic_ratio * semantic, case when in_name then keyword end)
$$;
comment on function private.hybrid_score(double precision, double precision, double precision, boolean) is
  'The weighted sum of both scores, and at least the keyword score where the name contains all the words.';
