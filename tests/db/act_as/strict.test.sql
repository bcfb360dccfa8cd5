-- Strict, a door acts for people who are there and active, and refuses all others.
select plan(12);
select tests.make_person('ana');
select tests.make_person('dora');
update public.users
set is_active = false
where id = tests.id_of('dora');

select tests.become_role('edge_functions');
select ok(private.act_as(tests.claims_of('ana'), true), 'a door can act for ana');
select is(current_user::text, 'authenticated', 'it is a person then');
select is(current_setting('request.jwt.claims')::jsonb, tests.claims_of('ana'), 'with ana''s claims');
select results_eq('select name from public.users', $$ values ('ana') $$, 'it reads ana''s row and no other');
select throws_ok(
  $$ select private.act_as(tests.claims_of('dora'), false) $$,
  '42501',
  null,
  'it cannot act for anybody else within the transaction'
);
select throws_ok('select api.get_me()', '42501', null, 'nor begin another verb');

select tests.become_role('edge_functions');
select throws_ok(
  $$ select private.act_as(tests.claims_of('dora'), true) $$,
  'PT403',
  'This account is deactivated',
  'it cannot act for dora, who is deactivated'
);
select throws_ok(
  $$ select private.act_as('{"sub": "c0000000-0000-4000-8000-000000000003", "role": "authenticated"}', true) $$,
  'PT401',
  'This account no longer exists',
  'it cannot act for an account that is not there'
);
select throws_ok(
  $$ select private.act_as('{"role": "authenticated"}', true) $$,
  'PT401',
  'This account no longer exists',
  'it cannot act for a token that is nobody''s'
);
select is(current_user::text, 'edge_functions', 'refused, it is nobody');
select is(current_setting('request.jwt.claim.sub'), '', 'refused, it has no account');
select throws_ok('select id from public.interests', '42501', null, 'refused, it cannot even read interests');
