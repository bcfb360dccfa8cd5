-- Users: the people of the service. Auth holds how they log in, this table who they are.
create table public.users (
  id bigint generated always as identity primary key,
  auth_id uuid unique references auth.users (id) on delete set null,
  name text not null
    constraint "name has 1 to 100 characters" check (char_length(name) between 1 and 100 and name ~ '[^[:space:][:cntrl:]]'),
  email text not null
    constraint "email has at most 254 characters" check (char_length(email) <= 254),
  bio text
    constraint "bio has at most 500 characters" check (char_length(bio) <= 500),
  location text
    constraint "location has at most 120 characters" check (char_length(location) <= 120),
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
  'One row for each person. Without an auth_id nobody can log in as them; inactive, their token is refused and their profile hidden.';
comment on column public.users.email is 'Follows the Auth account''s address. Shown to its owner, and to partners in the list of conversations.';
comment on column public.users.confirmed_at is
  'Since when the Auth account''s address, or phone, is known to be its owner''s. Until then they are nobody: whoever signs up with the address
again replaces them.';
comment on column public.users.erased_at is 'Since when only the place of a person is left, for the conversations they had.';

create unique index users_email_key on public.users (lower(email)) where email <> '';
comment on index public.users_email_key is 'No two accounts share an address, whatever its case. Erased accounts have none.';

alter table public.users enable row level security;

create function private.account_status()
returns text
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
    select case when is_active then 'active' else 'inactive' end
    from public.users
    where auth_id = (select auth.uid()) and confirmed_at is not null
  );
end
$$;
comment on function private.account_status() is
  'active, inactive, or null for an account that is not there or not confirmed yet. Definer, because an inactive caller cannot read their own row.';
grant execute on function private.account_status() to edge_functions;

create function private.find_me()
returns bigint
language plpgsql stable security definer set search_path = ''
as $$
declare
  me bigint;
begin
  -- Without a subquery around auth.uid(), which an index asks once anyway (a scan of a small table for each row), and into a variable: 4 µs in place of 6.
  select id
  into me
  from public.users
  where auth_id = auth.uid() and is_active;
  return me;
end
$$;
comment on function private.find_me() is
  'Whose user id the claims name; null for anonymous and deactivated callers. Definer, because the policy on users asks it. plpgsql,
because Postgres 17 plans the body of an SQL function anew at each call, which takes 100 µs where this takes 4.';
grant execute on function private.find_me() to edge_functions, anon, authenticated;

-- Without `set search_path`, which would keep the planner from inlining it.
create function private.my_id()
returns bigint
language sql stable security invoker
as $$
  select coalesce(nullif(pg_catalog.current_setting('api.caller', true), '')::bigint, private.find_me())
$$;
comment on function private.my_id() is
  'The caller''s user id; null for anonymous and deactivated callers. For whom a door acts, act_as looked up: policies and verbs ask six times
a request, and were a fifth of what some statements took. Whoever else comes (Data API, Realtime) is looked up here. Who could set api.caller
could as well set the claims: nobody but act_as does, for no caller brings SQL of their own.';
grant execute on function private.my_id() to anon, authenticated;

create policy "people read themselves" on public.users
  for select to authenticated
  using (id = (select private.my_id()));

create policy "people edit themselves" on public.users
  for update to authenticated
  using (id = (select private.my_id()))
  with check (id = (select private.my_id()));

grant select on public.users to authenticated;
grant update (name, bio, location) on public.users to authenticated;
grant all on public.users to service_role;

create function private.sync_auth_email()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  update public.users set email = coalesce(new.email, '') where auth_id = new.id;
  return null;
end
$$;
comment on function private.sync_auth_email() is 'Keeps users.email the address of the Auth account. Definer, because Auth''s own role writes there.';

create trigger sync_auth_email
  after update of email on auth.users
  for each row
  when (old.email is distinct from new.email)
  execute function private.sync_auth_email();

create function private.confirm_user()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  update public.users
  set is_active = true, confirmed_at = now()
  where auth_id = new.id and confirmed_at is null;
  return null;
end
$$;
comment on function private.confirm_user() is
  'Makes somebody of a pending account, in the transaction that confirms its address. Once only: who was deactivated since does not come back
by confirming another address. Definer, because Auth''s own role writes there.';

create trigger confirm_user
  after update of email_confirmed_at, phone_confirmed_at on auth.users
  for each row
  when (
    coalesce(old.email_confirmed_at, old.phone_confirmed_at) is null
    and coalesce(new.email_confirmed_at, new.phone_confirmed_at) is not null
  )
  execute function private.confirm_user();

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
  'Deleting the Auth account (in the dashboard, say) takes the person out of sight and frees the address; one that was never confirmed leaves
nothing behind. Definer, because Auth''s own role deletes there.';

create trigger handle_deleted_user
  before delete on auth.users
  for each row
  execute function private.handle_deleted_user();

