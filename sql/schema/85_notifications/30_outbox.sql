-- The outbox: what is still to be sent to people who are away and to the operator's webhook. A row is written by the
-- transaction that it tells of, so nothing is told that did not happen, and nothing that happened is forgotten.
--
-- private.handle_new_message (60_inbox_messages.sql) writes those of messages: it knows both participants already.

-- A domain, as private.unread_count.
create domain private.outbox_channel as text check (value in ('person', 'push', 'mail', 'webhook'));

create table private.outbox (
  id bigint generated always as identity primary key,
  channel private.outbox_channel not null,
  event text not null,
  conversation_id bigint,
  subject_id bigint,
  first_id bigint,
  user_id bigint,
  device_id uuid,
  key uuid not null default gen_random_uuid(),
  attempts integer not null default 0,
  due_at timestamptz not null,
  last_error text,
  created_at timestamptz not null default clock_timestamp()
);
comment on table private.outbox is
  'Rows are deleted when they are sent, or are not wanted any more. After 8 attempts a row is a dead letter. No foreign
keys, because each would make every message dearer: the worker drops a row whose subject is gone.';
comment on column private.outbox.channel is
  'person: somebody has to be told, once the delay has passed, and the worker turns that into pushes and a mail. push:
one for each device and conversation. mail: one for a silence. webhook: one for each event.';
comment on column private.outbox.subject_id is
  'The id of the message, of the entry in the history of a reservation, or of what else the event is about. Of a push:
of the latest.';
comment on column private.outbox.first_id is 'Of a push: of the first message that it tells of.';
comment on column private.outbox.user_id is 'Who is told. Of a webhook: null.';
comment on column private.outbox.key is 'The Message-ID of a mail, and the webhook-id of a webhook, at every attempt.';
comment on column private.outbox.attempts is
  'How often a worker began to send it. Counted before, so a row that kills its worker becomes a dead letter too.';
comment on column private.outbox.due_at is
  'When the next attempt may begin. Until then the worker of the last one has it, or it waits after a failure.';

create index outbox_due_at_idx on private.outbox (channel, due_at) where attempts < 8;
create index outbox_user_id_idx on private.outbox (user_id) where user_id is not null;
create index outbox_webhooks_idx on private.outbox (conversation_id, id) where channel = 'webhook';
comment on index private.outbox_webhooks_idx is 'What has to be delivered before a webhook: those before it.';
create unique index outbox_one_mail on private.outbox (user_id) where channel = 'mail';
create unique index outbox_one_push
  on private.outbox (user_id, device_id, conversation_id, event)
  where channel = 'push';
comment on index private.outbox_one_push is
  'While a push waits, what comes after it is told by the same one, so an outage does not end in a hundred of them.';
alter table private.outbox enable row level security;

create table private.silences (
  user_id bigint primary key references public.users (id) on delete cascade,
  steps bigint[] not null default '{}',
  began_at timestamptz not null default clock_timestamp()
);
comment on table private.silences is
  'Who was mailed, or is about to be, and has not been here since. Nobody is mailed twice in a silence. It ends when the
user reads or writes a message, or takes a step of a reservation.';
comment on column private.silences.steps is 'The entries of reservations'' histories that its mail tells of.';
alter table private.silences enable row level security;

create function private.enqueue_reservation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  insert into private.outbox (channel, event, conversation_id, subject_id, user_id, due_at)
  select
    'person', 'reservation.changed', new.conversation_id, new.id, participant,
    private.present() + make_interval(secs => coalesce(chosen.delay_minutes * 60, general.delay_seconds))
  from public.conversations
  cross join private.outbox_settings as general
  cross join unnest(array[conversations.voyager_id, conversations.local_id]) as participant
  left join private.notification_settings as chosen on chosen.user_id = participant
  where conversations.id = new.conversation_id and participant is distinct from new.by_id;
  perform private.enqueue_webhook('reservation.changed', new.conversation_id, new.id);
  delete from private.silences where user_id = new.by_id;
  return null;
