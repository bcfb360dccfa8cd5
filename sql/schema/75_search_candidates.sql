-- The profiles that a search considers: those that pass its filters and contain words of the query or are similar to it
-- in meaning. Of the search's functions only those of schema api are security definer; no role may call the functions
-- behind them.

create type private.search_filter as (
  required tsquery,
  hidden_ids bigint[]
);
comment on type private.search_filter is
  'The conditions that every hit must meet. `required` has facets, quoted phrases and excluded words, or is null.
hidden_ids are the caller''s own profile and those of users whom a block hides from the caller.';

create function private.read_filter(request jsonb, asked private.search_query, caller bigint)
returns private.search_filter
language plpgsql stable security invoker set search_path = ''
as $$
declare
  hidden_users constant bigint[] := caller || private.blocked_users_of(caller);
begin
  return (
    with conditions (condition) as (
      select string_agg(distinct private.lexeme(private.facet(kind, value)), ' | ')
      from (values ('interest', 'interests'), ('city', 'cities'), ('country', 'countries')) as facets (kind, key)
      cross join lateral jsonb_array_elements_text(coalesce(request -> key, '[]')) as value
      group by kind
      union all
      select queries[1]::text from unnest(asked.units) where quoted
      union all
      select '!(' || string_agg(private.lexeme(word), ' <-> ' order by position) || ')'
      from unnest(asked.words)
      where excluded
      group by unit
    )
    select row(
      (select string_agg('(' || condition || ')', ' & ')::tsquery from conditions),
      array(select profile_id from private.search_entries where user_id = any (hidden_users))
    )::private.search_filter
  );
end
$$;
comment on function private.read_filter(jsonb, private.search_query, bigint) is
  'The conditions of a search: values of one facet are alternatives, facets and words add up.';

create function private.find_words(query tsquery, filter private.search_filter, max_results integer)
returns table (profile_id bigint, words tsvector)
language plpgsql stable security invoker
set search_path = ''
-- As in count_holders.
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  wanted constant tsquery := coalesce(query && filter.required, query, filter.required);
  hidden_ids constant bigint[] := filter.hidden_ids;
begin
  if wanted is null then
    return query
      select stored.profile_id, stored.words
      from private.search_words as stored
      where stored.profile_id <> all (hidden_ids)
      order by stored.profile_id
      limit max_results;
  else
    return query
      select stored.profile_id, stored.words
      from private.search_words as stored
      where stored.words @@ wanted and stored.profile_id <> all (hidden_ids)
      limit max_results;
  end if;
end
$$;
comment on function private.find_words(tsquery, private.search_filter, integer) is
  'Up to max_results profiles that the query finds and that pass the filter, with their words. Without a query, any that
pass the filter.';

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

