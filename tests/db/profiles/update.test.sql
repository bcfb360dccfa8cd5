-- update_profile changes the given fields of the caller, all or none.
select plan(11);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;

create function pg_temp.change(person text, changes jsonb)
returns jsonb
language sql
as $$ select tests.ask(person, format('update_profile(%L)', changes)) $$;
grant execute on function pg_temp.change to public;

select is(
  pg_temp.change(
    'ana',
    '{
      "name": "Ana", "bio": "Potter", "location": "Porto", "first_name": "Ana", "last_name": "Lima", "age": 31,
      "biography": "Clay and tiles.", "country": "Portugal", "city": "Porto",
      "image_url": "https://images.example/ana.jpg",
      "is_searchable": true, "interest_ids": [2, 1, 2]
    }'
  ),
  jsonb_build_object(
    'id', tests.id_of('ana'), 'name', 'Ana', 'email', 'ana@tests.example', 'bio', 'Potter', 'location', 'Porto', 'role',
    'user',
    'is_active', true,
    'Profile', jsonb_build_object(
      'id', tests.profile_of('ana'), 'user_id', tests.id_of('ana'), 'first_name', 'Ana', 'last_name', 'Lima', 'age', 31,
      'biography', 'Clay and tiles.', 'country', 'Portugal', 'city', 'Porto', 'image_url',
      'https://images.example/ana.jpg',
      'is_searchable', true, 'Interests', '[{"id": 1, "name": "Acting"}, {"id": 2, "name": "Archaeology"}]'::jsonb
    )
  ),
  'ana can change every field that is hers to change'
);
select is(
  tests.ask('ben', 'get_me()') #- '{id}' #- '{Profile,id}' #- '{Profile,user_id}',
  '{
    "name": "ben", "email": "ben@tests.example", "bio": null, "location": null, "role": "user", "is_active": true,
    "Profile": {
      "first_name": null, "last_name": null, "age": null, "biography": null, "country": null, "city": null,
      "image_url": null,
      "is_searchable": false, "Interests": []
    }
  }',
  'ben''s fields are unchanged'
);

select set_config('tests.before', tests.ask('ana', 'get_me()')::text, true);
select is(pg_temp.change('ana', '{}'), current_setting('tests.before')::jsonb, 'an empty change changes nothing');
select is(
  pg_temp.change(
    'ana',
    '{"role": "admin", "email": "ben.b@tests.example", "is_active": false, "id": 1, "user_id": 1, "auth_id": null}'
  ),
  current_setting('tests.before')::jsonb,
  'ana cannot change her role, address, is_active or ids'
);
select is(
  pg_temp.change('ana', '{"bio": null, "city": null, "interest_ids": []}'),
  jsonb_set(
    current_setting('tests.before')::jsonb || '{"bio": null}',
    '{Profile}',
    current_setting('tests.before')::jsonb -> 'Profile' || '{"city": null, "Interests": []}'
  ),
  'ana can clear some fields, and the others stay'
);

select set_config('tests.before', tests.ask('ana', 'get_me()')::text, true);
select throws_ok(
  $$ select pg_temp.change('ana', '{"name": "Anna", "age": 32, "interest_ids": [1, 900001]}') $$, 'PT400',
  'interest_ids: unknown interests 900001', 'ana cannot set an unknown interest'
);
select throws_ok(
  $$ select pg_temp.change('ana', '{"name": "Anna", "age": 7}') $$, '23514',
  'new row for relation "profiles" violates check constraint "age is 18 to 120"', 'ana cannot set the age to 7'
);
select throws_ok($$ select pg_temp.change('ana', '{"name": null}') $$, '23502', null, 'ana cannot clear her name');
select is(tests.ask('ana', 'get_me()'), current_setting('tests.before')::jsonb, 'a refused change changes nothing');

select throws_ok(
  $$ select pg_temp.change(null, '{"name": "Anna"}') $$, '42501', null, 'an anonymous caller cannot change a name'
);
select throws_ok(
  $$ select pg_temp.change(null, '{}') $$, '42501', null, 'an anonymous caller cannot make an empty change'
);
