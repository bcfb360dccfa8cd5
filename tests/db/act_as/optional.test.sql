-- Without strict, act_as turns callers who are deactivated or unknown into anonymous ones.
select plan(15);
select tests.make_person(name) from unnest(array['ana', 'dora']) as name;
update public.users set is_active = false where id = tests.id_of('dora');

select tests.become_role('edge_functions');
select ok(private.act_as(tests.claims_of('ana'), false), 'act_as accepts ana');
select is(current_user::text, 'authenticated', 'the role is authenticated');
select results_eq('select name from public.users', $$ values ('ana') $$, 'ana reads her own row and no other');

select tests.become_role('edge_functions');
select ok(private.act_as(tests.claims_of('dora'), false), 'act_as accepts dora, who is deactivated');
select is(current_user::text, 'anon', 'dora is an anonymous caller');
select is(current_setting('request.jwt.claims')::jsonb, '{"role": "anon"}', 'dora''s claims are replaced');
select is(auth.uid(), null, 'auth.uid() is null for dora');
select throws_ok('select id from public.users', '42501', null, 'dora cannot read her own row');

select tests.become_role('edge_functions');
select ok(
  private.act_as('{"sub": "c0000000-0000-4000-8000-000000000003", "role": "authenticated"}', false),
  'act_as accepts an unknown account'
);
select is(current_user::text, 'anon', 'an unknown account is an anonymous caller');
select is(auth.uid(), null, 'auth.uid() is null for an unknown account');
select throws_ok('select id from public.users', '42501', null, 'an unknown account cannot read users');

select tests.become_role('edge_functions');
select ok(private.act_as('{"role": "authenticated"}', false), 'act_as accepts claims without sub');
select is(current_user::text, 'anon', 'claims without sub are an anonymous caller''s');
select throws_ok('select id from public.users', '42501', null, 'claims without sub cannot read users');
