-- The search itself. Of its functions only those of schema api are security definer; no role may call the others.

create function private.shown_score(score double precision, semantic_weight double precision)
returns double precision
language sql immutable parallel safe
as $$
  select case
    when score < 0.88 * semantic_weight then score * 0.5 / (0.88 * semantic_weight)
    -- It may be greater by an error of rounding.
    when score <= semantic_weight + 1e-9
      then least(0.699, 0.5 + (score - 0.88 * semantic_weight) * 0.199 / (0.12 * semantic_weight))
    else 0.7 + coalesce((score - semantic_weight) * 0.3 / nullif(1 - semantic_weight, 0), 0)
  end
$$;
comment on function private.shown_score(double precision, double precision) is
  'A final score as hits show it, in the same order. A meaning alone reaches the weight of meaning, shown as .699; at .5
half of such hits are wanted (bench/search/quality.ts --curve).';

create function private.weight_value(words tsvector, query tsquery)
returns double precision
language sql immutable parallel safe
as $$
  -- The best weight decides the order of magnitude of the rank.
  select ('{0.92, 0.96, 0.98, 1}'::double precision[])[
    1 + width_bucket(ts_rank('{1e-18, 1e-12, 1e-6, 1}', words, query), array[1e-15, 1e-9, 1e-3])
  ]
$$;
comment on function private.weight_value(tsvector, tsquery) is
  'What a word that somebody has is worth, by the best field: name, interests, place, biography.';

create function private.match_words(ids bigint[], neighbour_ids bigint[], asked private.search_query)
returns table (
  profile_id bigint, coverage double precision, words_matched bigint, names_missing double precision, has_all boolean,
  in_name boolean, is_name boolean, lives boolean, lacks boolean
)
language plpgsql stable security invoker set search_path = ''
as $$
#variable_conflict use_column
declare
  all_rarity constant double precision := (select sum(unit.rarity) from unnest(asked.units) as unit);
  -- Of more than one word, and where no place is asked for, so that the name of a place is not one of a person.
  name_words constant tsquery := (
    select case when count(*) > 1 and asked.home is null then private.all_of((
      private.lexeme(word) || ':A' || case when word || '*' = any (unit.loose) then '*' else '' end
    )::tsquery) end
    from unnest(asked.units) as unit
    cross join unnest(unit.words) as word
  );
  neighbours constant tsquery := (
    select private.all_of(one.exact_query <-> other.query)
    from unnest(asked.units) as one
    join unnest(asked.units) as other on other.number = one.number + 1
    where one.place is null and other.place is null
  );
begin
  return query
    select
      stored.profile_id, case when are_apart then 0.97 * share else share end as coverage, words_matched, names_missing,
      least_worth > 0 as has_all, least_worth = 1 or is_name or has_name_words as in_name, is_name, lives, lacks
    from private.search_words as stored
    -- One after the other for each profile: a join with the units copied the words of all of them.
    cross join lateral (
      select
        coalesce(sum(worth * rarity) / all_rarity, 0) as share,
        count(*) filter (where worth > 0) as words_matched,
        coalesce(sum(rarity) filter (where is_named and worth = 0) / all_rarity, 0) as names_missing,
        coalesce(min(worth), 0) as least_worth
      from (
        select rarity, is_named, case
          when ts_match_vq(stored.words, exact_query) then private.weight_value(stored.words, exact_query)
          when ts_match_vq(stored.words, query) then 0.8 * private.weight_value(stored.words, query)
          else 0
        end as worth
        from unnest(asked.units)
        -- Else once for each of the sums.
        offset 0
      ) as worths
    ) as by_unit
    cross join lateral (
      select
        coalesce(ts_match_vq(stored.words, asked.called_so), false) as is_name,
        coalesce(ts_match_vq(stored.words, name_words), false) as has_name_words,
        coalesce(ts_match_vq(stored.words, asked.home), true) as lives,
        coalesce(ts_match_vq(stored.words, asked.lacking), false) as lacks,
        not coalesce(ts_match_vq(stored.words, neighbours), true) as are_apart
    ) as person
    where stored.profile_id = any (ids)
      and (words_matched > 0 or lacks or stored.profile_id = any (neighbour_ids) or cardinality(asked.units) = 0)
    order by is_name desc, lives desc, in_name desc, coverage desc, profile_id;
end
$$;
comment on function private.match_words is
  'How profiles match the words of a query: those of these that have any, or are neighbours in meaning. `coverage`: the
