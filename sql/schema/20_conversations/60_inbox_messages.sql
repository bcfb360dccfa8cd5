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
declare
  changed record;
begin
  if tg_op = 'DELETE' then
    perform private.rebuild_inbox(conversation_id)
    from (select distinct conversation_id from old_rows order by conversation_id) as shortened;
    perform private.record_change('message.removed', conversation_id, id) from old_rows order by id;
    return null;
  end if;

  for changed in
    select
      conversation_id, user_id as sender_id, sum(old_rows.read::integer - new_rows.read::integer) as unread,
      max(id) filter (where new_rows.read and new_rows.deleted_at is null) as read_id
    from old_rows
    join new_rows using (id, conversation_id, user_id)
    where old_rows.read <> new_rows.read
    group by conversation_id, user_id
    -- So that two such statements do not wait for each other.
    order by conversation_id, user_id
  loop
    -- A difference, because a count would miss what others have not committed.
    update private.inbox_entries
    set unread = unread + changed.unread
    where conversation_id = changed.conversation_id and user_id <> changed.sender_id;
    if changed.read_id is not null then
      perform private.record_change(
        'read', changed.conversation_id, changed.read_id, event => 'message.read',
        actor => (
          select voyager_id + local_id - changed.sender_id
          from public.conversations
          where id = changed.conversation_id
        ),
        previous_id => (
          select max(id) from public.messages where conversation_id = changed.conversation_id and id < changed.read_id
        )
      );
    end if;
  end loop;

  perform private.record_change('message', conversation_id, id)
  from new_rows
  join old_rows using (id, conversation_id)
  where old_rows.read and not new_rows.read
    or (old_rows.content, old_rows.attachment, old_rows.created_at)
      is distinct from (new_rows.content, new_rows.attachment, new_rows.created_at)
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

create function private.rebuild_inbox(conversation bigint default null)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- A statement of its own: the next one then sees all messages of those whom it has waited for. In the order of the
  -- primary key, so that two such functions do not wait for each other.
  perform from private.inbox_entries where conversation_id = conversation order by user_id for no key update;
  insert into private.inbox_entries as entry (conversation_id, user_id, last_message_id, active_at, unread, has_written)
  select
    conversations.id, person, coalesce(max(messages.id), 0),
    coalesce((select created_at from public.messages as latest where id = max(messages.id)), conversations.created_at),
    count(*) filter (where messages.user_id <> person and not read), coalesce(bool_or(messages.user_id = person), false)
  from public.conversations
  cross join unnest(array[voyager_id, local_id]) as person
  left join public.messages on conversation_id = conversations.id
  where conversation is null or conversations.id = conversation
  group by conversations.id, person
  on conflict (conversation_id, user_id) do update
  set
    last_message_id = excluded.last_message_id, active_at = excluded.active_at, unread = excluded.unread,
    has_written = entry.has_written or excluded.has_written
  where (entry.last_message_id, entry.active_at, entry.unread, entry.has_written) is distinct from
    (excluded.last_message_id, excluded.active_at, excluded.unread, entry.has_written or excluded.has_written);
end
$$;
comment on function private.rebuild_inbox(bigint) is
  'Makes the entries of a conversation anew after messages were removed, or all after a load without triggers, while the
functions are stopped. What is arranged stays, and who has written has.';
