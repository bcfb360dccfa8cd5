-- An account with an invalid profile is not created at all.
select plan(9);
select tests.make_person('ana');

create function pg_temp.sign_up(address text, name text, fields jsonb)
returns void
language plpgsql
as $$
declare
  ticket text := private.begin_sign_up(address, name, fields) ->> 'ticket';
begin
  insert into auth.users (id, email, raw_user_meta_data)
  values (gen_random_uuid(), address, jsonb_build_object('ticket', ticket));
end
$$;

select throws_ok(
  format('select pg_temp.sign_up(%L, %L, %L)', 'ben@tests.example', name, fields), '23514',
  format('new row for relation "%s" violates check constraint "%s"', relation, rule),
  format('ben cannot sign up as %s with %s', name, left(fields::text, 50))
)
from (
  values
    ('Ben', '{"age": 7}'::jsonb, 'profiles', 'age is 18 to 120'),
    (
      'Ben', '{"image_url": "http://images.example/ben.jpg"}', 'profiles',
      'image_url is an https address of at most 2,048 characters'
    ),
    ('   ', '{}', 'users', 'name is one line that shows something')
) as sign_ups (name, fields, relation, rule);
select throws_ok(
  $$ select pg_temp.sign_up('ben@tests.example', 'Ben', '{"interest_ids": [1, 900002, 900001]}') $$, 'PT400',
  'interest_ids: unknown interests 900001, 900002', 'ben cannot sign up with unknown interests'
);
select throws_ok(
  format(
    'select pg_temp.sign_up(%L, %L, %L)',
    'ben@tests.example',
    'Ben',
    jsonb_build_object('interest_ids', array(select generate_series(1, 51)))
  ),
  'PT400',
  'interest_ids: a profile has at most 50 interests',
  'ben cannot sign up with 51 interests'
);
select throws_ok(
  $$ select pg_temp.sign_up('Ana@Tests.example', 'Ben', '{}') $$, '23505', null,
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
  $$ select pg_temp.sign_up('ben@tests.example', 'Ben', '{"age": 18, "interest_ids": [1]}') $$,
  'ben can sign up with a valid profile'
);
select lives_ok(
  $$ select pg_temp.sign_up('carla@tests.example', 'Carla', '{}') $$,
  'carla can sign up without a profile'
);
