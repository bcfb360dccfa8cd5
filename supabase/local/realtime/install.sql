-- What the local Realtime needs in the database beyond the platform's own schema: notifications of commits, and checks
-- of policies as another role. Runs at each start, so that it is always that of this release; no migration contains it.
create schema if not exists local_realtime;

-- Tables that somebody has subscribed to. The triggers look here first, so that other tables send no notification:
-- Postgres commits transactions that notify one at a time. Servers only add rows, because another server on this
-- database may still have subscribers.
create table if not exists local_realtime.subscribed_tables (
  table_schema text,
  table_name text,
  primary key (table_schema, table_name)
);

-- Notifies of a broadcast by id and topic, because a notification holds at most 8 kB. Definer, because senders have no
-- access to subscribed_tables.
create or replace function local_realtime.notify_broadcast()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if exists (
    select from local_realtime.subscribed_tables where table_schema = 'realtime' and table_name = 'messages'
  ) then
    perform pg_notify('local_realtime', 'broadcast ' || new.id || ' ' || left(new.topic, 500));
  end if;
  return null;
end
$$;

-- Changed rows, kept until every server on this database has had time to deliver them.
create table if not exists local_realtime.changes (
  id bigint generated always as identity primary key,
  table_schema text not null,
  table_name text not null,
  type text not null,
  record jsonb,
  old_record jsonb,
  changed_at timestamptz not null
);

create or replace function local_realtime.capture_change()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  change_id bigint;
begin
  if exists (
    select from local_realtime.subscribed_tables
    where table_schema = tg_table_schema and table_name = tg_table_name
  ) then
    insert into local_realtime.changes (table_schema, table_name, type, record, old_record, changed_at)
    values (
      tg_table_schema, tg_table_name, tg_op,
      case when tg_op <> 'DELETE' then to_jsonb(new) end, case when tg_op <> 'INSERT' then to_jsonb(old) end,
      -- Not now(), which is the start of the transaction.
      clock_timestamp()
    )
    returning id into change_id;
    perform pg_notify('local_realtime', 'change ' || change_id);
  end if;
  return null;
end
$$;

do $$
declare
  published record;
