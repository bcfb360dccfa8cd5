-- The conditions that every hit must meet.

create type private.search_filter as (required tsquery, excluded tsquery, hidden_ids bigint[], passing bigint[]);
comment on type private.search_filter is
  '`required` has facets, ages and quoted phrases, `excluded` what no hit may have; either may be null. `passing`: all
who meet the conditions, if they are few; then the others are empty.';

-- Without `set search_path`, so that Postgres inlines it.
create function private.matches_filter(profile_id bigint, words tsvector, filter private.search_filter)
returns boolean
language sql immutable parallel safe
as $$
  -- ts_match_vq is @@ without the index, which takes 20 ms to merge the profiles of fifty facet values.
  select (filter.required is null or ts_match_vq(words, filter.required))
    and (filter.excluded is null or not ts_match_vq(words, filter.excluded))
    and profile_id <> all (filter.hidden_ids)
$$;
comment on function private.matches_filter(bigint, tsvector, private.search_filter) is
  'Whether a profile meets the conditions. True where the filter lists those who do.';

create function private.conditions_of(request jsonb)
returns setof text[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return query
    select array_agg(distinct term)
    from (values ('interest', 'interests'), ('city', 'cities'), ('country', 'countries')) as facets (kind, key)
    cross join lateral jsonb_array_elements_text(coalesce(request -> key, '[]')) as value
    cross join lateral unnest(private.facet(facets.kind, value) || array(
      -- Who lives in the city or country of this name.
      select '@in ' || id
      from private.places_named(array[array_to_string(private.words_of(value), ' ')]) as named
      cross join unnest(named.ids) as id
      join private.search_places as place using (id)
      where facets.kind in ('city', 'country') and not named.is_adjective
      -- Georgia is a country, if one filters by countries.
      order by (place.kind in ('city', 'district')) = (facets.kind = 'city') desc, place.kind = facets.kind desc
      fetch first row with ties
    )) as term
    group by facets.kind
    union all
    -- Whole decades, and the years before and after them. A profile without an age is not left out.
    select array_agg(distinct '@age ' || case
      when age is null then 'unknown'
      when age < 100 and age / 10 * 10 >= bounds.min and age / 10 * 10 + 9 <= bounds.max then age / 10 || '*'
      else age::text
    end)
    from jsonb_to_record(nullif(request -> 'age', 'null')) as bounds (min integer, max integer)
    cross join lateral (select generate_series(bounds.min, bounds.max) as age union all select null) as ages
    where bounds.min is not null
    having count(*) > 0;
end
$$;
comment on function private.conditions_of(jsonb) is
  'What a request requires beside its words: of each of these lists of lexemes a hit has one.';

create function private.hidden_profiles_of(caller bigint)
returns bigint[]
language plpgsql stable security invoker set search_path = ''
as $$
declare
  hidden_users constant bigint[] := caller || private.blocked_users_of(caller);
begin
  return array(select profile_id from private.search_entries where user_id = any (hidden_users));
end
$$;
comment on function private.hidden_profiles_of is 'The caller''s own profile and those that a block hides from them.';

create function private.list_passing(filter private.search_filter, alternatives text[], max_passing integer)
returns bigint[]
language plpgsql stable security invoker set search_path = ''
as $$
declare
  passing constant bigint[] := array(
    select distinct found.profile_id
    from unnest(alternatives) as alternative
    cross join lateral (
      select stored.profile_id
      from private.search_words as stored
      where stored.words @@ private.any_term(array[alternative])
        and private.matches_filter(stored.profile_id, stored.words, filter)
      -- Else Postgres would read the whole table once.
      offset 0
    ) as found
    limit max_passing + 1
  );
begin
  return case when cardinality(passing) <= max_passing then passing end;
end
$$;
comment on function private.list_passing(private.search_filter, text[], integer) is
  'The profiles that meet the conditions, or null if they are more than max_passing. Each has one of the lexemes
`alternatives`: one after the other they take a tenth of the time that one query takes.';

create function private.read_filter(request jsonb, asked private.search_query, caller bigint)
returns private.search_filter
language plpgsql stable security invoker set search_path = ''
set enable_seqscan = off set plan_cache_mode = 'force_generic_plan'
as $$
declare
  profiles constant double precision := private.count_profiles();
  -- To list a profile takes 4 µs. Without a list the vector index visits 100 * profiles / passing, at 16 µs each, to
  -- find 100 that pass. Both take as long where passing is sqrt(400 * profiles).
  max_passing constant integer := greatest(2000, sqrt(400 * profiles));
  condition record;
  filter private.search_filter;
begin
  if (request ->> 'isNobody')::boolean then
    return row(null, null, '{}', '{}')::private.search_filter;
  end if;
  filter.hidden_ids := private.hidden_profiles_of(caller);
  filter.excluded := asked.excluded;
  filter.required := (select private.all_of(exact_query) from unnest(asked.units) where quoted);
  for condition in
    select terms, private.any_term(terms) as query, (private.word_counts(terms)).holders
    from private.conditions_of(request) as terms
    order by holders desc
  loop
    filter.required := coalesce(filter.required && condition.query, condition.query);
  end loop;
  -- The last, which has the fewest holders.
  if condition.holders <= max_passing then
    filter.passing :=
      private.list_passing(filter => filter, alternatives => condition.terms, max_passing => max_passing);
  end if;
  return case when filter.passing is null then filter
    else row(null, null, '{}', filter.passing)::private.search_filter end;
end
$$;
comment on function private.read_filter(jsonb, private.search_query, bigint) is
  'Values of one facet are alternatives; facets, phrases, ages and excluded words add up.';
