-- Without claims a door acts as an anonymous caller.
select plan(6);
select tests.make_person('ana');

select tests.become_role('edge_functions');
select ok(private.act_as(null, false), 'a door can act for who shows no token');
select is(current_user::text, 'anon', 'it is anonymous then');
select is(current_setting('request.jwt.claims')::jsonb, '{"role": "anon"}', 'and says so to the Data API''s helpers');
select is(auth.uid(), null, 'it has no account');
select isnt_empty('select id from public.interests', 'it can read interests');
select throws_ok('select id from public.users', '42501', null, 'it cannot read people');
