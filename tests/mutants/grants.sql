-- A role's privilege on our schemas, or on what is in them, is revoked, or one that it has not granted.
with objects (name, acl, privileges) as (
  select name, relacl, '{select,insert,update,delete,truncate,references,trigger,maintain}'::text[]
  from tests.relations where relkind <> 'S'
  union all
  select 'sequence ' || name, relacl, '{usage,select,update}' from tests.relations where relkind = 'S'
  union all
  select name, attacl, array[format('select (%I)', attname), format('update (%I)', attname)]
  from tests.relations join pg_attribute on attrelid = relations.oid and attnum > 0 and not attisdropped
  where relkind <> 'S'
  union all
  select 'function ' || pg_proc.oid::regprocedure, coalesce(proacl, acldefault('f', proowner)), '{execute}'
  from pg_proc where pronamespace::regnamespace::text in ('public', 'private', 'api') and prokind = 'f'
  union all
  -- Everybody may use schema public, which belongs to the platform.
  select 'schema ' || nspname, nspacl, case nspname when 'public' then '{create}'::text[] else '{create,usage}' end
  from pg_namespace where nspname in ('public', 'private', 'api')
)
select name as subject, 'grant: ' || statement as what, statement
from objects
cross join unnest(privileges) as privilege
cross join unnest('{anon,authenticated,edge_functions,public}'::text[]) as grantee
cross join lateral (
  select case
    when (grantee, split_part(privilege, ' ', 1)) in (select * from tests.granted(acl, 0))
      then format('revoke %s on %s from %s', privilege, name, grantee)
    else format('grant %s on %s to %s', privilege, name, grantee)
  end
) as change (statement)
