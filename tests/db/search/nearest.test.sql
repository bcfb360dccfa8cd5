-- The vector search finds every neighbour above the similarity threshold, and the total of a search counts them all.
select plan(10);

-- 300 profiles at evenly growing distances: the cosine of the nth to the first axis is 1 - (n - .5) / 300.
create temp table neighbours (nth integer primary key, id bigint);
create function pg_temp.vector_at(cosine double precision)
returns extensions.halfvec
language sql
as $$
  select (
    array[cosine, sqrt(1 - cosine ^ 2)] || array_fill(0::double precision, array[382])
  )::real[]::extensions.halfvec
$$;
with users as (
  insert into public.users (name, email)
  select 'Quillon', format('near%s@tests.example', nth)
  from generate_series(1, 300) as nth
  returning id, email
),
profiles as (
  insert into public.profiles (user_id, city, is_searchable)
  select id, case when email like 'near%0@%' then 'Nearburg' else 'Farburg' end, true from users
  returning id, user_id
)
insert into neighbours
select substring(email, '[0-9]+')::integer, profiles.id
from profiles
join users on users.id = user_id;
update private.search_entries as entry
set model = 'offline-wordnet-v2', embedding = pg_temp.vector_at(1 - (nth - .5) / 300)
from neighbours
where neighbours.id = profile_id;

create function pg_temp.nearest(
  exclude_ids bigint[],
  max_results integer,
  max_distance double precision,
  city text default null
)
returns setof integer
language sql
as $$
  select nth
  from private.nearest_profiles(
    query_vector => pg_temp.vector_at(1),
    query_model => 'offline-wordnet-v2',
    filter => row(
      '{}', case when city is null then '{}' else array[city] end, '{}', null, null, '{}'
    )::private.search_filter,
    exclude_ids => exclude_ids,
    max_results => max_results,
    max_distance => max_distance
  ) as nearest
  cross join lateral unnest(ids, distances) as neighbour (id, distance)
  join neighbours using (id)
  -- Each with its own distance.
  where abs(distance - (nth - .5) / 300) < .001
$$;

select set_eq(
  'select pg_temp.nearest(exclude_ids => null, max_results => 20, max_distance => 2)',
  'select generate_series(1, 20)',
  'returns the nearest max_results profiles'
);
select set_eq(
  'select pg_temp.nearest(exclude_ids => null, max_results => 1000, max_distance => .7005)',
  'select generate_series(1, 210)',
  'returns all profiles within max_distance, and no others'
);
select set_eq(
  $$
    select pg_temp.nearest(
      exclude_ids => array(select id from neighbours where nth <= 15), max_results => 20, max_distance => 2
    )
  $$,
  'select generate_series(16, 35)',
  'excluded profiles are not returned and do not count'
);
select set_eq(
  $$ select pg_temp.nearest(exclude_ids => '{}', max_results => 20, max_distance => .7005, city => 'nearburg') $$,
  'select generate_series(10, 200, 10)',
  'with a filter, returns the nearest max_results profiles that pass it'
);
select set_eq(
  $$ select pg_temp.nearest(exclude_ids => '{}', max_results => 1000, max_distance => .7005, city => 'nearburg') $$,
  'select generate_series(10, 210, 10)',
  'with a filter, returns all profiles that pass it'
);
select is_empty(
  $$ select pg_temp.nearest(exclude_ids => '{}', max_results => 20, max_distance => 2, city => 'nowhere') $$,
  'returns nothing if no profile passes the filter'
);

create function pg_temp.search(
  query text,
  page_limit integer default 20,
  page_offset integer default 0,
  explain boolean default false,
  cities jsonb default '["Nearburg", "Farburg"]'
)
returns json
language sql
as $$
  select private.find_profiles(
    query => query, query_vector => pg_temp.vector_at(1), query_model => 'offline-wordnet-v2', semantic_ratio => .5,
    filters => jsonb_build_object('cities', cities), caller => null, page_limit => page_limit,
    page_offset => page_offset, explain => explain
  )
$$;
-- The threshold is a cosine of .13.
select is(
  (pg_temp.search('zzzz') ->> 'estimatedTotalHits')::integer, 261,
  'the total counts every profile above the threshold'
);
select is(
  (pg_temp.search('quillon') ->> 'estimatedTotalHits')::integer, 300,
  'the total counts a profile once if both words and meaning find it'
);
select results_eq(
  $$
    select hit ->> 'id'
    from generate_series(0, 299, 7) as start
    cross join lateral json_array_elements(
      pg_temp.search('quillon nearburg', page_limit => 7, page_offset => start) -> 'hits'
    ) with ordinality as listed (hit, place)
    order by start, place
  $$,
  $$
    select hit ->> 'id'
    from (values (0), (100), (200)) as pages (start)
    cross join lateral json_array_elements(
      pg_temp.search('quillon nearburg', page_limit => 100, page_offset => start) -> 'hits'
    ) with ordinality as listed (hit, place)
    order by start, place
  $$,
  'small pages, which score fewer profiles, have the order of large ones'
);

-- A zero vector is stored as null: it says nothing, and does not lower the score.
update private.search_entries
set embedding = null
where profile_id = (select id from neighbours where nth = 10);
select results_eq(
  $$
    select
      (hit -> '_rankingScoreDetails' ->> 'ratio')::double precision,
      hit ->> '_rankingScore' = hit -> '_rankingScoreDetails' ->> 'keyword'
    from json_array_elements(
      pg_temp.search('quillon nearburg', page_limit => 100, explain => true, cities => '["Nearburg"]') -> 'hits'
    ) as hit
    where (hit ->> 'id')::bigint = (select id from neighbours where nth = 10)
  $$,
  $$ values (0::double precision, true) $$,
  'a profile without an embedding is ranked by words alone'
);
