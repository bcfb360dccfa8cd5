-- A conversation is between two people, who have no other.
select plan(5);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_person('carla');

create function pg_temp.converse(voyager text, local text)
returns void
language sql
as $$ insert into public.conversations (voyager_id, local_id) values (tests.id_of(voyager), tests.id_of(local)) $$;

select lives_ok($$ select pg_temp.converse('ana', 'ben') $$, 'ana and ben can have a conversation');
select throws_ok(
  $$ select pg_temp.converse('ana', 'ben') $$,
  '23505',
  'duplicate key value violates unique constraint "conversations_one_per_pair"',
  'ana and ben cannot have another'
);
select throws_ok(
  $$ select pg_temp.converse('ben', 'ana') $$,
  '23505',
  'duplicate key value violates unique constraint "conversations_one_per_pair"',
  'ana and ben cannot have another with ben as the voyager'
);
select lives_ok($$ select pg_temp.converse('carla', 'ana') $$, 'ana can have one with carla too');
select throws_ok(
  $$ select pg_temp.converse('ana', 'ana') $$,
  '23514',
  'new row for relation "conversations" violates check constraint "nobody converses with themselves"',
  'ana cannot have one with herself'
);
