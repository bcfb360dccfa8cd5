-- A client_id identifies one message of a sender.
select plan(5);
select tests.make_person(name) from unnest(array['ana', 'ben', 'carla']) as name;
select tests.make_history('ana', 'ben');
select tests.make_history('carla', 'ana');

create function pg_temp.write(sender text, voyager text, client_id uuid)
returns void
language sql
as $$
  insert into public.messages (conversation_id, user_id, content, client_id)
  values (tests.conversation_of(voyager), tests.id_of(sender), 'Hello', client_id)
$$;

select lives_ok(
  $$ select pg_temp.write('ana', 'ana', '0f0f0f0f-0000-4000-8000-000000000001') $$,
  'ana can send a message with a client_id'
);
select throws_ok(
  $$ select pg_temp.write('ana', 'ana', '0f0f0f0f-0000-4000-8000-000000000001') $$, '23505',
  'duplicate key value violates unique constraint "messages_one_per_client_id"',
  'ana cannot send another message with the same client_id'
);
select throws_ok(
  $$ select pg_temp.write('ana', 'carla', '0f0f0f0f-0000-4000-8000-000000000001') $$, '23505',
  'duplicate key value violates unique constraint "messages_one_per_client_id"',
  'ana cannot use the client_id in another conversation'
);
select lives_ok(
  $$ select pg_temp.write('ben', 'ana', '0f0f0f0f-0000-4000-8000-000000000001') $$, 'ben can use the same client_id'
);
select lives_ok(
  $$ select pg_temp.write('ana', 'ana', null) from generate_series(1, 2) $$,
  'ana can send several messages without client_id'
);
