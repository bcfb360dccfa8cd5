-- A sender's key names one message, for ever; it is theirs alone.
select plan(5);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_person('carla');
select tests.make_history('ana', 'ben');
select tests.make_history('carla', 'ana');

create function pg_temp.write(sender text, voyager text, key uuid)
returns void
language sql
as $$
  insert into public.messages (conversation_id, user_id, content, client_id)
  values (tests.conversation_of(voyager), tests.id_of(sender), 'Hello', key)
$$;

select lives_ok(
  $$ select pg_temp.write('ana', 'ana', '0f0f0f0f-0000-4000-8000-000000000001') $$,
  'ana can name a message'
);
select throws_ok(
  $$ select pg_temp.write('ana', 'ana', '0f0f0f0f-0000-4000-8000-000000000001') $$,
  '23505',
  'duplicate key value violates unique constraint "messages_one_per_client_id"',
  'ana cannot name another the same'
);
select throws_ok(
  $$ select pg_temp.write('ana', 'carla', '0f0f0f0f-0000-4000-8000-000000000001') $$,
  '23505',
  'duplicate key value violates unique constraint "messages_one_per_client_id"',
  'nor in another conversation'
);
select lives_ok(
  $$ select pg_temp.write('ben', 'ana', '0f0f0f0f-0000-4000-8000-000000000001') $$,
  'ben can name his as ana named hers'
);
select lives_ok(
  $$ select pg_temp.write('ana', 'ana', null) from generate_series(1, 2) $$,
  'ana can send messages that have no name'
);
