-- Beside private.changes a partitioned table that follows it, until swap.sql exchanges the two. The parts are ranges of
-- xid: the feed reads one user's rows in the order of (xid, id), so the key stays as it is, a page reads only the parts
-- that a cursor can reach, and the newest change is found in the newest part that has one. By created_at each page
-- would read every part, in three times the time, because a transaction may commit long after it wrote.
create table private.partitioned_changes (
  like private.changes including defaults including identity including comments,
  constraint partitioned_changes_pkey primary key (user_id, xid, id)
) partition by range (xid);
create index partitioned_changes_other_id_idx on private.partitioned_changes (other_id, xid, id)
  where other_id is not null;
alter table private.partitioned_changes enable row level security;

-- Made now, so that no statement that begins before the swap finds it empty. The epoch of the present one is kept, as
-- cursors name it; a refresh, which is what pg_restore does, sets no such parameter and makes another.
create materialized view private.partitioned_changes_origin as
select
  coalesce(nullif(current_setting('partition.epoch', true), '')::uuid, gen_random_uuid()) as epoch,
  coalesce(nullif(current_setting('partition.last_id', true), '')::bigint, max(id), 0) as last_id
from private.partitioned_changes;

create function private.changes_parts()
returns table (part regclass, from_xid bigint, to_xid bigint)
language sql stable security invoker set search_path = ''
as $$
  select
    pg_class.oid::regclass, coalesce(bounds[1]::bigint, 0), coalesce(bounds[2]::bigint, 9223372036854775807)
  from pg_catalog.pg_inherits
  join pg_catalog.pg_class on pg_class.oid = inhrelid
  cross join lateral regexp_match(
    pg_get_expr(relpartbound, pg_class.oid), 'FROM \((?:''(\d+)''|MINVALUE)\) TO \((?:''(\d+)''|MAXVALUE)\)'
  ) as bounds
  where inhparent in (to_regclass('private.partitioned_changes'), to_regclass('private.changes'))
  order by 2
$$;
comment on function private.changes_parts() is
  'The parts of private.changes and the transaction ids that each is for, oldest first.';

create function private.add_changes_part(parent regclass, from_xid bigint, to_xid bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  part constant text := format('private.changes_from_%s', from_xid);
begin
  execute format(
    'create table %s partition of %s for values from (%s) to (%s)',
    part, parent, case when from_xid > 0 then quote_literal(from_xid) else 'minvalue' end,
    case when to_xid < 9223372036854775807 then quote_literal(to_xid) else 'maxvalue' end
  );
  execute format('alter table %s enable row level security', part);
end
$$;
comment on function private.add_changes_part(regclass, bigint, bigint) is
  'Adds a part for transaction ids from from_xid to before to_xid; 0 and the largest bigint mean no bound.';

create function private.changes_a_week()
returns bigint
language plpgsql stable security invoker set search_path = ''
as $$
declare
  present constant bigint := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
  oldest record;
begin
  -- Any early row will do. The parts are read oldest first.
  select xid::text::bigint as xid, created_at
  into oldest
  from private.changes
  where id > (select last_id from private.changes_origin) and xid < pg_snapshot_xmax(pg_current_snapshot())
  limit 1;
  return greatest(
    1000000,
    (present - oldest.xid) * 604800 / greatest(3600, extract(epoch from private.present() - oldest.created_at))
  );
end
$$;
comment on function private.changes_a_week() is
  'How many transactions a week has, on average since the oldest change, and at least a million.';

create function private.cut_changes(week bigint)
returns void
language plpgsql volatile security invoker
set search_path = ''
set lock_timeout = '500ms'
as $$
declare
  present constant bigint := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
  entry record;
  cut bigint;
begin
  select *
  into entry
  from private.changes_parts()
  where present + week / 2 >= from_xid and present + week / 2 < to_xid;
  if entry.to_xid - present <= 2 * week then
    return;
  end if;
  cut := greatest(present, entry.from_xid) + week;
  execute format('alter table private.changes detach partition %s', entry.part);
  execute format(
    'alter table private.changes attach partition %s for values from (%s) to (%L)',
    entry.part, case when entry.from_xid > 0 then quote_literal(entry.from_xid) else 'minvalue' end, cut
  );
  perform private.add_changes_part('private.changes', cut, entry.to_xid);
end
$$;
comment on function private.cut_changes(bigint) is
  'Makes a part for the transactions of the next week (week of them), unless there is one. It cuts the last part, which
has no upper bound and is normally still empty; or the one of the present, which is too large after a restore or a week
with unusually many transactions. Then Postgres reads its rows while others wait.';

create function private.forget_old_parts()
returns integer
language plpgsql volatile security invoker
set search_path = ''
set lock_timeout = '500ms'
as $$
declare
  present constant bigint := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
  oldest constant timestamptz := private.present() - interval '31 days';
  entry record;
  is_empty boolean;
  is_young boolean;
  is_first boolean := true;
  forgotten text[] := '{}';
  up_to bigint;
begin
  perform private.cut_changes(private.changes_a_week());
  for entry in select * from private.changes_parts() loop
    execute format('select not exists (select from %s)', entry.part) into is_empty;
    execute format('select exists (select from %s where created_at >= $1)', entry.part) into is_young using oldest;
    is_first := is_first and not is_young and entry.to_xid <= present;
    if is_first and (entry.from_xid > 0 or not is_empty) then
      up_to := entry.to_xid;
    end if;
    if is_first then
      forgotten := forgotten || entry.part::text;
    elsif entry.from_xid > present and not is_empty and not is_young then
      execute format('truncate %s', entry.part);
    end if;
  end loop;
  if up_to is null then
    return 0;
  end if;
  execute format('drop table %s', array_to_string(forgotten, ', '));
  perform private.add_changes_part('private.changes', 0, up_to);
  return cardinality(forgotten);
end
$$;
comment on function private.forget_old_parts() is
  'Makes a part for the next week, drops the oldest parts as long as all of their changes are older than 31 days, and
returns how many. What they were for is then for one empty part, because an older transaction may still write, and a
restored database may start with low transaction ids. Parts that the database that was dumped has filled, with ids still
to come here, are emptied. Called by the schedule once a day, as forget_changes.';
