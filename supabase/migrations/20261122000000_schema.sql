-- Derived from sql/schema by `npm run baseline`; edit the schema instead.

-- Schemas, the role the doors log in as, and the step every request takes: becoming its caller.
--   public   tables, as the Data API and the dashboard show them
--   api      verbs, one for each thing a caller can ask of a door; the Data API does not show this schema
--   private  what policies and verbs lean on, and what nobody may reach
create schema api;
create schema private;
comment on schema api is 'The verbs of the Edge Functions. Only they may call them, and each runs with the caller''s rights.';
comment on schema private is 'Helpers of policies and verbs, and tables no caller sees.';

-- The platform grants everything on new tables to the API roles, and Postgres lets everybody call new functions.
-- Here nothing is granted that a noun's file does not say.
alter default privileges in schema public revoke all on tables from anon, authenticated;
alter default privileges in schema public revoke all on sequences from anon, authenticated;
alter default privileges in schema public revoke all on functions from anon, authenticated;
alter default privileges revoke execute on functions from public;

do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'edge_functions') then
    create role edge_functions login noinherit;
  end if;
end
$$;
comment on role edge_functions is
  'What the Edge Functions log in as: no rights of its own but calling verbs, and becoming anon or authenticated.';
grant anon, authenticated to edge_functions;
-- Whatever takes longer is answered with 503. The platform has its own limits for callers of the Data API: 3 s anonymous, 8 s with a token.
alter role edge_functions set statement_timeout = '5s';
-- So that a connection that logs in as postgres can start as edge_functions (see functions/_shared/rpc.ts).
grant edge_functions to postgres;

grant usage on schema api to edge_functions;
grant usage on schema private to edge_functions, anon, authenticated;

create function private.act_as(claims jsonb, strict boolean)
returns boolean
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  me bigint;
  status text;
begin
  perform set_config('request.jwt.claims', coalesce(claims::text, '{"role": "anon"}'), true);
  perform set_config('request.jwt.claim.sub', coalesce(claims ->> 'sub', ''), true);
  if claims is not null then
    me := private.find_me();
    if me is null then
      status := private.account_status();
      if status = 'active' then
        -- Since a moment ago: the door asks again.
        raise sqlstate '40001' using message = 'This account has just changed';
      elsif strict and status is null then
        raise sqlstate 'PT401' using message = 'This account no longer exists';
      elsif strict then
        raise sqlstate 'PT403' using message = 'This account is deactivated';
      end if;
      perform set_config('request.jwt.claims', '{"role": "anon"}', true);
      perform set_config('request.jwt.claim.sub', '', true);
      claims := null;
    end if;
  end if;
  perform set_config('api.caller', coalesce(me::text, ''), true);
  if claims is null and current_setting('server_version_num')::integer >= 170000 then
    perform set_config('transaction_timeout', '3s', true);
  end if;
  -- The role is a literal, whatever the claims say.
  perform set_config('role', case when claims is null then 'anon' else 'authenticated' end, true);
  return true;
end
$$;
comment on function private.act_as(jsonb, boolean) is
  'Makes the rest of the statement run as the caller: role, claims and user id last until its transaction ends. Null claims are an
anonymous caller. Strict refuses unknown (401) and deactivated (403) accounts; otherwise they count as anonymous.
Anonymous callers have 3 s, as the platform gives them in the Data API: a statement_timeout that a statement sets comes too late for itself,
transaction_timeout does not. It closes the connection, and exists since Postgres 17.
Called before the verb in one statement it keeps 75 % of the bare rate of requests, where begin, set and commit keep 28 %
(bench/one_round_trip.ts).';
grant execute on function private.act_as(jsonb, boolean) to edge_functions;

create function private.set_response_metadata(metadata jsonb)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  perform set_config('api.response_metadata', set_response_metadata.metadata::text, true);
end
$$;
comment on function private.set_response_metadata(jsonb) is
  'What a verb has to say besides its answer, for the door to put into headers: {next: cursor} or {replayed: true}.';
grant execute on function private.set_response_metadata(jsonb) to anon, authenticated;

-- Without `set search_path`, which would keep the planner from inlining it: a page of 50 messages calls it 50 times.
create function private.iso(moment timestamptz)
returns text
language sql stable security invoker parallel safe
as $$
  select pg_catalog.to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
comment on function private.iso(timestamptz) is 'ISO 8601 in UTC with milliseconds, as every timestamp in an answer.';
grant execute on function private.iso(timestamptz) to anon, authenticated;

-- The pattern is webAddress of functions/_shared/validate.ts, letter for letter (tests/local/web_addresses.test.ts compares them).
create function private.is_web_address(value text)
returns boolean
language plpgsql immutable strict parallel safe security invoker set search_path = ''
as $$
begin
  return value ~ '^https://(\[[0-9A-Fa-f:.]+\]|[^\[\]\u0022\u0027\u0060<>{}|\\\^%/?#@:,;!$&()*+=\u0001-\u0020\u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufff9-\uffff]+)(:[0-9]{1,5})?([/?#][^\u0022\u0027\u0060<>\\\u0001-\u0020\u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufff9-\uffff]*)?$';
end
$$;
comment on function private.is_web_address(text) is
  'Whether this is an https address that can stand in HTML as it is: a host without a user, and nowhere a quote, an angle bracket, a backslash,
white space, a control character or one that is not to be seen. Null of null. plpgsql, because Postgres plans the body of an SQL function anew
at each call, and a constraint asks at each change of a profile.';
grant execute on function private.is_web_address(text) to authenticated, service_role;

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

-- Interests: the fixed list that profiles choose from. Admins edit it in the dashboard.
create table public.interests (
  id bigint generated always as identity primary key,
  name text not null
    constraint "interest name has 1 to 60 characters" check (char_length(name) between 1 and 60 and name ~ '\S')
);
comment on table public.interests is 'What a profile can say it likes.';

create unique index interests_name_key on public.interests (lower(name));

alter table public.interests enable row level security;

create policy "everybody reads interests" on public.interests
  for select to anon, authenticated
  using (true);

grant select on public.interests to anon, authenticated;
grant all on public.interests to service_role;

create function api.list_interests()
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select coalesce(json_agg(json_build_object('id', id, 'name', name) order by name), '[]')
    from public.interests
  );
end
$$;
comment on function api.list_interests() is 'Every interest as {id, name}, by name.';
grant execute on function api.list_interests() to edge_functions;

create function private.check_interests(ids bigint[])
returns void
language plpgsql stable security invoker set search_path = ''
as $$
declare
  unknown text;
begin
  select string_agg(wanted.id::text, ', ' order by wanted.id)
  into unknown
  from (select distinct unnest(ids)) as wanted (id)
  where not exists (select from public.interests where interests.id = wanted.id);
  if unknown is not null then
    raise sqlstate 'PT400' using message = 'interest_ids: unknown interests ' || unknown;
  end if;
end
$$;
comment on function private.check_interests(bigint[]) is 'Refuses ids that are no interest, naming them.';
grant execute on function private.check_interests(bigint[]) to anon, authenticated;

create function private.as_ids(list jsonb)
returns bigint[]
language plpgsql immutable security invoker set search_path = ''
as $$
begin
  return (
    select coalesce(array_agg(distinct id::bigint), '{}')
    from jsonb_array_elements_text(list) as id
  );
end
$$;
comment on function private.as_ids(jsonb) is 'A JSON array of ids, without repeats.';
grant execute on function private.as_ids(jsonb) to anon, authenticated;

create function api.check_interests(wanted jsonb)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  perform private.check_interests(private.as_ids(wanted -> 'ids'));
  return to_json(true);
end
$$;
comment on function api.check_interests(jsonb) is 'Lets sign-up refuse unknown interests before Auth makes the account.';
grant execute on function api.check_interests(jsonb) to edge_functions;

-- Profiles: what people tell of themselves, and whether others may find it. One for each user, made with the account.
create table public.profiles (
  id bigint generated always as identity primary key,
  user_id bigint not null unique references public.users (id) on delete cascade,
  first_name text
    constraint "first_name has at most 100 characters" check (char_length(first_name) <= 100),
  last_name text
    constraint "last_name has at most 100 characters" check (char_length(last_name) <= 100),
  age integer
    constraint "age is 18 to 120" check (age between 18 and 120),
  biography text
    constraint "biography has at most 5,000 characters" check (char_length(biography) <= 5000),
  country text
    constraint "country has at most 120 characters" check (char_length(country) <= 120),
  city text
    constraint "city has at most 120 characters" check (char_length(city) <= 120),
  image_url text
    constraint "image_url is an https address of at most 2,048 characters"
    check (private.is_web_address(image_url) and char_length(image_url) <= 2048),
  is_searchable boolean not null default false
);
comment on table public.profiles is 'One for each user. Others see it only while it is searchable and its owner active.';

alter table public.profiles enable row level security;

create policy "people read their own profile" on public.profiles
  for select to authenticated
  using (user_id = (select private.my_id()));

create policy "people edit their own profile" on public.profiles
  for update to authenticated
  using (user_id = (select private.my_id()))
  with check (user_id = (select private.my_id()));

grant select on public.profiles to authenticated;
grant update (first_name, last_name, age, biography, country, city, image_url, is_searchable) on public.profiles to authenticated;
grant all on public.profiles to service_role;

create table public.profile_interests (
  profile_id bigint not null references public.profiles (id) on delete cascade,
  interest_id bigint not null references public.interests (id) on delete cascade,
  primary key (profile_id, interest_id)
);
comment on table public.profile_interests is 'Which profile likes what; at most 50 a profile.';

create index profile_interests_interest_id_idx on public.profile_interests (interest_id);

alter table public.profile_interests enable row level security;

create function private.my_profile_id()
returns bigint
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
    select id
    from public.profiles
    where user_id = (select private.my_id())
  );
end
$$;
comment on function private.my_profile_id() is
  'The caller''s profile id. Definer, so that a policy of one table does not run the policies of another.';
grant execute on function private.my_profile_id() to authenticated;

create policy "people read their own interests" on public.profile_interests
  for select to authenticated
  using (profile_id = (select private.my_profile_id()));

create policy "people add to their own interests" on public.profile_interests
  for insert to authenticated
  with check (profile_id = (select private.my_profile_id()));

create policy "people drop their own interests" on public.profile_interests
  for delete to authenticated
  using (profile_id = (select private.my_profile_id()));

grant select, delete on public.profile_interests to authenticated;
grant insert (profile_id, interest_id) on public.profile_interests to authenticated;
grant all on public.profile_interests to service_role;

create function private.cap_interests()
returns trigger
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if exists (
    select from public.profile_interests
    where profile_id in (select profile_id from added)
    group by profile_id
    having count(*) > 50
  ) then
    raise sqlstate 'PT400' using message = 'interest_ids: a profile has at most 50 interests';
  end if;
  return null;
end
$$;
comment on function private.cap_interests() is 'The limit of 50, for whoever adds from whatever side; no constraint can count rows.';

create trigger cap_interests
  after insert on public.profile_interests
  referencing new table as added
  for each statement
  execute function private.cap_interests();

create function private.replace_interests(profile bigint, ids bigint[])
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  perform private.check_interests(ids);
  -- Two who replace at once would end with both sets.
  perform from public.profiles where id = profile for no key update;
  delete from public.profile_interests
  where profile_id = profile and interest_id <> all (ids);
  insert into public.profile_interests (profile_id, interest_id)
  select profile, unnest(ids)
  on conflict do nothing;
end
$$;
comment on function private.replace_interests(bigint, bigint[]) is 'Makes ids the whole set of a profile''s interests, or refuses and changes nothing.';
grant execute on function private.replace_interests(bigint, bigint[]) to authenticated;

create function private.interests_of(profile bigint)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select coalesce(json_agg(json_build_object('id', interests.id, 'name', interests.name) order by interests.name), '[]')
    from public.profile_interests
    join public.interests on interests.id = profile_interests.interest_id
    where profile_interests.profile_id = profile
  );
end
$$;
comment on function private.interests_of(bigint) is 'A profile''s interests as [{id, name}], by name.';
grant execute on function private.interests_of(bigint) to authenticated;

create function private.handle_new_user()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  -- Log-in providers have their own idea of what `profile` is, so only an object is ours.
  wishes jsonb := case jsonb_typeof(new.raw_user_meta_data -> 'profile')
    when 'object' then new.raw_user_meta_data -> 'profile'
    else '{}'
  end;
  its_ticket constant uuid := case
    when new.raw_user_meta_data ->> 'ticket' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then (new.raw_user_meta_data ->> 'ticket')::uuid
  end;
  confirmed_at constant timestamptz := coalesce(new.email_confirmed_at, new.phone_confirmed_at);
  drawn private.sign_ups;
  newcomer public.users;
  profile public.profiles;
begin
  delete from private.sign_ups
  where ticket = its_ticket
  returning * into drawn;

  insert into public.users (id, auth_id, name, email, bio, location, is_active, created_at, confirmed_at)
  overriding system value
  values (
    coalesce(drawn.user_id, nextval('public.users_id_seq')),
    new.id,
    coalesce(nullif(left(new.raw_user_meta_data ->> 'name', 100), ''), 'New user'),
    coalesce(new.email, ''),
    wishes ->> 'bio',
    wishes ->> 'location',
    confirmed_at is not null,
    coalesce(new.created_at, now()),
    confirmed_at
  )
  returning * into newcomer;

  insert into public.profiles (
    id, user_id, first_name, last_name, age, biography, country, city, image_url, is_searchable
  )
  overriding system value
  select
    coalesce(drawn.profile_id, nextval('public.profiles_id_seq')), newcomer.id,
    first_name, last_name, age, biography, country, city, image_url, coalesce(is_searchable, false)
  from jsonb_populate_record(null::public.profiles, wishes)
  returning * into profile;

  if jsonb_typeof(wishes -> 'interest_ids') = 'array' then
    perform private.replace_interests(profile.id, private.as_ids(wishes -> 'interest_ids'));
  end if;

  -- Metadata travels in every access token; what now stands in the profile has no business there.
  if new.raw_user_meta_data ?| array['profile', 'ticket'] then
    update auth.users set raw_user_meta_data = raw_user_meta_data - array['profile', 'ticket'] where id = new.id;
  end if;
  return null;
end
$$;
comment on function private.handle_new_user() is
  'A user and a profile come into being with the Auth account, in its transaction. The account''s metadata may hold {name, profile:
{any field of PATCH /users/profile}, ticket: of a sign-up under way}. Until an address is confirmed the user is nobody. Definer, because Auth''s
own role inserts there.';

create trigger handle_new_user
  after insert on auth.users
  for each row
  execute function private.handle_new_user();

create function private.me_with_profile()
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select json_build_object(
      'id', users.id,
      'name', users.name,
      'email', users.email,
      'bio', users.bio,
      'location', users.location,
      'role', users.role,
      'is_active', users.is_active,
      'Profile', json_build_object(
        'id', profiles.id,
        'user_id', profiles.user_id,
        'first_name', profiles.first_name,
        'last_name', profiles.last_name,
        'age', profiles.age,
        'biography', profiles.biography,
        'country', profiles.country,
        'city', profiles.city,
        'image_url', profiles.image_url,
        'is_searchable', profiles.is_searchable,
        'Interests', private.interests_of(profiles.id)
      )
    )
    from public.users
    join public.profiles on profiles.user_id = users.id
    where users.id = (select private.my_id())
  );
end
$$;
comment on function private.me_with_profile() is
  'The caller with profile and interests.';
grant execute on function private.me_with_profile() to authenticated;

create function api.get_me()
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return private.me_with_profile();
end
$$;
comment on function api.get_me() is 'The caller with profile and interests.';
grant execute on function api.get_me() to edge_functions;

create function api.update_profile(changes jsonb)
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  me bigint := private.my_id();
begin
  -- First what every change of a profile holds, so that two changes of one person's queue up and never cross.
  perform from public.profiles where user_id = me for no key update;
  if changes ?| array['name', 'bio', 'location'] then
    update public.users
    set (name, bio, location) = (
      select new.name, new.bio, new.location
      from jsonb_populate_record(users, changes) as new
    )
    where id = me;
  end if;

  if changes ?| array['first_name', 'last_name', 'age', 'biography', 'country', 'city', 'image_url', 'is_searchable'] then
    update public.profiles
    set (first_name, last_name, age, biography, country, city, image_url, is_searchable) = (
      select
        new.first_name, new.last_name, new.age, new.biography, new.country, new.city, new.image_url, new.is_searchable
      from jsonb_populate_record(profiles, changes) as new
    )
    where user_id = me;
  end if;

  if changes ? 'interest_ids' then
    perform private.replace_interests(private.my_profile_id(), private.as_ids(changes -> 'interest_ids'));
  end if;

  return private.me_with_profile();
end
$$;
comment on function api.update_profile(jsonb) is
  'Changes the fields that are there, in one transaction or not at all: absent is unchanged, null clears. Other keys are never written.';
grant execute on function api.update_profile(jsonb) to edge_functions;

