-- Participants send messages; a message with a client_id is sent once, however often it is retried.
select plan(16);
select tests.make_person(name) from unnest(array['ana', 'ben', 'dora', 'mallory', 'eve']) as name;
select tests.make_history('ana', 'ben');
select tests.make_history('dora', 'ben');
select tests.make_history('eve', 'ben');
create temp table before as select tests.conversation_of('eve') as conversation;
grant select on before to public;
update public.users set is_active = false where id = tests.id_of('dora');

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
select is(
  pg_temp.send('ben', '{"content": "  Yes\n"}') ->> 'content', E'  Yes\n', 'ben can reply, and the content is unchanged'
);
select throws_ok(
  $$ select pg_temp.send('mallory', '{"content": "Hello"}') $$, 'PT404', 'Conversation not found',
  'mallory cannot write into the conversation of ana and ben'
);
select throws_ok(
  $$ select pg_temp.send(person => 'mallory', draft => '{"content": "Hello"}', conversation => 9007199254740991) $$,
  'PT404', 'Conversation not found', 'mallory gets the same error for an unknown conversation'
);
select throws_ok(
  $$ select pg_temp.send(null, '{"content": "Hello"}') $$, 'PT404', 'Conversation not found',
  'an anonymous caller cannot write into it'
);
select throws_ok(
  $$
    select pg_temp.send(
      person => 'dora', draft => '{"content": "Hello"}', conversation => tests.conversation_of('dora')
    )
  $$,
  'PT403',
  'This account is deactivated',
  'dora, who is deactivated, cannot write into her own conversation'
);

-- With a client_id
select set_config(
  'tests.first',
  pg_temp.send('ana', '{"content": "Once", "client_id": "0f0f0f0f-0000-4000-8000-000000000001"}')::text,
  true
);
select is(coalesce(current_setting('api.response_metadata', true), ''), '', 'a first send has no response metadata');

select tests.become_owner();
update public.users set name = 'Ana Lima' where id = tests.id_of('ana');
update public.messages set read = true where client_id = '0f0f0f0f-0000-4000-8000-000000000001';
select is(
  pg_temp.send('ana', '{"content": "Once", "client_id": "0f0f0f0f-0000-4000-8000-000000000001"}'),
  current_setting('tests.first')::jsonb,
  'a retry returns the first answer, although ana has a new name and ben has read the message'
);
select is(
  current_setting('api.response_metadata')::jsonb, '{"replayed": true}',
  'the response metadata of a retry says replayed'
);
select throws_ok(
  $$ select pg_temp.send('ana', '{"content": "Twice", "client_id": "0f0f0f0f-0000-4000-8000-000000000001"}') $$,
  'PT422', 'This idempotency key was used for another message',
  'ana cannot send another message with the same client_id'
);
select is(
  pg_temp.send('ben', '{"content": "Once", "client_id": "0f0f0f0f-0000-4000-8000-000000000001"}') ->> 'user_id',
  tests.id_of('ben')::text, 'ben can use the same client_id'
);

select tests.become_owner();
select is(
  (select count(*)::int from public.messages where conversation_id = tests.conversation_of('ana')), 5,
  'every message is stored once'
);

select tests.become_owner();
select lives_ok(
  $$
    select pg_temp.send(
      person => 'ben', draft => '{"content": "Away?"}', conversation => tests.conversation_of('dora')
    )
  $$,
  'ben can write to dora, who is deactivated'
);
select tests.become_owner();
select is(
  pg_temp.send(
    person => 'ben', conversation => (select conversation from before),
    draft => '{"content": "Bye", "client_id": "00000000-0000-4000-8000-00000000000e"}'
  ) ->> 'content',
  'Bye',
  'ben can write to eve'
);
select tests.become_owner();
select private.erase_person(tests.id_of('eve'));
select throws_ok(
  $$
    select pg_temp.send(
      person => 'ben', draft => '{"content": "Hello?"}', conversation => (select conversation from before)
    )
  $$,
  'PT403',
  'You cannot write to this person',
  'ben cannot write to eve once she is erased, with the error of a block'
);
select tests.become_owner();
select is(
  pg_temp.send(
    person => 'ben', conversation => (select conversation from before),
    draft => '{"content": "Bye", "client_id": "00000000-0000-4000-8000-00000000000e"}'
  ) ->> 'content',
  'Bye',
  'a retry of an earlier message to eve still returns its first answer'
);
