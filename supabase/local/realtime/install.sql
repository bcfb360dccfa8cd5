-- What the local Realtime needs in the database beyond the platform's own schema: notifications of commits, and checks
-- of policies as another role. Runs at each start, so that it is always that of this release; no migration contains it.
create schema if not exists local_realtime;

-- Notifies of a broadcast. A notification holds at most 8 kB, and realtime.send makes more than that a warning.
create or replace function local_realtime.notify_broadcast()
returns trigger
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  perform pg_notify('local_realtime', 'broadcast ' || jsonb_build_object(
    'id', new.id, 'topic', new.topic, 'event', new.event, 'payload', new.payload
  )::text);
  return null;
end
$$;

-- Notifies of a changed row by its key, whose columns are the arguments.
create or replace function local_realtime.capture_change()
returns trigger
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  written constant jsonb := case when tg_op = 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
begin
  perform pg_notify('local_realtime', 'change ' || jsonb_build_object(
    'schema', tg_table_schema, 'table', tg_table_name, 'type', tg_op,
    'key', (select jsonb_object_agg(name, written -> name) from unnest(tg_argv) as name),
    -- Not now(), which is the start of the transaction.
    'at', clock_timestamp()
  )::text);
  return null;
end
$$;

create or replace function local_realtime.key_columns(on_table regclass)
returns text[]
language sql stable set search_path = ''
as $$
  select array_agg(attname)
  from pg_catalog.pg_attribute
  join pg_catalog.pg_index on indrelid = attrelid and indisprimary and attnum = any (indkey)
  where attrelid = on_table
$$;

do $$
declare
  published record;
begin
  for published in
    select format('%I.%I', schemaname, tablename)::regclass as on_table
    from pg_catalog.pg_publication_tables
    where pubname = 'supabase_realtime' and schemaname not in ('realtime', 'local_realtime')
  loop
    execute format(
      'create or replace trigger local_realtime_capture after insert or update or delete on %s
       for each row execute function local_realtime.capture_change(%s)',
      published.on_table,
      (select string_agg(quote_literal(name), ', ') from unnest(local_realtime.key_columns(published.on_table)) as name)
    );
  end loop;
end
$$;

-- Sets the role and the request settings that policies read, until the transaction ends.
create or replace function local_realtime.act_as(claims jsonb, topic text)
returns void
language plpgsql volatile set search_path = ''
as $$
begin
  perform
    set_config('request.jwt.claims', claims::text, true),
    set_config('request.jwt.claim.sub', coalesce(claims ->> 'sub', ''), true),
    set_config('request.jwt.claim.role', coalesce(claims ->> 'role', ''), true),
    set_config('request.headers', '{}', true),
    set_config('realtime.topic', topic, true);
  -- The role is one of three literals, whatever the claims say.
  perform set_config(
    'role',
    case when claims ->> 'role' in ('authenticated', 'service_role') then claims ->> 'role' else 'anon' end,
    true
  );
end
$$;

-- What the policies on realtime.messages allow: {can_read, can_write}, each a list of extensions. This function and
-- visible_changes act as the caller in a block that ends by raising PROBE. That undoes the block, the role included,
-- but variables keep their values.
create or replace function local_realtime.permissions(topic text, claims jsonb)
returns jsonb
language plpgsql volatile set search_path = ''
as $$
declare
  broadcast_probe constant uuid := gen_random_uuid();
  presence_probe constant uuid := gen_random_uuid();
  can_read text[];
  can_write text[] := '{}';
  probed text;
begin
  begin
    insert into realtime.messages (id, topic, extension)
    values (broadcast_probe, permissions.topic, 'broadcast'), (presence_probe, permissions.topic, 'presence');
    perform local_realtime.act_as(claims, topic);
    select array_agg(extension) into can_read from realtime.messages where id in (broadcast_probe, presence_probe);
    foreach probed in array array['broadcast', 'presence'] loop
      begin
        insert into realtime.messages (topic, extension) values (permissions.topic, probed);
        can_write := can_write || probed;
      exception when insufficient_privilege then null;
      end;
    end loop;
    raise sqlstate 'PROBE';
  exception when sqlstate 'PROBE' then null;
  end;
  return jsonb_build_object('can_read', coalesce(can_read, '{}'), 'can_write', can_write);
end
$$;

-- A filter {column, operator, values} as a condition on "row", without one true; raises if it does not fit the table.
create or replace function local_realtime.filter_condition(on_table regclass, filter jsonb)
returns text
language plpgsql stable set search_path = ''
as $$
declare
  comparisons constant jsonb := '{"eq": "=", "neq": "<>", "lt": "<", "lte": "<=", "gt": ">", "gte": ">=", "in": "="}';
  kind text;
begin
  if filter = 'null' then
    return 'true';
  end if;
  select format_type(atttypid, atttypmod)
  into strict kind
  from pg_catalog.pg_attribute
  where attrelid = on_table and attname = filter ->> 'column' and attnum > 0 and not attisdropped;
  return format(
    '"row".%I %s any (array[%s]::%s[])',
    filter ->> 'column',
    comparisons ->> (filter ->> 'operator'),
    (select string_agg(quote_literal(item), ', ') from jsonb_array_elements_text(filter -> 'values') as item),
    kind
  );
