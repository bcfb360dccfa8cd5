-- From the outbox to pushes and one mail: whom the worker tells, when, and what stops it.
select plan(53);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cleo']) as name;
insert into public.conversations (voyager_id, local_id)
values (tests.id_of('ana'), tests.id_of('ben')), (tests.id_of('cleo'), tests.id_of('ben'));
select tests.make_device('ben'), tests.make_device('ben');

create function pg_temp.send(sender text, content text default 'Hello')
returns bigint
language sql
as $$
  insert into public.messages (conversation_id, user_id, content)
  values (tests.conversation_of(sender), tests.id_of(sender), content)
  returning id
$$;
create function pg_temp.run(push boolean default true, mail boolean default true)
returns text
language sql
as $$ select private.plan_notifications(max_rows => 100, push => push, mail => mail)::text $$;
-- What waits, by channel.
create function pg_temp.waiting()
returns text
language sql
as $$
  select coalesce(string_agg(format('%s %s', channel, number), ', ' order by channel), 'nothing')
  from (select channel, count(*) as number from private.outbox where channel <> 'webhook' group by channel) as counts
$$;
create function pg_temp.reset()
returns void
language plpgsql
as $$
begin
  delete from private.outbox;
  delete from private.silences;
  delete from private.notification_settings;
  update public.messages set read = true;
  perform tests.pass_time('0');
end
$$;

