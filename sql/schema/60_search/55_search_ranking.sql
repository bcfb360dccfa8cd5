-- The search: api.search_profiles reads what is asked for, and find_profiles takes the candidates, scores the best of
-- them, and prints the requested page. Of the search's functions only those of schema api are security definer;
-- no role may call the functions behind them. Functions without a search_path are inlined.

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
  select case
    when in_name then 1
    else 1 - case when has_all_words then 0.85 else 1 end * (1 - keyword - semantic_weight * (semantic - keyword))
  end
$$;
comment on function private.final_score(double precision, double precision, double precision, boolean, boolean) is
  'What profiles are ranked by without a context: the weighted sum of both scores; 1 where the name has all the words.
Whoever has all the words gets .15 of what is missing to 1.';

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

create function private.placed_score(shown double precision, lives boolean, in_name boolean)
returns double precision
language sql immutable parallel safe
as $$
  select case when in_name then shown when lives then 0.5 + 0.5 * shown else 0.499 * shown end
$$;
comment on function private.placed_score(double precision, boolean, boolean) is
  'A shown score where a query asks for a place: whoever lives there has .5 or more, the others less, but for a person
who has the name.';

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

create type private.scored_profile as (
  profile_id bigint,
  score double precision,
  keyword double precision,
  cosine double precision,
  semantic double precision,
  context double precision,
  matched private.keyword_match
);
comment on type private.scored_profile is
  'A profile with its score as hits show it, and the parts: `keyword`, the square of the coverage, so that one
accidental word of five says little; `cosine`, half of the whole''s and half of its nearest sentence''s; `semantic` and
`context`, 0 to 1.';

create function private.score_profiles(
  matches private.keyword_match[],
  model private.search_models,
  query_vector extensions.halfvec,
  context_vector extensions.halfvec,
  semantic_weight double precision,
  has_words boolean,
  has_place boolean
)
returns setof private.scored_profile
language plpgsql stable security invoker
set search_path = 'extensions'
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return query
    select
      match.profile_id,
      case when has_place then private.placed_score(own_score, match.lives, match.in_name) else own_score end,
      keyword, found.cosine, semantic, context, match
    from unnest(matches) as match
    -- `offset 0`, here and below: each step gets columns, without which its functions are not inlined.
    cross join lateral (
      select
        case when entry.model = model.name then 1 - (entry.embedding <=> query_vector) end as whole,
        case when entry.model = model.name then 1 - (entry.embedding <=> context_vector) end as context_cosine,
        (
          select max(1 - (sentence.embedding <=> query_vector))
          from private.search_sentences as sentence
          where has_words and sentence.profile_id = match.profile_id
        ) as sentence
      from private.search_entries as entry
      where entry.profile_id = match.profile_id
      offset 0
    ) as near
    cross join lateral (select (whole + coalesce(sentence, whole)) / 2 as cosine offset 0) as found
    cross join lateral (
      select
        -- Without words every profile is a hit, with score 1 unless its nearness ranks it.
        case when has_words then match.coverage ^ 2 else (query_vector is null)::integer end as keyword,
        private.semantic_score(
          cosine => found.cosine, model => model, names_missing => match.names_missing
        ) as semantic,
        private.context_nearness(cosine => context_cosine, model => model) as context
      offset 0
    ) as parts
    cross join lateral (
      select private.shown_score(
        private.final_score(
          -- An entry without a vector (such as one whose words the model does not know) is scored by words alone.
          semantic_weight => case when found.cosine is null then 0 else semantic_weight end,
          keyword => keyword, semantic => semantic, in_name => has_words and match.in_name,
          has_all_words => has_words and match.has_all
        ),
        semantic_weight
      ) as shown
      offset 0
    ) as ranked
    cross join lateral (
      select shown + private.context_bonus(
        shown => shown, nearness => context, highest => case when keyword > 0 then 1 else 0.7 end
      ) as own_score
      offset 0
    ) as own;
end
$$;
comment on function private.score_profiles(
  private.keyword_match[], private.search_models, extensions.halfvec, extensions.halfvec, double precision, boolean,
  boolean
) is
  'The scores of profiles, by their words, their nearness in meaning, their place and the caller''s context.';

