-- From the outbox to people who are away. The worker plans (whom to tell, by which channels), claims what is due,
-- commits, sends, and says what became of it. Whether a person still wants to hear is asked at the claim again.
create function private.back_off(failures integer)
returns interval
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  return interval '15 seconds' * 3 ^ least(failures, 6) * (1 + random() / 2);
end
$$;
comment on function private.back_off(integer) is
  'How long the next attempt waits after so many earlier ones: 15 s to 22 s, three times longer each time, up to 3 to 4
hours; eight attempts take 5 hours. More than the 12 s that a worker has for a row.';

create function private.can_be_told(person bigint, conversation bigint, message bigint)
returns boolean
language plpgsql stable security invoker set search_path = ''
as $$
declare
  pair public.conversations;
begin
  select * into pair from public.conversations where id = conversation and person in (voyager_id, local_id);
  return found
    and exists (select from public.users where id = person and is_active)
    and not private.is_blocked_between(pair.voyager_id, pair.local_id)
    and private.wants_notification(person, conversation, message);
end
$$;
comment on function private.can_be_told(bigint, bigint, bigint) is
  'Whether a person may be told of a message, or of something else in its conversation if that is null: their account is
active, neither of the two has blocked the other, and they have neither muted the conversation nor archived it since.
Only for definer functions.';

create function private.partner_in(person bigint, conversation bigint)
returns public.users
language plpgsql stable security invoker set search_path = ''
as $$
declare
  partner public.users;
begin
  select users.*
  into partner
  from public.conversations
  join public.users
    on users.id in (conversations.voyager_id, conversations.local_id) and users.id <> person
  where conversations.id = conversation;
  return partner;
end
$$;
comment on function private.partner_in(bigint, bigint) is
  'The other participant of a conversation. Only for definer functions.';

create function private.wants_to_hear(person bigint, event text, conversation bigint, first_id bigint, last_id bigint)
returns boolean
language plpgsql stable security invoker set search_path = ''
as $$
declare
  told public.messages;
  step public.reservation_history;
begin
  if event = 'message.created' then
    select *
    into told
    from public.messages
    where conversation_id = conversation and id between first_id and last_id and user_id <> person and not read
    order by id desc
    limit 1;
    return found
      and private.can_be_told(person, conversation, told.id)
      and exists (select from public.users where id = told.user_id and is_active);
  end if;
  select * into step from public.reservation_history where id = last_id and conversation_id = conversation;
  return found
    and step.by_id is distinct from person
    and private.can_be_told(person, conversation, null)
    and not exists (
      select from public.reservation_history
      where reservation_id = step.reservation_id and id > step.id and by_id = person
    )
    -- Reservations have no read marker. Whoever has read or written a later message there has seen the step.
    and not exists (
      select
      from (
        select * from public.messages where conversation_id = conversation order by id desc limit 100
      ) as latest
      where latest.created_at > step.created_at and (latest.user_id = person or latest.read)
    );
end
$$;
comment on function private.wants_to_hear(bigint, text, bigint, bigint, bigint) is
  'Whether a person should still be told of messages (of any from first_id to last_id), or of the step of a reservation
(last_id in its history): not of what they have seen, and nothing from somebody whose account is not active, though what
an erasure does to a reservation is told. Only for definer functions.';

create function private.plan_person(person bigint, ids bigint[], push boolean, mail boolean, moment timestamptz)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  chosen constant private.notification_settings := private.notification_settings_of(person);
  quiet constant timestamptz := private.quiet_until(
    quiet_from => chosen.quiet_from, quiet_to => chosen.quiet_to, time_zone => chosen.time_zone, moment => moment
  );
  heard bigint[];
  heard_steps bigint[];
begin
  if quiet is not null then
    update private.outbox set due_at = quiet where id = any (ids);
    return;
  end if;
  select array_agg(id), coalesce(array_agg(subject_id) filter (where event = 'reservation.changed'), '{}')
  into heard, heard_steps
  from private.outbox
  where id = any (ids)
    and private.wants_to_hear(
      person => person, event => event, conversation => conversation_id, first_id => subject_id, last_id => subject_id
    );
  if push and chosen.push then
    insert into private.outbox as waiting (
      channel, event, conversation_id, first_id, subject_id, user_id, device_id, due_at
    )
    select 'push', event, conversation_id, min(subject_id), max(subject_id), person, devices.id, moment
    from private.outbox
    join private.devices on devices.user_id = person
    where outbox.id = any (heard)
    group by event, conversation_id, devices.id
    on conflict (user_id, device_id, conversation_id, event) where channel = 'push'
    do update set subject_id = greatest(waiting.subject_id, excluded.subject_id);
  end if;
  if mail and chosen.email and heard is not null then
    insert into private.silences (user_id, steps) values (person, heard_steps) on conflict do nothing;
    if found then
      insert into private.outbox (channel, event, user_id, due_at)
      values ('mail', 'silence', person, moment)
      on conflict do nothing;
    else
      update private.silences set steps = silences.steps || heard_steps where user_id = person;
    end if;
  end if;
  delete from private.outbox where id = any (ids);
end
$$;
comment on function private.plan_person(bigint, bigint[], boolean, boolean, timestamptz) is
  'Turns these rows of a person, which the caller has locked, into pushes and a mail, or lets them wait until the quiet
hours end. Only for definer functions.';

create function private.plan_notifications(max_rows integer, push boolean, mail boolean)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  moment constant timestamptz := private.present();
  planned integer := 0;
  entry record;
