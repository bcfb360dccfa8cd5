-- What each caller can do with the rows of each table. 'rows': the statement reaches them, 'none': it runs and reaches
-- none, 'denied': the privilege is missing, which grants.test.sql lists. The tables come from the catalogue; below is
-- who reaches rows. The callers:
--   anon             has no token
--   ana              owns the rows and is the voyager of the conversation
--   ben              is ana's partner, the local
--   mallory          has nothing to do with the rows
--   dora             owns the rows and is deactivated
--   gus              is carla's partner; his account is erased, and he still has a token
--   edge_functions   the role of the Edge Functions before it becomes a caller
select plan(7);
select tests.make_person(name) from unnest(array['ana', 'ben', 'carla', 'dora', 'gus', 'mallory']) as name;
select tests.make_history('ana', 'ben');
select tests.make_history('dora', 'ben');
select tests.make_history('carla', 'gus');
update public.users set is_active = false where id = tests.id_of('dora');
create temp table erased as select tests.claims_of('gus') as claims;
delete from auth.users where email = 'gus@tests.example';

create temp table reached as
select *
from (
  values
    -- table                       whose rows            select       insert update delete
    ('public.users',               'id = %1$s',              'ana',       '',    '',    ''),
    ('public.profiles',            'id = %2$s',              'ana',       '',    '',    ''),
    ('public.profile_interests',   'profile_id = %2$s',      'ana',       '',    '',    ''),
    ('public.conversations',       'id = %3$s',              'ana ben',   '',    '',    ''),
    ('public.messages',            'conversation_id = %3$s', 'ana ben',   '',    '',    ''),
    ('public.reservations',        'conversation_id = %3$s', 'ana ben',   '',    '',    ''),
    ('public.reservation_history', 'conversation_id = %3$s', 'ana ben',   '',    '',    ''),
    ('public.interests',           'id = 1', 'anon ana ben mallory dora gus', '', '',   '')
) as cells (name, condition, "select", "insert", "update", "delete");

-- Becomes the caller, tries a statement on the rows of `whose`, undoes it, and says how it went.
create function pg_temp.attempt(caller text, privilege text, on_table text) returns text language plpgsql as $$
declare
  whose constant text := case caller when 'dora' then 'dora' when 'gus' then 'carla' else 'ana' end;
  profile constant bigint := tests.profile_of(whose);
  condition constant text := coalesce(
    (
      select format(reached.condition, tests.id_of(whose), profile, tests.conversation_of(whose))
      from reached where name = on_table
    ),
    'true'
  );
  -- An identity may be changed by nobody.
  changed constant name := (
    select attname
    from pg_attribute
    where attrelid = on_table::regclass and attnum > 0 and not attisdropped
      and attidentity = '' and attgenerated = ''
    order by attnum
    limit 1
  );
  affected bigint;
begin
  if caller = 'edge_functions' then
    perform tests.become_role(caller);
  elsif caller = 'gus' then
    -- tests.become finds no claims of an erased account.
    perform
      set_config('request.jwt.claims', claims::text, true),
      set_config('request.jwt.claim.sub', claims ->> 'sub', true),
      set_config('role', 'authenticated', true)
    from erased;
  else
    perform tests.become(nullif(caller, 'anon'));
  end if;
  execute case privilege
    when 'select' then format('select from %s where %s', on_table, condition)
    when 'insert' then format('insert into %s default values', on_table)
    when 'update' then format('update %s set %I = %2$I where %s', on_table, changed, condition)
    when 'delete' then format('delete from %s where %s', on_table, condition)
  end;
  get diagnostics affected = row_count;
  raise sqlstate 'TRIED';
exception
  when sqlstate 'TRIED' then
    return case when affected > 0 then 'rows' else 'none' end;
  when insufficient_privilege then
    return 'denied';
  when others then
    return sqlstate || ' ' || sqlerrm;
end
$$;

select is(
  array(
    select format('%s of %s: %s, not %s', privilege, relations.name, actual, expected)
    from tests.relations
    cross join unnest(array['select', 'insert', 'update', 'delete']) as privilege
    left join reached on reached.name = relations.name
    cross join lateral (
      select case
        when caller = any (string_to_array(to_jsonb(reached) ->> privilege, ' ')) then 'rows'
        when case privilege
          when 'delete' then has_table_privilege(role, relations.oid, privilege)
          else has_any_column_privilege(role, relations.oid, privilege)
        end then case privilege when 'insert' then 'denied' else 'none' end
        else 'denied'
      end as expected,
      pg_temp.attempt(caller, privilege, relations.name) as actual
    ) as cell
    where relkind in ('r', 'p') and actual <> expected
    order by 1
  ),
  '{}',
  caller || ' reaches exactly these rows'
)
from unnest(array['anon', 'ana', 'ben', 'mallory', 'dora', 'gus', 'edge_functions']) as caller
cross join lateral (
  select case when caller in ('anon', 'edge_functions') then caller else 'authenticated' end as role
) as roles;