create function private.rank_profiles(
  ids bigint[],
  neighbour_ids bigint[],
  asked private.search_query,
  model private.search_models,
  query_vector extensions.halfvec,
  context_vector extensions.halfvec,
  semantic_weight double precision
)
returns setof private.scored_profile
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  has_words constant boolean := cardinality(asked.units) > 0;
  has_place constant boolean := exists (select from unnest(asked.units) where lives is not null);
  -- So many of those with the words are compared in meaning, beside the neighbours; the others follow by words alone.
  max_compared constant integer := case when has_words then 150 else 1000 end;
begin
  return query
    with matches as materialized (
      select match.* from private.match_words(ids, asked) as match where has_words
      union all
      select id, 0, 0, false, false, false, true, 0 from unnest(ids) as id where not has_words
    ),
    placed as materialized (
      select
        row(matches.*)::private.keyword_match as matched,
        row_number() over (order by is_name desc, lives desc, in_name desc, coverage desc, profile_id) <= max_compared
          or profile_id = any (neighbour_ids) as is_compared
      from matches
    ),
    compared as materialized (
      select scored.*
      from private.score_profiles(
        matches => array(select matched from placed where is_compared), model => model, query_vector => query_vector,
        context_vector => context_vector, semantic_weight => semantic_weight, has_words => has_words,
        has_place => has_place
      ) as scored
      -- A name means nothing, so nobody is near to it.
      where not has_words or keyword > 0 or cosine >= model.similarity_threshold and semantic > 0
    )
    select * from compared
    union all
    select
      (matched).profile_id,
      least(
        (select min(compared.score) from compared),
        case when has_place then private.placed_score(shown, (matched).lives, (matched).in_name) else shown end
      ),
      keyword, null, null, null, matched
    from placed
    cross join lateral (select (matched).coverage ^ 2 as keyword offset 0) as parts
    cross join lateral (
      select private.shown_score(
        private.final_score(
          semantic_weight => semantic_weight, keyword => keyword, semantic => 0, in_name => (matched).in_name,
          has_all_words => (matched).has_all
        ),
        semantic_weight
      ) as shown
      offset 0
    ) as ranked
    where not is_compared;
end
$$;
comment on function private.rank_profiles(
  bigint[], bigint[], private.search_query, private.search_models, extensions.halfvec, extensions.halfvec,
  double precision
) is
  'All hits of a search among these profiles, with their scores. Nobody is put before those who were compared in
meaning, which all neighbours are.';

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
  page_limit constant integer := (request ->> 'limit')::integer;
  page_offset constant bigint := (request ->> 'offset')::bigint;
  has_words constant boolean := cardinality(asked.units) > 0;
  model private.search_models;
  weight double precision;
  neighbour_ids bigint[] := array[]::bigint[];
  candidate_ids bigint[];
  answer json;
begin
  select * into model from private.search_models where name = request ->> 'model';
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
        query_vector => query_vector, query_model => model.name, filter => filter, max_results => max_neighbours,
        -- Without words there is no threshold: every profile is a hit.
        max_distance => case when has_words then 1 - model.similarity_threshold else 2 end
      )
    );
  end if;
  perform private.check_deadline();
  candidate_ids := case
    when has_words then private.keyword_candidates(asked => asked, filter => filter, max_results => max_results)
    else array(
      select stored.profile_id
      from private.search_words as stored
      where private.matches_filter(stored.profile_id, stored.words, filter)
        and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
      order by stored.profile_id
      limit max_results
    )
  end;
  perform private.check_deadline();

  with ranked as materialized (
    select *
    from private.rank_profiles(
      ids => array(select unnest(candidate_ids) union select unnest(neighbour_ids)), neighbour_ids => neighbour_ids,
      asked => asked, model => model, query_vector => query_vector, context_vector => context_vector,
      semantic_weight => weight
    )
  ),
  page as (
    select *, row_number() over (
      order by score desc, (matched).is_name desc, keyword desc, cosine desc nulls last, profile_id
    ) as place
    from ranked
    order by place
    limit greatest(0, least(page_limit, max_results - page_offset))
    offset page_offset
  )
  select json_build_object(
    'hits', coalesce(json_agg(body order by place), '[]'),
    'estimatedTotalHits', (select least(max_results, count(*)) from ranked),
    'facetDistribution', case when request -> 'facets' is not null then private.facet_distribution(
      array(select jsonb_array_elements_text(request -> 'facets')), array(select profile_id from ranked)
    ) end
  )
  into answer
  from page
  cross join lateral (
    select case
      when (request ->> 'explain')::boolean then (
        private.hit_body(entry, score)::jsonb || jsonb_build_object('_rankingScoreDetails', jsonb_build_object(
          'words', case when (matched).words_matched > 0 then
            json_build_object('words', json_build_array((matched).words_matched, cardinality(asked.units)))
          end,
          'coverage', (matched).coverage, 'keyword', keyword, 'cosine', cosine,
          'similarityFloor', model.similarity_floor, 'similarityCeiling', model.similarity_ceiling,
          'namesMissing', (matched).names_missing, 'semantic', semantic, 'ratio', semantic_ratio, 'trust', model.trust,
          'named', (matched).in_name, 'context', context,
          'lives', case when exists (select from unnest(asked.units) where lives is not null) then (matched).lives end
        ))
      )::json
      else private.hit_body(entry, score)
    end as body
    from private.search_entries as entry
    where entry.profile_id = page.profile_id
    offset 0
  ) as printed;
  return answer;
