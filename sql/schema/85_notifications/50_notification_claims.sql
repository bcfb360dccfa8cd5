-- What the worker sends next: claimed in one transaction, sent after its commit. Whether it is still wanted is asked
-- here once more. Pushes are here, mails and webhooks in 60_mails_and_webhooks.sql.
create function private.registrable_name(url text)
returns text
language plpgsql immutable security invoker set search_path = ''
as $$
declare
  host constant text := lower(substring(url from '^https?://(\[[^]]*\]|[^/:?#]*)'));
begin
  return case when host ~ '^[\d.]+$|^\[' then host else substring(host from '[^.]+\.[^.]+\.?$') end;
end
$$;
comment on function private.registrable_name(text) is
  'The last two labels of the host of a URL, whatever its port and subdomains, or its IP address: whoever has one host
of a name may have any number. Names under a public suffix of two labels count as one.';

create function private.receivers_of(entry private.outbox)
returns text[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return case entry.channel
    when 'push' then (
      select array[id::text, 'user ' || user_id, private.registrable_name(endpoint)]
      from private.devices
      where user_id = entry.user_id and id = entry.device_id
    )
    when 'mail' then (select array[split_part(email, '@', 2)] from public.users where id = entry.user_id)
  end;
end
$$;
comment on function private.receivers_of(private.outbox) is
  'Who could hold up the sending of a row: the device, its owner and the name of its push service, or the domain of the
address. Only for definer functions.';

create function private.next_push_of(person bigint, avoided text[], moment timestamptz)
returns bigint
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select entry.id
    from private.outbox as entry
    -- A push whose device is gone is claimed, and dropped then.
    left join private.devices on devices.user_id = entry.user_id and devices.id = entry.device_id
    where entry.user_id = person and channel = 'push' and due_at <= moment and attempts < 8
      and coalesce(silent_until, moment) <= moment
      and not coalesce(private.receivers_of(entry) && avoided, false)
    order by coalesce(silences, 0) > 0, due_at, entry.id
    limit 1
  );
end
$$;
comment on function private.next_push_of(bigint, text[], timestamptz) is
  'The push that somebody gets next: due, to a device that is not waited for, and to none of the receivers that are to
be avoided. Only for definer functions.';

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
      from private.outbox as entry
      left join private.devices on devices.user_id = entry.user_id and devices.id = entry.device_id
      where channel = 'push' and due_at <= moment and attempts < 8
        and entry.id = private.next_push_of(person => entry.user_id, avoided => avoided, moment => moment)
      -- Those that answered last time come first.
      order by coalesce(silences, 0) > 0, due_at, entry.id
      limit max_rows
      for update of entry skip locked
    );
  else
    claimed := array(
      select id
      from private.outbox as entry
      where channel = wanted and due_at <= moment and attempts < 8
        and not coalesce(private.receivers_of(entry) && avoided, false)
        -- A dead letter holds nothing up once its last attempt is over.
        and (
          channel <> 'webhook'
          or not exists (
            select
            from private.outbox as earlier
            where earlier.channel = 'webhook' and earlier.conversation_id = entry.conversation_id
              and earlier.id < entry.id and (earlier.attempts < 8 or earlier.due_at > moment)
          )
        )
      order by due_at, id
      limit max_rows
      for update skip locked
    );
  end if;
  update private.outbox
  set attempts = attempts + 1, due_at = moment + private.back_off(attempts), last_error = null
  where id = any (claimed);
  return claimed;
end
$$;
comment on function private.claim_rows(text, integer, jsonb, timestamptz) is
  'Takes up to max_rows due rows of a channel, which no other worker gets before they are due again: none for the
receivers that are busy, one push for each person, and of each conversation''s webhooks the first. Only for definer
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

create function private.quote(value text, longest integer default 60)
returns text
language plpgsql immutable security invoker set search_path = ''
as $$
declare
  line constant text := regexp_replace(
    btrim(value), '[[:space:][:cntrl:]\u200e\u200f\u2028-\u202e\u2066-\u2069]+', ' ', 'g'
  );
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
  partner constant public.users := private.partner_in(entry.user_id, entry.conversation_id);
begin
  if notice.id is null or not chosen.push then
    return null;
  end if;
  return json_build_object(
    'type', entry.event,
    'conversation_id', entry.conversation_id,
    'id', notice.id,
    'name', private.quote(partner.name),
    'unread', (
      select count(*)
      from public.messages
      where conversation_id = entry.conversation_id and user_id = partner.id and not read
    ),
    'status', notice.status,
    'text', case when chosen.previews then private.quote(notice.content, 160) end
  );
end
$$;
comment on function private.push_data(private.outbox) is
  'What a push says: {type, conversation_id, id, name, unread, status, text}; null if the person does not want it any
more. id is a message''s or a reservation''s, status is null for messages, and text is null unless the person has chosen
previews. Only for definer functions.';

create function private.claim_pushes(max_rows integer, busy jsonb default '[]')
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  moment constant timestamptz := private.present();
  ids bigint[] := private.postpone_quiet(private.claim_rows('push', max_rows, busy, moment), moment);
  pushes json;
begin
  -- One statement, so that what is wanted and what it says are of one moment: otherwise a push whose messages are read
  -- in between would say that there are none.
  with claimed as materialized (
    select outbox.id, devices.endpoint, devices.p256dh, devices.auth, private.push_data(outbox) as data
    from private.outbox
    left join private.devices on devices.user_id = outbox.user_id and devices.id = outbox.device_id
    where outbox.id = any (ids)
  ),
  unwanted as (
    delete from private.outbox
    where id in (select claimed.id from claimed where endpoint is null or data is null)
  )
  select
    coalesce(
      json_agg(
        json_build_object(
          'id', outbox.id,
          'receivers', private.receivers_of(outbox),
          'endpoint', endpoint,
          'keys', json_build_object('p256dh', p256dh, 'auth', auth),
          'subject', outbox.subject_id,
          'data', data
        )
      ),
      '[]'
    )
  into pushes
  from claimed
  join private.outbox using (id)
  where endpoint is not null and data is not null;
  return pushes;
end
$$;
comment on function private.claim_pushes(integer, jsonb) is
  'Claims up to max_rows due pushes as [{id, receivers, endpoint, keys, subject, data}], none for the receivers that are
busy, and drops those that nobody wants any more. Definer, because edge_functions has no rights on the outbox.';
grant execute on function private.claim_pushes(integer, jsonb) to edge_functions;
