-- Of an index with more than 1,000 who match: every page up to the end, whoever has the rare word or the very name, and
-- the same people whether or not those who pass a filter are listed first.
select plan(11);

create temp table people as
select
  nth, nth % 2 = 0 as is_wild, nth % 500 = 1 as has_quokka, nth % 30 = 0 as is_rare,
  case nth when 1499 then 'Maria Silva' when 1500 then 'Maria' else 'Silva Costa Maria' end as name
from generate_series(1, 1500) as nth;
-- Entries without users and profiles are enough.
set local session_replication_role = replica;
insert into private.search_entries (profile_id, user_id, name, interests, content_hash)
select nth, nth, name, '{}', '' from people;
insert into private.search_words (profile_id, words)
select nth, private.words_vector(
  jsonb_populate_record(null::public.profiles, jsonb_build_object(
    'country', 'Largeland', 'city', case when is_rare then 'Rareville' else 'Largetown' end,
    'biography', concat_ws(' ', case when is_wild then 'wild' end, 'zorbing', case when has_quokka then 'quokkas' end)
  )),
  name, '{}'
)
from people;
set local session_replication_role = origin;
select private.count_words();

create function pg_temp.search(query text, filters jsonb, page_limit integer, page_offset integer)
returns json language sql as $$
  select api.search_profiles(
    filters || jsonb_build_object('words', tests.words(query), 'limit', page_limit, 'offset', page_offset)
  ) -> 'answer'
$$;
create temp table requests (query, filters, expected) as
values
  ('zorbing', '{}'::jsonb, 'true'),
  ('zorbing', '{"countries": ["largeland"]}', 'true'),
  ('', '{"countries": ["largeland"], "cities": ["Largetown"]}', 'not is_rare'),
  ('zorbing', '{"cities": ["Rareville", "nowhere"]}', 'is_rare'),
  ('zorbing -wild', '{}', 'not is_wild'),
  ('wild -zorbing', '{}', 'false'),
  ('-wild', '{"countries": ["Largeland"]}', 'not is_wild'),
  ('"wild zorbing"', '{"countries": ["Largeland"]}', 'is_wild');
create function pg_temp.faults() returns setof text language plpgsql as $$
declare
  request record;
  wanted integer[];
  found record;
begin
  for request in select * from requests loop
    execute format('select array(select nth from people where %s)', request.expected) into wanted;
    select
      array_agg(id) as ids, count(distinct id) as people, bool_or(score > before) as rises,
      bool_or(id <> all (wanted)) as strays, max(total) as total
    into found
    from (
      select (hit ->> 'id')::integer as id, score, lag(score) over (order by start, place) as before, total
      from generate_series(0, 1000, 250) as start
      cross join lateral pg_temp.search(request.query, request.filters, 250, start) as answer
      cross join lateral (select (answer ->> 'estimatedTotalHits')::integer as total) as counted
      cross join lateral json_array_elements(answer -> 'hits') with ordinality as listed (hit, place)
      cross join lateral (select (hit ->> '_rankingScore')::double precision as score) as scored
    ) as hits;
    if (coalesce(cardinality(found.ids), 0), found.people, coalesce(found.total, 0)) is distinct from (
      least(1000, cardinality(wanted)), least(1000, cardinality(wanted))::bigint, least(1000, cardinality(wanted))
    ) or found.rises or found.strays then
      return next format('%s %s: %s of %s', request.query, request.filters, found, cardinality(wanted));
    end if;
  end loop;
end
$$;
create function pg_temp.lists(query text, filters jsonb default '{}') returns boolean language sql as $$
  select (private.read_filter(filters, private.read_query(tests.words(query)), null)).passing is not null
$$;

select is_empty(
  'select pg_temp.faults()', 'pages go on to the end or to 1,000, nobody is there twice or wrongly, and no score rises'
);
create function pg_temp.first_of(query text, filters jsonb default '{}') returns text language sql as $$
  select string_agg(people.name, ', ')
  from json_array_elements(pg_temp.search(query, filters, 1, 0) -> 'hits') as hit
  join people on nth = (hit ->> 'id')::integer
$$;
select is(
  array(select pg_temp.first_of(query) from unnest('{Maria,maría silva,"Maria Silva",Maria -silva}'::text[]) as query),
  '{Maria,Maria Silva,Maria Silva,Maria}', 'whoever has exactly the name comes first, however many have its words'
);
select is(
  array(
    select pg_temp.first_of(query, '{"cities": ["Rareville"]}') from unnest('{Maria,Maria Silva}'::text[]) as query
  ),
  '{Maria,Silva Costa Maria}', 'unless the filter leaves that one out'
);
create function pg_temp.found(query text, page_limit integer) returns integer[] language sql as $$
  select array_agg((hit ->> 'id')::integer)
  from json_array_elements(pg_temp.search(query, '{}', page_limit, 0) -> 'hits') as hit
$$;
select is(pg_temp.found('zorbing quokkas', 3), '{1,501,1001}', 'whoever has the rare word as well comes first');
select is(pg_temp.found('wild quokkas', 1000), '{1,501,1001}', 'a word that half of all have finds nobody beside it');

-- Estimated as with 60,000 profiles.
create or replace function private.count_profiles()
returns double precision language sql as 'select 60000::double precision';
select is_empty('select pg_temp.faults()', 'in a large index they are the same');
select ok(pg_temp.lists('', '{"cities": ["Rareville"]}'), 'few who pass are listed');
select ok(not pg_temp.lists('wild -zorbing'), 'without a condition that tells how few they are nobody is');
update private.search_lexicon set holders = 50000 where word ~ '^@';
select ok(not pg_temp.lists('', '{"countries": ["Largeland"]}'), 'nor are many');
select is_empty('select pg_temp.faults()', 'without a list they are the same');
select is(
  private.list_passing(row(null, null, '{}', null)::private.search_filter, array['zorbing'], 1499), null,
  'a list of more than so many is given up'
);
