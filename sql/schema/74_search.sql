-- The search itself: who is found by words or by meaning, and in what order.
create function private.as_keys(list jsonb)
returns text[]
language sql immutable parallel safe set search_path = ''
as $$
  select coalesce(array_agg(distinct private.fold(trim(value))), '{}')
  from jsonb_array_elements_text(coalesce(list, '[]')) as value
$$;
comment on function private.as_keys(jsonb) is 'The values of a filter as facet keys: folded and trimmed.';

create function private.hit_body(entry private.search_entries, score double precision)
returns jsonb
language sql stable set search_path = ''
as $$
  select jsonb_build_object(
    'id', entry.profile_id,
    'user_id', entry.user_id,
    'name', entry.name,
    'biography', entry.biography,
    'city', entry.city,
    'country', entry.country,
    'interests', to_jsonb(entry.interests),
    'image_url', entry.image_url,
    '_rankingScore', score
  )
$$;
comment on function private.hit_body(private.search_entries, double precision) is 'A search hit, as printed.';

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
language plpgsql stable security definer
set search_path = 'extensions'
set hnsw.iterative_scan = 'strict_order'
set hnsw.ef_search = 100
as $$
declare
  -- No more are scored, and no total counts further, whatever a query matches.
  most constant integer := 1000;
  -- Up to so many rows, measuring every one is as quick as walking the index, and exact.
  few constant integer := 2000;
  like_interests constant text[] := private.as_keys(filters -> 'interests');
  like_cities constant text[] := private.as_keys(filters -> 'cities');
  like_countries constant text[] := private.as_keys(filters -> 'countries');
  -- With so few profiles no word is common.
  few_profiles constant integer := 25;
  common integer;
  model private.search_models;
  parsed record;
  terms private.search_term[];
  any_word tsquery;
  every_word tsquery;
  must tsquery;
  must_not tsquery;
  by_words bigint[] := '{}';
  by_meaning bigint[] := '{}';
  near record;
  answer json;
