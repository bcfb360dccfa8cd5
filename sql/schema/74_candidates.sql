-- Who may be found at all, who holds words of the query, and who is near it in meaning. Nothing of the search asks as its owner but the
-- verb, search_profiles: what it calls, nobody else may call.
create function private.as_keys(list jsonb)
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
comment on function private.as_keys(jsonb) is 'The values of a filter as facet keys: folded and trimmed.';

create type private.search_filter as (
  interests text[],
  cities text[],
  countries text[],
  must tsquery,
  must_not tsquery,
  hidden_ids bigint[]
);
comment on type private.search_filter is
  'What a profile must have to be found at all: facet keys, phrases, no excluded words; and it must not be one of those that the caller is not
shown, their own and those of whoever is hidden from them.';

-- Without `set search_path`, so that it is inlined and the indexes of what it asks for are used.
create function private.matches_filter(entry private.search_entries, sought private.search_filter)
returns boolean
language sql immutable security invoker
as $$
  select (sought.interests = '{}' or entry.interest_keys && sought.interests)
    and (sought.cities = '{}' or entry.city_key = any (sought.cities))
    and (sought.countries = '{}' or entry.country_key = any (sought.countries))
    and (sought.must is null or entry.words @@ sought.must)
    and (sought.must_not is null or not entry.words @@ sought.must_not)
    and (sought.hidden_ids = '{}' or entry.profile_id <> all (sought.hidden_ids))
$$;
comment on function private.matches_filter(private.search_entries, private.search_filter) is 'Whether a profile passes the filters of a search.';

create function private.selective_terms(terms private.search_term[])
returns private.search_term[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    with units as (
      -- A word that every fourth profile has tells nothing of any one: it counts where it stands, and brings nobody up by itself. With 25
      -- profiles or fewer no word is common.
      select
        unit,
        max(entries) > greatest(25, (select max(entries) / 4 from private.search_lexicon)) and not bool_or(quoted) as is_common
      from unnest(terms)
      group by unit
    ),
    rarest as (
      select place, unit
      from (
        select
          *,
          row_number() over (partition by unit order by entries, word) as nth,
          row_number() over (partition by phrase is null order by entries, word) as nth_of_all
        from unnest(terms)
      ) as numbered
      join units using (unit)
      -- Where every run of letters has one that everybody has, one of them brings people up, and the others count where they stand: each
      -- would have to be looked for in nearly every profile, which for ten runs took 0.8 s.
      where nth = 1 and (nth_of_all = 1 or not is_common)
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
  'The terms that bring somebody into the hits, rarest first: of a phrase its rarest word, and none of common words, unless there are no
others.';

create function private.filter_profiles(sought private.search_filter, word text, max_results integer)
returns bigint[]
language plpgsql stable security invoker set search_path = ''
as $$
declare
  ids bigint[];
begin
  -- Planned for what is asked for, so that it takes the index which fits.
  execute
    'select array(
       select profile_id
       from private.search_entries as entry
       where private.matches_filter(entry, $1)
         and ($2 is null or profile_id in (select listed.profile_id from private.search_postings as listed where listed.word = $2))
       limit $3
     )'
  into ids
  using sought, word, max_results;
  return ids;
end
$$;
comment on function private.filter_profiles(private.search_filter, text, integer) is
  'The profiles that pass the filters and have a word, where one is given; at max_results so many.';

create function private.keyword_matches(
  terms private.search_term[],
  sought private.search_filter,
  within bigint[],
  max_results integer
)
returns bigint[]
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  -- Who is within has passed the filters.
  anybody constant boolean := within is not null
    or (sought.interests || sought.cities || sought.countries = '{}' and coalesce(sought.must, sought.must_not) is null);
begin
  return array(
    select profile_id
    from (
      select profile_id, unit
      from (
        select posting.profile_id, term.unit
        from unnest(terms) as term
        cross join lateral (
          -- The offsets keep Postgres to its index. To look thousands of profiles up for each of hundreds of words takes longer than to read
          -- what exact_scan_limit have the words.
          (
            select listed.profile_id
            from private.search_postings as listed
            where (within is null or term.entries <= cardinality(within)) and listed.word = term.word
            offset 0
          )
          union all
          (
            select listed.profile_id
            from private.search_postings as listed
            where term.entries > cardinality(within) and listed.word = term.word and listed.profile_id = any (within)
            offset 0
          )
        ) as posting
        where (within is null or posting.profile_id in (select unnest(within)))
          and posting.profile_id not in (select unnest(sought.hidden_ids))
          and (
            (anybody and term.phrase is null)
            or exists (
              select
              from private.search_entries as entry
              where entry.profile_id = posting.profile_id
                and (term.phrase is null or entry.words @@ term.phrase)
                and (anybody or private.matches_filter(entry, sought))
            )
          )
        -- One profile may hold every term.
        limit max_results * cardinality(terms)
      ) as held
      group by profile_id, unit
    ) as units
    group by profile_id
    order by count(*) desc, profile_id
    limit max_results
  );
end
$$;
comment on function private.keyword_matches(private.search_term[], private.search_filter, bigint[], integer) is
  'Who holds any of the terms and passes the filters, those first who hold the max_results of the query, at max_results so many.';

create function private.resolve_phrases(terms private.search_term[], ids bigint[])
returns private.search_term[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    with holders as (
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
        place, unit, word, typos, exact, entries, quoted, null, case when phrase is not null and not quoted then coalesce(holders.ids, '{}') end
      )::private.search_term
      order by place
    )
    from unnest(terms) as term
    left join holders using (unit)
  );
end
$$;
comment on function private.resolve_phrases(private.search_term[], bigint[]) is
  'The terms without their phrases, for candidates that have all of what is in quotes: who of them has which run of letters is looked up once.';

create function private.nearest_profiles(
  meaning extensions.halfvec,
  meaning_model text,
  sought private.search_filter,
  exclude_ids bigint[],
  reach integer,
  max_distance double precision,
  out ids bigint[],
  out distances double precision[]
)
language plpgsql stable security invoker
set search_path = 'extensions'
-- About in the order of the distances: to have them exactly in order costs half as much again, and whoever asks ranks them.
set hnsw.iterative_scan = 'relaxed_order'
set hnsw.ef_search = 100
-- The one plan that there is to be: a walk along the index.
set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off
set enable_sort = off
as $$
declare
  neighbour record;
  strangers integer := 0;
begin
  ids := array[]::bigint[];
  distances := array[]::double precision[];
  for neighbour in
    select profile_id, embedding <=> meaning as distance
    from private.search_entries as entry
    where model = meaning_model
      and private.matches_filter(entry, sought)
      and profile_id not in (select unnest(exclude_ids))
    order by embedding <=> meaning
  loop
    if neighbour.distance <= max_distance then
      ids := ids || neighbour.profile_id;
      distances := distances || neighbour.distance;
      strangers := 0;
    else
      strangers := strangers + 1;
    end if;
    -- As many as come at a time: when all of them are too far away, so are those that would come after them.
    exit when strangers = 100 or cardinality(ids) >= reach;
  end loop;
end
$$;
comment on function private.nearest_profiles(extensions.halfvec, text, private.search_filter, bigint[], integer, double precision) is
  'The profiles nearest to a vector exclude_ids some that are known, at max_results so many and so far away, and their cosine distances, along the index.';
