-- The profiles that a search considers: those that pass its filters and contain words of the query or are similar to it
-- in meaning. Of the search's functions only api.search_profiles is security definer; nobody may call the ones that it
-- calls.

create function private.facet_keys(list jsonb)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select coalesce(array_agg(distinct private.fold(trim(value))), '{}')
    from jsonb_array_elements_text(coalesce(list, '[]')) as value
  );
end
$$;
comment on function private.facet_keys(jsonb) is 'The values of a filter as facet keys: folded and trimmed.';

create type private.search_filter as (
  interests text[],
  cities text[],
  countries text[],
  required tsquery,
  excluded tsquery,
  hidden_ids bigint[]
);
comment on type private.search_filter is
  'The conditions that every hit must meet: facet keys, required phrases, and excluded words. hidden_ids are the
caller''s own profile and those of users whom a block hides from the caller.';

-- Without `set search_path`, so that Postgres inlines it and can use the indexes.
create function private.matches_filter(entry private.search_entries, filter private.search_filter)
returns boolean
language sql immutable security invoker
as $$
  select (filter.interests = '{}' or entry.interest_keys && filter.interests)
    and (filter.cities = '{}' or entry.city_key = any (filter.cities))
    and (filter.countries = '{}' or entry.country_key = any (filter.countries))
    and (filter.required is null or entry.words @@ filter.required)
    and (filter.excluded is null or not entry.words @@ filter.excluded)
    and (filter.hidden_ids = '{}' or entry.profile_id <> all (filter.hidden_ids))
$$;
comment on function private.matches_filter(private.search_entries, private.search_filter) is
  'Whether an entry meets the conditions of a search.';

create function private.filter_profiles(filter private.search_filter, word text, max_results integer)
returns bigint[]
language plpgsql stable security invoker set search_path = ''
as $$
declare
  ids bigint[];
begin
  -- Planned at each call, so that Postgres takes the index that fits the filter.
  execute
    'select array(
       select profile_id
       from private.search_entries as entry
       where private.matches_filter(entry, $1)
         and ($2 is null or profile_id in (
           select posting.profile_id from private.search_postings as posting where posting.word = $2
         ))
       limit $3
     )'
  into ids
  using filter, word, max_results;
  return ids;
end
$$;
comment on function private.filter_profiles(private.search_filter, text, integer) is
  'Up to max_results profiles that pass the filter and, if a word is given, contain it.';

create function private.selective_terms(terms private.search_term[])
returns private.search_term[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    with units as (
      -- A word in more than every fourth profile distinguishes none: it is scored, but adds no candidates. With 25
      -- profiles or fewer no word is common.
      select
        unit,
        max(entries) > greatest(25, (select max(entries) / 4 from private.search_lexicon)) and not bool_or(quoted)
          as is_common
      from unnest(terms)
      group by unit
    ),
    rarest as (
      select place, unit
      from (
        select
          *,
          row_number() over (partition by unit order by entries, word) as rank_in_unit,
          row_number() over (partition by phrase is null order by entries, word) as rank
        from unnest(terms)
      ) as numbered
      join units using (unit)
      -- If every run of letters contains a common letter, only the rarest of them all adds candidates, and the others
      -- are only scored. Each would have to be checked for in nearly every profile, which took 0.8 s for ten runs.
      where rank_in_unit = 1 and (rank = 1 or not is_common)
    )
    select array_agg(term order by term.entries, term.word)
    from unnest(terms) as term
    join units using (unit)
    where (not is_common or (select bool_and(is_common) from units))
      and (term.phrase is null or (term.place, term.unit) in (select place, unit from rarest))
  );
end
$$;
comment on function private.selective_terms(private.search_term[]) is
  'The terms that add candidates, rarest first: of a phrase its rarest word, and common words only if there are no
others.';

create function private.keyword_matches(
  terms private.search_term[],
  filter private.search_filter,
  filtered_ids bigint[],
  max_results integer
)
returns bigint[]
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  -- filtered_ids have passed the filter already.
  passes_filter constant boolean := filtered_ids is not null or (
    filter.interests || filter.cities || filter.countries = '{}'
    and coalesce(filter.required, filter.excluded) is null
  );
