-- Users. Supabase Auth keeps their credentials; this table keeps their names, contact data and roles.
create table public.users (
  id bigint generated always as identity primary key,
  auth_id uuid unique references auth.users (id) on delete set null,
  name text not null
    constraint "name has 1 to 100 characters" check (char_length(name) between 1 and 100)
    constraint "name is one line that shows something" check (private.is_line(name)),
  email text not null
    constraint "email has at most 254 characters" check (char_length(email) <= 254),
  bio text
    constraint "bio has at most 500 characters" check (char_length(bio) <= 500),
  location text
    constraint "location has at most 120 characters" check (char_length(location) <= 120)
    constraint "location is one line that shows something" check (private.is_line(location)),
  role text not null default 'user'
    constraint "role is user or admin" check (role in ('user', 'admin')),
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  confirmed_at timestamptz default now(),
  erased_at timestamptz,
  constraint "nobody is active before their address is confirmed" check (confirmed_at is not null or not is_active),
  constraint "an erased account holds nothing of its person" check (
    erased_at is null
    or name = 'Deleted user' and email = '' and bio is null and location is null and auth_id is null and not is_active
  )
);
comment on table public.users is
  'A row without auth_id cannot log in. While is_active is false the token is refused and the profile hidden.';
comment on column public.users.email is 'Copy of the Auth account''s address. Its owner and partners see it.';
comment on column public.users.confirmed_at is 'When the account was confirmed. Null: another sign-up replaces it.';

create unique index users_email_key on public.users (lower(email)) where email <> '';
alter table public.users enable row level security;

create function private.find_me()
returns bigint
language plpgsql stable security definer set search_path = ''
as $$
declare
  me bigint;
begin
  -- No subquery around auth.uid(), and a variable: 4 µs instead of 6.
  select id into me from public.users where auth_id = auth.uid() and is_active;
  return me;
end
$$;
comment on function private.find_me() is
  'The user id of the claims; null for anonymous and deactivated callers. Definer: the policy on users calls it.';

-- Without `set search_path`, which would prevent inlining.
create function private.my_id()
returns bigint
language sql stable security invoker
as $$
  select coalesce(nullif(pg_catalog.current_setting('api.caller', true), '')::bigint, private.find_me())
$$;
comment on function private.my_id() is
  'The caller''s user id; null for anonymous and deactivated callers. act_as alone stores it, because looking it up six
times a request was a fifth of some statements; for Data API and Realtime it is looked up.';

create function private.lock_me(beside bigint default null, shared boolean default false)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
begin
  -- In the order of ids, so that two who lock each other do not wait for one another.
  if shared then
    perform from public.users where id in (me, beside) order by id for share;
  else
    perform from public.users where id in (me, beside) order by id for no key update;
  end if;
  if not exists (select from public.users where id = me and is_active) then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;
end
$$;
comment on function private.lock_me(bigint, boolean) is
  'Locks the accounts of the caller and somebody beside them: a concurrent erasure, deactivation or write that does not
share the lock waits, or has happened by now. Raises 401 if the caller is not active.';

create policy "users read their own row" on public.users
  for select to authenticated
  using (id = (select private.my_id()));

grant select on public.users to authenticated;

create function private.sync_auth_email()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  update public.users set email = coalesce(new.email, '') where auth_id = new.id;
  return null;
end
$$;
comment on function private.sync_auth_email() is
  'Keeps users.email equal to the address of the Auth account. Definer, because Auth updates it as its own role.';

-- On the platform a migration can create triggers on auth.users, and drop none.
create trigger sync_auth_email
  after update of email on auth.users
  for each row
  when (old.email is distinct from new.email)
  execute function private.sync_auth_email();

create function private.handle_deleted_user()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  delete from public.users where auth_id = old.id and confirmed_at is null;
  update public.users set is_active = false, email = '' where auth_id = old.id;
  return old;
end
$$;
comment on function private.handle_deleted_user() is
  'Deleting an Auth account deactivates the user and frees the address; who was never confirmed is deleted. Definer, as
sync_auth_email.';

create trigger handle_deleted_user
  before delete on auth.users
  for each row execute function private.handle_deleted_user();

create function private.account_status()
returns text
language sql stable security definer set search_path = ''
as $$
  select case when is_active then 'active' else 'inactive' end
  from public.users
  where auth_id = (select auth.uid()) and confirmed_at is not null
$$;
comment on function private.account_status() is
  'active or inactive; null without a confirmed account. Definer, because inactive callers cannot read their row.';

create function api.get_account()
returns json
language sql stable security invoker set search_path = ''
as $$
  select json_build_object('id', id, 'name', name, 'email', email, 'role', role)
  from public.users
  where id = (select private.my_id())
$$;
comment on function api.get_account() is 'The caller as sign-up and log-in return them: {id, name, email, role}.';
