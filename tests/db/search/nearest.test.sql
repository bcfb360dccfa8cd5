-- The vector search finds the nearest profiles within a distance, and the total of a search counts them once.
select plan(19);

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
set model = 'offline-wordnet-v3', embedding = pg_temp.vector_at(1 - (nth - .5) / 300)
from neighbours
where neighbours.id = profile_id;

create function pg_temp.filter_of(city text, hidden_ids bigint[])
returns private.search_filter
language plpgsql
as $$
declare
  filter private.search_filter;
begin
  filter.required := private.lexeme(private.facet('city', city))::tsquery;
  filter.hidden_ids := hidden_ids;
  filter.passing := private.find_passing(
    filter => filter, alternatives => case when city is not null then array[filter.required] end, sample => null,
    profiles => 300
  );
  return filter;
end
$$;
create function pg_temp.nearest(
  hidden_ids bigint[],
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
    query_model => 'offline-wordnet-v3',
    filter => pg_temp.filter_of(city, hidden_ids),
    max_results => max_results,
    max_distance => max_distance
  ) as neighbour
  join neighbours on id = profile_id
  -- Each with its own distance.
  where abs(distance - (nth - .5) / 300) < .001
$$;

create function pg_temp.check_nearest(scan text)
returns setof text
language plpgsql
as $$
begin
  return next set_eq(
    $q$ select pg_temp.nearest(hidden_ids => '{}', max_results => 20, max_distance => 2) $q$,
    'select generate_series(1, 20)',
    scan || ' returns the nearest max_results profiles'
  );
  return next set_eq(
    $q$ select pg_temp.nearest(hidden_ids => '{}', max_results => 1000, max_distance => .7005) $q$,
    'select generate_series(1, 210)',
    scan || ' returns all profiles within max_distance, and no others'
  );
  return next set_eq(
    $q$
      select pg_temp.nearest(
        hidden_ids => array(select id from neighbours where nth <= 15), max_results => 20, max_distance => 2
      )
    $q$,
    'select generate_series(16, 35)',
    scan || ' leaves out hidden profiles, which do not count'
  );
  return next set_eq(
    $q$ select pg_temp.nearest(hidden_ids => '{}', max_results => 20, max_distance => .7005, city => 'nearburg') $q$,
    'select generate_series(10, 200, 10)',
    scan || ' with a filter returns the nearest max_results profiles that pass it'
  );
  return next set_eq(
    $q$ select pg_temp.nearest(hidden_ids => '{}', max_results => 1000, max_distance => .7005, city => 'nearburg') $q$,
    'select generate_series(10, 210, 10)',
    scan || ' with a filter returns all profiles that pass it'
  );
  return next is_empty(
    $q$ select pg_temp.nearest(hidden_ids => '{}', max_results => 20, max_distance => 2, city => 'nowhere') $q$,
    scan || ' returns nothing if no profile passes the filter'
  );
end
$$;
select pg_temp.check_nearest('a scan of all vectors');
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
    request => jsonb_build_object(
      'q', query, 'model', 'offline-wordnet-v3', 'limit', page_limit, 'offset', page_offset, 'explain', explain
    ),
    asked => asked, filter => private.read_filter(jsonb_build_object('cities', cities), asked, null),
    query_vector => pg_temp.vector_at(1), context_vector => null, semantic_ratio => .5
  )
  from private.read_query(query) as asked
$$;
select is(
  (pg_temp.search('zzzz') ->> 'estimatedTotalHits')::integer, 100,
  'the total counts the 100 nearest'
);
select is(
  (pg_temp.search('zzzz', cities => '["Nearburg"]') ->> 'estimatedTotalHits')::integer, 26,
  'the total counts no profile below the threshold, a cosine of .13'
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
select is(
  (hit ->> '_rankingScore')::double precision,
  private.shown_score(
    private.final_score(
      semantic_weight => 0, keyword => (hit -> '_rankingScoreDetails' ->> 'keyword')::double precision, semantic => 0,
      in_name => false, has_all_words => true
    ),
    private.semantic_weight(semantic_ratio => 0.5, trust => 3.0 / 7)
  ),
  'a profile without an embedding is ranked by words alone'
)
from json_array_elements(
  pg_temp.search('quillon nearburg', page_limit => 100, explain => true, cities => '["Nearburg"]') -> 'hits'
) as hit
where (hit ->> 'id')::bigint = (select id from neighbours where nth = 10);

-- The vector index
create or replace function private.find_passing(
  filter private.search_filter,
  alternatives tsquery[],
  sample tsvector[],
  profiles double precision
)
returns bigint[]
language sql
as 'select null::bigint[]';
update private.search_entries
set embedding = pg_temp.vector_at(1 - 9.5 / 300)
where profile_id = (select id from neighbours where nth = 10);
select pg_temp.check_nearest('a scan of the vector index');

-- An index that overlooks people, which the real one rarely does, and never the same ones.
create or replace function private.nearest_profiles(
  query_vector extensions.halfvec,
  query_model text,
  filter private.search_filter,
  max_results integer,
  max_distance double precision
)
returns table (profile_id bigint, distance double precision)
language sql
as $$
  select id, (nth - .5) / 300
  from neighbours
  where nth > 5 and (nth - .5) / 300 <= max_distance
  order by nth
  limit max_results
$$;
create function pg_temp.check_pages(query text)
returns text
language sql
as $$
  select is(
    array(
      select format('%s %s', hit ->> 'id', hit ->> '_rankingScore')
      from generate_series(0, 12, 3) as start
      cross join lateral json_array_elements(
        pg_temp.search(query, page_limit => 3, page_offset => start) -> 'hits'
      ) with ordinality as listed (hit, place)
      order by start, place
    ),
    array(
      select format('%s %s', hit ->> 'id', hit ->> '_rankingScore')
      from json_array_elements(
        pg_temp.search(query, page_limit => 300) -> 'hits'
      ) with ordinality as listed (hit, place)
      order by place
      limit 15
    ),
    format('small pages of "%s" have the order of large ones, also if the index overlooks the nearest', query)
  )
$$;
select pg_temp.check_pages('');
select pg_temp.check_pages('quillon ');
