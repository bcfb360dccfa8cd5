-- Who a door acts for is looked up once; who comes another way, by their claims.
select plan(9);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_person('dora');
create temporary table ids as
select tests.id_of('ana') as ana, tests.id_of('ben') as ben, tests.claims_of('ben')::text as claims;
grant select on ids to public;
update public.users
set is_active = false
where id = tests.id_of('dora');

set local role edge_functions;
select private.act_as(tests.claims_of('ana'), true);
select is(private.my_id(), (select ana from ids), 'a door that acts for ana is ana');
select set_config('request.jwt.claims', (select claims from ids), true), set_config('request.jwt.claim.sub', (select claims::jsonb ->> 'sub' from ids), true);
select is(private.my_id(), (select ana from ids), 'and looks for nobody again, whatever else the claims come to say');
set local role edge_functions;
select private.act_as(tests.claims_of('ben'), true);
select is(private.my_id(), (select ben from ids), 'acting for ben next, it is ben');
set local role edge_functions;
select private.act_as(tests.claims_of('dora'), false);
select is(private.my_id(), null, 'acting for dora, who is deactivated, it is nobody');
set local role edge_functions;
select private.act_as(tests.claims_of('ana'), false);
set local role edge_functions;
select private.act_as(null, false);
select is(private.my_id(), null, 'acting for nobody after ana, it is nobody');

select tests.become('ben');
select is(private.my_id(), (select ben from ids), 'with claims alone, as on the Data API, ben is ben');
select tests.become('dora');
select is(private.my_id(), null, 'and dora nobody');
select tests.become(null);
select is(private.my_id(), null, 'nor is who has no claims');

select tests.become_owner();
create or replace function private.find_me()
returns bigint
language sql stable security definer set search_path = ''
as $$ select null::bigint $$;
select tests.become_role('edge_functions');
select throws_ok(
  $$ select private.act_as(tests.claims_of('ana'), true) $$,
  '40001',
  'This account has just changed',
  'who becomes active between two looks is not refused: the door is to ask again'
);
