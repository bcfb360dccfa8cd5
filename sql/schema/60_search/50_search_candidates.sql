-- The candidates of a search. Between its steps a search looks whether its time is over.

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
-- A statement cannot set its own statement_timeout, whose timer has already started, and PGlite has no timer. Poolers
-- refuse a connection's own; `set local` is two more round trips; transaction_timeout closes the connection.
comment on function private.check_deadline() is
  'Cancels a search after api.time_limit, as Postgres cancels a statement. Called between its steps, each of which is
bounded; within one, the statement_timeout of edge_functions applies.';

create function private.keyword_candidates(
  asked private.search_query, filter private.search_filter, max_results integer
)
returns bigint[]
language plpgsql stable security invoker set search_path = ''
as $$
declare
  profiles constant double precision := private.count_profiles();
  all_words constant tsquery := (select private.all_of(query) from unnest(asked.units));
  -- The rarest words, as long as they have few enough holders: one in more than a fourth of the profiles distinguishes
  -- none. The others only add profiles that have all the words. With 25 profiles or fewer no word is common.
  rare_words constant tsquery := (
    select private.any_of(query)
    from (
      select query, held, sum(held) over rarest as held_so_far, row_number() over rarest as rank
      from unnest(asked.units) as unit
      cross join lateral (select profiles / exp(unit.rarity) as held) as counted
      window rarest as (order by held, unit.number)
    ) as ranked
    where ranked.rank = 1 or held_so_far <= max_results and held <= greatest(25, profiles / 4)
  );
begin
  if cardinality(filter.passing) <= max_results then
    -- Scoring all of them instead takes a fifth longer.
    return array(
      select stored.profile_id
      from private.search_words as stored
      where stored.profile_id = any (filter.passing)
        and ts_match_vq(stored.words, (
          select private.any_of(query) from unnest(array[all_words, rare_words, asked.lacking]) as query
        ))
    );
  end if;
  return array(
    select found.profile_id
    from unnest(array[asked.called_so, all_words, rare_words, asked.lacking]) with ordinality as steps (query, step)
    cross join lateral (
      select stored.profile_id
      from private.search_words as stored
      where stored.words @@ steps.query
        and private.matches_filter(stored.profile_id, stored.words, filter)
        -- As a subquery, because Postgres hashes its rows and not those of an array.
        and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
      limit max_results
    ) as found
    group by found.profile_id
    order by min(steps.step)
    limit max_results
  );
end
$$;
comment on function private.keyword_candidates(private.search_query, private.search_filter, integer) is
  'Up to max_results profiles that pass the filter: whoever has exactly this name, those with all the words, those with
the rarest, and those who lack what is denied.';

create function private.nearest_profiles(
  query_vector extensions.halfvec, query_model text, filter private.search_filter, max_results integer,
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
      -- A scan of few vectors is exact, and quicker than the index, in which they are far apart. Without the offset
      -- Postgres would walk the whole index, as sorting is off.
      (
        select entry.profile_id, embedding <=> query_vector as away
        from private.search_entries as entry
        where entry.profile_id = any (filter.passing) and model = query_model
        offset 0
      )
      union all
      (
        select entry.profile_id, embedding <=> query_vector
        from private.search_entries as entry
        where filter.passing is null and model = query_model and entry.profile_id <> all (filter.hidden_ids)
          and (filter.required is null and filter.excluded is null or exists (
            select
            from private.search_words as stored
            where stored.profile_id = entry.profile_id
              and private.matches_filter(stored.profile_id, stored.words, filter)
          ))
        order by embedding <=> query_vector
        limit max_results
      )
    ) as nearest
    where nearest.away <= max_distance
    order by nearest.away, nearest.profile_id
    limit max_results;
end
$$;
comment on function private.nearest_profiles is
  'The nearest profiles within max_distance of a vector, and their cosine distances.';
