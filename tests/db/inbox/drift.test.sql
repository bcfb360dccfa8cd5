-- The inbox never differs from the messages, whatever is sent, read, deleted, changed or erased in whatever order.
select plan(12);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat', 'dan']) as name;
insert into public.conversations (voyager_id, local_id)
select one.id, other.id
from public.users as one
join public.users as other on other.id > one.id and other.email like '%@tests.example'
where one.email like '%@tests.example';
create temp table talks as select row_number() over (order by id) as place, * from public.conversations;

-- A random action as a participant or an admin; some raise an error halfway and so are undone.
create function pg_temp.act() returns text language plpgsql security definer as $$
declare
  talk public.conversations;
  chosen public.messages;
  author bigint;
  kind text := (array[
    'send', 'send', 'send', 'send', 'read', 'read up to', 'delete', 'delete latest', 'undo', 'unread', 'date', 'move',
    'give away', 'replace', 'many'
  ])[1 + floor(random() * 15)];
  here bigint := 1 + floor(random() * 6);
  there bigint := 1 + floor(random() * 6);
begin
  select id, voyager_id, local_id, created_at into talk from talks where place = here;
  author := case when random() < 0.5 then talk.voyager_id else talk.local_id end;
  -- Mostly one of the latest.
  select * into chosen
  from public.messages
  where conversation_id = talk.id
  order by id * (random() < 0.5)::integer desc, random()
  limit 1;
  perform set_config('api.caller', author::text, true);
  case kind
    when 'send' then perform api.send_message(talk.id, '{"content": "x"}');
    when 'read', 'read up to' then
      if chosen.id is not null then
        perform api.mark_read(conversation => talk.id, message => chosen.id, and_before => kind <> 'read');
      end if;
    when 'delete' then delete from public.messages where id = chosen.id;
    when 'delete latest' then
      delete from public.messages
      where id in (select id from public.messages where conversation_id = talk.id order by id desc limit 2);
    when 'undo' then
      begin
        perform api.send_message(talk.id, '{"content": "x"}');
        delete from public.messages where id = chosen.id;
        raise division_by_zero;
      exception
        when division_by_zero then null;
      end;
    when 'unread' then update public.messages set read = not read where id = chosen.id;
    when 'date' then update public.messages set created_at = now() - random() * interval '1 day' where id = chosen.id;
    when 'move' then
      update public.messages set conversation_id = talks.id
      from talks
      where messages.id = chosen.id and place = there and user_id in (voyager_id, local_id);
    when 'give away' then update public.messages set user_id = author where id = chosen.id;
    when 'replace' then
      with deleted as (delete from public.messages where id = chosen.id returning *)
      insert into public.messages (conversation_id, user_id, content)
      select conversation_id, user_id, 'again' from deleted;
    when 'many' then
      insert into public.messages (conversation_id, user_id, content, read)
      select id, case when random() < 0.5 then voyager_id else local_id end, 'x', random() < 0.3 from talks;
  end case;
  return kind;
end
$$;
select setseed(0.17);
create temp table log (number integer, kind text, drift bigint);
-- One statement would call inbox_drift once.
do $$
begin
  for number in 1..400 loop
    insert into log values (number, pg_temp.act());
    update log set drift = (select count(*) from tests.inbox_drift()) where log.drift is null;
  end loop;
end
$$;

select is_empty('select number, kind from log where drift > 0', 'after each of 400 random actions nothing differs');
select is((select count(distinct kind) from log), 12::bigint, 'every kind of action took place');
select cmp_ok((select count(*) from public.messages), '>', 50::bigint, 'and messages are left');

update public.conversations set created_at = now() - interval '1 year' where id in (select id from talks);
select is_empty('select * from tests.inbox_drift()', 'nor after an admin changes when conversations were opened');
update public.conversations
set voyager_id = local_id, local_id = voyager_id
where id = (select id from talks where place = 1);
select is_empty('select * from tests.inbox_drift()', 'nor after an admin swaps the two participants');
insert into public.messages (id, conversation_id, user_id, content) overriding system value
select -1, id, voyager_id, 'earlier' from talks where place = 2;
select is_empty('select * from tests.inbox_drift()', 'nor after an admin inserts a message with a lower id');
delete from public.messages where conversation_id = (select id from talks where place = 3);
select is_empty('select * from tests.inbox_drift()', 'nor after an admin deletes all messages of a conversation');
select tests.ask('cat', 'erase_me()');
select tests.become_owner();
select is_empty('select * from tests.inbox_drift()', 'nor after an erasure');
delete from public.conversations where id = (select id from talks where place = 4);
select is_empty('select * from tests.inbox_drift()', 'nor after an admin deletes a conversation');
select is_empty(
  $$
    select from private.inbox_entries
    where not exists (
      select from public.conversations where id = conversation_id and user_id in (voyager_id, local_id)
    )
  $$,
  'and there is no row without a conversation of that user'
);
create temp table before as select * from private.inbox_entries;
delete from private.inbox_entries where conversation_id = (select id from talks where place = 1);
update private.inbox_entries set last_message_id = 7, active_at = now(), unread = 7;
select private.rebuild_inbox();
select set_eq(
  $$ select conversation_id, user_id, last_message_id, active_at, unread, is_pinned from private.inbox_entries $$,
  $$ select conversation_id, user_id, last_message_id, active_at, unread, is_pinned from before $$,
  'what an operator makes anew is what the triggers have kept'
);
select throws_like(
  $$ update private.inbox_entries set unread = -1 $$, '%the unread count is not negative%',
  'a count below zero is refused'
);