create function api.set_interests(wanted jsonb)
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  profile bigint := private.my_profile_id();
begin
  perform private.replace_interests(profile, private.as_ids(wanted -> 'ids'));
  return json_build_object('id', profile, 'user_id', private.my_id(), 'Interests', private.interests_of(profile));
end
$$;
comment on function api.set_interests(jsonb) is 'Makes {ids} the whole set of the caller''s interests.';
grant execute on function api.set_interests(jsonb) to edge_functions;

create function api.set_searchable(searchable boolean)
returns json
language sql volatile security invoker set search_path = ''
as $$
  update public.profiles
  set is_searchable = set_searchable.searchable
  where user_id = (select private.my_id())
  returning json_build_object('is_searchable', is_searchable)
$$;
comment on function api.set_searchable(boolean) is 'Shows or hides the caller''s profile.';
grant execute on function api.set_searchable(boolean) to edge_functions;

create function api.get_public_profile(profile bigint)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  visible boolean;
begin
  select profiles.is_searchable and users.is_active
  into visible
  from public.profiles
  join public.users on users.id = profiles.user_id
  where profiles.id = profile and users.confirmed_at is not null;
  if visible is null then
    raise sqlstate 'PT404' using message = 'Profile not found';
  elsif not visible then
    raise sqlstate 'PT403' using message = 'This profile is not public';
  end if;
  return (
    select json_build_object(
      'id', users.id,
      'name', users.name,
      'profile', json_build_object(
        'id', profiles.id,
        'first_name', profiles.first_name,
        'last_name', profiles.last_name,
        'age', profiles.age,
        'biography', profiles.biography,
        'country', profiles.country,
        'city', profiles.city,
        'image_url', profiles.image_url,
        'interests', private.interests_of(profiles.id)
      )
    )
    from public.profiles
    join public.users on users.id = profiles.user_id
    where profiles.id = profile
  );
end
$$;
comment on function api.get_public_profile(bigint) is
  'What anybody may see of a profile. Definer, because neither users nor profiles let anybody read another''s row: this view, with
its columns, is the only way to see one.';
grant execute on function api.get_public_profile(bigint) to edge_functions;

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
create index conversations_voyager_id_id_idx on public.conversations (voyager_id, id);
comment on index public.conversations_voyager_id_id_idx is
  'With the id, so that private.my_conversations() need not visit the table: for an inbox of 600, 10 pages instead of 600.';
create index conversations_local_id_id_idx on public.conversations (local_id, id);
comment on index public.conversations_local_id_id_idx is 'As the one before.';

alter table public.conversations enable row level security;

create function private.my_conversations()
returns setof bigint
language plpgsql stable security definer rows 10 set search_path = ''
as $$
declare
  me bigint := private.my_id();
  looked_at bigint := nullif(current_setting('api.conversation', true), '')::bigint;
begin
  if looked_at is not null then
    return query
      select id
      from public.conversations
      where id = looked_at and me in (voyager_id, local_id);
    return;
  end if;
  return query
    select id
    from public.conversations
    where voyager_id = me
    union all
    select id
    from public.conversations
    where local_id = me;
end
$$;
comment on function private.my_conversations() is
  'Conversations the caller takes part in; of them only the one that the transaction looks at, if it does. Definer, so that the policies
of messages and reservations ask one set once, not a policy for each row: on a 5,000-message scan the set costs what no policy costs, a
function of the row''s column ten times as much.';
grant execute on function private.my_conversations() to authenticated;

create function private.scope_to_conversation(conversation bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  perform set_config('api.conversation', coalesce(conversation::text, ''), true);
end
$$;
comment on function private.scope_to_conversation(bigint) is
  'Narrows my_conversations to one, until it is null again or the transaction ends. It gives nobody anything: who has no part in that one
finds none. For verbs about one conversation, whose policies would else gather the whole inbox: 100 µs for one of 246, where a page takes 300.';
grant execute on function private.scope_to_conversation(bigint) to authenticated;

create function private.my_open_conversations()
returns setof bigint
language sql stable security definer set search_path = ''
as $$
  select id
  from public.conversations
  where (voyager_id = (select private.my_id()) or local_id = (select private.my_id()))
    and voyager_id <> all (coalesce((select private.kept_from((select private.my_id()))), '{}'))
    and local_id <> all (coalesce((select private.kept_from((select private.my_id()))), '{}'))
    and not exists (select from public.users where users.id in (voyager_id, local_id) and erased_at is not null)
$$;
comment on function private.my_open_conversations() is
  'Those of my_conversations in which neither has blocked the other and both are still there, for policies on speaking. Definer, as
my_conversations.';
grant execute on function private.my_open_conversations() to authenticated;

create policy "participants read conversations" on public.conversations
  for select to authenticated
  using (voyager_id = (select private.my_id()) or local_id = (select private.my_id()));

grant select on public.conversations to authenticated;
grant all on public.conversations to service_role;

create function private.people_in(conversations bigint[])
returns table (id bigint, voyager_id bigint, voyager_name text, voyager_email text, local_id bigint, local_name text, local_email text)
language plpgsql stable security definer rows 10
set search_path = ''
-- Else it is planned anew for each array, 170 µs, because the general plan expects ten where there mostly is one.
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  me bigint := private.my_id();
begin
  return query
    select mine.id, voyager.id, voyager.name, voyager.email, local.id, local.name, local.email
    from public.conversations as mine
    join public.users as voyager on voyager.id = mine.voyager_id
    join public.users as local on local.id = mine.local_id
    where mine.id = any (conversations) and me in (mine.voyager_id, mine.local_id);
end
$$;
comment on function private.people_in(bigint[]) is
  'What the contract shows of the two people in each of these conversations, where the caller is one of them. Definer, because people
read only their own row of users; this is all they see of a partner''s.';
grant execute on function private.people_in(bigint[]) to authenticated;

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
    -- First the page, then what it shows: an inbox of 600 would else read 1,200 people to show 50.
    with page as materialized (
      select
        conversations.*,
        latest.id as latest_id,
        latest.content,
        latest.user_id,
        latest.read,
        latest.created_at as latest_at,
        coalesce(latest.created_at, conversations.created_at) as active_at
      from public.conversations
      left join lateral (
        select id, content, user_id, read, created_at
        from public.messages
        where conversation_id = conversations.id
        order by id desc
        limit 1
      ) as latest on true
      order by active_at desc, conversations.id desc
      limit page_limit
      offset page_offset
    )
    select coalesce(
      json_agg(
        json_build_object(
          'id', page.id,
          'voyager_id', page.voyager_id,
          'local_id', page.local_id,
          'Voyager', json_build_object('id', page.voyager_id, 'name', people.voyager_name, 'email', people.voyager_email),
          'Local', json_build_object('id', page.local_id, 'name', people.local_name, 'email', people.local_email),
          'Messages', case
            when page.latest_id is null then '[]'
            else json_build_array(json_build_object(
              'id', page.latest_id,
              'content', page.content,
              'user_id', page.user_id,
              'read', page.read,
              'createdAt', private.iso(page.latest_at)
            ))
          end,
          'createdAt', private.iso(page.created_at)
        )
        order by page.active_at desc, page.id desc
      ),
      '[]'
    )
    from page
    join private.people_in((select array_agg(id) from page)) as people on people.id = page.id
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

-- Messages: written by send_message alone, marked read by their recipient, never changed otherwise.
create function private.is_attachment(value jsonb)
returns boolean
-- Strict, so that a message without one does not pay the 95 µs of its plan.
language sql immutable strict security invoker set search_path = ''
as $$
  select jsonb_typeof(value) = 'object'
    and value ?& array['url', 'name', 'mime_type', 'size']
    and value - array['url', 'name', 'mime_type', 'size'] = '{}'
    and jsonb_typeof(value -> 'url') = 'string' and char_length(value ->> 'url') between 1 and 2048
    and jsonb_typeof(value -> 'name') = 'string' and char_length(value ->> 'name') between 1 and 255
    and jsonb_typeof(value -> 'mime_type') = 'string' and char_length(value ->> 'mime_type') between 1 and 255
    and jsonb_typeof(value -> 'size') = 'number' and (value ->> 'size')::numeric >= 0
$$;
comment on function private.is_attachment(jsonb) is 'Whether this is {url, name, mime_type, size} and nothing else; null of null.';
grant execute on function private.is_attachment(jsonb) to service_role;

create table public.messages (
  id bigint generated always as identity primary key,
  conversation_id bigint not null references public.conversations (id) on delete cascade,
  user_id bigint not null references public.users (id) on delete restrict,
  content text not null
    constraint "content has at most 5,000 characters" check (char_length(content) <= 5000),
  attachment jsonb
    constraint "attachment is {url, name, mime_type, size}" check (private.is_attachment(attachment)),
  constraint "attachment.url is a path in the bucket or an https address"
    check (attachment ->> 'url' !~* '^https:' or private.is_web_address('https' || substr(attachment ->> 'url', 6))),
  read boolean not null default false,
  client_id uuid,
  created_at timestamptz not null default clock_timestamp(),
  constraint "a message says something or carries an attachment" check (content ~ '[^[:space:][:cntrl:]]' or attachment is not null)
);
comment on table public.messages is
  'Ids of one conversation are in commit order, so a reader who has seen an id has seen all before it.';
comment on column public.messages.client_id is 'The sender''s name for the message: sending it again is answered, not done, again.';

create index messages_conversation_id_id_idx on public.messages (conversation_id, id desc);
comment on index public.messages_conversation_id_id_idx is 'Pages of a conversation, from either end.';
create index messages_unread_idx on public.messages (conversation_id, user_id) where not read;
comment on index public.messages_unread_idx is 'What is unread; small, because most messages are read.';
create index messages_user_id_idx on public.messages (user_id);
create unique index messages_one_per_client_id on public.messages (user_id, client_id) where client_id is not null;
comment on index public.messages_one_per_client_id is 'A sender''s key names one message, for ever.';

alter table public.messages enable row level security;

create policy "participants read messages" on public.messages
  for select to authenticated
  using (conversation_id in (select private.my_conversations()));

grant select on public.messages to authenticated;
grant all on public.messages to service_role;

create table private.idempotent_replies (
  message_id bigint primary key references public.messages (id) on delete cascade,
  sender_name text not null
);
comment on table private.idempotent_replies is
  'What the first answer to a keyed send said that may change since: the sender''s name. With it a repeat answers byte for byte.';
alter table private.idempotent_replies enable row level security;

create type private.message_view as (
  id bigint,
  user_id bigint,
  conversation_id bigint,
  content text,
  attachment jsonb,
  read boolean,
  "createdAt" text,
  "Sender" json
);
comment on type private.message_view is
  'A message as the listing shows it. A row, because a page of rows becomes JSON in two thirds of the time that as many objects take.';

create function private.view_of(message public.messages, sender json)
returns private.message_view
language sql stable security invoker
as $$
  select row(
    message.id,
    message.user_id,
    message.conversation_id,
    message.content,
    message.attachment,
    message.read,
    private.iso(message.created_at),
    sender
  )::private.message_view
$$;
comment on function private.view_of(public.messages, json) is
  'A message as the listing shows it, from its sender {id, name}. Without `set search_path`, so that it is inlined as private.iso is.';
grant execute on function private.view_of(public.messages, json) to authenticated;

create function api.list_messages(conversation bigint, page jsonb)
returns json
language plpgsql stable security invoker
set search_path = ''
-- Where most conversations are short, the general plan would gather the whole of a long one, and sort it for its last 50.
set enable_bitmapscan = off
as $$
declare
  page_limit integer := (page ->> 'limit')::integer;
  page_offset bigint := (page ->> 'offset')::bigint;
  -- Variables rather than coalesce() in the condition, which under row level security keeps it out of the index.
  before_id bigint := coalesce((page ->> 'before_id')::bigint, 9223372036854775807);
  after_id bigint := coalesce((page ->> 'after_id')::bigint, 0);
  oldest_first boolean := after_id > 0 or page ->> 'order' = 'asc';
  people record;
  voyager json;
  local json;
  listed private.message_view[];
begin
  -- It finds the two for participants alone, so only who is about to be refused is looked at twice.
  select * into people from private.people_in(array[conversation]);
  if not found then
    perform private.require_participation(conversation);
  end if;
  voyager := json_build_object('id', people.voyager_id, 'name', people.voyager_name);
  local := json_build_object('id', people.local_id, 'name', people.local_name);
  perform private.scope_to_conversation(conversation);

  -- One row more than the page tells whether there is a next one.
  if oldest_first then
    select array_agg(private.view_of(entry, case user_id when people.voyager_id then voyager else local end) order by entry.id)
    into listed
    from (
      select *
      from public.messages
      where conversation_id = conversation and id > after_id
      order by id
      limit page_limit + 1
      offset page_offset
    ) as entry;
  else
    select array_agg(private.view_of(entry, case user_id when people.voyager_id then voyager else local end) order by entry.id desc)
    into listed
    from (
      select *
      from public.messages
      where conversation_id = conversation and id < before_id
      order by id desc
      limit page_limit + 1
      offset page_offset
    ) as entry;
  end if;

  perform private.scope_to_conversation(null);
  if cardinality(listed) > page_limit then
    perform private.set_response_metadata(jsonb_build_object('next', listed[page_limit].id));
  end if;
  return coalesce(array_to_json(listed[:page_limit]), '[]');
end
$$;
comment on function api.list_messages(bigint, jsonb) is
  'A page {limit, offset, before_id, after_id, order} of a conversation: newest first, with after_id or order asc oldest first.
Tells the door the last id of the page where another follows.';
grant execute on function api.list_messages(bigint, jsonb) to edge_functions;

create function api.send_message(conversation bigint, draft jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
  partner bigint;
  my_name text;
  key uuid := (draft ->> 'client_id')::uuid;
  sent public.messages;
begin
  -- The lock gives ids in commit order within the conversation, and lets one of two sends with the same key in at a time.
  select case me when voyager_id then local_id else voyager_id end
  into partner
  from public.conversations
  where id = conversation and me in (voyager_id, local_id)
  for no key update;
  if not found then
    raise sqlstate 'PT404' using message = 'Conversation not found';
  end if;
  -- Shared, so that who is erased meanwhile leaves no name behind: the one waits for the other.
  select name into my_name from public.users where id = me and is_active for share;
  if not found then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;

  insert into public.messages (conversation_id, user_id, content, attachment, client_id)
  select conversation, me, draft ->> 'content', nullif(draft -> 'attachment', 'null'), key
  where not private.are_apart(me, partner)
    and exists (select from public.users where id = partner and erased_at is null)
  on conflict (user_id, client_id) where client_id is not null do nothing
  returning * into sent;

  if sent.id is null then
    select * into sent from public.messages where user_id = me and client_id = key;
    if sent.id is null then
      raise sqlstate 'PT403' using message = 'You cannot write to this person';
    end if;
    if (sent.conversation_id, sent.content, sent.attachment)
      is distinct from (conversation, draft ->> 'content', nullif(draft -> 'attachment', 'null')) then
      raise sqlstate 'PT422' using message = 'This idempotency key was used for another message';
    end if;
    perform private.set_response_metadata('{"replayed": true}');
    sent.read := false;
    select coalesce(min(sender_name), my_name) into my_name from private.idempotent_replies where message_id = sent.id;
  else
    -- Doors of the release before do not look, and do not say so either.
    if draft ? 'type_is_true' then
      perform private.require_true_type(sent.attachment, (draft ->> 'type_is_true')::boolean);
    end if;
    if key is not null then
      insert into private.idempotent_replies (message_id, sender_name) values (sent.id, my_name);
    end if;
  end if;

  -- As it always was, spaces and all, so that a repeat says what the first answer said, whichever release gave that.
  return json_build_object(
    'id', sent.id,
    'user_id', sent.user_id,
    'conversation_id', sent.conversation_id,
    'content', sent.content,
    'attachment', sent.attachment,
    'read', sent.read,
    'createdAt', private.iso(sent.created_at),
    'Sender', json_build_object('id', me, 'name', my_name)
  );
end
$$;
comment on function api.send_message(bigint, jsonb) is
  'Sends {content, attachment, client_id, type_is_true} as the caller; a client_id seen before answers the first answer again and tells
the door so. 403 says that one of the two blocked the other or that the other erased themselves, and not which. Definer, because nobody holds
a grant to insert messages: they are written here alone.';
grant execute on function api.send_message(bigint, jsonb) to edge_functions;

create function api.mark_read(conversation bigint, message bigint, and_before boolean)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
begin
  perform private.require_participation(conversation);
  if not exists (select from public.messages where id = message and conversation_id = conversation) then
    raise sqlstate 'PT404' using message = 'Message not found';
  end if;
  update public.messages
  set read = true
  where conversation_id = conversation
    and (id = message or and_before and id < message)
    and user_id <> me
    and not read;
  return json_build_object('success', true);
end
$$;
comment on function api.mark_read(bigint, bigint, boolean) is
  'Marks a message that the caller received as read, and with and_before all they received before it; their own, or what is read
already, stays as it is. Definer, because nobody holds a grant to update messages, and read may only ever become true.';
grant execute on function api.mark_read(bigint, bigint, boolean) to edge_functions;

create function api.count_unread()
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select json_build_object(
      'total', coalesce(sum(unread), 0),
      'conversations', coalesce(
        json_agg(json_build_object('conversation_id', conversation_id, 'unread', unread) order by conversation_id),
        '[]'
      )
    )
    from (
      select conversation_id, count(*) as unread
      from public.messages
      where conversation_id in (select private.my_conversations())
        and user_id <> (select private.my_id())
        and not read
      group by conversation_id
    ) as counts
  );
end
$$;
comment on function api.count_unread() is 'How many messages the caller has not read, in all and in each conversation that has some.';
grant execute on function api.count_unread() to edge_functions;

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

-- Search: one row for each profile that is searchable and whose owner is active, and one function that finds them. Triggers keep the
-- rows in step within the transaction that changes a profile, whoever changes it; only the vectors come later, from a queue.
create extension if not exists unaccent with schema extensions;
create extension if not exists fuzzystrmatch with schema extensions;
create extension if not exists vector with schema extensions;

create function private.fold(value text)
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return lower(extensions.unaccent('extensions.unaccent', normalize(value, nfkc)));
end
$$;
comment on function private.fold(text) is
  'Text without case, accents and compatibility forms. Immutable as long as the dictionary unaccent is not edited.';

create function private.words_of(value text)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select coalesce(array_agg(left(found.word[1], 60) order by found.position), '{}')
    from regexp_matches(
      regexp_replace(
        private.fold(value),
        '([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])', ' \1 ', 'g'
      ),
      '[^[:space:][:punct:][:cntrl:]]+', 'g'
    ) with ordinality as found (word, position)
  );
