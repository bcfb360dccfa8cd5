-- The outbox: what is still to be sent to people who are away and to the operator's webhook. A row is written by the
-- transaction that it tells of, so nothing is told that did not happen, and nothing that happened is forgotten.
--
-- private.notify is the one way to tell somebody something. A new kind of event is a value of private.outbox_event, a
-- branch of private.notice_of (40_notification_plan.sql) if people are told, and of private.webhook_job.

-- Domains, as private.unread_count.
create domain private.outbox_channel as text check (value in ('person', 'push', 'mail', 'webhook'));
create domain private.outbox_event as text check (value in (
  'message.created', 'conversation.created', 'reservation.changed', 'report.created', 'user.erased', 'silence',
  'message.changed'
));

create table private.outbox (
  id bigint generated always as identity primary key,
  -- person: somebody has to be told, once the delay has passed, and the worker turns that into pushes and a mail.
  -- push: one for each device and conversation. mail: one for a silence. webhook: one for each event.
  channel private.outbox_channel not null,
  event private.outbox_event not null,
  conversation_id bigint,
  -- The message, the entry in the history of a reservation, or what else it is about. Of a push: latest and first.
  subject_id bigint,
  first_id bigint,
  user_id bigint,
  device_id uuid,
  -- The Message-ID of a mail, and the webhook-id of a webhook, at every attempt.
  key uuid not null default gen_random_uuid(),
  -- How often a worker began to send it. Counted before, so a row that kills its worker becomes a dead letter too.
  attempts integer not null default 0,
  -- When the next attempt may begin. Until then the worker of the last one has it, or it waits after a failure.
  due_at timestamptz not null,
  last_error text,
  created_at timestamptz not null default clock_timestamp(),
  -- The headers x-request-id and traceparent of what caused it; of several requests the newest when it was planned.
  request jsonb
);
comment on table private.outbox is
  'What is still to be sent, or after 8 attempts a dead letter. No foreign keys, because each would make every message
dearer: the worker drops a row whose subject is gone.';

create index outbox_due_at_idx on private.outbox (channel, due_at) where attempts < 8;
create index outbox_user_id_idx on private.outbox (user_id) where user_id is not null;
create index outbox_webhooks_idx on private.outbox (conversation_id, id) where channel = 'webhook';
create unique index outbox_one_mail on private.outbox (user_id) where channel = 'mail';
create unique index outbox_one_push on private.outbox (user_id, device_id, conversation_id, event)
  where channel = 'push';
comment on index private.outbox_one_push is
  'While a push waits, what comes after it is told by the same one, so an outage does not end in a hundred of them.';
alter table private.outbox enable row level security;

create table private.silences (
  user_id bigint primary key references public.users (id) on delete cascade,
  steps bigint[] not null default '{}'
);
comment on table private.silences is
  'Who was mailed, or will be, and has neither read, written nor taken a step since: they get no other mail.';
alter table private.silences enable row level security;

create function private.notify(
  event text, conversation bigint, subject bigint, by_id bigint default null, people bigint[] default '{}'
)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  delay integer;
  to_webhook boolean;
  request constant jsonb := nullif(current_setting('request.jwt.claims', true), '')::jsonb -> 'request';
begin
  select delay_seconds, webhooks into delay, to_webhook from private.outbox_settings;
  insert into private.outbox (channel, event, conversation_id, subject_id, user_id, request, due_at)
  select
    'person', notify.event, conversation, subject, person, request,
    private.present() + interval '1 second' * coalesce(60 * delay_minutes, delay)
  from unnest(people) as person
  left join private.notification_settings on user_id = person;
  if to_webhook then
    insert into private.outbox (channel, event, conversation_id, subject_id, request, due_at)
    values ('webhook', notify.event, conversation, subject, request, private.present());
  end if;
  -- Whoever did it is here again, which ends a silence.
  delete from private.silences where user_id = by_id;
end
$$;
comment on function private.notify(text, bigint, bigint, bigint, bigint[]) is
  'Tells these people, once their delay has passed and if they have not seen it, and the operator''s webhook at once, of
what by_id did, or an admin or the clock if that is null. The ids of one conversation''s events are in their order:
whoever draws the later one has waited for the lock on the conversation or the reservation.';

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

create function private.due_channels()
returns json
language sql stable security definer set search_path = ''
as $$
  select to_json(array(
    select name
    from unnest(array['push', 'mail', 'webhook']) as name
    where exists (select from private.outbox where channel = name and due_at <= private.present() and attempts < 8)
  ))
$$;
comment on function private.due_channels() is
  'The channels that have something to send. Definer, because edge_functions has no rights on the outbox.';
