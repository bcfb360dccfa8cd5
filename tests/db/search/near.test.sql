-- Neighbours by meaning are found as far as they are near enough, and no total stops before them.
select plan(10);

-- 300 people whose vectors turn away from the first axis in even steps: the nth has a cosine of 1 - (n - .5) / 300 to it.
create temp table people (nth integer primary key, id bigint);
create function pg_temp.towards(cosine double precision)
returns extensions.halfvec
language sql
as $$
  select (array[cosine, sqrt(1 - cosine ^ 2)] || array_fill(0::double precision, array[382]))::real[]::extensions.halfvec
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
insert into people
select substring(email, '[0-9]+')::integer, profiles.id
from profiles
join users on users.id = user_id;
update private.search_entries as entry
set model = 'offline-wordnet-v1', embedding = pg_temp.towards(1 - (nth - .5) / 300)
from people
where people.id = profile_id;

create function pg_temp.walk(besides bigint[], reach integer, furthest double precision, city text default null)
returns setof integer
language sql
as $$
  select nth
  from private.nearest_profiles(
    pg_temp.towards(1),
    'offline-wordnet-v1',
    row('{}', case when city is null then '{}' else array[city] end, '{}', null, null, '{}')::private.search_filter,
    besides, reach, furthest
  ) as nearest
  cross join lateral unnest(ids, distances) as neighbour (id, distance)
  join people using (id)
  -- Each with its own distance.
  where abs(distance - (nth - .5) / 300) < .001
$$;

select set_eq('select pg_temp.walk(null, 20, 2)', 'select generate_series(1, 20)', 'so many as are asked for are the nearest');
select set_eq('select pg_temp.walk(null, 1000, .7005)', 'select generate_series(1, 210)', 'and no more than are near enough, however many these are');
select set_eq(
  $$ select pg_temp.walk(array(select id from people where nth <= 15), 20, 2) $$,
  'select generate_series(16, 35)',
  'those who are known already are not among them, and do not count'
);
select set_eq(
  $$ select pg_temp.walk('{}', 20, .7005, 'nearburg') $$,
  'select generate_series(10, 200, 10)',
  'a filter leaves whom it leaves'
);
select set_eq(
  $$ select pg_temp.walk('{}', 1000, .7005, 'nearburg') $$,
  'select generate_series(10, 210, 10)',
  'all of them'
);
select is_empty($$ select pg_temp.walk('{}', 20, 2, 'nowhere') $$, 'or nobody');

create function pg_temp.search(query text, page integer default 20, start integer default 0)
returns json
language sql
as $$
  select private.find_profiles(query, pg_temp.towards(1), 'offline-wordnet-v1', .5, '{"cities": ["Nearburg", "Farburg"]}', null, page, start, false)
$$;
-- From a cosine of .13 on.
select is((pg_temp.search('zzzz') ->> 'estimatedTotalHits')::integer, 261, 'the total of a search counts everybody who is near enough');
select is((pg_temp.search('quillon') ->> 'estimatedTotalHits')::integer, 300, 'and nobody twice whom words bring, too');
select results_eq(
  $$
    select hit ->> 'id'
    from generate_series(0, 299, 7) as start
    cross join lateral json_array_elements(pg_temp.search('quillon nearburg', 7, start) -> 'hits') with ordinality as listed (hit, place)
    order by start, place
  $$,
  $$
    select hit ->> 'id'
    from (values (0), (100), (200)) as pages (start)
    cross join lateral json_array_elements(pg_temp.search('quillon nearburg', 100, start) -> 'hits') with ordinality as listed (hit, place)
    order by start, place
  $$,
  'small pages are large ones cut up, though they score fewer'
);

-- What the model says nothing of is not unlike what is sought.
update private.search_entries
set embedding = null
where profile_id = (select id from people where nth = 10);
select results_eq(
  $$
    select (hit -> '_rankingScoreDetails' ->> 'ratio')::double precision, hit ->> '_rankingScore' = hit -> '_rankingScoreDetails' ->> 'keyword'
    from json_array_elements(
      private.find_profiles('quillon nearburg', pg_temp.towards(1), 'offline-wordnet-v1', .5, '{"cities": ["Nearburg"]}', null, 100, 0, true) -> 'hits'
    ) as hit
    where (hit ->> 'id')::bigint = (select id from people where nth = 10)
  $$,
  $$ values (0::double precision, true) $$,
  'who has a vector of nothing is ranked by words alone'
);
