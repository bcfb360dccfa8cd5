-- Who can read users.
select plan(3);
select tests.make_person(name) from unnest(array['ana', 'mallory']) as name;

select tests.become('ana');
select results_eq('select name from public.users', $$ values ('ana') $$, 'ana can read her own row and no other');

select tests.become(null);
select throws_ok('select id from public.users', '42501', null, 'an anonymous caller cannot read users');

select tests.become_role('service_role');
select is(
  (select count(*)::int from public.users where email like '%@tests.example'), 2, 'the secret key can read all users'
);
select tests.become_role('postgres');
