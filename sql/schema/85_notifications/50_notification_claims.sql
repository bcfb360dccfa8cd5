-- What the worker sends next: claimed in one transaction, sent after its commit. Whether it is still wanted is asked
-- here once more. Pushes are here, mails and webhooks in 94.
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
  pushes json;
begin
  -- One statement, so that what is wanted and what it says are of one moment: otherwise a push whose messages are read
  -- in between would say that there are none.
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
  select
    coalesce(
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
  into pushes
  from private.outbox
  join private.devices on devices.user_id = outbox.user_id and devices.id = outbox.device_id
  where outbox.id = any (ids) and outbox.id not in (select id from unwanted);
  return pushes;
end
$$;
comment on function private.claim_pushes(integer) is
  'Claims up to max_rows due pushes as [{id, endpoint, keys, subject, data}], and drops those that nobody wants any
more. Definer, because edge_functions has no rights on the outbox.';
grant execute on function private.claim_pushes(integer) to edge_functions;