end
$$;
comment on function private.words_of(text) is
  'The words of a text, folded, in order. In scripts without spaces (Han, kana, Thai, Lao, Khmer, Burmese) every character is one.';

create table private.search_models (
  name text primary key,
  similarity_floor double precision not null,
  similarity_ceiling double precision not null,
  similarity_threshold double precision not null,
  check (similarity_floor < similarity_threshold and similarity_threshold < similarity_ceiling)
);
comment on table private.search_models is
  'How each embedding model''s cosines read: what unrelated texts have, what the closest have, and from where on a profile counts as a
hit. The numbers come from bench/search/calibrate.ts.';
alter table private.search_models enable row level security;

-- The offline model's are measured; the others' follow what their makers and users report, until somebody measures them here.
insert into private.search_models (name, similarity_floor, similarity_ceiling, similarity_threshold)
values
  ('offline-wordnet-v1', 0.03, 0.55, 0.13),
  ('text-embedding-3-small', 0.1, 0.6, 0.3),
  ('gte-small', 0.72, 0.92, 0.8);

create table private.search_entries (
  profile_id bigint primary key references public.profiles (id) on delete cascade,
  user_id bigint not null references public.users (id) on delete cascade,
  name text not null,
  biography text,
  city text,
  country text,
  interests text[] not null,
  image_url text,
  interest_keys text[] not null,
  city_key text,
  country_key text,
  words tsvector not null,
  content_hash text not null,
  model text references private.search_models (name) on delete set null,
  embedding extensions.halfvec(384)
);
comment on table private.search_entries is
  'The profiles in the search, and no other: searchable, and the owner active.';
comment on column private.search_entries.words is
  'Every word, for phrases: weight A name, first and last name, B interests, C city and country, D biography.';
comment on column private.search_entries.content_hash is 'Of the text that the embedding is made from; a profile whose text did not change needs no new one.';
-- Out of line what only hits show, in line what every candidate is measured by: fetched from beside the table, a hundred neighbours take 6.5 ms
-- instead of 1.2.
alter table private.search_entries alter column biography set storage external;
alter table private.search_entries alter column embedding set storage plain;
alter table private.search_entries enable row level security;

create index search_entries_user_id_idx on private.search_entries (user_id);
create index search_entries_model_idx on private.search_entries (model);
create index search_entries_interest_keys_idx on private.search_entries using gin (interest_keys) with (fastupdate = off);
create index search_entries_city_key_idx on private.search_entries (city_key);
create index search_entries_country_key_idx on private.search_entries (country_key);
create index search_entries_embedding_idx on private.search_entries using hnsw (embedding extensions.halfvec_cosine_ops);
comment on index private.search_entries_embedding_idx is 'Neighbours by meaning; filters are checked while it is walked, never after.';

create table private.search_postings (
  word text collate "C",
  profile_id bigint not null references private.search_entries (profile_id) on delete cascade,
  word_positions integer[] not null,
  primary key (word, profile_id) include (word_positions)
);
comment on table private.search_postings is
  'Who has each word, and where it stands: attribute * 1,000,000 + element * 10,000 + position from 0. The empty word marks where
each text ends. A thousand candidates are read from here in a sixth of the time that documents with all their words take.';
create index search_postings_profile_id_idx on private.search_postings (profile_id);
alter table private.search_postings enable row level security;

create table private.search_lexicon (
  word text collate "C" primary key,
  entries integer not null check (entries > 0)
);
comment on table private.search_lexicon is
  'Every word of the index and in how many entries it is: what typing errors and beginnings are matched against, and nothing is left
of a word when its last profile goes.';
create index search_lexicon_shape_idx on private.search_lexicon (left(word, 1), char_length(word));
comment on index private.search_lexicon_shape_idx is 'Words that a typing error could have come from: same first letter, about as long.';
create index search_lexicon_tail_idx on private.search_lexicon (substr(word, 2));
comment on index private.search_lexicon_tail_idx is 'Words whose first letter is the error.';
create index search_lexicon_entries_idx on private.search_lexicon (entries);
comment on index private.search_lexicon_entries_idx is 'How common the commonest word is.';
alter table private.search_lexicon enable row level security;

create function private.positions_of(profile public.profiles, name text, interests text[])
returns jsonb
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    with texts (attribute, element, value) as (
      values
        (0, 0, name),
        (2, 0, profile.city),
        (3, 0, profile.country),
        (4, 0, profile.biography),
        (5, 0, profile.first_name),
        (5, 1, profile.last_name)
      union all
      select 1, ordinality - 1, interest
      from unnest(interests) with ordinality as listed (interest, ordinality)
    ),
    worded as materialized (
      select attribute, element, private.words_of(value) as words
      from texts
      where value is not null
    ),
    placed as (
      select attribute, element, position, word
      from worded
      cross join lateral unnest(words) with ordinality as listed (word, position)
      -- Letters that fold into many words could run into the next text's word_positions.
      where position <= 9000
      union all
      select attribute, element, least(9000, cardinality(words)) + 1, ''
      from worded
    ),
    word_lists as (
      select
        word,
        attribute * 1000000 + element * 10000 + position - 1 as word_position,
        row_number() over (partition by word order by attribute, element, position) as nth
      from placed
    )
    select coalesce(jsonb_object_agg(word, word_positions), '{}')
    from (
      select word, jsonb_agg(word_position order by word_position) as word_positions
      from word_lists
      -- A word's tenth mention tells nothing that the first nine did not.
      where nth <= 9 or word = ''
      group by word
    ) as grouped
  );
end
$$;
comment on function private.positions_of(public.profiles, text, text[]) is 'Where each word of a profile stands; see search_postings.';

create function private.words_from_positions(word_positions jsonb)
returns tsvector
language plpgsql immutable security invoker set search_path = ''
as $$
begin
  return (
    select coalesce(
      string_agg(
        quote_literal(word) || ':' || least(16383, attribute_start + element * 40 + position + 1)
          || substr('ABCCDA', attribute + 1, 1),
        ' '
      ),
      ''
    )::tsvector
    from (
      select
        word,
        word_position / 1000000 as attribute,
        word_position / 10000 % 100 as element,
        word_position % 10000 as position,
        -- Attributes stand apart, so that no phrase reaches from one into the next.
        (array[0, 200, 2400, 2600, 2800, 15000])[word_position / 1000000 + 1] as attribute_start
      from jsonb_each(word_positions - '') as entry (word, list)
      cross join lateral (select value::integer as word_position from jsonb_array_elements(list)) as placed
    ) as placed
  );
end
$$;
comment on function private.words_from_positions(jsonb) is 'The same words as a tsvector, in which phrases are found.';

-- Keeping the index in step: whatever changes a profile changes its entry, and the entry its words, in one transaction.

create function private.refresh_search_entry(profile bigint)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
  shown public.profiles;
  owner public.users;
  likes text[];
  fresh jsonb;
  hash text;
begin
  -- One transaction at a time keeps the index, until it commits. What this one reads is then what the one before has left: nobody's hiding is
  -- undone by somebody who read the profile before it was hidden. And two whose words cross cannot wait for each other for ever.
  perform pg_advisory_xact_lock('private.search_entries'::regclass::oid::bigint);
  select * into shown from public.profiles where id = profile and is_searchable;
  select * into owner from public.users where id = shown.user_id and is_active;
  if owner.id is null then
    delete from private.search_entries where profile_id = profile;
    return;
  end if;
  select coalesce(array_agg(interests.name order by interests.name), '{}')
  into likes
  from public.profile_interests
  join public.interests on interests.id = profile_interests.interest_id
  where profile_interests.profile_id = profile;

  fresh := private.positions_of(shown, owner.name, likes);
  hash := md5(concat_ws(e'\n', array_to_string(likes, ', '), shown.city, shown.country, shown.biography));
  insert into private.search_entries as entry (
    profile_id, user_id, name, biography, city, country, interests, image_url,
    interest_keys, city_key, country_key, words, content_hash
  )
  values (
    profile, owner.id, owner.name, shown.biography, shown.city, shown.country, likes, shown.image_url,
    array(select private.fold(trim(name)) from unnest(likes) as name),
    private.fold(trim(shown.city)), private.fold(trim(shown.country)), private.words_from_positions(fresh), hash
  )
  on conflict (profile_id) do update set
    name = excluded.name,
    biography = excluded.biography,
    city = excluded.city,
    country = excluded.country,
    interests = excluded.interests,
    image_url = excluded.image_url,
    interest_keys = excluded.interest_keys,
    city_key = excluded.city_key,
    country_key = excluded.country_key,
    words = excluded.words,
    content_hash = excluded.content_hash,
    -- A vector of a text that is gone would find what its owner took back.
    embedding = case when entry.content_hash = excluded.content_hash then entry.embedding end,
    model = case when entry.content_hash = excluded.content_hash then entry.model end
  where (entry.words, entry.image_url, entry.name, entry.biography, entry.city, entry.country, entry.interests)
    is distinct from
    (excluded.words, excluded.image_url, excluded.name, excluded.biography, excluded.city, excluded.country, excluded.interests);
  if found then
    delete from private.search_postings where profile_id = profile and not fresh ? word;
    insert into private.search_postings (word, profile_id, word_positions)
    select word, profile, array(select word_position::integer from jsonb_array_elements_text(list) as word_position)
    from jsonb_each(fresh) as standing (word, list)
    on conflict (word, profile_id) do update set word_positions = excluded.word_positions where search_postings.word_positions <> excluded.word_positions;
  end if;
end
$$;
comment on function private.refresh_search_entry(bigint) is
  'Makes a profile''s entry what it should be now, or removes it. Definer, because whoever changes a profile may not write the index.';

create function private.is_unconfirmed(profile bigint)
returns boolean
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- Shared, so that who confirms them waits for what is written here, and then reads it. Who is being confirmed right now is not waited for,
  -- because that waits for the lock of the index, which this transaction may hold.
  perform
  from public.users
  where id = (select user_id from public.profiles where profiles.id = profile) and confirmed_at is null
  for share skip locked;
  return found;
end
$$;
comment on function private.is_unconfirmed(bigint) is
  'Whether a profile is of somebody whose address is not confirmed: they are in no search until it is, and the index need not follow them. Auth
mails whoever signs up before it commits; with the lock of the index, all who change a profile would wait for its mail server. For definer
triggers alone.';

create function private.sync_profile()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not private.is_unconfirmed(new.id) then
    perform private.refresh_search_entry(new.id);
  end if;
  if tg_op = 'INSERT' then
    perform private.refresh_search_context(new.user_id);
  end if;
  return null;
end
$$;
comment on function private.sync_profile() is 'The index follows a profile. Definer, as refresh_search_entry.';

create trigger sync_profile
  after insert or update on public.profiles
  for each row
  execute function private.sync_profile();

create function private.sync_user()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.refresh_search_entry(id) from public.profiles where user_id = new.id;
  perform private.refresh_search_context(new.id);
  return null;
end
$$;
comment on function private.sync_user() is 'The index follows a user''s name and whether they are active, their context what they say of themselves. Definer, as refresh_search_entry.';

create trigger sync_user
  after update on public.users
  for each row
  when (
    (old.name, old.is_active, old.bio, old.location) is distinct from (new.name, new.is_active, new.bio, new.location)
  )
  execute function private.sync_user();

create function private.sync_interest()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.refresh_search_entry(profiles.id), private.refresh_search_context(profiles.user_id)
  from public.profile_interests
  join public.profiles on profiles.id = profile_interests.profile_id
  where profile_interests.interest_id = new.id;
  return null;
end
$$;
comment on function private.sync_interest() is 'The index follows an interest that is renamed. Definer, as refresh_search_entry.';

create trigger sync_interest
  after update of name on public.interests
  for each row
  execute function private.sync_interest();

create function private.sync_profile_interests()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.refresh_search_entry(profile_id)
  from (select distinct profile_id from changed) as profiles
  where not private.is_unconfirmed(profile_id);
  perform private.refresh_search_context(user_id) from public.profiles where id in (select profile_id from changed);
  return null;
end
$$;
comment on function private.sync_profile_interests() is 'The index follows what profiles like. Definer, as refresh_search_entry.';

create trigger follow_added_interests
  after insert on public.profile_interests
  referencing new table as changed
  for each statement
  execute function private.sync_profile_interests();

create trigger follow_dropped_interests
  after delete on public.profile_interests
  referencing old table as changed
  for each statement
  execute function private.sync_profile_interests();

create function private.sync_swapped_interests()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.refresh_search_entry(profiles.id), private.refresh_search_context(profiles.user_id)
  from public.profiles
  where id in (select profile_id from before union select profile_id from after);
  return null;
end
$$;
comment on function private.sync_swapped_interests() is 'The index follows an interest put in another''s place. Definer, as refresh_search_entry.';

create trigger sync_swapped_interests
  after update on public.profile_interests
  referencing old table as before new table as after
  for each statement
  execute function private.sync_swapped_interests();

create function private.count_words(deltas private.search_lexicon[])
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  insert into private.search_lexicon as lexicon (word, entries)
  select word, entries from unnest(deltas) where entries > 0
  on conflict (word) do update set entries = lexicon.entries + excluded.entries;

  delete from private.search_lexicon as lexicon
  using unnest(deltas) as delta
  where delta.word = lexicon.word and lexicon.entries + delta.entries <= 0;

  update private.search_lexicon as lexicon
  set entries = lexicon.entries + delta.entries
  from unnest(deltas) as delta
  where delta.word = lexicon.word and delta.entries < 0;
end
$$;
comment on function private.count_words(private.search_lexicon[]) is 'Adds to and takes from the lexicon; a word that no entry has any more is gone.';

create function private.sync_postings()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  deltas private.search_lexicon[];
begin
  if tg_op = 'INSERT' then
    select array_agg(row(word, entries)::private.search_lexicon)
    into deltas
    from (select word, count(*)::integer as entries from added where word <> '' group by word) as counts;
  else
    select array_agg(row(word, entries)::private.search_lexicon)
    into deltas
    from (select word, -count(*)::integer as entries from gone where word <> '' group by word) as counts;
  end if;
  if deltas is not null then
    -- As in refresh_search_entry, for entries that go with their profile.
    perform pg_advisory_xact_lock('private.search_entries'::regclass::oid::bigint);
    perform private.count_words(deltas);
  end if;
  return null;
end
$$;
comment on function private.sync_postings() is 'The lexicon follows the postings. Definer, as refresh_search_entry.';

create trigger follow_added_postings
  after insert on private.search_postings
  referencing new table as added
  for each statement
  execute function private.sync_postings();

create trigger follow_gone_postings
  after delete on private.search_postings
  referencing old table as gone
  for each statement
  execute function private.sync_postings();

-- What a query looks for: its words, and the words of the index that they may stand for. In plpgsql what every search asks, because its plans
-- are kept; in SQL without a search_path what is to be inlined.

create function private.check_deadline()
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if clock_timestamp() - statement_timestamp() > nullif(current_setting('api.time_limit', true), '')::interval then
    raise query_canceled using message = 'The search took longer than its time limit';
  end if;
