-- The search itself: who is found by words or by meaning, and in what order.
create function private.as_keys(list jsonb)
returns text[]
language sql immutable parallel safe set search_path = ''
as $$
  select coalesce(array_agg(distinct private.fold(trim(value))), '{}')
  from jsonb_array_elements_text(coalesce(list, '[]')) as value
$$;
comment on function private.as_keys(jsonb) is 'The values of a filter as facet keys: folded and trimmed.';

create type private.search_filter as (
  interests text[],
  cities text[],
  countries text[],
  must tsquery,
  must_not tsquery,
  caller bigint,
  hidden bigint[]
);
comment on type private.search_filter is
  'What a profile must have to be found at all: facet keys, phrases, no excluded words, and another owner than the caller or, where there
are blocks, those hidden from the caller.';

-- Without `set search_path`, so that it is inlined and the indexes of what it asks for are used.
create function private.is_sought(entry private.search_entries, sought private.search_filter)
returns boolean
language sql immutable security invoker
as $$
  select (sought.interests = '{}' or entry.interest_keys && sought.interests)
    and (sought.cities = '{}' or entry.city_key = any (sought.cities))
    and (sought.countries = '{}' or entry.country_key = any (sought.countries))
    and (sought.must is null or entry.words @@ sought.must)
    and (sought.must_not is null or not entry.words @@ sought.must_not)
    and (sought.caller is null or entry.user_id <> sought.caller)
    and (sought.hidden is null or entry.user_id <> all (sought.hidden))
$$;
comment on function private.is_sought(private.search_entries, private.search_filter) is 'Whether a profile passes the filters of a search.';

create function private.hit_body(entry private.search_entries, score double precision)
returns json
language sql stable set search_path = ''
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

create function private.bearing_terms(terms private.search_term[])
returns private.search_term[]
language sql stable security definer set search_path = ''
as $$
  with units as (
    -- A word that every fourth profile has tells nothing of any one: it counts where it stands, and brings nobody up by itself. With 25
    -- profiles or fewer no word is common.
    select
      unit,
      max(entries) > greatest(25, (select max(entries) / 4 from private.search_lexicon)) and not bool_or(quoted) as is_common
    from unnest(terms)
    group by unit
  )
  select array_agg(term order by term.entries, term.word)
  from unnest(terms) as term
  join units using (unit)
  where not is_common or (select bool_and(is_common) from units)
$$;
comment on function private.bearing_terms(private.search_term[]) is
  'The terms that bring somebody into the hits, rarest first; without those of common words, unless there are no others. Definer, because
callers do not read the lexicon.';

create function private.holders_of(
  terms private.search_term[],
  sought private.search_filter,
  within bigint[],
  most integer
)
returns bigint[]
language plpgsql stable security definer
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  anybody constant boolean := sought.interests || sought.cities || sought.countries = '{}'
    and coalesce(sought.must, sought.must_not) is null
    and sought.caller is null;
begin
  return array(
    select profile_id
    from (
      select profile_id, unit
      from (
        select posting.profile_id, term.unit
        from unnest(terms) as term
        cross join lateral (
          -- The offsets keep Postgres to its index.
          (
            select listed.profile_id
            from private.search_postings as listed
            where within is null and listed.word = term.word
            offset 0
          )
          union all
          (
            select listed.profile_id
            from private.search_postings as listed
            where within is not null and listed.word = term.word and listed.profile_id = any (within)
            offset 0
          )
        ) as posting
        where (anybody and term.phrase is null)
          or exists (
            select
            from private.search_entries as entry
            where entry.profile_id = posting.profile_id
              and (term.phrase is null or entry.words @@ term.phrase)
              and private.is_sought(entry, sought)
          )
        -- One profile may hold every term.
        limit most * cardinality(terms)
      ) as held
      group by profile_id, unit
    ) as units
    group by profile_id
    order by count(*) desc, profile_id
    limit most
  );
end
$$;
comment on function private.holders_of(private.search_term[], private.search_filter, bigint[], integer) is
  'Who holds any of the terms and passes the filters, those first who hold the most of the query, at most so many. Definer, because callers
do not read the index.';

create function private.nearest_profiles(
  meaning extensions.halfvec,
  meaning_model text,
  sought private.search_filter,
  reach integer,
  furthest double precision
)
returns bigint[]
language plpgsql stable security definer
set search_path = 'extensions'
set hnsw.iterative_scan = 'strict_order'
set hnsw.ef_search = 100
-- The one plan that there is to be: a walk along the index.
set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off
set enable_sort = off
as $$
begin
  return array(
    select profile_id
    from (
      select profile_id, embedding <=> meaning as distance
      from private.search_entries as entry
      where model = meaning_model
        and private.is_sought(entry, sought)
      order by embedding <=> meaning
      limit reach
    ) as nearest
    where distance <= furthest
  );
