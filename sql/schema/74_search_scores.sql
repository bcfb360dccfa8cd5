-- The score of an entry: how well it matches the words of a query, by Meilisearch's ranking rules, and its similarity
-- in meaning. Functions without a search_path are inlined.

create function private.position_cost(distance integer)
returns integer
language sql immutable parallel safe
as $$
  select width_bucket(distance, array[1, 2, 5, 8, 12, 17, 25, 65, 257, 1025])
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

create function private.keyword_scores(
  ids bigint[],
  asked private.search_query,
  words_asked integer,
  attribute_weights integer[] default '{0, 1, 2, 3, 4, 5}'
)
returns table (profile_id bigint, score double precision, ranks private.keyword_ranks)
language plpgsql stable security invoker
set search_path = ''
-- Planning this statement takes longer than running it. And Postgres underestimates how many rows the expressions
-- return, and would use nested loops, which took minutes for 1,000 candidates.
set plan_cache_mode = 'force_generic_plan'
set enable_nestloop = off
as $$
declare
  max_weight constant integer := (select max(weight) from unnest(attribute_weights) as weight);
  typo_budgets constant integer[] := array(
    select private.typo_budget(word) from unnest(asked.words) where not excluded and place is not null order by place
  );
  prefix constant private.search_term := (select term from unnest(asked.terms) as term where term.is_prefix);
  phrases constant private.search_unit[] := array(
    select asked_unit from unnest(asked.units) as asked_unit where is_phrase
  );
  completions constant text[] := array(
    select lexicon.word
    from private.search_lexicon as lexicon
    -- The greatest character after the prefix is above all words that begin with it.
    where lexicon.word >= (prefix).word and lexicon.word < (prefix).word || u&'\+10FFFF'
    limit 101
  );
  -- The words whose positions count, and the full stops between texts. Null if they are too many.
  lexemes constant text[] := case when cardinality(completions) <= 100 then
    array(select word from unnest(asked.terms) union select unnest(completions) union select '.')
  end;
