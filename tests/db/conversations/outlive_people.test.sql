-- Nobody's row is deleted from under a conversation; what hangs on one goes with it.
select plan(4);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_person('carla');
select tests.make_history('ana', 'ben');

select throws_ok(
  $$ delete from public.users where id = tests.id_of('ana') $$,
  '23503',
  null,
  'ana''s row cannot be deleted: ben has a conversation with her'
);
select throws_ok(
  $$ delete from public.users where id = tests.id_of('ben') $$,
  '23503',
  null,
  'ben''s row cannot be deleted: ana has a conversation with him'
);
select lives_ok($$ delete from public.users where id = tests.id_of('carla') $$, 'carla, who has none, can be deleted');

delete from public.conversations
where id = tests.conversation_of('ana');
select is_empty(
  $$
    select id from public.messages
    union all
    select id from public.reservations
    union all
    select message_id from private.idempotent_replies
  $$,
  'the messages, receipts and reservations of a conversation go with it'
);