end
$$;
comment on function private.nearest_profiles(extensions.halfvec, text, private.search_filter, integer, double precision) is
  'The profiles nearest to a vector by cosine distance, at most so many and so far away, along the index. Definer, because callers do not read it.';

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
-- Planning its statements anew would take longer than most of them.
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  -- No more are scored, and no total counts further, whatever a query matches.
  most constant integer := 1000;
  -- Up to so many rows, measuring every one is as quick as walking the index, and exact.
  few constant integer := 2000;
  model private.search_models;
  words constant private.query_word[] := array(select part from private.parse_query(query) as part);
  asked constant integer := coalesce((select max(place) from unnest(words) where not excluded), 0);
  allowed constant integer[] := array(select private.typo_budget(word) from unnest(words) where not excluded order by place);
  -- As many neighbours as one walk of the index yields; who asks with no words gets them all, near or not.
  reach constant integer := case when asked > 0 then 100 else most end;
  furthest double precision := 2;
  terms private.search_term[];
  sought private.search_filter;
  filtered boolean;
  within bigint[];
  by_words bigint[] := array[]::bigint[];
  by_meaning bigint[] := array[]::bigint[];
  answer json;
begin
  select * into model from private.search_models where name = meaning_model;
  if model.name is null then
    meaning := null;
  end if;
  if asked > 0 then
    furthest := 1 - model.near_enough;
    terms := coalesce(private.terms_of(words), '{}');
  end if;
  with units as (
    select excluded, quoted, string_agg(quote_literal(word), ' <-> ' order by place)::tsquery as phrase
    from unnest(words)
    group by excluded, quoted, unit
  )
  select
    private.as_keys(filters -> 'interests'),
    private.as_keys(filters -> 'cities'),
    private.as_keys(filters -> 'countries'),
    (select string_agg(phrase::text, ' & ')::tsquery from units where quoted and not excluded),
    (select string_agg('(' || phrase::text || ')', ' | ')::tsquery from units where excluded),
    caller,
    private.kept_from(caller)
  into sought;
  filtered := sought.interests || sought.cities || sought.countries <> '{}';

  if filtered or not exists (select from private.search_entries offset few) then
    -- Planned for the filters at hand, so that it takes their indexes.
    execute 'select array(select profile_id from private.search_entries as entry where private.is_sought(entry, $1) limit $2 + 1)'
    into within
    using sought, few;
    if cardinality(within) > few then
      within := null;
    end if;
  end if;

  if cardinality(terms) > 0 then
    by_words := private.holders_of(private.bearing_terms(terms), sought, within, most);
  end if;
  if asked = 0 and meaning is null then
    by_words := array(
      select profile_id
      from private.search_entries as entry
      where private.is_sought(entry, sought)
      order by profile_id
      limit most
    );
  end if;

  if meaning is not null and within is not null then
    by_meaning := array(
      select profile_id
      from private.search_entries
      where profile_id = any (within)
        and search_entries.model = meaning_model
        and embedding <=> meaning <= furthest
      order by embedding <=> meaning, profile_id
      limit reach
    );
  elsif meaning is not null then
    by_meaning := private.nearest_profiles(meaning, meaning_model, sought, reach, furthest);
  end if;

  with keyword as (
    select * from private.keyword_scores(by_words, terms, asked, allowed)
  ),
  measured as materialized (
    select profile_id, entry.model = meaning_model and meaning is not null as has_meaning, 1 - (embedding <=> meaning) as cosine
    from private.search_entries as entry
    where profile_id = any (by_words || by_meaning)
  ),
  scored as (
    select
      measured.profile_id,
      case when asked = 0 and meaning is null then 1 else coalesce(keyword.score, 0) end as keyword,
      keyword.named,
      keyword.ranks,
      case when has_meaning then cosine end as cosine,
      -- A leg that is missing, for the whole query or for one entry, leaves all the weight to the other.
      case when not coalesce(has_meaning, false) then 0 when cardinality(by_words) = 0 then 1 else ratio end as ratio
    from measured
    left join keyword on keyword.profile_id = measured.profile_id
  ),
  calibrated as (
    select
      *,
      coalesce(least(1, greatest(0, (cosine - model.nothing_alike) / (model.much_alike - model.nothing_alike))), 0) as semantic
    from scored
  ),
  ranked as materialized (
    select
      *,
      greatest(
        (1 - calibrated.ratio) * keyword + calibrated.ratio * semantic,
        case when named then keyword end
      ) as score
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
            private.hit_body(entry, page.score)::jsonb || jsonb_build_object('_rankingScoreDetails', jsonb_build_object(
              'words', private.keyword_details(page.ranks),
              'keyword', page.keyword,
              'cosine', page.cosine,
              'nothingAlike', model.nothing_alike,
              'muchAlike', model.much_alike,
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
