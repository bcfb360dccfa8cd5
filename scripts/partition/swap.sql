-- Only the catalogue is written, so others wait for milliseconds. The old table stays under another name, and so do the
-- old functions whose results are its rows: statements that are running end with them.
--
-- The locks are taken in the order in which the feed takes them: its readers hold changes_origin when they come to the
-- table.
alter materialized view private.changes_origin rename to unpartitioned_changes_origin;
lock table private.changes, private.partitioned_changes in access exclusive mode;
alter materialized view private.partitioned_changes_origin rename to changes_origin;
drop table private.changes_copy;
drop trigger follow_changes on private.changes;
drop trigger wait_for_copy on private.changes;
drop function private.follow_changes();
drop function private.wait_for_copy();
drop function private.forget_changes();
alter function private.forget_old_parts() rename to forget_changes;
select setval('private.partitioned_changes_id_seq', last_value, is_called) from private.changes_id_seq;

do $$
declare
  -- Read before the table is renamed, because Postgres prints names of types as they are.
  reading constant regprocedure[] := array(
    select oid from pg_proc where prokind = 'f' and prosrc ~ 'private\.changes\M' and proname <> 'forget_changes'
  );
  definitions constant text[] := array(
    select pg_get_functiondef(name) from unnest(reading) with ordinality as listed (name, place) order by place
  );
  condition constant text := 'and (xid, id) > (after_xid, after_id)';
  returns_rows boolean;
  description text;
  suffix text;
begin
  execute format(
    'comment on materialized view private.changes_origin is %L',
    obj_description('private.unpartitioned_changes_origin'::regclass)
  );
  foreach suffix in array array['', '_other_id_idx'] loop
    execute format(
      'comment on %s private.partitioned_changes%s is %L',
      case suffix when '' then 'table' else 'index' end, suffix,
      obj_description(format('private.changes%s', suffix)::regclass)
    );
  end loop;
  foreach suffix in array array['', '_pkey', '_other_id_idx', '_id_seq'] loop
    execute format('alter table private.changes%1$s rename to unpartitioned_changes%1$s', suffix);
    execute format('alter table private.partitioned_changes%1$s rename to changes%1$s', suffix);
  end loop;

  if position(condition in array_to_string(definitions, '')) = 0 then
    raise 'private.changes_between has changed: without the condition on xid alone a page reads every part';
  end if;
  -- Also those that only have variables of the row's type, which a session keeps until the function changes.
  for place in 1 .. cardinality(reading) loop
    select prorettype = 'private.unpartitioned_changes'::regtype
    into returns_rows
    from pg_proc
    where oid = reading[place];
    description := obj_description(reading[place]);
    if returns_rows then
      execute format('alter function %s rename to %I', reading[place], 'unpartitioned_' || (
        select proname from pg_proc where oid = reading[place]
      ));
    end if;
    execute replace(definitions[place], condition, condition || ' and xid >= after_xid');
    if returns_rows then
      execute format(
        'comment on function %s is %L',
        replace(reading[place]::text, 'unpartitioned_', ''), description
      );
    end if;
  end loop;
end
$$;
