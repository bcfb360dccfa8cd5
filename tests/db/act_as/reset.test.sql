-- The end of a transaction resets everything that act_as has set, so the next caller on the connection starts clean.
-- Unlike all other files this one commits, because only that ends a transaction. It deletes what it creates.
select tests.make_person('ana');
set local role edge_functions;
select private.act_as(tests.claims_of('ana'), true);
select private.set_response_metadata('{"next": 1}');
set local role none;
delete from auth.users where email = 'ana@tests.example';
delete from public.profiles using public.users where users.id = user_id and users.name = 'ana';
delete from public.users where name = 'ana';
commit;

begin;
set local search_path = tap, public;
select plan(6);
select is(current_user, session_user, 'the role is reset');
select is(coalesce(current_setting('request.jwt.claims', true), ''), '', 'the claims are reset');
select is(coalesce(current_setting('request.jwt.claim.sub', true), ''), '', 'the account id is reset');
select is(coalesce(current_setting('api.caller', true), ''), '', 'the user id is reset');
select is(coalesce(current_setting('api.response_metadata', true), ''), '', 'the response metadata is reset');
select is_empty($$ select from public.users where name = 'ana' $$, 'this file leaves no user behind');