end
$$;
-- A statement_timeout that a statement sets, or one of its functions, comes too late: the timer has started (pg_sleep(1) slept its second
-- under 200 ms either way), and PGlite has none. Of what Postgres could do instead,
--   a connection's own statement_timeout is an option that poolers refuse, and needs connections for nothing else;
--   `begin` and `set local` before each search are two more round trips, or one message whose parameters are quoted into its text;
--   transaction_timeout does take effect at once, but closes the connection: it is the limit of whoever is anonymous (private.act_as).
comment on function private.check_deadline() is
  'Ends a search that takes longer than api.time_limit, as Postgres ends a statement. Called between its steps, each of which is bounded; what
goes wrong within one is ended by the statement_timeout of edge_functions.';

create function private.typo_budget(word text)
returns integer
language sql immutable parallel safe
as $$
  select case when char_length(word) < 5 then 0 when char_length(word) < 9 then 1 else 2 end
$$;
comment on function private.typo_budget(text) is 'How many errors a word of this length may hold: as in Meilisearch, none below 5 letters, one below 9, else two.';

create function private.swaps_of(word text)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select array_agg(distinct overlay(word placing substr(word, place + 1, 1) || substr(word, place, 1) from place for 2))
    from generate_series(1, char_length(word) - 1) as place
  );
end
$$;
comment on function private.swaps_of(text) is 'The word with two neighbours changed about, in every place.';

create function private.typos(typed text, meant text, budget integer)
returns integer
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select case
      when typed = meant then 0
      -- A swap of neighbours is one error, and two to Levenshtein; so this many mistakes of his cannot be within the budget.
      when extensions.levenshtein_less_equal(typed, meant, 2 * budget) > 2 * budget then null
      else (
        select nullif(least(budget + 1, min(distance)), budget + 1)
        from (
          select extensions.levenshtein_less_equal(typed, meant, budget) as distance
          union all
          select 1 + case distance
            when 2 then case when meant = any (private.swaps_of(swapped)) then 1 else 2 end
            else distance
          end
          from unnest(private.swaps_of(typed)) as swapped
          cross join lateral (select extensions.levenshtein_less_equal(swapped, meant, 2) as distance) as measured
        ) as ways
      )
    end
  );
end
$$;
comment on function private.typos(text, text, integer) is
  'How many errors (a letter wrong, missing or too many, or two neighbours swapped) make one word of the other; null above the budget.';

create function private.expand_word(typed text, unfinished boolean)
returns table (word text, typos integer, exact boolean, entries integer)
language plpgsql stable security invoker set search_path = ''
as $$
declare
  budget integer := private.typo_budget(typed);
  size integer := char_length(typed);
  swaps text[] := private.swaps_of(typed);
begin
  return query
    with found as (
      select lexicon.word, 0 as typos, lexicon.word = typed collate "C" as exact, lexicon.entries
      from private.search_lexicon as lexicon
      where lexicon.word = typed collate "C"
      union all
      (
        select lexicon.word, 0, false, lexicon.entries
        from private.search_lexicon as lexicon
        where unfinished
          and lexicon.word > typed collate "C"
          and lexicon.word < typed || U&'\+10FFFF' collate "C"
        order by lexicon.entries desc, lexicon.word
        limit 200
      )
      union all
      (
        -- The first letter is right: a wrong one costs two, which below 9 letters is too much.
        select lexicon.word, cost.typos, false, lexicon.entries
        from private.search_lexicon as lexicon
        cross join lateral (
          select min(case
            when distance <= 1 then distance
            when form = any (swaps) then 1
            when distance <= budget then distance
            when budget > 1 then private.typos(typed, form, budget)
          end) as typos
          from unnest(case
            when unfinished and char_length(lexicon.word) > size
              then array[left(lexicon.word, size), left(lexicon.word, size + 1), left(lexicon.word, size - 1)]
            else array[lexicon.word]
          end) as form
          -- A swap of neighbours is one error, and two to Levenshtein.
          cross join lateral (select extensions.levenshtein_less_equal(typed, form, 2 * budget) as distance) as measured
          where distance <= 2 * budget
        ) as cost
        where budget > 0
          and left(lexicon.word, 1) = left(typed, 1) collate "C"
          and char_length(lexicon.word) between size - budget and case when unfinished then 60 else size + budget end
          -- Leaves few for the lateral, which takes ten times as long: its forms of a word are within one letter of this.
          and extensions.levenshtein_less_equal(
            typed, case when unfinished then left(lexicon.word, size) else lexicon.word end, 2 * budget + 1
          ) <= 2 * budget + 1
          and cost.typos > 0
        order by cost.typos, lexicon.entries desc, lexicon.word
        limit 100
      )
      union all
      (
        -- The first letter is the error: wrong, missing, too many, or swapped with the second.
        select lexicon.word, 2, false, lexicon.entries
        from private.search_lexicon as lexicon
        where budget = 2
          and left(lexicon.word, 1) <> left(typed, 1) collate "C"
          and (
            substr(lexicon.word, 2) = substr(typed, 2) collate "C"
            or substr(lexicon.word, 2) = typed collate "C"
            or lexicon.word = substr(typed, 2) collate "C"
            or lexicon.word = overlay(typed placing substr(typed, 2, 1) || left(typed, 1) from 1 for 2) collate "C"
          )
      )
    )
    select found.word, min(found.typos), bool_or(found.exact), max(found.entries)
    from found
    group by found.word;
end
$$;
comment on function private.expand_word(text, boolean) is
  'The words of the index that a typed word may stand for, with their errors.';

create type private.query_word as (
  unit integer,
  place integer,
  word text,
  quoted boolean,
  excluded boolean,
  unfinished boolean,
  position integer
);
comment on type private.query_word is
  'A word of a query: the unit and the place it stands in, both counted for themselves among the excluded. The third time that it is said it
has no place: it belongs to its phrase, and scores nothing more. `position` counts all words.';

create function private.parse_query(query text)
returns setof private.query_word
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return query
    with pieces as (
      select
        ordinality as piece,
        coalesce(nullif(part[2], '') is not null, false) or part[1] is not null as is_quoted,
        coalesce(part[1], part[4]) = '-' as is_excluded,
        -- One character can stand for eighteen, which 512 of them would take 40 ms to read.
        private.words_of(left(normalize(coalesce(part[2], part[5]), nfkc), 512)) as words,
        max(ordinality) over () = ordinality and query !~ '[[:space:]"]$' as is_last
      from regexp_matches(query, '(-?)"([^"]*)("|$)|(-?)([^[:space:]"]+)', 'g') with ordinality as found (part, ordinality)
    ),
    listed as (
      select
        piece, is_quoted, is_excluded, position, word,
        is_last and position = cardinality(words) and not is_quoted and not is_excluded as is_unfinished,
        word ~ '^[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]' as is_letter
      from pieces
      cross join lateral unnest(words) with ordinality as numbered (word, position)
    ),
    -- A phrase is one unit, and so is a run of letters of a script without spaces; every other word is one by itself.
    started as (
      select *,
        case
          when position = 1 then 1
          when is_quoted or is_excluded then 0
          when is_letter and lag(is_letter) over (partition by piece order by position) then 0
          else 1
        end as starts,
        -- Consecutive letters of one run have this in common.
        position - row_number() over (partition by piece, is_letter order by position) as run
      from listed
    ),
    -- What is paid for is words, not units, or one phrase would be as dear as it is long. Such a script's words have one to five letters;
    -- of a run every first, fourth, seventh … counts as a word.
    paid as (
      select *,
        sum(starts) over (order by piece, position) as number,
        case
          when is_letter and (row_number() over (partition by piece, is_letter, run order by position)) % 3 <> 1 then 0
          else 1
        end as price
      from started
    ),
    counted as (
      select *, sum(price) over (partition by is_excluded order by piece, position) as spent
      from paid
    ),
    kept as (
      -- Names are doubled, and so is New York, New York. Said ten times, a word that everybody has is the dearest of all, and tells no more.
      select *, row_number() over (partition by is_excluded, counted.word order by piece, position) <= 2 as is_new
      from counted
      where spent <= 10
    ),
    placed as (
      -- Letters after the first ten only belong to their run.
      select *,
        is_excluded or is_new and (
          not is_letter or count(*) filter (where is_new) over (partition by is_excluded, is_letter order by piece, position) <= 10
        ) as has_place
      from kept
    )
    select
      number::integer,
      case when has_place then (count(*) filter (where has_place) over (partition by is_excluded order by piece, position))::integer end,
      placed.word, is_quoted, is_excluded, is_unfinished and not is_letter, (row_number() over (order by piece, position))::integer
    from placed;
end
$$;
comment on function private.parse_query(text) is
  'The words of a query in units, a unit being a word, a "phrase", or a run of letters of a script without spaces; -word and -"phrase"
exclude; the last word may be unfinished. The first 10 words count, those within quotes included, and the first 10 of the excluded; three
letters of a run are a word, and of all letters 10 have a place.';

-- How well an entry holds the words of a query.

create type private.search_term as (
  place integer,
  unit integer,
  word text,
  typos integer,
  exact boolean,
  entries integer,
  quoted boolean,
  phrase tsquery,
  phrase_ids bigint[]
);
comment on type private.search_term is
  'A word of the index that a word of the query may stand for: the place in the query, how many entries have it, whether the query has it in
quotes, and the phrase it must stand in, if any; once it is known who has that phrase, those profiles instead of it.';

create function private.terms_of(words private.query_word[])
returns private.search_term[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    with parsed as (
      select *, count(*) over (partition by unit) > 1 as together
      from unnest(words)
      where not excluded
    ),
    phrases as (
      select unit, string_agg(quote_literal(word), ' <-> ' order by position)::tsquery as phrase
      from parsed
      where together
      group by unit
    )
    select array_agg(
      row(
        parsed.place, parsed.unit, meant.word, meant.typos, meant.exact, meant.entries, parsed.quoted, phrases.phrase, null
      )::private.search_term
    )
    from parsed
    left join phrases using (unit)
    cross join lateral (
      select lexicon.word, 0 as typos, true as exact, lexicon.entries
      from private.search_lexicon as lexicon
      where (parsed.together or parsed.quoted) and lexicon.word = parsed.word
      union all
      select expanded.word, expanded.typos, expanded.exact, expanded.entries
      from private.expand_word(parsed.word, parsed.unfinished) as expanded
      where not (parsed.together or parsed.quoted)
    ) as meant
    -- Nobody has a phrase of which nobody has a word.
    where parsed.place is not null
      and (not parsed.together or not exists (
        select
        from parsed as beside
        where beside.unit = parsed.unit and beside.word not in (select lexicon.word from private.search_lexicon as lexicon)
      ))
  );
end
$$;
comment on function private.terms_of(private.query_word[]) is 'What a query looks for in the index.';

create function private.position_cost(distance integer)
returns integer
language sql immutable parallel safe
as $$
  select case
    when distance < 2 then distance
    when distance <= 4 then 2
    when distance <= 7 then 3
    when distance <= 11 then 4
    when distance <= 16 then 5
    when distance <= 24 then 6
    when distance <= 64 then 7
    when distance <= 256 then 8
    when distance <= 1024 then 9
    else 10
  end
$$;
comment on function private.position_cost(integer) is
  'How much a word''s distance from where the query has it counts, 0 to 10; the buckets are Meilisearch''s. Without a search_path, to be inlined.';

create function private.postings_of(terms private.search_term[], ids bigint[])
returns table (profile_id bigint, word text, place integer, typos integer, exact boolean, word_positions integer[])
language sql stable security invoker
as $$
  select posting.profile_id, posting.word, posting.place, posting.typos, posting.exact, posting.word_positions
  from (
    -- The words of few entries are read as they are; of the others, only what the candidates have. The offset keeps Postgres from reading
    -- all postings there are.
    select listed.*, term.word, term.place, term.typos, term.exact, term.phrase
    from unnest(terms) as term
    cross join lateral (
      select search_postings.profile_id, search_postings.word_positions
      from private.search_postings
      where search_postings.word = term.word
      offset 0
    ) as listed
    join unnest(ids) as candidate (id) on candidate.id = listed.profile_id
    where term.entries <= cardinality(ids) and term.phrase_ids is null
    union all
    select listed.*, term.word, term.place, term.typos, term.exact, term.phrase
    from unnest(terms) as term
    cross join lateral (
      select search_postings.profile_id, search_postings.word_positions
      from private.search_postings
      where search_postings.word = term.word and search_postings.profile_id = any (ids)
      offset 0
    ) as listed
    where term.entries > cardinality(ids) and term.phrase_ids is null
    union all
    select listed.*, term.word, term.place, term.typos, term.exact, term.phrase
    from unnest(terms) as term
    cross join lateral (
      select search_postings.profile_id, search_postings.word_positions
      from private.search_postings
      where search_postings.word = term.word and search_postings.profile_id = any (term.phrase_ids)
      offset 0
    ) as listed
    join unnest(ids) as candidate (id) on candidate.id = listed.profile_id
    where term.phrase_ids is not null
  ) as posting
  -- find_profiles has looked already, and asks without phrases.
  where posting.phrase is null
    or exists (
      select
      from private.search_entries as entry
      where entry.profile_id = posting.profile_id and entry.words @@ posting.phrase
    )
$$;
comment on function private.postings_of(private.search_term[], bigint[]) is
  'Which of these entries hold which of the terms, and where. Without a search_path, to be inlined.';

create function private.keyword_score(
  asked integer,
  kept integer,
  typos integer,
  typo_max integer,
  apart integer,
  attributes integer,
  attribute_max integer,
  positions integer,
  inexact double precision
)
returns double precision
language sql immutable parallel safe
as $$
  -- Horner: each rule's part is divided by the ranks of all rules before it.
  select 1 - (
    asked - kept + (
      typos + (apart + (attributes + (positions + inexact / 3) / (10 * kept + 1)) / attribute_max) / (3 * (kept - 1) + 1)
    ) / typo_max
  ) / asked
$$;
comment on function private.keyword_score(integer, integer, integer, integer, integer, integer, integer, integer, double precision) is
  'Meilisearch''s keyword score, 0 to 1, of what the rules count: 1 - sum over its rules i of (max_i - rank_i) / product of max_j for
j <= i, the closed form of its nested ranks. Without a search_path, to be inlined.';

create function private.keyword_bounds(ids bigint[], terms private.search_term[], asked integer, allowed integer[])
returns table (profile_id bigint, at_least double precision, at_most double precision, named boolean)
language plpgsql stable security invoker
set search_path = ''
-- As in keyword_scores.
set plan_cache_mode = 'force_generic_plan'
set enable_nestloop = off
as $$
begin
  return query
    with matched as (
      select
        posting.profile_id,
        posting.place,
        -- The first word_position is in the best attribute, and where the word is there twice, another may be in a better place.
        min(rank_cost + cost) as at_worst,
        min(rank_cost + case when cardinality(posting.word_positions) > 1 then 0 else cost end) as at_best,
        bool_or(posting.typos = 0 and posting.word_positions[1] < 1000000) as in_name
      from private.postings_of(terms, ids) as posting
      cross join lateral (
        select
          posting.typos * 1000 + posting.word_positions[1] / 1000000 * 100 as rank_cost,
          private.position_cost(abs(posting.word_positions[1] % 10000 - (posting.place - 1))) as cost
      ) as first
      group by posting.profile_id, posting.place
    ),
    tallies as (
      select
        matched.profile_id,
        count(*)::integer as kept,
        sum(matched.at_worst / 1000)::integer as typos,
        greatest(sum(allowed[matched.place]), case when count(*) > 1 then count(*) else 0 end)::integer + 1 as typo_max,
        sum(matched.at_worst % 1000 / 100)::integer as attributes,
        sum(matched.at_worst % 100)::integer as worst_cost,
        sum(matched.at_best % 100)::integer as nearest,
        count(*) filter (where matched.in_name) = asked as named
      from matched
      group by matched.profile_id
    )
    select
      tallies.profile_id,
      private.keyword_score(
        asked, kept, typos, typo_max, 3 * (kept - 1), attributes, 5 * kept + 1, worst_cost, 2 + kept / (kept + 1)::double precision
      ),
      private.keyword_score(asked, kept, typos, typo_max, 0, attributes, 5 * kept + 1, nearest, 0),
      tallies.named
    from tallies;
end
$$;
comment on function private.keyword_bounds(bigint[], private.search_term[], integer, integer[]) is
  'Between what the keyword scores of entries lie, by which words they hold in which attributes, at a third of what the scores themselves
take. Arguments and `named` as in keyword_scores, with its weights.';

create function private.keyword_scores(
  ids bigint[],
  terms private.search_term[],
  asked integer,
  allowed integer[],
  weights integer[] default '{0, 1, 2, 3, 4, 5}'
)
returns table (profile_id bigint, score double precision, named boolean, ranks integer[])
language plpgsql stable security invoker
set search_path = ''
-- Planning this anew for each call would take longer than doing it; and Postgres, who takes what these expressions yield for few rows, would
-- join them by nested loops, which for 1,000 candidates took minutes.
set plan_cache_mode = 'force_generic_plan'
set enable_nestloop = off
as $$
declare
  heaviest constant integer := (select max(weight) from unnest(weights) as weight);
