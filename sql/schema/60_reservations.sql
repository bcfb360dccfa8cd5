-- Reservations: shown inside a conversation. Admins write them in the dashboard; nobody else does.
create table public.reservations (
  id bigint generated always as identity primary key,
  conversation_id bigint not null references public.conversations (id) on delete cascade,
  title text not null
    constraint "title has 1 to 200 characters" check (char_length(title) between 1 and 200),
  price numeric(12, 2) not null
    constraint "price is not negative" check (price >= 0 and price <> 'NaN'),
  date timestamptz not null,
  status text not null default 'pending'
    constraint "status is pending, accepted, declined, cancelled or completed"
    check (status in ('pending', 'accepted', 'declined', 'cancelled', 'completed'))
);
comment on table public.reservations is 'What the two people of a conversation arranged.';

create index reservations_conversation_id_idx on public.reservations (conversation_id);

alter table public.reservations enable row level security;

create policy "participants read reservations" on public.reservations
  for select to authenticated
  using (conversation_id in (select private.my_conversations()));

grant select on public.reservations to authenticated;
grant all on public.reservations to service_role;

create function private.reservations_of(conversation bigint)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select coalesce(
      json_agg(
        json_build_object(
          'id', reservations.id,
          'title', reservations.title,
          'price', reservations.price,
          'date', private.iso(reservations.date),
          'status', reservations.status
        )
        order by reservations.date, reservations.id
      ),
      '[]'
    )
    from public.reservations
    where reservations.conversation_id = reservations_of.conversation
  );
end
$$;
comment on function private.reservations_of(bigint) is 'A conversation''s reservations, by date.';
grant execute on function private.reservations_of(bigint) to authenticated;

create function api.get_conversation(conversation bigint)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  people record;
  reservations json;
begin
  -- As in list_messages.
  select * into people from private.people_in(array[conversation]);
  if not found then
    perform private.require_participation(conversation);
  end if;
  perform private.scope_to_conversation(conversation);
  reservations := private.reservations_of(conversation);
  perform private.scope_to_conversation(null);
  return json_build_object(
    'id', people.id,
    'Voyager', json_build_object('id', people.voyager_id, 'name', people.voyager_name),
    'Local', json_build_object('id', people.local_id, 'name', people.local_name),
    'Reservations', reservations
  );
end
$$;
comment on function api.get_conversation(bigint) is 'A conversation with its two people and its reservations, by date.';
grant execute on function api.get_conversation(bigint) to edge_functions;