share of the query''s rarity that it has; `in_name`: the name has all the words, and with `is_name` no others; `lives`:
in the place that is asked for, true if none is; `lacks`: says to lack what is denied.';

create function private.score_profiles(
  ids bigint[], neighbour_ids bigint[], asked private.search_query, model private.search_models,
  query_vector extensions.halfvec, context_vector extensions.halfvec, semantic_weight double precision
)
returns table (
  profile_id bigint, score double precision, keyword double precision, cosine double precision,
  semantic double precision, context double precision, coverage double precision, words_matched bigint,
  names_missing double precision, in_name boolean, is_name boolean, lives boolean, lacks boolean
)
language plpgsql stable security invoker set search_path = 'extensions'
as $$
#variable_conflict use_column
declare
  has_words constant boolean := cardinality(asked.units) > 0;
  -- So many of those with the words are compared in meaning, beside the neighbours; the others follow by words alone.
  -- With 60 the labelled sets have the same order.
  max_compared constant integer := case when has_words then 100 else 1000 end;
begin
  return query
    with matches as materialized (
      select *, profile_id = any (neighbour_ids) or ordinality <= max_compared as is_compared
      from private.match_words(ids, neighbour_ids, asked) with ordinality
    ),
    -- `offset 0`, here and below: each step gets columns, which are computed once. Lateral joins take 2 µs more a row.
    near as (
      select profile_id, (whole + coalesce(sentence, whole)) / 2 as cosine, context_cosine
      from (
        select
          profile_id, 1 - (embedding <=> query_vector) as whole, 1 - (embedding <=> context_vector) as context_cosine,
          (
            select max(1 - (part.embedding <=> query_vector))
            from private.search_sentences as part
            where has_words and query_vector is not null and part.profile_id = entry.profile_id
          ) as sentence
        from private.search_entries as entry
        where coalesce(query_vector, context_vector) is not null and entry.model = model.name
          and profile_id = any (array(select profile_id from matches where is_compared))
        offset 0
      ) as similarities
    ),
    parts as (
      select
        *,
        -- Without words every profile is a hit, with score 1 unless its nearness ranks it.
        case
          when has_words and asked.lacking is not null then ((2 * coverage + lacks::integer) / 3) ^ 2
          when has_words then coverage ^ 2
          when lacks then 1
          else (query_vector is null)::integer
        end as keyword,
        -- 0 without a cosine, since greatest() ignores nulls. No embedding has names, so the share of the query that
        -- its missing names have is taken off.
        (1 - names_missing) * least(1, greatest(
          0, (cosine - model.similarity_floor) / (model.similarity_ceiling - model.similarity_floor)
        )) as semantic,
        -- Squared, because many strangers are somewhat alike.
        case when lacks then 1 else least(1, greatest(
          0, (context_cosine - model.similarity_threshold) / (model.similarity_ceiling - model.similarity_threshold)
        )) ^ 2 end as context
      from matches
      left join near using (profile_id)
      offset 0
    ),
    weighed as (
      -- An entry without a vector (such as one whose words the model does not know) is scored by words alone.
      select *, 1 - keyword - (semantic - keyword) * case
        when is_compared and cosine is null then 0 else semantic_weight
      end as missing
      from parts
      -- A name means nothing, so nobody is near to it.
      where not has_words or keyword > 0 or cosine >= model.similarity_threshold and semantic > 0
      offset 0
    ),
    ranked as (
      -- Whoever has all the words gets .15 of what is missing to 1.
      select *, private.shown_score(
        case when in_name then 1 when has_all then 1 - 0.85 * missing else 1 - missing end, semantic_weight
      ) as shown
      from weighed
      offset 0
    ),
    -- The context decides among people whom the query leaves about equal. Rejected: a fifth of what is missing to 1,
    -- which moves nobody at the top (18 of the 32 callers of tests/search/tastes saw their own kind first, now 27).
    own as (
      select *, shown + context * least(
        0.1 * shown, 0.9 * (case when keyword > 0 or lacks then 1 else 0.699::double precision end - shown)
      ) as own_score
      from ranked
    ),
    scored as (
      select *, case
        -- Whoever does not mention what alone is denied may have it.
        when not has_words and asked.lacking is not null and not lacks then 0.5 * own_score
        when asked.home is null or in_name then own_score
        -- Who lives in the place has .5 or more, the others less.
        when lives then 0.5 + 0.5 * own_score
        else 0.499 * own_score
      end as score
      from own
    )
    select
      profile_id, case when is_compared then score else least(score, min(score) filter (where is_compared) over ()) end,
      keyword, cosine, semantic, context, coverage, words_matched, names_missing, in_name, is_name, lives, lacks
    from scored;
