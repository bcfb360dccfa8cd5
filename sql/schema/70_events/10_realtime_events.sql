-- Realtime events for the participants of a conversation. An event is only a hint that something is new: the tables are
-- the truth, and a client that missed an event catches up by paging with after_id.
create function private.broadcast_to_users(
  event text, conversation bigint, id bigint, previous_id bigint, user_id bigint, one bigint, other bigint
)
returns void
language plpgsql volatile security invoker
set search_path = ''
-- Realtime creates and drops partitions of its table from time to time; a message must not wait for that. Each of the
-- two events may wait this long.
set lock_timeout = '50ms'
as $$
begin
  -- Realtime checks its policies when a client joins, not for each event, so events must not be sent to deactivated
  -- users. There is no topic for the conversation: a plan's limit counts each event, and two say the same as three.
  perform realtime.send(
    jsonb_build_object(
      'conversation_id', conversation, 'id', broadcast_to_users.id, 'previous_id', previous_id,
      'user_id', broadcast_to_users.user_id
    ),
    event, 'user:' || users.id, true
  )
  from public.users
  -- An array instead would be planned again at each call: 50 of the 430 µs of a send.
  where users.id in (one, other) and users.is_active;
exception
  -- The write must succeed even if Realtime fails or does not exist.
  when others then
    raise warning 'Could not broadcast %: %', event, sqlstate;
end
$$;
comment on function private.broadcast_to_users(text, bigint, bigint, bigint, bigint, bigint, bigint) is
  'Broadcasts an event {conversation_id, id, previous_id, user_id} to one or two users, if they are active. Never
raises. Only for definer functions: callers may not send on these topics, and a trigger with the writer''s rights would
send nothing.';

create function private.broadcast_to_participants(
  event text, conversation bigint, id bigint, previous_id bigint, user_id bigint
)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  perform private.broadcast_to_users(
    event => event, conversation => conversation, id => broadcast_to_participants.id, previous_id => previous_id,
    user_id => broadcast_to_participants.user_id, one => voyager_id, other => local_id
  )
  from public.conversations
  where conversations.id = conversation;
end
$$;
comment on function private.broadcast_to_participants(text, bigint, bigint, bigint, bigint) is
  'As broadcast_to_users, to both participants.';

create function private.broadcast_conversation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.broadcast_to_participants(
    event => 'conversation.created', conversation => new.id, id => new.id, previous_id => null,
    user_id => new.voyager_id
  );
  return null;
end
$$;
comment on function private.broadcast_conversation() is
  'conversation.created: user_id is the voyager, who opened it. Definer, because callers may not send events.';

create trigger broadcast_conversation
  after insert on public.conversations
  for each row
  execute function private.broadcast_conversation();

create function private.broadcast_read()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.broadcast_to_users(
    event => 'message.read',
    conversation => marked.conversation_id,
    id => marked.id,
    previous_id => (
      select max(id) from public.messages where conversation_id = marked.conversation_id and id < marked.id
    ),
    user_id => marked.reader,
    one => marked.reader,
    other => case when not private.is_blocked_between(marked.reader, marked.sender) then marked.sender end
  )
  from (
    select
      now_read.conversation_id,
      max(now_read.id) as id,
      now_read.user_id as sender,
      case now_read.user_id
        when conversations.voyager_id then conversations.local_id
        else conversations.voyager_id
      end as reader
    from now_read
    join was_read using (id)
    join public.conversations on conversations.id = now_read.conversation_id
    where now_read.read and not was_read.read
    group by now_read.conversation_id, sender, reader
  ) as marked;
  return null;
end
$$;
comment on function private.broadcast_read() is
  'message.read: id is the newest message of a conversation that the statement marked, user_id the reader. One event,
however many messages were marked; across a block the reader alone gets it. Definer, because callers may not send
events.';

create trigger broadcast_read
  after update on public.messages
  referencing old table as was_read new table as now_read
  for each statement
  execute function private.broadcast_read();

create function private.broadcast_reservation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.broadcast_to_participants(
    event => 'reservation.changed', conversation => affected.conversation, id => coalesce(new.id, old.id),
    previous_id => null, user_id => null
  )
  from (select old.conversation_id union select new.conversation_id) as affected (conversation)
  where affected.conversation is not null;
  return null;
end
$$;
comment on function private.broadcast_reservation() is
  'reservation.changed: a reservation was created, changed, moved to another conversation or removed. Definer, because
callers may not send events.';

create trigger broadcast_reservation
  after insert or update or delete on public.reservations
  for each row
  execute function private.broadcast_reservation();

create function private.broadcast_block()
returns trigger
language plpgsql volatile security definer
set search_path = ''
-- As in broadcast_to_participants.
set lock_timeout = '50ms'
as $$
declare
  block constant private.blocks := coalesce(new, old);
begin
  perform realtime.send(
    jsonb_build_object(
      'conversation_id', (
        select id
        from public.conversations
        where least(voyager_id, local_id) = least(block.blocker_id, block.blocked_id)
          and greatest(voyager_id, local_id) = greatest(block.blocker_id, block.blocked_id)
      ),
      'id', null, 'previous_id', null, 'user_id', block.blocked_id
    ),
    'block.changed', 'user:' || block.blocker_id, true
  );
  return null;
exception
  when others then
    raise warning 'Could not broadcast %: %', 'block.changed', sqlstate;
    return null;
end
$$;
comment on function private.broadcast_block() is
  'block.changed: user_id is the user who was blocked or unblocked. Sent only to the devices of the user who did it,
which then leave the pair''s typing: topic; the other user is not told. Definer, because callers may not send events.';

create trigger broadcast_block
  after insert or delete on private.blocks
  for each row
  execute function private.broadcast_block();

create function private.broadcast_closed()
returns trigger
language plpgsql volatile security definer
set search_path = ''
-- As in broadcast_to_participants.
set lock_timeout = '50ms'
as $$
begin
  perform realtime.send(jsonb_build_object('user_id', new.id), 'closed', 'typing:' || conversations.id, true)
  from public.conversations
  where new.id in (voyager_id, local_id);
  return null;
exception
  when others then
    raise warning 'Could not broadcast %: %', 'closed', sqlstate;
    return null;
end
$$;
comment on function private.broadcast_closed() is
  'closed, on the typing: topics of somebody whose account has become inactive: the partners'' devices leave them,
because Realtime lets whoever has joined send until their token ends. Definer, because callers may not send events.';

create trigger broadcast_closed
  after update of is_active on public.users
  for each row
  when (old.is_active and not new.is_active)
  execute function private.broadcast_closed();

-- For clients that subscribe to postgres_changes. Realtime applies row level security to each row; of the old row it
-- sends only the primary key, which is all that the default replica identity logs.
alter publication supabase_realtime add table public.messages;
