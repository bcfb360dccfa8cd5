-- From the outbox to people who are away. The worker plans whom to tell by which channels, claims what is due, asking
-- once more whether it is wanted (60_notification_claims.sql), commits, sends, and says what became of it.
create function private.back_off(failures integer)
returns interval
language sql volatile security invoker set search_path = ''
as $$
  select interval '15 seconds' * 3 ^ least(failures, 6) * (1 + random() / 2)
$$;
comment on function private.back_off(integer) is
  'How long the next attempt waits after so many earlier ones: 15 s to 22 s, more than the 12 s that a worker has for a
row; three times longer each time, up to 3 to 4 hours. Eight attempts take 5 hours.';

create function private.partner_in(person bigint, conversation bigint)
returns public.users
language sql stable security invoker set search_path = ''
as $$
  select users
  from public.conversations
  join public.users on users.id in (voyager_id, local_id) and users.id <> person
  where conversations.id = conversation
$$;
comment on function private.partner_in(bigint, bigint) is 'The other participant of a conversation.';

create type private.notice as (id bigint, status text, content text, title text, date timestamptz);
comment on type private.notice is 'What somebody is told of: a message with its text, or a reservation as it is now.';

create function private.notice_of(person bigint, event text, conversation bigint, first_id bigint, last_id bigint)
returns private.notice
language plpgsql stable security invoker set search_path = ''
as $$
declare
  notice private.notice;
  message bigint;
begin
  -- Another kind of event raises case_not_found.
  case event
    when 'message.created' then
      select latest.id, null, latest.content, null, null::timestamptz into notice
      from (
        select *
        from public.messages
        where conversation_id = conversation and id between first_id and last_id and user_id <> person and not read
        order by id desc limit 1
      ) as latest
      join public.users on users.id = latest.user_id and users.is_active;
      message := notice.id;
    when 'reservation.changed' then
      select step.reservation_id, step.status, null, step.title, step.date into notice
      from public.reservation_history as step
      where step.id = last_id and step.conversation_id = conversation and step.by_id is distinct from person
        and not exists (
          select from public.reservation_history as later
          where later.reservation_id = step.reservation_id and later.id > step.id and later.by_id = person
        )
        -- Reservations have no read marker. Whoever has read or written a later message there has seen the step. What
        -- was taken back may not have been read.
        and not exists (
          select
          from (
            select * from public.messages where conversation_id = conversation order by id desc limit 100
          ) as latest
          where latest.created_at > step.created_at
            and (latest.user_id = person or latest.read and latest.deleted_at is null)
        );
  end case;
  return case when exists (
    select
    from public.conversations
    join private.inbox_entries on conversation_id = conversations.id and user_id = person
    where conversations.id = conversation
      and exists (select from public.users where id = person and is_active)
      and not private.is_blocked_between(voyager_id, local_id)
      -- Of a message archived before, of anything else now.
      and coalesce(archived_id < message, not is_archived)
      and (muted_until <= now()) is not false
  ) then notice end;
end
$$;
comment on function private.notice_of(bigint, text, bigint, bigint, bigint) is
  'What a person is still to be told of messages (the latest unread from first_id to last_id), or of the step of a
reservation (last_id in its history), also of an erasure''s. Null: they have seen or done it, their account or the
sender''s is not active, there is a block, or they have muted or archived the conversation. Only this decides it.';

create function private.plan_notifications(max_rows integer, push boolean, mail boolean)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  moment constant timestamptz := private.present();
  planned integer := 0;
  chosen private.notification_settings;
  person bigint;
  due bigint[];
  awake bigint[];
  heard bigint[];
  heard_steps bigint[];
  newest jsonb;
begin
  for person, due in
    with locked as materialized (
      select id, user_id
      from private.outbox
      where channel = 'person' and due_at <= moment and attempts < 8
      order by due_at limit max_rows
      for update skip locked
    )
    select user_id, array_agg(id order by id) from locked group by user_id order by user_id
  loop
    begin
      chosen := private.notification_settings_of(person);
      awake := private.postpone_quiet(due, moment);
      select
        array_agg(id), coalesce(array_agg(subject_id) filter (where event = 'reservation.changed'), '{}'),
        (array_agg(request order by id desc))[1]
      into heard, heard_steps, newest
      from private.outbox
      where id = any (awake) and (private.notice_of(
        person => person, event => event, conversation => conversation_id, first_id => subject_id, last_id => subject_id
      )).id is not null;
      if push and chosen.push then
        insert into private.outbox as waiting (
          channel, event, conversation_id, first_id, subject_id, user_id, device_id, request, due_at
        )
        select
          'push', event, conversation_id, min(subject_id), max(subject_id), person, devices.id,
          (array_agg(request order by outbox.id desc))[1], moment
        from private.outbox
        join private.devices on devices.user_id = person
        where outbox.id = any (heard)
        group by event, conversation_id, devices.id
        on conflict (user_id, device_id, conversation_id, event) where channel = 'push'
        do update set
          subject_id = greatest(waiting.subject_id, excluded.subject_id), request = excluded.request,
          -- A dead letter is tried again, once its last attempt is over.
          attempts = case when waiting.attempts < 8 then waiting.attempts else 0 end;
      end if;
      if mail and chosen.email and heard is not null then
        insert into private.silences (user_id, steps) values (person, heard_steps) on conflict do nothing;
        if found then
          insert into private.outbox as waiting (channel, event, user_id, request, due_at)
          values ('mail', 'silence', person, newest, moment)
          on conflict (user_id) where channel = 'mail'
          do update set attempts = 0, request = excluded.request where waiting.attempts >= 8;
        else
          update private.silences set steps = silences.steps || heard_steps where user_id = person;
        end if;
      end if;
      delete from private.outbox where id = any (awake);
    exception
      -- One person's rows must not keep the others' waiting.
      when others then
        update private.outbox
        set attempts = attempts + 1, due_at = moment + private.back_off(attempts), last_error = sqlstate
        where id = any (due);
    end;
    planned := planned + cardinality(due);
  end loop;
  return to_json(planned);
end
$$;
comment on function private.plan_notifications(integer, boolean, boolean) is
  'Turns rows whose delay has passed into pushes and mails, if the worker has these. Definer, as due_channels.';
