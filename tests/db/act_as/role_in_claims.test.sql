-- act_as ignores the role in the claims: a caller is authenticated or anon.
select plan(8);
select tests.make_person('ana');

select tests.become_role('edge_functions');
select private.act_as(tests.claims_of('ana') || '{"role": "service_role"}', true);
select is(current_user::text, 'authenticated', 'ana cannot become service_role by her claims');
select results_eq('select name from public.users', $$ values ('ana') $$, 'ana still reads her own row and no other');

select tests.become_role('edge_functions');
select private.act_as(tests.claims_of('ana') || '{"role": "postgres", "user_role": "admin", "is_admin": true}', true);
select is(current_user::text, 'authenticated', 'ana cannot become postgres by her claims');
select results_eq(
  'select name, role from public.users', $$ values ('ana', 'user') $$, 'ana cannot become an admin by her claims'
);

select tests.become_role('edge_functions');
select private.act_as('{"role": "service_role"}', false);
select is(current_user::text, 'anon', 'claims without sub that name service_role are an anonymous caller''s');
select throws_ok(
  'select id from public.users', '42501', null, 'claims without sub that name service_role cannot read users'
);

select tests.become_role('edge_functions');
select throws_ok(
  $$ select private.act_as('{"role": "service_role"}', true) $$, 'PT401', 'This account no longer exists',
  'with strict they are refused'
);
select is(current_user::text, 'edge_functions', 'after the refusal the role is unchanged');
