-- The search: candidates, their scores, the requested page, and last api.search_profiles.

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

create function private.find_profiles(
  query text,
  query_vector extensions.halfvec,
  query_model text,
  semantic_ratio double precision,
  filters jsonb,
  caller bigint,
  page_limit integer,
  page_offset bigint,
  explain boolean
)
returns json
language plpgsql stable security invoker
set search_path = 'extensions'
-- Planning these statements takes longer than running most of them.
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  -- No query has more hits, and no total counts further.
  max_results constant integer := 1000;
  -- Up to this many rows a scan of all vectors is exact, and quicker than the vector index, in which the rows that pass
  -- a filter are far apart.
  exact_scan_limit integer := 2000;
  model private.search_models;
  words constant private.query_word[] := array(select part from private.parse_query(query) as part);
  words_asked constant integer := coalesce((select max(place) from unnest(words) where not excluded), 0);
  words_quoted constant integer := (
    select count(*) from unnest(words) where quoted and not excluded and place is not null
  );
  typo_budgets constant integer[] := array(
    select private.typo_budget(word) from unnest(words) where not excluded and place is not null order by place
  );
  -- Without words, every profile is a hit, however distant.
  max_distance double precision := 2;
  hidden_users constant bigint[] := caller || private.blocked_users_of(caller);
  terms private.search_term[];
  selective private.search_term[];
  rarest private.search_term;
  filter private.search_filter;
  has_facets boolean;
  excludes_often boolean;
  max_neighbours integer;
  filtered_ids bigint[];
  keyword_ids bigint[] := array[]::bigint[];
  semantic_ids bigint[] := array[]::bigint[];
  distances double precision[];
  scores_all boolean;
  answer json;
