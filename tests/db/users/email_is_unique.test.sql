-- An address belongs to one user, whatever its case; any number of erased users have an empty one.
select plan(4);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;

select throws_ok(
  $$ update public.users set email = 'ANA@tests.Example' where id = tests.id_of('ben') $$, '23505',
  'duplicate key value violates unique constraint "users_email_key"', 'ben cannot have ana''s address in capitals'
);
select lives_ok(
  $$ update public.users set email = 'ben.b@tests.example' where id = tests.id_of('ben') $$,
  'ben can have an unused address'
);

delete from auth.users where email in ('ana@tests.example', 'ben@tests.example');
select lives_ok(
  $$ update public.users set email = '' where email in ('ana@tests.example', 'ben.b@tests.example') $$,
  'ana and ben can both be erased'
);
select lives_ok($$ select tests.make_person('ana') $$, 'a new user can sign up with the address of an erased one');
