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

create function private.handle_changed_messages()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if tg_op = 'DELETE' then
    perform private.refresh_entries(conversation_id)
    from (select distinct conversation_id from old_rows) as shortened
    order by conversation_id;
    perform private.record_change('message.removed', conversation_id, id) from old_rows order by id;
    return null;
  end if;

  perform private.refresh_entries(conversation_id)
  from (select conversation_id from old_rows union select conversation_id from new_rows) as concerned
  order by conversation_id;
  -- An admin may give a message to the other participant, or move it to another conversation of its sender.
  if exists (
    select from new_rows
    where not exists (
      select from public.conversations where id = conversation_id and user_id in (voyager_id, local_id)
    )
  ) then
    raise check_violation using
      message = 'user_id is not a participant', constraint = 'user_id must be one of the two participants';
  end if;
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
  insert into private.inbox_entries (conversation_id, user_id, active_at)
  select id, unnest(array[voyager_id, local_id]), created_at from public.conversations
  on conflict do nothing;
  perform private.refresh_entries(id) from public.conversations;
end
$$;
comment on function private.rebuild_inbox() is
  'Makes the inboxes anew after a load without triggers, while the functions are stopped. What is arranged stays.';