begin
  perform private.check_deadline();
  return query
    with entries as materialized (
      select
        stored.profile_id,
        stored.words,
        -- Marks the words that count with a weight, and drops all others. To read them all takes five times as long.
        coalesce(ts_filter(setweight(setweight(stored.words, 'D'), 'A', lexemes), '{a}'), stored.words) as relevant
      from private.search_words as stored
      where stored.profile_id = any (ids)
    ),
    -- The tenth occurrence of a word says nothing that the first nine did not.
    occurrences as materialized (
      select entries.profile_id, lexeme, positions[:case lexeme when '.' then 256 else 9 end] as word_positions
      from entries
      cross join lateral unnest(entries.relevant)
      where lexeme in (select word from unnest(asked.terms) union all select '.')
        or starts_with(lexeme, (prefix).word)
    ),
    terms as materialized (
      select term.place, term.unit, term.word, term.typos, not term.is_prefix and term.typos = 0 as exact
      from unnest(asked.terms) as term
      where not term.is_prefix
      union all
      select (prefix).place, (prefix).unit, lexeme, 0, false
      from (select distinct lexeme from occurrences where starts_with(lexeme, (prefix).word)) as completions
    ),
    without_phrase as (
      select entries.profile_id, phrase.unit
      from entries
      cross join unnest(phrases) as phrase
      where not entries.words @@ phrase.queries[1]
    ),
    matching_words as (
      select
        occurrences.profile_id, terms.place, terms.typos, terms.exact, occurrences.word_positions,
        terms.typos = min(terms.typos) over (partition by occurrences.profile_id, terms.place) as is_closest
      from occurrences
      join terms on terms.word = occurrences.lexeme
      left join without_phrase
        on without_phrase.profile_id = occurrences.profile_id and without_phrase.unit = terms.unit
      where without_phrase.unit is null
    ),
    matches as materialized (
      select
        matching_words.profile_id,
        matching_words.place,
        matching_words.exact,
        matching_words.is_closest,
        word_position,
        word_position - private.text_start_at(word_position) as position_in_text,
        private.match_cost(
          typos => matching_words.typos,
          attribute_weight => attribute_weights[private.attribute_at(word_position) + 1],
          position_cost => private.position_cost(
            abs(word_position - private.text_start_at(word_position) - matching_words.place)
          )
        ) as cost
      from matching_words
      cross join lateral unnest(matching_words.word_positions) as in_place (word_position)
    ),
    best_matches as materialized (
      select matches.profile_id, matches.place, min(matches.cost) as cost, bool_or(matches.exact) as exact
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
        bit_or(1::bigint << best_matches.place) as places
      from best_matches
      group by best_matches.profile_id
    ),
    -- Finds adjacent words in one pass over the positions of each profile. `places` is a bit mask of the query words
    -- that stand at a position. Joining pairs of positions instead grows with the square of the occurrences: for a word
    -- that occurs ten times, 1,000 candidates had 180,000 pairs, and took 45 ms.
    nearby as (
      select
        occupied.*,
        lead(word_position, 1) over following - word_position as distance_1,
        lead(word_position, 2) over following - word_position as distance_2,
        lead(word_position, 3) over following - word_position as distance_3,
        lead(occupied.places, 1) over following as places_1,
        lead(occupied.places, 2) over following as places_2,
        lead(occupied.places, 3) over following as places_3
      from (
        select matches.profile_id, matches.word_position, bit_or(1::bigint << matches.place) as places
        from matches
        where words_asked > 1 and matches.is_closest
        group by matches.profile_id, matches.word_position
      ) as occupied
      window following as (partition by occupied.profile_id order by occupied.word_position)
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
      select matches.profile_id, word_position - position_in_text as text_start, tallies.words_matched
      from matches
      join tallies on tallies.profile_id = matches.profile_id
      where matches.exact
        -- No text begins with more words than a query has. Said first, because it needs no join.
        and position_in_text <= words_asked
        and position_in_text - 1 = bit_count((tallies.places & ((1::bigint << matches.place) - 1))::bit(64))
      group by matches.profile_id, text_start, tallies.words_matched
      having count(distinct matches.place) = tallies.words_matched
    ),
    exactness as (
      select
        openings.profile_id,
        max(case
          when occurrences.word_positions @> array[(openings.text_start + openings.words_matched + 1)::smallint] then 3
          else 2
        end) as exactness
      from openings
      join occurrences on occurrences.profile_id = openings.profile_id and occurrences.lexeme = '.'
      group by openings.profile_id
    )
    select tallies.profile_id, private.keyword_score(ranked.ranks), ranked.ranks
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
comment on function private.keyword_scores(bigint[], private.search_query, integer, integer[]) is
  'The keyword scores of the profiles that contain some of the terms. words_asked is how many words the query has;
attribute_weights are the weights of name, interests, city, country, biography, and first and last name.';

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

create function private.semantic_score(
  cosine double precision,
  model private.search_models,
  names_missing double precision
)
returns double precision
language sql immutable parallel safe
as $$
  -- 0 without a cosine, since greatest() ignores nulls.
  select least(
    1, greatest(0, (cosine - model.similarity_floor) / (model.similarity_ceiling - model.similarity_floor))
  ) * (1 - names_missing)
$$;
comment on function private.semantic_score(double precision, private.search_models, double precision) is
  'The similarity of a profile to a query, 0 at the floor of the model to 1 at its ceiling. No embedding has names, so
the share of the query that its missing names have is taken off.';

create function private.final_score(
  semantic_ratio double precision,
  keyword double precision,
  semantic double precision,
  in_name boolean,
  context double precision
)
returns double precision
language sql immutable parallel safe
as $$
  select 1 - (1 - context) * (
    1 - greatest(keyword + semantic_ratio * (semantic - keyword), case when in_name then keyword end)
  )
$$;
comment on function private.final_score(
  double precision, double precision, double precision, boolean, double precision
) is
  'The weighted sum of both scores, and at least the keyword score where the name contains all the words. `context`, 0
to 0.1, is the share of the rest that nearness to the caller''s own interests adds.';