create function api.get_account()
returns json
language sql stable security invoker set search_path = ''
as $$
  select json_build_object('id', id, 'name', name, 'email', email, 'role', role)
  from public.users
  where id = (select private.my_id())
$$;
comment on function api.get_account() is 'The caller as sign-up and log-in show them: {id, name, email, role}.';
grant execute on function api.get_account() to edge_functions;

-- Signing up. Auth keeps the first sign-up of an address that is not confirmed, its password included, so the function has it removed before it
-- asks Auth for another account.
create table private.sign_ups (
  ticket uuid primary key default gen_random_uuid(),
  user_id bigint not null,
  profile_id bigint not null,
  address_hash bytea not null,
  begun_at timestamptz not null default now()
);
comment on table private.sign_ups is
  'Sign-ups under way: the ids that the account will have, drawn before Auth is asked. So each names one id and uses up as many, whether or not
the address is taken, and nobody learns that from an id or by counting them. A row goes as the account is made, or an hour later.';
comment on column private.sign_ups.address_hash is
  'SHA-256 of the address in lower case: tells which of several sign-ups with one address began last.';
create index sign_ups_begun_at_idx on private.sign_ups (begun_at);
create index sign_ups_address_hash_idx on private.sign_ups (address_hash);
alter table private.sign_ups enable row level security;

create function private.remove_pending_account(address text)
returns boolean
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  account constant uuid := (
    select auth_id from public.users where lower(email) = lower(address) and email <> '' and confirmed_at is null
  );
begin
  -- Of one that is confirmed at this moment the statement waits for the outcome and asks again; one that is removed first cannot be confirmed.
  delete from auth.users
  where id = account and email_confirmed_at is null and phone_confirmed_at is null and invited_at is null;
  return found;
exception
  -- An admin has given them a conversation, so they stay.
  when foreign_key_violation then
    return false;
end
$$;
comment on function private.remove_pending_account(text) is
  'Removes whoever signed up with this address and has not confirmed it, with whatever links they were mailed; whether there was somebody. Never
one that was confirmed, nor one that was invited, which has no password and is the doing of an admin. For definers alone.';

create function private.begin_sign_up(address text)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  begun private.sign_ups;
begin
  delete from private.sign_ups
  where ticket in (select ticket from private.sign_ups where begun_at < now() - interval '1 hour' for update skip locked);
  perform private.remove_pending_account(address);
  insert into private.sign_ups (user_id, profile_id, address_hash)
  values (nextval('public.users_id_seq'), nextval('public.profiles_id_seq'), sha256(convert_to(lower(address), 'UTF8')))
  returning * into begun;
  return json_build_object('ticket', begun.ticket, 'user_id', begun.user_id);
end
$$;
comment on function private.begin_sign_up(text) is
  'Makes room for a sign-up and answers {ticket, user_id}: the account whose metadata holds the ticket gets that id. Definer, because it
reaches into Auth.';
grant execute on function private.begin_sign_up(text) to edge_functions;

create function private.check_sign_up(address text, begun uuid)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  mine private.sign_ups;
begin
  select * into mine from private.sign_ups where ticket = begun;
  return to_json(case
    when mine is null then 'made'
    -- Ids are drawn in order. If every sign-up could remove the others, several at once could remove each other until none is left.
    when exists (select from private.sign_ups where address_hash = mine.address_hash and user_id > mine.user_id)
      or exists (
        select from public.users
        where lower(email) = lower(address) and email <> '' and confirmed_at is null and id > mine.user_id
      ) then 'superseded'
    when private.remove_pending_account(address) then 'retry'
    when exists (select from public.users where lower(email) = lower(address) and email <> '') then 'taken'
    else 'not made'
  end);
end
$$;
comment on function private.check_sign_up(text, uuid) is
  'The outcome of a sign-up once Auth has answered, which does not say: made; superseded by a later sign-up with the same address; retry, because
an earlier one came between and has been removed; taken, by a confirmed account; or not made, for any other reason. Only for the Edge Functions,
because it tells whether an address is taken. Definer, as begin_sign_up.';
grant execute on function private.check_sign_up(text, uuid) to edge_functions;

create function private.forget_pending_password()
returns trigger
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  new.encrypted_password := null;
  return new;
end
$$;
comment on function private.forget_pending_password() is
  'Removes the password of a pending account when a recovery link is requested. Following the link confirms the address, and its owner need not
be the person who signed up: until they choose a new password, the first one would be valid. A trigger and not a statement before the request:
a sign-up that commits in between would keep its password.';

create trigger forget_pending_password
  before update of recovery_token on auth.users
  for each row
  when (
    new.recovery_token <> '' and new.recovery_token is distinct from old.recovery_token
    and new.email_confirmed_at is null and new.phone_confirmed_at is null
  )
  execute function private.forget_pending_password();
