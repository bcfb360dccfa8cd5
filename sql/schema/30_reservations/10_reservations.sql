-- Reservations: offers between the two participants of a conversation, and their history. Admins may write the table.
create extension if not exists btree_gist with schema extensions;

create table public.reservations (
  id bigint generated always as identity primary key,
  conversation_id bigint not null references public.conversations (id) on delete cascade,
  title text not null
    constraint "title has 1 to 200 characters" check (char_length(title) between 1 and 200)
    constraint "title is one line that shows something" check (private.is_line(title)),
  price numeric(12, 2) not null
    constraint "price is not negative" check (price >= 0 and price <> 'NaN'),
  date timestamptz not null,
  status text not null default 'pending'
    constraint "status is pending, accepted, declined, cancelled or completed"
    check (status in ('pending', 'accepted', 'declined', 'cancelled', 'completed')),
  ends_at timestamptz,
  host_id bigint not null references public.users (id) on delete restrict,
  offered_by bigint references public.users (id) on delete restrict,
  revision integer not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  due_at timestamptz generated always as (
    case status when 'pending' then date when 'accepted' then coalesce(ends_at, date) end
  ) stored,
  -- What the answers can print. Admins write dates as Postgres reads them: infinity, years BC.
  constraint "date and ends_at are in the years 1 to 9999"
    check (date >= '0001-01-01 00:00+00' and greatest(date, ends_at) < '10000-01-01 00:00+00'),
  constraint "ends_at must be after date, by 366 days at most"
    check (ends_at > date and ends_at <= date + interval '8784 hours'),
  -- Half-open, so one may begin when another ends. Without ends_at, as for a group's evening, they may overlap.
  constraint "accepted reservations of a host do not overlap"
    exclude using gist (host_id with =, tstzrange(date, ends_at) with &&)
    where (status = 'accepted' and ends_at is not null)
);
comment on table public.reservations is 'What the participants of a conversation offer each other and have agreed on.';
comment on column public.reservations.host_id is 'Who receives the other, by default the local.';
comment on column public.reservations.offered_by is 'Who made the current offer; the other answers. Null: an admin.';
comment on column public.reservations.revision is 'Of the terms: one more with every change. Whoever answers names it.';
comment on column public.reservations.due_at is
  'When the clock changes the status. From then on a pending reservation counts as cancelled and an accepted one as
completed, whether or not private.settle_reservations() has written that.';

create index reservations_conversation_id_idx on public.reservations (conversation_id);
create index reservations_host_id_idx on public.reservations (host_id);
create index reservations_offered_by_idx on public.reservations (offered_by);
create index reservations_due_at_idx on public.reservations (due_at) where due_at is not null;
alter table public.reservations enable row level security;

create policy "participants read reservations" on public.reservations
  for select to authenticated
  using (conversation_id in (select private.my_conversations()));

grant select on public.reservations to authenticated;

create table public.reservation_history (
  id bigint generated always as identity primary key,
  reservation_id bigint not null references public.reservations (id) on delete cascade,
  conversation_id bigint not null references public.conversations (id) on delete cascade,
  status text not null,
  by_id bigint references public.users (id) on delete restrict,
  note text
    constraint "note has at most 500 characters" check (char_length(note) <= 500),
  title text not null,
  price numeric(12, 2) not null,
  date timestamptz not null,
  ends_at timestamptz,
  created_at timestamptz not null
);
comment on table public.reservation_history is
  'A reservation after each of its steps, whoever took it. Append-only: rows go only with their reservation.';
comment on column public.reservation_history.conversation_id is
  'At that time. If an admin moves the reservation, its new participants do not read earlier steps.';
comment on column public.reservation_history.by_id is 'Null: an admin or the clock.';

create index reservation_history_reservation_id_id_idx on public.reservation_history (reservation_id, id);
create index reservation_history_conversation_id_idx on public.reservation_history (conversation_id);
create index reservation_history_by_id_idx on public.reservation_history (by_id);
alter table public.reservation_history enable row level security;

create policy "participants read the history of reservations" on public.reservation_history
  for select to authenticated
  using (conversation_id in (select private.my_conversations()));

grant select on public.reservation_history to authenticated;

create trigger protect_history
  before update or delete or truncate on public.reservation_history
  for each statement execute function private.refuse_change('The history of reservations is append-only');