begin
  perform private.check_deadline();
  return query
    with held as materialized (
      select
        posting.*,
        -- The best attribute, then the best place within it. Most words are said once, and to look into an array takes a row's time.
        case
          when cardinality(posting.word_positions) = 1 then
            weights[posting.word_positions[1] / 1000000 + 1] * 100 + private.position_cost(abs(posting.word_positions[1] % 10000 - (posting.place - 1)))
          else (
            select min(weights[word_position / 1000000 + 1] * 100 + private.position_cost(abs(word_position % 10000 - (posting.place - 1))))
            from unnest(posting.word_positions) as word_position
          )
        end as rank_cost
      from private.postings_of(terms, ids) as posting
    ),
    matched as materialized (
      select
        held.profile_id,
        held.place,
        -- The fewest errors first.
        min(held.typos * 1000000 + held.rank_cost) as rank_cost,
        bool_or(held.exact) as exact,
        bool_or(held.typos = 0 and held.word_positions[1] < 1000000) as in_name
      from held
      group by held.profile_id, held.place
    ),
    tallies as materialized (
      select
        matched.profile_id,
        count(*)::integer as kept,
        sum(matched.rank_cost / 1000000)::integer as typos,
        greatest(sum(allowed[matched.place]), case when count(*) > 1 then count(*) else 0 end)::integer + 1 as typo_max,
        sum(matched.rank_cost % 1000000 / 100)::integer as attributes,
        sum(matched.rank_cost % 100)::integer as positions,
        count(*) filter (where matched.exact)::integer as exacts,
        count(*) filter (where matched.in_name) = asked as named,
        bit_or(1::bigint << matched.place) as places
      from matched
      group by matched.profile_id
    ),
    best as (
      select held.profile_id, held.word, bit_or(1::bigint << held.place) as here, min(held.word_positions) as word_positions
      from held
      join matched on matched.profile_id = held.profile_id and matched.place = held.place
      where held.typos = matched.rank_cost / 1000000
      group by held.profile_id, held.word
    ),
    rank_cost as materialized (
      select best.profile_id, best.word, word_position, best.here
      from best
      cross join lateral unnest(best.word_positions) as word_position
    ),
    -- Who is next to whom, in one sweep along the texts, the places of the query that stand at a word_position being bits beside it. Pairs of word_positions,
    -- joined, are as many as the square of how often the words are said: of a word ten times, 1,000 candidates had 180,000, and took 45 ms.
    swept as (
      select
        rank_cost.profile_id,
        rank_cost.word_position,
        rank_cost.here,
        lead(rank_cost.word_position::bigint << 32 | rank_cost.here, 1) over along as next_1,
        lead(rank_cost.word_position::bigint << 32 | rank_cost.here, 2) over along as next_2,
        lead(rank_cost.word_position::bigint << 32 | rank_cost.here, 3) over along as next_3
      from rank_cost
      where asked > 1
      window along as (partition by rank_cost.profile_id order by rank_cost.word_position)
    ),
    near as (
      select
        swept.profile_id, here,
        (next_1 >> 32) - word_position as ahead_1, next_1 & 4294967295 as there_1,
        (next_2 >> 32) - word_position as ahead_2, next_2 & 4294967295 as there_2,
        (next_3 >> 32) - word_position as ahead_3, next_3 & 4294967295 as there_3
      from swept
      where next_1 >> 32 <= word_position + 3 or here & (here >> 1) <> 0
    ),
    neighbours as (
      -- A place's bit says that between it and the place after it no word stands somewhere, or one, or two; the wrong way round is one more.
      select
        near.profile_id,
        bit_or((here & (here >> 1)) | case when ahead_1 = 1 then here & (there_1 >> 1) else 0 end) as no_word,
        bit_or(
          case ahead_1 when 1 then there_1 & (here >> 1) when 2 then here & (there_1 >> 1) else 0 end
            | case when ahead_2 = 2 then here & (there_2 >> 1) else 0 end
        ) as one_word,
        bit_or(
          case ahead_1 when 2 then there_1 & (here >> 1) when 3 then here & (there_1 >> 1) else 0 end
            | case ahead_2 when 2 then there_2 & (here >> 1) when 3 then here & (there_2 >> 1) else 0 end
            | case when ahead_3 = 3 then here & (there_3 >> 1) else 0 end
        ) as two_words
      from near
      group by near.profile_id
    ),
    closeness as (
      select
        neighbours.profile_id,
        3 * bit_count(no_word::bit(64))
          + 2 * bit_count((one_word & ~no_word)::bit(64))
          + bit_count((two_words & ~one_word & ~no_word)::bit(64)) as saved
      from neighbours
    ),
    openings as (
      -- Texts that begin with the words found, in their order: each stands where there are as many found places before its own.
      select held.profile_id, rank_cost.word_position / 10000 as text, tallies.kept
      from rank_cost
      join held on held.profile_id = rank_cost.profile_id and held.word = rank_cost.word
      join tallies on tallies.profile_id = rank_cost.profile_id
      where rank_cost.word_position % 10000 < asked
        and held.exact
        and rank_cost.word_position % 10000 = bit_count((tallies.places & ((1::bigint << held.place) - 1))::bit(64))
      group by held.profile_id, rank_cost.word_position / 10000, tallies.kept
      having count(*) = tallies.kept
    ),
    opened as (
      select
        openings.profile_id,
        max(case when ends.word_positions @> array[openings.text * 10000 + openings.kept] then 3 else 2 end) as exactness
      from openings
      cross join lateral (
        select listed.word_positions
        from private.search_postings as listed
        where listed.word = '' and listed.profile_id = openings.profile_id
        offset 0
      ) as ends
      group by openings.profile_id
    ),
    placed as (
      select
        tallies.*,
        3 * (kept - 1) + 1 as proximity_max,
        3 * (kept - 1) - coalesce(closeness.saved, 0)::integer as apart,
        heaviest * kept + 1 as attribute_max,
        10 * kept + 1 as position_max,
        coalesce(opened.exactness, 1) as exactness
      from tallies
      left join opened on opened.profile_id = tallies.profile_id
      left join closeness on closeness.profile_id = tallies.profile_id
    )
    select
      placed.profile_id,
      private.keyword_score(
        asked, kept, placed.typos, typo_max, apart, attributes, attribute_max, positions,
        3 - exactness + case when exactness = 1 then (kept - exacts) / (kept + 1)::double precision else 0 end
      ),
      placed.named,
      array[
        kept, asked, placed.typos, typo_max, apart, proximity_max, attributes, attribute_max, positions, position_max, exactness, exacts
      ]
    from placed;
end
$$;
comment on function private.keyword_scores(bigint[], private.search_term[], integer, integer[], integer[]) is
  'The keyword scores of entries that hold some of the terms. `asked` is how many words the query has, `allowed` how many errors each may
hold, `weights` the order of the attributes name, interests, city, country, biography, first and last name. `named`: whether all the words
stand in the name as typed. `ranks` is what keyword_details reads.';

create function private.keyword_details(ranks integer[])
returns json
language sql immutable parallel safe set search_path = ''
as $$
  select json_build_object(
    'words', json_build_array(ranks[1], ranks[2]),
    'typo', json_build_array(ranks[4] - ranks[3], ranks[4]),
    'proximity', json_build_array(ranks[6] - ranks[5], ranks[6]),
    'attribute', json_build_array(ranks[8] - ranks[7], ranks[8]),
    'position', json_build_array(ranks[10] - ranks[9], ranks[10]),
    'exactness', json_build_array(ranks[11], 3),
    'exactWords', case when ranks[11] = 1 then json_build_array(ranks[12] + 1, ranks[1] + 1) end
  )
  where ranks is not null
$$;
comment on function private.keyword_details(integer[]) is '[rank, max] of each of the rules that make a keyword score.';

-- Who may be found at all, who holds words of the query, and who is near it in meaning. Nothing of the search asks as its owner but the
-- verb, search_profiles: what it calls, nobody else may call.
create function private.as_keys(list jsonb)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select coalesce(array_agg(distinct private.fold(trim(value))), '{}')
    from jsonb_array_elements_text(coalesce(list, '[]')) as value
  );
end
$$;
comment on function private.as_keys(jsonb) is 'The values of a filter as facet keys: folded and trimmed.';

create type private.search_filter as (
  interests text[],
  cities text[],
  countries text[],
  must tsquery,
  must_not tsquery,
  hidden_ids bigint[]
);
comment on type private.search_filter is
  'What a profile must have to be found at all: facet keys, phrases, no excluded words; and it must not be one of those that the caller is not
shown, their own and those of whoever is hidden from them.';

-- Without `set search_path`, so that it is inlined and the indexes of what it asks for are used.
create function private.matches_filter(entry private.search_entries, sought private.search_filter)
returns boolean
language sql immutable security invoker
as $$
  select (sought.interests = '{}' or entry.interest_keys && sought.interests)
    and (sought.cities = '{}' or entry.city_key = any (sought.cities))
    and (sought.countries = '{}' or entry.country_key = any (sought.countries))
    and (sought.must is null or entry.words @@ sought.must)
    and (sought.must_not is null or not entry.words @@ sought.must_not)
    and (sought.hidden_ids = '{}' or entry.profile_id <> all (sought.hidden_ids))
$$;
comment on function private.matches_filter(private.search_entries, private.search_filter) is 'Whether a profile passes the filters of a search.';

create function private.selective_terms(terms private.search_term[])
returns private.search_term[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    with units as (
      -- A word that every fourth profile has tells nothing of any one: it counts where it stands, and brings nobody up by itself. With 25
      -- profiles or fewer no word is common.
      select
        unit,
        max(entries) > greatest(25, (select max(entries) / 4 from private.search_lexicon)) and not bool_or(quoted) as is_common
      from unnest(terms)
      group by unit
    ),
    rarest as (
      select place, unit
      from (
        select
          *,
          row_number() over (partition by unit order by entries, word) as nth,
          row_number() over (partition by phrase is null order by entries, word) as nth_of_all
        from unnest(terms)
      ) as numbered
      join units using (unit)
      -- Where every run of letters has one that everybody has, one of them brings people up, and the others count where they stand: each
      -- would have to be looked for in nearly every profile, which for ten runs took 0.8 s.
      where nth = 1 and (nth_of_all = 1 or not is_common)
    )
    select array_agg(term order by term.entries, term.word)
    from unnest(terms) as term
    join units using (unit)
    where (not is_common or (select bool_and(is_common) from units))
      and (term.phrase is null or (term.place, term.unit) in (select place, unit from rarest))
  );
end
$$;
comment on function private.selective_terms(private.search_term[]) is
  'The terms that bring somebody into the hits, rarest first: of a phrase its rarest word, and none of common words, unless there are no
others.';

create function private.filter_profiles(sought private.search_filter, word text, max_results integer)
returns bigint[]
language plpgsql stable security invoker set search_path = ''
as $$
declare
  ids bigint[];
begin
  -- Planned for what is asked for, so that it takes the index which fits.
  execute
    'select array(
       select profile_id
       from private.search_entries as entry
       where private.matches_filter(entry, $1)
         and ($2 is null or profile_id in (select listed.profile_id from private.search_postings as listed where listed.word = $2))
       limit $3
     )'
  into ids
  using sought, word, max_results;
  return ids;
end
$$;
comment on function private.filter_profiles(private.search_filter, text, integer) is
  'The profiles that pass the filters and have a word, where one is given; at max_results so many.';

create function private.keyword_matches(
  terms private.search_term[],
  sought private.search_filter,
  within bigint[],
  max_results integer
)
returns bigint[]
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  -- Who is within has passed the filters.
  anybody constant boolean := within is not null
    or (sought.interests || sought.cities || sought.countries = '{}' and coalesce(sought.must, sought.must_not) is null);
begin
  return array(
    select profile_id
    from (
      select profile_id, unit
      from (
        select posting.profile_id, term.unit
        from unnest(terms) as term
        cross join lateral (
          -- The offsets keep Postgres to its index. To look thousands of profiles up for each of hundreds of words takes longer than to read
          -- what exact_scan_limit have the words.
          (
            select listed.profile_id
            from private.search_postings as listed
            where (within is null or term.entries <= cardinality(within)) and listed.word = term.word
            offset 0
          )
          union all
          (
            select listed.profile_id
            from private.search_postings as listed
            where term.entries > cardinality(within) and listed.word = term.word and listed.profile_id = any (within)
            offset 0
          )
        ) as posting
        where (within is null or posting.profile_id in (select unnest(within)))
          and posting.profile_id not in (select unnest(sought.hidden_ids))
          and (
            (anybody and term.phrase is null)
            or exists (
              select
              from private.search_entries as entry
              where entry.profile_id = posting.profile_id
                and (term.phrase is null or entry.words @@ term.phrase)
                and (anybody or private.matches_filter(entry, sought))
            )
          )
        -- One profile may hold every term.
        limit max_results * cardinality(terms)
      ) as held
      group by profile_id, unit
    ) as units
    group by profile_id
    order by count(*) desc, profile_id
    limit max_results
  );
end
$$;
comment on function private.keyword_matches(private.search_term[], private.search_filter, bigint[], integer) is
  'Who holds any of the terms and passes the filters, those first who hold the max_results of the query, at max_results so many.';

create function private.resolve_phrases(terms private.search_term[], ids bigint[])
returns private.search_term[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    with holders as (
      select phrases.unit, array_agg(entry.profile_id) as ids
      from unnest(resolve_phrases.ids) as id
      cross join lateral (
        select profile_id, words
        from private.search_entries
        where profile_id = id
        offset 0
      ) as entry
      join (select distinct unit, phrase from unnest(terms) where phrase is not null and not quoted) as phrases
        on entry.words @@ phrases.phrase
      group by phrases.unit
    )
    select array_agg(
      row(
        place, unit, word, typos, exact, entries, quoted, null, case when phrase is not null and not quoted then coalesce(holders.ids, '{}') end
      )::private.search_term
      order by place
    )
    from unnest(terms) as term
    left join holders using (unit)
  );
end
$$;
comment on function private.resolve_phrases(private.search_term[], bigint[]) is
  'The terms without their phrases, for candidates that have all of what is in quotes: who of them has which run of letters is looked up once.';

create function private.nearest_profiles(
  meaning extensions.halfvec,
  meaning_model text,
  sought private.search_filter,
  exclude_ids bigint[],
  reach integer,
  max_distance double precision,
  out ids bigint[],
  out distances double precision[]
)
language plpgsql stable security invoker
set search_path = 'extensions'
-- About in the order of the distances: to have them exactly in order costs half as much again, and whoever asks ranks them.
set hnsw.iterative_scan = 'relaxed_order'
set hnsw.ef_search = 100
-- The one plan that there is to be: a walk along the index.
set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off
set enable_sort = off
as $$
declare
  neighbour record;
  strangers integer := 0;
begin
  ids := array[]::bigint[];
  distances := array[]::double precision[];
  for neighbour in
    select profile_id, embedding <=> meaning as distance
    from private.search_entries as entry
    where model = meaning_model
      and private.matches_filter(entry, sought)
      and profile_id not in (select unnest(exclude_ids))
    order by embedding <=> meaning
  loop
    if neighbour.distance <= max_distance then
      ids := ids || neighbour.profile_id;
      distances := distances || neighbour.distance;
      strangers := 0;
    else
      strangers := strangers + 1;
    end if;
    -- As many as come at a time: when all of them are too far away, so are those that would come after them.
    exit when strangers = 100 or cardinality(ids) >= reach;
  end loop;
end
$$;
comment on function private.nearest_profiles(extensions.halfvec, text, private.search_filter, bigint[], integer, double precision) is
  'The profiles nearest to a vector exclude_ids some that are known, at max_results so many and so far away, and their cosine distances, along the index.';

-- The search itself: whom words or meaning found, in what order, and the page that is asked for.
-- Without `set search_path`, so that it is inlined: called, twenty of them take a millisecond.
create function private.hit_body(entry private.search_entries, score double precision)
returns json
language sql stable security invoker
as $$
  select json_build_object(
    'id', entry.profile_id,
    'user_id', entry.user_id,
    'name', entry.name,
    'biography', entry.biography,
    'city', entry.city,
    'country', entry.country,
    'interests', to_json(entry.interests),
    'image_url', entry.image_url,
    '_rankingScore', score
  )
$$;
comment on function private.hit_body(private.search_entries, double precision) is 'A search hit, as printed.';

create function private.hybrid_score(ratio double precision, keyword double precision, semantic double precision, named boolean)
returns double precision
language sql immutable parallel safe
as $$
  select greatest((1 - ratio) * keyword + ratio * semantic, case when named then keyword end)
$$;
comment on function private.hybrid_score(double precision, double precision, double precision, boolean) is
  'Both parts of a score by their weights, and never less than that of the words where all of them stand in the name. Without a
search_path, to be inlined.';

