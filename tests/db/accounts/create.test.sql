-- Creating an Auth account creates a user and a profile with the fields of its sign-up.
select plan(9);

insert into auth.users (id, email, created_at, email_confirmed_at, raw_user_meta_data)
values (
  'a0000000-0000-4000-8000-000000000001',
  'ana@tests.example',
  '2026-01-02T03:04:05.678Z',
  now(),
  '{"name": "Another", "locale": "pt", "profile": {"bio": "Another"}}' || jsonb_build_object(
    'ticket',
    private.begin_sign_up(
      address => 'ana@tests.example',
      name => 'Ana',
      fields => '{
        "bio": "Potter", "location": "Porto", "first_name": "Ana", "last_name": "Lima", "age": 31,
        "biography": "Clay and tiles.", "country": "Portugal", "city": "Porto",
        "image_url": "https://images.example/ana.jpg", "is_searchable": true,
        "interest_ids": [3, 2, 3], "role": "admin", "is_active": false, "email": "admin@tests.example", "id": 1,
        "user_id": 1
      }'
    ) ->> 'ticket'
  )
);
insert into auth.users (id, email, email_confirmed_at)
values ('b0000000-0000-4000-8000-000000000002', 'ben@tests.example', now());

select results_eq(
  $$
    select auth_id, name, email, bio, location, created_at
    from public.users
    where email = 'ana@tests.example'
  $$,
  $$
    values (
      'a0000000-0000-4000-8000-000000000001'::uuid, 'Ana', 'ana@tests.example', 'Potter', 'Porto',
      '2026-01-02T03:04:05.678Z'::timestamptz
    )
  $$,
  'ana''s user has the values of her sign-up, not of the metadata'
);
select results_eq(
  $$
    select first_name, last_name, age, biography, country, city, image_url, is_searchable
    from public.profiles
    where id = tests.profile_of('ana')
  $$,
  $$ values ('Ana', 'Lima', 31, 'Clay and tiles.', 'Portugal', 'Porto', 'https://images.example/ana.jpg', true) $$,
  'ana''s profile has the values of her sign-up'
);
select results_eq(
  $$
    select interest_id
    from public.profile_interests
    where profile_id = tests.profile_of('ana')
    order by interest_id
  $$,
  $$ values (2::bigint), (3) $$,
  'ana has the interests of her sign-up, without duplicates'
);
select results_eq(
  $$ select role, is_active from public.users where email = 'ana@tests.example' $$, $$ values ('user', true) $$,
  'ana cannot sign up as an admin or as deactivated'
);
select is_empty(
  $$ select id from public.users where email = 'admin@tests.example' $$,
  'ana cannot sign up with an address that is not her account''s'
);
select results_eq(
  'select name, fields from private.sign_ups', 'values (null::text, null::jsonb)',
  'nothing personal is left of the sign-up'
);

select results_eq(
  $$ select name, bio, location, role, is_active from public.users where email = 'ben@tests.example' $$,
  $$ values ('New user', null::text, null::text, 'user', true) $$,
  'ben, who signed up without metadata, gets a user with defaults'
);
select results_eq(
  $$
    select first_name, last_name, age, biography, country, city, image_url, is_searchable
    from public.profiles
    where id = tests.profile_of('ben')
  $$,
  $$ values (null::text, null::text, null::integer, null::text, null::text, null::text, null::text, false) $$,
  'ben''s profile is empty and not searchable'
);
select is_empty(
  $$ select interest_id from public.profile_interests where profile_id = tests.profile_of('ben') $$,
  'ben has no interests'
);
