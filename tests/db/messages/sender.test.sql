-- The sender of a message is a participant, whatever an admin writes.
select plan(10);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat', 'dan']) as name;
select tests.make_history('ana', 'ben');
insert into public.conversations (voyager_id, local_id) values (tests.id_of('ana'), tests.id_of('cat'));
create temp table talks as
select id, local_id from public.conversations where voyager_id = tests.id_of('ana');
create function pg_temp.talk_with(name text)
returns bigint
language sql
as $$ select id from talks where local_id = tests.id_of(name) $$;

prepare write(text) as
insert into public.messages (conversation_id, user_id, content)
values (pg_temp.talk_with('ben'), tests.id_of($1), 'By an admin');
select lives_ok($$ execute write('ben') $$, 'an admin can write as a participant');
select throws_ok($$ execute write('cat') $$, '23514', 'user_id is not a participant', 'not as anybody else');

prepare give(text) as
update public.messages set user_id = tests.id_of($1) where content = 'By an admin';
select lives_ok($$ execute give('ana') $$, 'an admin can make a message the other participant''s');
select throws_ok($$ execute give('cat') $$, '23514', 'user_id is not a participant', 'not anybody else''s');

prepare move(text) as
update public.messages set conversation_id = pg_temp.talk_with($1) where content = 'By an admin';
select lives_ok($$ execute move('cat') $$, 'an admin can move a message to another conversation of its sender');
update public.messages set user_id = tests.id_of('cat') where content = 'By an admin';
select throws_ok($$ execute move('ben') $$, '23514', 'user_id is not a participant', 'not to one of others');

prepare hand_over(text) as
update public.conversations set local_id = tests.id_of($1) where id = pg_temp.talk_with('cat');
select throws_ok(
  $$ execute hand_over('dan') $$, '23514', 'a message or reservation would be without its participant',
  'a conversation cannot be taken from somebody who has written in it'
);
delete from public.messages where content = 'By an admin';
insert into public.reservations (conversation_id, title, price, date, host_id, offered_by)
values (pg_temp.talk_with('cat'), 'Chess', 0, now() + interval '1 day', tests.id_of('cat'), tests.id_of('ana'));
select throws_ok(
  $$ execute hand_over('dan') $$, '23514', 'a message or reservation would be without its participant',
  'nor from the host of a reservation'
);
update public.reservations set host_id = tests.id_of('ana'), offered_by = tests.id_of('cat') where title = 'Chess';
select throws_ok(
  $$ execute hand_over('dan') $$, '23514', 'a message or reservation would be without its participant',
  'nor from who has offered one'
);
delete from public.reservations where title = 'Chess';
select lives_ok($$ execute hand_over('dan') $$, 'from somebody without either it can, whatever others have');
