-- Every way to drop or loosen one policy, generated from the catalogue: (subject, what, statement). Tables and policies
-- that are added later are covered too.
with policies as (
  select format('%I on %I.%I', policyname, schemaname, tablename) as name, qual, with_check, cmd, roles
  from pg_catalog.pg_policies
  where schemaname in ('public', 'private', 'realtime', 'storage')
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
  from tests.relations
  where relkind in ('r', 'p')
)
select coalesce(substring(what from ' on (\w+\.\w+)'), '') as subject, format('%s: %s', kind, what) as what, statement
from mutants
