-- Realtime authorization: who can receive and send on which topic. Realtime asks when a client joins.
--   user:<id>                 that user receives; only the database sends
--   typing:<conversation id>  its participants receive and send
-- typing: is a topic of its own because a policy sees the topic but not the event's name. A topic without a policy is
-- refused. These policies have a migration of their own and no comments, because realtime.messages belongs to the
-- platform, which allows only policies on it.
create function private.typing_conversation_id()
returns bigint
language sql stable security invoker set search_path = ''
as $$
  select case
    -- 18 digits always fit into a bigint. Any other topic must be refused without raising an error.
    when realtime.topic() ~ '^typing:[1-9][0-9]{0,17}$' then split_part(realtime.topic(), ':', 2)::bigint
  end
$$;
comment on function private.typing_conversation_id() is
  'The conversation id of the current topic typing:<id>; null if it is another topic.';

create policy "users receive events on their own topic" on realtime.messages
  for select to authenticated
  using (extension = 'broadcast' and (select realtime.topic()) = 'user:' || (select private.my_id()));

-- A blocked user can neither receive nor send here, and cannot join: Realtime requires the right to receive.
create policy "participants receive typing and presence" on realtime.messages
  for select to authenticated
  using (
    extension in ('broadcast', 'presence')
    and (select private.typing_conversation_id()) in (select private.my_writable_conversations())
  );

create policy "participants send typing and presence" on realtime.messages
  for insert to authenticated
  with check (
    extension in ('broadcast', 'presence')
    and (select private.typing_conversation_id()) in (select private.my_writable_conversations())
  );
