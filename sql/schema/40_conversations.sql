-- Conversations: exactly two people, and at most one conversation for each pair of them.
create table public.conversations (
  id bigint generated always as identity primary key,
  voyager_id bigint not null references public.users (id) on delete restrict,
  local_id bigint not null references public.users (id) on delete restrict,
  created_at timestamptz not null default now(),
  constraint "nobody converses with themselves" check (voyager_id <> local_id)
);
comment on table public.conversations is
  'Between the voyager, who opened it, and the local. People are never deleted from under it: an erased account keeps its row.';

create unique index conversations_one_per_pair
  on public.conversations (least(voyager_id, local_id), greatest(voyager_id, local_id));
comment on index public.conversations_one_per_pair is 'One conversation for a pair, whoever opened it.';
create index conversations_voyager_id_idx on public.conversations (voyager_id);
create index conversations_local_id_idx on public.conversations (local_id);

alter table public.conversations enable row level security;

create function private.my_conversations()
returns setof bigint
language sql stable security definer set search_path = ''
as $$
  select id
  from public.conversations
  where voyager_id = (select private.my_id()) or local_id = (select private.my_id())
$$;
comment on function private.my_conversations() is
  'Conversations the caller takes part in. Definer, so that the policies of messages and reservations ask one set once, not a policy for
each row: on a 5,000-message scan the set costs what no policy costs, a function of the row''s column ten times as much.';
grant execute on function private.my_conversations() to authenticated;

create function private.my_open_conversations()
returns setof bigint
language sql stable security definer set search_path = ''
as $$
  select id
  from public.conversations
  where (voyager_id = (select private.my_id()) or local_id = (select private.my_id()))
    and voyager_id <> all (coalesce((select private.kept_from((select private.my_id()))), '{}'))
    and local_id <> all (coalesce((select private.kept_from((select private.my_id()))), '{}'))
$$;
comment on function private.my_open_conversations() is
  'Those of my_conversations in which neither has blocked the other, for policies on speaking. Definer, as my_conversations.';
grant execute on function private.my_open_conversations() to authenticated;

create policy "participants read conversations" on public.conversations
  for select to authenticated
  using (voyager_id = (select private.my_id()) or local_id = (select private.my_id()));

grant select on public.conversations to authenticated;
grant all on public.conversations to service_role;

create function private.my_partners()
returns table (id bigint, name text, email text)
language sql stable security definer set search_path = ''
as $$
  select users.id, users.name, users.email
  from public.users
  where users.id in (
    select voyager_id from public.conversations where id in (select private.my_conversations())
    union
    select local_id from public.conversations where id in (select private.my_conversations())
  )
$$;
comment on function private.my_partners() is
  'Everybody in the caller''s conversations, the caller too, with what the contract shows them of each other. Definer, because
people read only their own row of users; this is all they see of a partner''s.';
grant execute on function private.my_partners() to authenticated;

create function private.participants(conversation bigint)
returns table (id bigint, name text)
language sql stable security definer set search_path = ''
as $$
  select users.id, users.name
  from public.conversations
  join public.users on users.id in (conversations.voyager_id, conversations.local_id)
  where conversations.id = participants.conversation
    and (select private.my_id()) in (conversations.voyager_id, conversations.local_id)
$$;
comment on function private.participants(bigint) is
  'The two people of one of the caller''s conversations. Definer, as my_partners.';
grant execute on function private.participants(bigint) to authenticated;

create function private.require_participation(conversation bigint)
returns void
language plpgsql stable security definer set search_path = ''
as $$
begin
  if not exists (
    select from public.conversations
    where id = conversation and (select private.my_id()) in (voyager_id, local_id)
  ) then
    raise sqlstate 'PT404' using message = 'Conversation not found';
  end if;
end
$$;
comment on function private.require_participation(bigint) is
  'Refuses a conversation the caller has no part in, in the same words whether or not it exists. Definer, so that definer verbs,
which row level security does not bind, refuse alike.';
grant execute on function private.require_participation(bigint) to authenticated;

create function api.list_conversations(page_limit integer, page_offset bigint)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select coalesce(json_agg(listing.body order by listing.active_at desc, listing.id desc), '[]')
    from (
      select
        conversations.id,
        coalesce(latest.created_at, conversations.created_at) as active_at,
        json_build_object(
          'id', conversations.id,
          'voyager_id', conversations.voyager_id,
          'local_id', conversations.local_id,
          'Voyager', json_build_object('id', voyager.id, 'name', voyager.name, 'email', voyager.email),
          'Local', json_build_object('id', local.id, 'name', local.name, 'email', local.email),
          'Messages', coalesce(latest.bodies, '[]'),
          'createdAt', private.iso(conversations.created_at)
        ) as body
      from public.conversations
      join private.my_partners() as voyager on voyager.id = conversations.voyager_id
      join private.my_partners() as local on local.id = conversations.local_id
      left join lateral (
        select
          messages.created_at,
          json_build_array(json_build_object(
            'id', messages.id,
            'content', messages.content,
            'user_id', messages.user_id,
            'read', messages.read,
            'createdAt', private.iso(messages.created_at)
          )) as bodies
        from public.messages
        where messages.conversation_id = conversations.id
        order by messages.id desc
        limit 1
      ) as latest on true
      order by active_at desc, conversations.id desc
      limit page_limit
      offset page_offset
    ) as listing
  );
end
$$;
comment on function api.list_conversations(integer, bigint) is
  'The caller''s conversations with their latest message, latest activity first; all of them where the limit is null.';
grant execute on function api.list_conversations(integer, bigint) to edge_functions;

create function api.open_conversation(other_user bigint)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
  opened public.conversations;
begin
  if me is null then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  elsif other_user = me then
    raise sqlstate 'PT400' using message = 'other_user_id: nobody can open a conversation with themselves';
  end if;
  if not exists (select from public.users where id = other_user and is_active) then
    raise sqlstate 'PT404' using message = 'User not found';
  end if;
  insert into public.conversations (voyager_id, local_id)
  select me, other_user
  where not private.are_apart(me, other_user)
  on conflict (least(voyager_id, local_id), greatest(voyager_id, local_id)) do nothing
  returning * into opened;
  if opened.id is null then
    -- The conflict waited for the other opener to commit, so this statement's snapshot has the row.
    select *
    into opened
    from public.conversations
    where least(voyager_id, local_id) = least(me, other_user)
      and greatest(voyager_id, local_id) = greatest(me, other_user);
    if opened.id is null then
      raise sqlstate 'PT403' using message = 'You cannot write to this person';
    end if;
    raise sqlstate 'PT409' using
      message = 'A conversation with this user already exists',
      detail = json_build_object('conversation_id', opened.id);
  end if;
  return json_build_object('id', opened.id, 'voyager_id', opened.voyager_id, 'local_id', opened.local_id);
end
$$;
comment on function api.open_conversation(bigint) is
  'Opens the pair''s conversation: the caller is the voyager. 409 carries the id of the one that is there, 403 says that one of the two
blocked the other, and not who. Definer, because nobody holds a grant to insert conversations: they come into being here alone.';
grant execute on function api.open_conversation(bigint) to edge_functions;
