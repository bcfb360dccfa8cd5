-- Beyond 2,000 profiles a search estimates from a sample how many have a word and how many pass its filter. That
-- changes the way to its hits, and not who they are.
select plan(12);

create temp table people (nth integer primary key, id bigint);
with users as (
  insert into public.users (name, email)
  select case when nth <= 40 then 'Qorvin' else 'Ulf' end, format('large%s@tests.example', nth)
  from generate_series(1, 120) as nth
  returning id, email
),
profiles as (
  insert into public.profiles (user_id, city, country, biography, is_searchable)
  select
    id, case when nth % 30 = 0 then 'Rareville' else 'Largetown' end, 'Largeland',
    case when nth % 2 = 0 then 'wild zorbing' else 'zorbing' end, true
  from (select *, substring(email, '[0-9]+')::integer as nth from users) as numbered
  returning id, user_id
)
insert into people
select substring(email, '[0-9]+')::integer, profiles.id
from profiles
join users on users.id = user_id;

create temp table requests (request, expected) as
values
  ('{"q": "zorbing "}'::jsonb, 'nth > 0'),
  ('{"q": "zorbing ", "countries": ["largeland"]}', 'nth > 0'),
  ('{"q": "", "countries": ["largeland"], "cities": ["Largetown"]}', 'nth % 30 > 0'),
  ('{"q": "zorbing ", "cities": ["Rareville", "nowhere"]}', 'nth % 30 = 0'),
  ('{"q": "zorbing -wild"}', 'nth % 2 = 1'),
  ('{"q": "wild -zorbing"}', 'false'),
  ('{"q": "\"wild zorbing\"", "countries": ["Largeland"]}', 'nth % 2 = 0');

create function pg_temp.differences()
returns setof text
language plpgsql
as $$
declare
  request jsonb;
  expected text;
  hits integer[];
  wanted integer[];
begin
  for request, expected in select * from requests loop
    hits := array(
      select nth
      from (values (0), (100)) as pages (start)
      cross join lateral json_array_elements(
        api.search_profiles(request || jsonb_build_object('limit', 100, 'offset', start)) -> 'hits'
      ) as hit
      join people on id = (hit ->> 'id')::bigint
      order by nth
    );
    execute format('select array(select nth from people where %s order by nth)', expected) into wanted;
    if hits <> wanted then
      return next format('%s: %s instead of %s', request, hits, wanted);
    end if;
  end loop;
end
$$;
select is_empty('select pg_temp.differences()', 'without a sample the hits are those that match');

create function pg_temp.sample()
returns tsvector[]
language sql
as 'select array(select words from private.search_words join people on id = profile_id order by nth)';
create or replace function private.count_profiles()
returns double precision
language sql
as 'select 60000::double precision';
create or replace function private.sample_profiles(profiles double precision)
returns tsvector[]
language sql
as 'select pg_temp.sample()';
select is_empty('select pg_temp.differences()', 'with a sample they are the same');

create function pg_temp.lists(request jsonb)
returns boolean
language sql
as $$
  select (private.read_filter(request, private.read_query(request ->> 'q'), null)).passing is not null
$$;
select ok(pg_temp.lists('{"q": "", "cities": ["Rareville"]}'), 'few who pass are listed');
select ok(not pg_temp.lists('{"q": "", "countries": ["Largeland"]}'), 'many who pass are not');
select ok(not pg_temp.lists('{"q": "wild -zorbing"}'), 'nor are few without a word, for whom all would be read');

create function pg_temp.measured(query tsquery)
returns text
language sql
as $$
  select concat_ws(' ', holders, is_named)
  from private.measure_word(query => query, is_known => false, profiles => 60000, sample => pg_temp.sample())
$$;
select is(pg_temp.measured('zorbing'), '60000 f', 'of a common word the share in the sample counts');
select is(pg_temp.measured('qorvin'), '20000 t', 'also of a name');
select is(pg_temp.measured('rareville'), '4 t', 'a word that few of the sample have is counted');
select is(pg_temp.measured('nobody'), '0 f', 'also one that nobody has');

select is(
  private.weight_class('fashion:1B', $$'fashi':* | 'fashi'$$), 3,
  'a rank of zero, as where a word hides its own prefix, loses no match'
);

-- More than a thousand who pass.
create temp table long_list as
select row(
  null, null, '{}', array(select id from people where nth <= 10) || array(select generate_series(-1000, -1))
)::private.search_filter as filter;
select set_eq(
  $$
    select nth
    from long_list
    cross join private.keyword_candidates(
      asked => private.read_query('wild '), filter => filter, max_results => 1000
    )
    join people on id = profile_id
  $$,
  array[2, 4, 6, 8, 10],
  'of a long list those are found who have a word'
);
select set_eq(
  $$
    select nth
    from long_list
    cross join json_array_elements(
      private.find_profiles(
        request => '{"limit": 100, "offset": 0}', asked => private.read_query(''), filter => filter,
        query_vector => null, context_vector => null, semantic_ratio => .5
      ) -> 'hits'
    ) as hit
    join people on id = (hit ->> 'id')::bigint
  $$,
  array(select generate_series(1, 10)),
  'without a word all of them'
);
select * from finish();
