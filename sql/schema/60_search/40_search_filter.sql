-- The conditions that every hit must meet: facets, quoted phrases, excluded words, and whom the caller may not find.

create type private.search_filter as (
  required tsquery,
  excluded tsquery,
  hidden_ids bigint[],
  passing bigint[]
);
comment on type private.search_filter is
  'The conditions that every hit must meet. `required` has facets and quoted phrases, `excluded` what no hit may have;
either may be null. `hidden_ids` are the caller''s own profile and those of users whom a block hides from the caller.
`passing` are all profiles that meet the conditions, if they are few; then the others are empty.';

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
  'Whether a profile meets the conditions of a filter. True where the filter lists the profiles that do.';

create function private.find_passing(
  filter private.search_filter,
  alternatives tsquery[],
  sample tsvector[],
  profiles double precision
)
returns bigint[]
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  -- To list a profile takes 4 µs. Without a list the vector index visits 100 * profiles / passing, at 16 µs each, to
  -- find 100 that pass. Both take as long where passing is sqrt(400 * profiles).
  max_passing constant integer := greatest(2000, sqrt(400 * profiles));
  share constant double precision := (
    select avg((
      (filter.required is null or words @@ filter.required)
      and (filter.excluded is null or not words @@ filter.excluded)
    )::integer)
    from unnest(sample) as words
  );
  passing bigint[];
begin
  if share * profiles > max_passing or alternatives is null and profiles > 50000 then
    return null;
  elsif alternatives is null then
    passing := array(
      select stored.profile_id
      from private.search_words as stored
      where private.matches_filter(stored.profile_id, stored.words, filter)
      limit max_passing + 1
    );
  else
    passing := array(
      select distinct found.profile_id
      from unnest(alternatives) as alternative
      cross join lateral (
        select stored.profile_id
        from private.search_words as stored
        where stored.words @@ alternative and private.matches_filter(stored.profile_id, stored.words, filter)
        -- Else Postgres would read the whole table once.
        offset 0
      ) as found
      limit max_passing + 1
    );
  end if;
  return case when cardinality(passing) <= max_passing then passing end;
end
$$;
comment on function private.find_passing(private.search_filter, tsquery[], tsvector[], double precision) is
  'All profiles that meet the conditions of a search, or null if they are many, or if only excluded words and more than
50,000 profiles would be read. `alternatives` are queries of which a profile must match at least one: one after the
other they take a tenth of the time that a query with all of them takes.';

create function private.hidden_profiles_of(caller bigint)
returns bigint[]
language plpgsql stable security invoker set search_path = ''
as $$
declare
  hidden_users constant bigint[] := case when caller is not null then caller || private.blocked_users_of(caller) end;
begin
  return case
    when caller is null then '{}'
    else array(select profile_id from private.search_entries where user_id = any (hidden_users))
  end;
end
$$;
comment on function private.hidden_profiles_of(bigint) is
  'The profiles that no search of a caller finds: their own, and those of users whom a block hides from them.';

create function private.read_filter(request jsonb, asked private.search_query, caller bigint)
returns private.search_filter
language plpgsql stable security invoker set search_path = ''
as $$
declare
  profiles constant double precision := private.count_profiles();
  has_conditions constant boolean := exists (select from unnest(asked.words) where quoted or excluded)
    or exists (select from unnest(array['interests', 'cities', 'countries']) as key where request -> key <> '[]')
    or coalesce(request -> 'age', 'null') <> 'null';
  sample constant tsvector[] := case when has_conditions then private.sample_profiles(profiles) end;
  alternatives tsquery[];
  filter private.search_filter;
begin
  filter.hidden_ids := private.hidden_profiles_of(caller);
  if has_conditions then
    with conditions as (
      select array_agg(distinct private.lexeme(private.facet(kind, value))::tsquery) as alternatives
      from (values ('interest', 'interests'), ('city', 'cities'), ('country', 'countries')) as facets (kind, key)
      cross join lateral jsonb_array_elements_text(coalesce(request -> key, '[]')) as value
      group by kind
      union all
      select array[query] from unnest(asked.units) where quoted
      union all
      -- Whole decades, and the years before and after them. A profile without an age is not left out.
      select array_agg(distinct private.lexeme(private.facet('age', case
        when age is null then 'unknown'
        when age / 10 * 10 >= min_age and age / 10 * 10 + 9 <= max_age then age / 10 || '0s'
        else age::text
      end))::tsquery)
      from jsonb_to_record(nullif(request -> 'age', 'null')) as asked_age (min integer, max integer)
      cross join lateral (select min as min_age, max as max_age) as bounds
      cross join lateral (
        select generate_series(min_age, max_age) as age union all select null
      ) as ages
      where min_age is not null
      having count(*) > 0
    )
    -- All conditions, as the limit comes after the window, those with the fewest alternatives first: they take the
    -- least time and let the fewest pass. And the alternatives of the one for which the index looks at the fewest
    -- profiles, if they are less than all: it looks at those with several interests several times.
    select
      private.all_of(condition) over (
        order by cardinality(conditions.alternatives) rows between unbounded preceding and unbounded following
      ),
      case when looked_at <= 1 or sample is null then conditions.alternatives end
    into filter.required, alternatives
    from conditions
    cross join lateral (
      select
        private.any_of(alternative) as condition,
        -- For a phrase, all that have its words.
        sum((
          select avg((words @@ looked_up)::integer)
          -- At most some 2,000 comparisons.
          from unnest(sample[:1 + 2000 / cardinality(conditions.alternatives)]) as words
        )) as looked_at
      from unnest(conditions.alternatives) as alternative
      cross join lateral (select replace(alternative::text, '<->', '&')::tsquery as looked_up offset 0) as written
    ) as estimated
    order by looked_at
    limit 1;
    filter.excluded := (
      select private.any_of(phrase)
      from (
        select string_agg(private.lexeme(word), ' <-> ' order by position)::tsquery as phrase
        from unnest(asked.words)
        where excluded
        group by unit
      ) as phrases
    );
  elsif profiles > 2000 then
    return filter;
  end if;
  filter.passing := private.find_passing(
    filter => filter, alternatives => alternatives, sample => sample, profiles => profiles
  );
  if filter.passing is not null then
    filter := row(null, null, '{}', filter.passing);
  end if;
  return filter;
end
$$;
comment on function private.read_filter(jsonb, private.search_query, bigint) is
  'The filter of a search. Values of one facet are alternatives; facets, phrases, ages and excluded words add up.';