end
$$;
comment on function private.find_profiles(
  jsonb, private.search_query, private.search_filter, extensions.halfvec, extensions.halfvec, double precision
) is
  'The ranking of a search {model, limit, offset, explain, facets}: profiles that contain words of the query or are
similar to it in meaning, filtered, best first, as {hits, estimatedTotalHits, facetDistribution}. At most 1,000 count by
words and 100 by meaning. Facets are counted over all of them.';

create function private.describe_query(asked private.search_query)
returns json
language sql stable security invoker set search_path = ''
as $$
  select json_build_object(
    'places', coalesce(json_agg(
      array_to_string(words, case when words[1] ~ ('^[' || private.unspaced_letters() || ']') then '' else ' ' end)
    ) filter (where exists (select from unnest(exact) as term where term like '@in %')), '[]'),
    'corrections', asked.corrections,
    'completions', asked.completions,
    'unknown', asked.unknown,
    'wanted', coalesce(json_agg(json_build_object(
      'unit', number, 'phrase', is_phrase, 'quoted', quoted, 'common', is_common, 'words', case
        when is_phrase then to_json(array(
          select json_build_object('word', word, 'typos', 0, 'prefix', false) from unnest(words) as word
        ))
        else to_json(array(
          select json_build_object(
            'word', rtrim(term, '*'), 'prefix', term like '%*',
            'typos', (kind = 'loose' and term not like '%*')::integer
          )
          from (
            select 'exact' as kind, unnest(exact) as term union all select 'loose', unnest(loose)
          ) as terms
          where term !~ '^[@~]'
        ))
      end
    )), '[]')
  )
  from unnest(asked.units)
$$;
comment on function private.describe_query(private.search_query) is
  'What the Edge Function says of a query: names of places, corrections, completions,
unknown words, and what to highlight.';

create function api.search_profiles(request jsonb)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  asked private.search_query := private.read_query(
    coalesce(request -> 'tokens', '[]'), private.words_of(request ->> 'known')
  );
  filter private.search_filter;
  query_vector extensions.halfvec := (request ->> 'vector')::extensions.halfvec;
  context_vector extensions.halfvec;
  liked private.search_entries;
begin
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
      asked := private.read_query(
        (select json_agg(json_build_object('text', interest))::jsonb from unnest(liked.interests) as interest)
      );
    end if;
  elsif me is not null then
    select embedding into context_vector
    from private.search_contexts
    where user_id = me and search_contexts.model = request ->> 'model';
  end if;
  perform private.check_deadline();
  return json_build_object(
    'answer', private.find_profiles(
      request => request, asked => asked, filter => filter, query_vector => query_vector,
      context_vector => context_vector,
      -- The contract's two ratios.
      semantic_ratio => case when me is null then 0.5 else 0.7 end
    ),
    'query', private.describe_query(asked)
  );
end
$$;
comment on function api.search_profiles(jsonb) is
  'Searches profiles for {tokens, known, vector, model, interests, cities, countries, age, limit, offset, explain,
facets, like, timeout, isNobody}: {answer, query}, as private.find_profiles and private.describe_query print them.
`tokens` are private.search_tokens, `known` the words that the model knows, `vector` that of the query. A user''s search
prefers what is near to their own context. `like` is a profile that takes the place of the context, and ranks by itself
if there is no query. After `timeout` milliseconds the search is cancelled (57014). Definer, because no role may read
the index; this function is the only access to it, beside api.complete_search.';
grant execute on function api.search_profiles(jsonb) to edge_functions;
