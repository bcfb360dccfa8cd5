-- What the worker sends next. Pushes are here, mails and webhooks in 60_mails_and_webhooks.sql.
create function private.push_receivers(device private.devices)
returns text[]
language plpgsql immutable security invoker set search_path = ''
as $$
declare
  host constant text := rtrim(lower(substring(device.endpoint from '^https?://(\[[^]]*\]|[^/:?#]*)')), '.');
begin
  return array[
    device.id::text, 'user ' || device.user_id,
    case when host ~ '^[\d.]+$|^\[' then host else substring(host from '[^.]+\.[^.]+$') end
  ];
end
$$;
comment on function private.push_receivers(private.devices) is
  'Who could hold up a push: the device, its owner, and its push service by the last two labels of the host, as whoever
has one may have any number, or by its IP address.';

create function private.claim_rows(wanted text, max_rows integer, busy jsonb, moment timestamptz)
returns bigint[]
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  avoided constant text[] := array(select jsonb_array_elements_text(busy));
  claimed bigint[];
begin
  if wanted = 'push' then
    claimed := array(
      select entry.id
      from (
        select distinct on (user_id) id, was_silent
        from (
          select due.id, due.user_id, due_at, coalesce(silences > 0, false) as was_silent
          from private.outbox as due
          -- A push whose device is gone is claimed, and dropped then.
          left join private.devices on devices.user_id = due.user_id and devices.id = due.device_id
          where channel = 'push' and due_at <= moment and attempts < 8
            and coalesce(silent_until <= moment, true)
            and not coalesce(private.push_receivers(devices) && avoided, false)
          order by due_at, due.id
          -- Reading all of 48,000 took 0.4 s. Whose rows these are is busy after two claims, if they are few.
          limit 1000
        ) as oldest
        order by user_id, was_silent, due_at, id
      ) as next
      join private.outbox as entry using (id)
      where due_at <= moment and attempts < 8
      -- Those that answered last time come first.
      order by was_silent, due_at, entry.id
      limit max_rows
      for update of entry skip locked
    );
  else
    claimed := array(
      select outbox.id
      from private.outbox
      left join public.users on channel = 'mail' and users.id = user_id
      where channel = wanted and due_at <= moment and attempts < 8
        and not coalesce(split_part(email, '@', 2) = any (avoided), false)
        -- A dead letter holds nothing up once its last attempt is over.
        and (
          channel <> 'webhook'
          or not exists (
            select
            from private.outbox as earlier
            where earlier.channel = 'webhook' and earlier.conversation_id = outbox.conversation_id
              and earlier.id < outbox.id and (earlier.attempts < 8 or earlier.due_at > moment)
          )
        )
      order by due_at, outbox.id
      limit max_rows
      for update of outbox skip locked
    );
  end if;
  update private.outbox
  set attempts = attempts + 1, due_at = moment + private.back_off(attempts), last_error = null
  where id = any (claimed);
  return claimed;
end
$$;
comment on function private.claim_rows(text, integer, jsonb, timestamptz) is
  'Claims the rows of a channel to send next, which no other worker gets before they are due again: pushes one for each
person, mails, and of each conversation''s webhooks the first; none for the receivers that are busy.';

create function private.postpone_quiet(ids bigint[], moment timestamptz)
returns bigint[]
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  with postponed as (
    update private.outbox
    -- It was not tried.
    set attempts = greatest(attempts - 1, 0), due_at = ends_at
    from private.notification_settings as chosen
    cross join lateral private.quiet_until(quiet_from, quiet_to, time_zone, moment) as ends_at
    where outbox.id = any (ids) and outbox.user_id = chosen.user_id and ends_at is not null
    returning outbox.id
  )
  select array(select unnest(ids) except select id from postponed) into ids;
  return ids;
end
$$;
comment on function private.postpone_quiet(bigint[], timestamptz) is
  'Lets those rows wait whose person has quiet hours, which a delayed attempt may fall into, and returns the others.';

create function private.quote(value text, longest integer default 60)
returns text
language plpgsql immutable security invoker set search_path = ''
as $$
declare
  unseen constant text := '[[:space:][:cntrl:]\u200e\u200f\u2028-\u202e\u2066-\u2069]+';
  line constant text := regexp_replace(btrim(value), unseen, ' ', 'g');
begin
  return case when char_length(line) > longest then left(line, longest - 1) || '…' else line end;
end
$$;
comment on function private.quote(text, integer) is
  'What somebody else has written, in one line of at most so many characters, so that it cannot pose as ours.';

create function private.push_data(entry private.outbox)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  notice constant private.notice := private.notice_of(
    person => entry.user_id, event => entry.event, conversation => entry.conversation_id, first_id => entry.first_id,
    last_id => entry.subject_id
  );
  chosen constant private.notification_settings := private.notification_settings_of(entry.user_id);
begin
  if notice.id is null or not chosen.push then
    return null;
  end if;
  return json_build_object(
    'type', entry.event, 'conversation_id', entry.conversation_id, 'id', notice.id,
    'name', private.quote((private.partner_in(entry.user_id, entry.conversation_id)).name),
    'unread', (
      select unread
      from private.inbox_entries as mine
      where mine.user_id = entry.user_id and mine.conversation_id = entry.conversation_id
    ),
    'status', notice.status, 'title', case when chosen.previews then private.quote(notice.title) end,
    'date', private.iso(notice.date),
    'text', case when chosen.previews then private.quote(notice.content, 160) end
  );
end
$$;
comment on function private.push_data(private.outbox) is
  'What a push says: {type, conversation_id, id, name, unread, status, title, date, text}; null if the person does not
want it any more. id is a message''s or a reservation''s; title and text are null without previews.';

create function private.claim_pushes(max_rows integer, busy jsonb default '[]')
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  moment constant timestamptz := private.present();
  ids bigint[];
  pushes json;
begin
  -- As claim_mail.
  for round in 1..50 loop
    ids := private.claim_rows('push', max_rows, busy, moment);
    exit when cardinality(ids) = 0;
    ids := private.postpone_quiet(ids, moment);
    -- One statement, so that what is wanted and what it says are of one moment: otherwise a push whose messages are
    -- read in between would say that there are none.
    with claimed as materialized (
      select outbox.id, outbox.subject_id, request, devices, private.push_data(outbox) as data
      from private.outbox
      left join private.devices on devices.user_id = outbox.user_id and devices.id = outbox.device_id
      where outbox.id = any (ids)
    ),
    unwanted as (
      delete from private.outbox
      where id in (select claimed.id from claimed where (devices).id is null or data is null)
    )
    select json_agg(json_build_object(
      'id', claimed.id, 'receivers', private.push_receivers(devices), 'endpoint', (devices).endpoint,
      'keys', json_build_object('p256dh', (devices).p256dh, 'auth', (devices).auth),
      'subject', subject_id, 'data', data, 'request', request
    ))
    into pushes
    from claimed
    where (devices).id is not null and data is not null;
    exit when pushes is not null;
  end loop;
  return coalesce(pushes, '[]');
end
$$;
comment on function private.claim_pushes(integer, jsonb) is
  'Claims due pushes, none for receivers that are busy, and drops those that nobody wants. Definer, as due_channels.';
grant execute on function private.claim_pushes(integer, jsonb) to edge_functions;
