-- Null claims make an anonymous caller.
select plan(6);
select tests.make_person('ana');

select tests.become_role('edge_functions');
select ok(private.act_as(null, false), 'act_as accepts null claims');
select is(current_user::text, 'anon', 'the role is anon');
select is(current_setting('request.jwt.claims')::jsonb, '{"role": "anon"}', 'the claims name the role anon');
select is(auth.uid(), null, 'auth.uid() is null');
select isnt_empty('select id from public.interests', 'an anonymous caller can read interests');
select throws_ok('select id from public.users', '42501', null, 'an anonymous caller cannot read users');
