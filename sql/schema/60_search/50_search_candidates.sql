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
returns table (profile_id bigint, rank real)
language plpgsql stable security invoker
set search_path = ''
-- As in measure_word.
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  -- Of the classes D to A. Whoever has all the words comes first.
  weights constant real[] := array[.2, .4, .8, 1]::real[];
  units constant private.search_unit[] := asked.units;
  is_short_list constant boolean := coalesce(cardinality(filter.passing) <= max_results, false);
  all_words constant tsquery := (select private.all_of(query) from unnest(units));
  any_word constant tsquery := (select private.any_of(query) from unnest(units));
  as_typed constant tsquery := (
    select private.any_of(private.term_query(term)) from unnest(asked.terms) as term where typos = 0
  );
  -- The rarest words, as long as they have few enough holders. The others only add profiles that have all the words: a
  -- word in more than every fourth profile distinguishes none. With 25 profiles or fewer no word is common.
  rare_words constant tsquery := (
    select private.any_of(query)
    from (
      select query, holders, sum(holders) over rarest as holders_so_far, row_number() over rarest as rank
      from unnest(units)
      window rarest as (order by holders, unit)
    ) as ranked
    where ranked.rank = 1
      or holders_so_far <= max_results and holders <= greatest(25, private.count_profiles() / 4)
  );
  -- Looked up one by one: the few who pass the filter, which is quicker than the index of words; or else whoever has
  -- exactly this name, also if more people than max_results have its words.
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
    select
      found.profile_id,
      (
        first + ts_rank(weights, words, any_word)
          + case when as_typed <> any_word then ts_rank(weights, words, as_typed) else 0 end
      )::real
    from (
      select
        stored.profile_id, stored.words,
        case when not ts_match_vq(stored.words, all_words) then 0 when is_short_list then 4 else 8 end as first
      from private.search_words as stored
      where stored.profile_id = any (listed)
        and ts_match_vq(stored.words, all_words || rare_words)
        and private.matches_filter(stored.profile_id, stored.words, filter)
      union all
      select stored.profile_id, stored.words, 4
      from private.search_words as stored
      where not is_short_list
        and stored.words @@ all_words
        and stored.profile_id <> all (listed)
        and private.matches_filter(stored.profile_id, stored.words, filter)
        -- As a subquery, because Postgres hashes its rows and not those of an array.
        and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
      union all
      select stored.profile_id, stored.words, 0
      from private.search_words as stored
      where not is_short_list
        and cardinality(units) > 1
        and stored.words @@ rare_words
        -- As part of the query, the index would look at every profile that has a word of it: 6 ms instead of .5.
        and not ts_match_vq(stored.words, all_words)
        and private.matches_filter(stored.profile_id, stored.words, filter)
        and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
      limit max_results
    ) as found;
end
$$;
comment on function private.keyword_candidates(private.search_query, private.search_filter, integer) is
  'Up to max_results profiles that contain words of the query and pass the filter: first those with all the words, then
those with the rarest. `rank` roughly tells who of them will have the best keyword scores, at 1 µs each.';

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
-- The vector index is read in batches of ef_search, and a filter may make several necessary.
set hnsw.iterative_scan = 'relaxed_order'
set hnsw.ef_search = 160
-- The walk gives up after this many, which matters where a filter lets nearly nobody pass.
set hnsw.max_scan_tuples = 10000
-- Allow only one plan, a scan of the vector index.
set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off
set enable_sort = off
as $$
begin
  return query
    select nearest.profile_id, nearest.away
    from (
      (
        -- A scan of their vectors is exact, and quicker than the vector index, in which the rows that pass a filter are
        -- far apart. Else Postgres would walk the whole vector index, as sorting is off.
        select entry.profile_id, embedding <=> query_vector as away
        from private.search_entries as entry
        where entry.profile_id = any (filter.passing) and model = query_model
        offset 0
      )
      union all
      (
        select entry.profile_id, embedding <=> query_vector
        from private.search_entries as entry
        where filter.passing is null
          and model = query_model
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
        limit max_results
      )
    ) as nearest
    where nearest.away <= max_distance
    order by nearest.away, nearest.profile_id
    limit max_results;
end
$$;
comment on function private.nearest_profiles(
  extensions.halfvec, text, private.search_filter, integer, double precision
) is
  'Up to max_results profiles within max_distance of a vector, and their cosine distances. Scans the vector index, or
all vectors if few pass the filter.';
