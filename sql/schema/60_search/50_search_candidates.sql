-- The candidates of a search: the profiles that pass its filter and contain words of the query (keyword_candidates) or
-- are similar to it in meaning (nearest_profiles). Between its steps a search looks whether its time is over.

create function private.check_deadline()
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if clock_timestamp() - statement_timestamp() > nullif(current_setting('api.time_limit', true), '')::interval then
    raise query_canceled using message = 'The search took longer than its time limit';
  end if;
end
$$;
-- A statement, or a function that it calls, cannot set its own statement_timeout: the timer has already started
-- (pg_sleep(1) slept its second under 200 ms either way), and PGlite has no timer. Alternatives in Postgres:
--   A connection's own statement_timeout is a startup option, which poolers refuse, and needs separate connections.
--   `begin` and `set local` before each search are two more round trips, or one message with quoted parameters.
--   transaction_timeout does take effect at once, but closes the connection. Anonymous callers have it (act_as).
comment on function private.check_deadline() is
  'Cancels a search that takes longer than api.time_limit, as Postgres cancels a statement. Called between the steps of
a search, each of which is bounded; within a step, the statement_timeout of edge_functions applies.';

create function private.keyword_candidates(
  asked private.search_query,
  filter private.search_filter,
  max_results integer
)
returns table (
  profile_id bigint, coverage double precision, names_found double precision, at_least double precision,
  at_most double precision, in_name boolean
)
language plpgsql stable security invoker
set search_path = ''
-- As in measure_word.
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  units constant private.search_unit[] := asked.units;
  words_asked constant integer := (select max(place) from unnest(asked.terms));
  rarity_asked constant double precision := (select sum(rarity) from unnest(units));
  is_short_list constant boolean := coalesce(cardinality(filter.passing) <= max_results, false);
  all_words constant tsquery := (select private.all_of(query) from unnest(units));
  -- The rarest words, as long as they have few enough holders. The others only add profiles that have all the words: a
  -- word in more than every fourth profile distinguishes none. With 25 profiles or fewer no word is common.
  rare_words constant tsquery := (
    select private.any_of(query)
    from (
      select query, holders, sum(holders) over rarest as holders_so_far, row_number() over rarest as rank
      from unnest(units)
      window rarest as (order by holders, unit)
    ) as ranked
    where rank = 1
      or holders_so_far <= max_results and holders <= greatest(25, private.count_profiles() / 4)
  );
  -- Looked up one by one: the few who pass the filter, which is quicker than the index of words; or else whoever has
  -- exactly this name, who come first, also if more people than max_results have its words.
  listed constant bigint[] := case
    when is_short_list then filter.passing
    when max_results > any (select holders from unnest(units)) then '{}'
    else array(
      select entry.profile_id
      from private.search_entries as entry
      where private.name_hash(entry.name) = private.name_hash((
          select string_agg(word, ' ' order by position) from unnest(asked.words) where not excluded
        ))
        and (filter.passing is null or entry.profile_id = any (filter.passing))
      limit max_results
    )
  end;
begin
  return query
    with parts as materialized (
      select
        is_phrase, rarity, case when is_named then rarity else 0 end as named_rarity,
        queries[1] as query_1, queries[2] as query_2, queries[3] as query_3, cardinality(places) as size, budget, bits
      from unnest(units) as each
      cross join lateral (
        select sum(private.typo_budget(word)) as budget, bit_or(private.closest_bit(place, 0)) as bits
        from unnest(asked.words) as part
        where part.unit = each.unit and place = any (places)
      ) as words_of_unit
    ),
    pairs as materialized (
      select * from private.word_pairs(asked) where words_asked > 1
    )
    select
      found.profile_id,
      least(1, tally.coverage),
      tally.names_found,
      -- At worst the words are at the end of a text, at best they are all of it.
      private.keyword_score(row(
        words_asked, words_matched, typos, typo_max, proximity_cost, max_attribute_cost, 5 * words_matched + 1,
        10 * words_matched, 1, 0
      )::private.keyword_ranks),
      private.keyword_score(row(
        words_asked, words_matched, typos, typo_max, proximity_cost, min_attribute_cost, 5 * words_matched + 1,
        0, 3, words_matched
      )::private.keyword_ranks),
      tally.in_name
    -- Nothing holds the words of the found profiles for later: to copy them took as long as to find them.
    from (
      select stored.profile_id, stored.words
      from private.search_words as stored
      where stored.profile_id = any (listed)
        and ts_match_vq(stored.words, all_words || rare_words)
        and private.matches_filter(stored.profile_id, stored.words, filter)
      union all
      select stored.profile_id, stored.words
      from private.search_words as stored
      where not is_short_list
        and stored.words @@ all_words
        and stored.profile_id <> all (listed)
        and private.matches_filter(stored.profile_id, stored.words, filter)
        -- As a subquery, because Postgres hashes its rows and not those of an array.
        and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
      union all
      select stored.profile_id, stored.words
      from private.search_words as stored
      where not is_short_list
        and cardinality(units) > 1
        and stored.words @@ rare_words
        -- As part of the query, the index would look at every profile that has a word of it: 6 ms instead of .5.
        and not ts_match_vq(stored.words, all_words)
        and private.matches_filter(stored.profile_id, stored.words, filter)
        and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
      limit max_results
    ) as found
    cross join lateral (
      select
        sum(rarity) / rarity_asked as coverage,
        sum(named_rarity) / rarity_asked as names_found,
        sum(size)::integer as words_matched,
        sum(match / 10)::integer as typos,
        sum(budget)::integer as budget,
        -- Weight C stands for three attributes, and a phrase elsewhere for any.
        sum(size * (array[0, 1, 2, 4, 0])[match % 10 + 1])::integer as min_attribute_cost,
        sum(size * (array[0, 1, 5, 4, 5])[match % 10 + 1])::integer as max_attribute_cost,
        bool_and(match = 0) and count(*) = cardinality(units) as in_name,
        bit_or(bits << match / 10) as closest
      from (
        -- How the profile matches each unit: the class of the best weight, and 10 more for each typing error. A phrase
        -- in the name is 0, elsewhere 4.
        select
          parts.*,
          case
            when is_phrase then case when ts_match_vq(words, query_2) then 0 when ts_match_vq(words, query_1) then 4 end
            else coalesce(
              private.weight_class(words, query_1),
              10 + private.weight_class(words, query_2),
              20 + private.weight_class(words, query_3)
            )
          end as match
        from parts
        -- Else Postgres computes the match again for each use of it.
        offset 0
      ) as matches
      where match is not null
    ) as tally
    cross join lateral (
      select
        greatest(budget, case when words_matched > 1 then words_matched else 0 end) + 1 as typo_max,
        3 * (words_matched - 1) - (
          select coalesce(sum(private.nearness(words, pair)), 0)::integer
          from pairs as pair
          where words_matched > 1 and closest & pair.bits = pair.bits
        ) as proximity_cost
      offset 0
    ) as near
    where words_matched > 0;
