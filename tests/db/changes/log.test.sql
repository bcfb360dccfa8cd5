-- The log of changes: which row each write leaves, and for whom. Reading it is tested over HTTP and on Postgres,
-- because a transaction never sees its own changes in the feed.
select plan(21);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;

create function pg_temp.logged()
returns text[]
language plpgsql security definer
as $$
declare
  entries text[];
begin
  select array_agg(
    format(
      '%s of %s for %s', kind, case when kind in ('conversation', 'state') then 'it' else entity_id::text end,
      concat_ws(
        ' and ', (select name from public.users where id = changes.user_id),
        (select name from public.users where id = changes.other_id)
      )
    )
    order by id
  )
  into entries
  from private.changes;
  delete from private.changes;
  return coalesce(entries, '{}');
end
$$;
create function pg_temp.talk()
returns bigint
language sql security definer
as $$ select min(id) from public.conversations where tests.id_of('ben') in (voyager_id, local_id) $$;
create function pg_temp.ask(person text, call text)
returns void
language plpgsql
as $$
begin
  perform tests.ask(person, call);
  perform tests.become_owner();
end
$$;
select pg_temp.logged();

insert into public.conversations (voyager_id, local_id) values (tests.id_of('ana'), tests.id_of('ben'));
select is(pg_temp.logged(), array['conversation of it for ana and ben'], 'a conversation is opened');

select pg_temp.ask('ana', format('send_message(%s, ''{"content": "One"}'')', pg_temp.talk()));
select pg_temp.ask('ana', format('send_message(%s, ''{"content": "Two"}'')', pg_temp.talk()));
create temp table ids as select min(id) as one, max(id) as two from public.messages;
grant select on ids to public;
select is(
  pg_temp.logged(),
  array[format('message of %s for ana and ben', (select one from ids)),
    format('message of %s for ana and ben', (select two from ids))],
  'two messages are sent'
);

select pg_temp.ask(
  'ben', format('mark_read(conversation => %s, message => %s, and_before => true)', pg_temp.talk(), two)
)
from ids;
select is(
  pg_temp.logged(), array[format('read of %s for ana and ben', (select two from ids))],
  'both are read: the newest of the statement is named'
);
select pg_temp.ask(
  'ben', format('mark_read(conversation => %s, message => %s, and_before => true)', pg_temp.talk(), two)
)
from ids;
select is(pg_temp.logged(), '{}', 'nothing is left to be read, and nothing is logged');

update public.messages set content = content;
select is(pg_temp.logged(), '{}', 'a write that changes nothing');
update public.messages set content = 'Corrected' where id = (select one from ids);
select is(pg_temp.logged(), array[format('message of %s for ana and ben', (select one from ids))], 'a correction');
update public.messages set attachment = '{"url": "https://a/b", "name": "b", "mime_type": "image/png", "size": 1}'
where id = (select one from ids);
select is(pg_temp.logged(), array[format('message of %s for ana and ben', (select one from ids))], 'an attachment');
update public.messages set read = false where id = (select one from ids);
select is(
  pg_temp.logged(), array[format('message of %s for ana and ben', (select one from ids))],
  'a message that an admin makes unread'
);

insert into public.conversations (voyager_id, local_id) values (tests.id_of('cat'), tests.id_of('ana'));
select pg_temp.logged();
update public.messages
set conversation_id = (select id from public.conversations where voyager_id = tests.id_of('cat'))
where id = (select two from ids);
select set_eq(
  $$ select unnest(pg_temp.logged()) $$,
  array[format('message.removed of %s for ana and ben', (select two from ids)),
    format('message of %s for cat and ana', (select two from ids))],
  'a message that is moved goes from one conversation and comes to the other'
);
delete from public.messages where id = (select one from ids);
select is(pg_temp.logged(), array[format('message.removed of %s for ana and ben', (select one from ids))], 'a removal');

select pg_temp.ask(
  'ana',
  format('offer_reservation(%s, ''{"title": "Walk", "price": 1, "date": "2036-01-01T00:00:00Z"}'')', pg_temp.talk())
);
create temp table offers as select max(id) as id from public.reservations;
select is(pg_temp.logged(), array[format('reservation of %s for ana and ben', (select id from offers))], 'an offer');
update public.reservations set status = 'accepted' where id = (select id from offers);
select is(pg_temp.logged(), array[format('reservation of %s for ana and ben', (select id from offers))], 'a step');

select pg_temp.ask('ben', format('set_conversation_state(%s, ''{"pinned": true}'')', pg_temp.talk()));
select is(pg_temp.logged(), array['state of it for ben'], 'a state is logged for its owner alone');
select pg_temp.ask('ben', format('set_conversation_state(%s, ''{"pinned": true}'')', pg_temp.talk()));
select is(pg_temp.logged(), '{}', 'the same state again is not');
insert into private.blocks (blocker_id, blocked_id) values (tests.id_of('ana'), tests.id_of('ben'));
select is(pg_temp.logged(), array['state of it for ana'], 'a block is logged for its owner alone');
insert into private.blocks (blocker_id, blocked_id) values (tests.id_of('ben'), tests.id_of('cat'));
select is(pg_temp.logged(), '{}', 'and not at all where there is no conversation');

update public.users set name = 'Anne' where id = tests.id_of('ana');
select is(
  (select count(*) from private.changes where kind = 'conversation'), 2::bigint,
  'a new name is logged for each conversation'
);
update public.users set name = 'ana', bio = 'Hello' where name = 'Anne';
delete from private.changes;
update public.users set bio = 'Hello again' where id = tests.id_of('ana');
select is(pg_temp.logged(), '{}', 'what partners do not see of a person is not');

select pg_temp.ask('ben', format('set_conversation_state(%s, ''{"pinned": false}'')', pg_temp.talk()));
create temp table of_ben as select tests.id_of('ben') as id, pg_temp.talk() as talk;
select private.erase_person(id) from of_ben;
select is_empty(
  $$ select from private.changes where kind = 'state' and user_id = (select id from of_ben) $$,
  'erasing removes how the person arranged conversations'
);
delete from private.changes;
delete from public.conversations where id = (select talk from of_ben);
select is(
  (select array_agg(kind::text) from private.changes), array['conversation'],
  'of a conversation that is removed nothing else is logged'
);

insert into private.changes (user_id, kind, conversation_id, entity_id, created_at)
values
  (1, 'message', 1, 1, now() - interval '31 days 1 second'),
  (1, 'message', 1, 2, now() - interval '30 days 23 hours');
select private.forget_changes();
select is(
  (select array_agg(entity_id) from private.changes where user_id = 1 and conversation_id = 1 and kind = 'message'),
  array[2::bigint], 'what is older than 31 days is forgotten'
);
