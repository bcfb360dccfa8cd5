-- Nobody sees whoever blocked them type, or is seen by them. By itself, as all that is about the platform's own table.
alter policy "participants see who is there" on realtime.messages
  using (
    extension = 'presence'
    and (select realtime.topic()) like 'typing:%'
    and (select private.topic_conversation()) in (select private.my_open_conversations())
  );

alter policy "participants say that they type and are there" on realtime.messages
  with check (
    extension in ('broadcast', 'presence')
    and (select realtime.topic()) like 'typing:%'
    and (select private.topic_conversation()) in (select private.my_open_conversations())
  );