begin
  for entry in
    with due as materialized (
      select id, user_id
      from private.outbox
      where channel = 'person' and due_at <= moment and attempts < 8
      order by due_at
      limit max_rows
      for update skip locked
    )
    select user_id, array_agg(id order by id) as ids from due group by user_id order by user_id
  loop
    begin
      perform private.plan_person(
        person => entry.user_id, ids => entry.ids, push => push, mail => mail, moment => moment
      );
    exception
      -- One person's rows must not keep the others' waiting.
      when others then
        update private.outbox
        set attempts = attempts + 1, due_at = moment + private.back_off(attempts), last_error = sqlstate
        where id = any (entry.ids);
    end;
    planned := planned + cardinality(entry.ids);
  end loop;
  return to_json(planned);
end
$$;
comment on function private.plan_notifications(integer, boolean, boolean) is
  'Plans up to max_rows rows whose delay has passed, and returns their number. push and mail say which channels the
worker has. Definer, because edge_functions has no rights on the outbox.';
grant execute on function private.plan_notifications(integer, boolean, boolean) to edge_functions;

create function private.claim_rows(wanted text, max_rows integer, moment timestamptz)
returns bigint[]
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  claimed bigint[];
begin
  with due as (
    select id
    from private.outbox
    where channel = wanted and due_at <= moment and attempts < 8
    order by due_at
    limit max_rows
    for update skip locked
  ),
  taken as (
    update private.outbox
    set attempts = attempts + 1, due_at = moment + private.back_off(attempts), last_error = null
    where id in (select id from due)
    returning id
  )
  select array_agg(id) into claimed from taken;
  return claimed;
end
$$;
comment on function private.claim_rows(text, integer, timestamptz) is
  'Takes up to max_rows due rows of a channel, which no other worker gets before they are due again. Only for definer
functions.';

create function private.postpone_quiet(ids bigint[], moment timestamptz)
returns bigint[]
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  quiet bigint[];
begin
  with postponed as (
    update private.outbox
    -- It was not tried.
    set attempts = attempts - 1, due_at = nights.ends_at
    from (
      select chosen.user_id, private.quiet_until(quiet_from, quiet_to, time_zone, postpone_quiet.moment) as ends_at
      from private.notification_settings as chosen
      where time_zone is not null
        and user_id in (select outbox.user_id from private.outbox where outbox.id = any (postpone_quiet.ids))
    ) as nights
    where outbox.id = any (ids) and outbox.user_id = nights.user_id and nights.ends_at is not null
    returning outbox.id
  )
  select array_agg(id) into quiet from postponed;
  return array(select unnest(ids) except select unnest(quiet));
end
$$;
comment on function private.postpone_quiet(bigint[], timestamptz) is
  'Lets those of the claimed rows wait whose person has quiet hours, which a delayed attempt may fall into, and returns
the others. Only for definer functions.';

create function private.preview_of(content text)
returns text
language plpgsql immutable security invoker set search_path = ''
as $$
begin
  return case when char_length(content) > 160 then left(content, 159) || '…' else content end;
end
$$;
comment on function private.preview_of(text) is 'The beginning of a message, for whoever has chosen previews.';

create function private.push_data(entry private.outbox)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  partner constant public.users := private.partner_in(entry.user_id, entry.conversation_id);
  latest public.messages;
begin
  if entry.event = 'message.created' then
    select *
    into latest
    from public.messages
    where conversation_id = entry.conversation_id and user_id = partner.id and not read and id <= entry.subject_id
    order by id desc
    limit 1;
  end if;
  return json_build_object(
    'type', entry.event,
    'conversation_id', entry.conversation_id,
    'id', coalesce(
      latest.id, (select reservation_id from public.reservation_history where id = entry.subject_id)
    ),
    'name', partner.name,
    'unread', (
      select count(*)
      from public.messages
      where conversation_id = entry.conversation_id and user_id = partner.id and not read
    ),
    'status', (select status from public.reservation_history where id = entry.subject_id and latest.id is null),
    'text', case
      when (private.notification_settings_of(entry.user_id)).previews then private.preview_of(latest.content)
    end
  );
end
$$;
comment on function private.push_data(private.outbox) is
  'What a push says: {type, conversation_id, id, name, unread, status, text}. id is a message''s or a reservation''s,
status is null for messages, and text is null unless the person has chosen previews. Only for definer functions.';

create function private.claim_pushes(max_rows integer)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  moment constant timestamptz := private.present();
  ids bigint[] := private.postpone_quiet(private.claim_rows('push', max_rows, moment), moment);
begin
  with unwanted as (
    delete from private.outbox
    where id = any (ids)
      and not (
        (private.notification_settings_of(user_id)).push
        and exists (
          select from private.devices where devices.user_id = outbox.user_id and devices.id = outbox.device_id
        )
        and private.wants_to_hear(
          person => user_id, event => event, conversation => conversation_id, first_id => first_id,
          last_id => subject_id
        )
      )
    returning id
  )
  select array(select unnest(ids) except select id from unwanted) into ids;
  return (
    select coalesce(
      json_agg(
        json_build_object(
          'id', outbox.id,
          'endpoint', devices.endpoint,
          'keys', json_build_object('p256dh', devices.p256dh, 'auth', devices.auth),
          'subject', outbox.subject_id,
          'data', private.push_data(outbox)
        )
      ),
      '[]'
    )
    from private.outbox
    join private.devices on devices.user_id = outbox.user_id and devices.id = outbox.device_id
    where outbox.id = any (ids)
  );
end
$$;
comment on function private.claim_pushes(integer) is
  'Claims up to max_rows due pushes as [{id, endpoint, keys, subject, data}], and drops those that nobody wants any
more. Definer, because edge_functions has no rights on the outbox.';
grant execute on function private.claim_pushes(integer) to edge_functions;
