-- Reservations, shown inside a conversation. Only admins write them, in the dashboard.
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
comment on table public.reservations is 'What the two participants of a conversation have arranged.';

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
          'id', reservations.id, 'title', reservations.title, 'price', reservations.price,
          'date', private.iso(reservations.date), 'status', reservations.status
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
comment on function private.reservations_of(bigint) is 'A conversation''s reservations, ordered by date.';
grant execute on function private.reservations_of(bigint) to authenticated;
