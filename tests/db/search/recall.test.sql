-- The walk of the vector index finds the nearest profiles also where vectors do not cluster.
select plan(3);

-- Each word is a direction, and each profile the sum of forty words, the commonest of which nearly everybody has.
select setseed(0.5);
create temp table words as
select
  word,
  (array_agg(random_normal()) || array_fill(0::double precision, array[256]))::real[]::extensions.halfvec as direction
from generate_series(1, 1000) as word
cross join generate_series(1, 128) as dimension
group by word;
create temp table texts as
select -nth as id, extensions.sum(direction) as meaning
from (
  select nth, power(1000, random())::integer as word
  from generate_series(1, 1700) as nth
  cross join generate_series(1, 40) as place
) as drawn
join words using (word)
group by nth;
create temp table queries as
select nth, extensions.sum(direction) as meaning
from (
  select nth, ceil(1000 * random())::integer as word
  from generate_series(1, 40) as nth
  cross join lateral generate_series(1, 1 + nth % 3) as place
) as drawn
join words using (word)
group by nth;

-- The index is made at once, which takes a fifth of the time. Entries without users or words are enough.
create temp table definition as select pg_get_indexdef('private.search_entries_embedding_idx'::regclass) as text;
drop index private.search_entries_embedding_idx;
set local session_replication_role = replica;
insert into private.search_entries (profile_id, user_id, name, interests, content_hash, model, embedding)
select id, id, 'Ann', '{}', '', 'offline-wordnet-v3', meaning from texts;
set local session_replication_role = origin;
set local maintenance_work_mem = '64MB';
do $$
begin
  execute (select text from definition);
end
$$;

create temp table found as
select nth, array_agg(distance order by distance) as distances
from queries
cross join private.nearest_profiles(
  query_vector => meaning, query_model => 'offline-wordnet-v3', filter => row(null, null, '{}', null),
  max_results => 100, max_distance => .87
)
group by nth;
create temp table nearest as
select nth, array_agg(distance order by distance) as distances
from (
  select nth, distance, row_number() over (partition by nth order by distance) as place
  from queries
  cross join lateral (
    -- Not by the index.
    select (embedding operator(extensions.<=>) meaning) + 0 as distance
    from private.search_entries
    where model = 'offline-wordnet-v3'
  ) as measured
  where distance <= .87
) as ranked
where place <= 100
group by nth;

create function pg_temp.recall(size integer, of_at_most integer default 100) returns double precision language sql as $$
  select avg(
    (
      select count(*)
      from unnest(found.distances[:size]) as distance
      where distance <= nearest.distances[least(size, cardinality(nearest.distances))] + 1e-9
    )::double precision / least(size, cardinality(nearest.distances))
  )
  from nearest
  left join found using (nth)
  where cardinality(nearest.distances) <= of_at_most
$$;
select cmp_ok(pg_temp.recall(20), '>=', .95::double precision, 'it finds .95 of the nearest twenty');
select cmp_ok(pg_temp.recall(100), '>=', .95::double precision, 'it finds .95 of the nearest hundred');
select cmp_ok(
  pg_temp.recall(100, of_at_most => 60), '>=', .95::double precision, 'it finds .95 where few are near the query'
);
