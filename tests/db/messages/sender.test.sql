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

-- Not prepared statements, which would outlive a rollback: the next run of this file would fail.
create function pg_temp.write(name text)
returns text
language sql
as $$
  select format(
    'insert into public.messages (conversation_id, user_id, content) values (%s, %s, ''By an admin'')',
    pg_temp.talk_with('ben'), tests.id_of(name)
  )
$$;
select lives_ok(pg_temp.write('ben'), 'an admin can write as a participant');
select throws_ok(pg_temp.write('cat'), '23514', 'user_id is not a participant', 'not as anybody else');

create function pg_temp.give(name text)
returns text
language sql
as $$
  select format('update public.messages set user_id = %s where content = ''By an admin''', tests.id_of(name))
$$;
select lives_ok(pg_temp.give('ana'), 'an admin can make a message the other participant''s');
select throws_ok(pg_temp.give('cat'), '23514', 'user_id is not a participant', 'not anybody else''s');

create function pg_temp.move(name text)
returns text
language sql
as $$
  select format(
    'update public.messages set conversation_id = %s where content = ''By an admin''', pg_temp.talk_with(name)
  )
$$;
select lives_ok(pg_temp.move('cat'), 'an admin can move a message to another conversation of its sender');
update public.messages set user_id = tests.id_of('cat') where content = 'By an admin';
select throws_ok(pg_temp.move('ben'), '23514', 'user_id is not a participant', 'not to one of others');

create function pg_temp.hand_over(name text)
returns text
language sql
as $$
  select format(
    'update public.conversations set local_id = %s where id = %s', tests.id_of(name), pg_temp.talk_with('cat')
  )
$$;
select throws_ok(
  pg_temp.hand_over('dan'), '23514', 'a message or reservation would be without its participant',
  'a conversation cannot be taken from somebody who has written in it'
);
delete from public.messages where content = 'By an admin';
insert into public.reservations (conversation_id, title, price, date, host_id, offered_by)
values (pg_temp.talk_with('cat'), 'Chess', 0, now() + interval '1 day', tests.id_of('cat'), tests.id_of('ana'));
select throws_ok(
  pg_temp.hand_over('dan'), '23514', 'a message or reservation would be without its participant',
  'nor from the host of a reservation'
);
update public.reservations set host_id = tests.id_of('ana'), offered_by = tests.id_of('cat') where title = 'Chess';
select throws_ok(
  pg_temp.hand_over('dan'), '23514', 'a message or reservation would be without its participant',
  'nor from who has offered one'
);
delete from public.reservations where title = 'Chess';
select lives_ok(pg_temp.hand_over('dan'), 'from somebody without either it can, whatever others have');