begin
  select * into model from private.search_models where name = query_model;
  if model.name is null then
    query_vector := null;
  end if;
  if words_asked > 0 then
    max_distance := 1 - model.similarity_threshold;
    terms := coalesce(private.terms_of(words), '{}');
  end if;
  with units as (
    select excluded, quoted, string_agg(quote_literal(word), ' <-> ' order by position)::tsquery as phrase
    from unnest(words)
    group by excluded, quoted, unit
  )
  select
    private.facet_keys(filters -> 'interests'),
    private.facet_keys(filters -> 'cities'),
    private.facet_keys(filters -> 'countries'),
    (select string_agg(phrase::text, ' & ')::tsquery from units where quoted and not excluded),
    (select string_agg('(' || phrase::text || ')', ' | ')::tsquery from units where excluded),
    array(select profile_id from private.search_entries where user_id = any (hidden_users))
  into filter;
  selective := private.selective_terms(terms);
  has_facets := filter.interests || filter.cities || filter.countries <> '{}';
  -- If the words are common, checking every profile once is cheaper than checking it for each of its words.
  excludes_often := filter.excluded is not null and (select sum(entries) from unnest(selective)) > exact_scan_limit;
  if has_facets or excludes_often or filter.required is not null then
    exact_scan_limit := 10000;
  end if;
  perform private.check_deadline();

  if filter.required is not null then
    -- Only the profiles that contain the rarest quoted word are checked, once. If more than exact_scan_limit pass, the
    -- first ones count.
    select * into rarest from unnest(terms) where quoted order by entries limit 1;
    filtered_ids := case
      when (select count(distinct place) from unnest(terms) where quoted) < words_quoted then '{}'
      else private.filter_profiles(filter => filter, word => rarest.word, max_results => exact_scan_limit)
    end;
  elsif has_facets or excludes_often or not exists (select from private.search_entries offset exact_scan_limit) then
    filtered_ids := private.filter_profiles(filter => filter, word => null, max_results => exact_scan_limit + 1);
    if cardinality(filtered_ids) > exact_scan_limit then
      filtered_ids := null;
    end if;
  end if;
  perform private.check_deadline();

  if cardinality(selective) > 0 then
    keyword_ids := private.keyword_matches(
      terms => selective, filter => filter, filtered_ids => filtered_ids, max_results => max_results
    );
    if exists (select from unnest(terms) where phrase is not null) then
      terms := private.resolve_phrases(terms, keyword_ids);
    end if;
    perform private.check_deadline();
  end if;
  if words_asked = 0 and query_vector is null then
    keyword_ids := array(
      select profile_id
      from private.search_entries as entry
      where private.matches_filter(entry, filter)
      order by profile_id
      limit max_results
    );
  end if;

  perform private.check_deadline();
  -- Besides the keyword matches: as many as the total may still count, but at least enough for the first pages.
  max_neighbours := greatest(100, max_results - cardinality(keyword_ids));
  if query_vector is not null and filtered_ids is not null then
    select coalesce(array_agg(profile_id), '{}'), coalesce(array_agg(distance), '{}')
    into semantic_ids, distances
    from (
      select profile_id, embedding <=> query_vector as distance
      from private.search_entries
      where profile_id = any (filtered_ids)
        and profile_id not in (select unnest(keyword_ids))
        and search_entries.model = query_model
        and embedding <=> query_vector <= max_distance
      order by distance, profile_id
      limit max_neighbours
    ) as nearest;
  elsif query_vector is not null then
    select ids, nearest.distances
    into semantic_ids, distances
    from private.nearest_profiles(
      query_vector => query_vector, query_model => query_model, filter => filter, exclude_ids => keyword_ids,
      max_results => max_neighbours, max_distance => max_distance
    ) as nearest;
  end if;

  -- Far down the list, or at its end, the bounds exclude so few candidates that computing them takes longer than
  -- scoring all.
  scores_all := page_offset + page_limit >= least(200, cardinality(keyword_ids) + cardinality(semantic_ids));
  perform private.check_deadline();
  with cosines as (
    select id as profile_id, null::double precision as cosine
    from unnest(keyword_ids) as id
    where query_vector is null
    union all
    select profile_id, case when entry.model = query_model then 1 - (embedding <=> query_vector) end
    from private.search_entries as entry
    where query_vector is not null and profile_id = any (keyword_ids)
    union all
    select id, 1 - distance
    from unnest(semantic_ids, distances) as neighbour (id, distance)
  ),
  bounds as (
    select *
    from private.keyword_bounds(
      ids => case when not scores_all then keyword_ids end,
      terms => terms, words_asked => words_asked, typo_budgets => typo_budgets
    )
  ),
  weighted as (
    select
      cosines.profile_id,
      case when words_asked = 0 and query_vector is null then 1 else coalesce(bounds.at_least, 0) end as at_least,
      case when words_asked = 0 and query_vector is null then 1 else coalesce(bounds.at_most, 0) end as at_most,
      bounds.in_name,
      cosine,
      -- 0 without a cosine, since greatest() ignores nulls.
      least(
        1, greatest(0, (cosine - model.similarity_floor) / (model.similarity_ceiling - model.similarity_floor))
      ) as semantic,
      -- If one score is missing, for the query or for one entry (such as one whose words the model does not know), the
      -- other one has all the weight.
      case when cosine is null then 0 when cardinality(keyword_ids) = 0 then 1 else semantic_ratio end as ratio
    from cosines
    left join bounds on bounds.profile_id = cosines.profile_id
  ),
  candidates as materialized (
    select
      *,
      private.hybrid_score(
        semantic_ratio => ratio, keyword => at_least, semantic => semantic, in_name => in_name
      ) as lowest,
      private.hybrid_score(
        semantic_ratio => ratio, keyword => at_most, semantic => semantic, in_name => in_name
      ) as highest
    from weighted
  ),
  contenders as materialized (
    -- The candidates that can still reach the page. 1e-9 allows for rounding.
    select *
    from candidates
    where scores_all or highest >= coalesce(
      (
        select lowest
        from candidates
        order by lowest desc
        offset least(page_offset, max_results) + page_limit - 1
        limit 1
      ) - 1e-9,
      0
    )
  ),
  keyword as (
    select *
    from private.keyword_scores(
      ids => case
        when scores_all then keyword_ids
        else array(select profile_id from contenders where in_name is not null)
      end,
      terms => terms, words_asked => words_asked, typo_budgets => typo_budgets
    )
  ),
  ranked as (
    select
      contenders.profile_id,
      coalesce(keyword.score, contenders.at_least) as keyword,
      keyword.in_name,
      keyword.ranks,
      contenders.cosine,
      contenders.semantic,
      contenders.ratio,
      private.hybrid_score(
        semantic_ratio => contenders.ratio,
        keyword => coalesce(keyword.score, contenders.at_least),
        semantic => semantic,
        in_name => keyword.in_name
      ) as score
    from contenders
    left join keyword on keyword.profile_id = contenders.profile_id
  ),
  page as (
    select *
    from ranked
    order by score desc, keyword desc, profile_id
    limit greatest(0, least(page_limit, max_results - page_offset))
    offset page_offset
  )
  select json_build_object(
    'hits', coalesce(
      json_agg(
        case
          when explain then (
            private.hit_body(entry, page.score)::jsonb || jsonb_build_object('_rankingScoreDetails', jsonb_build_object(
              'words', private.keyword_details(page.ranks),
              'keyword', page.keyword,
              'cosine', page.cosine,
              'similarityFloor', model.similarity_floor,
              'similarityCeiling', model.similarity_ceiling,
              'semantic', page.semantic,
              'ratio', page.ratio,
              'named', coalesce(page.in_name, false)
            ))
          )::json
          else private.hit_body(entry, page.score)
        end
        order by page.score desc, page.keyword desc, page.profile_id
      ),
      '[]'
    ),
    'query', query,
    'estimatedTotalHits', least(max_results, cardinality(keyword_ids) + cardinality(semantic_ids)),
    'limit', page_limit,
    'offset', page_offset
  )
  into answer
  from page
  join private.search_entries as entry on entry.profile_id = page.profile_id;
  return answer;
