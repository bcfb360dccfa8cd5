-- Whoever has exactly the name that is searched for comes first, also among more people with its words than a search
-- ranks. They are the last ones in the table, and so the first to be cut off.
select plan(13);

with names as (
  select 'Maria Costa Silva' as name, nth from generate_series(1, 1200) as nth
  union all
  select 'Silva Maria', 1200 + nth from generate_series(1, 300) as nth
  union all
  values
    ('Maria', 1501), ('Maria Silva', 1502), ('Silva Maria da Silva', 1503), ('Zaf', 1504), ('Ona', 1505), ('Ono', 1506),
    ('Oni', 1507)
),
users as (
  insert into public.users (name, email)
  select name, format('name%s@tests.example', nth) from names order by nth
  returning id, name, email
)
insert into public.profiles (user_id, city, biography, is_searchable)
select
  id, case when email like 'name15%' then 'Namesborough' end,
  case when name = 'Silva Maria da Silva' then 'Maria' when name like 'On_' then 'Zafestivals' end, true
from users
order by id;

create function pg_temp.first_of(q text, filter jsonb default '{}')
returns text
language sql
as $$
  select string_agg(hit ->> 'name', ', ')
  from json_array_elements(
    api.search_profiles(jsonb_build_object('q', q, 'limit', 1, 'offset', 0) || filter) -> 'hits'
  ) as hit
$$;
select is(pg_temp.first_of('Maria '), 'Maria', 'a single name');
select is(pg_temp.first_of('maría'), 'Maria', 'a name that could go on, with another case and an accent');
select is(pg_temp.first_of('Maria Silva '), 'Maria Silva', 'a first and a last name');
select is(pg_temp.first_of('maria silva'), 'Maria Silva', 'a last name that could go on');
select is(pg_temp.first_of('"Maria Silva"'), 'Maria Silva', 'a name in quotes');
select is(pg_temp.first_of('Silva Maria da Silva'), 'Silva Maria da Silva', 'a name that repeats a word');
select is(pg_temp.first_of('Maria -silva'), 'Maria', 'a name without another');
select is(
  pg_temp.first_of('Maria Silva', '{"cities": ["Namesborough"]}'), 'Maria Silva', 'a name in a city'
);
select isnt(
  pg_temp.first_of('Maria Silva', '{"cities": ["Elsewhere"]}'), 'Maria Silva', 'but not of somebody in another city'
);
select is(
  (api.search_profiles('{"q": "Maria", "limit": 100, "offset": 950}') ->> 'estimatedTotalHits')::integer, 1000,
  'the total counts as far as a search ranks'
);
select is(
  api.understand_query('{"q": "cooking zaf", "known": "cooking"}') ->> 'text', 'cooking',
  'a short name at the end is not what it may be the beginning of'
);
select is(
  api.understand_query('{"q": "cooking zafe", "known": "cooking"}') ->> 'text', 'cooking zafestivals',
  'a word that is no name is completed'
);
-- As after a mass deletion, until the next vacuum counts the profiles anew.
select is(
  (private.measure_word(query => 'maria', is_known => false, profiles => 1000000, sample => '{}')).holders, 1000,
  'an empty sample breaks no search for a word that a thousand have'
);
select * from finish();
