-- A user with a conversation cannot be deleted; deleting a conversation deletes its messages and reservations.
select plan(4);
select tests.make_person(name) from unnest(array['ana', 'ben', 'carla']) as name;
select tests.make_history('ana', 'ben');

select throws_ok(
  $$ delete from public.users where id = tests.id_of('ana') $$, '23503', null,
  'ana''s row cannot be deleted: ben has a conversation with her'
);
select throws_ok(
  $$ delete from public.users where id = tests.id_of('ben') $$, '23503', null,
  'ben''s row cannot be deleted: ana has a conversation with him'
);
select lives_ok(
  $$ delete from public.users where id = tests.id_of('carla') $$, 'carla''s row can be deleted: she has no conversation'
);

delete from public.conversations where id = tests.conversation_of('ana');
select is_empty(
  $$
    select id from public.messages
    union all
    select id from public.reservations
    union all
    select message_id from private.idempotent_replies
  $$,
  'deleting a conversation deletes its messages, idempotent replies and reservations'
);