end
$$;
comment on function private.score_profiles is
  'All hits among these profiles, with their scores and the parts of them (docs/search.md). Nobody is put before those
who were compared in meaning, which all neighbours are.';

create function private.find_profiles(
  request jsonb, asked private.search_query, filter private.search_filter, query_vector extensions.halfvec,
  context_vector extensions.halfvec, semantic_ratio double precision
)
returns json
language plpgsql stable security invoker
set search_path = 'extensions'
-- As read_query and read_filter, for all that it calls: planning most of the statements takes longer than running them.
set enable_seqscan = off set plan_cache_mode = 'force_generic_plan'
as $$
declare
  max_results constant integer := 1000;
  page_offset constant bigint := (request ->> 'offset')::bigint;
  has_words constant boolean := cardinality(asked.units) > 0;
  model private.search_models;
  trust double precision;
  neighbour_ids bigint[] := array[]::bigint[];
  candidate_ids bigint[];
  answer json;
begin
  select * into model from private.search_models where name = request ->> 'model';
  trust := coalesce(model.trust, 1);
  if model.name is null then
    query_vector := null;
    context_vector := null;
  end if;
  if not has_words and query_vector is null then
    query_vector := context_vector;
    context_vector := null;
  end if;
  if query_vector is not null then
    neighbour_ids := array(
      select profile_id
      from private.nearest_profiles(
        query_vector => query_vector, query_model => model.name, filter => filter, max_results => 100,
        -- Without words there is no threshold: every profile is a hit.
        max_distance => case when has_words then 1 - model.similarity_threshold else 2 end
      )
    );
  end if;
  perform private.check_deadline();
  candidate_ids := private.keyword_candidates(asked => asked, filter => filter, max_results => max_results);
  if not has_words then
    candidate_ids := candidate_ids || array(
      select stored.profile_id
      from private.search_words as stored
      where private.matches_filter(stored.profile_id, stored.words, filter)
        and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
      order by stored.profile_id
      limit max_results
    );
  end if;
  perform private.check_deadline();

  with ranked as materialized (
    select *
    from private.score_profiles(
      ids => candidate_ids || neighbour_ids, neighbour_ids => neighbour_ids,
      asked => asked, model => model, query_vector => query_vector, context_vector => context_vector,
      -- (1 - r) k + r c s, divided by (1 - r) + r c, is (1 - w) k + w s.
      semantic_weight => semantic_ratio * trust / (1 - semantic_ratio + semantic_ratio * trust)
    )
  ),
  page as (
    select *
    from ranked
    order by score desc, lacks desc, is_name desc, keyword desc, cosine desc nulls last, profile_id
    limit greatest(0, least((request ->> 'limit')::integer, max_results - page_offset))
    offset page_offset
  )
  select json_build_object(
    'hits', coalesce(json_agg(case when details is null then hit else (hit::jsonb || details)::json end), '[]'),
    'estimatedTotalHits', (select least(max_results, count(*)) from ranked),
    'facetDistribution', case when request -> 'facets' is not null then private.facet_distribution(
      array(select jsonb_array_elements_text(request -> 'facets')), array(select profile_id from ranked)
    ) end
  )
  into answer
  from page
  cross join lateral (
    select
      json_build_object(
        'id', profile_id, 'user_id', user_id, 'name', name, 'biography', biography, 'city', city, 'country', country,
        'interests', interests, 'image_url', image_url, '_rankingScore', score
      ) as hit,
      case when (request ->> 'explain')::boolean then jsonb_build_object('_rankingScoreDetails', jsonb_build_object(
        'words', case when words_matched > 0 then
          json_build_object('words', json_build_array(words_matched, cardinality(asked.units)))
        end,
        'coverage', coverage, 'keyword', keyword, 'cosine', cosine, 'similarityFloor', model.similarity_floor,
        'similarityCeiling', model.similarity_ceiling, 'namesMissing', names_missing, 'semantic', semantic,
        'ratio', semantic_ratio, 'trust', model.trust, 'named', in_name, 'context', context,
        'lives', case when asked.home is not null then lives end
      )) end as details
    from private.search_entries
    where profile_id = page.profile_id
    offset 0
  ) as printed;
  return answer;
end
$$;
comment on function private.find_profiles is
  'The hits of a search {model, limit, offset, explain, facets}, best first.';

