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
  perform realtime.send(jsonb_build_object(
    'conversation_id', conversation, 'id', broadcast_to_users.id, 'previous_id', previous_id,
    'user_id', broadcast_to_users.user_id
  ), event, 'user:' || users.id, true)
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
raises. Only for definer functions: callers may not send on these topics.';

create function private.broadcast_closed()
returns trigger
language plpgsql volatile security definer
set search_path = ''
-- As in broadcast_to_users.
set lock_timeout = '50ms'
as $$
begin
  perform realtime.send(jsonb_build_object('user_id', new.id), 'closed', 'typing:' || conversations.id, true)
  from public.conversations where new.id in (voyager_id, local_id);
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
  for each row when (old.is_active and not new.is_active) execute function private.broadcast_closed();

-- For clients that subscribe to postgres_changes. Realtime applies row level security to each row; of the old row it
-- sends only the primary key, which is all that the default replica identity logs.
alter publication supabase_realtime add table public.messages;
