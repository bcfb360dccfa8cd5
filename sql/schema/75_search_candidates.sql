-- The candidates of a search: the profiles that pass its filter and contain words of the query
-- (keyword_candidates) or are similar to it in meaning (nearest_profiles). Of the search's functions only those of
-- schema api are security definer; no role may call the functions behind them.

create function private.find_words(
  query tsquery,
  without tsquery,
  filter private.search_filter,
  max_results integer
)
returns table (profile_id bigint, words tsvector)
language plpgsql stable security invoker
set search_path = ''
-- As in measure_word.
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  -- One by one is quicker than through the index of words.
  if cardinality(filter.passing) <= 1000 then
    return query
      select stored.profile_id, stored.words
      from private.search_words as stored
      where stored.profile_id = any (filter.passing)
        and (query is null or ts_match_vq(stored.words, query))
        and (without is null or not ts_match_vq(stored.words, without))
      limit max_results;
  elsif query is null then
    return query
      select stored.profile_id, stored.words
      from private.search_words as stored
      where private.matches_filter(stored.profile_id, stored.words, filter)
        and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
      order by stored.profile_id
      limit max_results;
  else
    return query
      select stored.profile_id, stored.words
      from private.search_words as stored
      where stored.words @@ query
        -- As part of the query, the index would look at every profile that has a word of it: 6 ms instead of .5.
        and (without is null or not ts_match_vq(stored.words, without))
        and private.matches_filter(stored.profile_id, stored.words, filter)
        -- As a subquery, because Postgres hashes its rows and not those of an array.
        and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
      limit max_results;
  end if;
end
$$;
comment on function private.find_words(tsquery, tsquery, private.search_filter, integer) is
  'Up to max_results profiles that the first query finds and the second does not, and that pass the filter, with their
words. Without a query, any that pass the filter.';

create function private.names_share(asked private.search_query)
returns double precision
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (select coalesce(sum(rarity) filter (where is_named) / sum(rarity), 0) from unnest(asked.units));
end
$$;
comment on function private.names_share(private.search_query) is
  'The share of names and places in the rarity of a query. No embedding has them.';

create function private.keyword_candidates(
  asked private.search_query,
  filter private.search_filter,
  max_results integer
)
returns table (
  profile_id bigint, coverage double precision, names_missing double precision, at_least double precision,
  at_most double precision, in_name boolean
)
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
set enable_nestloop = on
as $$
declare
  units constant private.search_unit[] := asked.units;
  words_asked constant integer := (select max(place) from unnest(asked.terms));
  rarity_asked constant double precision := (select sum(rarity) from unnest(units));
  names_share constant double precision := private.names_share(asked);
  all_words constant tsquery := (select private.all_of(query) from unnest(units));
  -- Whoever has exactly this name comes first, also if more people than max_results have its words.
  exact_names constant bigint[] := case when max_results <= all (select holders from unnest(units)) then array(
    select entry.profile_id
    from private.search_entries as entry
    where private.name_hash(entry.name) = private.name_hash((
      select string_agg(word, ' ' order by position) from unnest(asked.words) where not excluded
    ))
    limit max_results
  ) else '{}' end;
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
begin
  return query
    with complete as materialized (
      select stored.profile_id, stored.words
      from private.search_words as stored
      where stored.profile_id = any (exact_names)
        and private.matches_filter(stored.profile_id, stored.words, filter)
        and (filter.passing is null or stored.profile_id = any (filter.passing))
      union all
      select *
      from private.find_words(query => all_words, without => null, filter => filter, max_results => max_results)
      where find_words.profile_id <> all (exact_names)
    ),
    found as materialized (
      select * from complete
      union all
      select *
      from private.find_words(
        query => rare_words, without => all_words, filter => filter,
        max_results => max_results - (select least(max_results, count(*)::integer) from complete)
      )
      where cardinality(units) > 1
    ),
    -- How each matches each unit: the class of the best weight, and 10 more for each typing error. A phrase in the name
    -- is 0, elsewhere 4.
    matches as (
      select
        found.profile_id, unit.*,
        case
          when is_phrase then case when words @@ query_2 then 0 when words @@ query_1 then 4 end
          else coalesce(
            private.weight_class(words, query_1),
            10 + private.weight_class(words, query_2),
            20 + private.weight_class(words, query_3)
          )
        end as match
      from found
      cross join (
        select
          is_phrase, rarity, case when is_named then rarity else 0 end as named_rarity,
          queries[1] as query_1, queries[2] as query_2, queries[3] as query_3, cardinality(places) as size, budget, bits
        from unnest(units) as each
        cross join lateral (
          select sum(private.typo_budget(word)) as budget, bit_or(private.closest_bit(place, 0)) as bits
          from unnest(asked.words) as part
          where part.unit = each.unit and place = any (places)
        ) as words_of_unit
        offset 0
      ) as unit
      -- Else Postgres computes the match again for each use of it.
      offset 0
    ),
    tallies as (
      select
        matches.profile_id,
        sum(matches.rarity) / rarity_asked as coverage,
        sum(matches.named_rarity) / rarity_asked as names_found,
        sum(size)::integer as words_matched,
        sum(match / 10)::integer as typos,
        sum(matches.budget)::integer as budget,
        -- A weight stands for one attribute or two, and a phrase elsewhere for any.
        sum(size * (array[0, 1, 2, 4, 0])[match % 10 + 1])::integer as min_attribute_cost,
        sum(size * (array[0, 1, 3, 5, 5])[match % 10 + 1])::integer as max_attribute_cost,
        bool_and(match = 0) and count(*) = cardinality(units) as in_name,
        bit_or(bits << match / 10) as closest
      from matches
      where match is not null
      group by matches.profile_id
    ),
    pairs as materialized (
      select * from private.word_pairs(asked) where words_asked > 1
    )
    select
      found.profile_id,
      least(1, tallies.coverage),
      greatest(0, names_share - names_found),
      -- At worst the words are at the end of a text, at best they are all of it.
      private.keyword_score(row(
        words_asked, words_matched, typos, typo_max, proximity_cost, max_attribute_cost, 5 * words_matched + 1,
        10 * words_matched, 1, 0
      )::private.keyword_ranks),
      private.keyword_score(row(
        words_asked, words_matched, typos, typo_max, proximity_cost, min_attribute_cost, 5 * words_matched + 1,
        0, 3, words_matched
      )::private.keyword_ranks),
      tallies.in_name
    from tallies
    join found on found.profile_id = tallies.profile_id
    cross join lateral (
      select greatest(budget, case when words_matched > 1 then words_matched else 0 end) + 1 as typo_max
    ) as maxima
    cross join lateral (
      select 3 * (words_matched - 1) - coalesce(sum(private.nearness(words, pair)), 0)::integer as proximity_cost
      from pairs as pair
      where words_matched > 1 and closest & pair.bits = pair.bits
    ) as near
    order by 2 desc, found.profile_id = any (exact_names) desc, 1
    limit max_results;
