-- Blocks: who wants to hear nothing more from whom. It holds both ways, and nobody is told that they were blocked.
create table private.blocks (
  blocker_id bigint not null references public.users (id) on delete cascade,
  blocked_id bigint not null references public.users (id) on delete cascade,
  created_at timestamptz not null default now(),
  primary key (blocker_id, blocked_id),
  constraint "nobody blocks themselves" check (blocker_id <> blocked_id)
);
comment on table private.blocks is
  'Between the two there are no new conversations and no new messages, and no search of one finds the other. What was said before stays.';
create index blocks_blocked_id_idx on private.blocks (blocked_id);
alter table private.blocks enable row level security;

create function private.are_apart(one bigint, other bigint)
returns boolean
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return exists (select from private.blocks where blocker_id = one and blocked_id = other)
    or exists (select from private.blocks where blocker_id = other and blocked_id = one);
end
$$;
comment on function private.are_apart(bigint, bigint) is
  'Whether either of two people blocked the other. For definer verbs alone: callers do not read blocks, half of them are other people''s.';

create function private.kept_from(person bigint)
returns bigint[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select array_agg(other)
    from (
      select blocked_id from private.blocks where blocker_id = person
      union
      select blocker_id from private.blocks where blocked_id = person
    ) as others (other)
  );
end
$$;
comment on function private.kept_from(bigint) is
  'Everybody a person blocked or was blocked by; null where there is nobody, which is nearly always. For definers alone, as are_apart.';

create function private.my_blocks()
returns json
language sql stable security definer set search_path = ''
as $$
  select coalesce(
    json_agg(
      json_build_object('user_id', users.id, 'name', users.name, 'createdAt', private.iso(blocks.created_at))
      order by blocks.created_at desc, users.id desc
    ),
    '[]'
  )
  from private.blocks
  join public.users on users.id = blocks.blocked_id
  where blocks.blocker_id = (select private.my_id())
$$;
comment on function private.my_blocks() is
  'Whom the caller blocked as [{user_id, name, createdAt}], latest first. Definer, because callers read neither blocks nor other people''s names.';
grant execute on function private.my_blocks() to authenticated;

create function api.list_blocks()
returns json
language sql stable security invoker set search_path = ''
as $$
  select private.my_blocks()
$$;
comment on function api.list_blocks() is 'Whom the caller blocked, latest first.';
grant execute on function api.list_blocks() to edge_functions;

create function api.block_person(other_user bigint)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
begin
  if other_user = me then
    raise sqlstate 'PT400' using message = 'user_id: nobody can block themselves';
  end if;
  if not exists (select from public.users where id = other_user and is_active) then
    raise sqlstate 'PT404' using message = 'User not found';
  end if;
  -- One at a time, so that the limit holds.
  perform from public.users where id = me and is_active for no key update;
  if not found then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;
  if (select count(*) from private.blocks where blocker_id = me and blocked_id <> other_user) >= 1000 then
    raise sqlstate 'PT400' using message = 'user_id: nobody can block more than 1,000 people';
  end if;
  insert into private.blocks (blocker_id, blocked_id)
  values (me, other_user)
  on conflict do nothing;
  return to_json(true);
end
$$;
comment on function api.block_person(bigint) is
  'Blocks somebody for the caller; a repeat changes nothing. Definer, because nobody holds a grant on blocks: they are written here alone.';
grant execute on function api.block_person(bigint) to edge_functions;

create function api.unblock_person(other_user bigint)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
begin
  if other_user = me then
    raise sqlstate 'PT400' using message = 'user_id: nobody can block themselves';
  end if;
  delete from private.blocks where blocker_id = me and blocked_id = other_user;
  if not found and not exists (select from public.users where id = other_user and is_active) then
    raise sqlstate 'PT404' using message = 'User not found';
  end if;
  return to_json(true);
end
$$;
comment on function api.unblock_person(bigint) is
  'Takes the caller''s block of somebody back; a repeat changes nothing. Definer, as block_person.';
grant execute on function api.unblock_person(bigint) to edge_functions;
