-- Events: what the two people of a conversation hear as it happens, over the platform's Realtime. An event is a hint that something is
-- there; the tables are the truth, and whoever missed an event finds what it was about by paging with after_id.
create function private.broadcast_to_participants(event text, conversation bigint, id bigint, previous_id bigint, person bigint)
returns void
language plpgsql volatile security invoker
set search_path = ''
-- Realtime makes and drops partitions of its table now and then; a message is not to wait for that.
set lock_timeout = '100ms'
as $$
declare
  topics text[];
begin
  select array_agg('user:' || users.id)
  into topics
  from public.conversations
  join public.users on users.id in (conversations.voyager_id, conversations.local_id)
  where conversations.id = conversation and users.is_active;
  -- Realtime asks for a person's rights when they join, not for each event. So who is deactivated is simply not sent to any more.
  if cardinality(topics) = 2 then
    topics := topics || ('conversation:' || conversation);
  end if;
  perform realtime.send(
    jsonb_build_object('conversation_id', conversation, 'id', id, 'previous_id', previous_id, 'user_id', person), event, topic, true
  )
  from unnest(topics) as topic;
exception
  -- Whatever ails Realtime, even that it is not there, the write that this is about stands.
  when others then
    raise warning 'An event % could not be sent: %', event, sqlstate;
end
$$;
comment on function private.broadcast_to_participants(text, bigint, bigint, bigint, bigint) is
  'Sends one event {conversation_id, id, previous_id, user_id} to both participants who are active, and to the conversation''s topic
while both are. Never fails. For definer triggers alone: nobody may send on these topics, and one that sent as the writer would send nothing.';

create function private.broadcast_conversation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.broadcast_to_participants('conversation.created', new.id, new.id, null, new.voyager_id);
  return null;
end
$$;
comment on function private.broadcast_conversation() is
  'conversation.created: user_id is the voyager, who opened it. Definer, because callers may not send events.';

create trigger broadcast_conversation
  after insert on public.conversations
  for each row
  execute function private.broadcast_conversation();

create function private.broadcast_message()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  previous_id bigint;
begin
  -- Here rather than in a function of its own, which would be planned anew each time: 40 µs of the 250 that a message takes.
  select max(id)
  into previous_id
  from public.messages
  where conversation_id = new.conversation_id and id < new.id;
  perform private.broadcast_to_participants('message.created', new.conversation_id, new.id, previous_id, new.user_id);
  return null;
end
$$;
comment on function private.broadcast_message() is 'message.created: user_id is the sender. Definer, because callers may not send events.';

create trigger broadcast_message
  after insert on public.messages
  for each row
  execute function private.broadcast_message();

create function private.broadcast_read()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.broadcast_to_participants(
    'message.read',
    marked.conversation_id,
    marked.id,
    (select max(id) from public.messages where conversation_id = marked.conversation_id and id < marked.id),
    marked.reader
  )
  from (
    select
      now_read.conversation_id,
      max(now_read.id) as id,
      case now_read.user_id when conversations.voyager_id then conversations.local_id else conversations.voyager_id end as reader
    from now_read
    join was_read using (id)
    join public.conversations on conversations.id = now_read.conversation_id
    where now_read.read and not was_read.read
    group by now_read.conversation_id, reader
  ) as marked;
  return null;
end
$$;
comment on function private.broadcast_read() is
  'message.read: id is the newest message that one statement marked in a conversation, user_id who read it. One event however many
were marked. Definer, because callers may not send events.';

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
  perform private.broadcast_to_participants('reservation.changed', touched.conversation, coalesce(new.id, old.id), null, null)
  from (select old.conversation_id union select new.conversation_id) as touched (conversation)
  where touched.conversation is not null;
  return null;
end
$$;
comment on function private.broadcast_reservation() is
  'reservation.changed: made, changed, moved from one conversation to another or removed. Definer, because callers may not send events.';

create trigger broadcast_reservation
  after insert or update or delete on public.reservations
  for each row
  execute function private.broadcast_reservation();

create function private.tell_of_block()
returns trigger
language plpgsql volatile security definer
set search_path = ''
-- As in broadcast_to_participants.
set lock_timeout = '100ms'
as $$
declare
  touched constant private.blocks := coalesce(new, old);
begin
  perform realtime.send(
    jsonb_build_object(
      'conversation_id', (
        select id
        from public.conversations
        where least(voyager_id, local_id) = least(touched.blocker_id, touched.blocked_id)
          and greatest(voyager_id, local_id) = greatest(touched.blocker_id, touched.blocked_id)
      ),
      'id', null,
      'previous_id', null,
      'user_id', touched.blocked_id
    ),
    'block.changed', 'user:' || touched.blocker_id, true
  );
  return null;
exception
  when others then
    raise warning 'An event % could not be sent: %', 'block.changed', sqlstate;
    return null;
end
$$;
comment on function private.tell_of_block() is
  'block.changed: user_id is whom somebody blocked, or does not block any more. To the devices of the one who did it, which then leave the topic
typing: of the two, and to nobody else: nobody is told that they were blocked. Definer, because callers may not send events.';

create trigger tell_of_block
  after insert or delete on private.blocks
  for each row
  execute function private.tell_of_block();

-- Rows of messages as they change, for clients that ask for postgres_changes. Realtime shows each to whom row level security shows it;
-- of the row before an update it shows the primary key, which is all that the default replica identity keeps.
alter publication supabase_realtime add table public.messages;
