-- From here on each change is written to both tables. To create the triggers waits for the transactions that have
-- written to the table, so every later row fires them, and every earlier one is there for the copy.
create function private.follow_changes()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if tg_op in ('UPDATE', 'DELETE') then
    delete from private.partitioned_changes where (user_id, xid, id) = (old.user_id, old.xid, old.id);
  end if;
  if tg_op in ('INSERT', 'UPDATE') then
    insert into private.partitioned_changes overriding system value
    select new.*
    on conflict do nothing;
  end if;
  return null;
end
$$;
comment on function private.follow_changes() is
  'While npm run partition copies. Definer, because nobody has a grant on the log.';

create function private.wait_for_copy()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform pg_advisory_xact_lock_shared(hashtext('private.wait_for_copy'));
  if tg_op = 'TRUNCATE' then
    truncate private.partitioned_changes;
  end if;
  return null;
end
$$;
comment on function private.wait_for_copy() is
  'What removes or changes rows waits for the present batch of the copy, which would otherwise bring them back. Inserts
do not wait. Definer, as follow_changes.';

create trigger follow_changes
  after insert or update or delete on private.changes
  for each row
  execute function private.follow_changes();
create trigger wait_for_copy
  before update or delete or truncate on private.changes
  for each statement
  execute function private.wait_for_copy();

create table private.changes_copy as
select
  pg_relation_filenode('private.changes') as filenode,
  0::bigint as next_page,
  pg_relation_size('private.changes') / current_setting('block_size')::bigint as pages;
alter table private.changes_copy enable row level security;