end
$$;

-- The published tables that a binding {schema, table, filter} matches, with their columns, each with the roles that may
-- select it; null if there is none or the filter is invalid.
create or replace function local_realtime.subscribe(binding jsonb)
returns jsonb
language plpgsql stable set search_path = ''
as $$
declare
  published record;
  tables jsonb := '[]';
begin
  for published in
    select tablename, format('%I.%I', schemaname, tablename)::regclass as on_table
    from pg_catalog.pg_publication_tables
    where pubname = 'supabase_realtime'
      and schemaname = binding ->> 'schema'
      and coalesce(binding ->> 'table', '*') in ('*', tablename)
  loop
    execute format(
      'select from jsonb_populate_record(null::%s, ''{}'') as "row" where %s',
      published.on_table, local_realtime.filter_condition(published.on_table, binding -> 'filter')
    );
    tables := tables || jsonb_build_object('table', published.tablename, 'columns', (
      select jsonb_agg(
        jsonb_build_object(
          'name', attname, 'type', typname, 'is_key', attname = any (local_realtime.key_columns(published.on_table)),
          'readers', (
            select jsonb_agg(role)
            from unnest(array['anon', 'authenticated', 'service_role']) as role
            where has_column_privilege(role, published.on_table, attnum, 'select')
          )
        )
        order by attnum
      )
      from pg_catalog.pg_attribute
      join pg_catalog.pg_type on pg_type.oid = atttypid
      where attrelid = published.on_table and attnum > 0 and not attisdropped
    ));
  end loop;
  return nullif(tables, '[]');
exception when others then
  return null;
end
$$;

-- Those of the changes [{id, type, key}] of one table that a subscriber may see, as [{id, record}]. The record is the
-- present row, which the filter asks too, and not that of the change, with the columns that the subscriber may read;
-- null of a deleted one.
create or replace function local_realtime.visible_changes(on_table regclass, changes jsonb, claims jsonb, filter jsonb)
returns jsonb
language plpgsql volatile set search_path = ''
as $$
declare
  keys constant text[] := local_realtime.key_columns(on_table);
  same_key constant text := (
    select string_agg(format('"row".%1$I = wanted.%1$I', key), ' and ') from unnest(keys) as key
  );
  condition text;
  columns text;
  visible jsonb;
begin
  begin
    condition := local_realtime.filter_condition(on_table, filter);
    perform local_realtime.act_as(claims, '');
    select string_agg(format('"row".%I', attname), ', ' order by attnum) into columns
    from pg_catalog.pg_attribute
    where attrelid = on_table and attnum > 0 and not attisdropped
      and has_column_privilege(on_table, attnum, 'select');
    -- Of a deleted row only the key is published, so a filter on another column does not match it.
    execute format(
      'select jsonb_agg(jsonb_build_object(''id'', change -> ''id'', ''record'', found.record))
       from jsonb_array_elements($1) as change
       cross join lateral jsonb_populate_record(null::%1$s, change -> ''key'') as wanted
       cross join lateral (
         select (select to_jsonb(shown) from (select %2$s) as shown) as record
         from %1$s as "row"
         where change ->> ''type'' <> ''DELETE'' and %3$s and %4$s
         union all
         select null from (select (wanted).*) as "row" where change ->> ''type'' = ''DELETE'' and %4$s
       ) as found',
      on_table, columns, same_key, condition
    )
    into visible
    using changes;
    raise sqlstate 'PROBE';
  exception
    when sqlstate 'PROBE' then null;
    -- Without select on the table a subscriber sees no change, not even a delete.
    when others then visible := null;
  end;
  return coalesce(visible, '[]');
end
$$;

-- A block takes both users off their typing: topic at once, and an account that becomes inactive off all topics. The
-- platform checks permissions only at a join and when the token is renewed.
create or replace function local_realtime.recheck_pair()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform pg_notify('local_realtime', 'permissions typing:' || id)
  from public.conversations
  where least(voyager_id, local_id) = least(new.blocker_id, new.blocked_id)
    and greatest(voyager_id, local_id) = greatest(new.blocker_id, new.blocked_id);
  return null;
end
$$;
create or replace trigger local_realtime_recheck_pair after insert on private.blocks
  for each row execute function local_realtime.recheck_pair();

create or replace function local_realtime.recheck_account()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform pg_notify('local_realtime', 'account ' || old.auth_id);
  return null;
end
$$;
create or replace trigger local_realtime_recheck_account after update of is_active on public.users
  for each row when (old.is_active and not new.is_active and old.auth_id is not null)
  execute function local_realtime.recheck_account();

-- Must stay last, after the triggers on published tables: sending locks a message's table first and this one second. In
-- the other order the two would deadlock, and a send that has waited goes on without its broadcasts.
create or replace trigger local_realtime_notify_broadcast after insert on realtime.messages
  for each row when (new.extension = 'broadcast' and new.event is not null and new.private)
  execute function local_realtime.notify_broadcast();
