-- The role in a token's claims makes no difference: whom a door acts for is a person or anonymous.
select plan(8);
select tests.make_person('ana');

select tests.become_role('edge_functions');
select private.act_as(tests.claims_of('ana') || '{"role": "service_role"}', true);
select is(current_user::text, 'authenticated', 'ana cannot be the secret key by her claims');
select results_eq('select name from public.users', $$ values ('ana') $$, 'ana still reads herself and no other');

select tests.become_role('edge_functions');
select private.act_as(tests.claims_of('ana') || '{"role": "postgres", "user_role": "admin", "is_admin": true}', true);
select is(current_user::text, 'authenticated', 'nor the owner');
select results_eq('select name, role from public.users', $$ values ('ana', 'user') $$, 'nor an admin');

select tests.become_role('edge_functions');
select private.act_as('{"role": "service_role"}', false);
select is(current_user::text, 'anon', 'claims of the secret key''s role that name nobody are an anonymous caller''s');
select throws_ok('select id from public.users', '42501', null, 'they read nobody');

select tests.become_role('edge_functions');
select throws_ok(
  $$ select private.act_as('{"role": "service_role"}', true) $$,
  'PT401',
  'This account no longer exists',
  'strict, they are refused'
);
select is(current_user::text, 'edge_functions', 'and nobody is acted for');
