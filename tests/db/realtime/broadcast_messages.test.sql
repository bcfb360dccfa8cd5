-- Events about messages.
select plan(13);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
select tests.make_history('ana', 'ben');
truncate realtime.messages;

create function pg_temp.sent()
returns table (topic text, event text, payload jsonb)
language sql
as $$ select topic, event, payload from realtime.messages order by topic $$;
create function pg_temp.event_of(conversation bigint, id bigint, previous_id bigint, user_id bigint)
returns jsonb
language sql
as $$
  select jsonb_build_object('conversation_id', conversation, 'id', id, 'previous_id', previous_id, 'user_id', user_id)
$$;

select tests.ask('ben', format('send_message(%s, %L)', tests.conversation_of('ana'), '{"content": "Welcome"}'));
select tests.become_owner();
select bag_eq(
  'select * from pg_temp.sent()',
  $$
    select
      topic,
      'message.created',
      pg_temp.event_of(
        conversation => tests.conversation_of('ana'), id => tests.message_of('ben'),
        previous_id => tests.message_of('ana'), user_id => tests.id_of('ben')
      )
    from unnest(array['user:' || tests.id_of('ana'), 'user:' || tests.id_of('ben')]) as topic
  $$,
  'a message is sent to both participants, once each, with the id before it'
);
select results_eq(
  'select distinct private, extension from realtime.messages', $$ values (true, 'broadcast') $$,
  'events are private broadcasts'
);
select is(
  (select count(*) from realtime.messages where id::text = payload ->> 'id'), 0::bigint,
  'the id of the payload is the message''s, not one that Realtime generated'
);

truncate realtime.messages;
insert into public.messages (conversation_id, user_id, content)
select tests.conversation_of('ana'), tests.id_of('ana'), 'Bulk ' || n
from generate_series(1, 3) as n;
select is(
  (select count(*) from realtime.messages where event = 'message.created'), 6::bigint,
  'three messages in one statement send an event each to both'
);
select is(
  (
    select count(*)
    from (
      select
        (payload ->> 'previous_id')::bigint as sent,
        lag((payload ->> 'id')::bigint) over (order by (payload ->> 'id')::bigint) as previous
      from realtime.messages
      where topic = 'user:' || tests.id_of('ben')
    ) as links
    where sent = previous
  ),
  2::bigint,
  'each of them names the id before it'
);

truncate realtime.messages;
select tests.ask('ben', format(
  'mark_read(conversation => %s, message => %s, and_before => true)',
  tests.conversation_of('ana'), (select max(id) from public.messages where user_id = tests.id_of('ana'))
));
select tests.become_owner();
select is(
  (select count(*) from public.messages where user_id = tests.id_of('ana') and read), 4::bigint,
  'ben can mark four messages as read'
);
select bag_eq(
  'select * from pg_temp.sent()',
  $$
    select
      topic,
      'message.read',
      pg_temp.event_of(
        conversation => tests.conversation_of('ana'), id => max(id), previous_id => max(id) - 1,
        user_id => tests.id_of('ben')
      )
    from public.messages
    cross join unnest(array['user:' || tests.id_of('ana'), 'user:' || tests.id_of('ben')]) as topic
    where user_id = tests.id_of('ana')
    group by topic
  $$,
  'marking four messages sends both participants one event with the newest id and the reader'
);
truncate realtime.messages;
select tests.ask('ben', format(
  'mark_read(conversation => %s, message => %s, and_before => true)',
  tests.conversation_of('ana'), (select max(id) from public.messages where user_id = tests.id_of('ana'))
));
select tests.become_owner();
select is_empty('select * from pg_temp.sent()', 'marking them again sends nothing');
update public.messages set content = content || '!' where user_id = tests.id_of('ana');
select is_empty('select * from pg_temp.sent()', 'another change of a message sends nothing');

update public.users set is_active = false where id = tests.id_of('ana');
truncate realtime.messages;
select tests.ask('ben', format('send_message(%s, %L)', tests.conversation_of('ana'), '{"content": "Still there?"}'));
select tests.become_owner();
select results_eq(
  'select topic, event from pg_temp.sent()', $$ values ('user:' || tests.id_of('ben'), 'message.created') $$,
  'a deactivated participant receives nothing'
);

-- A failing or missing Realtime
update public.users set is_active = true where id = tests.id_of('ana');
truncate realtime.messages;
alter table realtime.messages add constraint full_disk check (topic <> topic) not valid;
select lives_ok(
  $$
    insert into public.messages (conversation_id, user_id, content)
    values (tests.conversation_of('ana'), tests.id_of('ana'), 'One')
  $$,
  'a message can be inserted if Realtime cannot store the event'
);
alter schema realtime rename to gone;
select lives_ok(
  $$
    insert into public.messages (conversation_id, user_id, content)
    values (tests.conversation_of('ana'), tests.id_of('ana'), 'Two')
  $$,
  'a message can be inserted if there is no Realtime'
);
alter schema gone rename to realtime;
select is(
  (select count(*) from public.messages where content in ('One', 'Two')), 2::bigint, 'both messages are stored'
);
