-- What the participants read of reservations: always the status of this moment.
create function private.reservations_with_history(conversation bigint, reservation bigint)
returns table (body json)
language sql stable security invoker set search_path = ''
as $$
  select row_to_json(entry)
  from (
    select
      view.*,
      array(
        select json_build_object(
          'status', status, 'by', by_id, 'note', note, 'title', title, 'price', price, 'date', private.iso(date),
          'ends_at', private.iso(ends_at), 'createdAt', private.iso(created_at)
        )
        from (
          select id, status, by_id, note, title, price, date, ends_at, created_at
          from public.reservation_history
          where reservation_id = stored.id and conversation_id = stored.conversation_id
          union all
          -- The step of the clock, as it will be written.
          select
            null, settled.status, null, null, stored.title, stored.price, stored.date, stored.ends_at,
            settled.updated_at
          where settled.status <> stored.status
        ) as step
        order by step.id nulls last
      ) as history
    from public.reservations as stored
    cross join private.present() as moment
    cross join lateral private.reservation_at(stored, moment) as settled
    cross join lateral private.to_reservation_view(settled) as view
    where stored.conversation_id = conversation and (reservation is null or stored.id = reservation)
    order by stored.date, stored.id
  ) as entry
$$;
comment on function private.reservations_with_history(bigint, bigint) is
  'One reservation of a conversation, or all by date if its id is null, each with its steps up to now, oldest first.';

create function api.get_reservation(conversation bigint, reservation bigint)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  shown json;
begin
  perform private.require_participant(conversation);
  select body into shown from private.reservations_with_history(conversation, reservation);
  if not found then
    raise sqlstate 'PT404' using message = 'Reservation not found';
  end if;
  return shown;
end
$$;
comment on function api.get_reservation(bigint, bigint) is 'A reservation with its history. Definer, as list_messages.';

create function api.list_my_reservations(page jsonb)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  moment constant timestamptz := private.present();
  page_limit constant integer := (page ->> 'limit')::integer;
  wanted constant text := page ->> 'status';
  listed json[];
begin
  with mine as materialized (
    -- One more than the page, as in list_messages.
    select reservations as entry, reservations.id, reservations.conversation_id
    from public.reservations
    where reservations.conversation_id = any (array(select private.my_conversations()))
      and reservations.id < coalesce((page ->> 'before_id')::bigint, 9223372036854775807)
      and reservations.date >= coalesce((page ->> 'from')::timestamptz, '-infinity')
      and reservations.date < coalesce((page ->> 'to')::timestamptz, 'infinity')
      and (wanted is null or (private.reservation_at(reservations, moment)).status = wanted)
    order by reservations.id desc
    limit page_limit + 1
  ),
  entries as (
    select view.*, case (select private.my_id()) when voyager_id then local else voyager end as partner
    from mine
    cross join lateral private.to_reservation_view(private.reservation_at(mine.entry, moment)) as view
    join private.participants_of(array(select distinct conversation_id from mine)) as participants
      on participants.id = mine.conversation_id
  )
  select array_agg(row_to_json(entries) order by entries.id desc) into listed from entries;
  return private.to_page(listed, page_limit, next => (listed[page_limit] ->> 'id')::bigint);
end
$$;
comment on function api.list_my_reservations(jsonb) is
  'A page {status, from, to, limit, before_id} of the caller''s reservations in all conversations, newest first, each
with the partner; from <= date < to. Definer, as list_messages.';
