-- Conversations: exactly two participants, and at most one conversation for each pair of users.
create table public.conversations (
  id bigint generated always as identity primary key,
  voyager_id bigint not null references public.users (id) on delete restrict,
  local_id bigint not null references public.users (id) on delete restrict,
  created_at timestamptz not null default now(),
  constraint "nobody converses with themselves" check (voyager_id <> local_id)
);
comment on table public.conversations is
  'A pair of users: the voyager, who opened the conversation, and the local. Erasing a user keeps the row.';

create unique index conversations_one_per_pair
  on public.conversations (least(voyager_id, local_id), greatest(voyager_id, local_id));
-- With the id, for an index-only scan by private.my_conversations(): of 600 conversations 10 pages instead of 600.
create index conversations_voyager_id_id_idx on public.conversations (voyager_id, id);
create index conversations_local_id_id_idx on public.conversations (local_id, id);
alter table public.conversations enable row level security;

create policy "participants read conversations" on public.conversations
  for select to authenticated
  using (voyager_id = (select private.my_id()) or local_id = (select private.my_id()));

grant select on public.conversations to authenticated;

create function private.my_conversations()
returns setof bigint
language plpgsql stable security definer rows 10 set search_path = ''
as $$
declare
  me bigint := private.my_id();
begin
  return query
    select id from public.conversations where voyager_id = me
    union all
    select id from public.conversations where local_id = me;
end
$$;
comment on function private.my_conversations() is
  'Ids of the caller''s conversations. Definer, so that the policies of messages and reservations compute one set, which
costs nothing measurable; a function of the row''s column cost ten times as much as no policy.';

create function private.my_writable_conversations()
returns setof bigint
language sql stable security definer set search_path = ''
as $$
  select id
  from public.conversations
  where id in (select private.my_conversations())
    and not array[voyager_id, local_id] && coalesce((select private.blocked_users_of((select private.my_id()))), '{}')
    and not exists (select from public.users where users.id in (voyager_id, local_id) and erased_at is not null)
$$;
comment on function private.my_writable_conversations() is
  'Those of my_conversations where neither participant has blocked the other, and neither is erased. Definer, as that.';

create function private.participants_of(conversations bigint[])
returns table (id bigint, voyager_id bigint, voyager json, local_id bigint, local json, created_at timestamptz)
language plpgsql stable security invoker rows 10
set search_path = ''
-- Otherwise it is planned again for each array, 170 µs, because the generic plan expects ten elements.
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  me bigint := private.my_id();
begin
  return query
    select
      mine.id, voyager.id, json_build_object('id', voyager.id, 'name', voyager.name),
      local.id, json_build_object('id', local.id, 'name', local.name), mine.created_at
    from public.conversations as mine
    join public.users as voyager on voyager.id = mine.voyager_id
    join public.users as local on local.id = mine.local_id
    where mine.id = any (conversations) and me in (mine.voyager_id, mine.local_id);
end
$$;
comment on function private.participants_of(bigint[]) is
  'Both participants, as {id, name}, of those of these conversations that are the caller''s.';

create function private.require_participant(conversation bigint)
returns bigint
language plpgsql stable security invoker set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  partner bigint;
begin
  select voyager_id + local_id - me into partner
  from public.conversations
  where id = conversation and me in (voyager_id, local_id);
  if not found then
    raise sqlstate 'PT404' using message = 'Conversation not found';
  end if;
  return partner;
end
$$;
comment on function private.require_participant(bigint) is
  'Returns the partner. Raises 404 if the caller does not take part in the conversation, whether or not it exists.';

create function api.open_conversation(other_user bigint)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
  is_active boolean;
  opened public.conversations;
begin
  -- A concurrent erasure, deactivation or block waits, or has happened by now.
  perform private.lock_me(beside => other_user, shared => true);
  if other_user = me then
    raise sqlstate 'PT400' using message = 'other_user_id: you cannot open a conversation with yourself';
  end if;
  is_active := exists (select from public.users where id = other_user and users.is_active);
  insert into public.conversations (voyager_id, local_id)
  select me, other_user
  where is_active and not private.is_blocked_between(me, other_user)
  on conflict (least(voyager_id, local_id), greatest(voyager_id, local_id)) do nothing
  returning * into opened;
  if opened.id is null then
    -- The conflict waited for the concurrent insert to commit, so this statement's snapshot sees the row.
    select * into opened
    from public.conversations
    where least(voyager_id, local_id) = least(me, other_user)
      and greatest(voyager_id, local_id) = greatest(me, other_user);
    if found then
      raise sqlstate 'PT409' using
        message = 'A conversation with this user already exists',
        detail = json_build_object('conversation_id', opened.id), hint = 'already_open';
    elsif not is_active then
      raise sqlstate 'PT404' using message = 'User not found';
    end if;
    perform private.forbid_writing(other_user);
  end if;
  return json_build_object('id', opened.id, 'voyager_id', opened.voyager_id, 'local_id', opened.local_id);
end
$$;
comment on function api.open_conversation(bigint) is
  'Opens a conversation with the caller as the voyager. Raises 409 with the id of an existing one, 403 across a block.
Definer, because no caller has a grant to insert conversations.';

create function api.get_conversation(conversation bigint)
returns json
language plpgsql stable security definer set search_path = ''
as $$
begin
  perform private.require_participant(conversation);
  return (
    select json_build_object(
      'id', id, 'Voyager', voyager, 'Local', local,
      'Reservations', array(
        select json_build_object(
          'id', id, 'title', title, 'price', price, 'date', private.iso(date),
          'status', (private.reservation_at(reservations, moment)).status
        )
        from public.reservations
        cross join private.present() as moment
        where conversation_id = conversation
        order by date, id
      )
    )
    from private.participants_of(array[conversation])
  );
end
$$;
comment on function api.get_conversation(bigint) is
  'A conversation with its two participants and its reservations by date. Definer, as list_messages.';