create function private.find_profiles(
  query text,
  meaning extensions.halfvec,
  meaning_model text,
  ratio double precision,
  filters jsonb,
  caller bigint,
  page_limit integer,
  page_offset bigint,
  explain boolean
)
returns json
language plpgsql stable security invoker
set search_path = 'extensions'
-- Planning its statements anew would take longer than max_results of them.
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  -- No more are scored, and no total counts further, whatever a query matches.
  max_results constant integer := 1000;
  -- Up to so many rows, measuring every one is exact, and quicker than walking the index, on which those that a filter leaves lie far apart.
  exact_scan_limit integer := 2000;
  model private.search_models;
  words constant private.query_word[] := array(select part from private.parse_query(query) as part);
  asked constant integer := coalesce((select max(place) from unnest(words) where not excluded), 0);
  in_quotes constant integer := (select count(*) from unnest(words) where quoted and not excluded and place is not null);
  allowed constant integer[] := array(select private.typo_budget(word) from unnest(words) where not excluded and place is not null order by place);
  -- Who asks with no words gets everybody, near or not.
  max_distance double precision := 2;
  hidden constant bigint[] := caller || private.kept_from(caller);
  terms private.search_term[];
  selective private.search_term[];
  rarest private.search_term;
  sought private.search_filter;
  filtered boolean;
  often boolean;
  reach integer;
  within bigint[];
  by_words bigint[] := array[]::bigint[];
  by_meaning bigint[] := array[]::bigint[];
  distances double precision[];
  scores_all boolean;
  answer json;
begin
  select * into model from private.search_models where name = meaning_model;
  if model.name is null then
    meaning := null;
  end if;
  if asked > 0 then
    max_distance := 1 - model.similarity_threshold;
    terms := coalesce(private.terms_of(words), '{}');
  end if;
  with units as (
    select excluded, quoted, string_agg(quote_literal(word), ' <-> ' order by position)::tsquery as phrase
    from unnest(words)
    group by excluded, quoted, unit
  )
  select
    private.as_keys(filters -> 'interests'),
    private.as_keys(filters -> 'cities'),
    private.as_keys(filters -> 'countries'),
    (select string_agg(phrase::text, ' & ')::tsquery from units where quoted and not excluded),
    (select string_agg('(' || phrase::text || ')', ' | ')::tsquery from units where excluded),
    array(select profile_id from private.search_entries where user_id = any (hidden))
  into sought;
  selective := private.selective_terms(terms);
  filtered := sought.interests || sought.cities || sought.countries <> '{}';
  -- To look at every profile once takes less than at each as often as it has a word, where the words are common.
  often := sought.must_not is not null and (select sum(entries) from unnest(selective)) > exact_scan_limit;
  if filtered or often or sought.must is not null then
    exact_scan_limit := 10000;
  end if;
  perform private.check_deadline();

  if sought.must is not null then
    -- Whoever has the rarest of the words is looked at, once, and nobody else; of more than these who pass, the first.
    select * into rarest from unnest(terms) where quoted order by entries limit 1;
    within := case
      when (select count(distinct place) from unnest(terms) where quoted) < in_quotes then '{}'
      else private.filter_profiles(sought, rarest.word, exact_scan_limit)
    end;
  elsif filtered or often or not exists (select from private.search_entries offset exact_scan_limit) then
    within := private.filter_profiles(sought, null, exact_scan_limit + 1);
    if cardinality(within) > exact_scan_limit then
      within := null;
    end if;
  end if;
  perform private.check_deadline();

  if cardinality(selective) > 0 then
    by_words := private.keyword_matches(selective, sought, within, max_results);
    if exists (select from unnest(terms) where phrase is not null) then
      terms := private.resolve_phrases(terms, by_words);
    end if;
    perform private.check_deadline();
  end if;
  if asked = 0 and meaning is null then
    by_words := array(
      select profile_id
      from private.search_entries as entry
      where private.matches_filter(entry, sought)
      order by profile_id
      limit max_results
    );
  end if;

  perform private.check_deadline();
  -- Those exclude_ids whom the words brought, as many as the total still counts, and no fewer than make the first pages.
  reach := greatest(100, max_results - cardinality(by_words));
  if meaning is not null and within is not null then
    select coalesce(array_agg(profile_id), '{}'), coalesce(array_agg(distance), '{}')
    into by_meaning, distances
    from (
      select profile_id, embedding <=> meaning as distance
      from private.search_entries
      where profile_id = any (within)
        and profile_id not in (select unnest(by_words))
        and search_entries.model = meaning_model
        and embedding <=> meaning <= max_distance
      order by distance, profile_id
      limit reach
    ) as nearest;
  elsif meaning is not null then
    select ids, nearest.distances
    into by_meaning, distances
    from private.nearest_profiles(meaning, meaning_model, sought, by_words, reach, max_distance) as nearest;
  end if;

  -- Far down the list, or at its end, bounds leave out so exact_scan_limit that to find them takes longer than to score all.
  scores_all := page_offset + page_limit >= least(200, cardinality(by_words) + cardinality(by_meaning));
  perform private.check_deadline();
  with measured as (
    select id as profile_id, null::double precision as cosine
    from unnest(by_words) as id
    where meaning is null
    union all
    select profile_id, case when entry.model = meaning_model then 1 - (embedding <=> meaning) end
    from private.search_entries as entry
    where meaning is not null and profile_id = any (by_words)
    union all
    select id, 1 - distance
    from unnest(by_meaning, distances) as near (id, distance)
  ),
  bounds as (
    select * from private.keyword_bounds(case when not scores_all then by_words end, terms, asked, allowed)
  ),
  weighed as (
    select
      measured.profile_id,
      case when asked = 0 and meaning is null then 1 else coalesce(bounds.at_least, 0) end as at_least,
      case when asked = 0 and meaning is null then 1 else coalesce(bounds.at_most, 0) end as at_most,
      bounds.named,
      cosine,
      -- 0 without a cosine, since greatest() passes nulls over.
      least(1, greatest(0, (cosine - model.similarity_floor) / (model.similarity_ceiling - model.similarity_floor))) as semantic,
      -- A leg that is missing, for the whole query or for one entry (also one of which the model knows no word), leaves all the weight to the
      -- other.
      case when cosine is null then 0 when cardinality(by_words) = 0 then 1 else ratio end as ratio
    from measured
    left join bounds on bounds.profile_id = measured.profile_id
  ),
  candidates as materialized (
    select
      *,
      private.hybrid_score(weighed.ratio, at_least, semantic, named) as lowest,
      private.hybrid_score(weighed.ratio, at_most, semantic, named) as highest
    from weighed
  ),
  contenders as materialized (
    -- Who cannot come onto the page, however well they hold the words, need not be scored. Less a little, for what rounding does.
    select *
    from candidates
    where scores_all or highest >= coalesce(
      (select lowest from candidates order by lowest desc offset least(page_offset, max_results) + page_limit - 1 limit 1) - 1e-9,
      0
    )
  ),
  keyword as (
    select *
    from private.keyword_scores(
      case when scores_all then by_words else array(select profile_id from contenders where named is not null) end, terms, asked, allowed
    )
  ),
  ranked as (
    select
      contenders.profile_id,
      coalesce(keyword.score, contenders.at_least) as keyword,
      keyword.named,
      keyword.ranks,
      contenders.cosine,
      contenders.semantic,
      contenders.ratio,
      private.hybrid_score(contenders.ratio, coalesce(keyword.score, contenders.at_least), semantic, keyword.named) as score
    from contenders
    left join keyword on keyword.profile_id = contenders.profile_id
  ),
  page as (
    select *
    from ranked
    order by score desc, keyword desc, profile_id
    limit greatest(0, least(page_limit, max_results - page_offset))
    offset page_offset
  )
  select json_build_object(
    'hits', coalesce(
      json_agg(
        case
          when explain then (
            private.hit_body(entry, page.score)::jsonb || jsonb_build_object('_rankingScoreDetails', jsonb_build_object(
              'words', private.keyword_details(page.ranks),
              'keyword', page.keyword,
              'cosine', page.cosine,
              'nothingAlike', model.similarity_floor,
              'muchAlike', model.similarity_ceiling,
              'semantic', page.semantic,
              'ratio', page.ratio,
              'named', coalesce(page.named, false)
            ))
          )::json
          else private.hit_body(entry, page.score)
        end
        order by page.score desc, page.keyword desc, page.profile_id
      ),
      '[]'
    ),
    'query', query,
    'estimatedTotalHits', least(max_results, cardinality(by_words) + cardinality(by_meaning)),
    'limit', page_limit,
    'offset', page_offset
  )
  into answer
  from page
  join private.search_entries as entry on entry.profile_id = page.profile_id;
  return answer;
end
$$;
comment on function private.find_profiles(text, extensions.halfvec, text, double precision, jsonb, bigint, integer, bigint, boolean) is
  'The search: profiles that hold the words of a query or are near it in meaning, filtered, best first, with their number up to 1,000,
which beyond 2,000 profiles, or 10,000 that a filter leaves, is as exact as a walk along the index of vectors. Of everybody whom either leg
found it reckons both parts of the score, that of the words as closely as the page needs.';

-- Vectors: the queue that brings them, what people's own contexts mean, and the verb that puts all together.

create table private.search_contexts (
  user_id bigint primary key references public.users (id) on delete cascade,
  content_hash text not null,
  model text references private.search_models (name) on delete set null,
  embedding extensions.halfvec(384)
);
comment on table private.search_contexts is
  'What each person''s own interests, bio and location mean: mixed into their searches, so that a search needs no second embedding.';
create index search_contexts_model_idx on private.search_contexts (model);
alter table private.search_contexts enable row level security;

create table private.embedding_queue (
  kind text not null check (kind in ('profile', 'context')),
  id bigint not null,
  attempts integer not null default 0,
  due_at timestamptz not null default now(),
  last_error text,
  queued_at timestamptz not null default now(),
  model text,
  primary key (kind, id)
);
comment on table private.embedding_queue is
  'What needs a vector: profiles (by profile id) and contexts (by user id). A row goes when its vector is saved; after 8 attempts it
stays as a dead letter until its text or the model changes.';
comment on column private.embedding_queue.queued_at is 'Since when there is no vector; a text that changes once more does not wait anew.';
comment on column private.embedding_queue.model is 'Which model the attempts were made with; another begins anew, for it may take what this one refused.';
create index embedding_queue_due_at_idx on private.embedding_queue (due_at) where attempts < 8;
alter table private.embedding_queue enable row level security;

create function private.enqueue_embedding()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  subject bigint;
begin
  if tg_argv[0] = 'profile' then
    subject := new.profile_id;
  else
    subject := new.user_id;
  end if;
  insert into private.embedding_queue (kind, id)
  values (tg_argv[0], subject)
  on conflict (kind, id) do update set attempts = 0, due_at = now(), last_error = null;
  return null;
end
$$;
comment on function private.enqueue_embedding() is 'Asks for a vector. Definer, because whoever changes a profile may not write the queue.';

create trigger enqueue_new_entry
  after insert on private.search_entries
  for each row
  execute function private.enqueue_embedding('profile');

create trigger enqueue_changed_entry
  after update of content_hash on private.search_entries
  for each row
  when (old.content_hash is distinct from new.content_hash)
  execute function private.enqueue_embedding('profile');

create trigger enqueue_context
  after insert or update of content_hash on private.search_contexts
  for each row
  when (new.embedding is null)
  execute function private.enqueue_embedding('context');

create function private.entry_text(profile bigint)
returns text
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select concat_ws('. ', nullif(array_to_string(interests, ', '), ''), concat_ws(', ', city, country), biography)
    from private.search_entries
    where profile_id = profile
  );
end
$$;
comment on function private.entry_text(bigint) is 'What a profile''s vector is made from.';

create function private.context_text(person bigint)
returns text
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select concat_ws(
      '. ',
      (
        select string_agg(interests.name, ', ' order by interests.name)
        from public.profiles
        join public.profile_interests on profile_interests.profile_id = profiles.id
        join public.interests on interests.id = profile_interests.interest_id
        where profiles.user_id = users.id
      ),
      users.bio,
      users.location
    )
    from public.users
    where id = person and is_active
  );
end
$$;
comment on function private.context_text(bigint) is 'What a person''s context is made from.';

