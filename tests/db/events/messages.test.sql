-- What people hear of messages.
select plan(13);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_history('ana', 'ben');
truncate realtime.messages;

create function pg_temp.heard()
returns table (topic text, event text, payload jsonb)
language sql
as $$ select topic, event, payload from realtime.messages order by topic $$;
create function pg_temp.event_of(conversation bigint, id bigint, previous_id bigint, user_id bigint)
returns jsonb
language sql
as $$ select jsonb_build_object('conversation_id', conversation, 'id', id, 'previous_id', previous_id, 'user_id', user_id) $$;

select tests.ask('ben', format('send_message(%s, %L)', tests.conversation_of('ana'), '{"content": "Welcome"}'));
select tests.become_owner();
select set_eq(
  'select * from pg_temp.heard()',
  $$
    select
      topic,
      'message.created',
      pg_temp.event_of(tests.conversation_of('ana'), tests.message_of('ben'), tests.message_of('ana'), tests.id_of('ben'))
    from unnest(array[
      'user:' || tests.id_of('ana'), 'user:' || tests.id_of('ben'), 'conversation:' || tests.conversation_of('ana')
    ]) as topic
  $$,
  'a message is told to both people and their conversation, with the one before it, whoever may send it'
);
select results_eq(
  'select distinct private, extension from realtime.messages',
  $$ values (true, 'broadcast') $$,
  'what is told is told in private'
);
select is(
  (select count(*) from realtime.messages where id::text = payload ->> 'id'),
  0::bigint,
  'the id in it is the message''s, not Realtime''s own'
);

truncate realtime.messages;
insert into public.messages (conversation_id, user_id, content)
select tests.conversation_of('ana'), tests.id_of('ana'), 'Bulk ' || n
from generate_series(1, 3) as n;
select is(
  (select count(*) from realtime.messages where event = 'message.created'),
  9::bigint,
  'of three messages in one statement each is told'
);
select is(
  (
    select count(*)
    from (
      select (payload ->> 'previous_id')::bigint as told, lag((payload ->> 'id')::bigint) over (order by (payload ->> 'id')::bigint) as previous
      from realtime.messages
      where topic = 'user:' || tests.id_of('ben')
    ) as links
    where told = previous
  ),
  2::bigint,
  'and names the one before it'
);

truncate realtime.messages;
select tests.ask('ben', format(
  'mark_read(%s, %s, true)', tests.conversation_of('ana'), (select max(id) from public.messages where user_id = tests.id_of('ana'))
));
select tests.become_owner();
select is(
  (select count(*) from public.messages where user_id = tests.id_of('ana') and read),
  4::bigint,
  'ben marks four messages as read'
);
select set_eq(
  'select * from pg_temp.heard()',
  $$
    select
      topic,
      'message.read',
      pg_temp.event_of(tests.conversation_of('ana'), max(id), max(id) - 1, tests.id_of('ben'))
    from public.messages
    cross join unnest(array[
      'user:' || tests.id_of('ana'), 'user:' || tests.id_of('ben'), 'conversation:' || tests.conversation_of('ana')
    ]) as topic
    where user_id = tests.id_of('ana')
    group by topic
  $$,
  'which is told once, with the newest of them and who read it'
);
truncate realtime.messages;
select tests.ask('ben', format(
  'mark_read(%s, %s, true)', tests.conversation_of('ana'), (select max(id) from public.messages where user_id = tests.id_of('ana'))
));
select tests.become_owner();
select is_empty('select * from pg_temp.heard()', 'marking them again changes nothing and tells nothing');
update public.messages set content = content || '!' where user_id = tests.id_of('ana');
select is_empty('select * from pg_temp.heard()', 'nor does what changes something else');

update public.users set is_active = false where id = tests.id_of('ana');
select tests.ask('ben', format('send_message(%s, %L)', tests.conversation_of('ana'), '{"content": "Still there?"}'));
select tests.become_owner();
select results_eq(
  'select topic, event from pg_temp.heard()',
  $$ values ('user:' || tests.id_of('ben'), 'message.created') $$,
  'who was deactivated hears nothing more, not even where they still listen'
);

-- Realtime that fails, as a whole and from within.
update public.users set is_active = true where id = tests.id_of('ana');
truncate realtime.messages;
alter table realtime.messages add constraint full_disk check (topic <> topic) not valid;
select lives_ok(
  $$ insert into public.messages (conversation_id, user_id, content) values (tests.conversation_of('ana'), tests.id_of('ana'), 'One') $$,
  'people write even when Realtime cannot store an event'
);
alter schema realtime rename to gone;
select lives_ok(
  $$ insert into public.messages (conversation_id, user_id, content) values (tests.conversation_of('ana'), tests.id_of('ana'), 'Two') $$,
  'and when there is no Realtime'
);
alter schema gone rename to realtime;
select is(
  (select count(*) from public.messages where content in ('One', 'Two')),
  2::bigint,
  'what they wrote is there'
);
