-- The search itself: whom words or meaning found, in what order, and the page that is asked for.
-- Without `set search_path`, so that it is inlined: called, twenty of them take a millisecond.
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
comment on function private.hit_body(private.search_entries, double precision) is 'A search hit, as printed.';

create function private.hybrid_score(ratio double precision, keyword double precision, semantic double precision, named boolean)
returns double precision
language sql immutable parallel safe
as $$
  select greatest((1 - ratio) * keyword + ratio * semantic, case when named then keyword end)
$$;
comment on function private.hybrid_score(double precision, double precision, double precision, boolean) is
  'Both parts of a score by their weights, and never less than that of the words where all of them stand in the name. Without a
search_path, to be inlined.';

create function private.find_profiles(
  query text,
  meaning extensions.halfvec,
  meaning_model text,
  ratio double precision,
  filters jsonb,
  caller bigint,
  page_limit integer,
  page_offset bigint,
  explain boolean
)
returns json
language plpgsql stable security invoker
set search_path = 'extensions'
-- Planning its statements anew would take longer than max_results of them.
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  -- No more are scored, and no total counts further, whatever a query matches.
  max_results constant integer := 1000;
  -- Up to so many rows, measuring every one is exact, and quicker than walking the index, on which those that a filter leaves lie far apart.
  exact_scan_limit integer := 2000;
  model private.search_models;
  words constant private.query_word[] := array(select part from private.parse_query(query) as part);
  asked constant integer := coalesce((select max(place) from unnest(words) where not excluded), 0);
  in_quotes constant integer := (select count(*) from unnest(words) where quoted and not excluded and place is not null);
  allowed constant integer[] := array(select private.typo_budget(word) from unnest(words) where not excluded and place is not null order by place);
  -- Who asks with no words gets everybody, near or not.
  max_distance double precision := 2;
  hidden constant bigint[] := caller || private.blocked_users_of(caller);
  terms private.search_term[];
  selective private.search_term[];
  rarest private.search_term;
  sought private.search_filter;
  filtered boolean;
  often boolean;
  reach integer;
  within bigint[];
  by_words bigint[] := array[]::bigint[];
  by_meaning bigint[] := array[]::bigint[];
  distances double precision[];
  scores_all boolean;
  answer json;