create function private.refresh_search_context(person bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  own text := private.context_text(person);
begin
  if own is null or own = '' then
    delete from private.search_contexts where user_id = person;
    return;
  end if;
  insert into private.search_contexts as context (user_id, content_hash)
  values (person, md5(own))
  on conflict (user_id) do update set
    content_hash = excluded.content_hash,
    embedding = null,
    model = null
  where context.content_hash <> excluded.content_hash;
end
$$;
comment on function private.refresh_search_context(bigint) is
  'Makes a person''s context what it should be now. For definer triggers alone: whoever changes a profile may not write the index.';

create function private.adopt_model(wanted text)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
  insert into private.search_models (name, similarity_floor, similarity_ceiling, similarity_threshold)
  values (wanted, 0.1, 0.6, 0.3)
  on conflict do nothing;
  -- Past what is queued for it already, or each process that starts would hold the whole queue for a moment.
  insert into private.embedding_queue as job (kind, id, model)
  select kind, id, wanted
  from (
    select 'profile' as kind, profile_id as id from private.search_entries where model is distinct from wanted
    union all
    select 'context', user_id from private.search_contexts where model is distinct from wanted
  ) as lacking
  where not exists (
    select from private.embedding_queue as queued
    where queued.kind = lacking.kind and queued.id = lacking.id and queued.model = wanted
  )
  on conflict (kind, id) do update set attempts = 0, due_at = now(), last_error = null, model = wanted
  where job.model is distinct from wanted;
end
$$;
comment on function private.adopt_model(text) is
  'Queues everything that has no vector of this model, also what another model gave up. Vectors of different models are never compared: until
theirs is made, profiles are found by words. Definer, because the doors hold no right on the index.';
grant execute on function private.adopt_model(text) to edge_functions;

create function private.claim_embeddings(wanted text, most integer)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  claimed json;
begin
  with taken as (
    update private.embedding_queue
    set
      attempts = attempts + 1,
      -- Whoever claimed it has half a minute; then it is due again, later each time.
      due_at = now() + interval '30 seconds' * 2 ^ attempts,
      model = wanted
    where (kind, id) in (
      select kind, id
      from private.embedding_queue
      where due_at <= now() and attempts < 8
      order by due_at
      limit most
      for update skip locked
    )
    returning kind, id
  )
  select coalesce(json_agg(taken), '[]') into claimed from taken;

  -- Hidden or gone since it was queued: nothing is to be done. By statements of their own, because one that updates a row cannot delete it,
  -- and has not seen what was shown again before it took the row; whoever shows it from here on waits for this, and queues it anew.
  delete from private.embedding_queue as job
  using json_to_recordset(claimed) as mine (kind text, id bigint)
  where job.kind = mine.kind and job.id = mine.id
    and not exists (select from private.search_entries where mine.kind = 'profile' and profile_id = mine.id)
    and not exists (select from private.search_contexts where mine.kind = 'context' and user_id = mine.id);

  return (
    select coalesce(
      json_agg(
        json_build_object(
          'kind', mine.kind,
          'id', mine.id,
          'text', case mine.kind when 'profile' then private.entry_text(mine.id) else private.context_text(mine.id) end,
          'content_hash', coalesce(entry.content_hash, context.content_hash)
        )
      ),
      '[]'
    )
    from json_to_recordset(claimed) as mine (kind text, id bigint)
    left join private.search_entries as entry on mine.kind = 'profile' and entry.profile_id = mine.id
    left join private.search_contexts as context on mine.kind = 'context' and context.user_id = mine.id
    where entry.profile_id is not null or context.user_id is not null
  );
end
$$;
comment on function private.claim_embeddings(text, integer) is
  'Takes up to so many due jobs for this model as [{kind, id, text, content_hash}]; two workers never get the same. Definer, because the
doors hold no right on the queue.';
grant execute on function private.claim_embeddings(text, integer) to edge_functions;

create function private.save_embeddings(made_by text, vectors jsonb)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
  with made as (
    select kind, id, content_hash, nullif(embedding, 'null')::text::extensions.halfvec as embedding
    from jsonb_to_recordset(vectors) as vector (kind text, id bigint, content_hash text, embedding jsonb)
  ),
  profiles as (
    update private.search_entries as entry
    set model = made_by, embedding = made.embedding
    from made
    where made.kind = 'profile' and entry.profile_id = made.id and entry.content_hash = made.content_hash
    returning 'profile' as kind, profile_id as id
  ),
  contexts as (
    update private.search_contexts as context
    set model = made_by, embedding = made.embedding
    from made
    where made.kind = 'context' and context.user_id = made.id and context.content_hash = made.content_hash
    returning 'context', user_id
  )
  delete from private.embedding_queue as job
  using (select * from profiles union all select * from contexts) as saved
  where job.kind = saved.kind and job.id = saved.id;
end
$$;
comment on function private.save_embeddings(text, jsonb) is
  'Keeps vectors [{kind, id, content_hash, embedding}] whose text is still the same; the others stay queued. Definer, because the doors
hold no right on the index.';
grant execute on function private.save_embeddings(text, jsonb) to edge_functions;

create function private.fail_embeddings(jobs jsonb, reason text)
returns void
language sql volatile security definer set search_path = ''
as $$
  update private.embedding_queue as job
  set last_error = left(reason, 500)
  from jsonb_to_recordset(jobs) as failed (kind text, id bigint)
  where job.kind = failed.kind and job.id = failed.id
$$;
comment on function private.fail_embeddings(jsonb, text) is
  'Notes why jobs failed; they come due again by themselves, later each time. Definer, because the doors hold no right on the queue.';
grant execute on function private.fail_embeddings(jsonb, text) to edge_functions;

create function private.count_pending_embeddings()
returns json
language sql stable security definer set search_path = ''
as $$
  select to_json(count(*)) from private.embedding_queue where attempts < 8
$$;
comment on function private.count_pending_embeddings() is 'How much waits for a vector. Definer, because the doors hold no right on the queue.';
grant execute on function private.count_pending_embeddings() to edge_functions;

create function api.search_profiles(request jsonb)
returns json
language plpgsql stable security definer set search_path = 'extensions'
as $$
declare
  me constant bigint := private.my_id();
  -- How much of a searcher's own context goes into what they search for.
  share constant real := 0.3;
  model constant text := request ->> 'model';
  asked halfvec := (request ->> 'vector')::halfvec;
  own halfvec;
begin
  perform set_config('api.time_limit', coalesce(request ->> 'timeout' || ' ms', ''), true);
  if me is not null and model is not null then
    select embedding into own from private.search_contexts where user_id = me and search_contexts.model = request ->> 'model';
  end if;
  return private.find_profiles(
    coalesce(request ->> 'q', ''),
    case
      when own is null then asked
      when asked is null then case when trim(coalesce(request ->> 'q', '')) = '' then own end
      else l2_normalize(
        array_fill(1 - share, array[384])::halfvec * asked + array_fill(share, array[384])::halfvec * own
      )
    end,
    model,
    case when me is null then 0.5 else 0.7 end,
    request,
    me,
    (request ->> 'limit')::integer,
    (request ->> 'offset')::bigint,
    coalesce((request ->> 'explain')::boolean, false)
  );
end
$$;
comment on function api.search_profiles(jsonb) is
  'Profiles for {q, vector, model, interests, cities, countries, limit, offset, explain, timeout}: for a known caller at a semantic ratio of 0.7
and with their own context, for anybody else at 0.5. After so many milliseconds it is cancelled (57014). Definer, because nobody reads the
index: this is the one way to see it.';
grant execute on function api.search_profiles(jsonb) to edge_functions;

-- What whoever runs the service asks of the search: whether the index says what the profiles say, and how its queue does.

create table private.search_audit (
  finding text primary key,
  amount bigint not null check (amount >= 0),
  audited_at timestamptz not null
);
comment on table private.search_audit is
  'What the latest audit of the index found: a row for each thing that it looks for, 0 where all is well.';
alter table private.search_audit enable row level security;

create function private.audit_search_index()
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- One audit at a time; whoever comes meanwhile has the one before.
  if pg_try_advisory_xact_lock('private.search_audit'::regclass::oid::bigint) then
    -- One statement sees one moment, and in each moment the index is in step: nobody who writes need wait.
    with shown as (
      select
        profiles, profiles.id, users.id as user_id, users.name, profiles.biography, profiles.city, profiles.country,
        coalesce(likes.names, '{}') as interests, profiles.image_url
      from public.profiles
      join public.users on users.id = profiles.user_id
      left join (
        select profile_id, array_agg(interests.name order by interests.name) as names
        from public.profile_interests
        join public.interests on interests.id = profile_interests.interest_id
        group by profile_id
      ) as likes on likes.profile_id = profiles.id
      where profiles.is_searchable and users.is_active
    ),
    -- Looking at every word again takes up to 5 ms a profile (PGlite, a busy machine), so a hundred are drawn, others each time.
    drawn as (
      select shown.profiles, shown.id, shown.name, shown.interests, entry.words
      from shown
      join private.search_entries as entry on entry.profile_id = shown.id
      order by random()
      limit 100
    ),
    findings (finding, amount) as (
      select 'missing', count(*)
      from shown
      where not exists (select from private.search_entries where profile_id = shown.id)
      union all
      select 'surplus', count(*)
      from private.search_entries
      where not exists (select from shown where shown.id = profile_id)
      union all
      select 'stale', count(*)
      from shown
      join private.search_entries as entry on entry.profile_id = shown.id
      where (entry.user_id, entry.name, entry.biography, entry.city, entry.country, entry.interests, entry.image_url)
        is distinct from
        (shown.user_id, shown.name, shown.biography, shown.city, shown.country, shown.interests, shown.image_url)
      union all
      select 'misworded', count(*)
      from drawn
      cross join lateral private.positions_of(drawn.profiles, drawn.name, drawn.interests) as fresh
      cross join lateral (
        select coalesce(jsonb_object_agg(word, to_jsonb(word_positions)), '{}') as word_positions
        from private.search_postings
        where profile_id = drawn.id
      ) as kept
      where kept.word_positions <> fresh or drawn.words <> private.words_from_positions(fresh)
      union all
      select 'miscounted', count(*)
      from private.search_lexicon as lexicon
      full join (
        select word, count(*) as entries from private.search_postings where word <> '' group by word
      ) as counted using (word)
      where lexicon.entries is distinct from counted.entries
      union all
      select 'forgotten', count(*)
      from (
        select 'profile' as kind, profile_id as id from private.search_entries where model is null
        union all
        select 'context', user_id from private.search_contexts where model is null
      ) as without_vector
      where not exists (
        select from private.embedding_queue as job where job.kind = without_vector.kind and job.id = without_vector.id
      )
    )
    insert into private.search_audit as audit (finding, amount, audited_at)
    select finding, amount, now()
    from findings
    on conflict (finding) do update set amount = excluded.amount, audited_at = excluded.audited_at;
  end if;
  return (select json_object_agg(finding, amount order by finding) from private.search_audit);
end
$$;
comment on function private.audit_search_index() is
  'Counts where the index and the profiles differ. missing, surplus: in the search or not, and should not be or be; stale: with other
texts; misworded: found by other words (of 100 drawn at random); miscounted: words whose number the lexicon has wrong; forgotten: without a
vector and not queued for one.';

create function private.rebuild_search_index()
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- As in refresh_search_entry: whoever writes a profile waits until this is done.
  perform pg_advisory_xact_lock('private.search_entries'::regclass::oid::bigint);
  delete from private.search_entries as entry
  where not exists (
    select
    from public.profiles
    join public.users on users.id = profiles.user_id
    where profiles.id = entry.profile_id and profiles.is_searchable and users.is_active
  );
  -- No entry looks as it should, so each is written anew; a vector stays where its text is the same.
  update private.search_entries set name = '';
  perform private.refresh_search_entry(id) from public.profiles where is_searchable;
  perform private.refresh_search_context(id) from public.users;
  delete from private.search_lexicon;
  insert into private.search_lexicon (word, entries)
  select word, count(*)::integer from private.search_postings where word <> '' group by word;
  insert into private.embedding_queue (kind, id)
  select 'profile', profile_id from private.search_entries where model is null
  union all
  select 'context', user_id from private.search_contexts where model is null
  on conflict (kind, id) do nothing;
  return private.audit_search_index();
end
$$;
comment on function private.rebuild_search_index() is
  'Makes the index what the profiles say, whatever it was; answers with the audit. Nobody can change a profile meanwhile: up to 12 ms for each that there is.';

create function private.describe_search()
returns json
language sql stable security definer set search_path = ''
as $$
  select json_build_object(
    'waiting', count(*) filter (where attempts < 8),
    'dead', count(*) filter (where attempts >= 8),
    'oldest', coalesce(extract(epoch from now() - min(queued_at) filter (where attempts < 8)), 0),
    'audit', (select json_object_agg(finding, amount order by finding) from private.search_audit),
    'audit_age', (select extract(epoch from now() - max(audited_at)) from private.search_audit)
  )
  from private.embedding_queue
$$;
comment on function private.describe_search() is
  'How the queue does, and what the latest audit found and how many seconds ago; null where there was none. Definer, because the doors hold no
right on either.';
grant execute on function private.describe_search() to edge_functions;

create function private.report_search(oldest_audit double precision)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not exists (select from private.search_audit where audited_at > now() - oldest_audit * interval '1 second') then
    perform private.audit_search_index();
  end if;
  return private.describe_search();
end
$$;
comment on function private.report_search(double precision) is
  'As describe_search, but audits first where the latest is more than so many seconds old, which can take too long. Definer, as that.';
grant execute on function private.report_search(double precision) to edge_functions;

-- Events: what the two people of a conversation hear as it happens, over the platform's Realtime. An event is a hint that something is
-- there; the tables are the truth, and whoever missed an event finds what it was about by paging with after_id.
create function private.broadcast_to_participants(event text, conversation bigint, id bigint, previous_id bigint, person bigint)
returns void
language plpgsql volatile security invoker
set search_path = ''
-- Realtime makes and drops partitions of its table now and then; a message is not to wait for that.
set lock_timeout = '100ms'
as $$
declare
  topics text[];
begin
  select array_agg('user:' || users.id)
  into topics
  from public.conversations
  join public.users on users.id in (conversations.voyager_id, conversations.local_id)
  where conversations.id = conversation and users.is_active;
  -- Realtime asks for a person's rights when they join, not for each event. So who is deactivated is simply not sent to any more.
  if cardinality(topics) = 2 then
    topics := topics || ('conversation:' || conversation);
  end if;
  perform realtime.send(
    jsonb_build_object('conversation_id', conversation, 'id', id, 'previous_id', previous_id, 'user_id', person), event, topic, true
  )
  from unnest(topics) as topic;
exception
  -- Whatever ails Realtime, even that it is not there, the write that this is about stands.
  when others then
    raise warning 'An event % could not be sent: %', event, sqlstate;
end
$$;
comment on function private.broadcast_to_participants(text, bigint, bigint, bigint, bigint) is
  'Sends one event {conversation_id, id, previous_id, user_id} to both participants who are active, and to the conversation''s topic
while both are. Never fails. For definer triggers alone: nobody may send on these topics, and one that sent as the writer would send nothing.';

create function private.broadcast_conversation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.broadcast_to_participants('conversation.created', new.id, new.id, null, new.voyager_id);
  return null;
end
$$;
comment on function private.broadcast_conversation() is
  'conversation.created: user_id is the voyager, who opened it. Definer, because callers may not send events.';

create trigger broadcast_conversation
  after insert on public.conversations
  for each row
  execute function private.broadcast_conversation();

create function private.broadcast_message()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  previous_id bigint;
begin
  -- Here rather than in a function of its own, which would be planned anew each time: 40 µs of the 250 that a message takes.
  select max(id)
  into previous_id
  from public.messages
  where conversation_id = new.conversation_id and id < new.id;
  perform private.broadcast_to_participants('message.created', new.conversation_id, new.id, previous_id, new.user_id);
  return null;
end
$$;
comment on function private.broadcast_message() is 'message.created: user_id is the sender. Definer, because callers may not send events.';

create trigger broadcast_message
  after insert on public.messages
  for each row
  execute function private.broadcast_message();

create function private.broadcast_read()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.broadcast_to_participants(
    'message.read',
    marked.conversation_id,
    marked.id,
    (select max(id) from public.messages where conversation_id = marked.conversation_id and id < marked.id),
    marked.reader
  )
  from (
    select
      now_read.conversation_id,
      max(now_read.id) as id,
      case now_read.user_id when conversations.voyager_id then conversations.local_id else conversations.voyager_id end as reader
    from now_read
    join was_read using (id)
    join public.conversations on conversations.id = now_read.conversation_id
    where now_read.read and not was_read.read
    group by now_read.conversation_id, reader
  ) as marked;
  return null;
end
$$;
comment on function private.broadcast_read() is
  'message.read: id is the newest message that one statement marked in a conversation, user_id who read it. One event however many
were marked. Definer, because callers may not send events.';

create trigger broadcast_read
  after update on public.messages
  referencing old table as was_read new table as now_read
  for each statement
  execute function private.broadcast_read();

create function private.broadcast_reservation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.broadcast_to_participants('reservation.changed', touched.conversation, coalesce(new.id, old.id), null, null)
  from (select old.conversation_id union select new.conversation_id) as touched (conversation)
  where touched.conversation is not null;
  return null;
end
$$;
comment on function private.broadcast_reservation() is
  'reservation.changed: made, changed, moved from one conversation to another or removed. Definer, because callers may not send events.';

create trigger broadcast_reservation
  after insert or update or delete on public.reservations
  for each row
  execute function private.broadcast_reservation();

create function private.tell_of_block()
returns trigger
language plpgsql volatile security definer
set search_path = ''
-- As in broadcast_to_participants.
set lock_timeout = '100ms'
as $$
declare
  touched constant private.blocks := coalesce(new, old);
begin
  perform realtime.send(
    jsonb_build_object(
      'conversation_id', (
        select id
        from public.conversations
        where least(voyager_id, local_id) = least(touched.blocker_id, touched.blocked_id)
          and greatest(voyager_id, local_id) = greatest(touched.blocker_id, touched.blocked_id)
      ),
      'id', null,
      'previous_id', null,
      'user_id', touched.blocked_id
    ),
    'block.changed', 'user:' || touched.blocker_id, true
  );
  return null;
exception
  when others then
    raise warning 'An event % could not be sent: %', 'block.changed', sqlstate;
    return null;
end
$$;
comment on function private.tell_of_block() is
  'block.changed: user_id is whom somebody blocked, or does not block any more. To the devices of the one who did it, which then leave the topic
typing: of the two, and to nobody else: nobody is told that they were blocked. Definer, because callers may not send events.';

create trigger tell_of_block
  after insert or delete on private.blocks
  for each row
  execute function private.tell_of_block();

-- Rows of messages as they change, for clients that ask for postgres_changes. Realtime shows each to whom row level security shows it;
-- of the row before an update it shows the primary key, which is all that the default replica identity keeps.
alter publication supabase_realtime add table public.messages;

-- Files: who may put what into the platform's Storage, and that a message carries a file which is there.
--   attachments/<conversation id>/<uuid>/<name>   private, for the two people of the conversation
--   avatars/<Auth account>/<name>                 public to read, its owner's to write
-- Statements about storage.objects have no comments: the table is the platform's, which allows policies alone.
insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types)
values
  (
    'attachments', 'attachments', false, 10485760,
    array[
      'image/jpeg', 'image/png', 'image/webp', 'image/gif', 'application/pdf', 'text/plain', 'audio/mpeg', 'audio/mp4', 'video/mp4'
    ]
  ),
  ('avatars', 'avatars', true, 2097152, array['image/jpeg', 'image/png', 'image/webp'])
on conflict (id) do update set
  public = excluded.public,
  file_size_limit = excluded.file_size_limit,
  allowed_mime_types = excluded.allowed_mime_types;

create function private.attachment_folders()
returns setof text
language sql stable security invoker set search_path = ''
as $$
  select id::text from private.my_conversations() as id
$$;
comment on function private.attachment_folders() is 'The folders of the bucket attachments that the caller may look into.';
grant execute on function private.attachment_folders() to authenticated;

create policy "participants read the files of their conversations" on storage.objects
  for select to authenticated
  using (
    bucket_id = 'attachments'
    and (storage.foldername(name))[1] in (select private.attachment_folders())
  );

create function private.may_attach(path text)
returns boolean
language plpgsql stable security definer set search_path = ''
as $$
declare
  folder constant text := (storage.foldername(path))[1];
begin
  if not exists (select from private.my_open_conversations() as id where id::text = folder) then
    return false;
  end if;
  return (
    select count(*) < 200 and coalesce(sum((metadata ->> 'size')::bigint), 0) < 500 * 1048576
    from storage.objects
    where bucket_id = 'attachments'
      -- All that begins with the folder, in words that the index of names understands: after the slash comes the zero.
      and name collate "C" >= folder || '/'
      and name collate "C" < folder || '0'
      and owner_id = (select auth.uid())::text
  );
end
$$;
comment on function private.may_attach(text) is
  'Whether the caller may put one more file into the conversation that the path begins with: one of theirs in which both can write, and where they
have put fewer than 200 files and 500 MiB. Definer, because a policy cannot ask its own table. Of the row''s column, which only inserting asks.
Uploads that are under way are not counted: Storage lists a file once it has all of it.';
grant execute on function private.may_attach(text) to authenticated;

-- A name that nobody else draws, so that no file is put in the place of another. Nobody changes or removes one: it is part of a message.
create policy "participants add files to their conversations" on storage.objects
  for insert to authenticated
  with check (
    bucket_id = 'attachments'
    and name ~ '^[1-9][0-9]*/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/[^/]+$'
    and owner_id = (select auth.uid())::text
    and private.may_attach(name)
  );

create policy "people list their own avatars" on storage.objects
  for select to authenticated
  using (
    bucket_id = 'avatars'
    and (storage.foldername(name))[1] = (select auth.uid())::text
  );

