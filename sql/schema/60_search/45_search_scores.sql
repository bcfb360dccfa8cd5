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
returns table (
  profile_id bigint, score double precision, ranks private.keyword_ranks, coverage double precision,
  names_found double precision, in_name boolean
)
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
  -- By place: the share of the query's rarity that the word has, and if it is a name.
  shares constant double precision[] := array(
    select rarity / cardinality(places) / (select sum(rarity) from unnest(asked.units))
    from unnest(asked.units)
    cross join unnest(places) as place
    order by place
  );
  named_shares constant double precision[] := array(
    select case when is_named then shares[place] else 0 end
    from unnest(asked.units)
    cross join unnest(places) as place
    order by place
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
  -- The words that count, those of phrases, and the full stops between texts. Null if they are too many.
  lexemes constant text[] := case when cardinality(completions) <= 100 then array(
    select word from unnest(asked.terms) union select word from unnest(asked.words)
    union select unnest(completions) union select '.'
  ) end;
  any_word constant tsquery := (select private.any_of(query) from unnest(asked.units));
  full_stop constant tsquery := private.lexeme('.')::tsquery;
  -- Find the texts that begin with a word of the query.
  openings constant tsquery[] := array(
    select full_stop <-> private.lexeme(word)::tsquery
    from unnest(asked.terms)
    where not is_prefix and typos = 0
    order by place
  );
begin
  perform private.check_deadline();
  return query
    with entries as materialized (
      select
        stored.profile_id,
        -- Marks the words that count with a weight, and drops all others. To read them all takes five times as long.
        coalesce(ts_filter(setweight(setweight(stored.words, 'D'), 'A', lexemes), '{a}'), stored.words) as words
      from private.search_words as stored
      where stored.profile_id = any (ids) and ts_match_vq(stored.words, any_word)
    ),
    occurrences as materialized (
      select entries.profile_id, lexeme, positions
      from entries
      cross join lateral unnest(entries.words)
      where lexeme in (select word from unnest(asked.terms)) or starts_with(lexeme, (prefix).word)
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
      where not ts_match_vq(entries.words, phrase.query)
    ),
    best_matches as materialized (
      select occurrences.profile_id, terms.place, min(best.cost) as cost, bool_or(terms.exact) as exact
      from occurrences
      join terms on terms.word = occurrences.lexeme
      left join without_phrase
        on without_phrase.profile_id = occurrences.profile_id and without_phrase.unit = terms.unit
      cross join lateral (
        -- min() finds the fewest typos, then the best attribute, then the best position. Before Postgres 18 it does not
        -- take composite types.
        select min(
          terms.typos * 1000000
          + attribute_weights[private.attribute_at(word_position) + 1] * 100
          + private.position_cost(abs(word_position - private.text_start_at(word_position) - terms.place))
        ) as cost
        -- The tenth occurrence of a word says nothing that the first nine did not.
        from unnest(occurrences.positions[:9]) as in_place (word_position)
      ) as best
      where without_phrase.unit is null
      group by occurrences.profile_id, terms.place
    ),
    tallies as materialized (
      select
        best_matches.profile_id,
        count(*)::integer as words_matched,
        sum(best_matches.cost / 1000000)::integer as typos,
        greatest(sum(typo_budgets[best_matches.place]), case when count(*) > 1 then count(*) else 0 end)::integer + 1
          as typo_max,
        sum(best_matches.cost % 1000000 / 100)::integer as attribute_cost,
        sum(best_matches.cost % 100)::integer as position_cost,
        count(*) filter (where best_matches.exact)::integer as exact_words,
        least(1, sum(shares[best_matches.place])) as coverage,
        sum(named_shares[best_matches.place]) as names_found,
        bool_and(best_matches.cost < 100) and count(*) = words_asked as in_name,
        min(best_matches.place) as first_place,
        bit_or(1::bigint << best_matches.place) as places,
        bit_or(private.closest_bit(best_matches.place, best_matches.cost / 1000000)) as closest
      from best_matches
      group by best_matches.profile_id
    ),
    pairs as materialized (
      select * from private.word_pairs(asked) where words_asked > 1
    )
    select
      tallies.profile_id, private.keyword_score(ranked.ranks), ranked.ranks, tallies.coverage, tallies.names_found,
      tallies.in_name
    from tallies
    join entries on entries.profile_id = tallies.profile_id
    cross join lateral (
      select coalesce(sum(private.nearness(entries.words, pair)), 0)::integer as proximity
      from pairs as pair
      where tallies.closest & bits = bits
    ) as near
    cross join lateral (
      -- Whether a text begins with all the words that the profile has, or is equal to them.
      select case when exact_words = words_matched and ts_match_vq(entries.words, openings[first_place]) then (
        select case
          when ts_match_vq(entries.words, opening <-> full_stop) then 3
          when ts_match_vq(entries.words, opening) then 2
        end
        from (
          select (private.lexeme('.') || string_agg(' <-> ' || private.lexeme(word), '' order by place))::tsquery
            as opening
          from terms
          where terms.exact and tallies.places >> terms.place & 1 = 1
        ) as matched
      ) end as exactness
    ) as whole
    cross join lateral (
      select row(
        words_asked, words_matched, typos, typo_max, 3 * (words_matched - 1) - proximity, attribute_cost,
        max_weight * words_matched + 1, position_cost, coalesce(exactness, 1), exact_words
      )::private.keyword_ranks as ranks
      -- Postgres inlines keyword_score only if its argument is simple.
      offset 0
    ) as ranked;
end
$$;
comment on function private.keyword_scores(bigint[], private.search_query, integer, integer[]) is
  'The keyword scores of the profiles that contain some of the terms. words_asked is how many words the query has;
attribute_weights are the weights of name, interests, city, country, biography, and first and last name. `coverage` is
the share of the query''s rarity that a profile has, `names_found` that of its names and places; `in_name`: all the
words are in the name, as typed.';

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

create function private.semantic_weight(semantic_ratio double precision, trust double precision)
returns double precision
language sql immutable parallel safe
as $$
  select semantic_ratio * trust / (1 - semantic_ratio + semantic_ratio * trust)
$$;
comment on function private.semantic_weight(double precision, double precision) is
  'The weight of meaning beside words, 0 to 1: (1 - r) k + r c s, divided by (1 - r) + r c, is (1 - w) k + w s.';

create function private.final_score(
  semantic_weight double precision,
  keyword double precision,
  semantic double precision,
  in_name boolean,
  has_all_words boolean
)
returns double precision
language sql immutable parallel safe
as $$
  select 1 - case when has_all_words then 0.85 else 1 end * (
    1 - greatest(keyword + semantic_weight * (semantic - keyword), case when in_name then keyword end)
  )
$$;
comment on function private.final_score(double precision, double precision, double precision, boolean, boolean) is
  'What profiles are ranked by without a context: the weighted sum of both scores, and at least the keyword score where
the name contains all the words. Whoever has all the words gets .15 of what is missing to 1.';

create function private.shown_score(score double precision, semantic_weight double precision)
returns double precision
language sql immutable parallel safe
as $$
  select case
    when score < 0.88 * semantic_weight then score * 0.5 / (0.88 * semantic_weight)
    when score < semantic_weight then 0.5 + (score - 0.88 * semantic_weight) * 0.2 / (0.12 * semantic_weight)
    else 0.7 + coalesce((score - semantic_weight) * 0.3 / nullif(1 - semantic_weight, 0), 0)
  end
$$;
comment on function private.shown_score(double precision, double precision) is
  'A final score as hits show it, in the same order. A meaning alone reaches the weight of meaning, shown as .7. At .5
half of the hits by meaning alone are wanted (bench/search/quality.ts --curve).';

create function private.context_nearness(cosine double precision, model private.search_models)
returns double precision
language sql immutable parallel safe
as $$
  select case
    when cosine > model.similarity_threshold then
      least(1, (cosine - model.similarity_threshold) / (model.similarity_ceiling - model.similarity_threshold)) ^ 2
    else 0
  end
$$;
comment on function private.context_nearness(double precision, private.search_models) is
  'The similarity of a profile to the caller''s own interests, bio and location: 0 at the threshold of the model to 1 at
its ceiling. Squared, because many strangers are somewhat alike.';

-- Rejected: a fifth of what is missing to 1. It moves nobody at the top, where people are about equal (18 of the 32
-- callers of tests/search/tastes saw their own kind first, now 27), and callers with other interests lost .004 nDCG.
create function private.context_bonus(shown double precision, nearness double precision, highest double precision)
returns double precision
language sql immutable parallel safe
as $$
  select nearness * least(0.1 * shown, 0.9 * (highest - shown))
$$;
comment on function private.context_bonus(double precision, double precision, double precision) is
  'What nearness to the caller''s context adds to a shown score: up to a tenth of it, so that it decides among people
whom the query leaves about equal, and never all that is missing to the highest score that it could be.';

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

-- Without `set search_path`, so that Postgres inlines it: twenty calls that are not inlined take a millisecond.
create function private.hit_body(entry private.search_entries, score double precision)
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
comment on function private.hit_body(private.search_entries, double precision) is 'A search hit as JSON.';
