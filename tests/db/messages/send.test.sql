-- Participants send messages; a message that was named is sent once, however often they try.
select plan(16);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_person('dora');
select tests.make_person('mallory');
select tests.make_person('eve');
select tests.make_history('ana', 'ben');
select tests.make_history('dora', 'ben');
select tests.make_history('eve', 'ben');
create temp table before as select tests.conversation_of('eve') as talk;
grant select on before to public;
update public.users
set is_active = false
where id = tests.id_of('dora');

create function pg_temp.send(person text, draft jsonb, conversation bigint default tests.conversation_of('ana'))
returns jsonb
language sql
as $$ select tests.ask(person, format('send_message(%s, %L)', conversation, draft)) $$;
grant execute on function pg_temp.send to public;

select is(
  pg_temp.send('ana', '{"content": "Shall we meet?"}') - 'id' - 'createdAt',
  jsonb_build_object(
    'user_id', tests.id_of('ana'), 'conversation_id', tests.conversation_of('ana'), 'content', 'Shall we meet?',
    'attachment', null, 'read', false, 'Sender', jsonb_build_object('id', tests.id_of('ana'), 'name', 'ana')
  ),
  'ana can write to ben'
);
select is(pg_temp.send('ben', '{"content": "  Yes\n"}') ->> 'content', E'  Yes\n', 'ben can answer, and is quoted as he wrote');
select throws_ok(
  $$ select pg_temp.send('mallory', '{"content": "Hello"}') $$,
  'PT404',
  'Conversation not found',
  'mallory cannot write into the conversation of ana and ben'
);
select throws_ok(
  $$ select pg_temp.send('mallory', '{"content": "Hello"}', 9007199254740991) $$,
  'PT404',
  'Conversation not found',
  'mallory cannot tell it from a conversation that is not there'
);
select throws_ok(
  $$ select pg_temp.send(null, '{"content": "Hello"}') $$,
  'PT404',
  'Conversation not found',
  'an anonymous caller cannot write into it'
);
select throws_ok(
  $$ select pg_temp.send('dora', '{"content": "Hello"}', tests.conversation_of('dora')) $$,
  'PT403',
  'This account is deactivated',
  'dora, who is deactivated, cannot write into her own'
);

-- Named
select set_config(
  'tests.first',
  pg_temp.send('ana', '{"content": "Once", "client_id": "0f0f0f0f-0000-4000-8000-000000000001"}')::text,
  true
);
select is(coalesce(current_setting('api.response_metadata', true), ''), '', 'of a first message the door hears nothing else');

select tests.become_owner();
update public.users
set name = 'Ana Lima'
where id = tests.id_of('ana');
update public.messages
set read = true
where client_id = '0f0f0f0f-0000-4000-8000-000000000001';
select is(
  pg_temp.send('ana', '{"content": "Once", "client_id": "0f0f0f0f-0000-4000-8000-000000000001"}'),
  current_setting('tests.first')::jsonb,
  'ana, who sends it again, has the first answer again, though she has another name now and ben has read it'
);
select is(current_setting('api.response_metadata')::jsonb, '{"replayed": true}', 'the door hears that it is a repeat');
select throws_ok(
  $$ select pg_temp.send('ana', '{"content": "Twice", "client_id": "0f0f0f0f-0000-4000-8000-000000000001"}') $$,
  'PT422',
  'This idempotency key was used for another message',
  'ana cannot send another message by the same name'
);
select is(
  pg_temp.send('ben', '{"content": "Once", "client_id": "0f0f0f0f-0000-4000-8000-000000000001"}') ->> 'user_id',
  tests.id_of('ben')::text,
  'ben can name his message the same'
);

select tests.become_owner();
select is(
  (select count(*)::int from public.messages where conversation_id = tests.conversation_of('ana')),
  5,
  'each message that was sent is there, once'
);

select tests.become_owner();
select lives_ok(
  $$ select pg_temp.send('ben', '{"content": "Away?"}', tests.conversation_of('dora')) $$,
  'ben can write to dora, who may be back'
);
select tests.become_owner();
select is(
  pg_temp.send('ben', '{"content": "Bye", "client_id": "00000000-0000-4000-8000-00000000000e"}', (select talk from before)) ->> 'content',
  'Bye',
  'and to eve'
);
select tests.become_owner();
select private.erase_person(tests.id_of('eve'));
select throws_ok(
  $$ select pg_temp.send('ben', '{"content": "Still there?"}', (select talk from before)) $$,
  'PT403',
  'You cannot write to this person',
  'but not once she has erased herself, in the words of a block'
);
select tests.become_owner();
select is(
  pg_temp.send('ben', '{"content": "Bye", "client_id": "00000000-0000-4000-8000-00000000000e"}', (select talk from before)) ->> 'content',
  'Bye',
  'where what he sent before is answered again'
);
