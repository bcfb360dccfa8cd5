-- Whom a door acted for is forgotten with the transaction: the next caller on the connection begins as nobody.
-- Unlike all other files this one commits, since nothing else tells the end of a transaction; it leaves nothing behind.
select tests.make_person('ana');
set local role edge_functions;
select private.act_as(tests.claims_of('ana'), true);
select private.set_response_metadata('{"next": 1}');
select private.scope_to_conversation(1);
set local role none;
delete from auth.users where email = 'ana@tests.example';
delete from public.profiles using public.users where users.id = user_id and users.name = 'ana';
delete from public.users where name = 'ana';
commit;

begin;
set local search_path = tap, public;
select plan(7);
select is(current_user, session_user, 'the role is forgotten');
select is(coalesce(current_setting('request.jwt.claims', true), ''), '', 'the claims are forgotten');
select is(coalesce(current_setting('request.jwt.claim.sub', true), ''), '', 'the account is forgotten');
select is(coalesce(current_setting('api.caller', true), ''), '', 'the user is forgotten');
select is(coalesce(current_setting('api.response_metadata', true), ''), '', 'what was told the door is forgotten');
select is(coalesce(current_setting('api.conversation', true), ''), '', 'what was looked at is forgotten');
select is_empty($$ select from public.users where name = 'ana' $$, 'and this file left nobody behind');
