-- What messages do to the inbox: triggers that keep its order and its unread counts.
create function private.handle_new_message()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  recipient bigint;
  takes_part boolean;
  previous_id bigint;
begin
  with entries as (
    update private.inbox_entries
    set
      previous_message_id = last_message_id,
      last_message_id = greatest(last_message_id, new.id),
      -- An admin may insert a message with a lower id.
      active_at = case when new.id > last_message_id then new.created_at else active_at end,
      unread = unread + (user_id <> new.user_id and not new.read)::integer,
      has_written = has_written or user_id = new.user_id
    where conversation_id = new.conversation_id
    returning user_id, previous_message_id
  )
  select max(user_id) filter (where user_id <> new.user_id), bool_or(user_id = new.user_id), max(previous_message_id)
  into recipient, takes_part, previous_id
  from entries;
  if takes_part is not true then
    raise check_violation using
      message = 'user_id is not a participant', constraint = 'user_id must be one of the two participants';
  end if;
  insert into private.changes (user_id, other_id, kind, conversation_id, entity_id)
  values (new.user_id, recipient, 'message', new.conversation_id, new.id);

  perform private.notify(
    event => 'message.created', conversation => new.conversation_id, subject => new.id, by_id => new.user_id,
    people => array[recipient]
  );
  perform private.broadcast_to_users(
    event => 'message.created', conversation => new.conversation_id, id => new.id,
    previous_id => case when previous_id between 1 and new.id - 1 then previous_id end, user_id => new.user_id,
    one => new.user_id, other => recipient
  );
  return null;
end
$$;
comment on function private.handle_new_message() is
  'Moves the conversation up in both inboxes, counts the message as unread, logs it, tells the recipient and the webhook
and broadcasts message.created. Refuses a sender who is not a participant, whom only an admin could name. One trigger,
because the rest needs what the update returns. Definer, because nobody has a grant on inbox and log.';

create trigger handle_new_message
  after insert on public.messages
  for each row execute function private.handle_new_message();

create function private.add_unread(conversation bigint, sender bigint, amount bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  update private.inbox_entries set unread = unread + amount where conversation_id = conversation and user_id <> sender;
end
$$;
comment on function private.add_unread(bigint, bigint, bigint) is
  'Counts a sender''s messages as unread, or no more. Only differences are ever written: a count of what one transaction
sees would miss what another has not committed.';

create function private.handle_changed_messages()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  -- The entries before the counts, because that locks both of a conversation in the order in which a send does.
  if tg_op = 'DELETE' then
    perform private.refresh_entries(conversation_id)
    from (select distinct conversation_id from old_rows) as shortened
    order by conversation_id;
    perform private.add_unread(conversation => conversation_id, sender => user_id, amount => -count(*))
    from old_rows
    where not read
    group by conversation_id, user_id
    order by conversation_id, user_id;
    perform private.record_change('message.removed', conversation_id, id) from old_rows order by id;
    return null;
  end if;

  perform private.refresh_entries(conversation_id)
  from (
    select distinct conversation_id
    from old_rows
    full join new_rows using (id, conversation_id, user_id, created_at)
    where old_rows.id is null or new_rows.id is null
  ) as moved
  order by conversation_id;
  -- An admin may give a message to the other participant, or move it to another conversation of its sender.
  if found and exists (
    select from new_rows
    where not exists (
      select from public.conversations where id = conversation_id and user_id in (voyager_id, local_id)
    )
  ) then
    raise check_violation using
      message = 'user_id is not a participant', constraint = 'user_id must be one of the two participants';
  end if;
  -- Always in the order of ids, so that two such statements do not wait for each other.
  perform private.add_unread(conversation => conversation_id, sender => user_id, amount => sum(amount)::bigint)
  from (
    select conversation_id, user_id, -1 as amount from old_rows where not read
    union all
    select conversation_id, user_id, 1 from new_rows where not read
  ) as changes
  group by conversation_id, user_id
  having sum(amount) <> 0
  order by conversation_id, user_id;

  perform private.record_change(
    'read', marked.conversation_id, marked.id, event => 'message.read',
    actor => case marked.user_id when voyager_id then local_id else voyager_id end
  )
  from (
    select new_rows.conversation_id, new_rows.user_id, max(new_rows.id) as id
    from new_rows
    join old_rows using (id, conversation_id)
    where new_rows.read and not old_rows.read and new_rows.deleted_at is null
    group by new_rows.conversation_id, new_rows.user_id
  ) as marked
  join public.conversations on conversations.id = marked.conversation_id;

  perform private.record_change(
    case when new_rows.id is null then 'message.removed' else 'message' end::private.change_kind, conversation_id, id
  )
  from new_rows
  full join old_rows using (id, conversation_id)
  where new_rows.id is null
    or old_rows.id is null
    or old_rows.read and not new_rows.read
    or (old_rows.user_id, old_rows.content, old_rows.attachment, old_rows.created_at)
      is distinct from (new_rows.user_id, new_rows.content, new_rows.attachment, new_rows.created_at)
      -- Otherwise its sender has changed it (25_own_messages.sql).
      and (old_rows.edited_at, old_rows.deleted_at) is not distinct from (new_rows.edited_at, new_rows.deleted_at)
  order by id;
  return null;
end
$$;
comment on function private.handle_changed_messages() is
  'Messages were read, of which the log names the newest of a statement, or an admin has changed or removed them.
Definer, as handle_new_message.';

create trigger handle_changed_messages
  after update on public.messages
  referencing old table as old_rows new table as new_rows
  for each statement execute function private.handle_changed_messages();

create trigger handle_deleted_messages
  after delete on public.messages
  referencing old table as old_rows
  for each statement execute function private.handle_changed_messages();

create function private.rebuild_inbox()
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  insert into private.inbox_entries as entry (conversation_id, user_id, last_message_id, active_at, unread, has_written)
  select
    conversations.id, person, coalesce(max(messages.id), 0),
    coalesce((select created_at from public.messages as latest where id = max(messages.id)), conversations.created_at),
    count(*) filter (where messages.user_id <> person and not read), coalesce(bool_or(messages.user_id = person), false)
  from public.conversations
  cross join unnest(array[voyager_id, local_id]) as person
  left join public.messages on conversation_id = conversations.id
  group by conversations.id, person
  on conflict (conversation_id, user_id) do update
  set
    last_message_id = excluded.last_message_id, active_at = excluded.active_at, unread = excluded.unread,
    has_written = entry.has_written or excluded.has_written
  where (entry.last_message_id, entry.active_at, entry.unread, entry.has_written) is distinct from
    (excluded.last_message_id, excluded.active_at, excluded.unread, entry.has_written or excluded.has_written);
end
$$;
comment on function private.rebuild_inbox() is
  'Makes the inboxes anew after a load without triggers, while the functions are stopped. What is arranged stays.';
