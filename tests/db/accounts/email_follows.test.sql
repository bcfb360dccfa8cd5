-- A user's address is that of the Auth account.
select plan(5);
select tests.make_person('ana');
select tests.make_person('ben');

update auth.users
set email = 'ana.lima@tests.example'
where email = 'ana@tests.example';
select is(
  (select email from public.users where name = 'ana'),
  'ana.lima@tests.example',
  'ana''s address follows her account''s'
);
select is((select email from public.users where name = 'ben'), 'ben@tests.example', 'ben''s does not');

select throws_ok(
  $$ update auth.users set email = 'Ben@Tests.example' where email = 'ana.lima@tests.example' $$,
  '23505',
  null,
  'ana''s account cannot take ben''s address'
);

update auth.users
set raw_user_meta_data = '{"name": "Somebody else"}'
where email = 'ana.lima@tests.example';
select is(
  (select name from public.users where email = 'ana.lima@tests.example'),
  'ana',
  'ana''s name is not her metadata''s any more'
);

update auth.users
set email = null
where email = 'ana.lima@tests.example';
select is((select email from public.users where name = 'ana'), '', 'without an address on her account ana has none');
