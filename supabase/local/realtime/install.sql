-- What the local Realtime needs of the database besides what the platform has: word of what happens, and answers as somebody else. Run at
-- each start, so that it is always what this release wants. No migration knows of it.
create schema if not exists local_realtime;

-- Tables that somebody has followed. What nobody ever did costs a look at this one, and no notification: Postgres lets one transaction with
-- a notification commit at a time. No server takes anything out of it, because another on this database may serve those who follow.
create table if not exists local_realtime.followed (
  table_schema text,
  table_name text,
  primary key (table_schema, table_name)
);

-- Word of broadcasts: their key and topic alone, because a notification holds no more than 8 kB. Definer, as whoever may send anything
-- may not look at who listens.
create or replace function local_realtime.announce()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if exists (select from local_realtime.followed where table_schema = 'realtime' and table_name = 'messages') then
    perform pg_notify('local_realtime', 'broadcast ' || new.id || ' ' || left(new.topic, 500));
  end if;
  return null;
end
$$;

-- Rows as they change, kept until every server on this database has had time to deliver them.
create table if not exists local_realtime.changes (
  id bigint generated always as identity primary key,
  table_schema text not null,
  table_name text not null,
  verb text not null,
  record jsonb,
  old_record jsonb,
  changed_at timestamptz not null
);

create or replace function local_realtime.capture()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  change bigint;
begin
  if exists (select from local_realtime.followed where table_schema = tg_table_schema and table_name = tg_table_name) then
    insert into local_realtime.changes (table_schema, table_name, verb, record, old_record, changed_at)
    values (
      tg_table_schema, tg_table_name, tg_op,
      case when tg_op <> 'DELETE' then to_jsonb(new) end, case when tg_op <> 'INSERT' then to_jsonb(old) end,
      -- Not now(), which is when the transaction began.
      clock_timestamp()
    )
    returning id into change;
    perform pg_notify('local_realtime', 'change ' || change);
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
       for each row execute function local_realtime.capture()',
      published.schemaname, published.tablename
    );
  end loop;
end
$$;

create or replace function local_realtime.become(claims jsonb, topic text)
returns void
language plpgsql volatile set search_path = ''
as $$
begin
  perform set_config('request.jwt.claims', claims::text, true);
  perform set_config('request.jwt.claim.sub', coalesce(claims ->> 'sub', ''), true);
  perform set_config('request.jwt.claim.role', coalesce(claims ->> 'role', ''), true);
  perform set_config('request.headers', '{}', true);
  perform set_config('realtime.topic', topic, true);
  -- The role is a literal, whatever the claims say.
  perform set_config(
    'role', case claims ->> 'role' when 'authenticated' then 'authenticated' when 'service_role' then 'service_role' else 'anon' end, true
  );
end
$$;

-- Who becomes somebody does so in a block that ends by raising PROBE: everything in it is undone, the role too, and the answer stays.
create or replace function local_realtime.rights(topic text, claims jsonb)
returns jsonb
language plpgsql volatile set search_path = ''
as $$
declare
  broadcast_probe constant uuid := gen_random_uuid();
  presence_probe constant uuid := gen_random_uuid();
  hears text[];
  speaks text[] := '{}';
  way text;
begin
  begin
    insert into realtime.messages (id, topic, extension)
    values (broadcast_probe, rights.topic, 'broadcast'), (presence_probe, rights.topic, 'presence');
    perform local_realtime.become(claims, topic);
    select array_agg(extension) into hears from realtime.messages where id in (broadcast_probe, presence_probe);
    foreach way in array array['broadcast', 'presence'] loop
      begin
        insert into realtime.messages (topic, extension) values (rights.topic, way);
        speaks := speaks || way;
      exception
        when insufficient_privilege then null;
      end;
    end loop;
    raise sqlstate 'PROBE';
  exception
    when sqlstate 'PROBE' then null;
  end;
  return jsonb_build_object('hears', coalesce(hears, '{}'), 'speaks', speaks);
end
$$;

-- A filter [{column, operator, not, value}] as a condition on "row"; raises on what no row of the table could be asked.
create or replace function local_realtime.condition(on_table regclass, filter jsonb)
returns text
language plpgsql stable set search_path = ''
as $$
declare
  term jsonb;
  terms text[] := '{}';
  col text;
  kind text;
