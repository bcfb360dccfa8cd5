-- The search: api.search_profiles reads what is asked for, and find_profiles takes the candidates, scores the best of
-- them, and prints the requested page. Of the search's functions only those of schema api are security definer;
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
  -- This many of those with the words are scored at once, beside the neighbours, the others only for a later page.
  block_size constant integer := 100;
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
  weight double precision;
  neighbour_ids bigint[];
  hits json;
  total integer;
  distribution json;
begin
  select * into model from private.search_models where name = query_model;
  if model.name is null then
    query_vector := null;
    context_vector := null;
  end if;
  weight := private.semantic_weight(semantic_ratio => semantic_ratio, trust => coalesce(model.trust, 1));
  if not has_words and query_vector is null then
    query_vector := context_vector;
    context_vector := null;
  end if;
  if query_vector is not null then
    neighbour_ids := array(
      select profile_id
      from private.nearest_profiles(
        query_vector => query_vector, query_model => query_model, filter => filter, max_results => max_neighbours,
        -- Without words there is no threshold: every profile is a hit.
        max_distance => case when has_words then 1 - model.similarity_threshold else 2 end
      )
    );
  end if;
  perform private.check_deadline();

  with matches as materialized (
    select profile_id, rank, row_number() over (order by rank desc, profile_id) as place
    from (
      select * from private.keyword_candidates(asked => asked, filter => filter, max_results => max_results)
      where has_words
      union all
      (
        select profile_id, 0
        from private.search_words as stored
        where not has_words
          and private.matches_filter(stored.profile_id, stored.words, filter)
          and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
        order by profile_id
        limit max_results
      )
    ) as found
  ),
  -- Nobody is put before those of an earlier block.
  candidates as materialized (
    select either.profile_id, rank,
      -- Without words to score, one block does.
      case
        when neighbour is null and (has_words or query_vector is null) then (place - 1) / block_size else 0
      end as block
    from matches
    full join unnest(neighbour_ids) as neighbour on neighbour = matches.profile_id
    cross join lateral (select coalesce(matches.profile_id, neighbour) as profile_id) as either
  ),
  wanted as materialized (
    select first_block, (select count(*) from candidates where block between 1 and first_block - 1) as skipped
    from (select block as first_block from candidates order by block offset page_offset limit 1) as reached
  ),
  scoring as materialized (
    select profile_id, block
    from candidates
    where block = 0
      or block between (select first_block from wanted)
        and coalesce((select block from candidates order by block offset page_end - 1 limit 1), max_results)
  ),
  -- These three are materialized so that each step gets columns, without which its functions are not inlined.
  scored as materialized (
    select
      *,
      private.final_score(
        semantic_weight => own_weight, keyword => keyword, semantic => semantic, in_name => named,
        has_all_words => has_words and coalesce(coverage > 0.999999, false)
      ) as query_score
    from scoring
    left join private.keyword_scores(
      ids => array(select profile_id from scoring where has_words), asked => asked,
      words_asked => (select max(place) from unnest(asked.terms))
    ) as exact using (profile_id)
    cross join lateral (
      select
        case when entry.model = query_model then 1 - (entry.embedding <=> query_vector) end as cosine,
        case when entry.model = query_model then 1 - (entry.embedding <=> context_vector) end as context_cosine
      from private.search_entries as entry
      where entry.profile_id = scoring.profile_id
      -- Makes Postgres look up the entries instead of reading all.
      offset 0
    ) as entry
    cross join lateral (
      select
        -- Without words every profile is a hit, with score 1 unless the caller's context ranks them.
        case when has_words then coalesce(coverage * exact.score, 0) else (query_vector is null)::integer end
          as keyword,
        greatest(0, names_share - coalesce(names_found, 0)) as names_missing,
        -- An entry without a vector (such as one whose words the model does not know) is scored by words alone.
        case when cosine is null then 0 else weight end as own_weight,
        coalesce(in_name, false) as named,
        private.context_nearness(cosine => context_cosine, model => model) as context
    ) as parts
    cross join lateral (
      select private.semantic_score(cosine => cosine, model => model, names_missing => names_missing) as semantic
    ) as by_meaning
  ),
  shown as materialized (
    select *, private.shown_score(query_score, weight) as shown
    from scored
  ),
  ranked as materialized (
    select
      *,
      shown + private.context_bonus(
        shown => shown, nearness => context, highest => case when keyword > 0 then 1 else 0.7 end
      ) as own_score
    from shown
  ),
  page as (
    select
      *,
      -- Scores never rise down the list: those behind the first block stay between the ranks of their own and the next.
      case when block = 0 then own_score else least(
        last_shown * coalesce((select max(rank) from candidates where candidates.block = ranked.block) / last_rank, 1),
        greatest(
          own_score,
          last_shown * (select max(rank) from candidates where candidates.block = ranked.block + 1) / last_rank
        )
      ) end as shown_score
    from ranked
    cross join (
      select
        (select min(own_score) from ranked where block = 0) as last_shown,
        (select nullif(max(rank), 0) from candidates where block > 0) as last_rank
    ) as ends
    order by block, own_score desc, keyword desc, cosine desc nulls last, profile_id
    limit greatest(0, least(page_limit, max_results - page_offset))
    offset page_offset - coalesce((select skipped from wanted), 0)
  )
  select
    coalesce(json_agg(body order by block, own_score desc, keyword desc, cosine desc nulls last, profile_id), '[]'),
    (select least(max_results, count(*)) from candidates),
    case
      when facets is not null then private.facet_distribution(facets, array(select profile_id from candidates))
    end
  into hits, total, distribution
  from page
  cross join lateral (
    select case
      when explain then (
        private.hit_body(entry, shown_score)::jsonb || jsonb_build_object('_rankingScoreDetails', jsonb_build_object(
          'words', private.keyword_details(ranks), 'coverage', coverage, 'keyword', keyword,
          'cosine', cosine, 'similarityFloor', model.similarity_floor, 'similarityCeiling', model.similarity_ceiling,
          'namesMissing', names_missing, 'semantic', semantic, 'ratio', semantic_ratio, 'trust', model.trust,
          'named', named, 'context', context
        ))
      )::json
      else private.hit_body(entry, shown_score)
    end as body
    from private.search_entries as entry
    where entry.profile_id = page.profile_id
    offset 0
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
query or are similar to it in meaning, filtered, best first. At most 1,000 count by words and 100 by meaning. Facets are
counted over all candidates.';

create function api.search_profiles(request jsonb)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  understood constant json := case when request ? 'guess' then api.understand_query(request) end;
  asked private.search_query := case
    when request ? 'asked' then jsonb_populate_record(null::private.search_query, request -> 'asked')
    when request ? 'guess' then json_populate_record(null::private.search_query, understood -> 'asked')
    else private.read_query(coalesce(request ->> 'words', request ->> 'q', ''))
  end;
  filter private.search_filter;
  query_vector extensions.halfvec := (request ->> 'vector')::extensions.halfvec;
  context_vector extensions.halfvec;
  liked private.search_entries;
begin
  if understood ->> 'text' is distinct from request ->> 'guess' then
    return json_build_object('understood', understood);
  end if;
  perform set_config('api.time_limit', coalesce(request ->> 'timeout' || ' ms', ''), true);
  filter := private.read_filter(request, asked, me);
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
    context_vector => context_vector,
    -- The contract's two ratios.
    semantic_ratio => case when me is null then 0.5 else 0.7 end
  );
end
$$;
comment on function api.search_profiles(jsonb) is
  'Searches profiles for {q, asked, guess, vector, model, interests, cities, countries, limit, offset, explain, facets,
highlight, like, timeout}. `guess`, with what api.understand_query takes, stands for `asked`: the text that the vector
was made from, as api.understand_query returned it before. If that has changed, the answer is {understood}. A user''s
search prefers what is near to their own context. `like` is a profile that takes the place of the context, and ranks by
itself if there is no `q`. After `timeout` milliseconds the search is cancelled (57014). Definer, because no role may
read the index; this function is the only access to it, beside api.complete_search.';
grant execute on function api.search_profiles(jsonb) to edge_functions;
