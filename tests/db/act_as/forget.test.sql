-- Whom a door acted for is forgotten with the transaction: the next caller on the connection begins as nobody.
-- Unlike all other files this one commits, since nothing else tells the end of a transaction; it has written nothing.
set local role edge_functions;
select private.act_as(null, false);
select private.tell_door('{"next": 1}');
set local role authenticated;
select private.look_at(1);
commit;

begin;
set local search_path = tap, public;
select plan(5);
select is(current_user, session_user, 'the role is forgotten');
select is(coalesce(current_setting('request.jwt.claims', true), ''), '', 'the claims are forgotten');
select is(coalesce(current_setting('request.jwt.claim.sub', true), ''), '', 'the account is forgotten');
select is(coalesce(current_setting('api.aside', true), ''), '', 'what was told the door is forgotten');
select is(coalesce(current_setting('api.conversation', true), ''), '', 'what was looked at is forgotten');
