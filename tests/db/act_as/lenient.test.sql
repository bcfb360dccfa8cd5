-- Not strict, a door acts for people who are there and active, and takes all others for anonymous callers.
select plan(15);
select tests.make_person('ana');
select tests.make_person('dora');
update public.users
set is_active = false
where id = tests.id_of('dora');

select tests.become_role('edge_functions');
select ok(private.act_as(tests.claims_of('ana'), false), 'a door can act for ana');
select is(current_user::text, 'authenticated', 'it is a person then');
select results_eq('select name from public.users', $$ values ('ana') $$, 'it reads ana''s row and no other');

select tests.become_role('edge_functions');
select ok(private.act_as(tests.claims_of('dora'), false), 'dora, deactivated, is answered too');
select is(current_user::text, 'anon', 'dora is an anonymous caller');
select is(current_setting('request.jwt.claims')::jsonb, '{"role": "anon"}', 'nothing of dora''s claims is left');
select is(auth.uid(), null, 'dora has no account');
select throws_ok('select id from public.users', '42501', null, 'dora cannot read her own row');

select tests.become_role('edge_functions');
select ok(
  private.act_as('{"sub": "c0000000-0000-4000-8000-000000000003", "role": "authenticated"}', false),
  'an account that is not there is answered too'
);
select is(current_user::text, 'anon', 'it is an anonymous caller');
select is(auth.uid(), null, 'it has no account');
select throws_ok('select id from public.users', '42501', null, 'it cannot read people');

select tests.become_role('edge_functions');
select ok(private.act_as('{"role": "authenticated"}', false), 'a token that is nobody''s is answered too');
select is(current_user::text, 'anon', 'it is an anonymous caller''s');
select throws_ok('select id from public.users', '42501', null, 'it cannot read people');
