-- Anybody may see a profile while it is searchable and its owner active, and only what the public view shows.
select plan(9);
select tests.make_person('ana');
select tests.make_person('ben');
insert into public.profile_interests (profile_id, interest_id)
values (tests.profile_of('ana'), 1);
update public.users
set bio = 'Potter', location = 'Porto'
where id = tests.id_of('ana');
update public.profiles
set first_name = 'Ana', age = 31, is_searchable = true
where id = tests.profile_of('ana');

create function pg_temp.look(person text)
returns jsonb
language sql
as $$ select tests.ask(person, format('get_public_profile(%s)', tests.profile_of('ana'))) $$;
grant execute on function pg_temp.look to public;

select is(
  pg_temp.look(null),
  jsonb_build_object(
    'id', tests.id_of('ana'),
    'name', 'ana',
    'profile', jsonb_build_object(
      'id', tests.profile_of('ana'), 'first_name', 'Ana', 'last_name', null, 'age', 31, 'biography', null, 'country', null,
      'city', null, 'image_url', null, 'interests', '[{"id": 1, "name": "Acting"}]'::jsonb
    )
  ),
  'an anonymous caller can see ana''s profile: no address, bio or location'
);
select is(pg_temp.look('ben'), pg_temp.look(null), 'ben sees the same');
select tests.become('ben');
select is_empty(
  $$ select id from public.profiles where id = tests.profile_of('ana') $$,
  'ben cannot see more of it in the table'
);

select tests.become_owner();
update public.profiles
set is_searchable = false
where id = tests.profile_of('ana');
select throws_ok($$ select pg_temp.look(null) $$, 'PT403', 'This profile is not public', 'hidden, it is seen by nobody');
select throws_ok($$ select pg_temp.look('ben') $$, 'PT403', 'This profile is not public', 'nor by ben');
select throws_ok($$ select pg_temp.look('ana') $$, 'PT403', 'This profile is not public', 'nor by ana: it is the public view');

select tests.become_owner();
update public.profiles
set is_searchable = true
where id = tests.profile_of('ana');
update public.users
set is_active = false
where id = tests.id_of('ana');
select throws_ok($$ select pg_temp.look(null) $$, 'PT403', 'This profile is not public', 'without ana it is seen by nobody');
select throws_ok($$ select pg_temp.look('ben') $$, 'PT403', 'This profile is not public', 'nor by ben then');
select throws_ok(
  $$ select tests.ask(null, 'get_public_profile(9007199254740991)') $$,
  'PT404',
  'Profile not found',
  'a profile that is not there is not found'
);