end
$$;
comment on function private.keyword_candidates(private.search_query, private.search_filter, integer) is
  'Up to max_results profiles that contain words of the query and pass the filter, those first whose words say most.
at_least and at_most are bounds of the keyword score; coverage is the share of the query''s rarity that they have,
names_missing that of the names and places that they lack.';

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
-- Nearly in the order of the distances, which is enough: strict order takes half as long again.
set hnsw.iterative_scan = 'relaxed_order'
set hnsw.ef_search = 100
-- The walk gives up after so many, which matters where a filter lets nearly nobody pass.
set hnsw.max_scan_tuples = 10000
-- Allow only one plan, a scan of the vector index.
set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off
set enable_sort = off
as $$
declare
  misses integer := 0;
  hits integer := 0;
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
  for profile_id, distance in
    select entry.profile_id, embedding <=> query_vector
    from private.search_entries as entry
    where model = query_model
      and entry.profile_id <> all (filter.hidden_ids)
      and (
        filter.required is null and filter.excluded is null
        or exists (
          select
          from private.search_words as stored
          where stored.profile_id = entry.profile_id
            and private.matches_filter(stored.profile_id, stored.words, filter)
        )
      )
    order by embedding <=> query_vector
  loop
    if distance <= max_distance then
      hits := hits + 1;
      misses := 0;
      return next;
    else
      misses := misses + 1;
    end if;
    -- If half a batch of ef_search is too far away, so are all that follow.
    exit when misses = 50 or hits >= max_results;
  end loop;
end
$$;
comment on function private.nearest_profiles(
  extensions.halfvec, text, private.search_filter, integer, double precision
) is
  'Up to max_results profiles within max_distance of a vector, and their cosine distances. Scans the vector index, or
all vectors if few pass the filter.';

create function private.has_other_models(query_model text)
returns boolean
language plpgsql stable security invoker
set search_path = ''
-- Without such rows Postgres would look for one through the whole table.
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  other private.search_models;
begin
  for other in select * from private.search_models where name <> query_model loop
    if exists (select from private.search_entries where model = other.name) then
      return true;
    end if;
  end loop;
  return false;
end
$$;
comment on function private.has_other_models(text) is
  'Whether some embeddings are of another model than the query''s, until theirs are made anew.';
