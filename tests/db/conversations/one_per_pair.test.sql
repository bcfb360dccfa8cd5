-- A pair of users has at most one conversation.
select plan(5);
select tests.make_person(name) from unnest(array['ana', 'ben', 'carla']) as name;

create function pg_temp.create_conversation(voyager text, local text)
returns void
language sql
as $$ insert into public.conversations (voyager_id, local_id) values (tests.id_of(voyager), tests.id_of(local)) $$;

select lives_ok($$ select pg_temp.create_conversation('ana', 'ben') $$, 'ana and ben can have a conversation');
select throws_ok(
  $$ select pg_temp.create_conversation('ana', 'ben') $$, '23505',
  'duplicate key value violates unique constraint "conversations_one_per_pair"', 'ana and ben cannot have a second one'
);
select throws_ok(
  $$ select pg_temp.create_conversation('ben', 'ana') $$, '23505',
  'duplicate key value violates unique constraint "conversations_one_per_pair"',
  'ana and ben cannot have a second one with ben as the voyager'
);
select lives_ok(
  $$ select pg_temp.create_conversation('carla', 'ana') $$, 'ana can have a conversation with carla as well'
);
select throws_ok(
  $$ select pg_temp.create_conversation('ana', 'ana') $$, '23514',
  'new row for relation "conversations" violates check constraint "nobody converses with themselves"',
  'ana cannot have a conversation with herself'
);
