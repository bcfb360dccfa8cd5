-- What the doors' role may do by itself, logged in: become a caller, and nothing else.
select plan(6);

select set_eq(
  $$ select role.rolname::text from pg_roles as role where pg_has_role('edge_functions', role.oid, 'set') $$,
  array['edge_functions', 'anon', 'authenticated'],
  'a door can become an anonymous caller or a person, and not the secret key, the owner or any other role'
);
select results_eq(
  $$
    select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication, rolinherit
    from pg_roles
    where rolname = 'edge_functions'
  $$,
  'values (false, false, false, false, false, false)',
  'it stands above no rule, and has none of its callers'' rights before it has become them'
);

select tests.become_role('edge_functions');
select throws_ok('select id from auth.users', '42501', null, 'it cannot read Auth''s accounts');
select throws_ok('create table public.loot (id bigint)', '42501', null, 'it cannot make tables');
select throws_ok('create table api.loot (id bigint)', '42501', null, 'not among the verbs either');
select throws_ok('select private.my_id()', '42501', null, 'it cannot call what its callers can before it has become one');