begin
  select * into model from private.search_models where name = meaning_model;
  if model.name is null then
    meaning := null;
  end if;

  select
    coalesce(max(place) filter (where not excluded), 0) as asked,
    array_agg(private.typo_budget(word) order by place) filter (where not excluded) as allowed
  into parsed
  from private.parse_query(query);
  if parsed.asked > 0 then
    terms := coalesce(private.terms_of(query), '{}');
  end if;

  -- A word that every fourth profile has tells nothing of any one: it counts where it stands, and brings nobody up by itself.
  select max(entries) / 4 into common from private.search_lexicon;

  with units as (
    select unit, bool_or(quoted) as quoted, excluded, string_agg(quote_literal(word), ' <-> ' order by place)::tsquery as phrase
    from private.parse_query(query)
    group by unit, excluded
  ),
  meant as (
    select
      units.unit,
      units.quoted,
      coalesce(
        (array_agg(term.phrase) filter (where term.phrase is not null))[1],
        string_agg(quote_literal(term.word), ' | ')::tsquery
      ) as matches,
      coalesce(max(lexicon.entries), 0) > greatest(common, few_profiles) and not units.quoted as is_common
    from units
    left join unnest(terms) as term on term.unit = units.unit
    left join private.search_lexicon as lexicon on lexicon.word = term.word
    where not units.excluded
    group by units.unit, units.quoted
  )
  select
    (
      select string_agg('(' || matches::text || ')', ' | ')::tsquery
      from meant
      where not is_common or (select bool_and(is_common or matches is null) from meant)
    ),
    (select case when bool_and(matches is not null) then string_agg('(' || matches::text || ')', ' & ')::tsquery end from meant),
    (select string_agg('(' || matches::text || ')', ' & ')::tsquery from meant where quoted),
    (select string_agg('(' || phrase::text || ')', ' | ')::tsquery from units where excluded)
  into any_word, every_word, must, must_not;

  if every_word is not null then
    by_words := array(
      select profile_id
      from private.search_entries as entry
      where entry.words @@ every_word
        and (must_not is null or not entry.words @@ must_not)
        and user_id is distinct from caller
        and (cardinality(like_interests) = 0 or interest_keys && like_interests)
        and (cardinality(like_cities) = 0 or city_key = any (like_cities))
        and (cardinality(like_countries) = 0 or country_key = any (like_countries))
      limit most
    );
  end if;
  if any_word is not null and cardinality(by_words) < most then
    by_words := array(
      select unnest(by_words)
      union all
      (
        select profile_id
        from private.search_entries as entry
        where entry.words @@ any_word
          and (every_word is null or not entry.words @@ every_word)
          and (must is null or entry.words @@ must)
          and (must_not is null or not entry.words @@ must_not)
          and user_id is distinct from caller
          and (cardinality(like_interests) = 0 or interest_keys && like_interests)
          and (cardinality(like_cities) = 0 or city_key = any (like_cities))
          and (cardinality(like_countries) = 0 or country_key = any (like_countries))
        limit most - cardinality(by_words)
      )
    );
  end if;

  if meaning is not null then
    if (
      select count(*) <= few
      from (
        select
        from private.search_entries
        where (cardinality(like_interests) = 0 or interest_keys && like_interests)
          and (cardinality(like_cities) = 0 or city_key = any (like_cities))
          and (cardinality(like_countries) = 0 or country_key = any (like_countries))
        limit few + 1
      ) as filtered
    ) then
      by_meaning := array(
        select profile_id
        from private.search_entries as entry
        where entry.model = meaning_model
          and (parsed.asked = 0 or 1 - (embedding <=> meaning) >= model.near_enough)
          and (must is null or entry.words @@ must)
          and (must_not is null or not entry.words @@ must_not)
          and user_id is distinct from caller
          and (cardinality(like_interests) = 0 or interest_keys && like_interests)
          and (cardinality(like_cities) = 0 or city_key = any (like_cities))
          and (cardinality(like_countries) = 0 or country_key = any (like_countries))
        order by (embedding <=> meaning) + 0, profile_id
        limit most
      );
    else
      -- The index gives neighbours nearest first, so the walk ends where they are no longer near enough.
      for near in
        select profile_id, 1 - (embedding <=> meaning) as cosine
        from private.search_entries as entry
        where entry.model = meaning_model
          and (must is null or entry.words @@ must)
          and (must_not is null or not entry.words @@ must_not)
          and user_id is distinct from caller
          and (cardinality(like_interests) = 0 or interest_keys && like_interests)
          and (cardinality(like_cities) = 0 or city_key = any (like_cities))
          and (cardinality(like_countries) = 0 or country_key = any (like_countries))
        order by embedding <=> meaning
        limit most
      loop
        exit when parsed.asked > 0 and near.cosine < model.near_enough;
        by_meaning := by_meaning || near.profile_id;
      end loop;
    end if;
  end if;

  if parsed.asked = 0 and meaning is null then
    by_words := array(
      select profile_id
      from private.search_entries as entry
      where (must_not is null or not entry.words @@ must_not)
        and user_id is distinct from caller
        and (cardinality(like_interests) = 0 or interest_keys && like_interests)
        and (cardinality(like_cities) = 0 or city_key = any (like_cities))
        and (cardinality(like_countries) = 0 or country_key = any (like_countries))
      order by profile_id
      limit most
    );
  end if;

  with keyword as (
    select * from private.keyword_scores(by_words, terms, parsed.asked, parsed.allowed)
  ),
  scored as (
    select
      entry.profile_id,
      case when parsed.asked = 0 and meaning is null then 1 else coalesce(keyword.score, 0) end as keyword,
      keyword.named,
      keyword.details,
      case when entry.model = meaning_model and meaning is not null then 1 - (entry.embedding <=> meaning) end as cosine,
      -- A leg that is missing, for the whole query or for one entry, leaves all the weight to the other.
      case
        when meaning is null or entry.model is distinct from meaning_model then 0
        when cardinality(by_words) = 0 then 1
        else ratio
      end as ratio
    from private.search_entries as entry
    left join keyword on keyword.profile_id = entry.profile_id
    where entry.profile_id = any (by_words || by_meaning)
  ),
  calibrated as (
    select
      *,
      coalesce(least(1, greatest(0, (cosine - model.nothing_alike) / (model.much_alike - model.nothing_alike))), 0) as semantic
    from scored
  ),
  ranked as (
    select
      *,
      case
        when named then greatest((1 - calibrated.ratio) * keyword + calibrated.ratio * semantic, keyword)
        else (1 - calibrated.ratio) * keyword + calibrated.ratio * semantic
      end as score
    from calibrated
  ),
  page as (
    select *
    from ranked
    order by score desc, keyword desc, profile_id
    limit greatest(0, least(page_limit, most - page_offset))
    offset page_offset
  )
  select json_build_object(
    'hits', coalesce(
      json_agg(
        case
          when explain then (
            jsonb_build_object('_rankingScoreDetails', jsonb_build_object(
              'words', page.details,
              'keyword', page.keyword,
              'cosine', page.cosine,
              'nothingAlike', model.nothing_alike,
              'muchAlike', model.much_alike,
              'semantic', page.semantic,
              'ratio', page.ratio,
              'named', coalesce(page.named, false)
            )) || private.hit_body(entry, page.score)
          )::json
          else private.hit_body(entry, page.score)::json
        end
        order by page.score desc, page.keyword desc, page.profile_id
      ),
      '[]'
    ),
    'query', query,
    'estimatedTotalHits', least(most, (select count(*) from ranked)),
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
  'The search: profiles that hold the words of a query or are near it in meaning, filtered, best first, with their exact number up to
1,000. score = (1 - ratio) * keyword + ratio * semantic, both reckoned for every profile that either leg found, and never less than the
keyword score where all the words stand in the name. Definer, because callers do not read the index.';
