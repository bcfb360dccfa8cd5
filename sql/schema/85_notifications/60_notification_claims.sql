-- From the outbox to the worker, and what became of each row.
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
        select distinct on (user_id) id
        from (
          select due.id, due.user_id, due_at
          from private.outbox as due
          -- A push whose device is gone is claimed, and dropped then.
          left join private.devices on devices.user_id = due.user_id and devices.id = due.device_id
          where channel = 'push' and due_at <= moment and attempts < 8
            and not coalesce(private.push_receivers(devices) && avoided, false)
          order by due_at, due.id
          -- Reading all of 48,000 took 0.4 s. Whose rows these are is busy after two claims, if they are few.
          limit 1000
        ) as oldest
        order by user_id, due_at, id
      ) as next
      join private.outbox as entry using (id)
      where due_at <= moment and attempts < 8
      order by due_at, entry.id limit max_rows
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
        and not exists (
          select from private.outbox as earlier
          where earlier.channel = 'webhook' and earlier.conversation_id = outbox.conversation_id
            and earlier.id < outbox.id and (earlier.attempts < 8 or earlier.due_at > moment)
        )
      order by due_at, outbox.id limit max_rows
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

create function private.claim(wanted text, max_rows integer, busy jsonb)
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  moment constant timestamptz := private.present();
  ids bigint[];
  jobs json;
begin
  -- Until one is wanted, but not without end, because a statement has 5 s.
  for round in 1..50 loop
    ids := private.claim_rows(wanted, max_rows, busy, moment);
    exit when cardinality(ids) = 0;
    ids := private.postpone_quiet(ids, moment);
    -- One statement, so that what is wanted and what it says are of one moment: otherwise a push whose messages are
    -- read in between would say that there are none.
    with claimed as materialized (
      select
        id,
        case wanted
          when 'push' then private.push_job(outbox)
          when 'mail' then private.mail_job(outbox)
          else private.webhook_job(outbox)
        end as job
      from private.outbox where id = any (ids)
    ),
    dropped as (delete from private.outbox where id in (select id from claimed where job is null) returning user_id),
    -- By the mail nothing was told, so the next message may be.
    ended as (delete from private.silences where wanted = 'mail' and user_id in (select user_id from dropped))
    select json_agg(job order by id) into jobs from claimed where job is not null;
    exit when jobs is not null;
  end loop;
  return coalesce(jobs, '[]');
end
$$;
comment on function private.claim(text, integer, jsonb) is
  'Claims what is due in a channel, to no receiver that is busy, and drops what nobody wants any more.';

create function private.claim_pushes(max_rows integer, busy jsonb default '[]')
returns json
language sql volatile security definer set search_path = ''
as $$
  select private.claim('push', max_rows, busy)
$$;
comment on function private.claim_pushes(integer, jsonb) is 'Claims due pushes. Definer, as due_channels.';

create function private.claim_mail(busy jsonb default '[]')
returns json
language sql volatile security definer set search_path = ''
as $$
  select coalesce(private.claim('mail', 1, busy) -> 0, 'null')
$$;
comment on function private.claim_mail(jsonb) is 'Claims a due mail, or returns null. Definer, as due_channels.';

create function private.claim_webhooks(max_rows integer)
returns json
language sql volatile security definer set search_path = ''
as $$
  select private.claim('webhook', max_rows, '[]')
$$;
comment on function private.claim_webhooks(integer) is
  'Claims due webhooks, of each conversation the first. Definer, as due_channels.';

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
      id bigint, outcome text, reason text, retry_after integer, subject bigint
    )
    order by id
  loop
    select * into entry from private.outbox where id = finished.id for update;
    continue when not found;
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
        due_at = greatest(due_at, private.present() + least(coalesce(finished.retry_after, 0), 86400) * interval '1 s')
      where id = entry.id;
    end if;
  end loop;
end
$$;
comment on function private.finish_outbox(jsonb) is
  'What became of claimed rows: [{id, outcome, reason, retry_after, subject}]. sent deletes the row, gone the device as
well, refused makes it a dead letter, and after failed the row stays due when claim has said, or after retry_after
seconds. Definer, as due_channels.';