end
$$;
comment on function private.find_profiles(
  text, extensions.halfvec, text, double precision, jsonb, bigint, integer, bigint, boolean
) is
  'The search: profiles that contain words of a query or are similar to it in meaning, filtered, best first. The total
counts up to 1,000; beyond 2,000 profiles, or 10,000 that pass a filter, it is as exact as the scan of the vector index.
Both scores are computed for every candidate, the keyword score only as exactly as the page needs.';

create function api.search_profiles(request jsonb)
returns json
language plpgsql stable security definer set search_path = 'extensions'
as $$
declare
  me constant bigint := private.my_id();
  -- The weight of the caller's context in the query vector.
  context_share constant real := 0.3;
  query constant text := coalesce(request ->> 'q', '');
  model constant text := request ->> 'model';
  query_vector halfvec := (request ->> 'vector')::halfvec;
  context_vector halfvec;
begin
  perform set_config('api.time_limit', coalesce(request ->> 'timeout' || ' ms', ''), true);
  if me is not null and model is not null then
    select embedding into context_vector
    from private.search_contexts
    where user_id = me and search_contexts.model = request ->> 'model';
  end if;
  return private.find_profiles(
    query => query,
    query_vector => case
      when context_vector is null then query_vector
      when query_vector is null then case when trim(query) = '' then context_vector end
      else l2_normalize(
        array_fill(1 - context_share, array[384])::halfvec * query_vector
          + array_fill(context_share, array[384])::halfvec * context_vector
      )
    end,
    query_model => model,
    semantic_ratio => case when me is null then 0.5 else 0.7 end,
    filters => request,
    caller => me,
    page_limit => (request ->> 'limit')::integer,
    page_offset => (request ->> 'offset')::bigint,
    explain => coalesce((request ->> 'explain')::boolean, false)
  );
end
$$;
comment on function api.search_profiles(jsonb) is
  'Searches profiles for {q, vector, model, interests, cities, countries, limit, offset, explain, timeout}. A user''s
search has a semantic ratio of 0.7 and includes their own context; an anonymous one has 0.5. After `timeout`
milliseconds the search is cancelled (57014). Definer, because no role may read the index; this function is the only
access to it.';
grant execute on function api.search_profiles(jsonb) to edge_functions;
