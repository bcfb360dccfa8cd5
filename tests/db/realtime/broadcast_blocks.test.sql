-- block.changed goes to the devices of the blocking user, and to nobody else.
select plan(6);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;
select tests.make_history('ben', 'ana');
truncate realtime.messages;

create function pg_temp.sent()
returns table (topic text, event text, payload jsonb, private boolean)
language sql
as $$ select topic, event, payload, private from realtime.messages $$;
create function pg_temp.expected(conversation bigint, person text)
returns table (topic text, event text, payload jsonb, private boolean)
language sql
as $$
  select
    'user:' || tests.id_of('ana'), 'block.changed',
    jsonb_build_object(
      'conversation_id', conversation, 'id', null, 'previous_id', null, 'user_id', tests.id_of(person)
    ),
    true
$$;

select tests.ask('ana', format('block_person(%s)', tests.id_of('ben')));
select tests.become_owner();
select results_eq(
  'select * from pg_temp.sent()', $$ select * from pg_temp.expected(tests.conversation_of('ben'), 'ben') $$,
  'blocking ben sends an event to ana alone'
);
truncate realtime.messages;
select tests.ask('ana', format('block_person(%s)', tests.id_of('ben')));
select tests.become_owner();
select is_empty('select * from pg_temp.sent()', 'blocking ben again sends nothing');
select tests.ask('ana', format('unblock_person(%s)', tests.id_of('ben')));
select tests.become_owner();
select results_eq(
  'select * from pg_temp.sent()', $$ select * from pg_temp.expected(tests.conversation_of('ben'), 'ben') $$,
  'unblocking ben sends an event to ana alone'
);
truncate realtime.messages;
select tests.ask('ana', format('block_person(%s)', tests.id_of('cat')));
select tests.become_owner();
select results_eq(
  'select * from pg_temp.sent()', $$ select * from pg_temp.expected(null, 'cat') $$,
  'blocking a user without a conversation sends an event without conversation_id'
);

alter table realtime.messages rename to elsewhere;
select lives_ok(
  $$ select tests.ask('ana', format('block_person(%s)', tests.id_of('ben'))) $$,
  'blocking succeeds even if the event cannot be sent'
);
select tests.become_owner();
select is((select count(*) from private.blocks), 2::bigint, 'both users are blocked');
