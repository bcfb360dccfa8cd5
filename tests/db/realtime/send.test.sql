-- The functions by which the database sends, as Supabase's Realtime defines them.
select plan(19);
truncate realtime.messages;

create function pg_temp.sent()
returns table (topic text, event text, payload jsonb, private boolean, extension text)
language sql
as $$ select topic, event, payload, private, extension from realtime.messages $$;

select realtime.send('{"n": 1}', 'said', 'room');
select results_eq(
  'select * from pg_temp.sent()',
  $$
    select 'room', 'said', jsonb_build_object('n', 1, 'id', id), true, 'broadcast' from realtime.messages
  $$,
  'an event without an id is given that of its row, and is private'
);
select is(realtime.topic(), 'room', 'the topic stays set until the transaction ends');
truncate realtime.messages;
select realtime.send(payload => payload, event => 'said', topic => 'room', private => false)
from unnest(array['{"id": 7}', '{"id": "seven"}', '{"id": null}', '["id"]']::jsonb[]) as payload;
select bag_eq(
  'select payload, private from pg_temp.sent()',
  $$ values ('{"id": 7}'::jsonb, false), ('{"id": "seven"}', false), ('{"id": null}', false), ('["id"]', false) $$,
  'an id of any type is kept, and an event can be public'
);
select is((select count(distinct id) from realtime.messages), 4::bigint, 'each row has a UUID of its own');

truncate realtime.messages;
select lives_ok(
  format('select realtime.send(payload => %s, event => %L, topic => %L)', payload, 'said', 'room'),
  format('sending %s does not raise', payload)
)
from unnest(array['''[1]''', '''7''', '''"id"''', 'null']) as payload;
select results_eq(
  'select payload from pg_temp.sent() order by payload', $$ values ('"id"'::jsonb), (null) $$,
  'what can have no id is not sent, a text that says id and null are'
);
truncate realtime.messages;
select lives_ok($$ select realtime.send('{}', 'said', null) $$, 'sending to no topic does not raise');
select is_empty('select * from pg_temp.sent()', 'nothing is sent to no topic');

select realtime.send_binary('\x00ff', 'bytes', 'room');
select results_eq(
  'select topic, event, payload, binary_payload, private, extension from realtime.messages',
  $$ values ('room', 'bytes', null::jsonb, '\x00ff'::bytea, true, 'broadcast') $$, 'bytes can be sent'
);
truncate realtime.messages;
select lives_ok($$ select realtime.send_binary('\x00', 'bytes', null) $$, 'sending bytes to no topic does not raise');

select realtime.broadcast_changes(
  topic_name => 'room', event_name => 'changed', operation => 'UPDATE', table_name => 'things',
  table_schema => 'public', new => new, old => null::record
)
from (select 7 as id) as new;
select results_eq(
  'select topic, event, payload - $$id$$, private from pg_temp.sent()',
  $$
    values (
      'room', 'changed',
      '{"operation": "UPDATE", "table": "things", "schema": "public", "record": {"id": 7}, "old_record": null}'::jsonb,
      true
    )
  $$,
  'a change of a row can be sent'
);
select throws_ok(
  format(
    'select realtime.broadcast_changes(%L, %L, %L, %L, %L, null::record, null::record, %L)', 'room', 'changed',
    operation, 'things', 'public', level
  ),
  'P0001', message, format('%s for each %s cannot be sent', operation, level)
)
from (
  values
    ('TRUNCATE', 'ROW', 'Failed to process the row: Unexpected operation type: TRUNCATE'),
    (
      'INSERT', 'STATEMENT',
      'Failed to process the row: function can only be triggered for each row, not for each statement'
    )
) as refused (operation, level, message);

-- On a server the table has a partition for each day; Realtime creates them only while somebody is connected.
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
select tests.make_history('ana', 'ben');
do $$
begin
  execute (
    select coalesce(
      string_agg(format('drop table %s', inhrelid::regclass), ';'),
      -- PGlite's table has no partitions.
      'alter table realtime.messages add constraint no_partition check (false) not valid'
    )
    from pg_inherits
    where inhparent = 'realtime.messages'::regclass
  );
end
$$;
select lives_ok(
  $$ select realtime.send('{}', 'said', 'room') $$, 'sending on a day without a partition does not raise'
);
select lives_ok(
  $$
    select tests.ask(
      'ana', format('send_message(%s, %L)', tests.conversation_of('ana'), '{"content": "No partition"}')
    )
  $$,
  'a message can be sent on a day without a partition'
);
select tests.become_owner();
select is(
  (select count(*) from public.messages where content = 'No partition'), 1::bigint, 'that message is stored'
);