end
$$;
comment on function private.enqueue_reservation() is
  'reservation.changed: for whoever did not take the step; for both, if an admin or the clock did. Definer, because
callers have no grant on the outbox.';

create function private.enqueue_webhook(event text, conversation bigint, subject bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  insert into private.outbox (channel, event, conversation_id, subject_id, due_at)
  select 'webhook', enqueue_webhook.event, conversation, subject, private.present()
  from private.outbox_settings
  where webhooks;
end
$$;
comment on function private.enqueue_webhook(text, bigint, bigint) is
  'Queues an event for the operator''s webhook, if there is one. The ids of one conversation''s events are in the order
in which they happened: whoever draws the later one has waited for the lock on the conversation or the reservation. Only
for definer functions.';

create trigger enqueue_reservation
  after insert on public.reservation_history
  for each row
  execute function private.enqueue_reservation();

create function private.enqueue_conversation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.enqueue_webhook('conversation.created', new.id, new.id);
  return null;
end
$$;
comment on function private.enqueue_conversation() is
  'conversation.created, for the webhook. Definer, as enqueue_reservation.';

create trigger enqueue_conversation
  after insert on public.conversations
  for each row
  execute function private.enqueue_conversation();

create function private.enqueue_report()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.enqueue_webhook('report.created', null, new.id);
  return null;
end
$$;
comment on function private.enqueue_report() is
  'report.created, for the webhook. Definer, as enqueue_reservation.';

create trigger enqueue_report
  after insert on public.reports
  for each row
  execute function private.enqueue_report();

create function private.adopt_outbox_settings(delay_seconds integer, webhooks boolean)
returns void
language sql volatile security definer set search_path = ''
as $$
  update private.outbox_settings
  set delay_seconds = adopt_outbox_settings.delay_seconds, webhooks = adopt_outbox_settings.webhooks
  where (outbox_settings.delay_seconds, outbox_settings.webhooks)
    is distinct from (adopt_outbox_settings.delay_seconds, adopt_outbox_settings.webhooks)
$$;
comment on function private.adopt_outbox_settings(integer, boolean) is
  'Tells the triggers what the environment says. Definer, because edge_functions has no rights on the settings.';
grant execute on function private.adopt_outbox_settings(integer, boolean) to edge_functions;

create function private.describe_outbox()
returns json
language sql stable security definer set search_path = ''
as $$
  select json_object_agg(
    channel,
    json_build_object('depth', depth, 'age', age, 'dead', dead)
  )
  from (
    select
      channels.channel,
      count(outbox.id) filter (where attempts < 8) as depth,
      greatest(
        0,
        extract(epoch from max(
          private.present() - case outbox.channel when 'person' then due_at else created_at end
        ) filter (where attempts < 8))
      ) as age,
      count(outbox.id) filter (where attempts >= 8) as dead
    from unnest(array['person', 'push', 'mail', 'webhook']) as channels (channel)
    left join private.outbox on outbox.channel = channels.channel
    group by channels.channel
  ) as counts
$$;
comment on function private.describe_outbox() is
  'For each channel: how many rows wait, for how many seconds the oldest could have been sent, and the number of dead
letters. Definer, because edge_functions has no rights on the outbox.';
grant execute on function private.describe_outbox() to edge_functions;

create function private.count_due()
returns json
language sql stable security definer set search_path = ''
as $$
  select json_object_agg(
    channel,
    (
      select count(*)
      from (
        select
        from private.outbox
        where outbox.channel = channels.channel and due_at <= (select private.present()) and attempts < 8
        limit 100
      ) as due
    )
  )
  from unnest(array['person', 'push', 'mail', 'webhook']) as channels (channel)
$$;
comment on function private.count_due() is
  'How many rows of each channel are due, at most 100. Definer, because edge_functions has no rights on the outbox.';
grant execute on function private.count_due() to edge_functions;