select pg_temp.send('ana');
select is(pg_temp.waiting(), 'person 1', 'sending writes one row, for the recipient');
select is(
  (select round(extract(epoch from due_at - created_at)) from private.outbox), 600::numeric, 'due after ten minutes'
);
select is(pg_temp.run(), '0', 'before that nothing is planned');
select tests.pass_time('11 minutes');
select is(pg_temp.run(), '1', 'then it is');
select is(pg_temp.waiting(), 'mail 1, push 2', 'as a push for each device and a mail');
select pg_temp.send('ana'), pg_temp.send('cleo');
select tests.pass_time('22 minutes');
select pg_temp.run();
select is(
  pg_temp.waiting(), 'mail 1, push 4',
  'in the same silence there is no second mail, and what waits for a conversation is told by one push'
);
select is(
  jsonb_path_query_array(private.claim_mail()::jsonb, '$.conversations[*].unread')::text, '[1, 2]',
  'the mail names both conversations with their numbers, whatever came since'
);
select is(private.claim_mail()::text, 'null', 'and is claimed once');
select is(
  (select count(*) from json_array_elements(private.claim_pushes(100)) where value #>> '{data,unread}' = '2'),
  2::bigint, 'the pushes of ana''s conversation say two'
);
select is(
  (
    select count(*) || ' of ' || count(distinct value #>> '{receivers,0}')
    from json_array_elements(private.claim_pushes(100))
  ), '2 of 2', 'those of cleo''s follow, so that a device has one at a time'
);
select is(private.claim_pushes(100)::text, '[]', 'and are claimed once');

select pg_temp.reset();
select pg_temp.send('ana');
select tests.pass_time('11 minutes');
update public.messages set read = true;
select pg_temp.run();
select is(pg_temp.waiting(), 'nothing', 'what was read is not told');

create function pg_temp.told_after(change text, undo text default '')
returns text
language plpgsql
as $$
declare
  planned text;
begin
  perform pg_temp.reset();
  perform pg_temp.send('ana');
  execute change;
  perform tests.pass_time('11 minutes');
  perform pg_temp.run();
  planned := pg_temp.waiting();
  execute undo;
  -- And if it happens between the planning and the sending.
  perform pg_temp.reset();
  perform pg_temp.send('ana');
  perform tests.pass_time('11 minutes');
  perform pg_temp.run();
  execute change;
  planned := format('%s, then %s %s', planned, private.claim_pushes(9), private.claim_mail());
  planned := format('%s, %s', planned, pg_temp.waiting());
  execute undo;
  return planned;
end
$$;
select is(pg_temp.told_after(change, undo), 'nothing, then [] null, nothing', name)
from (
  values
    ('update public.messages set read = true', '', 'read: neither planned nor sent'),
    (
      'insert into private.blocks (blocker_id, blocked_id) values (tests.id_of(''ana''), tests.id_of(''ben''))',
      'delete from private.blocks', 'blocked by the sender'
    ),
    (
      'insert into private.blocks (blocker_id, blocked_id) values (tests.id_of(''ben''), tests.id_of(''ana''))',
      'delete from private.blocks', 'blocked by the recipient'
    ),
    (
      'update public.users set is_active = false where name = ''ben''', 'update public.users set is_active = true',
      'a deactivated recipient'
    ),
    (
      'update public.users set is_active = false where name = ''ana''', 'update public.users set is_active = true',
      'a deactivated sender'
    ),
    (
      'insert into private.conversation_states (user_id, conversation_id, muted_until) '
        || 'values (tests.id_of(''ben''), tests.conversation_of(''ana''), now() + interval ''1 day'')',
      'delete from private.conversation_states', 'muted by the recipient'
    ),
    (
      'update private.conversation_activity set local_archived_id = last_message_id '
        || 'where conversation_id = tests.conversation_of(''ana'')',
      'update private.conversation_activity set local_archived_id = null', 'archived by the recipient after it'
    ),
    ('delete from public.messages', '', 'a message that is gone'),
    (
      'insert into private.notification_settings (user_id, push, email) values (tests.id_of(''ben''), false, false)',
      'delete from private.notification_settings', 'push and mail off'
    )
) as cases (change, undo, name);

select pg_temp.reset();
select pg_temp.send('ana');
update private.conversation_activity set local_archived_id = last_message_id
where conversation_id = tests.conversation_of('ana');
update public.messages set read = true;
select pg_temp.send('ana');
select tests.pass_time('11 minutes');
select pg_temp.run();
select is(pg_temp.waiting(), 'mail 1, push 2', 'archived before it, which brings the conversation back');

select pg_temp.reset();
select pg_temp.send('ana');
select tests.pass_time('11 minutes');
select pg_temp.run(push => false);
select is(pg_temp.waiting(), 'mail 1', 'without the keys of Web Push there is a mail');
select pg_temp.reset();
select pg_temp.send('ana');
select tests.pass_time('11 minutes');
select pg_temp.run(mail => false);
select is(pg_temp.waiting(), 'push 2', 'without a mail server there are pushes');
select is_empty('select from private.silences', 'and no silence has begun');

select pg_temp.reset();
select pg_temp.send('ana');
select tests.pass_time('11 minutes');
select pg_temp.run();
select isnt(private.claim_mail()::text, 'null', 'mailed');
select tests.ask('ben', format('mark_read(%s, %s, true)', tests.conversation_of('ana'), max(id))) from public.messages
where conversation_id = tests.conversation_of('ana');
select tests.become_owner();
select is_empty('select from private.silences', 'reading ends the silence');
delete from private.outbox;
select pg_temp.send('ana');
select tests.pass_time('30 minutes');
select pg_temp.run();
select is(pg_temp.waiting(), 'mail 1, push 2', 'so the next message is mailed');
insert into public.messages (conversation_id, user_id, content)
values (tests.conversation_of('ana'), tests.id_of('ben'), 'Here I am');
select is_empty('select from private.silences', 'and writing ends it');

-- What is read while pushes are claimed.
select pg_temp.reset();
select pg_temp.send('ana');
select tests.pass_time('11 minutes');
select pg_temp.run();
create function pg_temp.read_all() returns trigger language plpgsql as $$
begin
  update public.messages set read = true where not read;
  return null;
end $$;
create trigger read_all after delete on private.outbox for each statement execute function pg_temp.read_all();
select is(
  (select string_agg(value #>> '{data,unread}', ' ') from json_array_elements(private.claim_pushes(9))), '1 1',
  'a push says what was unread when it was claimed'
);
drop trigger read_all on private.outbox;

-- At 23:30 in Lisbon, an hour later and at 07:00.
select pg_temp.reset();
insert into private.notification_settings (user_id, delay_minutes, quiet_from, quiet_to, time_zone)
values (tests.id_of('ben'), 0, '22:00', '07:00', 'Europe/Lisbon');
select pg_temp.send('ana');
select tests.pass_time('2027-01-10 23:30Z'::timestamptz - now());
select is(pg_temp.run(), '1', 'in quiet hours a message is looked at');
select is(pg_temp.waiting(), 'person 1', 'and waits');
select is((select due_at from private.outbox where channel = 'person'), '2027-01-11 07:00Z', 'until they end');
select tests.pass_time('2027-01-11 07:00:01Z'::timestamptz - now());
select pg_temp.run();
select is(pg_temp.waiting(), 'mail 1, push 2', 'then it is told');
update private.outbox set due_at = '2027-01-11 22:30Z';
select tests.pass_time('2027-01-11 22:30:01Z'::timestamptz - now());
select is(private.claim_pushes(9)::text || private.claim_mail()::text, '[]null', 'a late attempt in quiet hours');
select is(
  (select string_agg(distinct format('%s %s', attempts, due_at at time zone 'UTC'), ', ') from private.outbox),
  '0 2027-01-12 07:00:00', 'waits again, and was no attempt'
);

-- A person whose rows make the worker fail does not stop the others.
select pg_temp.reset();
create function pg_temp.fail() returns trigger language plpgsql as $$
begin
  if new.user_id = tests.id_of('ana') then raise 'poison'; end if;
  return new;
end $$;
create trigger fail before insert on private.silences for each row execute function pg_temp.fail();
insert into public.messages (conversation_id, user_id, content)
values (tests.conversation_of('ana'), tests.id_of('ben'), 'To ana');
select pg_temp.send('cleo');
select tests.pass_time('11 minutes');
select pg_temp.run();
select is(pg_temp.waiting(), 'mail 1, person 1, push 2', 'ben is told, and ana''s row waits');
select is(
  (select format('%s %s', attempts, last_error) from private.outbox where channel = 'person'), '1 P0001',
  'with its error'
);
do $$ begin for i in 1..8 loop
  perform tests.pass_time(make_interval(hours => i * 5));
  perform pg_temp.run();
end loop; end $$;
select is(
  private.describe_outbox() #>> '{person,dead}', '1', 'after eight tries it is a dead letter'
);

-- Receivers that are busy.
select pg_temp.reset();
select pg_temp.send('ana');
select tests.pass_time('11 minutes');
select pg_temp.run();
select is(
  private.claim_pushes(9, '["push.example"]')::text || private.claim_mail('["tests.example"]'), '[]null',
  'nothing is claimed for a push service or a domain that is busy'
);
select is(
  (
    select count(*)
    from json_array_elements(
      private.claim_pushes(9, (select json_agg(id)::jsonb from (select id from private.devices limit 1) as one))
    )
  ), 1::bigint, 'and nothing for a device that is'
);
select isnt(private.claim_mail('["elsewhere.example"]')::text, 'null', 'a domain that is busy holds up no other');

-- Dead letters.
select pg_temp.reset();
select pg_temp.send('ana');
select tests.pass_time('11 minutes');
select pg_temp.run();
update private.outbox set attempts = 8, due_at = private.present() + '1 hour' where channel in ('push', 'mail');
select pg_temp.send('ana');
select tests.pass_time('22 minutes');
select pg_temp.run();
select is(private.claim_pushes(9)::text, '[]', 'the last attempt of a dead letter may still be under way');
select tests.pass_time('80 minutes');
select is(
  (select string_agg(value #>> '{data,unread}', ' ') from json_array_elements(private.claim_pushes(9))), '2 2',
  'then the next message of its conversation revives it'
);
select is(private.claim_mail()::text, 'null', 'of a mail in the same silence it does not');
update public.messages set read = true;
delete from private.silences;
select pg_temp.send('ana');
select tests.pass_time('100 minutes');
select pg_temp.run();
select isnt(private.claim_mail()::text, 'null', 'of one in the next silence it does');
select private.finish_outbox(
  jsonb_build_array(jsonb_build_object('id', id, 'outcome', 'refused', 'reason', 'EENVELOPE 550'))
)
from private.outbox
where channel = 'mail';
select is(
  (select format('%s %s', attempts, last_error) from private.outbox where channel = 'mail'), '8 EENVELOPE 550',
  'a mail that the server refuses for good is a dead letter at once'
);

-- What somebody else has written.
select is(
  private.quote(E' Voyagers\r\n\r\nYour account\u2028is\u202esuspended\u0085\t! '),
  'Voyagers Your account is suspended !',
  'a name is quoted in one line'
);
select is(private.quote(repeat('é', 61)), repeat('é', 59) || '…', 'of at most 60 characters');
select is(private.quote(repeat('x', 160), 160), repeat('x', 160), 'what is as long as it may be is whole');
select is(private.quote('Ana 👩‍👩‍👧 نسرین‌خانم'), 'Ana 👩‍👩‍👧 نسرین‌خانم', 'joiners stay');

-- An event of an unknown kind.
select throws_ok(
  $$ select private.notify('guide.published', null, 1, people => array[tests.id_of('ana')]) $$, '23514', null,
  'nobody is told of it'
);
select throws_ok(
  $$ select private.notice_of(tests.id_of('ana'), 'user.erased', tests.conversation_of('ana'), 1, 1) $$, '20000', null,
  'nor of one that is for the webhook alone'
);
