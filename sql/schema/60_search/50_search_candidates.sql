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

-- Without `set search_path`, so that Postgres inlines it: it is called for each candidate and unit.
create function private.weight_value(words tsvector, query tsquery)
returns double precision
language sql immutable parallel safe
as $$
  -- The best weight decides the order of magnitude of the rank.
  select (array[0.92, 0.96, 0.98, 1])[
    1 + width_bucket(ts_rank('{1e-18, 1e-12, 1e-6, 1}', words, query), array[1e-15, 1e-9, 1e-3])
  ]
$$;
comment on function private.weight_value(tsvector, tsquery) is
  'What a word that somebody has is worth, by the best of the fields that have it: name, interests, place, biography.';

create function private.called_so(asked private.search_query)
returns bigint[]
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  asked_name constant uuid := private.name_hash((
    select string_agg(array_to_string(words, ' '), ' ' order by number) from unnest(asked.units)
  ));
begin
  return array(
    select entry.profile_id
    from private.search_entries as entry
    where private.name_hash(entry.name) = asked_name
    limit 1000
  );
end
$$;
comment on function private.called_so(private.search_query) is 'The profiles whose name the words of a query are.';

create type private.keyword_match as (
  profile_id bigint,
  coverage double precision,
  words_matched integer,
  has_all boolean,
  in_name boolean,
  is_name boolean,
  lives boolean,
  names_missing double precision
);
comment on type private.keyword_match is
  'How a profile matches the words of a query. `coverage`: the share of their rarity that it has, 0 to 1, by field and
less for what is only a beginning or a correction, or not side by side as typed; `in_name`: the name has all the words
as typed, and one more at most where a place is asked for; `is_name`: and no others; `lives`: in the place that the
query asks for, true if it asks for none; `names_missing`: the share of the rarity that missing names have.';

create function private.match_words(ids bigint[], asked private.search_query)
returns setof private.keyword_match
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  all_rarity constant double precision := (select sum(unit.rarity) from unnest(asked.units) as unit);
  called_so constant bigint[] := private.called_so(asked);
  -- More than one word, so that a name of a place is not one of a person.
  name_words constant tsquery := (
    select case when count(*) > 1 then private.all_of((
      private.lexeme(word) || ':A' || case when word || '*' = any (unit.loose) then '*' else '' end
    )::tsquery) end
    from unnest(asked.units) as unit
    cross join unnest(unit.words) as word
  );
  word_count constant integer := (select sum(cardinality(unit.words)) from unnest(asked.units) as unit);
  neighbours constant tsquery[] := array(
    select one.exact_query <-> private.either(other)
    from unnest(asked.units) as one
    join unnest(asked.units) as other on other.number = one.number + 1
    where one.place is null and other.place is null
  );
  home constant tsquery := (select private.any_of(unit.lives) from unnest(asked.units) as unit);
begin
  return query
    select
      stored.profile_id, share * case when are_neighbours then 1 else 0.97 end, words_matched, least_worth > 0,
      least_worth = 1 or is_name or has_name_words, is_name, lives_there, names_missing
    from unnest(ids) as id
    join private.search_words as stored on stored.profile_id = id
    -- One after the other for each profile: a join with the units copied the words of all of them.
    cross join lateral (
      select
        sum(worth * unit.rarity) / all_rarity as share, (count(*) filter (where worth > 0))::integer as words_matched,
        min(worth) as least_worth,
        coalesce(sum(unit.rarity) filter (where unit.is_named and worth = 0), 0) / all_rarity as names_missing
      from unnest(asked.units) as unit
      cross join lateral (
        select case
          when ts_match_vq(stored.words, unit.exact_query) then private.weight_value(stored.words, unit.exact_query)
          when ts_match_vq(stored.words, unit.loose_query)
            then 0.8 * private.weight_value(stored.words, unit.loose_query)
          else 0
        end as worth
        -- Else once for each of the sums.
        offset 0
      ) as matched
    ) as by_unit
    cross join lateral (
      select
        stored.profile_id = any (called_so) as is_name,
        coalesce(ts_match_vq(stored.words, name_words), false) and (
          -- Where a place is asked for, a name full of words is not a person whom one asks for.
          home is null or (
            select cardinality(private.words_of(entry.name)) <= word_count + 1
            from private.search_entries as entry
            where entry.profile_id = stored.profile_id
          )
        ) as has_name_words,
        home is null or ts_match_vq(stored.words, home) as lives_there,
        not exists (
          select from unnest(neighbours) as neighbour where not ts_match_vq(stored.words, neighbour)
        ) as are_neighbours
      offset 0
    ) as person;
end
$$;
comment on function private.match_words(bigint[], private.search_query) is
  'How these profiles match the words of a query.';

create function private.keyword_candidates(
  asked private.search_query,
  filter private.search_filter,
  max_results integer
)
returns bigint[]
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  profiles constant double precision := private.count_profiles();
  is_short_list constant boolean := coalesce(cardinality(filter.passing) <= max_results, false);
  units constant private.search_unit[] := asked.units;
  all_words constant tsquery := (select private.all_of(private.either(unit)) from unnest(units) as unit);
  -- The rarest words, as long as they have few enough holders. The others only add profiles that have all the words: a
  -- word in more than every fourth profile distinguishes none. With 25 profiles or fewer no word is common.
  rare_words constant tsquery := (
    select private.any_of(query)
    from (
      select
        private.either(unit) as query, held,
        sum(held) over rarest as held_so_far, row_number() over rarest as rank
      from unnest(units) as unit
      cross join lateral (select profiles / exp(unit.rarity) as held) as counted
      window rarest as (order by held, unit.number)
    ) as ranked
    where ranked.rank = 1 or held_so_far <= max_results and held <= greatest(25, profiles / 4)
  );
begin
  return array(
    select found.profile_id
    from (
      select stored.profile_id, 1 as step
      from private.search_words as stored
      where is_short_list and stored.profile_id = any (filter.passing)
        and ts_match_vq(stored.words, all_words || rare_words)
      union all
      select stored.profile_id, 1
      from private.search_words as stored
      where not is_short_list
        and stored.profile_id = any (private.called_so(asked))
        and private.matches_filter(stored.profile_id, stored.words, filter)
        and (filter.passing is null or stored.profile_id = any (filter.passing))
      union all
      (
        select stored.profile_id, 2
        from private.search_words as stored
        where not is_short_list
          and stored.words @@ all_words
          and private.matches_filter(stored.profile_id, stored.words, filter)
          -- As a subquery, because Postgres hashes its rows and not those of an array.
          and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
        limit max_results
      )
      union all
      (
        select stored.profile_id, 3
        from private.search_words as stored
        where not is_short_list
          and cardinality(units) > 1
          and stored.words @@ rare_words
          -- As part of the query, the index would look at every profile that has a word of it: 6 ms instead of .5.
          and not ts_match_vq(stored.words, all_words)
          and private.matches_filter(stored.profile_id, stored.words, filter)
          and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
        limit max_results
      )
    ) as found
    group by found.profile_id
    order by min(found.step)
    limit max_results
  );
end
$$;
comment on function private.keyword_candidates(private.search_query, private.search_filter, integer) is
  'Up to max_results profiles that contain words of the query and pass the filter: whoever has exactly this name, those
with all the words, and those with the rarest.';

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
