-- The search: api.search_profiles reads what is asked for, and find_profiles takes the candidates, scores those that
-- can be on the requested page, and prints it. Of the search's functions only those of schema api are security definer;
-- no role may call the functions behind them.

create function private.find_profiles(
  request jsonb,
  asked private.search_query,
  filter private.search_filter,
  query_vector extensions.halfvec,
  context_vector extensions.halfvec,
  semantic_ratio double precision
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
  max_neighbours constant integer := 100;
  -- The most that nearness to the caller's own interests can add to a score.
  context_share constant double precision := 0.05;
  query_model constant text := request ->> 'model';
  page_limit constant integer := (request ->> 'limit')::integer;
  page_offset constant bigint := (request ->> 'offset')::bigint;
  page_end constant integer := least(page_offset, max_results) + page_limit;
  explain constant boolean := coalesce((request ->> 'explain')::boolean, false);
  facets constant text[] := case
    when request -> 'facets' is not null then array(select jsonb_array_elements_text(request -> 'facets'))
  end;
  has_words constant boolean := cardinality(asked.units) > 0;
  -- The share of names and places in the rarity of the query. No embedding has them.
  names_share constant double precision := (
    select coalesce(sum(rarity) filter (where is_named) / sum(rarity), 0) from unnest(asked.units)
  );
  model private.search_models;
  max_distance double precision;
  neighbour_ids bigint[];
  distances double precision[];
  has_other_models boolean;
  hits json;
  total integer;
  distribution json;
begin
  select * into model from private.search_models where name = query_model;
  if model.name is null then
    query_vector := null;
    context_vector := null;
  end if;
  if not has_words and query_vector is null then
    query_vector := context_vector;
    context_vector := null;
  end if;
  if query_vector is not null then
    -- Without words there is no threshold: every profile is a hit.
    max_distance := case when has_words then 1 - model.similarity_threshold else 2 end;
    select array_agg(profile_id), array_agg(distance)
    into neighbour_ids, distances
    from private.nearest_profiles(
      query_vector => query_vector, query_model => query_model, filter => filter, max_results => max_neighbours,
      max_distance => max_distance
    );
    if cardinality(distances) = max_neighbours or not has_words then
      -- The index overlooks some that are as near as the last ones.
      max_distance := (select coalesce(max(distance) - 0.03, 0) from unnest(distances) as distance);
    end if;
    -- Some embeddings are of another model until theirs are made anew. From both ends of an index: without such rows
    -- Postgres would look for one through the whole table.
    has_other_models := exists (
      select from private.search_entries as entry having query_model <> any (array[min(entry.model), max(entry.model)])
    );
  end if;
  perform private.check_deadline();

  with by_words as materialized (
    select * from private.keyword_candidates(asked => asked, filter => filter, max_results => max_results)
    where has_words
    union all
    -- Without words every profile is a hit, with score 1 unless the caller's context ranks them.
    select profile_id, 1, names_share, score, score, false
    from private.any_profiles(filter => filter, max_results => max_results)
    cross join (select case when query_vector is null then 1 else 0 end as score) as scores
    where not has_words
  ),
  candidates as materialized (
    select
      profile_id, distance, coverage,
      coalesce(in_name, false) as in_name,
      coalesce(coverage * at_least, 0) as min_keyword,
      coalesce(coverage * at_most, 0) as max_keyword,
      greatest(0, names_share - coalesce(names_found, 0)) as names_missing,
      has_words and coalesce(coverage > 0.999999, false) as has_all,
      case when query_vector is null then 0 else semantic_ratio end as full_ratio,
      query_vector is not null and distance is null and (
        has_other_models
        or exists (
          select from private.search_entries as entry where entry.profile_id = joined.profile_id and embedding is null
        )
      ) as may_lack_embedding
    from by_words
    full join unnest(neighbour_ids, distances) as neighbours (profile_id, distance) using (profile_id) as joined
  ),
  -- Bounds of the scores before any embedding is read. Who is no neighbour is further away than max_distance, and who
  -- has no embedding is scored by words alone.
  bounded as materialized (
    select
      *,
      case when may_lack_embedding then 0 else private.final_score(
        semantic_ratio => full_ratio, keyword => min_keyword,
        semantic => case when distance is null then 0 else max_semantic end, in_name => in_name,
        has_all_words => has_all, context => 0
      ) end as lowest,
      case when may_lack_embedding then 1 else private.final_score(
        semantic_ratio => full_ratio, keyword => max_keyword, semantic => max_semantic, in_name => in_name,
        has_all_words => has_all, context => case when context_vector is null then 0 else context_share end
      ) end as highest
    from candidates
    cross join lateral (
      select private.semantic_score(
        cosine => 1 - coalesce(distance, max_distance), model => model, names_missing => names_missing
      ) as max_semantic
    ) as parts
  ),
  -- Closer bounds, with the embeddings of those that can still reach the page.
  measured as materialized (
    select
      *,
      private.final_score(
        semantic_ratio => ratio, keyword => min_keyword, semantic => semantic, in_name => in_name,
        has_all_words => has_all, context => context
      ) as lowest_score,
      private.final_score(
        semantic_ratio => ratio, keyword => max_keyword, semantic => semantic, in_name => in_name,
        has_all_words => has_all, context => context
      ) as highest_score
    from (
      select *
      from bounded
      -- 1e-9 allows for rounding.
      where highest >= coalesce(
        (select lowest from bounded order by lowest desc offset page_end - 1 limit 1) - 1e-9, 0
      )
    ) as possible
    -- `offset 0` makes Postgres look up the entries instead of reading all.
    cross join lateral (
      select
        case
          when entry.model <> query_model then null
          -- The index may have overlooked somebody nearer than that. As near as they are, they would be on the pages
          -- for which their embedding is read, and on no other.
          when distance is null and not may_lack_embedding
            then least(1 - (embedding <=> query_vector), 1 - max_distance)
          else 1 - (embedding <=> query_vector)
        end as cosine,
        case when entry.model = query_model then 1 - (embedding <=> context_vector) end as context_cosine
      from private.search_entries as entry
      where entry.profile_id = possible.profile_id
      offset 0
    ) as entry
    cross join lateral (
      select
        private.semantic_score(cosine => cosine, model => model, names_missing => names_missing) as semantic,
        -- If one score is missing, for the query or for one entry (such as one whose words the model does not know),
        -- the other one has all the weight.
        case when cosine is null then 0 else full_ratio end as ratio,
        context_share * greatest(0, coalesce(context_cosine, 0)) as context
    ) as exact_parts
  ),
  -- No score of the page is lower than floor, and none is higher than ceiling.
  page_bounds as materialized (
    select floor, ceiling, (select count(*) from measured where lowest_score > ceiling) as certainly_before
    from (
      select
        coalesce(
          (select lowest_score from measured order by lowest_score desc offset page_end - 1 limit 1) - 1e-9, 0
        ) as floor,
        (select highest_score from measured order by highest_score desc offset page_offset limit 1) + 1e-9 as ceiling
    ) as bounds
  ),
  contenders as materialized (
    select measured.*
    from measured
    cross join page_bounds
    where highest_score >= floor and lowest_score <= ceiling
  ),
  page as (
    select
      *,
      private.final_score(
        semantic_ratio => ratio, keyword => keyword, semantic => semantic, in_name => in_name,
        has_all_words => has_all, context => context
      ) as score
    from contenders
    left join private.keyword_scores(
      ids => array(select profile_id from contenders where has_words and coverage is not null), asked => asked,
      words_asked => (select max(place) from unnest(asked.terms))
    ) as exact (profile_id, words_score, ranks) using (profile_id)
    cross join lateral (
      select coalesce(coverage * words_score, min_keyword) as keyword
    ) as by_keyword
    order by score desc, keyword desc, profile_id
    limit greatest(0, least(page_limit, max_results - page_offset))
    offset (select page_offset - certainly_before from page_bounds)
  )
  select
    coalesce(json_agg(body order by score desc, keyword desc, profile_id), '[]'),
    (select least(max_results, count(*)) from candidates),
    case
      when facets is not null then private.facet_distribution(facets, array(select profile_id from candidates))
    end
  into hits, total, distribution
  from page
  join private.search_entries as entry using (profile_id)
  cross join lateral (select private.shown_score(score) as shown) as calibrated
  cross join lateral (
    select case
      when explain then (
        private.hit_body(entry, shown)::jsonb || jsonb_build_object('_rankingScoreDetails', jsonb_build_object(
          'words', private.keyword_details(ranks), 'coverage', coverage, 'keyword', keyword,
          'cosine', cosine, 'similarityFloor', model.similarity_floor, 'similarityCeiling', model.similarity_ceiling,
          'namesMissing', names_missing, 'semantic', semantic, 'ratio', ratio, 'named', in_name, 'context', context
        ))
      )::json
      else private.hit_body(entry, shown)
    end as body
  ) as printed;
  perform private.check_deadline();
  if (request ->> 'highlight')::boolean then
    hits := private.highlight(hits => hits, asked => asked);
  end if;
  return (
    left(
      json_build_object(
        'hits', hits, 'query', coalesce(request ->> 'q', ''), 'estimatedTotalHits', total, 'limit', page_limit,
        'offset', page_offset
      )::text,
      -1
    ) || coalesce(', "facetDistribution" : ' || distribution, '') || '}'
  )::json;
end
$$;
comment on function private.find_profiles(
  jsonb, private.search_query, private.search_filter, extensions.halfvec, extensions.halfvec, double precision
) is
  'The ranking of a search {q, model, limit, offset, explain, facets, highlight}: profiles that contain words of the
query or are similar to it in meaning, filtered, best first. At most 1,000 count by words and 100 by meaning. Embeddings
are read, and then exact keyword scores computed, only for those that can be on the page. Facets are counted over all
candidates.';

create function api.search_profiles(request jsonb)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  asked private.search_query := case
    when request -> 'asked' is null then private.read_query(coalesce(request ->> 'words', request ->> 'q', ''))
    else jsonb_populate_record(null::private.search_query, request -> 'asked')
  end;
  filter private.search_filter := private.read_filter(request, asked, me);
  query_vector extensions.halfvec := (request ->> 'vector')::extensions.halfvec;
  context_vector extensions.halfvec;
  liked private.search_entries;
begin
  perform set_config('api.time_limit', coalesce(request ->> 'timeout' || ' ms', ''), true);
  if request ->> 'like' is not null then
    liked := private.like_profile((request ->> 'like')::bigint, me);
    filter.hidden_ids := filter.hidden_ids || liked.profile_id;
    filter.passing := array_remove(filter.passing, liked.profile_id);
    if liked.model = request ->> 'model' then
      -- Halfway between the query and the profile; one of them if the other has no vector.
      query_vector := coalesce(
        extensions.l2_normalize(query_vector) operator(extensions.+) extensions.l2_normalize(liked.embedding),
        liked.embedding, query_vector
      );
    elsif cardinality(asked.units) = 0 then
      -- It is not embedded yet, so who is like it is found by words.
      asked := private.read_query(array_to_string(liked.interests, ' '));
    end if;
  elsif me is not null then
    select embedding into context_vector
    from private.search_contexts
    where user_id = me and search_contexts.model = request ->> 'model';
  end if;
  perform private.check_deadline();
  return private.find_profiles(
    request => request, asked => asked, filter => filter, query_vector => query_vector,
    context_vector => context_vector, semantic_ratio => 0.5
  );
end
$$;
comment on function api.search_profiles(jsonb) is
  'Searches profiles for {q, asked, vector, model, interests, cities, countries, limit, offset, explain, facets,
highlight, like, timeout}. A user''s search prefers what is near to their own context. `like` is a profile that takes the place of the context, and ranks by itself if there is no
`q`. After `timeout` milliseconds the search is cancelled (57014). Definer, because no role may read the index; this
function is the only access to it, beside api.complete_search.';
grant execute on function api.search_profiles(jsonb) to edge_functions;
