-- Topics: who may hear and speak where, asked by Realtime when somebody joins. user:<id> is one person's, conversation:<id> its
-- participants'; on both the database alone speaks. On typing:<conversation id> the participants speak among themselves. A policy sees
-- the topic and not the event's name, hence the third. Whatever no policy names is refused.
-- By themselves in a migration and without comments: these statements are about a table of the platform's, which allows policies alone.
create function private.topic_conversation()
returns bigint
language sql stable security invoker set search_path = ''
as $$
  select case
    -- 18 digits are always a bigint; a topic that is none of ours is refused, not an error.
    when realtime.topic() ~ '^(conversation|typing):[1-9][0-9]{0,17}$' then split_part(realtime.topic(), ':', 2)::bigint
  end
$$;
comment on function private.topic_conversation() is 'The conversation that the topic asked for is about; null where it is about none.';
grant execute on function private.topic_conversation() to authenticated;

create policy "people hear what is meant for them" on realtime.messages
  for select to authenticated
  using (
    extension = 'broadcast'
    and (select realtime.topic()) = 'user:' || (select private.my_id())
  );

create policy "participants hear their conversations" on realtime.messages
  for select to authenticated
  using (
    extension = 'broadcast'
    and (select realtime.topic()) like 'conversation:%'
    and (select private.topic_conversation()) in (select private.my_conversations())
  );

-- Whoever is blocked is neither seen nor heard from, and cannot join: Realtime lets nobody in who may not hear.
create policy "participants see who is there and types" on realtime.messages
  for select to authenticated
  using (
    extension in ('broadcast', 'presence')
    and (select realtime.topic()) like 'typing:%'
    and (select private.topic_conversation()) in (select private.my_open_conversations())
  );

create policy "participants say that they type and are there" on realtime.messages
  for insert to authenticated
  with check (
    extension in ('broadcast', 'presence')
    and (select realtime.topic()) like 'typing:%'
    and (select private.topic_conversation()) in (select private.my_open_conversations())
  );