begin
  for term in select value from jsonb_array_elements(filter) loop
    select format('"row".%I', attname), format_type(atttypid, atttypmod)
    into strict col, kind
    from pg_catalog.pg_attribute
    where attrelid = on_table and attname = term ->> 'column' and attnum > 0 and not attisdropped;
    terms := terms || (
      case when (term -> 'not')::boolean then 'not ' else '' end
      || '('
      || case term ->> 'operator'
        when 'eq' then format('%s = %L::%s', col, term ->> 'value', kind)
        when 'neq' then format('%s <> %L::%s', col, term ->> 'value', kind)
        when 'lt' then format('%s < %L::%s', col, term ->> 'value', kind)
        when 'lte' then format('%s <= %L::%s', col, term ->> 'value', kind)
        when 'gt' then format('%s > %L::%s', col, term ->> 'value', kind)
        when 'gte' then format('%s >= %L::%s', col, term ->> 'value', kind)
        when 'isdistinct' then format('%s is distinct from %L::%s', col, term ->> 'value', kind)
        when 'in' then format(
          '%s = any (array[%s]::%s[])', col,
          (select string_agg(quote_literal(item), ', ') from jsonb_array_elements_text(term -> 'value') as item), kind
        )
        when 'like' then format('%s::text like %L', col, term ->> 'value')
        when 'ilike' then format('%s::text ilike %L', col, term ->> 'value')
        when 'match' then format('%s::text ~ %L', col, term ->> 'value')
        when 'imatch' then format('%s::text ~* %L', col, term ->> 'value')
        when 'is' then format('%s is %s', col, term ->> 'value')
      end
      || ')'
    );
  end loop;
  return coalesce(nullif(array_to_string(terms, ' and '), ''), 'true');
end
$$;

create or replace function local_realtime.columns(on_table regclass)
returns jsonb
language sql stable set search_path = ''
as $$
  select jsonb_agg(
    jsonb_build_object(
      'name', attname,
      'type', typname,
      'key', coalesce(attnum = any (indkey), false),
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

-- Begins to follow the tables that {schema, table, filter} is about, of those that are published; null where there is none, or where the
-- filter is none.
create or replace function local_realtime.follow(binding jsonb)
returns jsonb
language plpgsql volatile set search_path = ''
as $$
declare
  published record;
  answer jsonb := '[]';
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
      published.on_table, local_realtime.condition(published.on_table, binding -> 'filter')
    );
    insert into local_realtime.followed values (published.schemaname, published.tablename) on conflict do nothing;
    answer := answer || jsonb_build_object('table', published.tablename, 'columns', local_realtime.columns(published.on_table));
  end loop;
  return nullif(answer, '[]');
exception
  when others then
    return null;
end
$$;

-- Which of these changes of one table each follower {claims, filter} may see: for each a list of ids.
create or replace function local_realtime.audience(table_schema text, table_name text, changes jsonb, followers jsonb)
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
  key_equals constant text := (select string_agg(format('found.%1$I = sought.%1$I', key), ' and ') from unnest(keys) as key);
  follower jsonb;
  sought jsonb;
  removed jsonb;
  seen jsonb;
  answer jsonb := '[]';
begin
  for follower in select value from jsonb_array_elements(followers) loop
    seen := null;
    removed := null;
    begin
      -- Of a removed row only its key is known, so a filter on anything else says no.
      execute format(
        'select
           jsonb_agg(jsonb_build_object(''id'', change.id, ''record'', record)) filter (where verb <> ''DELETE''),
           jsonb_agg(change.id) filter (where verb = ''DELETE'')
         from local_realtime.changes as change
         cross join lateral jsonb_populate_record(null::%1$s, coalesce(record, old_record)) as "row"
         where change.id in (select value::bigint from jsonb_array_elements_text($1)) and %2$s and (verb <> ''DELETE'' or $2)',
        on_table, local_realtime.condition(on_table, follower -> 'filter')
      )
      into sought, removed
      using changes, not exists (
        select from jsonb_array_elements(follower -> 'filter') as term where term ->> 'column' <> all (keys)
      );
      perform local_realtime.become(follower -> 'claims', '');
      execute format(
        'select jsonb_agg(change -> ''id'')
         from jsonb_array_elements($1) as change
         cross join lateral jsonb_populate_record(null::%1$s, change -> ''record'') as sought
         where exists (select from %1$s as found where %2$s)',
        on_table, key_equals
      )
      into seen
      using coalesce(sought, '[]');
      raise sqlstate 'PROBE';
    exception
      when sqlstate 'PROBE' then null;
      -- Who may not read the table at all sees nothing of it, not even that something was removed.
      when others then
        seen := null;
        removed := null;
    end;
    answer := answer || jsonb_build_array(coalesce(seen, '[]') || coalesce(removed, '[]'));
  end loop;
  return answer;
end
$$;

-- Whoever was blocked is on the topic typing: of the two until their rights are asked again, and so is whoever blocked them. The platform asks
-- when somebody joins or brings a new token, and no sooner.
create or replace function local_realtime.ask_again()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform pg_notify('local_realtime', 'rights typing:' || id)
  from public.conversations
  where least(voyager_id, local_id) = least(new.blocker_id, new.blocked_id)
    and greatest(voyager_id, local_id) = greatest(new.blocker_id, new.blocked_id);
  return null;
end
$$;
create or replace trigger local_realtime_ask_again
  after insert on private.blocks
  for each row
  execute function local_realtime.ask_again();

-- Last, after the triggers on published tables: who sends locks a message's table first and this one second. In the other order the two would
-- wait for each other, and a send that has waited goes on without its events.
create or replace trigger local_realtime_announce
  after insert on realtime.messages
  for each row
  when (new.extension = 'broadcast' and new.event is not null)
  execute function local_realtime.announce();