-- Rejected: the place of a word in the biography from ts_rank_cd of the word and a mark at the beginning, which leaves
-- fewer profiles for keyword_scores, but took 26 to 35 ms a query where this takes 24 to 29.
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
  typo_budgets constant integer[] := array(
    select private.typo_budget(word) from unnest(asked.words) where not excluded and place is not null order by place
  );
  all_words constant tsquery := private.all_of(units);
  -- Whoever has exactly this name comes first, also if more people than max_results have its words.
  exact_name constant tsquery := (
    select ('''.'':a <-> ' || string_agg(private.lexeme(word) || ':a <-> ', '' order by position) || '''.'':a')::tsquery
    from unnest(asked.words)
    where not excluded and max_results <= all (select holders from unnest(units))
  );
  -- The rarest words, as long as they have few enough holders. The others only add profiles that have all the words: a
  -- word in more than every fourth profile distinguishes none. With 25 profiles or fewer no word is common.
  rare_words constant tsquery := (
    select private.any_of(array_agg(private.any_of(queries)))
    from (
      select queries, holders, sum(holders) over rarest as holders_so_far, row_number() over rarest as rank
      from unnest(units)
      window rarest as (order by holders, unit)
    ) as ranked
    where rank = 1
      or holders_so_far <= max_results and holders <= greatest(25, private.count_profiles() / 4)
  );
begin
  return query
    with found as materialized (
      select *, true as is_exact
      from private.find_words(exact_name, filter, max_results)
      where exact_name is not null
      union all
      select *, false
      from private.find_words(
        case when exact_name is null then all_words else all_words && !!exact_name end, filter, max_results
      )
      union all
      select *, false
      from private.find_words(rare_words && !!all_words, filter, max_results)
      where cardinality(units) > 1
    ),
    -- How each matches each unit: 10 for each typing error, plus the class of the best weight; 4 for a phrase that is
    -- not in the name.
    matches as (
      select
        found.profile_id, found.is_exact, unit.rarity, unit.named_rarity, unit.size, unit.budget,
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
          queries[1] as query_1, queries[2] as query_2, queries[3] as query_3,
          cardinality(places) as size, (select sum(typo_budgets[place]) from unnest(places) as place) as budget
        from unnest(units)
        offset 0
      ) as unit
    ),
    tallies as materialized (
      select
        matches.profile_id,
        sum(matches.rarity) / rarity_asked as coverage,
        sum(matches.named_rarity) / rarity_asked as names_found,
        sum(size)::integer as words_matched,
        sum(match / 10)::integer as typos,
        sum(matches.budget)::integer as budget,
        sum(size * (array[0, 1, 2, 4, 0])[match % 10 + 1])::integer as min_attribute_cost,
        sum(size * (array[0, 1, 3, 5, 5])[match % 10 + 1])::integer as max_attribute_cost,
        bool_and(match = 0) and count(*) = cardinality(units) as in_name
      from matches
      where match is not null
      group by matches.profile_id
      order by 2 desc, bool_or(is_exact) desc, 1
      limit max_results
    )
    select
      tallies.profile_id,
      least(1, tallies.coverage),
      greatest(0, names_share - names_found),
      private.keyword_score(row(
        words_asked, words_matched, typos, typo_max, 3 * (words_matched - 1),
        max_attribute_cost, 5 * words_matched + 1, 10 * words_matched, 1, 0
      )::private.keyword_ranks),
      private.keyword_score(row(
        words_asked, words_matched, typos, typo_max, 0,
        min_attribute_cost, 5 * words_matched + 1, 0, 3, words_matched
      )::private.keyword_ranks),
      tallies.in_name
    from tallies
    cross join lateral (
      select greatest(budget, case when words_matched > 1 then words_matched else 0 end) + 1 as typo_max
    ) as maxima;
end
$$;
comment on function private.keyword_candidates(private.search_query, private.search_filter, integer) is
  'Up to max_results profiles that contain words of the query and pass the filter, those first whose words say most.
With bounds of their keyword scores; coverage is the share of the query''s rarity that they have, names_missing that of
the names and places that they lack.';

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
set hnsw.ef_search = 200
-- Allow only one plan, a scan of the vector index.
set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off
set enable_sort = off
as $$
declare
  -- Up to this many rows a scan of their vectors is exact, and quicker than the vector index, in which the rows that
  -- pass a filter are far apart.
  exact_scan_limit constant integer := case when filter.required is null then 2000 else 10000 end;
  passing bigint[];
  misses integer := 0;
  found integer := 0;
begin
  if filter.required is not null or private.count_profiles() <= exact_scan_limit then
    passing := array(
      select found_words.profile_id from private.find_words(null, filter, exact_scan_limit + 1) as found_words
    );
  end if;
  if cardinality(passing) <= exact_scan_limit then
    return query
      select nearest.profile_id, nearest.away
      from (
        select entry.profile_id, embedding <=> query_vector as away
        from private.search_entries as entry
        where entry.profile_id = any (passing) and model = query_model
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
        filter.required is null
        or exists (
          select
          from private.search_words as stored
          where stored.profile_id = entry.profile_id and stored.words @@ filter.required
        )
      )
    order by embedding <=> query_vector
  loop
    if distance <= max_distance then
      found := found + 1;
      misses := 0;
      return next;
    else
      misses := misses + 1;
    end if;
    -- If half a batch of ef_search is too far away, so are all that follow.
    exit when misses = 100 or found >= max_results;
  end loop;
end
$$;
comment on function private.nearest_profiles(
  extensions.halfvec, text, private.search_filter, integer, double precision
) is
  'Up to max_results profiles within max_distance of a vector, and their cosine distances. Scans the vector index, or
all vectors if few pass the filter.';
