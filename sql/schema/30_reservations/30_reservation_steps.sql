-- What the participants do with reservations. Every function locks the two accounts, then the reservation, and then
-- looks at the status of this moment.
create type private.reservation_view as (
  id bigint, conversation_id bigint, title text, price numeric, date text, ends_at text, status text, host_id bigint,
  offered_by bigint, revision integer, "createdAt" text, "updatedAt" text
);

create function private.to_reservation_view(reservation public.reservations)
returns private.reservation_view
language sql stable security invoker set search_path = ''
as $$
  select row(
    reservation.id, reservation.conversation_id, reservation.title, reservation.price,
    private.iso(reservation.date), private.iso(reservation.ends_at), reservation.status, reservation.host_id,
    reservation.offered_by, reservation.revision, private.iso(reservation.created_at),
    private.iso(reservation.updated_at)
  )::private.reservation_view
$$;
comment on function private.to_reservation_view(public.reservations) is 'A settled reservation as endpoints show it.';

create function private.require_partner(partner bigint)
returns void
language plpgsql stable security invoker set search_path = ''
as $$
begin
  if private.is_blocked_between(private.my_id(), partner)
    or not exists (select from public.users where id = partner and is_active) then
    perform private.forbid_writing(partner);
  end if;
end
$$;
comment on function private.require_partner(bigint) is 'Raises 403 across a block, and if the account is not active.';

create function api.offer_reservation(conversation bigint, draft jsonb, first_contact_limit integer default null)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  partner constant bigint := private.require_participant(conversation);
  draft_client_id constant uuid := (draft ->> 'client_id')::uuid;
  host constant bigint := coalesce(
    (draft ->> 'host_id')::bigint, (select local_id from public.conversations where id = conversation)
  );
  request constant jsonb := draft || jsonb_build_object(
    'conversation_id', conversation, 'host_id', host, 'price', trim_scale((draft ->> 'price')::numeric)
  );
  reply json;
  offered public.reservations;
begin
  -- A concurrent erasure, deactivation or block waits, or has happened by now.
  perform private.lock_me(beside => partner, shared => true);
  reply := private.find_reply('reservation', draft_client_id, request);
  if reply is not null then
    return reply;
  end if;
  if host not in (me, partner) then
    raise sqlstate 'PT400' using message = 'host_id: must be one of the two participants';
  elsif (draft ->> 'date')::timestamptz <= private.present() then
    raise sqlstate 'PT400' using message = 'date: must be in the future';
  end if;
  perform private.require_partner(partner);
  perform private.require_first_contact(conversation, partner, first_contact_limit);
  offered := jsonb_populate_record(null::public.reservations, request || jsonb_build_object('offered_by', me));
  offered := private.write_reservation(reservation => offered, by_id => me, note => null, moment => private.present());
  return private.store_reply(
    noun => 'reservation', client_id => draft_client_id, request => request,
    body => to_json(private.to_reservation_view(offered))
  );
end
$$;
comment on function api.offer_reservation(bigint, jsonb, integer) is
  'Offers {title, price, date, ends_at, host_id, client_id} to the partner, once for each client_id. Raises 403 if the
partner is blocked, deactivated or erased, or at the limit of first contact. Definer, because no caller has a grant to
write reservations.';

create function api.step_reservation(
  conversation bigint, reservation bigint, step text, note text, revision integer default null,
  first_contact_limit integer default null, changes jsonb default '{}'
)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  partner constant bigint := private.require_participant(conversation);
  moment timestamptz;
  current public.reservations;
  wanted public.reservations;
  is_stale boolean;
  conflict text;
begin
  -- As in offer_reservation.
  perform private.lock_me(beside => partner, shared => true);
  select * into current
  from public.reservations
  where id = reservation and conversation_id = conversation
  for no key update;
  if not found then
    raise sqlstate 'PT404' using message = 'Reservation not found';
  elsif step = 'accept' then
    -- Before the moment: what becomes due while this waits is cancelled.
    perform private.lock_host(current.host_id);
  end if;
  moment := private.present();
  current := private.reservation_at(current, moment);
  wanted := jsonb_populate_record(current, changes);
  wanted.status := case step
    when 'counter' then 'pending' when 'accept' then 'accepted' when 'decline' then 'declined'
    when 'cancel' then 'cancelled' when 'complete' then 'completed'
  end;
  if step <> 'cancel' then
    perform private.require_partner(partner);
  elsif private.is_blocked_between(me, partner) then
    -- Whoever is in a reservation can leave it, but no words cross a block.
    note := null;
  end if;
  is_stale := step in ('accept', 'decline', 'counter') and current.revision is distinct from step_reservation.revision;
  if wanted is not distinct from current and not is_stale then
    return to_json(private.to_reservation_view(current));
  end if;
  conflict := case
    when is_stale then 'This offer has changed since it was read'
    -- Nobody completes a reservation before its end, and at its end the clock does.
    when step = 'complete' and current.status = 'accepted' then 'This reservation has not ended yet'
    when step = 'complete' or current.status <> 'pending' and (step <> 'cancel' or current.status <> 'accepted')
      then format('This reservation is %s', current.status)
    when step in ('accept', 'decline') and current.offered_by = me
      then 'Only the other participant can answer this offer'
  end;
  if conflict is not null then
    raise sqlstate 'PT409' using
      message = conflict, detail = json_build_object('status', current.status),
      hint = case when is_stale then 'stale_revision' else 'conflict' end;
  end if;
  if step = 'counter' then
    if wanted.date <= moment then
      raise sqlstate 'PT400' using message = 'date: must be in the future';
    end if;
    perform private.require_first_contact(conversation, partner, first_contact_limit);
    wanted.offered_by := me;
  elsif note is not null and private.first_contact_left(conversation, partner, first_contact_limit) = 0 then
    note := null;
  end if;
  begin
    current := private.write_reservation(reservation => wanted, by_id => me, note => note, moment => moment);
  exception
    when exclusion_violation then
      raise sqlstate 'PT409' using
        message = 'The host has another reservation at that time',
        detail = json_build_object('status', current.status), hint = 'overlap';
  end;
  return to_json(private.to_reservation_view(current));
end
$$;
comment on function api.step_reservation(bigint, bigint, text, text, integer, integer, jsonb) is
  'Takes a step: accept, decline, cancel or complete, with a note, or counter, which changes a pending offer by {title,
price, date, ends_at}, so that the partner has to answer. Accept, decline and counter name the revision of the terms
that were read. A step that changes nothing does nothing; one that is not possible is 409 with the status. With a
partner who is blocked, deactivated or erased only cancel is possible; the rest is 403. A note is left out across a
block, and where nothing more may reach the partner. Definer, as offer_reservation.';

create function api.counter_reservation(
  conversation bigint, reservation bigint, revision integer, changes jsonb, first_contact_limit integer default null
)
returns json
language sql volatile security definer set search_path = ''
as $$
  select api.step_reservation(
    conversation => conversation, reservation => reservation, step => 'counter', note => null, revision => revision,
    first_contact_limit => first_contact_limit, changes => changes
  )
$$;
comment on function api.counter_reservation(bigint, bigint, integer, jsonb, integer) is
  'Takes the step counter. Definer, as step_reservation.';
