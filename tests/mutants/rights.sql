-- Every way to drop or loosen one policy or one grant, generated from the catalogue: (kind, what, statement). Tables,
-- columns, functions and policies that are added later are covered too. A grant that the role already has in another
-- way is left out.
with
roles (name, oid) as (
  select rolname::text, pg_roles.oid
  from pg_catalog.pg_roles
  where rolname in ('anon', 'authenticated', 'service_role', 'edge_functions')
  union all
  values ('public', 0::oid)
),
ours as (
  select oid, nspname::text as name, nspacl from pg_catalog.pg_namespace where nspname in ('public', 'private', 'api')
),
relations as (
  select pg_class.oid, format('%I.%I', ours.name, relname) as name, relkind, relacl
  from pg_catalog.pg_class
  join ours on ours.oid = relnamespace
  where relkind in ('r', 'p', 'v', 'm', 'S')
    and not exists (
      select from pg_catalog.pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e'
    )
),
routines as (
  select pg_proc.oid, format('%s.%s(%s)', ours.name, proname, pg_get_function_identity_arguments(pg_proc.oid)) as name,
  proacl, proowner, prosecdef
  from pg_catalog.pg_proc
  join ours on ours.oid = pronamespace
  where prokind = 'f'
    and not exists (
      select from pg_catalog.pg_depend where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e'
    )
),
policies as (
  select format('%I on %I.%I', policyname, schemaname, tablename) as name, qual, with_check, cmd, roles
  from pg_catalog.pg_policies
  where schemaname in ('public', 'private', 'realtime', 'storage')
),
-- Each privilege that a role can have, and whether it is granted. For columns as for tables, a privilege that the role
-- has in another way is left out.
grants (kind, held, target, role) as (
  select 'table', held, format('%s on %s', privilege, relations.name), roles.name
  from relations
  cross join roles
  cross join unnest(
    array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger', 'maintain']
  ) as privilege
  cross join lateral (
    select exists (select from aclexplode(relacl) where grantee = roles.oid and privilege_type = upper(privilege))
  ) as acl (held)
  where relkind in ('r', 'p', 'v', 'm')
    and (held or roles.oid = 0 or not has_table_privilege(roles.oid, relations.oid, privilege))
  union all
  select 'column', held, format('%s (%I) on %s', privilege, attname, relations.name), roles.name
  from relations
  join pg_catalog.pg_attribute on attrelid = relations.oid and attnum > 0 and not attisdropped
  cross join roles
  cross join unnest(array['select', 'insert', 'update', 'references']) as privilege
  cross join lateral (
    select exists (select from aclexplode(attacl) where grantee = roles.oid and privilege_type = upper(privilege))
  ) as acl (held)
  where relkind in ('r', 'p', 'v', 'm')
    and (held or roles.oid = 0 or not has_column_privilege(roles.oid, relations.oid, attnum, privilege))
  union all
  select 'sequence', held, format('%s on sequence %s', privilege, relations.name), roles.name
  from relations
  cross join roles
  cross join unnest(array['usage', 'select', 'update']) as privilege
  cross join lateral (
    select exists (select from aclexplode(relacl) where grantee = roles.oid and privilege_type = upper(privilege))
  ) as acl (held)
  where relkind = 'S'
  union all
  select 'routine', held, format('%s on function %s', privilege, routines.name), roles.name
  from routines
  cross join roles
  cross join unnest(array['execute']) as privilege
  cross join lateral (
    select exists (select from aclexplode(coalesce(proacl, acldefault('f', proowner))) where grantee = roles.oid)
  ) as acl (held)
  union all
  select 'schema', held, format('%s on schema %I', privilege, ours.name), roles.name
  from ours
  cross join roles
  cross join unnest(array['usage', 'create']) as privilege
  cross join lateral (
    select exists (select from aclexplode(nspacl) where grantee = roles.oid and privilege_type = upper(privilege))
  ) as acl (held)
  -- Schema public belongs to the platform, and everybody may use it.
  where not (ours.name = 'public' and held)
    and not (ours.name = 'public' and roles.name = 'edge_functions' and privilege = 'usage')
),
mutants (kind, what, statement) as (
  -- A policy is dropped, applies to every role, or its condition is always true or always false.
  select 'policy', name || ' dropped', 'drop policy ' || name from policies
  union all
  select 'policy', name || ' to public', 'alter policy ' || name || ' to public' from policies where roles <> '{public}'
  union all
  select 'policy', format('%s %s %s', name, clause, value), format('alter policy %s %s (%s)', name, clause, value)
  from policies
  cross join lateral (values ('using', qual), ('with check', with_check)) as expression (clause, condition)
  cross join (values ('true'), ('false')) as put (value)
  where condition is not null and condition <> value
  union all
  -- One of several conditions is dropped, or is enough by itself.
  select 'policy', format('%s with %s for %s', name, other, word),
  format('alter policy %s %s (%s)', name, clause, replace(condition, word, other))
  from policies
  cross join lateral (values ('using', qual), ('with check', with_check)) as expression (clause, condition)
  cross join (values (' OR ', ' AND '), (' AND ', ' OR ')) as swap (word, other)
  where condition like '%' || word || '%'
  union all
  select 'policy', format('%s without its condition %s', name, number), format(
    'alter policy %s %s (%s)', name, clause,
    (
      select string_agg(part, ' AND ' order by place)
      from regexp_split_to_table(substr(condition, 2, length(condition) - 2), ' AND ')
        with ordinality as parts (part, place)
      where place <> number
    )
  )
  from policies
  cross join lateral (values ('using', qual), ('with check', with_check)) as expression (clause, condition)
  cross join lateral generate_series(1, cardinality(regexp_split_to_array(condition, ' AND '))) as number
  where condition like '% AND %'
  union all
  select
    'row level security', name || ' without row level security',
    format('alter table %s disable row level security', name)
  from relations
  where relkind in ('r', 'p')
  union all

  -- One privilege is granted or revoked.
  select kind, statement, statement
  from grants
  cross join lateral (
    select case
      when held then format('revoke %s from %s', target, role)
      else format('grant %s to %s', target, role)
    end
  ) as change (statement)
  union all
  select 'rights', format('%s as security definer', name), format('alter function %s security definer', name)
  from routines
  where not prosecdef
  union all

  -- Default privileges, role memberships and role attributes.
  select 'default', format('new %s for %s', things, role),
  format('alter default privileges in schema %s grant all on %s to %s', schema, things, role)
  from (
    select ours.name as schema, things, roles.name as role
    from ours
    cross join roles
    cross join (values ('tables'), ('sequences'), ('functions')) as kinds (things)
    where roles.name <> 'service_role'
  ) as cell
  union all
  select 'role', format('%s is %s', member.name, granted.name), format('grant %s to %s', granted.name, member.name)
  from roles as member
  cross join roles as granted
  where member.oid <> granted.oid and member.oid <> 0 and granted.oid <> 0
    and not pg_has_role(member.oid, granted.oid, 'member')
    and not pg_has_role(granted.oid, member.oid, 'member')
  union all
  select 'role', format('%s %s', name, attribute), format('alter role %s %s', name, attribute)
  from roles
  cross join unnest(
    array['bypassrls', 'inherit', 'createrole', 'createdb', 'superuser', 'replication', 'login']
  ) as attribute
  join pg_catalog.pg_roles on rolname = name
  where not (attribute = 'bypassrls' and rolbypassrls)
    and not (attribute = 'login' and rolcanlogin)
)
select kind, what, statement from mutants
