-- Webhooks, in order for each conversation; what becomes of claimed rows; steps of reservations; links to unsubscribe.
select plan(30);
select tests.make_person(name) from unnest(array['ana', 'ben', 'cleo']) as name;
create function pg_temp.send(sender text)
returns void
language sql
as $$
  insert into public.messages (conversation_id, user_id, content)
  values (tests.conversation_of(sender), tests.id_of(sender), 'Hello')
$$;
create function pg_temp.claim()
returns text
language sql
as $$
  select coalesce(
    string_agg(
      format('%s of %s', one ->> 'type', one #>> '{data,conversation_id}'), ', ' order by (one ->> 'id')::bigint
    ),
    ''
  )
  from json_array_elements(private.claim_webhooks(100)) as one
$$;
create function pg_temp.finish(outcome text, wanted text default 'webhook')
returns void
language sql
as $$
  select private.finish_outbox(
    jsonb_agg(jsonb_build_object('id', id, 'outcome', outcome, 'reason', 'why', 'subject', subject_id))
  )
  from private.outbox
  where attempts > 0 and channel = wanted
$$;

insert into public.conversations (voyager_id, local_id) values (tests.id_of('ana'), tests.id_of('ben'));
select is_empty('select from private.outbox', 'without a webhook a new conversation is nothing to send');
select private.adopt_outbox_settings(delay_seconds => 600, webhooks => true);
insert into public.conversations (voyager_id, local_id) values (tests.id_of('cleo'), tests.id_of('ben'));
select pg_temp.send('ana'), pg_temp.send('ana'), pg_temp.send('cleo');
select is(
  (select count(*) from private.outbox where channel = 'webhook'), 4::bigint, 'with one, every event writes a row'
);
select is(
  (select count(*) from json_array_elements(private.claim_webhooks(100))), 2::bigint,
  'of each conversation the first is claimed'
);
select is(pg_temp.claim(), '', 'and nothing else while it is under way');
select pg_temp.finish('sent');
select is(
  (select count(*) from json_array_elements(private.claim_webhooks(100))), 2::bigint, 'then the second of each'
);
select pg_temp.finish('failed');
select is(pg_temp.claim(), '', 'after a failure they wait');
select is((select max(last_error) from private.outbox), 'why', 'with the reason');
select pg_temp.send('ana');
select tests.pass_time('1 minute');
select is(
  (select array_agg(attempts order by id)::text from private.outbox where channel = 'webhook'), '{1,1,0}',
  'a later one is not tried before'
);
do $$ begin
  for try in 1..7 loop
    perform tests.pass_time(make_interval(hours => try * 5));
    perform private.claim_webhooks(100);
  end loop;
end $$;
select is(private.describe_outbox() #>> '{webhook,dead}', '2', 'after eight tries they are dead letters');
select is(pg_temp.claim(), '', 'which hold the later ones up while the last attempt is under way');
select tests.pass_time('50 hours');
select is(pg_temp.claim(), format('message.created of %s', tests.conversation_of('ana')), 'and no longer');
select is(pg_temp.claim(), '', 'dead letters are not tried again');
select private.forget_dead_letters();
select is(private.describe_outbox() #>> '{webhook,dead}', '2', 'they are kept');
select tests.pass_time('60 days');
select private.forget_dead_letters();
select is(private.describe_outbox() #>> '{webhook,dead}', '0', 'for a month');

delete from private.outbox;
select tests.pass_time('0');
select pg_temp.send('ana');
select is(
  private.claim_webhooks(9) #>> '{0,data}',
  (
    select json_build_object(
      'conversation_id', conversation_id, 'id', id, 'user_id', tests.id_of('ana'), 'recipient_id', tests.id_of('ben')
    )::text
    from public.messages order by id desc limit 1
  ),
  'the data of a message: ids, and no text'
);
delete from private.outbox;
select pg_temp.send('ana');
delete from public.messages;
select is(pg_temp.claim(), '', 'an event whose subject is gone');
select is_empty('select from private.outbox where channel = ''webhook''', 'is dropped');

insert into public.reports (reporter_id, user_id, reason) values (tests.id_of('ana'), tests.id_of('ben'), 'spam');
select is(
  private.claim_webhooks(9) #>> '{0,data,user_id}', tests.id_of('ben')::text, 'a report is told to the webhook alone'
);

-- Reservations.
delete from private.outbox;
select private.write_reservation(
  reservation => jsonb_populate_record(
    null::public.reservations,
    jsonb_build_object(
      'conversation_id', tests.conversation_of('ana'), 'title', 'A walk', 'price', 20,
      'date', now() + interval '7 days', 'offered_by', tests.id_of('ana')
    )
  ),
  by_id => tests.id_of('ana'), note => null, moment => null
);
select is(
  (
    select string_agg(format('%s %s', channel, user_id = tests.id_of('ben')), ', ' order by channel)
    from private.outbox
  ),
  'person t, webhook ', 'an offer is told to the other one, and to the webhook'
);
select is(
  private.claim_webhooks(9) #>> '{0,data,status}', 'pending', 'which learns the status'
);
select tests.pass_time('11 minutes');
select tests.make_device('ben');
select private.plan_notifications(max_rows => 9, push => true, mail => true);
select is(private.claim_mail() #>> '{conversations,0,status}', 'pending', 'the mail says the status');
select is(private.claim_pushes(9) #>> '{0,data,status}', 'pending', 'and so does the push');
delete from private.outbox;
delete from private.silences;
update public.reservations set title = 'A long walk';
select is(
  (select count(*) from private.outbox where channel = 'person'), 2::bigint, 'what an admin does is told to both'
);
select tests.pass_time('22 minutes');
insert into public.messages (conversation_id, user_id, content, created_at)
values (tests.conversation_of('ana'), tests.id_of('ben'), 'Nice', private.present());
delete from private.outbox where event = 'message.created';
select private.plan_notifications(max_rows => 9, push => true, mail => true);
select is(
  (select string_agg(distinct user_id::text, ',') from private.outbox where channel in ('mail', 'push')),
  tests.id_of('ana')::text, 'who has written since has seen it'
);

-- A push that gets more to tell while it is under way is sent again.
delete from private.outbox;
select pg_temp.send('ana');
select tests.pass_time('33 minutes');
select private.plan_notifications(max_rows => 9, push => true, mail => false);
select private.claim_pushes(9);
create temp table claimed as select id, subject_id from private.outbox where channel = 'push';
select pg_temp.send('ana');
select tests.pass_time('44 minutes');
select private.plan_notifications(max_rows => 9, push => true, mail => false);
select private.finish_outbox(jsonb_agg(jsonb_build_object('id', id, 'outcome', 'sent', 'subject', subject_id)))
from claimed;
select is(
  (
    select format('%s %s', attempts, first_id = (select subject_id + 1 from claimed))
    from private.outbox
    where channel = 'push'
  ),
  '0 t', 'the rest waits'
);
select private.claim_pushes(9);
select pg_temp.finish('gone', 'push');
select is_empty('select from private.outbox where channel = ''push''', 'a push service that has no such device');
select is_empty('select from private.devices', 'removes it');

-- Unsubscribing.
create temp table links as select private.sign_unsubscribing(tests.id_of('ana')) as token;
grant select on links to edge_functions;
select tests.ask(null, format('check_unsubscribe(%L)', token)) from links;
select is(
  tests.ask(null, format('unsubscribe(%L)', token)), '{"email": false}', 'a link turns off the mails, without log-in'
) from links;
select is(tests.ask('ben', 'get_notification_settings()') ->> 'email', 'true', 'of nobody else');
select throws_ok(
  format('select tests.ask(null, $x$unsubscribe(%L)$x$)', bad), 'PT404', 'This link is not one of ours',
  'no other link does'
)
from links
cross join lateral (values (replace(token, '.', '0.'))) as tokens (bad);
