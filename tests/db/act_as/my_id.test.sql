-- my_id is what act_as has stored, and without act_as it is looked up by the claims.
select plan(9);
select tests.make_person(name) from unnest(array['ana', 'ben', 'dora']) as name;
create temporary table ids as
select tests.id_of('ana') as ana, tests.id_of('ben') as ben, tests.claims_of('ben')::text as claims;
grant select on ids to public;
update public.users set is_active = false where id = tests.id_of('dora');

set local role edge_functions;
select private.act_as(tests.claims_of('ana'), true);
select is(private.my_id(), (select ana from ids), 'after act_as for ana my_id is ana''s');
select
  set_config('request.jwt.claims', claims, true),
  set_config('request.jwt.claim.sub', claims::jsonb ->> 'sub', true)
from ids;
select is(private.my_id(), (select ana from ids), 'later changes of the claims do not change my_id');
set local role edge_functions;
select private.act_as(tests.claims_of('ben'), true);
select is(private.my_id(), (select ben from ids), 'a second act_as replaces my_id');
set local role edge_functions;
select private.act_as(tests.claims_of('dora'), false);
select is(private.my_id(), null, 'my_id is null for dora, who is deactivated');
set local role edge_functions;
select private.act_as(tests.claims_of('ana'), false);
set local role edge_functions;
select private.act_as(null, false);
select is(private.my_id(), null, 'an anonymous act_as after one for ana clears my_id');

select tests.become('ben');
select is(private.my_id(), (select ben from ids), 'with claims alone, as on the Data API, my_id is ben''s');
select tests.become('dora');
select is(private.my_id(), null, 'with the claims of dora, who is deactivated, my_id is null');
select tests.become(null);
select is(private.my_id(), null, 'without claims my_id is null');

select tests.become_owner();
create or replace function private.find_me()
returns bigint
language sql stable security definer set search_path = ''
as $$ select null::bigint $$;
select tests.become_role('edge_functions');
select throws_ok(
  $$ select private.act_as(tests.claims_of('ana'), true) $$, '40001', 'This account has just changed',
  'a user who becomes active after find_me has looked gets a retryable error'
);
