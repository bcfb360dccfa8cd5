-- Everybody can see a profile while it is searchable and its owner is active, and only as the public view.
select plan(9);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
insert into public.profile_interests (profile_id, interest_id)
values (tests.profile_of('ana'), 1);
update public.users set bio = 'Potter', location = 'Porto' where id = tests.id_of('ana');
update public.profiles
set first_name = 'Ana', age = 31, is_searchable = true
where id = tests.profile_of('ana');

create function pg_temp.public_profile(person text)
returns jsonb
language sql
as $$ select tests.ask(person, format('get_public_profile(%s)', tests.profile_of('ana'))) $$;
grant execute on function pg_temp.public_profile to public;

select is(
  pg_temp.public_profile(null),
  jsonb_build_object(
    'id', tests.id_of('ana'),
    'name', 'ana',
    'profile', jsonb_build_object(
      'id', tests.profile_of('ana'), 'first_name', 'Ana', 'last_name', null, 'age', 31, 'biography', null, 'country',
      null,
      'city', null, 'image_url', null, 'interests', '[{"id": 1, "name": "Acting"}]'::jsonb
    )
  ),
  'an anonymous caller can see ana''s profile without address, bio and location'
);
select is(pg_temp.public_profile('ben'), pg_temp.public_profile(null), 'ben sees the same');
select tests.become('ben');
select is_empty(
  $$ select id from public.profiles where id = tests.profile_of('ana') $$, 'ben cannot read the profile in the table'
);

select tests.become_owner();
update public.profiles set is_searchable = false where id = tests.profile_of('ana');
select throws_ok(
  format('select pg_temp.public_profile(%L)', caller), 'PT403', 'This profile is not public',
  format('%s cannot see the public view of a hidden profile', coalesce(caller, 'an anonymous caller'))
)
from unnest(array[null, 'ben', 'ana']) as caller;

select tests.become_owner();
update public.profiles set is_searchable = true where id = tests.profile_of('ana');
update public.users set is_active = false where id = tests.id_of('ana');
select throws_ok(
  format('select pg_temp.public_profile(%L)', caller), 'PT403', 'This profile is not public',
  format('%s cannot see the profile of a deactivated user', coalesce(caller, 'an anonymous caller'))
)
from unnest(array[null, 'ben']) as caller;
select throws_ok(
  $$ select tests.ask(null, 'get_public_profile(9007199254740991)') $$, 'PT404', 'Profile not found',
  'an unknown profile is 404'
);