begin
  for published in
    select schemaname, tablename
    from pg_catalog.pg_publication_tables
    where pubname = 'supabase_realtime' and schemaname not in ('realtime', 'local_realtime')
  loop
    execute format(
      'create or replace trigger local_realtime_capture after insert or update or delete on %I.%I
       for each row execute function local_realtime.capture_change()',
      published.schemaname, published.tablename
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
  perform set_config('request.jwt.claims', claims::text, true);
  perform set_config('request.jwt.claim.sub', coalesce(claims ->> 'sub', ''), true);
  perform set_config('request.jwt.claim.role', coalesce(claims ->> 'role', ''), true);
  perform set_config('request.headers', '{}', true);
  perform set_config('realtime.topic', topic, true);
  -- The role is one of three literals, whatever the claims say.
  perform set_config(
    'role',
    case claims ->> 'role'
      when 'authenticated' then 'authenticated'
      when 'service_role' then 'service_role'
      else 'anon'
    end,
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
      exception
        when insufficient_privilege then null;
      end;
    end loop;
    raise sqlstate 'PROBE';
  exception
    when sqlstate 'PROBE' then null;
  end;
  return jsonb_build_object('can_read', coalesce(can_read, '{}'), 'can_write', can_write);
end
$$;

-- A filter [{column, operator, not, value}] as a condition on "row"; raises if it does not fit the table.
create or replace function local_realtime.filter_condition(on_table regclass, filter jsonb)
returns text
language plpgsql stable set search_path = ''
as $$
declare
  condition jsonb;
  conditions text[] := '{}';
  col text;
  kind text;
begin
  for condition in select value from jsonb_array_elements(filter) loop
    select format('"row".%I', attname), format_type(atttypid, atttypmod)
    into strict col, kind
    from pg_catalog.pg_attribute
    where attrelid = on_table and attname = condition ->> 'column' and attnum > 0 and not attisdropped;
    conditions := conditions || (
      case when (condition -> 'not')::boolean then 'not ' else '' end
      || '('
      || case condition ->> 'operator'
        when 'eq' then format('%s = %L::%s', col, condition ->> 'value', kind)
        when 'neq' then format('%s <> %L::%s', col, condition ->> 'value', kind)
        when 'lt' then format('%s < %L::%s', col, condition ->> 'value', kind)
        when 'lte' then format('%s <= %L::%s', col, condition ->> 'value', kind)
        when 'gt' then format('%s > %L::%s', col, condition ->> 'value', kind)
        when 'gte' then format('%s >= %L::%s', col, condition ->> 'value', kind)
        when 'isdistinct' then format('%s is distinct from %L::%s', col, condition ->> 'value', kind)
        when 'in' then format(
          '%s = any (array[%s]::%s[])',
          col,
          (select string_agg(quote_literal(item), ', ') from jsonb_array_elements_text(condition -> 'value') as item),
          kind
        )
        when 'like' then format('%s::text like %L', col, condition ->> 'value')
        when 'ilike' then format('%s::text ilike %L', col, condition ->> 'value')
        when 'match' then format('%s::text ~ %L', col, condition ->> 'value')
        when 'imatch' then format('%s::text ~* %L', col, condition ->> 'value')
        when 'is' then format('%s is %s', col, condition ->> 'value')
      end
      || ')'
    );
  end loop;
  return coalesce(nullif(array_to_string(conditions, ' and '), ''), 'true');
end
$$;

-- The columns of a table, each with the roles that may select it.
create or replace function local_realtime.columns(on_table regclass)
returns jsonb
language sql stable set search_path = ''
as $$
  select jsonb_agg(
    jsonb_build_object(
      'name', attname,
      'type', typname,
      'is_key', coalesce(attnum = any (indkey), false),
      'readers', (
        select jsonb_agg(role)
        from unnest(array['anon', 'authenticated', 'service_role']) as role
        where has_column_privilege(role, on_table, attnum, 'select')
      )
    )
    order by attnum
  )
  from pg_catalog.pg_attribute
  join pg_catalog.pg_type on pg_type.oid = atttypid
  left join pg_catalog.pg_index on indrelid = attrelid and indisprimary
  where attrelid = on_table and attnum > 0 and not attisdropped
$$;

-- Subscribes to the published tables that a binding {schema, table, filter} matches, and returns them with their
-- columns; null if there is none or the filter is invalid.
create or replace function local_realtime.subscribe(binding jsonb)
returns jsonb
language plpgsql volatile set search_path = ''
as $$
declare
  published record;
  tables jsonb := '[]';
begin
  for published in
    select schemaname, tablename, format('%I.%I', schemaname, tablename)::regclass as on_table
    from pg_catalog.pg_publication_tables
    where pubname = 'supabase_realtime'
      and schemaname = binding ->> 'schema'
      and coalesce(binding ->> 'table', '*') in ('*', tablename)
  loop
    execute format(
      'select from jsonb_populate_record(null::%s, ''{}'') as "row" where %s',
      published.on_table, local_realtime.filter_condition(published.on_table, binding -> 'filter')
    );
    insert into local_realtime.subscribed_tables values (published.schemaname, published.tablename)
    on conflict do nothing;
    tables := tables || jsonb_build_object(
      'table', published.tablename, 'columns', local_realtime.columns(published.on_table)
    );
  end loop;
  return nullif(tables, '[]');
exception
  when others then
    return null;
end
$$;

-- For each subscriber {claims, filter} a list: the ids of those changes of one table that it may see.
create or replace function local_realtime.visible_changes(
  table_schema text, table_name text, changes jsonb, subscribers jsonb
)
returns jsonb
language plpgsql volatile set search_path = ''
as $$
declare
  on_table constant regclass := format('%I.%I', table_schema, table_name);
  keys constant text[] := (
    select array_agg(attname) from pg_catalog.pg_attribute
    join pg_catalog.pg_index on indrelid = attrelid and indisprimary and attnum = any (indkey)
    where attrelid = on_table
  );
  same_key constant text := (
    select string_agg(format('found.%1$I = wanted.%1$I', key), ' and ') from unnest(keys) as key
  );
  subscriber jsonb;
  written jsonb;
  deleted jsonb;
  visible jsonb;
  answer jsonb := '[]';
begin
  for subscriber in select value from jsonb_array_elements(subscribers) loop
    visible := null;
    deleted := null;
    begin
      -- Of a deleted row only the key is published, so a filter on another column does not match it.
      execute format(
        'select
           jsonb_agg(jsonb_build_object(''id'', change.id, ''record'', change.record))
             filter (where change.type <> ''DELETE''),
           jsonb_agg(change.id) filter (where change.type = ''DELETE'')
         from local_realtime.changes as change
         cross join lateral jsonb_populate_record(null::%1$s, coalesce(change.record, change.old_record)) as "row"
         where change.id in (select value::bigint from jsonb_array_elements_text($1))
           and %2$s
           and (change.type <> ''DELETE'' or $2)',
        on_table, local_realtime.filter_condition(on_table, subscriber -> 'filter')
      )
      into written, deleted
      using changes, not exists (
        select from jsonb_array_elements(subscriber -> 'filter') as condition
        where condition ->> 'column' <> all (keys)
      );
      perform local_realtime.act_as(subscriber -> 'claims', '');
      execute format(
        'select jsonb_agg(change -> ''id'')
         from jsonb_array_elements($1) as change
         cross join lateral jsonb_populate_record(null::%1$s, change -> ''record'') as wanted
         where exists (select from %1$s as found where %2$s)',
        on_table, same_key
      )
      into visible
      using coalesce(written, '[]');
      raise sqlstate 'PROBE';
    exception
      when sqlstate 'PROBE' then null;
      -- Without select on the table a subscriber sees no change, not even a delete.
      when others then
        visible := null;
        deleted := null;
    end;
    answer := answer || jsonb_build_array(coalesce(visible, '[]') || coalesce(deleted, '[]'));
  end loop;
  return answer;
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
create or replace trigger local_realtime_recheck_pair
  after insert on private.blocks
  for each row
  execute function local_realtime.recheck_pair();

create or replace function local_realtime.recheck_account()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform pg_notify('local_realtime', 'account ' || old.auth_id);
  return null;
end
$$;
create or replace trigger local_realtime_recheck_account
  after update of is_active on public.users
  for each row
  when (old.is_active and not new.is_active and old.auth_id is not null)
  execute function local_realtime.recheck_account();

-- Must stay last, after the triggers on published tables: sending locks a message's table first and this one second. In
-- the other order the two would deadlock, and a send that has waited goes on without its broadcasts.
create or replace trigger local_realtime_notify_broadcast
  after insert on realtime.messages
  for each row
  when (new.extension = 'broadcast' and new.event is not null)
  execute function local_realtime.notify_broadcast();
