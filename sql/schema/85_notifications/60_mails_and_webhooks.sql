-- From the outbox to mail servers and to the operator's webhook, and what became of each row.
create function private.unseen_by(person bigint)
returns json
language sql stable security invoker set search_path = ''
as $$
  with messages as materialized (
    select
      conversation_id, unread,
      private.notice_of(
        person => person, event => 'message.created', conversation => conversation_id, first_id => 1,
        last_id => last_message_id
      ) as notice
    from private.inbox_entries
    where user_id = person and unread > 0
  ),
  steps as materialized (
    select
      id, conversation_id,
      private.notice_of(
        person => person, event => 'reservation.changed', conversation => conversation_id, first_id => id,
        last_id => id
      ) as notice
    from public.reservation_history
    where id in (select unnest(steps) from private.silences where user_id = person)
  ),
  changed as (
    select distinct on (conversation_id) conversation_id, notice
    from steps
    where (notice).id is not null
    order by conversation_id, id desc
  )
  select coalesce(
    json_agg(
      json_build_object(
        'conversation_id', conversation_id,
        'name', private.quote((private.partner_in(person, conversation_id)).name),
        'unread', coalesce(told.unread, 0),
        'status', (changed.notice).status,
        'title', private.quote((changed.notice).title),
        'date', private.iso((changed.notice).date),
        'text', case
          when (private.notification_settings_of(person)).previews then private.quote((told.notice).content, 160)
        end
      )
      order by coalesce((told.notice).id, 0) desc, conversation_id desc
    ),
    '[]'
  )
  from (select * from messages where (notice).id is not null) as told
  full join changed using (conversation_id)
$$;
comment on function private.unseen_by(bigint) is
  'What a mail tells a person of each conversation with unread messages, or steps of reservations in their silence.';

create function private.claim_mail(busy jsonb default '[]')
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  moment constant timestamptz := private.present();
  ids bigint[];
  mail private.outbox;
  recipient public.users;
  chosen private.notification_settings;
  conversations json;
begin
  -- Until one is wanted, but not without end, because a statement has 5 s.
  for round in 1..50 loop
    ids := private.claim_rows('mail', 1, busy, moment);
    exit when cardinality(ids) = 0;
    ids := private.postpone_quiet(ids, moment);
    continue when cardinality(ids) = 0;
    select * into mail from private.outbox where id = ids[1];
    select * into recipient from public.users where id = mail.user_id;
    chosen := private.notification_settings_of(mail.user_id);
    conversations := private.unseen_by(mail.user_id);
    if chosen.email and recipient.email <> '' and json_array_length(conversations) > 0 then
      return json_build_object(
        'id', mail.id, 'receivers', json_build_array(split_part(recipient.email, '@', 2)), 'key', mail.key,
        'to', recipient.email, 'name', private.quote(recipient.name), 'token', recipient.unsubscribe_token,
        'time_zone', chosen.time_zone, 'conversations', conversations, 'request', mail.request
      );
    end if;
    delete from private.outbox where id = mail.id;
    -- Nothing was told, so the next message may be.
    delete from private.silences where user_id = mail.user_id;
  end loop;
  return 'null'::json;
end
$$;
comment on function private.claim_mail(jsonb) is
  'Claims a due mail, to no busy domain, or returns null; drops those with nothing to tell. Definer, as due_channels.';
grant execute on function private.claim_mail(jsonb) to edge_functions;

create function private.webhook_data(entry private.outbox)
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
      from public.messages
      where id = entry.subject_id;
    when 'conversation.created' then
      select json_build_object('id', id, 'voyager_id', voyager_id, 'local_id', local_id) into data
      from public.conversations
      where id = entry.subject_id;
    when 'reservation.changed' then
      select json_build_object(
        'conversation_id', conversation_id, 'id', reservation_id, 'status', status, 'user_id', by_id
      )
      into data
      from public.reservation_history
      where id = entry.subject_id;
    when 'report.created' then
      select json_build_object('id', id, 'reason', reason, 'reporter_id', reporter_id, 'user_id', user_id) into data
      from public.reports
      where id = entry.subject_id;
    when 'user.erased' then
      data := json_build_object('user_id', entry.subject_id);
  end case;
  return data;
end
$$;
comment on function private.webhook_data(private.outbox) is
  'The data of an event: ids, and no names or texts; null if the subject is gone.';

create function private.claim_webhooks(max_rows integer)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  ids constant bigint[] := private.claim_rows('webhook', max_rows, '[]', private.present());
begin
  delete from private.outbox where id = any (ids) and private.webhook_data(outbox) is null;
  return to_json(array(
    select json_build_object(
      'id', id, 'key', key, 'type', event, 'timestamp', private.iso(created_at),
      'data', private.webhook_data(outbox), 'request', request
    )
    from private.outbox
    where id = any (ids)
    order by id
  ));
end
$$;
comment on function private.claim_webhooks(integer) is
  'Claims up to max_rows due webhooks, of each conversation the first. Definer, as due_channels.';
grant execute on function private.claim_webhooks(integer) to edge_functions;

create function private.finish_outbox(outcomes jsonb)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
  finished record;
  entry private.outbox;
begin
  for finished in
    select *
    from jsonb_to_recordset(outcomes) as outcome (
      id bigint, outcome text, reason text, retry_after integer, subject bigint, silent boolean
    )
    order by id
  loop
    select * into entry from private.outbox where id = finished.id for update;
    continue when not found;
    update private.devices
    set
      silences = case when finished.silent then silences + 1 else 0 end,
      silent_until = case when finished.silent then private.present() + private.back_off(silences) end
    where user_id = entry.user_id and id = entry.device_id and (finished.silent or silences > 0);
    if finished.outcome = 'sent' then
      delete from private.outbox where id = entry.id and (entry.channel <> 'push' or subject_id = finished.subject);
      -- The push has more to tell by now.
      update private.outbox
      set attempts = 0, due_at = private.present(), first_id = finished.subject + 1, key = gen_random_uuid()
      where id = entry.id;
    elsif finished.outcome = 'gone' then
      delete from private.devices where user_id = entry.user_id and id = entry.device_id;
      delete from private.outbox where channel = 'push' and user_id = entry.user_id and device_id = entry.device_id;
    else
      update private.outbox
      set
        attempts = case finished.outcome when 'refused' then 8 else attempts end,
        last_error = left(finished.reason, 200),
        due_at = greatest(
          due_at, private.present() + make_interval(secs => least(coalesce(finished.retry_after, 0), 86400))
        )
      where id = entry.id;
    end if;
  end loop;
end
$$;
comment on function private.finish_outbox(jsonb) is
  'What became of claimed rows: [{id, outcome, reason, retry_after, subject, silent}]. sent deletes the row, gone the
device as well, refused makes it a dead letter, and after failed the row stays due when claim has said, or after
retry_after seconds. A device that was silent waits longer, whatever it is to be told. Definer, as due_channels.';
grant execute on function private.finish_outbox(jsonb) to edge_functions;

create function private.forget_dead_letters()
returns void
language sql volatile security invoker set search_path = ''
as $$
  delete from private.outbox where attempts >= 8 and due_at < private.present() - interval '30 days'
$$;
comment on function private.forget_dead_letters() is 'Deletes dead letters of more than 30 days. Scheduled.';