begin
  select * into model from private.search_models where name = meaning_model;
  if model.name is null then
    meaning := null;
  end if;
  if asked > 0 then
    max_distance := 1 - model.similarity_threshold;
    terms := coalesce(private.terms_of(words), '{}');
  end if;
  with units as (
    select excluded, quoted, string_agg(quote_literal(word), ' <-> ' order by position)::tsquery as phrase
    from unnest(words)
    group by excluded, quoted, unit
  )
  select
    private.as_keys(filters -> 'interests'),
    private.as_keys(filters -> 'cities'),
    private.as_keys(filters -> 'countries'),
    (select string_agg(phrase::text, ' & ')::tsquery from units where quoted and not excluded),
    (select string_agg('(' || phrase::text || ')', ' | ')::tsquery from units where excluded),
    array(select profile_id from private.search_entries where user_id = any (hidden))
  into sought;
  selective := private.selective_terms(terms);
  filtered := sought.interests || sought.cities || sought.countries <> '{}';
  -- To look at every profile once takes less than at each as often as it has a word, where the words are common.
  often := sought.must_not is not null and (select sum(entries) from unnest(selective)) > exact_scan_limit;
  if filtered or often or sought.must is not null then
    exact_scan_limit := 10000;
  end if;
  perform private.check_deadline();

  if sought.must is not null then
    -- Whoever has the rarest of the words is looked at, once, and nobody else; of more than these who pass, the first.
    select * into rarest from unnest(terms) where quoted order by entries limit 1;
    within := case
      when (select count(distinct place) from unnest(terms) where quoted) < in_quotes then '{}'
      else private.filter_profiles(sought, rarest.word, exact_scan_limit)
    end;
  elsif filtered or often or not exists (select from private.search_entries offset exact_scan_limit) then
    within := private.filter_profiles(sought, null, exact_scan_limit + 1);
    if cardinality(within) > exact_scan_limit then
      within := null;
    end if;
  end if;
  perform private.check_deadline();

  if cardinality(selective) > 0 then
    by_words := private.keyword_matches(selective, sought, within, max_results);
    if exists (select from unnest(terms) where phrase is not null) then
      terms := private.resolve_phrases(terms, by_words);
    end if;
    perform private.check_deadline();
  end if;
  if asked = 0 and meaning is null then
    by_words := array(
      select profile_id
      from private.search_entries as entry
      where private.matches_filter(entry, sought)
      order by profile_id
      limit max_results
    );
  end if;

  perform private.check_deadline();
  -- Those exclude_ids whom the words brought, as many as the total still counts, and no fewer than make the first pages.
  reach := greatest(100, max_results - cardinality(by_words));
  if meaning is not null and within is not null then
    select coalesce(array_agg(profile_id), '{}'), coalesce(array_agg(distance), '{}')
    into by_meaning, distances
    from (
      select profile_id, embedding <=> meaning as distance
      from private.search_entries
      where profile_id = any (within)
        and profile_id not in (select unnest(by_words))
        and search_entries.model = meaning_model
        and embedding <=> meaning <= max_distance
      order by distance, profile_id
      limit reach
    ) as nearest;
  elsif meaning is not null then
    select ids, nearest.distances
    into by_meaning, distances
    from private.nearest_profiles(meaning, meaning_model, sought, by_words, reach, max_distance) as nearest;
  end if;

  -- Far down the list, or at its end, bounds leave out so exact_scan_limit that to find them takes longer than to score all.
  scores_all := page_offset + page_limit >= least(200, cardinality(by_words) + cardinality(by_meaning));
  perform private.check_deadline();
  with measured as (
    select id as profile_id, null::double precision as cosine
    from unnest(by_words) as id
    where meaning is null
    union all
    select profile_id, case when entry.model = meaning_model then 1 - (embedding <=> meaning) end
    from private.search_entries as entry
    where meaning is not null and profile_id = any (by_words)
    union all
    select id, 1 - distance
    from unnest(by_meaning, distances) as near (id, distance)
  ),
  bounds as (
    select * from private.keyword_bounds(case when not scores_all then by_words end, terms, asked, allowed)
  ),
  weighed as (
    select
      measured.profile_id,
      case when asked = 0 and meaning is null then 1 else coalesce(bounds.at_least, 0) end as at_least,
      case when asked = 0 and meaning is null then 1 else coalesce(bounds.at_most, 0) end as at_most,
      bounds.named,
      cosine,
      -- 0 without a cosine, since greatest() passes nulls over.
      least(1, greatest(0, (cosine - model.similarity_floor) / (model.similarity_ceiling - model.similarity_floor))) as semantic,
      -- A leg that is missing, for the whole query or for one entry (also one of which the model knows no word), leaves all the weight to the
      -- other.
      case when cosine is null then 0 when cardinality(by_words) = 0 then 1 else ratio end as ratio
    from measured
    left join bounds on bounds.profile_id = measured.profile_id
  ),
  candidates as materialized (
    select
      *,
      private.hybrid_score(weighed.ratio, at_least, semantic, named) as lowest,
      private.hybrid_score(weighed.ratio, at_most, semantic, named) as highest
    from weighed
  ),
  contenders as materialized (
    -- Who cannot come onto the page, however well they hold the words, need not be scored. Less a little, for what rounding does.
    select *
    from candidates
    where scores_all or highest >= coalesce(
      (select lowest from candidates order by lowest desc offset least(page_offset, max_results) + page_limit - 1 limit 1) - 1e-9,
      0
    )
  ),
  keyword as (
    select *
    from private.keyword_scores(
      case when scores_all then by_words else array(select profile_id from contenders where named is not null) end, terms, asked, allowed
    )
  ),
  ranked as (
    select
      contenders.profile_id,
      coalesce(keyword.score, contenders.at_least) as keyword,
      keyword.named,
      keyword.ranks,
      contenders.cosine,
      contenders.semantic,
      contenders.ratio,
      private.hybrid_score(contenders.ratio, coalesce(keyword.score, contenders.at_least), semantic, keyword.named) as score
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
              'nothingAlike', model.similarity_floor,
              'muchAlike', model.similarity_ceiling,
              'semantic', page.semantic,
              'ratio', page.ratio,
              'named', coalesce(page.named, false)
            ))
          )::json
          else private.hit_body(entry, page.score)
        end
        order by page.score desc, page.keyword desc, page.profile_id
      ),
      '[]'
    ),
    'query', query,
    'estimatedTotalHits', least(max_results, cardinality(by_words) + cardinality(by_meaning)),
    'limit', page_limit,
    'offset', page_offset
  )
  into answer
  from page
  join private.search_entries as entry on entry.profile_id = page.profile_id;
  return answer;
end
$$;
comment on function private.find_profiles(text, extensions.halfvec, text, double precision, jsonb, bigint, integer, bigint, boolean) is
  'The search: profiles that hold the words of a query or are near it in meaning, filtered, best first, with their number up to 1,000,
which beyond 2,000 profiles, or 10,000 that a filter leaves, is as exact as a walk along the index of vectors. Of everybody whom either leg
found it reckons both parts of the score, that of the words as closely as the page needs.';