end
$$;
comment on function private.keyword_candidates(private.search_query, private.search_filter, integer) is
  'Up to max_results profiles that contain words of the query and pass the filter: first those with all the words, then
those with the rarest. at_least and at_most are bounds of the keyword score; coverage is the share of the query''s
rarity that they have, names_found that of its names and places.';

create function private.any_profiles(filter private.search_filter, max_results integer)
returns table (profile_id bigint)
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return query
    select stored.profile_id
    from private.search_words as stored
    where private.matches_filter(stored.profile_id, stored.words, filter)
      and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
    order by stored.profile_id
    limit max_results;
end
$$;
comment on function private.any_profiles(private.search_filter, integer) is
  'The first max_results profiles that pass a filter.';

create function private.nearest_profiles(
  query_vector extensions.halfvec,
  query_model text,
  filter private.search_filter,
  max_results integer,
  max_distance double precision
)
returns table (profile_id bigint, distance double precision)
language plpgsql stable security invoker
set search_path = 'extensions'
-- The vector index is read in batches of ef_search, until a whole batch has nobody nearer than those already found. So
-- the walk is short where vectors cluster, as a model's do, and long where they do not: of 10,000 profiles it reads
-- 160 to 350, and finds .96 of the nearest or more. One batch of 120 took less time and found .79 to .86 of them where
-- vectors do not cluster; one of 300 finds as many there, but takes as long everywhere (docs/scale.md).
set hnsw.iterative_scan = 'relaxed_order'
set hnsw.ef_search = 40
-- The walk gives up after so many, which matters where a filter lets nearly nobody pass.
set hnsw.max_scan_tuples = 10000
-- Allow only one plan, a scan of the vector index.
set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off
set enable_sort = off
as $$
declare
  batch constant integer := current_setting('hnsw.ef_search')::integer;
  found_ids bigint[] := array[]::bigint[];
  distances double precision[] := array[]::double precision[];
  last_distance double precision := 0;
  visited integer := 0;
  misses integer := 0;
  away double precision;
  meets_filter boolean;
begin
  -- A scan of their vectors is exact, and quicker than the vector index, in which the rows that pass a filter are far
  -- apart.
  if filter.passing is not null then
    return query
      select nearest.profile_id, nearest.away
      from (
        select entry.profile_id, embedding <=> query_vector as away
        from private.search_entries as entry
        where entry.profile_id = any (filter.passing) and model = query_model
        -- Else Postgres would walk the whole vector index, as sorting is off.
        offset 0
      ) as nearest
      where nearest.away <= max_distance
      order by nearest.away, nearest.profile_id
      limit max_results;
    return;
  end if;
  for profile_id, away, meets_filter in
    select
      entry.profile_id,
      embedding <=> query_vector,
      filter.required is null and filter.excluded is null
        or exists (
          select
          from private.search_words as stored
          where stored.profile_id = entry.profile_id
            and private.matches_filter(stored.profile_id, stored.words, filter)
        )
    from private.search_entries as entry
    where model = query_model and entry.profile_id <> all (filter.hidden_ids)
    order by embedding <=> query_vector
  loop
    visited := visited + 1;
    if away <= max_distance and (cardinality(found_ids) < max_results or away < last_distance) then
      misses := 0;
      if meets_filter then
        if cardinality(found_ids) < max_results then
          last_distance := greatest(last_distance, away);
        end if;
        found_ids := found_ids || profile_id;
        distances := distances || away;
      end if;
    else
      misses := misses + 1;
      -- Few who are near a query are also far from each other, so the walk comes to them late.
      exit when misses >= batch and (cardinality(found_ids) >= max_results or visited >= 2 * max_results);
    end if;
  end loop;
  return query
    select nearest.id, nearest.away
    from unnest(found_ids, distances) as nearest (id, away)
    order by nearest.away, nearest.id
    limit max_results;
end
$$;
comment on function private.nearest_profiles(
  extensions.halfvec, text, private.search_filter, integer, double precision
) is
  'Up to max_results profiles within max_distance of a vector, and their cosine distances. Scans the vector index, or
all vectors if few pass the filter.';
