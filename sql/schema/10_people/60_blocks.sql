-- Blocks between users. A block works in both directions, and the blocked user is not told.
create table private.blocks (
  blocker_id bigint not null references public.users (id) on delete cascade,
  blocked_id bigint not null references public.users (id) on delete cascade,
  created_at timestamptz not null default now(),
  primary key (blocker_id, blocked_id),
  constraint "nobody blocks themselves" check (blocker_id <> blocked_id)
);
comment on table private.blocks is 'Across a block nobody opens a conversation, writes or finds the other in a search.';
create index blocks_blocked_id_idx on private.blocks (blocked_id);
alter table private.blocks enable row level security;

create function private.is_blocked_between(one bigint, other bigint)
returns boolean
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return exists (select from private.blocks where blocker_id = one and blocked_id = other)
    or exists (select from private.blocks where blocker_id = other and blocked_id = one);
end
$$;
comment on function private.is_blocked_between(bigint, bigint) is
  'Whether either has blocked the other. Only for definer functions: callers must not learn who has.';

create function private.forbid_writing(partner bigint)
returns void
language plpgsql stable security invoker set search_path = ''
as $$
begin
  raise sqlstate 'PT403' using
    message = 'You cannot write to this person',
    hint = coalesce(
      (select 'blocked' from private.blocks where blocker_id = private.my_id() and blocked_id = partner), 'forbidden'
    );
end
$$;
comment on function private.forbid_writing(bigint) is 'Raises 403; its code says blocked only to who has blocked.';

create function private.blocked_users_of(person bigint)
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
comment on function private.blocked_users_of(bigint) is
  'Whom this user has blocked or was blocked by; null without any. Only for definer functions.';

create function api.list_blocks()
returns json
language sql stable security definer set search_path = ''
as $$
  select to_json(array(
    select json_build_object('user_id', users.id, 'name', users.name, 'createdAt', private.iso(blocks.created_at))
    from private.blocks
    join public.users on users.id = blocks.blocked_id
    where blocks.blocker_id = (select private.my_id())
    order by blocks.created_at desc, users.id desc
  ))
$$;
comment on function api.list_blocks() is
  'Whom the caller has blocked: [{user_id, name, createdAt}], latest first. Definer, because callers cannot read that.';

create function private.add_block(me bigint, other_user bigint, field text)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- So that the limit holds.
  perform private.lock_me();
  if (select count(*) from private.blocks where blocker_id = me and blocked_id <> other_user) >= 1000 then
    raise sqlstate 'PT400' using message = field || ': you cannot block more than 1,000 people', hint = 'too_many';
  end if;
  insert into private.blocks (blocker_id, blocked_id) values (me, other_user) on conflict do nothing;
end
$$;
comment on function private.add_block(bigint, bigint, text) is 'Blocks a user for the caller. Errors name this field.';

create function api.block_person(other_user bigint)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
begin
  if other_user = me then
    raise sqlstate 'PT400' using message = 'user_id: you cannot block yourself';
  elsif not exists (select from public.users where id = other_user and is_active) then
    raise sqlstate 'PT404' using message = 'User not found';
  end if;
  perform private.add_block(me, other_user, 'user_id');
end
$$;
comment on function api.block_person(bigint) is
  'Blocks a user for the caller; a repeat changes nothing. Definer, because no caller has a grant on blocks.';

create function api.unblock_person(other_user bigint)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
begin
  if other_user = me then
    raise sqlstate 'PT400' using message = 'user_id: you cannot block yourself';
  end if;
  delete from private.blocks where blocker_id = me and blocked_id = other_user;
  if not found and not exists (select from public.users where id = other_user and is_active) then
    raise sqlstate 'PT404' using message = 'User not found';
  end if;
end
$$;
comment on function api.unblock_person(bigint) is
  'Removes the caller''s block of a user; a repeat changes nothing. Definer, as block_person.';
