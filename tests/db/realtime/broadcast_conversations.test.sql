-- Events about conversations and reservations.
select plan(11);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;
truncate realtime.messages;

create function pg_temp.sent()
returns table (topic text, event text, payload jsonb)
language sql
as $$ select topic, event, payload from realtime.messages order by topic $$;
create function pg_temp.topics_of(voyager text, local text)
returns setof text
language sql
as $$
  select unnest(array['user:' || tests.id_of(voyager), 'user:' || tests.id_of(local)])
$$;

select tests.ask('ana', format('open_conversation(%s)', tests.id_of('ben')));
select tests.become_owner();
select bag_eq(
  'select * from pg_temp.sent()',
  $$
    select
      topic,
      'conversation.created',
      jsonb_build_object(
        'conversation_id', tests.conversation_of('ana'), 'id', tests.conversation_of('ana'), 'previous_id', null,
        'user_id', tests.id_of('ana')
      )
    from pg_temp.topics_of('ana', 'ben') as topic
  $$,
  'both participants receive an event when ana opens a conversation'
);

truncate realtime.messages;
insert into public.reservations (conversation_id, title, price, date)
values (tests.conversation_of('ana'), 'A walk', 20, now());
select bag_eq(
  'select * from pg_temp.sent()',
  $$
    select
      topic,
      'reservation.changed',
      jsonb_build_object('conversation_id', conversation_id, 'id', id, 'previous_id', null, 'user_id', null)
    from public.reservations
    cross join pg_temp.topics_of('ana', 'ben') as topic
    where conversation_id = tests.conversation_of('ana')
  $$,
  'both participants receive an event when a reservation is created'
);
truncate realtime.messages;
update public.reservations set status = 'accepted' where conversation_id = tests.conversation_of('ana');
select bag_eq(
  'select topic, event from pg_temp.sent()',
  $$ select topic, 'reservation.changed' from pg_temp.topics_of('ana', 'ben') as topic $$,
  'both participants receive an event when a reservation changes'
);
truncate realtime.messages;
delete from public.reservations where conversation_id = tests.conversation_of('ana');
select bag_eq(
  'select topic, event from pg_temp.sent()',
  $$ select topic, 'reservation.changed' from pg_temp.topics_of('ana', 'ben') as topic $$,
  'both participants receive an event when a reservation is deleted'
);

insert into public.conversations (voyager_id, local_id) values (tests.id_of('cat'), tests.id_of('ben'));
insert into public.reservations (conversation_id, title, price, date)
values (tests.conversation_of('ana'), 'A boat', 20, now());
truncate realtime.messages;
update public.reservations
set conversation_id = tests.conversation_of('cat')
where conversation_id = tests.conversation_of('ana');
select bag_eq(
  'select topic from pg_temp.sent()',
  $$
    select pg_temp.topics_of('ana', 'ben')
    union all
    select pg_temp.topics_of('cat', 'ben')
  $$,
  'the participants of both conversations receive an event when a reservation moves'
);

truncate realtime.messages;
select lives_ok(
  $$ delete from public.conversations where id = tests.conversation_of('cat') $$,
  'a conversation can be deleted with its reservations'
);
select is_empty('select * from pg_temp.sent()', 'the cascade sends no events');

update public.users set is_active = false where id = tests.id_of('ben');
select results_eq(
  'select topic from pg_temp.sent()', $$ values ('typing:' || tests.conversation_of('ana')) $$,
  'the partners of a deactivated account are told to leave the topics for typing'
);
truncate realtime.messages;
insert into public.reservations (conversation_id, title, price, date)
values (tests.conversation_of('ana'), 'A ride', 20, now());
select results_eq(
  'select topic from pg_temp.sent()', $$ values ('user:' || tests.id_of('ana')) $$,
  'a deactivated participant receives no event'
);
update public.users set is_active = false where id = tests.id_of('ana');
truncate realtime.messages;
update public.reservations set status = 'cancelled';
select is_empty('select * from pg_temp.sent()', 'with two deactivated participants no event is sent');

select set_eq(
  $$ select schemaname::text, tablename::text from pg_publication_tables where pubname = 'supabase_realtime' $$,
  $$ values ('public', 'messages') $$, 'postgres_changes publishes messages and no other table'
);
