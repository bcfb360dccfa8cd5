-- What a push, a mail and a webhook say, if they are still wanted.
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
  'Who could hold up a push: the device, its owner, and the IP address or last two labels of the name of its service.';

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

create function private.push_job(entry private.outbox)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  notice constant private.notice := private.notice_of(
    person => entry.user_id, event => entry.event, conversation => entry.conversation_id, first_id => entry.first_id,
    last_id => entry.subject_id
  );
  chosen constant private.notification_settings := private.notification_settings_of(entry.user_id);
  device constant private.devices := (
    select devices from private.devices where user_id = entry.user_id and id = entry.device_id
  );
begin
  return case when device.id is not null and notice.id is not null and chosen.push then json_build_object(
    'id', entry.id, 'receivers', private.push_receivers(device), 'endpoint', device.endpoint,
    'keys', json_build_object('p256dh', device.p256dh, 'auth', device.auth), 'subject', entry.subject_id,
    'request', entry.request,
    'data', json_build_object(
      'type', entry.event, 'conversation_id', entry.conversation_id, 'id', notice.id,
      'name', private.quote((private.partner_in(entry.user_id, entry.conversation_id)).name),
      'unread', (
        select unread from private.inbox_entries
        where (user_id, conversation_id) = (entry.user_id, entry.conversation_id)
      ),
      'status', notice.status, 'title', case when chosen.previews then private.quote(notice.title) end,
      'date', private.iso(notice.date),
      'text', case when chosen.previews then private.quote(notice.content, 160) end
    )
  ) end;
end
$$;
comment on function private.push_job(private.outbox) is
  'A push of the latest message or a reservation; null if the person does not want it any more, or the device is gone.';

create function private.mail_job(entry private.outbox)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  recipient constant public.users := (select users from public.users where id = entry.user_id);
  chosen constant private.notification_settings := private.notification_settings_of(entry.user_id);
  conversations json;
begin
  with notices as materialized (
    select
      conversation_id, unread, null::bigint as step_id,
      private.notice_of(
        person => user_id, event => 'message.created', conversation => conversation_id, first_id => 1,
        last_id => last_message_id
      ) as notice
    from private.inbox_entries
    where user_id = entry.user_id and unread > 0
    union all
    select
      conversation_id, 0, id,
      private.notice_of(
        person => entry.user_id, event => 'reservation.changed', conversation => conversation_id, first_id => id,
        last_id => id
      )
    from public.reservation_history
    where id in (select unnest(steps) from private.silences where user_id = entry.user_id)
  ),
  told as (
    select
      conversation_id, max(unread) as unread, max((notice).id) filter (where step_id is null) as message_id,
      max((notice).content) as content,
      (array_agg(notice order by step_id desc) filter (where step_id is not null))[1] as step
    from notices
    where (notice).id is not null
    group by conversation_id
  )
  select json_agg(
    json_build_object(
      'conversation_id', conversation_id,
      'name', private.quote((private.partner_in(entry.user_id, conversation_id)).name), 'unread', unread,
      'status', (step).status, 'title', private.quote((step).title), 'date', private.iso((step).date),
      'text', case when chosen.previews then private.quote(content, 160) end
    )
    order by message_id desc nulls last, conversation_id desc
  )
  into conversations
  from told;
  return case when chosen.email and recipient.email <> '' and conversations is not null then json_build_object(
    'id', entry.id, 'receivers', json_build_array(split_part(recipient.email, '@', 2)), 'key', entry.key,
    'to', recipient.email, 'name', private.quote(recipient.name), 'token', recipient.unsubscribe_token,
    'time_zone', chosen.time_zone, 'conversations', conversations, 'request', entry.request
  ) end;
end
$$;
comment on function private.mail_job(private.outbox) is
  'A mail, with each conversation that has unread messages, or steps of reservations in its silence; null if unwanted.';

create function private.webhook_job(entry private.outbox)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  data json;
begin
  -- Another kind of event raises case_not_found.
  case entry.event
    when 'message.created', 'message.changed' then
      select json_build_object(
        'conversation_id', conversation_id, 'id', id, 'user_id', user_id,
        'recipient_id', (private.partner_in(user_id, conversation_id)).id
      )
      into data
      from public.messages where id = entry.subject_id;
    when 'conversation.created' then
      select json_build_object('id', id, 'voyager_id', voyager_id, 'local_id', local_id) into data
      from public.conversations where id = entry.subject_id;
    when 'reservation.changed' then
      select json_build_object(
        'conversation_id', conversation_id, 'id', reservation_id, 'status', status, 'user_id', by_id
      )
      into data
      from public.reservation_history where id = entry.subject_id;
    when 'report.created' then
      select json_build_object('id', id, 'reason', reason, 'reporter_id', reporter_id, 'user_id', user_id) into data
      from public.reports where id = entry.subject_id;
    when 'user.erased' then
      data := json_build_object('user_id', entry.subject_id);
  end case;
  return case when data is not null then json_build_object(
    'id', entry.id, 'key', entry.key, 'type', entry.event, 'timestamp', private.iso(entry.created_at), 'data', data,
    'request', entry.request
  ) end;
end
$$;
comment on function private.webhook_job(private.outbox) is
  'An event with its data: ids, and no names or texts; null if the subject is gone.';
