-- What the role edge_functions can do by itself: become a caller, and nothing else.
select plan(6);

select set_eq(
  $$ select role.rolname::text from pg_roles as role where pg_has_role('edge_functions', role.oid, 'set') $$,
  array['edge_functions', 'anon', 'authenticated'], 'edge_functions can become anon or authenticated, and no other role'
);
select results_eq(
  $$
    select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication, rolinherit
    from pg_roles
    where rolname = 'edge_functions'
  $$,
  'values (false, false, false, false, false, false)',
  'edge_functions has no attributes, and inherits nothing of the roles that it can become'
);

select tests.become_role('edge_functions');
select throws_ok('select id from auth.users', '42501', null, 'edge_functions cannot read Auth''s accounts');
select throws_ok(
  'create table public.loot (id bigint)', '42501', null, 'edge_functions cannot create tables in schema public'
);
select throws_ok(
  'create table api.loot (id bigint)', '42501', null, 'edge_functions cannot create tables in schema api'
);
select throws_ok('select private.my_id()', '42501', null, 'edge_functions cannot call the helpers of callers');
