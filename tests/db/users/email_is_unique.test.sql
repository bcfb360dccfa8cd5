-- An address is one person's, whatever its case; people who were erased have none, and any number of them may.
select plan(4);
select tests.make_person('ana');
select tests.make_person('ben');

select throws_ok(
  $$ update public.users set email = 'ANA@tests.Example' where id = tests.id_of('ben') $$,
  '23505',
  'duplicate key value violates unique constraint "users_email_key"',
  'ben cannot have ana''s address in capitals'
);
select lives_ok(
  $$ update public.users set email = 'ben.b@tests.example' where id = tests.id_of('ben') $$,
  'ben can have an address that nobody has'
);

delete from auth.users
where email in ('ana@tests.example', 'ben@tests.example');
select lives_ok(
  $$ update public.users set email = '' where email in ('ana@tests.example', 'ben.b@tests.example') $$,
  'ana and ben can both be erased'
);
select lives_ok($$ select tests.make_person('ana') $$, 'the address of ana, who was erased, can sign up again');
