-- users.email follows the address of the Auth account; the name does not follow the metadata.
select plan(5);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;

update auth.users set email = 'ana.lima@tests.example' where email = 'ana@tests.example';
select is(
  (select email from public.users where name = 'ana'), 'ana.lima@tests.example',
  'ana''s address is updated with her account'
);
select is((select email from public.users where name = 'ben'), 'ben@tests.example', 'ben''s address is unchanged');

select throws_ok(
  $$ update auth.users set email = 'Ben@Tests.example' where email = 'ana.lima@tests.example' $$, '23505', null,
  'ana''s account cannot get ben''s address'
);

update auth.users
set raw_user_meta_data = '{"name": "Another name"}'
where email = 'ana.lima@tests.example';
select is(
  (select name from public.users where email = 'ana.lima@tests.example'), 'ana',
  'new metadata does not change ana''s name'
);

update auth.users set email = null where email = 'ana.lima@tests.example';
select is(
  (select email from public.users where name = 'ana'), '', 'ana has an empty address once her account has none'
);