create function private.shown_spellings(spellings jsonb, hidden_ids bigint[])
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select coalesce(json_agg(spelling order by place), '[]')
    from jsonb_array_elements(spellings) with ordinality as listed (spelling, place)
    where not exists (
      select
      from unnest(private.words_of(spelling ->> 'to')) as word
      where not exists (
        select from private.search_words where words @@ private.lexeme(word)::tsquery and profile_id <> all (hidden_ids)
      )
    )
  );
end
$$;
comment on function private.shown_spellings(jsonb, bigint[]) is
  'Those whose words somebody has who is not hidden: else they would tell a name across a block.';

create function private.describe_query(asked private.search_query, hidden_ids bigint[])
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select json_build_object(
      'places', coalesce(json_agg(
        array_to_string(words, case when words[1] ~ ('^[' || private.unspaced_letters() || ']') then '' else ' ' end)
      ) filter (where exists (select from unnest(exact) as term where term like '@in %')), '[]'),
      'corrections', private.shown_spellings(asked.corrections, hidden_ids),
      'completions', private.shown_spellings(asked.completions, hidden_ids),
      'unknown', asked.unknown,
      'wanted', coalesce(json_agg(json_build_object(
        'unit', number, 'phrase', cardinality(words) > 1, 'quoted', quoted, 'common',
        rarity <= ln(3) and private.count_profiles() > 50, 'words', array(
          select json_build_object(
            'word', rtrim(term, '*'), 'prefix', term like '%*',
            'typos', (kind = 'loose' and term not like '%*')::integer
          )
          from (
            select 'exact' as kind, unnest(exact) as term
            union all
            -- What a phrase may stand for is no word of it.
            select 'loose', unnest(loose) where cardinality(words) = 1 or place is not null
          ) as terms
          where term !~ '^[@~]'
        )
      )), '[]')
    )
    from unnest(asked.units)
  );
end
$$;
comment on function private.describe_query(private.search_query, bigint[]) is 'What to say and highlight of a query.';

create function api.search_profiles(request jsonb)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  asked constant private.search_query := private.read_query(coalesce(request -> 'words', '[]'));
  filter private.search_filter;
  query_vector extensions.halfvec := (request ->> 'vector')::extensions.halfvec;
  context_vector extensions.halfvec;
  liked private.search_entries;
  is_draft constant boolean := coalesce((request ->> 'isDraft')::boolean, false);
begin
  perform set_config('api.time_limit', coalesce(request ->> 'timeout' || ' ms', ''), true);
  filter := private.read_filter(request, asked, me);
  if request ->> 'like' is not null then
    select * into liked
    from private.search_entries
    where profile_id = (request ->> 'like')::bigint and user_id <> all (coalesce(private.blocked_users_of(me), '{}'));
    if liked.profile_id is null then
      raise sqlstate 'PT404' using message = 'No such profile';
    end if;
    filter.hidden_ids := filter.hidden_ids || liked.profile_id;
    filter.passing := array_remove(filter.passing, liked.profile_id);
    if liked.model = request ->> 'model' then
      -- Halfway between the query and the profile; one of them if the other has no vector.
      query_vector := coalesce(
        extensions.l2_normalize(query_vector) operator(extensions.+) extensions.l2_normalize(liked.embedding),
        liked.embedding, query_vector
      );
    end if;
  elsif me is not null then
    select embedding into context_vector
    from private.search_contexts
    where user_id = me and search_contexts.model = request ->> 'model';
  end if;
  perform private.check_deadline();
  return json_build_object(
    'answer', case
      -- The vector is not yet that of what was meant.
      when not is_draft or asked.corrections || asked.completions = '[]' then private.find_profiles(
        request => request, asked => asked, filter => filter, query_vector => query_vector,
        context_vector => context_vector,
        -- The contract's two ratios.
        semantic_ratio => case when me is null then 0.5 else 0.7 end
      )
    end,
    'query', private.describe_query(asked, private.hidden_profiles_of(me))
  );
end
$$;
comment on function api.search_profiles(jsonb) is
  'Searches profiles for {words, vector, model, interests, cities, countries, age, limit, offset, explain,
facets, like, timeout, isNobody, isDraft}: {answer, query}, as private.find_profiles and private.describe_query print
them. `words` are private.query_words. Where words of a draft are corrected or completed, answer is null: the vector
must be made of what is meant. `like` is a profile that takes the place of the context, and ranks by itself if there is
no query. After `timeout` milliseconds the search is cancelled (57014). Definer, because no role may read the index.';
