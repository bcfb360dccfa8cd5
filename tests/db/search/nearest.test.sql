-- The vector search finds the nearest profiles within a distance, and the total of a search counts them once.
select plan(16);

-- 300 profiles at evenly growing distances: the cosine of the nth to the first axis is 1 - (n - .5) / 300.
create temp table neighbours (nth integer primary key, id bigint);
create function pg_temp.vector_at(cosine double precision) returns extensions.halfvec language sql as $$
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
select substring(email, '[0-9]+')::integer, profiles.id from profiles join users on users.id = user_id;
update private.search_entries as entry
set model = 'offline-wordnet-v3', embedding = pg_temp.vector_at(1 - (nth - .5) / 300)
from neighbours
where neighbours.id = profile_id;

create function pg_temp.nearest(
  is_listed boolean,
  max_results integer,
  max_distance double precision,
  hidden_ids bigint[] default '{}',
  city text default null
)
returns setof integer language plpgsql
as $$
declare
  term text := private.facet('city', city);
  filter private.search_filter;
begin
  filter.required := private.lexeme(term)::tsquery;
  filter.hidden_ids := hidden_ids;
  if is_listed then
    filter.passing := private.list_passing(
      filter => filter, max_passing => 300,
      alternatives => case when city is null then '{"@city nearburg","@city farburg"}' else array[term] end
    );
  end if;
  return query
    select nth
    from private.nearest_profiles(
      query_vector => pg_temp.vector_at(1), query_model => 'offline-wordnet-v3', filter => filter,
      max_results => max_results, max_distance => max_distance
    ) as neighbour
    join neighbours on id = profile_id
    -- Each with its own distance.
    where abs(distance - (nth - .5) / 300) < .001;
end
$$;

select is(
  array(
    select nth
    from pg_temp.nearest(is_listed, max_results, max_distance, hidden, city) as nth
    order by nth
  ),
  expected,
  format('%s: %s', case when is_listed then 'a scan of all who pass' else 'a scan of the vector index' end, promise)
)
from unnest('{true,false}'::boolean[]) as is_listed
cross join (
  values
    ('the nearest max_results', 20, 2.0, '{}'::bigint[], null, array(select generate_series(1, 20))),
    ('all within max_distance, and no others', 1000, .7005, '{}', null, array(select generate_series(1, 210))),
    (
      'hidden profiles do not count', 20, 2, array(select id from neighbours where nth <= 15), null,
      array(select generate_series(16, 35))
    ),
    ('the nearest who pass a filter', 20, .7005, '{}', 'nearburg', array(select generate_series(10, 200, 10))),
    ('all who pass a filter', 1000, .7005, '{}', 'nearburg', array(select generate_series(10, 210, 10))),
    ('nobody if nobody passes', 20, 2, '{}', 'nowhere', '{}')
) as cases (promise, max_results, max_distance, hidden, city, expected);

create function pg_temp.search(query text, cities jsonb default '["Nearburg", "Farburg"]')
returns json language sql as $$
  select private.find_profiles(
    request => '{"model": "offline-wordnet-v3", "limit": 300, "offset": 0, "explain": true}', asked => asked,
    filter => private.read_filter(jsonb_build_object('cities', cities), asked, null),
    query_vector => pg_temp.vector_at(1), context_vector => null, semantic_ratio => .5
  )
  from private.read_query(tests.words(query)) as asked
$$;
select is(
  (pg_temp.search(query, cities) ->> 'estimatedTotalHits')::integer, total, promise
)
from (
  values
    ('zzzz', '["Nearburg", "Farburg"]'::jsonb, 100, 'the total counts the 100 nearest'),
    ('zzzz', '["Nearburg"]', 26, 'and no profile below the threshold, a cosine of .13'),
    ('quillon', '["Nearburg", "Farburg"]', 300, 'and once who is found both by words and by meaning')
) as cases (query, cities, total, promise);

-- A zero vector is stored as null: it says nothing, and does not lower the score.
update private.search_entries set embedding = null where profile_id = (select id from neighbours where nth = 10);
select is(
  (
    select (hit ->> '_rankingScore')::numeric
    from json_array_elements(pg_temp.search('quillon') -> 'hits') as hit
    where (hit ->> 'id')::bigint = (select id from neighbours where nth = 10)
  ),
  1.0, 'a profile without an embedding is ranked by words alone'
);
