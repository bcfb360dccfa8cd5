-- With strict, act_as accepts only active users.
select plan(12);
select tests.make_person(name) from unnest(array['ana', 'dora']) as name;
update public.users set is_active = false where id = tests.id_of('dora');

select tests.become_role('edge_functions');
select ok(private.act_as(tests.claims_of('ana'), true), 'act_as accepts ana');
select is(current_user::text, 'authenticated', 'the role is authenticated');
select is(current_setting('request.jwt.claims')::jsonb, tests.claims_of('ana'), 'the claims are ana''s');
select results_eq('select name from public.users', $$ values ('ana') $$, 'ana reads her own row and no other');
select throws_ok(
  $$ select private.act_as(tests.claims_of('dora'), false) $$, '42501', null,
  'act_as cannot be called again within the transaction'
);
select throws_ok('select api.get_me()', '42501', null, 'no other API function can be called');

select tests.become_role('edge_functions');
select throws_ok(format('select private.act_as(%L, true)', claims), code, message, format('act_as refuses %s', what))
from (
  values
    (tests.claims_of('dora'), 'PT403', 'This account is deactivated', 'dora, who is deactivated'),
    (
      '{"sub": "c0000000-0000-4000-8000-000000000003", "role": "authenticated"}', 'PT401',
      'This account no longer exists', 'an unknown account'
    ),
    ('{"role": "authenticated"}', 'PT401', 'This account no longer exists', 'claims without sub')
) as attempts (claims, code, message, what);
select is(current_user::text, 'edge_functions', 'after a refusal the role is unchanged');
select is(current_setting('request.jwt.claim.sub'), '', 'after a refusal there is no account id');
select throws_ok('select id from public.interests', '42501', null, 'after a refusal not even interests can be read');