create policy "people add avatars of their own" on storage.objects
  for insert to authenticated
  with check (
    bucket_id = 'avatars'
    and name ~ '^[^/]+/[^/]+$'
    and (storage.foldername(name))[1] = (select auth.uid())::text
    and (select private.my_id()) is not null
  );

create policy "people remove their own avatars" on storage.objects
  for delete to authenticated
  using (
    bucket_id = 'avatars'
    and (storage.foldername(name))[1] = (select auth.uid())::text
  );

create function api.list_avatars()
returns json
language sql stable security invoker set search_path = ''
as $$
  select coalesce(json_agg(name), '[]')
  from (
    select name
    from storage.objects
    where bucket_id = 'avatars'
      -- As the policy says, in words that the index of names understands: after the slash comes the zero.
      and name collate "C" >= (select auth.uid())::text || '/'
      and name collate "C" < (select auth.uid())::text || '0'
    limit 1000
  ) as mine
$$;
comment on function api.list_avatars() is
  'The caller''s avatars, as many as Storage removes at a time: whoever erases themselves takes them along, which Storage lets nobody do in
SQL.';
grant execute on function api.list_avatars() to edge_functions;

create function private.is_stored(attachment jsonb)
returns boolean
language sql stable security invoker set search_path = ''
as $$
  select attachment ->> 'url' !~* '^https://' and to_regclass('storage.migrations') is not null
$$;
comment on function private.is_stored(jsonb) is
  'Whether an attachment has to be a file in Storage: an address on the web is what it is, and where Storage never ran, as on one machine,
nothing can have been put there.';

create function private.check_attachment()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not private.is_stored(new.attachment) then
    return null;
  end if;
  if not exists (
    select
    from storage.objects
    join public.users on users.auth_id::text = objects.owner_id
    where objects.bucket_id = 'attachments'
      and objects.name = regexp_replace(new.attachment ->> 'url', '^attachments/', '')
      and (storage.foldername(objects.name))[1] = new.conversation_id::text
      and users.id = new.user_id
      -- The upload may have named a charset as well.
      and split_part(objects.metadata ->> 'mimetype', ';', 1) = new.attachment ->> 'mime_type'
      and (objects.metadata ->> 'size')::numeric = (new.attachment ->> 'size')::numeric
  ) then
    raise sqlstate 'PT400' using
      message = 'attachment: is not a file that you put into this conversation, or not of this type and size';
  end if;
  return null;
end
$$;
comment on function private.check_attachment() is
  'A message carries only a file that its sender uploaded to this conversation, as the type and size that Storage knows it by. Definer,
because the verb that sends may not read Storage as somebody else.';

-- After, not before: what is not inserted, because its key was used, is answered from what there is.
create trigger check_attachment
  after insert on public.messages
  for each row
  when (new.attachment is not null)
  execute function private.check_attachment();

create function private.require_true_type(attachment jsonb, is_true boolean)
returns void
language plpgsql stable security invoker set search_path = ''
as $$
begin
  if attachment is null or is_true or not private.is_stored(attachment) then
    return;
  end if;
  if is_true is null then
    raise sqlstate 'PT503' using message = 'attachment: could not be looked at, please try again';
  end if;
  raise sqlstate 'PT400' using message = 'attachment: its content is not of the type that it is said to be';
end
$$;
comment on function private.require_true_type(jsonb, boolean) is
  'Refuses a stored file whose first bytes are not what its type promises, as the door says who looked at them, or that it could not look at
(null). Files are never changed in their place, so what it saw is what is sent.';

-- Limits: how often somebody may do a thing. A row for each person or address and thing, and in it one moment: when all their turns will be
-- back (the generic cell rate algorithm). Unlogged, because a count is worth no write to disk and is to be in no backup: after a crash
-- everybody starts anew.
create unlogged table private.rate_limits (
  key bytea primary key,
  tat timestamptz not null
) with (fillfactor = 50);
comment on table private.rate_limits is
  'Who took turns lately, under a hash that nobody can undo once the salt is gone. A row whose moment has passed says nothing any more.';
alter table private.rate_limits enable row level security;

create unlogged table private.turn_salts (
  salt text not null,
  made_on date primary key default current_date
);
comment on table private.turn_salts is
  'What addresses are hashed with, made anew every day: without it, all addresses there are could be tried. Then every count starts anew.';
alter table private.turn_salts enable row level security;

create function private.rate_limit_key(kind text, who text)
returns bytea
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  todays text := (select salt from private.turn_salts where made_on = current_date);
begin
  if todays is null then
    delete from private.turn_salts where made_on < current_date;
    insert into private.turn_salts (salt)
    values (gen_random_uuid()::text || gen_random_uuid()::text)
    on conflict do nothing;
    select salt into strict todays from private.turn_salts where made_on = current_date;
  end if;
  return sha256(convert_to(concat_ws(' ', todays, kind, who), 'utf8'));
end
$$;
comment on function private.rate_limit_key(text, text) is
  'Under what a person''s or an address''s turns are kept today.';

create function private.purge_rate_limits()
returns void
language sql volatile security invoker set search_path = ''
as $$
  delete from private.rate_limits
  where key in (select key from private.rate_limits where tat < clock_timestamp() for update skip locked)
$$;
comment on function private.purge_rate_limits() is
  'Drops the rows that say nothing any more, and waits for nobody.';

create function private.consume_rate_limit(kind text, who text, seconds_each double precision, burst integer)
returns json
language plpgsql volatile security definer
set search_path = ''
-- Who waits longer than this for a count is let through without.
set lock_timeout = '250ms'
as $$
declare
  gap constant interval := make_interval(secs => seconds_each);
  mine constant bytea := private.rate_limit_key(kind, who);
  free_at timestamptz;
begin
  -- Every hundredth tidies up, which keeps the table a hundred rows from what it must hold.
  if random() < 0.01 then
    perform private.purge_rate_limits();
  end if;
  insert into private.rate_limits as turn (key, tat)
  values (mine, clock_timestamp() + gap)
  -- By the clock once the row is held, so that of many at once neither one too many nor one too few gets in.
  on conflict (key) do update set tat = greatest(turn.tat, clock_timestamp()) + gap
  where turn.tat <= clock_timestamp() + gap * (burst - 1);
  if found then
    return to_json(0);
  end if;
  select tat - gap * (burst - 1) into free_at from private.rate_limits where key = mine;
  return to_json(greatest(1, ceil(extract(epoch from free_at - clock_timestamp()))));
end
$$;
comment on function private.consume_rate_limit(text, text, double precision, integer) is
  'Takes one of the turns somebody has for a thing: a burst at once, and one more for every so many seconds. 0, or how many seconds to wait
for the next; a refusal takes nothing. Definer, because the doors hold no right on the counts.';
grant execute on function private.consume_rate_limit(text, text, double precision, integer) to edge_functions;

create function private.consume_send_limit(account uuid, key uuid, seconds_each double precision, burst integer)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if key is not null and exists (
    select
    from public.messages
    join public.users on users.id = messages.user_id
    where users.auth_id = account and messages.client_id = key
  ) then
    return to_json(0);
  end if;
  return private.consume_rate_limit('send', account::text, seconds_each, burst);
end
$$;
comment on function private.consume_send_limit(uuid, uuid, double precision, integer) is
  'As consume_rate_limit, for messages: one that was sent before under the same key is no new one, and takes no turn. Definer, as consume_rate_limit.';
grant execute on function private.consume_send_limit(uuid, uuid, double precision, integer) to edge_functions;

create table private.rate_settings (
  name text primary key
    constraint "name is RATE_LIMIT_PROFILE" check (name = 'RATE_LIMIT_PROFILE'),
  rate text not null
    constraint "rate is count/seconds, count/seconds/burst or off" check (rate ~ '^([1-9]\d{0,5}/[1-9]\d{0,5}(/[1-9]\d{0,5})?|off)$')
);
comment on table private.rate_settings is
  'What the database counts by itself, because the functions'' environment is not to be seen from here. Operators change it in the SQL editor.';
alter table private.rate_settings enable row level security;
insert into private.rate_settings (name, rate) values ('RATE_LIMIT_PROFILE', '120/3600/30');

create function private.count_profile_change()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  -- The local stack says it for its own connections, of which several can share a database.
  setting constant text := coalesce(
    nullif(current_setting('api.rate_limit_profile', true), ''),
    (select rate_settings.rate from private.rate_settings where name = 'RATE_LIMIT_PROFILE'),
    'off'
  );
  rate constant text[] := string_to_array(setting, '/');
  wait integer;
begin
  if setting = 'off' then
    return null;
  end if;
  begin
    wait := private.consume_rate_limit(
      'RATE_LIMIT_PROFILE', (select auth.uid())::text, rate[2]::double precision / rate[1]::integer, coalesce(rate[3], rate[1])::integer
    )::text::integer;
  exception
    when lock_not_available then
      raise warning 'A limit was not counted: RATE_LIMIT_PROFILE';
      return null;
  end;
  if wait > 0 then
    raise sqlstate 'PT429' using
      message = 'Too many requests, please try again later',
      hint = format('In %s seconds', wait);
  end if;
  return null;
end
$$;
comment on function private.count_profile_change() is
  'Takes a turn of RATE_LIMIT_PROFILE for a change that comes through the Data API; the functions take theirs before they ask. What is refused or
fails takes none. Definer, as consume_rate_limit.';

-- Whose caller is known, a function asked for. Hiding is free, as it is there, and nothing else is: each change is a vector to make.
create trigger count_changes_of_users
  after update on public.users
  for each row
  when (current_user = 'authenticated' and coalesce(current_setting('api.caller', true), '') = '')
  execute function private.count_profile_change();

create trigger count_changes_of_profiles
  after update on public.profiles
  for each row
  when (
    current_user = 'authenticated' and coalesce(current_setting('api.caller', true), '') = ''
    and (
      new.is_searchable
      or (old.first_name, old.last_name, old.age, old.biography, old.country, old.city, old.image_url)
        is distinct from (new.first_name, new.last_name, new.age, new.biography, new.country, new.city, new.image_url)
    )
  )
  execute function private.count_profile_change();

create trigger count_changes_of_interests
  after insert or delete on public.profile_interests
  for each statement
  when (current_user = 'authenticated' and coalesce(current_setting('api.caller', true), '') = '')
  execute function private.count_profile_change();

-- Privacy: what a person gets of all they have here, and what is left when they go.
create function private.messages_after(conversation bigint, seen bigint, most integer)
returns setof public.messages
language plpgsql stable security invoker
set search_path = ''
-- As in list_messages.
set enable_bitmapscan = off
as $$
begin
  return query
    select *
    from public.messages
    where conversation_id = conversation and id > seen
    order by id
    limit most;
end
$$;
comment on function private.messages_after(bigint, bigint, integer) is
  'The next messages of a conversation, oldest first. By itself, because what else export_me reads needs the scan that this must do without.';
grant execute on function private.messages_after(bigint, bigint, integer) to authenticated;

create function api.export_me(place jsonb)
returns text
language plpgsql stable security invoker set search_path = ''
as $$
declare
  -- A piece is at most this many messages, 2 MB of the longest there can be. A client that stops reading holds two or three pieces in memory:
  -- with 500 messages in each, ten stalled exports of one person took 400 MB.
  room integer := 100;
  at_conversation constant bigint := coalesce((place ->> 'conversation')::bigint, 0);
  seen bigint := (place ->> 'message')::bigint;
  separator text := case when place is null then '' else ',' end;
  pieces text[] := array[]::text[];
  entry record;
  page record;
begin
  if place is null then
    select array[left(
      json_build_object(
        'exported_at', private.iso(now()),
        'user', json_build_object(
          'id', users.id,
          'name', users.name,
          'email', users.email,
          'bio', users.bio,
          'location', users.location,
          'role', users.role,
          'is_active', users.is_active,
          'createdAt', private.iso(users.created_at)
        ),
        'profile', json_build_object(
          'id', profiles.id,
          'user_id', profiles.user_id,
          'first_name', profiles.first_name,
          'last_name', profiles.last_name,
          'age', profiles.age,
          'biography', profiles.biography,
          'country', profiles.country,
          'city', profiles.city,
          'image_url', profiles.image_url,
          'is_searchable', profiles.is_searchable
        ),
        'interests', private.interests_of(profiles.id),
        'blocks', private.my_blocks()
      )::text,
      -1
    ) || ',"conversations":[']
    into pieces
    from public.users
    join public.profiles on profiles.user_id = users.id
    where users.id = (select private.my_id());
  end if;

  for entry in
    select
      conversations.id,
      people.voyager_id,
      json_build_object('id', people.voyager_id, 'name', people.voyager_name) as voyager,
      json_build_object('id', people.local_id, 'name', people.local_name) as local,
      json_build_object(
        'id', conversations.id,
        'voyager_id', conversations.voyager_id,
        'local_id', conversations.local_id,
        'Voyager', json_build_object('id', people.voyager_id, 'name', people.voyager_name, 'email', people.voyager_email),
        'Local', json_build_object('id', people.local_id, 'name', people.local_name, 'email', people.local_email),
        'Reservations', private.reservations_of(conversations.id),
        'createdAt', private.iso(conversations.created_at)
      )::text as body
    from public.conversations
    -- No more than there is room for, each taking at least one.
    join private.people_in(
      array(select id from public.conversations where id >= at_conversation order by id limit room + 1)
    ) as people on people.id = conversations.id
    order by conversations.id
  loop
    if entry.id > at_conversation or seen is null then
      if room <= 0 then
        perform private.set_response_metadata(jsonb_build_object('place', jsonb_build_object('conversation', entry.id)));
        return array_to_string(pieces, '');
      end if;
      pieces := pieces || (separator || left(entry.body, -1) || ',"messages":[');
      seen := 0;
      room := room - 1;
    end if;
    separator := ',';
    select
      string_agg(
        to_json(private.view_of(message, case user_id when entry.voyager_id then entry.voyager else entry.local end))::text,
        ','
        order by message.id
      ) as bodies,
      count(*) as length,
      max(message.id) as last_id
    into page
    from private.messages_after(entry.id, seen, room + 1) as message;
    pieces := pieces || (case when seen > 0 and page.length > 0 then ',' else '' end || coalesce(page.bodies, ''));
    if page.length > room then
      perform private.set_response_metadata(
        jsonb_build_object('place', jsonb_build_object('conversation', entry.id, 'message', page.last_id))
      );
      return array_to_string(pieces, '');
    end if;
    pieces := pieces || ']}'::text;
    room := room - page.length;
  end loop;
  return array_to_string(pieces || ']}'::text, '');
end
$$;
comment on function api.export_me(jsonb) is
  'All that the caller gave and did, and what they were written, as they see it: a piece of one JSON document, the first where the place is
null. Tells the door the place of the next while there is one. In pieces, so that a long history needs no more memory than a short one.';
grant execute on function api.export_me(jsonb) to edge_functions;

create function private.erase_person(person bigint)
returns boolean
language plpgsql volatile security definer set search_path = ''
as $$
declare
  account constant uuid := (select auth_id from public.users where id = person);
  profile bigint;
begin
  -- In the order in which others take these locks: Auth its account first, whoever changes a profile then that.
  perform from auth.users where id = account for update;
  select id into profile from public.profiles where user_id = person for update;
  update public.users
  set
    name = 'Deleted user',
    email = '',
    bio = null,
    location = null,
    role = 'user',
    is_active = false,
    auth_id = null,
    erased_at = now()
  where id = person and erased_at is null;
  if not found then
    return false;
  end if;
  -- With it go its interests and its entry in the search; the context went as the account became inactive.
  delete from public.profiles where id = profile;
  delete from private.embedding_queue where (kind, id) in (('profile', profile), ('context', person));
  delete from private.blocks where person in (blocker_id, blocked_id);
  delete from private.idempotent_replies using public.messages where messages.id = message_id and messages.user_id = person;
  -- With it go its sessions, their refresh tokens and its identities.
  delete from auth.users where id = account;
  begin
    delete from auth.flow_state where user_id = account;
    delete from auth.audit_log_entries
    where payload ->> 'actor_id' = account::text or payload -> 'traits' ->> 'user_id' = account::text;
  exception
    -- Auth's log has no index for this and may be somebody else's. Whatever it keeps, the person is gone from here.
    when undefined_table or undefined_column or insufficient_privilege or query_canceled then
      raise warning 'Auth''s log was left as it is: %', sqlstate;
  end;
  return true;
end
$$;
comment on function private.erase_person(bigint) is
  'Takes out whatever is about a person, their log-in with it, in one transaction or not at all; false where that was done before. What they
wrote to others stays theirs, from "Deleted user". Definer, because it reaches into Auth. Admins call it in the SQL editor.';

create function api.erase_me()
returns json
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not private.erase_person(private.my_id()) then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;
  return to_json(true);
end
$$;
comment on function api.erase_me() is
  'Erases the caller. Of two who ask at once, one is told that there is no such account. Definer, as erase_person.';
grant execute on function api.erase_me() to edge_functions;
