-- An account whose metadata is invalid is not created at all.
select plan(9);
select tests.make_person('ana');

create function pg_temp.sign_up(address text, metadata jsonb)
returns void
language sql
as $$
  insert into auth.users (id, email, raw_user_meta_data)
  values (gen_random_uuid(), address, metadata)
$$;

select throws_ok(
  format('select pg_temp.sign_up(%L, %L)', 'ben@tests.example', metadata), '23514',
  format('new row for relation "%s" violates check constraint "%s"', relation, rule),
  format('ben cannot sign up with %s', left(metadata::text, 50))
)
from (
  values
    ('{"name": "Ben", "profile": {"age": 7}}'::jsonb, 'profiles', 'age is 18 to 120'),
    (
      '{"name": "Ben", "profile": {"image_url": "http://images.example/ben.jpg"}}', 'profiles',
      'image_url is an https address of at most 2,048 characters'
    ),
    ('{"name": "   "}', 'users', 'name has 1 to 100 characters')
) as wishes (metadata, relation, rule);
select throws_ok(
  $$ select pg_temp.sign_up('ben@tests.example', '{"profile": {"interest_ids": [1, 900002, 900001]}}') $$, 'PT400',
  'interest_ids: unknown interests 900001, 900002', 'ben cannot sign up with unknown interests'
);
select throws_ok(
  format(
    'select pg_temp.sign_up(%L, %L)',
    'ben@tests.example',
    jsonb_build_object('profile', jsonb_build_object('interest_ids', array(select generate_series(1, 51))))
  ),
  'PT400',
  'interest_ids: a profile has at most 50 interests',
  'ben cannot sign up with 51 interests'
);
select throws_ok(
  $$ select pg_temp.sign_up('Ana@Tests.example', '{"name": "Ben"}') $$, '23505', null,
  'ben cannot sign up with ana''s address in capitals'
);
select is_empty(
  $$
    select email from auth.users where email <> 'ana@tests.example'
    union all
    select email from public.users where email <> 'ana@tests.example'
    union all
    select city from public.profiles where user_id <> tests.id_of('ana')
  $$,
  'a refused sign-up leaves nothing behind'
);

select lives_ok(
  $$ select pg_temp.sign_up('ben@tests.example', '{"name": "Ben", "profile": {"age": 18, "interest_ids": [1]}}') $$,
  'ben can sign up with valid metadata'
);
select lives_ok(
  $$ select pg_temp.sign_up('carla@tests.example', '{"name": "Carla", "profile": null}') $$,
  'carla can sign up with a null profile'
);
