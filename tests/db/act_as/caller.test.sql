-- Who a door acts for is looked up once; who comes another way, by their claims.
select plan(8);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_person('dora');
create temporary table ids as
select tests.id_of('ana') as ana, tests.id_of('ben') as ben;
grant select on ids to public;
update public.users
set is_active = false
where id = tests.id_of('dora');

set local role edge_functions;
select private.act_as(tests.claims_of('ana'), true);
select is(private.my_id(), (select ana from ids), 'a door that acts for ana is ana');
select is(current_setting('api.caller'), (select ana::text from ids), 'and need not look for her again');
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
