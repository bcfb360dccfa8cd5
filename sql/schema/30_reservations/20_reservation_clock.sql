-- The clock of reservations. What is pending at its date is cancelled, and what is accepted at its end is completed, at
-- that very moment: whoever reads or writes before the schedule has run sees the same.
create function private.reservation_at(reservation public.reservations, moment timestamptz)
returns public.reservations
language plpgsql immutable parallel safe security invoker set search_path = ''
as $$
begin
  if reservation.due_at <= moment then
    reservation.status := case reservation.status when 'pending' then 'cancelled' else 'completed' end;
    -- An admin may write a date that has passed.
    reservation.updated_at := greatest(reservation.due_at, reservation.updated_at);
    reservation.due_at := null;
  end if;
  return reservation;
end
$$;
comment on function private.reservation_at(public.reservations, timestamptz) is
  'The reservation as it is at this moment, whether or not the clock has written the step that is due.';

create function private.add_to_history(reservation public.reservations, by_id bigint, note text)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  step bigint;
begin
  insert into public.reservation_history (
    reservation_id, conversation_id, status, by_id, note, title, price, date, ends_at, created_at
  )
  values (
    reservation.id, reservation.conversation_id, reservation.status, add_to_history.by_id, add_to_history.note,
    reservation.title, reservation.price, reservation.date, reservation.ends_at, reservation.updated_at
  )
  returning id into step;
  perform private.notify(
    event => 'reservation.changed', conversation => reservation.conversation_id, subject => step,
    by_id => add_to_history.by_id,
    people => (
      select array_remove(array[voyager_id, local_id], add_to_history.by_id)
      from public.conversations
      where id = reservation.conversation_id
    )
  );
end
$$;
comment on function private.add_to_history(public.reservations, bigint, text) is
  'Appends the reservation as it is now, and tells whoever did not take the step; both, if an admin or the clock did.';

create function private.lock_host(host bigint)
returns void
language sql volatile security invoker set search_path = ''
as $$
  select pg_advisory_xact_lock(hashtextextended('reservations of host ' || host, 0))
$$;
comment on function private.lock_host(bigint) is
  'Serializes acceptances of one host: Postgres may abort one of two checks of an exclusion constraint as a deadlock.';

create function private.prepare_reservation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  participants bigint[];
  settled public.reservations;
  -- What write_reservation says.
  step constant jsonb := nullif(current_setting('api.reservation_step', true), '');
  moment constant timestamptz := coalesce((step ->> 'moment')::timestamptz, private.present());
begin
  select array[local_id, voyager_id] into participants from public.conversations where id = new.conversation_id;
  new.host_id := coalesce(new.host_id, participants[1]);
  if tg_op = 'INSERT' then
    new.revision := 1;
    new.updated_at := new.created_at;
  else
    new.revision := old.revision + (
      (new.title, new.price, new.date, new.ends_at) is distinct from (old.title, old.price, old.date, old.ends_at)
    )::integer;
    if new.conversation_id <> old.conversation_id then
      new.host_id := case when new.host_id = any (participants) then new.host_id else participants[1] end;
      new.offered_by := case when new.offered_by = any (participants) then new.offered_by end;
    end if;
    settled := private.reservation_at(old, moment);
    new.status := case when new.status = old.status then settled.status else new.status end;
    new.updated_at := moment;
    if settled.status <> old.status
      and (new.conversation_id, new.revision, new.status, new.host_id)
        = (old.conversation_id, old.revision, settled.status, old.host_id) then
      new.updated_at := settled.updated_at;
    elsif settled.status <> old.status then
      -- An admin was quicker than the schedule. The step of the clock comes first.
      perform private.add_to_history(settled, null, null);
    end if;
  end if;
  if not new.host_id = any (participants) then
    raise check_violation using
      message = 'host_id is not a participant', constraint = 'host_id must be one of the two participants';
  elsif not new.offered_by = any (participants) then
    raise check_violation using
      message = 'offered_by is not a participant', constraint = 'offered_by must be one of the two participants';
  elsif new.status = 'accepted' and new.ends_at is not null then
    perform private.lock_host(new.host_id);
  end if;
  return new;
end
$$;
comment on function private.prepare_reservation() is
  'Fills in the host, revision and updated_at, and takes the step of the clock that is due first, dated when it was due.
Definer, because callers cannot write the history.';

create trigger prepare_reservation
  before insert or update on public.reservations
  for each row execute function private.prepare_reservation();

create function private.record_reservation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  step constant jsonb := nullif(current_setting('api.reservation_step', true), '');
begin
  if tg_op <> 'DELETE'
    and (new.conversation_id, new.revision, new.status, new.host_id)
      is distinct from (old.conversation_id, old.revision, old.status, old.host_id) then
    perform private.add_to_history(new, (step ->> 'by_id')::bigint, step ->> 'note');
  end if;
  perform private.record_change('reservation', concerned.conversation_id, concerned.id, event => 'reservation.changed')
  from (
    select old.conversation_id, old.id
    union
    select new.conversation_id, new.id
  ) as concerned (conversation_id, id)
  where concerned.id is not null;
  return null;
end
$$;
comment on function private.record_reservation() is
  'Appends every new and changed reservation to the history, and logs what was offered, changed, moved to another
conversation or removed. Definer, because callers can write neither.';

create trigger record_reservation
  after insert or update or delete on public.reservations
  for each row execute function private.record_reservation();

create function private.write_reservation(reservation public.reservations, by_id bigint, note text, moment timestamptz)
returns public.reservations
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  written public.reservations;
begin
  perform set_config(
    'api.reservation_step', jsonb_build_object('by_id', by_id, 'note', note, 'moment', moment)::text, true
  );
  if reservation.id is null then
    insert into public.reservations (conversation_id, title, price, date, ends_at, host_id, offered_by)
    values (
      reservation.conversation_id, reservation.title, reservation.price, reservation.date, reservation.ends_at,
      reservation.host_id, reservation.offered_by
    )
    returning * into written;
  else
    update public.reservations
    set
      title = reservation.title, price = reservation.price, date = reservation.date, ends_at = reservation.ends_at,
      offered_by = reservation.offered_by, status = reservation.status
    where id = reservation.id
    returning * into written;
  end if;
  perform set_config('api.reservation_step', '', true);
  return written;
end
$$;
comment on function private.write_reservation(public.reservations, bigint, text, timestamptz) is
  'Writes a new reservation or a step of a locked one, and returns it. by_id and note go into its history; moment is the
time of the whole step, so that nothing becomes due during it.';

create function private.settle_reservations()
returns integer
language sql volatile security invoker set search_path = ''
as $$
  with due as materialized (
    select id
    from public.reservations
    where due_at <= (select private.present())
    order by due_at
    limit 500
    -- What somebody is about to change is left for the next time.
    for no key update skip locked
  ),
  -- prepare_reservation sets the status.
  settled as (
    update public.reservations set status = reservations.status from due where reservations.id = due.id returning due.id
  )
  select count(*)::integer from settled
$$;
comment on function private.settle_reservations() is
  'Writes the steps of the clock that are due, 500 at most, and returns their number. Only then people are told.';