begin
  return array(
    select profile_id
    from (
      select profile_id, unit
      from (
        select posting.profile_id, term.unit
        from unnest(terms) as term
        cross join lateral (
          -- `offset 0` makes Postgres use the index on words. Looking up thousands of profiles for each of hundreds of
          -- words takes longer than reading the few that contain a word.
          (
            select listed.profile_id
            from private.search_postings as listed
            where (filtered_ids is null or term.entries <= cardinality(filtered_ids)) and listed.word = term.word
            offset 0
          )
          union all
          (
            select listed.profile_id
            from private.search_postings as listed
            where term.entries > cardinality(filtered_ids)
              and listed.word = term.word
              and listed.profile_id = any (filtered_ids)
            offset 0
          )
        ) as posting
        where (filtered_ids is null or posting.profile_id in (select unnest(filtered_ids)))
          and posting.profile_id not in (select unnest(filter.hidden_ids))
          and (
            (passes_filter and term.phrase is null)
            or exists (
              select
              from private.search_entries as entry
              where entry.profile_id = posting.profile_id
                and (term.phrase is null or entry.words @@ term.phrase)
                and (passes_filter or private.matches_filter(entry, filter))
            )
          )
        -- One profile may contain every term.
        limit max_results * cardinality(terms)
      ) as matches
      group by profile_id, unit
    ) as matched_units
    group by profile_id
    order by count(*) desc, profile_id
    limit max_results
  );
end
$$;
comment on function private.keyword_matches(private.search_term[], private.search_filter, bigint[], integer) is
  'Up to max_results profiles that contain any of the terms and pass the filter, those that match the most units of the
query first. filtered_ids, if not null, are all the profiles that pass the filter.';

create function private.resolve_phrases(terms private.search_term[], ids bigint[])
returns private.search_term[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    with matches as (
      select phrases.unit, array_agg(entry.profile_id) as ids
      from unnest(resolve_phrases.ids) as id
      cross join lateral (
        select profile_id, words
        from private.search_entries
        where profile_id = id
        offset 0
      ) as entry
      join (select distinct unit, phrase from unnest(terms) where phrase is not null and not quoted) as phrases
        on entry.words @@ phrases.phrase
      group by phrases.unit
    )
    select array_agg(
      row(
        place, unit, word, typos, exact, entries, quoted, null,
        case when phrase is not null and not quoted then coalesce(matches.ids, '{}') end
      )::private.search_term
      order by place
    )
    from unnest(terms) as term
    left join matches using (unit)
  );
end
$$;
comment on function private.resolve_phrases(private.search_term[], bigint[]) is
  'The terms without their phrases, for candidates that contain everything in quotes. Looks up once which of them
contain which run of letters.';

create function private.nearest_profiles(
  query_vector extensions.halfvec,
  query_model text,
  filter private.search_filter,
  exclude_ids bigint[],
  max_results integer,
  max_distance double precision,
  out ids bigint[],
  out distances double precision[]
)
language plpgsql stable security invoker
set search_path = 'extensions'
-- Nearly in the order of the distances. Strict order takes half as long again, and find_profiles sorts them.
set hnsw.iterative_scan = 'relaxed_order'
set hnsw.ef_search = 100
-- Allow only one plan, a scan of the vector index.
set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off
set enable_sort = off
as $$
declare
  neighbour record;
  misses integer := 0;
begin
  ids := array[]::bigint[];
  distances := array[]::double precision[];
  for neighbour in
    select profile_id, embedding <=> query_vector as distance
    from private.search_entries as entry
    where model = query_model
      and private.matches_filter(entry, filter)
      and profile_id not in (select unnest(exclude_ids))
    order by embedding <=> query_vector
  loop
    if neighbour.distance <= max_distance then
      ids := ids || neighbour.profile_id;
      distances := distances || neighbour.distance;
      misses := 0;
    else
      misses := misses + 1;
    end if;
    -- ef_search, the size of a batch. If a whole batch is too far away, so are all that follow.
    exit when misses = 100 or cardinality(ids) >= max_results;
  end loop;
end
$$;
comment on function private.nearest_profiles(
  extensions.halfvec, text, private.search_filter, bigint[], integer, double precision
) is
  'Up to max_results profiles within max_distance of a vector, without exclude_ids, and their cosine distances. Scans
the vector index.';
