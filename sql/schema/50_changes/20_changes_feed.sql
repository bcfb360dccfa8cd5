-- What changed since a cursor. A cursor names the snapshot of the database that its owner has seen, and the next page
-- is what is visible now and was not visible then. So a change that commits late is not skipped, whatever its id.
-- Rejected: serving only rows below pg_snapshot_xmin(pg_current_snapshot()), so that a cursor is one transaction id. A
-- transaction that stays open, an admin's or a migration's, would hide everything from everybody as long. A snapshot
-- costs some ten characters for each running transaction.
create type private.change_cursor as (
  user_id bigint, epoch uuid, issued_at timestamptz,
  -- The owner has seen what is visible in this.
  seen pg_snapshot,
  -- Between two pages: these show what is visible in this, and the first of them ended after (xid, id).
  target pg_snapshot, xid xid8, id bigint,
  -- The owner's newest change that is visible in target or seen.
  newest_id bigint, newest_at timestamptz
);
comment on type private.change_cursor is
  'What a cursor holds. Unsigned: whoever makes one up asks for their own changes.';

create function private.newest_change(person bigint, snapshot pg_snapshot)
returns private.changes
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select row(user_id, xid, id, other_id, conversation_id, entity_id, created_at, kind)::private.changes
    from private.changes_by_reader
    where reader_id = person
      and xid < pg_snapshot_xmax(snapshot)
      and pg_visible_in_snapshot(xid, snapshot)
      and id > (select last_id from private.changes_origin)
    order by xid desc, id desc limit 1
  );
end
$$;
comment on function private.newest_change(bigint, pg_snapshot) is
  'A user''s newest change that is visible in this snapshot, by transaction.';

create function private.read_cursor(encoded text, person bigint)
returns private.change_cursor
language plpgsql stable security invoker set search_path = ''
as $$
declare
  padded constant text := translate(encoded, '-_', '+/') || repeat('=', -length(encoded) & 3);
  oldest constant timestamptz := private.present() - interval '30 days';
  cursor private.change_cursor;
  last_seen pg_snapshot;
  newest private.changes;
begin
  begin
    cursor := convert_from(decode(padded, 'base64'), 'UTF8')::private.change_cursor;
  exception
    when data_exception then
      cursor := null;
  end;
  if cursor.user_id is distinct from person or num_nulls(cursor.epoch, cursor.issued_at, cursor.seen) > 0
    or num_nulls(cursor.target, cursor.xid, cursor.id) not in (0, 3) then
    raise sqlstate 'PT400' using message = 'after: must be a cursor of your own';
  end if;
  last_seen := coalesce(cursor.target, cursor.seen);
  if cursor.issued_at >= oldest
    and cursor.epoch = (select epoch from private.changes_origin)
    and pg_snapshot_xmax(last_seen) <= pg_snapshot_xmax(pg_current_snapshot()) then
    -- A copy of the files, restored, has the same epoch and uses the same transaction ids again. Then what the owner
    -- has seen last is not there, or something else is there that they seem to have seen.
    newest := private.newest_change(person, last_seen);
    if (newest.id, newest.created_at) is not distinct from (cursor.newest_id, cursor.newest_at)
      or newest.id is null and cursor.newest_at < oldest then
      return cursor;
    end if;
  end if;
  raise sqlstate 'PT410' using message = 'after: this cursor is not valid any more, read everything anew';
end
$$;
comment on function private.read_cursor(text, bigint) is
  'A cursor from its base64url: 400 unless it is this person''s, 410 if older than 30 days or from before a restore.';

create function api.list_changes(after text, page_limit integer)
returns json
language plpgsql stable security definer
set search_path = ''
-- Otherwise each call plans how to read the log, which takes more than its five pages; and without the next two the
-- plan for a short log, which reads and sorts all of it, is kept for a long one.
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off
set enable_seqscan = off
as $$
declare
  me constant bigint := private.my_id();
  present pg_snapshot := pg_current_snapshot();
  running constant xid8[] := array(select pg_snapshot_xip(present) order by 1);
  cursor private.change_cursor;
  page private.changes[] := array[]::private.changes[];
  more boolean := false;
begin
  -- An older one with fewer running transactions, so that a cursor fits into a URL. The next page shows the rest.
  if cardinality(running) > 100 then
    present := format(
      '%s:%s:%s', pg_snapshot_xmin(present), running[101], array_to_string(running[:100], ',')
    )::pg_snapshot;
  end if;
  if after is not null then
    cursor := private.read_cursor(after, me);
    cursor.target := coalesce(cursor.target, present);
    -- One more than the page, to know whether another page follows.
    page := array(
      select row(user_id, xid, id, other_id, conversation_id, entity_id, created_at, kind)::private.changes
      from private.changes_by_reader
      where reader_id = me
        and (xid, id) > (coalesce(cursor.xid, pg_snapshot_xmin(cursor.seen)), coalesce(cursor.id, 0))
        and xid < pg_snapshot_xmax(cursor.target)
        and pg_visible_in_snapshot(xid, cursor.target)
        and not pg_visible_in_snapshot(xid, cursor.seen)
        and id > (select last_id from private.changes_origin)
      order by xid, id limit page_limit + 1
    );
    more := cardinality(page) > page_limit;
    page := page[:page_limit];
  end if;

  if more then
    cursor.xid := page[page_limit].xid;
    cursor.id := page[page_limit].id;
  else
    cursor.seen := coalesce(cursor.target, present);
    cursor.target := null;
    cursor.xid := null;
    cursor.id := null;
  end if;
  select id, created_at into cursor.newest_id, cursor.newest_at
  from private.newest_change(me, coalesce(cursor.target, cursor.seen));
  select me, epoch, private.present() into cursor.user_id, cursor.epoch, cursor.issued_at from private.changes_origin;
  return json_build_object(
    'changes', to_json(array(
      select json_build_object('kind', kind, 'conversation_id', conversation_id, 'id', entity_id)
      from (
        -- A message that was removed is the same entity as the message.
        select distinct on (split_part(kind::text, '.', 1), conversation_id, entity_id) *
        from unnest(page) with ordinality
        order by split_part(kind::text, '.', 1), conversation_id, entity_id, ordinality desc
      ) as latest
      order by ordinality
    )),
    'cursor', translate(encode(convert_to(cursor::text, 'UTF8'), 'base64'), E'+/=\n', '-_'),
    'more', more
  );
end
$$;
comment on function api.list_changes(text, integer) is
  'What has changed for the caller since the cursor, oldest first, each entity once at its latest; without a cursor the
present one. Not for a standby, whose snapshots name no running transactions. Definer, as record_conversation.';
