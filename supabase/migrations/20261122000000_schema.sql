-- Derived from sql/schema by `npm run baseline`; edit the schema instead.

-- Schemas, the role that the Edge Functions log in as, and private.act_as, which makes a statement run as its caller.
--   public   tables, as the Data API and the dashboard show them
--   api      API functions, which the Edge Functions call; the Data API does not expose this schema
--   private  helpers of policies and API functions, and tables that callers cannot access
create schema api;
create schema private;
comment on schema api is 'API functions. Only the Edge Functions may call them, each as its caller (private.act_as).';
comment on schema private is 'Helpers of policies and API functions, and tables that no caller can access.';

-- The platform grants everything on new tables to the API roles, and Postgres grants execute on new functions to
-- public. Here only the explicit grants of these files count.
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
  'The role that the Edge Functions log in as. It may only call functions and become anon or authenticated.';
grant anon, authenticated to edge_functions;
-- A statement that takes longer is answered with 503. Callers of the Data API have the platform's limits: 3 s
-- anonymous, 8 s with a token.
alter role edge_functions set statement_timeout = '5s';
-- Lets a connection that logs in as postgres start as edge_functions (see functions/_shared/rpc.ts).
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
        -- It became active after find_me looked; the Edge Function retries.
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
  -- The role is a literal and never taken from the claims.
  perform set_config('role', case when claims is null then 'anon' else 'authenticated' end, true);
  return true;
end
$$;
comment on function private.act_as(jsonb, boolean) is
  'Makes the rest of the transaction run as the caller: sets role, claims and user id. Null claims mean an anonymous
caller. With strict, unknown accounts (401) and deactivated ones (403) are refused; without, they count as anonymous.
Anonymous callers get 3 s, as the platform gives them in the Data API: a statement_timeout that is set within a
statement does not apply to that statement, transaction_timeout does. It closes the connection, and exists since
Postgres 17. Called before the API function in the same statement this keeps 75 % of the bare request rate; begin, set
and commit keep 28 % (bench/one_round_trip.ts).';
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
  'Stores what an API function returns besides its answer, for the Edge Function to act on: {next: cursor}, {replayed:
true} or {place: of the next piece}.';
grant execute on function private.set_response_metadata(jsonb) to anon, authenticated;

-- Without `set search_path`, which would prevent inlining: a page of 50 messages calls it 50 times.
create function private.iso(moment timestamptz)
returns text
language sql stable security invoker parallel safe
as $$
  select pg_catalog.to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
comment on function private.iso(timestamptz) is
  'ISO 8601 in UTC with milliseconds, the format of every timestamp in an answer.';
grant execute on function private.iso(timestamptz) to anon, authenticated;

-- The same pattern as webAddress in functions/_shared/validate.ts (tests/local/web_addresses.test.ts compares them).
create function private.is_web_address(value text)
returns boolean
language plpgsql immutable strict parallel safe security invoker set search_path = ''
as $$
begin
  return value ~ '^https://(\[[0-9A-Fa-f:.]+\]|[^\[\]\u0022\u0027\u0060<>{}|\\\^%/?#@:,;!$&()*+=\u0001-\u0020\u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufff9-\uffff]+)(:[0-9]{1,5})?([/?#][^\u0022\u0027\u0060<>\\\u0001-\u0020\u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufff9-\uffff]*)?$';
end
$$;
comment on function private.is_web_address(text) is
  'Whether the text is an https URL that is safe in HTML without escaping: a host without user info, and no quote, angle
bracket, backslash, white space, control or invisible character. Null for null. plpgsql, because Postgres plans the body
of an SQL function again at each call, and a constraint calls this at each change of a profile.';
grant execute on function private.is_web_address(text) to authenticated, service_role;

-- Users. Supabase Auth keeps their credentials; this table keeps their names, contact data and roles.
create table public.users (
  id bigint generated always as identity primary key,
  auth_id uuid unique references auth.users (id) on delete set null,
  name text not null
    constraint "name has 1 to 100 characters"
    check (char_length(name) between 1 and 100 and name ~ '[^[:space:][:cntrl:]]'),
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
  'One row for each user. A row without auth_id cannot log in. While is_active is false the token is refused and the
profile is hidden.';
comment on column public.users.email is
  'Copy of the Auth account''s e-mail address. Shown to its owner, and to partners in the list of conversations.';
comment on column public.users.confirmed_at is
  'When the Auth account''s e-mail address or phone was confirmed. Null: the account is pending, and another sign-up
with the same address replaces it.';
comment on column public.users.erased_at is
  'When the user was erased. The row stays for the conversations that it takes part in.';

create unique index users_email_key on public.users (lower(email)) where email <> '';
comment on index public.users_email_key is
  'An address belongs to one account, regardless of case. Erased accounts have none.';

alter table public.users enable row level security;

create function private.find_me()
returns bigint
language plpgsql stable security definer set search_path = ''
as $$
declare
  me bigint;
begin
  -- No subquery around auth.uid(), which an index scan evaluates once anyway (a scan of a small table for each row),
  -- and a variable: 4 µs instead of 6.
  select id
  into me
  from public.users
  where auth_id = auth.uid() and is_active;
  return me;
end
$$;
comment on function private.find_me() is
  'Looks up the user id of the claims; null for anonymous and deactivated callers. Definer, because the policy on users
calls it. plpgsql, because Postgres 17 plans the body of an SQL function again at each call, which takes 100 µs where
this takes 4.';
grant execute on function private.find_me() to edge_functions, anon, authenticated;

-- Without `set search_path`, which would prevent inlining.
create function private.my_id()
returns bigint
language sql stable security invoker
as $$
  select coalesce(nullif(pg_catalog.current_setting('api.caller', true), '')::bigint, private.find_me())
$$;
comment on function private.my_id() is
  'The caller''s user id; null for anonymous and deactivated callers. Edge Functions: act_as has stored it in
api.caller, because policies and API functions need it six times a request, and looking it up each time was a fifth of
some statements. Data API and Realtime: looked up here. A caller who could set api.caller could set the claims as well;
only act_as does, as callers cannot send SQL.';
grant execute on function private.my_id() to anon, authenticated;

create policy "users read their own row" on public.users
  for select to authenticated
  using (id = (select private.my_id()));

create policy "users update their own row" on public.users
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
comment on function private.sync_auth_email() is
  'Keeps users.email equal to the address of the Auth account. Definer, because Auth updates it as its own role.';

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
  'Deleting an Auth account (in the dashboard, for example) deactivates the user and frees the address; a user who was
never confirmed is deleted. Definer, because Auth deletes the account as its own role.';

create trigger handle_deleted_user
  before delete on auth.users
  for each row
  execute function private.handle_deleted_user();

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
  'active or inactive; null if the account does not exist or is not confirmed. Definer, because inactive callers cannot
read their own row.';
grant execute on function private.account_status() to edge_functions;

create function api.get_account()
returns json
language sql stable security invoker set search_path = ''
as $$
  select json_build_object('id', id, 'name', name, 'email', email, 'role', role)
  from public.users
  where id = (select private.my_id())
$$;
comment on function api.get_account() is 'The caller as sign-up and log-in return them: {id, name, email, role}.';
grant execute on function api.get_account() to edge_functions;

-- Interests: the fixed list that profiles choose from. Admins edit it in the dashboard.
create table public.interests (
  id bigint generated always as identity primary key,
  name text not null
    constraint "interest name has 1 to 60 characters" check (char_length(name) between 1 and 60 and name ~ '\S')
);
comment on table public.interests is 'The interests that a profile can choose.';

create unique index interests_name_key on public.interests (lower(name));

alter table public.interests enable row level security;

create policy "everybody reads interests" on public.interests
  for select to anon, authenticated
  using (true);

grant select on public.interests to anon, authenticated;
grant all on public.interests to service_role;

create function private.parse_ids(list jsonb)
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
comment on function private.parse_ids(jsonb) is 'Turns a JSON array of ids into a bigint[] without duplicates.';
grant execute on function private.parse_ids(jsonb) to anon, authenticated;

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
comment on function private.check_interests(bigint[]) is 'Raises 400 and names the ids that do not exist.';
grant execute on function private.check_interests(bigint[]) to anon, authenticated;

create function api.check_interests(wanted jsonb)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  perform private.check_interests(private.parse_ids(wanted -> 'ids'));
  return to_json(true);
end
$$;
comment on function api.check_interests(jsonb) is
  'Lets sign-up refuse unknown interests before Auth creates the account.';
grant execute on function api.check_interests(jsonb) to edge_functions;

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
comment on function api.list_interests() is 'All interests as [{id, name}], ordered by name.';
grant execute on function api.list_interests() to edge_functions;

-- Profiles: one for each user, created with the account.
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
comment on table public.profiles is
  'One row for each user. Others see it only while is_searchable is true and the user is active.';

alter table public.profiles enable row level security;

create policy "users read their own profile" on public.profiles
  for select to authenticated
  using (user_id = (select private.my_id()));

create policy "users update their own profile" on public.profiles
  for update to authenticated
  using (user_id = (select private.my_id()))
  with check (user_id = (select private.my_id()));

grant select on public.profiles to authenticated;
grant update (first_name, last_name, age, biography, country, city, image_url, is_searchable)
  on public.profiles to authenticated;
grant all on public.profiles to service_role;

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
  'The caller''s profile id. Definer, so that the policies of one table do not run the policies of another.';
grant execute on function private.my_profile_id() to authenticated;

create function private.me_with_profile()
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select json_build_object(
      'id', users.id, 'name', users.name, 'email', users.email, 'bio', users.bio, 'location', users.location,
      'role', users.role, 'is_active', users.is_active,
      'Profile', json_build_object(
        'id', profiles.id, 'user_id', profiles.user_id, 'first_name', profiles.first_name,
        'last_name', profiles.last_name, 'age', profiles.age, 'biography', profiles.biography,
        'country', profiles.country, 'city', profiles.city, 'image_url', profiles.image_url,
        'is_searchable', profiles.is_searchable, 'Interests', private.interests_of(profiles.id)
      )
    )
    from public.users
    join public.profiles on profiles.user_id = users.id
    where users.id = (select private.my_id())
  );
end
$$;
comment on function private.me_with_profile() is 'The caller with profile and interests, as GET /users/me returns it.';
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
  -- Lock the profile first, as every change of a profile does, so that concurrent changes of one user queue and never
  -- deadlock.
  perform from public.profiles where user_id = me for no key update;
  if changes ?| array['name', 'bio', 'location'] then
    update public.users
    set (name, bio, location) = (
      select new.name, new.bio, new.location
      from jsonb_populate_record(users, changes) as new
    )
    where id = me;
  end if;

  if changes ?| array[
    'first_name', 'last_name', 'age', 'biography', 'country', 'city', 'image_url', 'is_searchable'
  ] then
    update public.profiles
    set (first_name, last_name, age, biography, country, city, image_url, is_searchable) = (
      select
        new.first_name, new.last_name, new.age, new.biography, new.country, new.city, new.image_url, new.is_searchable
      from jsonb_populate_record(profiles, changes) as new
    )
    where user_id = me;
  end if;

  if changes ? 'interest_ids' then
    perform private.replace_interests(private.my_profile_id(), private.parse_ids(changes -> 'interest_ids'));
  end if;

  return private.me_with_profile();
end
$$;
comment on function api.update_profile(jsonb) is
  'Changes the given fields in one transaction or not at all: an absent key leaves its field unchanged, null clears it,
other keys are ignored.';
grant execute on function api.update_profile(jsonb) to edge_functions;

create function api.set_searchable(searchable boolean)
returns json
language sql volatile security invoker set search_path = ''
as $$
  update public.profiles
  set is_searchable = set_searchable.searchable
  where user_id = (select private.my_id())
  returning json_build_object('is_searchable', is_searchable)
$$;
comment on function api.set_searchable(boolean) is 'Shows or hides the caller''s profile in the search.';
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
        'id', profiles.id, 'first_name', profiles.first_name, 'last_name', profiles.last_name, 'age', profiles.age,
        'biography', profiles.biography, 'country', profiles.country, 'city', profiles.city,
        'image_url', profiles.image_url, 'interests', private.interests_of(profiles.id)
      )
    )
    from public.profiles
    join public.users on users.id = profiles.user_id
    where profiles.id = profile
  );
end
$$;
comment on function api.get_public_profile(bigint) is
  'The public view of a profile. Definer, because row level security hides the rows of other users: this function, with
these columns, is the only way to see another user''s profile.';
grant execute on function api.get_public_profile(bigint) to edge_functions;

-- The interests of each profile.
create table public.profile_interests (
  profile_id bigint not null references public.profiles (id) on delete cascade,
  interest_id bigint not null references public.interests (id) on delete cascade,
  primary key (profile_id, interest_id)
);
comment on table public.profile_interests is 'Which profile has which interests; at most 50 for each profile.';

create index profile_interests_interest_id_idx on public.profile_interests (interest_id);

alter table public.profile_interests enable row level security;

create policy "users read their own interests" on public.profile_interests
  for select to authenticated
  using (profile_id = (select private.my_profile_id()));

create policy "users add their own interests" on public.profile_interests
  for insert to authenticated
  with check (profile_id = (select private.my_profile_id()));

create policy "users remove their own interests" on public.profile_interests
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
comment on function private.cap_interests() is
  'Enforces the limit of 50 interests a profile for every role; a constraint cannot count rows.';

create trigger cap_interests
  after insert on public.profile_interests
  referencing new table as added
  for each statement
  execute function private.cap_interests();

create function private.interests_of(profile bigint)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select coalesce(
      json_agg(json_build_object('id', interests.id, 'name', interests.name) order by interests.name),
      '[]'
    )
    from public.profile_interests
    join public.interests on interests.id = profile_interests.interest_id
    where profile_interests.profile_id = profile
  );
end
$$;
comment on function private.interests_of(bigint) is 'A profile''s interests as [{id, name}], ordered by name.';
grant execute on function private.interests_of(bigint) to authenticated;

create function private.replace_interests(profile bigint, ids bigint[])
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  perform private.check_interests(ids);
  -- Serialize concurrent replacements, which would otherwise end with the union of both sets.
  perform from public.profiles where id = profile for no key update;
  delete from public.profile_interests
  where profile_id = profile and interest_id <> all (ids);
  insert into public.profile_interests (profile_id, interest_id)
  select profile, unnest(ids)
  on conflict do nothing;
end
$$;
comment on function private.replace_interests(bigint, bigint[]) is
  'Replaces a profile''s interests by ids, or raises 400 and changes nothing.';
grant execute on function private.replace_interests(bigint, bigint[]) to authenticated;

create function api.set_interests(wanted jsonb)
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  profile bigint := private.my_profile_id();
begin
  perform private.replace_interests(profile, private.parse_ids(wanted -> 'ids'));
  return json_build_object('id', profile, 'user_id', private.my_id(), 'Interests', private.interests_of(profile));
end
$$;
comment on function api.set_interests(jsonb) is 'Replaces the caller''s interests by {ids}.';
grant execute on function api.set_interests(jsonb) to edge_functions;

-- Sign-up: how an Auth account becomes a user with a profile, and what happens until its address is confirmed. Auth
-- keeps the first sign-up of an unconfirmed address, including its password. The Edge Function therefore removes that
-- account before it asks Auth for another one.
create table private.sign_ups (
  ticket uuid primary key default gen_random_uuid(),
  user_id bigint not null,
  profile_id bigint not null,
  address_hash bytea not null,
  name text,
  fields jsonb,
  begun_at timestamptz not null default now()
);
comment on table private.sign_ups is
  'Sign-ups in progress, with the ids that the new account will get. The ids are drawn before Auth is called, so that
every sign-up returns one and uses up as many, whether or not the address is taken; otherwise the ids would reveal which
addresses have accounts. The name and the fields of the profile wait here and not in the metadata of the Auth account,
which Auth copies into the identity and into every access token. A row is deleted after an hour, by the next sign-up.';
comment on column private.sign_ups.address_hash is
  'SHA-256 of the address in lower case. It shows which of several sign-ups with the same address began last.';
comment on column private.sign_ups.name is
  'Null once the account has been created. An account of the same address without such a row was created in Auth
directly, and supersedes no sign-up.';
comment on column private.sign_ups.fields is
  'Any fields of PATCH /users/profile. Null once the account has been created.';
create index sign_ups_begun_at_idx on private.sign_ups (begun_at);
create index sign_ups_address_hash_idx on private.sign_ups (address_hash);
alter table private.sign_ups enable row level security;

create function private.handle_new_user()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  metadata_ticket constant uuid := case
    when new.raw_user_meta_data ->> 'ticket' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
      then (new.raw_user_meta_data ->> 'ticket')::uuid
  end;
  confirmed_at constant timestamptz := coalesce(new.email_confirmed_at, new.phone_confirmed_at);
  sign_up private.sign_ups;
  fields jsonb;
  created_user public.users;
  profile public.profiles;
begin
  select * into sign_up from private.sign_ups where ticket = metadata_ticket and name is not null for update;
  update private.sign_ups set name = null, fields = null where ticket = sign_up.ticket;
  fields := coalesce(sign_up.fields, '{}');

  insert into public.users (id, auth_id, name, email, bio, location, is_active, created_at, confirmed_at)
  overriding system value
  values (
    coalesce(sign_up.user_id, nextval('public.users_id_seq')),
    new.id,
    coalesce(sign_up.name, nullif(left(new.raw_user_meta_data ->> 'name', 100), ''), 'New user'),
    coalesce(new.email, ''),
    fields ->> 'bio',
    fields ->> 'location',
    confirmed_at is not null,
    coalesce(new.created_at, now()),
    confirmed_at
  )
  returning * into created_user;

  insert into public.profiles (
    id, user_id, first_name, last_name, age, biography, country, city, image_url, is_searchable
  )
  overriding system value
  select
    coalesce(sign_up.profile_id, nextval('public.profiles_id_seq')), created_user.id,
    first_name, last_name, age, biography, country, city, image_url, coalesce(is_searchable, false)
  from jsonb_populate_record(null::public.profiles, fields)
  returning * into profile;

  if jsonb_typeof(fields -> 'interest_ids') = 'array' then
    perform private.replace_interests(profile.id, private.parse_ids(fields -> 'interest_ids'));
  end if;

  return null;
end
$$;
comment on function private.handle_new_user() is
  'Creates a user and a profile in the transaction that creates the Auth account. Its metadata may hold the ticket of a
sign-up in progress, which has the name and the fields of the profile, or a name. The user is inactive until the address
is confirmed. Definer, because Auth inserts the account as its own role.';

create trigger handle_new_user
  after insert on auth.users
  for each row
  execute function private.handle_new_user();

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
  'Activates a pending account in the transaction that confirms its address. Only once: a user who was deactivated since
is not activated again by confirming another address. Definer, because Auth updates the account as its own role.';

create trigger confirm_user
  after update of email_confirmed_at, phone_confirmed_at on auth.users
  for each row
  when (
    coalesce(old.email_confirmed_at, old.phone_confirmed_at) is null
    and coalesce(new.email_confirmed_at, new.phone_confirmed_at) is not null
  )
  execute function private.confirm_user();

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
  'Removes the password of a pending account when a recovery link is requested or its address is invited. Following the
link confirms the address, and its owner need not be the person who signed up: until they choose a new password, the
first one would be valid. A trigger and not a statement before the request: a sign-up that commits in between would
keep its password.';

create trigger forget_pending_password
  before update of recovery_token, invited_at on auth.users
  for each row
  when (
    (
      new.recovery_token <> '' and new.recovery_token is distinct from old.recovery_token
      or new.invited_at is distinct from old.invited_at
    )
    and new.email_confirmed_at is null and new.phone_confirmed_at is null
  )
  execute function private.forget_pending_password();

create function private.remove_pending_account(address text)
returns boolean
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  account constant uuid := (
    select auth_id from public.users where lower(email) = lower(address) and email <> '' and confirmed_at is null
  );
begin
  -- If the account is being confirmed concurrently, the delete waits and checks the condition again. If the delete
  -- comes first, the account can no longer be confirmed.
  delete from auth.users
  where id = account and email_confirmed_at is null and phone_confirmed_at is null and invited_at is null;
  return found;
exception
  -- An admin has created a conversation with this user, so the account stays.
  when foreign_key_violation then
    return false;
end
$$;
comment on function private.remove_pending_account(text) is
  'Deletes the unconfirmed account with this address, which also invalidates the links that were mailed for it; returns
whether there was one. Never deletes a confirmed account, nor an invited one, which an admin created and which has no
password. Only for definer functions.';

create function private.begin_sign_up(address text, name text, fields jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  begun private.sign_ups;
begin
  delete from private.sign_ups
  where ticket in (
    select ticket from private.sign_ups where begun_at < now() - interval '1 hour' for update skip locked
  );
  perform private.remove_pending_account(address);
  insert into private.sign_ups (user_id, profile_id, address_hash, name, fields)
  values (
    nextval('public.users_id_seq'), nextval('public.profiles_id_seq'), sha256(convert_to(lower(address), 'UTF8')),
    begin_sign_up.name, begin_sign_up.fields
  )
  returning * into begun;
  return json_build_object('ticket', begun.ticket, 'user_id', begun.user_id);
end
$$;
comment on function private.begin_sign_up(text, text, jsonb) is
  'Removes a pending account with this address and returns {ticket, user_id}: the account whose metadata holds the
ticket gets that id, the name and the fields. Definer, because it deletes from auth.users.';
grant execute on function private.begin_sign_up(text, text, jsonb) to edge_functions;

create function private.check_sign_up(address text, begun uuid)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  sign_up private.sign_ups;
begin
  select * into sign_up from private.sign_ups where ticket = begun;
  return to_json(case
    -- Deleted after an hour: Auth answers long before.
    when sign_up is null or sign_up.name is null then 'made'
    when exists (
      select from public.users where lower(email) = lower(address) and email <> '' and confirmed_at is not null
    ) then 'taken'
    -- Ids are drawn in order. If every sign-up could remove the others, concurrent ones could remove each other until
    -- none is left.
    when exists (
      select from private.sign_ups where address_hash = sign_up.address_hash and user_id > sign_up.user_id
    ) then 'superseded'
    when private.remove_pending_account(address) then 'retry'
    when exists (select from public.users where lower(email) = lower(address) and email <> '') then 'taken'
    else 'not made'
  end);
end
$$;
comment on function private.check_sign_up(text, uuid) is
  'The outcome of a sign-up, which the answer of Auth does not reveal: made; superseded by a later sign-up with the same
address; retry, because an account of an earlier one, or one that was created in Auth directly, came between and has
been removed; taken, by a confirmed or an invited account; not made, for another reason. Only for the Edge Functions,
because it reveals whether an address is taken. Definer, as begin_sign_up.';
grant execute on function private.check_sign_up(text, uuid) to edge_functions;

-- Blocks between users. A block works in both directions, and the blocked user is not told.
create table private.blocks (
  blocker_id bigint not null references public.users (id) on delete cascade,
  blocked_id bigint not null references public.users (id) on delete cascade,
  created_at timestamptz not null default now(),
  primary key (blocker_id, blocked_id),
  constraint "nobody blocks themselves" check (blocker_id <> blocked_id)
);
comment on table private.blocks is
  'While a block exists, the two users can neither start a conversation nor send messages to each other, and neither
finds the other in a search. Earlier messages stay.';
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
  'Whether either of two users has blocked the other. Only for definer functions: callers cannot read blocks, or they
would learn who has blocked them.';

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
  'All users whom this user has blocked or was blocked by; null if there are none, which is the usual case. Only for
definer functions, as is_blocked_between.';

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
  'The users whom the caller has blocked, as [{user_id, name, createdAt}], latest first. Definer, because callers can
read neither blocks nor the names of other users.';
grant execute on function private.my_blocks() to authenticated;

create function api.list_blocks()
returns json
language sql stable security invoker set search_path = ''
as $$
  select private.my_blocks()
$$;
comment on function api.list_blocks() is 'The users whom the caller has blocked, latest first.';
grant execute on function api.list_blocks() to edge_functions;

create function api.block_person(other_user bigint)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
begin
  if other_user = me then
    raise sqlstate 'PT400' using message = 'user_id: you cannot block yourself';
  end if;
  if not exists (select from public.users where id = other_user and is_active) then
    raise sqlstate 'PT404' using message = 'User not found';
  end if;
  -- Serialize concurrent blocks by one user, so that the limit of 1,000 holds.
  perform from public.users where id = me and is_active for no key update;
  if not found then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;
  if (select count(*) from private.blocks where blocker_id = me and blocked_id <> other_user) >= 1000 then
    raise sqlstate 'PT400' using message = 'user_id: you cannot block more than 1,000 people';
  end if;
  insert into private.blocks (blocker_id, blocked_id)
  values (me, other_user)
  on conflict do nothing;
  return to_json(true);
end
$$;
comment on function api.block_person(bigint) is
  'Blocks a user for the caller; a repeat changes nothing. Definer, because no caller has a grant on blocks: only API
functions write them.';
grant execute on function api.block_person(bigint) to edge_functions;

create function api.unblock_person(other_user bigint)
returns json
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
  return to_json(true);
end
$$;
comment on function api.unblock_person(bigint) is
  'Removes the caller''s block of a user; a repeat changes nothing. Definer, as block_person.';
grant execute on function api.unblock_person(bigint) to edge_functions;

-- Conversations: exactly two participants, and at most one conversation for each pair of users.
create table public.conversations (
  id bigint generated always as identity primary key,
  voyager_id bigint not null references public.users (id) on delete restrict,
  local_id bigint not null references public.users (id) on delete restrict,
  created_at timestamptz not null default now(),
  constraint "nobody converses with themselves" check (voyager_id <> local_id)
);
comment on table public.conversations is
  'One row for each pair of users: the voyager, who opened the conversation, and the local. The users cannot be deleted
while it exists; erasing a user keeps the row.';

create unique index conversations_one_per_pair
  on public.conversations (least(voyager_id, local_id), greatest(voyager_id, local_id));
comment on index public.conversations_one_per_pair is 'One conversation for each pair, no matter who opened it.';
create index conversations_voyager_id_id_idx on public.conversations (voyager_id, id);
comment on index public.conversations_voyager_id_id_idx is
  'Includes the id so that private.my_conversations() can use an index-only scan: for an inbox of 600 conversations 10
pages instead of 600.';
create index conversations_local_id_id_idx on public.conversations (local_id, id);
comment on index public.conversations_local_id_id_idx is 'As conversations_voyager_id_id_idx.';

alter table public.conversations enable row level security;

create policy "participants read conversations" on public.conversations
  for select to authenticated
  using (voyager_id = (select private.my_id()) or local_id = (select private.my_id()));

grant select on public.conversations to authenticated;
grant all on public.conversations to service_role;

create function private.my_conversations()
returns setof bigint
language plpgsql stable security definer rows 10 set search_path = ''
as $$
declare
  me bigint := private.my_id();
  scoped_to bigint := nullif(current_setting('api.conversation', true), '')::bigint;
begin
  if scoped_to is not null then
    return query
      select id
      from public.conversations
      where id = scoped_to and me in (voyager_id, local_id);
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
  'Ids of the caller''s conversations; after scope_to_conversation, only that one. Definer, so that the policies of
messages and reservations compute one set instead of running a policy for each row: on a scan of 5,000 messages the set
costs nothing measurable, a function of the row''s column costs ten times as much as no policy.';
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
  'Narrows my_conversations to one conversation, until it is set to null again or the transaction ends. It grants
nothing: a non-participant gets an empty set. For API functions about one conversation, whose policies would otherwise
gather the whole inbox: 100 µs for an inbox of 246, where a page takes 300.';
grant execute on function private.scope_to_conversation(bigint) to authenticated;

create function private.my_writable_conversations()
returns setof bigint
language sql stable security definer set search_path = ''
as $$
  select id
  from public.conversations
  where (voyager_id = (select private.my_id()) or local_id = (select private.my_id()))
    and voyager_id <> all (coalesce((select private.blocked_users_of((select private.my_id()))), '{}'))
    and local_id <> all (coalesce((select private.blocked_users_of((select private.my_id()))), '{}'))
    and not exists (select from public.users where users.id in (voyager_id, local_id) and erased_at is not null)
$$;
comment on function private.my_writable_conversations() is
  'Those of my_conversations that the caller can write to: neither participant has blocked the other, and neither is
erased. Definer, as my_conversations.';
grant execute on function private.my_writable_conversations() to authenticated;

create function private.participants_of(conversations bigint[])
returns table (
  id bigint,
  voyager_id bigint, voyager_name text, voyager_email text,
  local_id bigint, local_name text, local_email text
)
language plpgsql stable security definer rows 10
set search_path = ''
-- Otherwise it is planned again for each array, 170 µs, because the generic plan expects ten elements where there
-- usually is one.
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
comment on function private.participants_of(bigint[]) is
  'The names and e-mail addresses of both participants of each of these conversations, if the caller is one of them.
Definer, because users can read only their own row of users; they see no other columns of a partner''s.';
grant execute on function private.participants_of(bigint[]) to authenticated;

create function private.require_participant(conversation bigint)
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
comment on function private.require_participant(bigint) is
  'Raises 404 if the caller does not take part in the conversation, with the same message whether or not it exists.
Definer, so that definer functions, to which row level security does not apply, refuse in the same way.';
grant execute on function private.require_participant(bigint) to authenticated;

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
    raise sqlstate 'PT400' using message = 'other_user_id: you cannot open a conversation with yourself';
  end if;
  if not exists (select from public.users where id = other_user and is_active) then
    raise sqlstate 'PT404' using message = 'User not found';
  end if;
  insert into public.conversations (voyager_id, local_id)
  select me, other_user
  where not private.is_blocked_between(me, other_user)
  on conflict (least(voyager_id, local_id), greatest(voyager_id, local_id)) do nothing
  returning * into opened;
  if opened.id is null then
    -- The conflict waited for the concurrent insert to commit, so this statement's snapshot sees the row.
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
  'Opens a conversation with the caller as the voyager. Raises 409 with the id of an existing one, and 403 if one of the
two has blocked the other, without saying who. Definer, because no caller has a grant to insert conversations: only this
function does.';
grant execute on function api.open_conversation(bigint) to edge_functions;

create function api.list_conversations(page_limit integer, page_offset bigint)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    -- Select the page before joining: an inbox of 600 would otherwise read 1,200 users to show 50.
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
          'id', page.id, 'voyager_id', page.voyager_id, 'local_id', page.local_id,
          'Voyager', json_build_object(
            'id', page.voyager_id, 'name', participants.voyager_name, 'email', participants.voyager_email
          ),
          'Local', json_build_object(
            'id', page.local_id, 'name', participants.local_name, 'email', participants.local_email
          ),
          'Messages', case
            when page.latest_id is null then '[]'
            else json_build_array(json_build_object(
              'id', page.latest_id, 'content', page.content, 'user_id', page.user_id, 'read', page.read,
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
    join private.participants_of((select array_agg(id) from page)) as participants on participants.id = page.id
  );
end
$$;
comment on function api.list_conversations(integer, bigint) is
  'The caller''s conversations with their latest message, latest activity first; all of them if the limit is null.';
grant execute on function api.list_conversations(integer, bigint) to edge_functions;

create function api.get_conversation(conversation bigint)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  participants record;
  reservations json;
begin
  -- Empty for non-participants, as in list_messages.
  select * into participants from private.participants_of(array[conversation]);
  if not found then
    perform private.require_participant(conversation);
  end if;
  perform private.scope_to_conversation(conversation);
  reservations := private.reservations_of(conversation);
  perform private.scope_to_conversation(null);
  return json_build_object(
    'id', participants.id,
    'Voyager', json_build_object('id', participants.voyager_id, 'name', participants.voyager_name),
    'Local', json_build_object('id', participants.local_id, 'name', participants.local_name),
    'Reservations', reservations
  );
end
$$;
comment on function api.get_conversation(bigint) is
  'A conversation with its two participants and its reservations, ordered by date.';
grant execute on function api.get_conversation(bigint) to edge_functions;

-- Messages: inserted by send_message and marked as read by their recipient; nothing else changes them.
create function private.is_attachment(value jsonb)
returns boolean
-- Strict, so that a message without an attachment does not pay the 95 µs of planning.
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
comment on function private.is_attachment(jsonb) is
  'Whether the value is {url, name, mime_type, size} and nothing else; null for null.';
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
  constraint "a message says something or carries an attachment"
    check (content ~ '[^[:space:][:cntrl:]]' or attachment is not null)
);
comment on table public.messages is
  'Within a conversation, ids are in commit order: a reader who has seen an id has seen all before it.';
comment on column public.messages.client_id is
  'The sender''s idempotency key: sending it again returns the first answer and inserts nothing.';

create index messages_conversation_id_id_idx on public.messages (conversation_id, id desc);
comment on index public.messages_conversation_id_id_idx is 'Pages of a conversation, from either end.';
create index messages_unread_idx on public.messages (conversation_id, user_id) where not read;
comment on index public.messages_unread_idx is 'Unread messages; small, because most messages are read.';
create index messages_user_id_idx on public.messages (user_id);
create unique index messages_one_per_client_id on public.messages (user_id, client_id) where client_id is not null;
comment on index public.messages_one_per_client_id is 'A client_id of a sender identifies one message, for ever.';

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
  'The part of the first answer to a send with a client_id that may change later: the sender''s name. With it a repeat
returns the same bytes.';
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
  'A message as every answer shows it. A composite type, because turning a page of rows into JSON takes two thirds of
the time of building as many objects.';

create function private.to_message_view(message public.messages, sender json)
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
comment on function private.to_message_view(public.messages, json) is
  'A message as every answer shows it; sender is {id, name}. Without `set search_path`, so that it is inlined, as
private.iso.';
grant execute on function private.to_message_view(public.messages, json) to authenticated;

create function api.list_messages(conversation bigint, page jsonb)
returns json
language plpgsql stable security invoker
set search_path = ''
-- Where most conversations are short, the generic plan would read all of a long one and sort it for its last 50
-- messages.
set enable_bitmapscan = off
as $$
declare
  page_limit integer := (page ->> 'limit')::integer;
  page_offset bigint := (page ->> 'offset')::bigint;
  -- Variables instead of coalesce() in the condition, which could not use the index under row level security.
  before_id bigint := coalesce((page ->> 'before_id')::bigint, 9223372036854775807);
  after_id bigint := coalesce((page ->> 'after_id')::bigint, 0);
  oldest_first boolean := after_id > 0 or page ->> 'order' = 'asc';
  participants record;
  voyager json;
  local json;
  listed private.message_view[];
begin
  -- Empty for non-participants, so the second query runs only before a refusal.
  select * into participants from private.participants_of(array[conversation]);
  if not found then
    perform private.require_participant(conversation);
  end if;
  voyager := json_build_object('id', participants.voyager_id, 'name', participants.voyager_name);
  local := json_build_object('id', participants.local_id, 'name', participants.local_name);
  perform private.scope_to_conversation(conversation);

  -- Read one row more than the page to know whether another page follows.
  if oldest_first then
    select array_agg(
      private.to_message_view(entry, case user_id when participants.voyager_id then voyager else local end)
      order by entry.id
    )
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
    select array_agg(
      private.to_message_view(entry, case user_id when participants.voyager_id then voyager else local end)
      order by entry.id desc
    )
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
  'A page {limit, offset, before_id, after_id, order} of a conversation: newest first; oldest first with after_id or
order asc. The response metadata holds the last id of the page if another page follows.';
grant execute on function api.list_messages(bigint, jsonb) to edge_functions;

create function api.send_message(conversation bigint, draft jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
  partner bigint;
  my_name text;
  draft_client_id uuid := (draft ->> 'client_id')::uuid;
  draft_attachment jsonb := nullif(draft -> 'attachment', 'null');
  sent public.messages;
begin
  -- The lock makes ids follow commit order within the conversation and serializes sends with the same client_id.
  select case me when voyager_id then local_id else voyager_id end
  into partner
  from public.conversations
  where id = conversation and me in (voyager_id, local_id)
  for no key update;
  if not found then
    raise sqlstate 'PT404' using message = 'Conversation not found';
  end if;
  -- The share lock makes a concurrent erasure wait, so that no copy of the name outlives it.
  select name into my_name from public.users where id = me and is_active for share;
  if not found then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;

  insert into public.messages (conversation_id, user_id, content, attachment, client_id)
  select conversation, me, draft ->> 'content', draft_attachment, draft_client_id
  where not private.is_blocked_between(me, partner)
    and exists (select from public.users where id = partner and erased_at is null)
  on conflict (user_id, client_id) where client_id is not null do nothing
  returning * into sent;

  if sent.id is null then
    select * into sent from public.messages where user_id = me and client_id = draft_client_id;
    if sent.id is null then
      raise sqlstate 'PT403' using message = 'You cannot write to this person';
    end if;
    if (sent.conversation_id, sent.content, sent.attachment)
      is distinct from (conversation, draft ->> 'content', draft_attachment) then
      raise sqlstate 'PT422' using message = 'This idempotency key was used for another message';
    end if;
    perform private.set_response_metadata('{"replayed": true}');
    sent.read := false;
    select coalesce(min(sender_name), my_name) into my_name from private.idempotent_replies where message_id = sent.id;
  else
    if sent.attachment is not null then
      perform private.require_matching_mime_type(sent.attachment, (draft ->> 'matches_mime_type')::boolean);
    end if;
    if draft_client_id is not null then
      insert into private.idempotent_replies (message_id, sender_name) values (sent.id, my_name);
    end if;
  end if;

  return to_json(private.to_message_view(sent, json_build_object('id', me, 'name', my_name)));
end
$$;
comment on function api.send_message(bigint, jsonb) is
  'Sends {content, attachment, client_id, matches_mime_type} as the caller. A client_id that was used before returns
the first answer again and sets replayed in the response metadata. Raises 403 if one of the two has blocked the other or
the partner is erased, without saying which. Definer, because no caller has a grant to insert messages: only this
function does.';
grant execute on function api.send_message(bigint, jsonb) to edge_functions;

create function api.mark_read(conversation bigint, message bigint, and_before boolean)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
begin
  perform private.require_participant(conversation);
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
  'Marks a message that the caller has received as read; with and_before, all received before it as well. The caller''s
own messages, and messages that are read already, stay unchanged. Definer, because no caller has a grant to update
messages: read may only become true.';
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
comment on function api.count_unread() is
  'The number of unread messages, in total and for each conversation that has some.';
grant execute on function api.count_unread() to edge_functions;

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

-- The search index has one row for each profile that is searchable and whose owner is active. The files from 70 to 77
-- build it:
--   70 tables · 71 triggers that keep the index in sync · 72 query parsing · 73 keyword scores · 74 candidates
--   75 api.search_profiles · 76 embeddings, made later from a queue · 77 audit and repair
create extension if not exists unaccent with schema extensions;
create extension if not exists fuzzystrmatch with schema extensions;
create extension if not exists vector with schema extensions;

create table private.search_models (
  name text primary key,
  similarity_floor double precision not null,
  similarity_ceiling double precision not null,
  similarity_threshold double precision not null,
  check (similarity_floor < similarity_threshold and similarity_threshold < similarity_ceiling)
);
comment on table private.search_models is
  'How to read the cosines of each embedding model: floor, that of unrelated texts; ceiling, that of the closest texts;
threshold, from where on a profile is a hit. bench/search/calibrate.ts computes them.';
alter table private.search_models enable row level security;

-- Those of the offline model are measured. The others follow what makers and users of the models report; nobody has
-- measured them here.
insert into private.search_models (name, similarity_floor, similarity_ceiling, similarity_threshold)
values
  ('offline-wordnet-v2', 0.03, 0.55, 0.13),
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
  'The profiles that a search can find: those that are searchable and whose owner is active.';
comment on column private.search_entries.words is
  'All words, for phrase matching. Weight A: name, first and last name; B: interests; C: city and country; D:
biography.';
comment on column private.search_entries.content_hash is
  'Hash of the text that the embedding is made from. While it stays the same, the embedding is kept.';
-- Only hits show the biography, so it is stored out of line. Every candidate's embedding is read, so it is stored in
-- line: out of line, a hundred neighbours take 6.5 ms instead of 1.2.
alter table private.search_entries alter column biography set storage external;
alter table private.search_entries alter column embedding set storage plain;
alter table private.search_entries enable row level security;

create index search_entries_user_id_idx on private.search_entries (user_id);
create index search_entries_model_idx on private.search_entries (model);
create index search_entries_interest_keys_idx
  on private.search_entries using gin (interest_keys) with (fastupdate = off);
create index search_entries_city_key_idx on private.search_entries (city_key);
create index search_entries_country_key_idx on private.search_entries (country_key);
create index search_entries_embedding_idx
  on private.search_entries using hnsw (embedding extensions.halfvec_cosine_ops);
comment on index private.search_entries_embedding_idx is
  'Nearest neighbours. Filters are applied during the index scan, not after it.';

create table private.search_postings (
  word text collate "C",
  profile_id bigint not null references private.search_entries (profile_id) on delete cascade,
  word_positions integer[] not null,
  primary key (word, profile_id) include (word_positions)
);
comment on table private.search_postings is
  'The inverted index: which profiles contain a word, and where. The empty word marks the end of each text. Reading a
thousand candidates from here takes a sixth of the time that reading documents with all their words takes.';
comment on column private.search_postings.word_positions is 'Packed by private.word_position, in ascending order.';
create index search_postings_profile_id_idx on private.search_postings (profile_id);
alter table private.search_postings enable row level security;

-- The accessors of packed positions have no search_path, so that Postgres inlines them: a search reads thousands of
-- positions.
create function private.word_position(attribute integer, element integer, place integer)
returns integer
language sql immutable parallel safe
as $$
  select attribute * 1000000 + element * 10000 + place
$$;
comment on function private.word_position(integer, integer, integer) is
  'Packs where a word stands. attribute: 0 name, 1 interests, 2 city, 3 country, 4 biography, 5 first and last name.
element: which of the texts of the attribute, such as the second interest. place: how many words come before it in this
text. All count from 0.';

create function private.attribute_of(word_position integer)
returns integer
language sql immutable parallel safe
as $$
  select word_position / 1000000
$$;
comment on function private.attribute_of(integer) is 'The attribute of a packed position.';

create function private.element_of(word_position integer)
returns integer
language sql immutable parallel safe
as $$
  select word_position / 10000 % 100
$$;
comment on function private.element_of(integer) is 'The element of a packed position within its attribute.';

create function private.place_of(word_position integer)
returns integer
language sql immutable parallel safe
as $$
  select word_position % 10000
$$;
comment on function private.place_of(integer) is 'The place of a packed position within its text, from 0.';

create table private.search_lexicon (
  word text collate "C" primary key,
  entries integer not null check (entries > 0)
);
comment on table private.search_lexicon is
  'Every word of the index and how many entries contain it. Typing errors and unfinished words are matched against it. A
word is deleted with the last entry that contains it.';
create index search_lexicon_shape_idx on private.search_lexicon (left(word, 1), char_length(word));
comment on index private.search_lexicon_shape_idx is
  'Candidates for a mistyped word: the same first letter, and about the same length.';
create index search_lexicon_tail_idx on private.search_lexicon (substr(word, 2));
comment on index private.search_lexicon_tail_idx is 'Candidates for a word whose first letter is mistyped.';
create index search_lexicon_entries_idx on private.search_lexicon (entries);
comment on index private.search_lexicon_entries_idx is 'How many entries contain the most common word.';
alter table private.search_lexicon enable row level security;

-- Keeps the index in sync: the transaction that changes a profile also updates its entry, the entry's words and the
-- context of its owner (refresh_search_context, in 76_embeddings.sql).

create function private.fold(value text)
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return lower(extensions.unaccent('extensions.unaccent', normalize(value, nfkc)));
end
$$;
comment on function private.fold(text) is
  'Folds case, accents and compatibility forms. Immutable as long as nobody edits the dictionary unaccent.';

create function private.words_of(value text)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select coalesce(array_agg(left(matches.word[1], 60) order by matches.position), '{}')
    from regexp_matches(
      regexp_replace(
        private.fold(value),
        '([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])', ' \1 ', 'g'
      ),
      '[^[:space:][:punct:][:cntrl:]]+', 'g'
    ) with ordinality as matches (word, position)
  );
end
$$;
comment on function private.words_of(text) is
  'The folded words of a text, in order. In scripts without spaces (Han, kana, Thai, Lao, Khmer, Burmese) every
character is a word.';

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
      select 1, ordinality::integer - 1, interest
      from unnest(interests) with ordinality as listed (interest, ordinality)
    ),
    texts_as_words as materialized (
      select attribute, element, private.words_of(value) as words
      from texts
      where value is not null
    ),
    occurrences as (
      select attribute, element, ordinality::integer - 1 as place, word
      from texts_as_words
      cross join lateral unnest(words) with ordinality as listed (word, ordinality)
      -- Some characters fold into many words, which could run into the positions of the next text.
      where ordinality <= 9000
      union all
      select attribute, element, least(9000, cardinality(words)), ''
      from texts_as_words
    ),
    numbered as (
      select
        word,
        private.word_position(attribute => attribute, element => element, place => place) as word_position,
        row_number() over (partition by word order by attribute, element, place) as occurrence
      from occurrences
    )
    select coalesce(jsonb_object_agg(word, word_positions), '{}')
    from (
      select word, jsonb_agg(word_position order by word_position) as word_positions
      from numbered
      -- The tenth occurrence of a word says nothing that the first nine did not.
      where occurrence <= 9 or word = ''
      group by word
    ) as grouped
  );
end
$$;
comment on function private.positions_of(public.profiles, text, text[]) is
  'The packed positions of each word of a profile, as {word: [position]}.';

create function private.words_from_positions(word_positions jsonb)
returns tsvector
language plpgsql immutable security invoker set search_path = ''
as $$
begin
  return (
    select coalesce(
      string_agg(
        quote_literal(word) || ':' || least(16383, attribute_start + element * 40 + place + 1)
          || substr('ABCCDA', attribute + 1, 1),
        ' '
      ),
      ''
    )::tsvector
    from (
      select
        word,
        private.attribute_of(word_position) as attribute,
        private.element_of(word_position) as element,
        private.place_of(word_position) as place,
        -- The attributes are far apart, so that no phrase matches across two of them.
        (array[0, 200, 2400, 2600, 2800, 15000])[private.attribute_of(word_position) + 1] as attribute_start
      from jsonb_each(word_positions - '') as entry (word, list)
      cross join lateral (select value::integer as word_position from jsonb_array_elements(list)) as unpacked
    ) as placed
  );
end
$$;
comment on function private.words_from_positions(jsonb) is 'The same words as a tsvector, for phrase matching.';

create function private.refresh_search_entry(profile bigint)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
  current_profile public.profiles;
  owner public.users;
  interest_names text[];
  positions jsonb;
  hash text;
begin
  -- One transaction at a time updates the index, and it holds this lock until it commits. The next one then reads what
  -- the previous one wrote: a transaction that read a profile before it was hidden cannot put it back. And two
  -- transactions that change the same words cannot deadlock.
  perform pg_advisory_xact_lock('private.search_entries'::regclass::oid::bigint);
  select * into current_profile from public.profiles where id = profile and is_searchable;
  select * into owner from public.users where id = current_profile.user_id and is_active;
  if owner.id is null then
    delete from private.search_entries where profile_id = profile;
    return;
  end if;
  select coalesce(array_agg(interests.name order by interests.name), '{}')
  into interest_names
  from public.profile_interests
  join public.interests on interests.id = profile_interests.interest_id
  where profile_interests.profile_id = profile;

  positions := private.positions_of(profile => current_profile, name => owner.name, interests => interest_names);
  hash := md5(concat_ws(
    e'\n',
    array_to_string(interest_names, ', '), current_profile.city, current_profile.country, current_profile.biography
  ));
  insert into private.search_entries as entry (
    profile_id, user_id, name, biography, city, country, interests, image_url,
    interest_keys, city_key, country_key, words, content_hash
  )
  values (
    profile, owner.id, owner.name, current_profile.biography, current_profile.city, current_profile.country,
    interest_names, current_profile.image_url,
    array(select private.fold(trim(name)) from unnest(interest_names) as name),
    private.fold(trim(current_profile.city)), private.fold(trim(current_profile.country)),
    private.words_from_positions(positions), hash
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
    -- The embedding of an old text would still find what the owner has deleted.
    embedding = case when entry.content_hash = excluded.content_hash then entry.embedding end,
    model = case when entry.content_hash = excluded.content_hash then entry.model end
  where (entry.words, entry.image_url, entry.name, entry.biography, entry.city, entry.country, entry.interests)
    is distinct from (
      excluded.words, excluded.image_url, excluded.name, excluded.biography, excluded.city, excluded.country,
      excluded.interests
    );
  if found then
    delete from private.search_postings where profile_id = profile and not positions ? word;
    insert into private.search_postings as posting (word, profile_id, word_positions)
    select word, profile, array(select value::integer from jsonb_array_elements_text(list))
    from jsonb_each(positions) as entry (word, list)
    on conflict (word, profile_id) do update set word_positions = excluded.word_positions
    where posting.word_positions <> excluded.word_positions;
  end if;
end
$$;
comment on function private.refresh_search_entry(bigint) is
  'Inserts, updates or deletes the entry of a profile. Definer, because users who change a profile may not write the
index.';

create function private.is_unconfirmed(profile bigint)
returns boolean
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- The share lock makes a concurrent confirmation wait for this transaction, and then read what it wrote. A
  -- confirmation that already holds the row is skipped: it waits for the lock of the index, which this transaction may
  -- hold.
  perform
  from public.users
  where id = (select user_id from public.profiles where profiles.id = profile) and confirmed_at is null
  for share skip locked;
  return found;
end
$$;
comment on function private.is_unconfirmed(bigint) is
  'Whether the owner of a profile has not confirmed their address. Until then no search finds them, and the index is not
updated. Auth sends its mail before the sign-up commits: if that transaction held the lock of the index, every change of
a profile would wait for the mail server. Only for definer triggers.';

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
comment on function private.sync_profile() is
  'Updates the index when a profile changes. Definer, as refresh_search_entry.';

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
comment on function private.sync_user() is
  'Updates the index when a user''s name or is_active changes, and their context when bio or location does. Definer, as
refresh_search_entry.';

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
comment on function private.sync_interest() is
  'Updates the index when an interest is renamed. Definer, as refresh_search_entry.';

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
comment on function private.sync_profile_interests() is
  'Updates the index when interests are added to profiles or removed. Definer, as refresh_search_entry.';

create trigger sync_added_interests
  after insert on public.profile_interests
  referencing new table as changed
  for each statement
  execute function private.sync_profile_interests();

create trigger sync_removed_interests
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
comment on function private.sync_swapped_interests() is
  'Updates the index when one interest replaces another. Definer, as refresh_search_entry.';

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
comment on function private.count_words(private.search_lexicon[]) is
  'Adds to or subtracts from the counts of the lexicon, and deletes words that no entry contains any more.';

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
    from (select word, -count(*)::integer as entries from removed where word <> '' group by word) as counts;
  end if;
  if deltas is not null then
    -- The lock of refresh_search_entry. Entries that are deleted with their profile do not pass through that function.
    perform pg_advisory_xact_lock('private.search_entries'::regclass::oid::bigint);
    perform private.count_words(deltas);
  end if;
  return null;
end
$$;
comment on function private.sync_postings() is
  'Updates the lexicon when postings change. Definer, as refresh_search_entry.';

create trigger sync_added_postings
  after insert on private.search_postings
  referencing new table as added
  for each statement
  execute function private.sync_postings();

create trigger sync_removed_postings
  after delete on private.search_postings
  referencing old table as removed
  for each statement
  execute function private.sync_postings();

-- From the text of a query to search terms: its words, and the words of the index that they may stand for. Functions
-- that every search calls are in plpgsql, which keeps their plans; those to be inlined are in SQL without a
-- search_path.

create function private.typo_budget(word text)
returns integer
language sql immutable parallel safe
as $$
  select case when char_length(word) < 5 then 0 when char_length(word) < 9 then 1 else 2 end
$$;
comment on function private.typo_budget(text) is
  'How many typing errors are tolerated in a word of this length. As in Meilisearch: none below 5 letters, one below 9,
else two.';

create function private.swaps_of(word text)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select array_agg(
      distinct overlay(word placing substr(word, place + 1, 1) || substr(word, place, 1) from place for 2)
    )
    from generate_series(1, char_length(word) - 1) as place
  );
end
$$;
comment on function private.swaps_of(text) is 'The word with two adjacent letters swapped, at every place.';

create function private.typos(typed text, meant text, budget integer)
returns integer
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select case
      when typed = meant then 0
      -- A swap is one error here and two to Levenshtein, so a greater distance cannot be within the budget.
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
  'How many errors turn one word into the other: a wrong, missing or extra letter, or two adjacent letters swapped. Null
above the budget.';

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
    with candidates as (
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
        -- The first letter is right. A wrong one costs two errors, which is too many below 9 letters.
        select lexicon.word, cost.typos, false, lexicon.entries
        from private.search_lexicon as lexicon
        cross join lateral (
          select min(case
            when distance <= 1 then distance
            when form = any (swaps) then 1
            when distance <= budget then distance
            when budget > 1 then private.typos(typed => typed, meant => form, budget => budget)
          end) as typos
          from unnest(case
            when unfinished and char_length(lexicon.word) > size
              then array[left(lexicon.word, size), left(lexicon.word, size + 1), left(lexicon.word, size - 1)]
            else array[lexicon.word]
          end) as form
          -- A swap is one error here and two to Levenshtein.
          cross join lateral (select extensions.levenshtein_less_equal(typed, form, 2 * budget) as distance) as measured
          where distance <= 2 * budget
        ) as cost
        where budget > 0
          and left(lexicon.word, 1) = left(typed, 1) collate "C"
          and char_length(lexicon.word) between size - budget and case when unfinished then 60 else size + budget end
          -- Leaves few words for the lateral, which takes ten times as long. Its forms of a word are within one letter
          -- of this one.
          and extensions.levenshtein_less_equal(
            typed, case when unfinished then left(lexicon.word, size) else lexicon.word end, 2 * budget + 1
          ) <= 2 * budget + 1
          and cost.typos > 0
        order by cost.typos, lexicon.entries desc, lexicon.word
        limit 100
      )
      union all
      (
        -- The first letter is wrong, missing, extra, or swapped with the second.
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
    select candidates.word, min(candidates.typos), bool_or(candidates.exact), max(candidates.entries)
    from candidates
    group by candidates.word;
end
$$;
comment on function private.expand_word(text, boolean) is
  'The words of the index that a typed word may stand for, each with its typing errors.';

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
  'A word of a query. `unit` is the word, phrase or run of letters that it belongs to. `place` numbers the words that
are scored, and excluded words separately; it is null from the third mention of a word on, which only belongs to its
phrase. `position` numbers all words.';

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
        -- One character can expand to eighteen. To parse 512 of those takes 40 ms.
        private.words_of(left(normalize(coalesce(part[2], part[5]), nfkc), 512)) as words,
        max(ordinality) over () = ordinality and query !~ '[[:space:]"]$' as is_last
      from regexp_matches(query, '(-?)"([^"]*)("|$)|(-?)([^[:space:]"]+)', 'g')
        with ordinality as matches (part, ordinality)
    ),
    listed as (
      select
        piece, is_quoted, is_excluded, position, word,
        is_last and position = cardinality(words) and not is_quoted and not is_excluded as is_unfinished,
        -- A character of a script without spaces, which words_of makes a word.
        word ~ '^[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]'
          as is_letter
      from pieces
      cross join lateral unnest(words) with ordinality as numbered (word, position)
    ),
    -- A phrase is one unit, and so is a run of letters. Every other word is a unit by itself.
    started as (
      select *,
        case
          when position = 1 then 1
          when is_quoted or is_excluded then 0
          when is_letter and lag(is_letter) over (partition by piece order by position) then 0
          else 1
        end as starts,
        -- The same for all letters of one run.
        position - row_number() over (partition by piece, is_letter order by position) as run
      from listed
    ),
    -- The limit counts words, not units: the cost of a phrase grows with its length. Words of such scripts have one to
    -- five letters, so every third letter of a run counts as a word, beginning with the first.
    weighted as (
      select *,
        sum(starts) over (order by piece, position) as number,
        case
          when is_letter and (row_number() over (partition by piece, is_letter, run order by position)) % 3 <> 1 then 0
          else 1
        end as weight
      from started
    ),
    counted as (
      select *, sum(weight) over (partition by is_excluded order by piece, position) as words_so_far
      from weighted
    ),
    kept as (
      -- Names such as New York, New York repeat a word once. More repetitions add no information, and a common word is
      -- the most expensive.
      select *, row_number() over (partition by is_excluded, counted.word order by piece, position) <= 2 as is_new
      from counted
      where words_so_far <= 10
    ),
    placed as (
      -- From the eleventh letter on, a letter only belongs to its run.
      select *,
        is_excluded or is_new and (
          not is_letter
          or count(*) filter (where is_new) over (partition by is_excluded, is_letter order by piece, position) <= 10
        ) as has_place
      from kept
    )
    select
      number::integer,
      case
        when has_place
          then (count(*) filter (where has_place) over (partition by is_excluded order by piece, position))::integer
      end,
      placed.word,
      is_quoted,
      is_excluded,
      is_unfinished and not is_letter,
      (row_number() over (order by piece, position))::integer
    from placed;
end
$$;
comment on function private.parse_query(text) is
  'The words of a query in units: a word, a "phrase", or a run of letters of a script without spaces. -word and
-"phrase" exclude. The last word may be unfinished. The first 10 words count, quoted ones included, and the first 10
excluded ones. Three letters of a run count as a word, and 10 letters at most are scored.';

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
  'A word of the index that a word of the query may stand for. `place` and `unit` are those of the query word, `entries`
is how many entries contain the term. `phrase` is the phrase that it must stand in, if any; private.resolve_phrases
replaces it by `phrase_ids`, the profiles that contain the phrase.';

create function private.terms_of(words private.query_word[])
returns private.search_term[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    with parsed as (
      select *, count(*) over (partition by unit) > 1 as in_phrase
      from unnest(words)
      where not excluded
    ),
    phrases as (
      select unit, string_agg(quote_literal(word), ' <-> ' order by position)::tsquery as phrase
      from parsed
      where in_phrase
      group by unit
    )
    select array_agg(
      row(
        parsed.place, parsed.unit, meant.word, meant.typos, meant.exact, meant.entries, parsed.quoted, phrases.phrase,
        null
      )::private.search_term
    )
    from parsed
    left join phrases using (unit)
    cross join lateral (
      select lexicon.word, 0 as typos, true as exact, lexicon.entries
      from private.search_lexicon as lexicon
      where (parsed.in_phrase or parsed.quoted) and lexicon.word = parsed.word
      union all
      select expanded.word, expanded.typos, expanded.exact, expanded.entries
      from private.expand_word(parsed.word, parsed.unfinished) as expanded
      where not (parsed.in_phrase or parsed.quoted)
    ) as meant
    -- No entry contains a phrase if one of its words is in no entry.
    where parsed.place is not null
      and (not parsed.in_phrase or not exists (
        select
        from parsed as other
        where other.unit = parsed.unit
          and other.word not in (select lexicon.word from private.search_lexicon as lexicon)
      ))
  );
end
$$;
comment on function private.terms_of(private.query_word[]) is 'The words of the index that a query looks for.';

-- The score of an entry: how well it matches the words of a query, by Meilisearch's ranking rules, and with its
-- similarity in meaning. Functions without a search_path are inlined.

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
  'The cost, 0 to 10, of the distance between a word''s places in the text and in the query. The buckets are
Meilisearch''s.';

create function private.match_cost(typos integer, attribute_weight integer, position_cost integer)
returns integer
language sql immutable parallel safe
as $$
  select typos * 1000000 + attribute_weight * 100 + position_cost
$$;
comment on function private.match_cost(integer, integer, integer) is
  'Packs the costs of a match so that min() finds the best one: the fewest typos first, then the best attribute, then
the best position. Before Postgres 18, min() does not take composite types.';

create function private.match_typos(cost integer)
returns integer
language sql immutable parallel safe
as $$
  select cost / 1000000
$$;
comment on function private.match_typos(integer) is 'The typos of a match_cost.';

create function private.match_attribute(cost integer)
returns integer
language sql immutable parallel safe
as $$
  select cost % 1000000 / 100
$$;
comment on function private.match_attribute(integer) is 'The attribute weight of a match_cost.';

create function private.match_position(cost integer)
returns integer
language sql immutable parallel safe
as $$
  select cost % 100
$$;
comment on function private.match_position(integer) is 'The position cost of a match_cost.';

create function private.postings_of(terms private.search_term[], ids bigint[])
returns table (profile_id bigint, word text, place integer, typos integer, exact boolean, word_positions integer[])
language sql stable security invoker
as $$
  select posting.profile_id, posting.word, posting.place, posting.typos, posting.exact, posting.word_positions
  from (
    -- Rare words: read all their postings. `offset 0` keeps Postgres from reading the whole table.
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
    -- Common words: look up the candidates.
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
    -- Words of a phrase: look up the profiles that contain the phrase.
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
  -- find_profiles has resolved the phrases, so its terms have none.
  where posting.phrase is null
    or exists (
      select
      from private.search_entries as entry
      where entry.profile_id = posting.profile_id and entry.words @@ posting.phrase
    )
$$;
comment on function private.postings_of(private.search_term[], bigint[]) is
  'Which of the profiles contain which of the terms, and where.';

create type private.keyword_ranks as (
  words_asked integer,
  words_matched integer,
  typos integer,
  typo_max integer,
  proximity_cost integer,
  attribute_cost integer,
  attribute_max integer,
  position_cost integer,
  exactness integer,
  exact_words integer
);
comment on type private.keyword_ranks is
  'What Meilisearch''s rules count for one entry, for the words that it matches. A cost is how far the rank is below the
best; a max is the number of ranks of a rule. exactness: 3 if the words are a whole text, 2 if a text begins with them,
else 1.';

create function private.keyword_score(ranks private.keyword_ranks)
returns double precision
language sql immutable parallel safe
as $$
  -- Horner's method: the part of each rule is divided by the maxima of all rules before it.
  select 1 - (
    ranks.words_asked - ranks.words_matched + (
      ranks.typos + (
        ranks.proximity_cost + (
          ranks.attribute_cost + (
            ranks.position_cost + (
              3 - ranks.exactness + case
                when ranks.exactness = 1
                  then (ranks.words_matched - ranks.exact_words) / (ranks.words_matched + 1)::double precision
                else 0
              end
            ) / 3
          ) / (10 * ranks.words_matched + 1)
        ) / ranks.attribute_max
      ) / (3 * (ranks.words_matched - 1) + 1)
    ) / ranks.typo_max
  ) / ranks.words_asked
$$;
comment on function private.keyword_score(private.keyword_ranks) is
  'Meilisearch''s keyword score, 0 to 1: 1 - sum over its rules i of (max_i - rank_i) / product of max_j for j <= i, the
closed form of its nested ranks.';

create function private.keyword_bounds(
  ids bigint[],
  terms private.search_term[],
  words_asked integer,
  typo_budgets integer[]
)
returns table (profile_id bigint, at_least double precision, at_most double precision, in_name boolean)
language plpgsql stable security invoker
set search_path = ''
-- As in keyword_scores.
set plan_cache_mode = 'force_generic_plan'
set enable_nestloop = off
as $$
begin
  return query
    with matches as (
      select
        posting.profile_id,
        posting.place,
        -- The first position is in the best attribute. If the word occurs again, another position may be better.
        min(private.match_cost(
          typos => posting.typos, attribute_weight => attribute, position_cost => cost
        )) as max_cost,
        min(private.match_cost(
          typos => posting.typos,
          attribute_weight => attribute,
          position_cost => case when cardinality(posting.word_positions) > 1 then 0 else cost end
        )) as min_cost,
        bool_or(posting.typos = 0 and attribute = 0) as in_name
      from private.postings_of(terms, ids) as posting
      cross join lateral (
        select
          private.attribute_of(posting.word_positions[1]) as attribute,
          private.position_cost(abs(private.place_of(posting.word_positions[1]) - (posting.place - 1))) as cost
      ) as first_position
      group by posting.profile_id, posting.place
    ),
    tallies as (
      select
        matches.profile_id,
        count(*)::integer as words_matched,
        sum(private.match_typos(matches.max_cost))::integer as typos,
        greatest(sum(typo_budgets[matches.place]), case when count(*) > 1 then count(*) else 0 end)::integer + 1
          as typo_max,
        sum(private.match_attribute(matches.max_cost))::integer as attribute_cost,
        sum(private.match_position(matches.max_cost))::integer as max_position_cost,
        sum(private.match_position(matches.min_cost))::integer as min_position_cost,
        count(*) filter (where matches.in_name) = words_asked as in_name
      from matches
      group by matches.profile_id
    )
    select
      tallies.profile_id,
      private.keyword_score(row(
        words_asked, words_matched, typos, typo_max, 3 * (words_matched - 1),
        attribute_cost, 5 * words_matched + 1, max_position_cost, 1, 0
      )::private.keyword_ranks),
      private.keyword_score(row(
        words_asked, words_matched, typos, typo_max, 0,
        attribute_cost, 5 * words_matched + 1, min_position_cost, 3, words_matched
      )::private.keyword_ranks),
      tallies.in_name
    from tallies;
end
$$;
comment on function private.keyword_bounds(bigint[], private.search_term[], integer, integer[]) is
  'Lower and upper bounds of keyword scores, from the attributes that contain the words. Takes a third of the time of
the scores themselves. Parameters and in_name as in keyword_scores, with its default weights.';

create function private.keyword_scores(
  ids bigint[],
  terms private.search_term[],
  words_asked integer,
  typo_budgets integer[],
  attribute_weights integer[] default '{0, 1, 2, 3, 4, 5}'
)
returns table (profile_id bigint, score double precision, in_name boolean, ranks private.keyword_ranks)
language plpgsql stable security invoker
set search_path = ''
-- Planning these statements takes longer than running them. And Postgres underestimates how many rows the expressions
-- return, and would use nested loops, which took minutes for 1,000 candidates.
set plan_cache_mode = 'force_generic_plan'
set enable_nestloop = off
as $$
declare
  max_weight constant integer := (select max(weight) from unnest(attribute_weights) as weight);
begin
  perform private.check_deadline();
  return query
    with matches as materialized (
      select
        posting.*,
        -- Most words occur once, and unnesting an array takes as long as reading a row.
        case
          when cardinality(posting.word_positions) = 1 then private.match_cost(
            typos => posting.typos,
            attribute_weight => attribute_weights[private.attribute_of(posting.word_positions[1]) + 1],
            position_cost =>
              private.position_cost(abs(private.place_of(posting.word_positions[1]) - (posting.place - 1)))
          )
          else (
            select min(private.match_cost(
              typos => posting.typos,
              attribute_weight => attribute_weights[private.attribute_of(word_position) + 1],
              position_cost => private.position_cost(abs(private.place_of(word_position) - (posting.place - 1)))
            ))
            from unnest(posting.word_positions) as word_position
          )
        end as cost
      from private.postings_of(terms, ids) as posting
    ),
    best_matches as materialized (
      select
        matches.profile_id,
        matches.place,
        min(matches.cost) as cost,
        bool_or(matches.exact) as exact,
        bool_or(matches.typos = 0 and private.attribute_of(matches.word_positions[1]) = 0) as in_name
      from matches
      group by matches.profile_id, matches.place
    ),
    tallies as materialized (
      select
        best_matches.profile_id,
        count(*)::integer as words_matched,
        sum(private.match_typos(best_matches.cost))::integer as typos,
        greatest(sum(typo_budgets[best_matches.place]), case when count(*) > 1 then count(*) else 0 end)::integer + 1
          as typo_max,
        sum(private.match_attribute(best_matches.cost))::integer as attribute_cost,
        sum(private.match_position(best_matches.cost))::integer as position_cost,
        count(*) filter (where best_matches.exact)::integer as exact_words,
        count(*) filter (where best_matches.in_name) = words_asked as in_name,
        bit_or(1::bigint << best_matches.place) as places
      from best_matches
      group by best_matches.profile_id
    ),
    best_words as (
      select
        matches.profile_id,
        matches.word,
        bit_or(1::bigint << matches.place) as places,
        min(matches.word_positions) as word_positions
      from matches
      join best_matches on best_matches.profile_id = matches.profile_id and best_matches.place = matches.place
      where matches.typos = private.match_typos(best_matches.cost)
      group by matches.profile_id, matches.word
    ),
    occurrences as materialized (
      select best_words.profile_id, best_words.word, word_position, best_words.places
      from best_words
      cross join lateral unnest(best_words.word_positions) as word_position
    ),
    -- Finds adjacent words in one pass over the positions of each profile. `places` is a bit mask of the query words
    -- that stand at a position. Joining pairs of positions instead grows with the square of the occurrences: for a word
    -- that occurs ten times, 1,000 candidates had 180,000 pairs, and took 45 ms.
    nearby as (
      select
        occurrences.profile_id,
        occurrences.word_position,
        occurrences.places,
        lead(occurrences.word_position, 1) over following - occurrences.word_position as distance_1,
        lead(occurrences.word_position, 2) over following - occurrences.word_position as distance_2,
        lead(occurrences.word_position, 3) over following - occurrences.word_position as distance_3,
        lead(occurrences.places, 1) over following as places_1,
        lead(occurrences.places, 2) over following as places_2,
        lead(occurrences.places, 3) over following as places_3
      from occurrences
      where words_asked > 1
      window following as (partition by occurrences.profile_id order by occurrences.word_position)
    ),
    neighbours as (
      -- Bit n is set if no word, one word or two words stand between query words n and n + 1 anywhere. In reverse order
      -- the distance counts one more.
      select
        nearby.profile_id,
        bit_or(
          (places & (places >> 1)) | case when distance_1 = 1 then places & (places_1 >> 1) else 0 end
        ) as none_between,
        bit_or(
          case distance_1 when 1 then places_1 & (places >> 1) when 2 then places & (places_1 >> 1) else 0 end
            | case when distance_2 = 2 then places & (places_2 >> 1) else 0 end
        ) as one_between,
        bit_or(
          case distance_1 when 2 then places_1 & (places >> 1) when 3 then places & (places_1 >> 1) else 0 end
            | case distance_2 when 2 then places_2 & (places >> 1) when 3 then places & (places_2 >> 1) else 0 end
            | case when distance_3 = 3 then places & (places_3 >> 1) else 0 end
        ) as two_between
      from nearby
      where distance_1 <= 3 or places & (places >> 1) <> 0
      group by nearby.profile_id
    ),
    -- Materialized, because Postgres inlines keyword_score only if its arguments are simple.
    proximities as materialized (
      select
        neighbours.profile_id,
        (
          3 * bit_count(none_between::bit(64))
          + 2 * bit_count((one_between & ~none_between)::bit(64))
          + bit_count((two_between & ~one_between & ~none_between)::bit(64))
        )::integer as proximity
      from neighbours
    ),
    openings as (
      -- Texts that begin with the matched words in the order of the query: each at the place that equals the number of
      -- matched words before it.
      select
        matches.profile_id,
        occurrences.word_position - private.place_of(occurrences.word_position) as text_start,
        tallies.words_matched
      from occurrences
      join matches on matches.profile_id = occurrences.profile_id and matches.word = occurrences.word
      join tallies on tallies.profile_id = occurrences.profile_id
      where private.place_of(occurrences.word_position) < words_asked
        and matches.exact
        and private.place_of(occurrences.word_position)
          = bit_count((tallies.places & ((1::bigint << matches.place) - 1))::bit(64))
      group by matches.profile_id, text_start, tallies.words_matched
      having count(*) = tallies.words_matched
    ),
    exactness as (
      select
        openings.profile_id,
        max(
          case when text_ends.word_positions @> array[openings.text_start + openings.words_matched] then 3 else 2 end
        ) as exactness
      from openings
      cross join lateral (
        select posting.word_positions
        from private.search_postings as posting
        where posting.word = '' and posting.profile_id = openings.profile_id
        offset 0
      ) as text_ends
      group by openings.profile_id
    )
    select tallies.profile_id, private.keyword_score(ranked.ranks), tallies.in_name, ranked.ranks
    from tallies
    left join exactness on exactness.profile_id = tallies.profile_id
    left join proximities on proximities.profile_id = tallies.profile_id
    cross join lateral (
      select row(
        words_asked, words_matched, typos, typo_max, 3 * (words_matched - 1) - coalesce(proximity, 0),
        attribute_cost, max_weight * words_matched + 1, position_cost, coalesce(exactness.exactness, 1), exact_words
      )::private.keyword_ranks as ranks
    ) as ranked;
end
$$;
comment on function private.keyword_scores(bigint[], private.search_term[], integer, integer[], integer[]) is
  'The keyword scores of the profiles that contain some of the terms. words_asked is how many words the query has,
typo_budgets how many errors each of them tolerates, attribute_weights the weights of name, interests, city, country,
biography, and first and last name. in_name tells whether the name contains all the words as typed.';

create function private.keyword_details(ranks private.keyword_ranks)
returns json
language sql immutable parallel safe set search_path = ''
as $$
  select json_build_object(
    'words', json_build_array(ranks.words_matched, ranks.words_asked),
    'typo', json_build_array(ranks.typo_max - ranks.typos, ranks.typo_max),
    'proximity', json_build_array(proximity_max - ranks.proximity_cost, proximity_max),
    'attribute', json_build_array(ranks.attribute_max - ranks.attribute_cost, ranks.attribute_max),
    'position', json_build_array(position_max - ranks.position_cost, position_max),
    'exactness', json_build_array(ranks.exactness, 3),
    'exactWords', case
      when ranks.exactness = 1 then json_build_array(ranks.exact_words + 1, ranks.words_matched + 1)
    end
  )
  from (
    select 3 * (ranks.words_matched - 1) + 1 as proximity_max, 10 * ranks.words_matched + 1 as position_max
  ) as maxima
  where ranks is not null
$$;
comment on function private.keyword_details(private.keyword_ranks) is
  '[rank, max] of each of the rules that make a keyword score.';

create function private.hybrid_score(
  semantic_ratio double precision,
  keyword double precision,
  semantic double precision,
  in_name boolean
)
returns double precision
language sql immutable parallel safe
as $$
  select greatest((1 - semantic_ratio) * keyword + semantic_ratio * semantic, case when in_name then keyword end)
$$;
comment on function private.hybrid_score(double precision, double precision, double precision, boolean) is
  'The weighted sum of both scores, and at least the keyword score where the name contains all the words.';

-- The profiles that a search considers: those that pass its filters and contain words of the query or are similar to it
-- in meaning. Of the search's functions only api.search_profiles is security definer; no role may call the functions
-- behind it.

create function private.facet_keys(list jsonb)
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
comment on function private.facet_keys(jsonb) is 'The values of a filter as facet keys: folded and trimmed.';

create type private.search_filter as (
  interests text[],
  cities text[],
  countries text[],
  required tsquery,
  excluded tsquery,
  hidden_ids bigint[]
);
comment on type private.search_filter is
  'The conditions that every hit must meet: facet keys, required phrases, and excluded words. hidden_ids are the
caller''s own profile and those of users whom a block hides from the caller.';

-- Without `set search_path`, so that Postgres inlines it and can use the indexes.
create function private.matches_filter(entry private.search_entries, filter private.search_filter)
returns boolean
language sql immutable security invoker
as $$
  select (filter.interests = '{}' or entry.interest_keys && filter.interests)
    and (filter.cities = '{}' or entry.city_key = any (filter.cities))
    and (filter.countries = '{}' or entry.country_key = any (filter.countries))
    and (filter.required is null or entry.words @@ filter.required)
    and (filter.excluded is null or not entry.words @@ filter.excluded)
    and (filter.hidden_ids = '{}' or entry.profile_id <> all (filter.hidden_ids))
$$;
comment on function private.matches_filter(private.search_entries, private.search_filter) is
  'Whether an entry meets the conditions of a search.';

create function private.filter_profiles(filter private.search_filter, word text, max_results integer)
returns bigint[]
language plpgsql stable security invoker set search_path = ''
as $$
declare
  ids bigint[];
begin
  -- Planned at each call, so that Postgres takes the index that fits the filter.
  execute
    'select array(
       select profile_id
       from private.search_entries as entry
       where private.matches_filter(entry, $1)
         and ($2 is null or profile_id in (
           select posting.profile_id from private.search_postings as posting where posting.word = $2
         ))
       limit $3
     )'
  into ids
  using filter, word, max_results;
  return ids;
end
$$;
comment on function private.filter_profiles(private.search_filter, text, integer) is
  'Up to max_results profiles that pass the filter and, if a word is given, contain it.';

create function private.selective_terms(terms private.search_term[])
returns private.search_term[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    with units as (
      -- A word in more than every fourth profile distinguishes none: it is scored, but adds no candidates. With 25
      -- profiles or fewer no word is common.
      select
        unit,
        max(entries) > greatest(25, (select max(entries) / 4 from private.search_lexicon)) and not bool_or(quoted)
          as is_common
      from unnest(terms)
      group by unit
    ),
    rarest as (
      select place, unit
      from (
        select
          *,
          row_number() over (partition by unit order by entries, word) as rank_in_unit,
          row_number() over (partition by phrase is null order by entries, word) as rank
        from unnest(terms)
      ) as numbered
      join units using (unit)
      -- If every run of letters contains a common letter, only the rarest of them all adds candidates, and the others
      -- are only scored. Each would have to be checked for in nearly every profile, which took 0.8 s for ten runs.
      where rank_in_unit = 1 and (rank = 1 or not is_common)
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
  'The terms that add candidates, rarest first: of a phrase its rarest word, and common words only if there are no
others.';

create function private.keyword_matches(
  terms private.search_term[],
  filter private.search_filter,
  filtered_ids bigint[],
  max_results integer
)
returns bigint[]
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  -- filtered_ids have passed the filter already.
  passes_filter constant boolean := filtered_ids is not null or (
    filter.interests || filter.cities || filter.countries = '{}'
    and coalesce(filter.required, filter.excluded) is null
  );
begin
  return array(
    select profile_id
    from (
      select profile_id, unit
      from (
        select posting.profile_id, term.unit
        from unnest(terms) as term
        cross join lateral (
          -- `offset 0` makes Postgres use the index on words. Looking up thousands of profiles for each of hundreds of
          -- words takes longer than reading the few that contain a word.
          (
            select listed.profile_id
            from private.search_postings as listed
            where (filtered_ids is null or term.entries <= cardinality(filtered_ids)) and listed.word = term.word
            offset 0
          )
          union all
          (
            select listed.profile_id
            from private.search_postings as listed
            where term.entries > cardinality(filtered_ids)
              and listed.word = term.word
              and listed.profile_id = any (filtered_ids)
            offset 0
          )
        ) as posting
        where (filtered_ids is null or posting.profile_id in (select unnest(filtered_ids)))
          and posting.profile_id not in (select unnest(filter.hidden_ids))
          and (
            (passes_filter and term.phrase is null)
            or exists (
              select
              from private.search_entries as entry
              where entry.profile_id = posting.profile_id
                and (term.phrase is null or entry.words @@ term.phrase)
                and (passes_filter or private.matches_filter(entry, filter))
            )
          )
        -- One profile may contain every term.
        limit max_results * cardinality(terms)
      ) as matches
      group by profile_id, unit
    ) as matched_units
    group by profile_id
    order by count(*) desc, profile_id
    limit max_results
  );
end
$$;
comment on function private.keyword_matches(private.search_term[], private.search_filter, bigint[], integer) is
  'Up to max_results profiles that contain any of the terms and pass the filter, those that match the most units of the
query first. filtered_ids, if not null, are all the profiles that pass the filter.';

create function private.resolve_phrases(terms private.search_term[], ids bigint[])
returns private.search_term[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    with matches as (
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
        place, unit, word, typos, exact, entries, quoted, null,
        case when phrase is not null and not quoted then coalesce(matches.ids, '{}') end
      )::private.search_term
      order by place
    )
    from unnest(terms) as term
    left join matches using (unit)
  );
end
$$;
comment on function private.resolve_phrases(private.search_term[], bigint[]) is
  'The terms without their phrases, for candidates that contain everything in quotes. Looks up once which of them
contain which run of letters.';

create function private.nearest_profiles(
  query_vector extensions.halfvec,
  query_model text,
  filter private.search_filter,
  exclude_ids bigint[],
  max_results integer,
  max_distance double precision,
  out ids bigint[],
  out distances double precision[]
)
language plpgsql stable security invoker
set search_path = 'extensions'
-- Nearly in the order of the distances. Strict order takes half as long again, and find_profiles sorts them.
set hnsw.iterative_scan = 'relaxed_order'
set hnsw.ef_search = 100
-- Allow only one plan, a scan of the vector index.
set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off
set enable_sort = off
as $$
declare
  neighbour record;
  misses integer := 0;
begin
  ids := array[]::bigint[];
  distances := array[]::double precision[];
  for neighbour in
    select profile_id, embedding <=> query_vector as distance
    from private.search_entries as entry
    where model = query_model
      and private.matches_filter(entry, filter)
      and profile_id not in (select unnest(exclude_ids))
    order by embedding <=> query_vector
  loop
    if neighbour.distance <= max_distance then
      ids := ids || neighbour.profile_id;
      distances := distances || neighbour.distance;
      misses := 0;
    else
      misses := misses + 1;
    end if;
    -- ef_search, the size of a batch. If a whole batch is too far away, so are all that follow.
    exit when misses = 100 or cardinality(ids) >= max_results;
  end loop;
end
$$;
comment on function private.nearest_profiles(
  extensions.halfvec, text, private.search_filter, bigint[], integer, double precision
) is
  'Up to max_results profiles within max_distance of a vector, without exclude_ids, and their cosine distances. Scans
the vector index.';

-- The search: candidates, their scores, the requested page, and last api.search_profiles.

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
-- A statement, or a function that it calls, cannot set its own statement_timeout: the timer has already started
-- (pg_sleep(1) slept its second under 200 ms either way), and PGlite has no timer. Alternatives in Postgres:
--   A connection's own statement_timeout is a startup option, which poolers refuse, and needs separate connections.
--   `begin` and `set local` before each search are two more round trips, or one message with quoted parameters.
--   transaction_timeout does take effect at once, but closes the connection. Anonymous callers have it (act_as).
comment on function private.check_deadline() is
  'Cancels a search that takes longer than api.time_limit, as Postgres cancels a statement. Called between the steps of
a search, each of which is bounded; within a step, the statement_timeout of edge_functions applies.';

-- Without `set search_path`, so that Postgres inlines it: twenty calls that are not inlined take a millisecond.
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
comment on function private.hit_body(private.search_entries, double precision) is 'A search hit as JSON.';

create function private.find_profiles(
  query text,
  query_vector extensions.halfvec,
  query_model text,
  semantic_ratio double precision,
  filters jsonb,
  caller bigint,
  page_limit integer,
  page_offset bigint,
  explain boolean
)
returns json
language plpgsql stable security invoker
set search_path = 'extensions'
-- Planning these statements takes longer than running most of them.
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  -- No query has more hits, and no total counts further.
  max_results constant integer := 1000;
  -- Up to this many rows a scan of all vectors is exact, and quicker than the vector index, in which the rows that pass
  -- a filter are far apart.
  exact_scan_limit integer := 2000;
  model private.search_models;
  words constant private.query_word[] := array(select part from private.parse_query(query) as part);
  words_asked constant integer := coalesce((select max(place) from unnest(words) where not excluded), 0);
  words_quoted constant integer := (
    select count(*) from unnest(words) where quoted and not excluded and place is not null
  );
  typo_budgets constant integer[] := array(
    select private.typo_budget(word) from unnest(words) where not excluded and place is not null order by place
  );
  -- Without words, every profile is a hit, however distant.
  max_distance double precision := 2;
  hidden_users constant bigint[] := caller || private.blocked_users_of(caller);
  terms private.search_term[];
  selective private.search_term[];
  rarest private.search_term;
  filter private.search_filter;
  has_facets boolean;
  excludes_often boolean;
  max_neighbours integer;
  filtered_ids bigint[];
  keyword_ids bigint[] := array[]::bigint[];
  semantic_ids bigint[] := array[]::bigint[];
  distances double precision[];
  scores_all boolean;
  answer json;
begin
  select * into model from private.search_models where name = query_model;
  if model.name is null then
    query_vector := null;
  end if;
  if words_asked > 0 then
    max_distance := 1 - model.similarity_threshold;
    terms := coalesce(private.terms_of(words), '{}');
  end if;
  with units as (
    select excluded, quoted, string_agg(quote_literal(word), ' <-> ' order by position)::tsquery as phrase
    from unnest(words)
    group by excluded, quoted, unit
  )
  select
    private.facet_keys(filters -> 'interests'),
    private.facet_keys(filters -> 'cities'),
    private.facet_keys(filters -> 'countries'),
    (select string_agg(phrase::text, ' & ')::tsquery from units where quoted and not excluded),
    (select string_agg('(' || phrase::text || ')', ' | ')::tsquery from units where excluded),
    array(select profile_id from private.search_entries where user_id = any (hidden_users))
  into filter;
  selective := private.selective_terms(terms);
  has_facets := filter.interests || filter.cities || filter.countries <> '{}';
  -- If the words are common, checking every profile once is cheaper than checking it for each of its words.
  excludes_often := filter.excluded is not null and (select sum(entries) from unnest(selective)) > exact_scan_limit;
  if has_facets or excludes_often or filter.required is not null then
    exact_scan_limit := 10000;
  end if;
  perform private.check_deadline();

  if filter.required is not null then
    -- Only the profiles that contain the rarest quoted word are checked, once. If more than exact_scan_limit pass, the
    -- first ones count.
    select * into rarest from unnest(terms) where quoted order by entries limit 1;
    filtered_ids := case
      when (select count(distinct place) from unnest(terms) where quoted) < words_quoted then '{}'
      else private.filter_profiles(filter => filter, word => rarest.word, max_results => exact_scan_limit)
    end;
  elsif has_facets or excludes_often or not exists (select from private.search_entries offset exact_scan_limit) then
    filtered_ids := private.filter_profiles(filter => filter, word => null, max_results => exact_scan_limit + 1);
    if cardinality(filtered_ids) > exact_scan_limit then
      filtered_ids := null;
    end if;
  end if;
  perform private.check_deadline();

  if cardinality(selective) > 0 then
    keyword_ids := private.keyword_matches(
      terms => selective, filter => filter, filtered_ids => filtered_ids, max_results => max_results
    );
    if exists (select from unnest(terms) where phrase is not null) then
      terms := private.resolve_phrases(terms, keyword_ids);
    end if;
    perform private.check_deadline();
  end if;
  if words_asked = 0 and query_vector is null then
    keyword_ids := array(
      select profile_id
      from private.search_entries as entry
      where private.matches_filter(entry, filter)
      order by profile_id
      limit max_results
    );
  end if;

  perform private.check_deadline();
  -- Besides the keyword matches: as many as the total may still count, but at least enough for the first pages.
  max_neighbours := greatest(100, max_results - cardinality(keyword_ids));
  if query_vector is not null and filtered_ids is not null then
    select coalesce(array_agg(profile_id), '{}'), coalesce(array_agg(distance), '{}')
    into semantic_ids, distances
    from (
      select profile_id, embedding <=> query_vector as distance
      from private.search_entries
      where profile_id = any (filtered_ids)
        and profile_id not in (select unnest(keyword_ids))
        and search_entries.model = query_model
        and embedding <=> query_vector <= max_distance
      order by distance, profile_id
      limit max_neighbours
    ) as nearest;
  elsif query_vector is not null then
    select ids, nearest.distances
    into semantic_ids, distances
    from private.nearest_profiles(
      query_vector => query_vector, query_model => query_model, filter => filter, exclude_ids => keyword_ids,
      max_results => max_neighbours, max_distance => max_distance
    ) as nearest;
  end if;

  -- Far down the list, or at its end, the bounds exclude so few candidates that computing them takes longer than
  -- scoring all.
  scores_all := page_offset + page_limit >= least(200, cardinality(keyword_ids) + cardinality(semantic_ids));
  perform private.check_deadline();
  with cosines as (
    select id as profile_id, null::double precision as cosine
    from unnest(keyword_ids) as id
    where query_vector is null
    union all
    select profile_id, case when entry.model = query_model then 1 - (embedding <=> query_vector) end
    from private.search_entries as entry
    where query_vector is not null and profile_id = any (keyword_ids)
    union all
    select id, 1 - distance
    from unnest(semantic_ids, distances) as neighbour (id, distance)
  ),
  bounds as (
    select *
    from private.keyword_bounds(
      ids => case when not scores_all then keyword_ids end,
      terms => terms, words_asked => words_asked, typo_budgets => typo_budgets
    )
  ),
  weighted as (
    select
      cosines.profile_id,
      case when words_asked = 0 and query_vector is null then 1 else coalesce(bounds.at_least, 0) end as at_least,
      case when words_asked = 0 and query_vector is null then 1 else coalesce(bounds.at_most, 0) end as at_most,
      bounds.in_name,
      cosine,
      -- 0 without a cosine, since greatest() ignores nulls.
      least(
        1, greatest(0, (cosine - model.similarity_floor) / (model.similarity_ceiling - model.similarity_floor))
      ) as semantic,
      -- If one score is missing, for the query or for one entry (such as one whose words the model does not know), the
      -- other one has all the weight.
      case when cosine is null then 0 when cardinality(keyword_ids) = 0 then 1 else semantic_ratio end as ratio
    from cosines
    left join bounds on bounds.profile_id = cosines.profile_id
  ),
  candidates as materialized (
    select
      *,
      private.hybrid_score(
        semantic_ratio => ratio, keyword => at_least, semantic => semantic, in_name => in_name
      ) as lowest,
      private.hybrid_score(
        semantic_ratio => ratio, keyword => at_most, semantic => semantic, in_name => in_name
      ) as highest
    from weighted
  ),
  contenders as materialized (
    -- The candidates that can still reach the page. 1e-9 allows for rounding.
    select *
    from candidates
    where scores_all or highest >= coalesce(
      (
        select lowest
        from candidates
        order by lowest desc
        offset least(page_offset, max_results) + page_limit - 1
        limit 1
      ) - 1e-9,
      0
    )
  ),
  keyword as (
    select *
    from private.keyword_scores(
      ids => case
        when scores_all then keyword_ids
        else array(select profile_id from contenders where in_name is not null)
      end,
      terms => terms, words_asked => words_asked, typo_budgets => typo_budgets
    )
  ),
  ranked as (
    select
      contenders.profile_id,
      coalesce(keyword.score, contenders.at_least) as keyword,
      keyword.in_name,
      keyword.ranks,
      contenders.cosine,
      contenders.semantic,
      contenders.ratio,
      private.hybrid_score(
        semantic_ratio => contenders.ratio,
        keyword => coalesce(keyword.score, contenders.at_least),
        semantic => semantic,
        in_name => keyword.in_name
      ) as score
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
              'similarityFloor', model.similarity_floor,
              'similarityCeiling', model.similarity_ceiling,
              'semantic', page.semantic,
              'ratio', page.ratio,
              'named', coalesce(page.in_name, false)
            ))
          )::json
          else private.hit_body(entry, page.score)
        end
        order by page.score desc, page.keyword desc, page.profile_id
      ),
      '[]'
    ),
    'query', query,
    'estimatedTotalHits', least(max_results, cardinality(keyword_ids) + cardinality(semantic_ids)),
    'limit', page_limit,
    'offset', page_offset
  )
  into answer
  from page
  join private.search_entries as entry on entry.profile_id = page.profile_id;
  return answer;
end
$$;
comment on function private.find_profiles(
  text, extensions.halfvec, text, double precision, jsonb, bigint, integer, bigint, boolean
) is
  'The search: profiles that contain words of a query or are similar to it in meaning, filtered, best first. The total
counts up to 1,000; beyond 2,000 profiles, or 10,000 that pass a filter, it is as exact as the scan of the vector index.
Both scores are computed for every candidate, the keyword score only as exactly as the page needs.';

create function api.search_profiles(request jsonb)
returns json
language plpgsql stable security definer set search_path = 'extensions'
as $$
declare
  me constant bigint := private.my_id();
  -- The weight of the caller's context in the query vector.
  context_share constant real := 0.3;
  query constant text := coalesce(request ->> 'q', '');
  model constant text := request ->> 'model';
  query_vector halfvec := (request ->> 'vector')::halfvec;
  context_vector halfvec;
begin
  perform set_config('api.time_limit', coalesce(request ->> 'timeout' || ' ms', ''), true);
  if me is not null and model is not null then
    select embedding into context_vector
    from private.search_contexts
    where user_id = me and search_contexts.model = request ->> 'model';
  end if;
  return private.find_profiles(
    query => query,
    query_vector => case
      when context_vector is null then query_vector
      when query_vector is null then case when trim(query) = '' then context_vector end
      else l2_normalize(
        array_fill(1 - context_share, array[384])::halfvec * query_vector
          + array_fill(context_share, array[384])::halfvec * context_vector
      )
    end,
    query_model => model,
    semantic_ratio => case when me is null then 0.5 else 0.7 end,
    filters => request,
    caller => me,
    page_limit => (request ->> 'limit')::integer,
    page_offset => (request ->> 'offset')::bigint,
    explain => coalesce((request ->> 'explain')::boolean, false)
  );
end
$$;
comment on function api.search_profiles(jsonb) is
  'Searches profiles for {q, vector, model, interests, cities, countries, limit, offset, explain, timeout}. A user''s
search has a semantic ratio of 0.7 and includes their own context; an anonymous one has 0.5. After `timeout`
milliseconds the search is cancelled (57014). Definer, because no role may read the index; this function is the only
access to it.';
grant execute on function api.search_profiles(jsonb) to edge_functions;

-- Embeddings of profiles and of users' contexts, and the queue from which the Edge Function embed makes them.

create table private.search_contexts (
  user_id bigint primary key references public.users (id) on delete cascade,
  content_hash text not null,
  model text references private.search_models (name) on delete set null,
  embedding extensions.halfvec(384)
);
comment on table private.search_contexts is
  'The embedding of each user''s own interests, bio and location. It is mixed into their searches, so that a search
needs no second embedding.';
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
  'What needs an embedding: profiles (by profile id) and contexts (by user id). A row is deleted when its embedding is
saved. After 8 attempts it is a dead letter until its text or the model changes.';
comment on column private.embedding_queue.attempts is
  'How often a worker began to embed it. A worker claims what its next call embeds and nothing else, so one that is
killed does not count against texts that it had not begun.';
comment on column private.embedding_queue.due_at is
  'When the next attempt may begin. Until then the worker of the last one has it, or it waits after a failure.';
comment on column private.embedding_queue.last_error is
  'Why the last attempt failed; null if it was not told: its worker is at it, or was killed.';
comment on column private.embedding_queue.queued_at is
  'Since when the embedding is missing. Another change of the text does not reset it.';
comment on column private.embedding_queue.model is
  'The model of the attempts. They start again at 0 for another model, which may accept what this one refused.';
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
comment on function private.enqueue_embedding() is
  'Queues a row for embedding. Definer, because users who change a profile may not write the queue.';

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
comment on function private.entry_text(bigint) is 'The text that a profile''s embedding is made from.';

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
comment on function private.context_text(bigint) is 'The text that the embedding of a user''s context is made from.';

create function private.refresh_search_context(person bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  content text := private.context_text(person);
begin
  if content is null or content = '' then
    delete from private.search_contexts where user_id = person;
    return;
  end if;
  insert into private.search_contexts as context (user_id, content_hash)
  values (person, md5(content))
  on conflict (user_id) do update set
    content_hash = excluded.content_hash,
    embedding = null,
    model = null
  where context.content_hash <> excluded.content_hash;
end
$$;
comment on function private.refresh_search_context(bigint) is
  'Inserts, updates or deletes the context of a user. Only for definer triggers: users who change a profile may not
write the index.';

create function private.adopt_model(wanted text)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
  insert into private.search_models (name, similarity_floor, similarity_ceiling, similarity_threshold)
  values (wanted, 0.1, 0.6, 0.3)
  on conflict do nothing;
  -- Skips rows that are queued for this model already. Otherwise each process that starts would lock the whole queue
  -- for a moment.
  insert into private.embedding_queue as job (kind, id, model)
  select kind, id, wanted
  from (
    select 'profile' as kind, profile_id as id from private.search_entries where model is distinct from wanted
    union all
    select 'context', user_id from private.search_contexts where model is distinct from wanted
  ) as missing
  where not exists (
    select from private.embedding_queue as queued
    where queued.kind = missing.kind and queued.id = missing.id and queued.model = wanted
  )
  on conflict (kind, id) do update set attempts = 0, due_at = now(), last_error = null, model = wanted
  where job.model is distinct from wanted;
end
$$;
comment on function private.adopt_model(text) is
  'Queues everything that has no embedding of this model, dead letters of other models included. Embeddings of different
models are never compared; until theirs is made, profiles are found by words. Definer, because edge_functions has no
rights on the index.';
grant execute on function private.adopt_model(text) to edge_functions;

create function private.claim_embeddings(wanted text, max_jobs integer, newest boolean default false)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  claimed json;
  jobs json;
begin
  -- Usually once. Again if all that was claimed is deleted below, but not without end, because a statement has 5 s.
  for round in 1..100 loop
    with oldest_due as (
      select kind, id, attempts, due_at
      from private.embedding_queue
      where not newest and due_at <= now() and attempts < 8
      order by due_at
      limit max_jobs
      for update skip locked
    ),
    -- Profiles before contexts, because others look for them.
    newest_untried as (
      select kind, id, attempts, due_at
      from private.embedding_queue
      where newest and due_at <= now() and attempts = 0
      order by due_at desc, kind desc
      limit max_jobs
      for update skip locked
    ),
    due as (
      select
        kind, id, attempts, row_number() over (order by due_at) as place,
        first_value(attempts) over (order by due_at) as first_attempts
      from (select * from oldest_due union all select * from newest_untried) as locked
    ),
    taken as (
      update private.embedding_queue
      set
        attempts = attempts + 1,
        -- The worker has half a minute. Then the job is due again, later after each attempt.
        due_at = now() + interval '30 seconds' * 2 ^ attempts,
        last_error = null,
        model = wanted
      where (kind, id) in (
        select kind, id
        from due
        -- What was tried before is tried alone: it may be what made its call fail, or killed its worker.
        where attempts = 0 and first_attempts = 0 or place = 1
      )
      returning kind, id
    )
    select coalesce(json_agg(taken), '[]') into claimed from taken;

    -- Deletes jobs whose entry was hidden or deleted since they were queued. These are separate statements, because a
    -- statement cannot delete a row that it updates, and does not see an entry that was shown again before it locked
    -- the row. Showing an entry from now on waits for this transaction, and queues the job again.
    delete from private.embedding_queue as job
    using json_to_recordset(claimed) as mine (kind text, id bigint)
    where job.kind = mine.kind and job.id = mine.id
      and not exists (select from private.search_entries where mine.kind = 'profile' and profile_id = mine.id)
      and not exists (select from private.search_contexts where mine.kind = 'context' and user_id = mine.id);

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
    into jobs
    from json_to_recordset(claimed) as mine (kind text, id bigint)
    left join private.search_entries as entry on mine.kind = 'profile' and entry.profile_id = mine.id
    left join private.search_contexts as context on mine.kind = 'context' and context.user_id = mine.id
    where entry.profile_id is not null or context.user_id is not null;

    exit when json_array_length(jobs) > 0 or json_array_length(claimed) = 0;
  end loop;
  return jobs;
end
$$;
comment on function private.claim_embeddings(text, integer, boolean) is
  'Claims up to max_jobs due jobs for this model, to be embedded in one call, as [{kind, id, text, content_hash}]: those
that are due longest, or the newest of those that were never tried. A job that was tried before comes alone. Two workers
never get the same job. Definer, because edge_functions has no rights on the queue.';
grant execute on function private.claim_embeddings(text, integer, boolean) to edge_functions;

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
  'Saves embeddings [{kind, id, content_hash, embedding}] of texts that have not changed; the other jobs stay queued.
Definer, because edge_functions has no rights on the index.';
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
  'Records why jobs failed. claim_embeddings has already set when they are due again. Definer, because edge_functions
has no rights on the queue.';
grant execute on function private.fail_embeddings(jsonb, text) to edge_functions;

create function private.count_pending_embeddings()
returns json
language sql stable security definer set search_path = ''
as $$
  select to_json(count(*)) from private.embedding_queue where attempts < 8
$$;
comment on function private.count_pending_embeddings() is
  'How many jobs are pending. Definer, because edge_functions has no rights on the queue.';
grant execute on function private.count_pending_embeddings() to edge_functions;

-- For operators: does the index agree with the profiles, and how long is the queue of embeddings?

create table private.search_audit (
  finding text primary key,
  amount bigint not null check (amount >= 0),
  audited_at timestamptz not null
);
comment on table private.search_audit is
  'What the latest audit of the index found: a row for each kind of fault, with 0 if there is none.';
alter table private.search_audit enable row level security;

create function private.audit_search_index()
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- One audit at a time. A concurrent call returns the previous result.
  if pg_try_advisory_xact_lock('private.search_audit'::regclass::oid::bigint) then
    -- A statement sees one snapshot, and in every snapshot the index is in sync, so that writers need not wait.
    with expected as (
      select
        profiles, profiles.id, users.id as user_id, users.name, profiles.biography, profiles.city, profiles.country,
        coalesce(interest_names.names, '{}') as interests, profiles.image_url
      from public.profiles
      join public.users on users.id = profiles.user_id
      left join (
        select profile_id, array_agg(interests.name order by interests.name) as names
        from public.profile_interests
        join public.interests on interests.id = profile_interests.interest_id
        group by profile_id
      ) as interest_names on interest_names.profile_id = profiles.id
      where profiles.is_searchable and users.is_active
    ),
    -- Comparing every word takes up to 5 ms a profile (PGlite, a busy machine), so each audit takes a random hundred.
    sample as (
      select expected.profiles, expected.id, expected.name, expected.interests, entry.words
      from expected
      join private.search_entries as entry on entry.profile_id = expected.id
      order by random()
      limit 100
    ),
    findings (finding, amount) as (
      select 'missing', count(*)
      from expected
      where not exists (select from private.search_entries where profile_id = expected.id)
      union all
      select 'surplus', count(*)
      from private.search_entries
      where not exists (select from expected where expected.id = profile_id)
      union all
      select 'stale', count(*)
      from expected
      join private.search_entries as entry on entry.profile_id = expected.id
      where (entry.user_id, entry.name, entry.biography, entry.city, entry.country, entry.interests, entry.image_url)
        is distinct from (
          expected.user_id, expected.name, expected.biography, expected.city, expected.country, expected.interests,
          expected.image_url
        )
      union all
      select 'misworded', count(*)
      from sample
      cross join lateral private.positions_of(
        profile => sample.profiles, name => sample.name, interests => sample.interests
      ) as positions
      cross join lateral (
        select coalesce(jsonb_object_agg(word, to_jsonb(word_positions)), '{}') as word_positions
        from private.search_postings
        where profile_id = sample.id
      ) as stored
      where stored.word_positions <> positions or sample.words <> private.words_from_positions(positions)
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
  'Counts the differences between the index and the profiles. missing: not in the index, but should be; surplus: in it,
but should not be; stale: with other texts; misworded: with other words (of 100 random profiles); miscounted: words with
a wrong count in the lexicon; forgotten: without an embedding and not queued for one.';

create function private.rebuild_search_index()
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- The lock of refresh_search_entry: changes of profiles wait until this is done.
  perform pg_advisory_xact_lock('private.search_entries'::regclass::oid::bigint);
  delete from private.search_entries as entry
  where not exists (
    select
    from public.profiles
    join public.users on users.id = profiles.user_id
    where profiles.id = entry.profile_id and profiles.is_searchable and users.is_active
  );
  -- Makes every entry stale, so that each is written again. An embedding stays if its text is the same.
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
  'Rebuilds the index from the profiles, and returns the audit. It blocks changes of profiles for up to 12 ms per
profile in the database.';

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
  'The state of the queue, and what the latest audit found and how many seconds ago; null if there was none. Definer,
because edge_functions has no rights on either.';
grant execute on function private.describe_search() to edge_functions;

create function private.report_search(max_audit_age double precision)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not exists (select from private.search_audit where audited_at > now() - max_audit_age * interval '1 second') then
    perform private.audit_search_index();
  end if;
  return private.describe_search();
end
$$;
comment on function private.report_search(double precision) is
  'As describe_search, but first audits the index if the latest audit is more than max_audit_age seconds old. The audit
can exceed the timeout. Definer, as describe_search.';
grant execute on function private.report_search(double precision) to edge_functions;

-- Realtime events for the participants of a conversation. An event is only a hint that something is new: the tables are
-- the truth, and a client that missed an event catches up by paging with after_id.
create function private.broadcast_to_participants(
  event text, conversation bigint, id bigint, previous_id bigint, user_id bigint
)
returns void
language plpgsql volatile security invoker
set search_path = ''
-- Realtime creates and drops partitions of its table from time to time; a message must not wait for that.
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
  -- Realtime checks its policies when a client joins, not for each event, so events must not be sent to deactivated
  -- users.
  if cardinality(topics) = 2 then
    topics := topics || ('conversation:' || conversation);
  end if;
  perform realtime.send(
    jsonb_build_object('conversation_id', conversation, 'id', id, 'previous_id', previous_id, 'user_id', user_id),
    event, topic, true
  )
  from unnest(topics) as topic;
exception
  -- The write must succeed even if Realtime fails or does not exist.
  when others then
    raise warning 'Could not broadcast %: %', event, sqlstate;
end
$$;
comment on function private.broadcast_to_participants(text, bigint, bigint, bigint, bigint) is
  'Broadcasts an event {conversation_id, id, previous_id, user_id} to the active participants, and to the
conversation''s topic while both are active. Never raises. Only for definer triggers: callers may not send on these
topics, and a trigger with the writer''s rights would send nothing.';

create function private.broadcast_conversation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.broadcast_to_participants(
    event => 'conversation.created', conversation => new.id, id => new.id, previous_id => null,
    user_id => new.voyager_id
  );
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
  -- Inline instead of in a function, which would be planned again at each call: 40 µs of the 250 that a message takes.
  select max(id)
  into previous_id
  from public.messages
  where conversation_id = new.conversation_id and id < new.id;
  perform private.broadcast_to_participants(
    event => 'message.created', conversation => new.conversation_id, id => new.id, previous_id => previous_id,
    user_id => new.user_id
  );
  return null;
end
$$;
comment on function private.broadcast_message() is
  'message.created: user_id is the sender. Definer, because callers may not send events.';

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
    event => 'message.read',
    conversation => marked.conversation_id,
    id => marked.id,
    previous_id => (
      select max(id) from public.messages where conversation_id = marked.conversation_id and id < marked.id
    ),
    user_id => marked.reader
  )
  from (
    select
      now_read.conversation_id,
      max(now_read.id) as id,
      case now_read.user_id
        when conversations.voyager_id then conversations.local_id
        else conversations.voyager_id
      end as reader
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
  'message.read: id is the newest message of a conversation that the statement marked, user_id the reader. One event,
however many messages were marked. Definer, because callers may not send events.';

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
  perform private.broadcast_to_participants(
    event => 'reservation.changed', conversation => affected.conversation, id => coalesce(new.id, old.id),
    previous_id => null, user_id => null
  )
  from (select old.conversation_id union select new.conversation_id) as affected (conversation)
  where affected.conversation is not null;
  return null;
end
$$;
comment on function private.broadcast_reservation() is
  'reservation.changed: a reservation was created, changed, moved to another conversation or removed. Definer, because
callers may not send events.';

create trigger broadcast_reservation
  after insert or update or delete on public.reservations
  for each row
  execute function private.broadcast_reservation();

create function private.broadcast_block()
returns trigger
language plpgsql volatile security definer
set search_path = ''
-- As in broadcast_to_participants.
set lock_timeout = '100ms'
as $$
declare
  block constant private.blocks := coalesce(new, old);
begin
  perform realtime.send(
    jsonb_build_object(
      'conversation_id', (
        select id
        from public.conversations
        where least(voyager_id, local_id) = least(block.blocker_id, block.blocked_id)
          and greatest(voyager_id, local_id) = greatest(block.blocker_id, block.blocked_id)
      ),
      'id', null, 'previous_id', null, 'user_id', block.blocked_id
    ),
    'block.changed', 'user:' || block.blocker_id, true
  );
  return null;
exception
  when others then
    raise warning 'Could not broadcast %: %', 'block.changed', sqlstate;
    return null;
end
$$;
comment on function private.broadcast_block() is
  'block.changed: user_id is the user who was blocked or unblocked. Sent only to the devices of the user who did it,
which then leave the pair''s typing: topic; the other user is not told. Definer, because callers may not send events.';

create trigger broadcast_block
  after insert or delete on private.blocks
  for each row
  execute function private.broadcast_block();

-- For clients that subscribe to postgres_changes. Realtime applies row level security to each row; of the old row it
-- sends only the primary key, which is all that the default replica identity logs.
alter publication supabase_realtime add table public.messages;

-- Storage: buckets, who can read and write which file, and the check that an attachment is an uploaded file.
--   attachments/<conversation id>/<uuid>/<name>   private, for the two participants
--   avatars/<Auth account id>/<name>              public to read, writable by their owner
-- Statements on storage.objects have no comments: the table belongs to the platform, which allows only policies on it.
-- Storage compares the whole type with these. supabase-js declares a charset where the body is a string.
insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types)
values
  (
    'attachments', 'attachments', false, 10485760,
    array[
      'image/jpeg', 'image/png', 'image/webp', 'image/gif', 'application/pdf', 'audio/mpeg', 'audio/mp4', 'video/mp4',
      'text/plain', 'text/plain;charset=UTF-8', 'text/plain;charset=utf-8', 'text/plain; charset=UTF-8',
      'text/plain; charset=utf-8'
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
comment on function private.attachment_folders() is 'The folders of the bucket attachments that the caller can read.';
grant execute on function private.attachment_folders() to authenticated;

create policy "participants read the files of their conversations" on storage.objects
  for select to authenticated
  using (
    bucket_id = 'attachments'
    and (storage.foldername(name))[1] in (select private.attachment_folders())
  );

create function private.can_upload_attachment(path text)
returns boolean
language plpgsql stable security definer set search_path = ''
as $$
declare
  folder constant text := (storage.foldername(path))[1];
begin
  if not exists (select from private.my_writable_conversations() as id where id::text = folder) then
    return false;
  end if;
  return (
    select count(*) < 200 and coalesce(sum((metadata ->> 'size')::bigint), 0) < 500 * 1048576
    from storage.objects
    where bucket_id = 'attachments'
      -- Everything below the folder, as a range that the index on name supports: "0" is the character after "/".
      and name collate "C" >= folder || '/'
      and name collate "C" < folder || '0'
      and owner_id = (select auth.uid())::text
  );
end
$$;
comment on function private.can_upload_attachment(text) is
  'Whether the caller may upload one more file to the conversation that the path begins with: it is one of
my_writable_conversations, and the caller has fewer than 200 files and 500 MiB there. Definer, because a policy cannot
query its own table. It takes the row''s column, which is cheap as only inserts evaluate it. Uploads in progress are not
counted: Storage lists a file once it is complete.';
grant execute on function private.can_upload_attachment(text) to authenticated;

-- The path holds a UUID, so that no upload replaces a file. There is no update or delete policy: files are part of
-- messages.
create policy "participants upload files to their conversations" on storage.objects
  for insert to authenticated
  with check (
    bucket_id = 'attachments'
    and name ~ '^[1-9][0-9]*/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/[^/]+$'
    and owner_id = (select auth.uid())::text
    and private.can_upload_attachment(name)
  );

create policy "users list their own avatars" on storage.objects
  for select to authenticated
  using (
    bucket_id = 'avatars'
    and (storage.foldername(name))[1] = (select auth.uid())::text
  );

create policy "users add their own avatars" on storage.objects
  for insert to authenticated
  with check (
    bucket_id = 'avatars'
    and name ~ '^[^/]+/[^/]+$'
    and (storage.foldername(name))[1] = (select auth.uid())::text
    and (select private.my_id()) is not null
  );

-- An upload with `upsert` is an insert that updates where there is a file of that name.
create policy "users replace their own avatars" on storage.objects
  for update to authenticated
  using (
    bucket_id = 'avatars'
    and (storage.foldername(name))[1] = (select auth.uid())::text
  )
  with check (
    bucket_id = 'avatars'
    and name ~ '^[^/]+/[^/]+$'
    and (storage.foldername(name))[1] = (select auth.uid())::text
    and (select private.my_id()) is not null
  );

create policy "users remove their own avatars" on storage.objects
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
      -- The condition of the policy, as a range that the index on name supports: "0" is the character after "/".
      and name collate "C" >= (select auth.uid())::text || '/'
      and name collate "C" < (select auth.uid())::text || '0'
    limit 1000
  ) as mine
$$;
comment on function api.list_avatars() is
  'The caller''s avatars, up to the number that Storage removes in one request. Erasing an account removes them through
Storage, which does not let files be deleted in SQL.';
grant execute on function api.list_avatars() to edge_functions;

create function private.is_storage_path(attachment jsonb)
returns boolean
language sql stable security invoker set search_path = ''
as $$
  select attachment ->> 'url' !~* '^https://' and to_regclass('storage.migrations') is not null
$$;
comment on function private.is_storage_path(jsonb) is
  'Whether an attachment must be a file in Storage. An https URL is accepted as it is. Where Storage has never run, as
on one machine, no file can have been uploaded.';

create function private.check_attachment()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not private.is_storage_path(new.attachment) then
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
      -- The upload may have declared a charset as well.
      and split_part(objects.metadata ->> 'mimetype', ';', 1) = new.attachment ->> 'mime_type'
      and (objects.metadata ->> 'size')::numeric = (new.attachment ->> 'size')::numeric
  ) then
    raise sqlstate 'PT400' using
      message = 'attachment: is not a file that you uploaded to this conversation, or not of this type and size';
  end if;
  return null;
end
$$;
comment on function private.check_attachment() is
  'Requires that an attachment is a file that the sender uploaded to this conversation, with the type and size that
Storage has recorded. Definer, because the sender may not read all of storage.objects.';

-- After, not before: a repeat inserts nothing, and its answer must not depend on the file.
create trigger check_attachment
  after insert on public.messages
  for each row
  when (new.attachment is not null)
  execute function private.check_attachment();

create function private.require_matching_mime_type(attachment jsonb, matches boolean)
returns void
language plpgsql stable security invoker set search_path = ''
as $$
begin
  if matches or not private.is_storage_path(attachment) then
    return;
  end if;
  if matches is null then
    raise sqlstate 'PT503' using message = 'attachment: could not be checked, please try again';
  end if;
  raise sqlstate 'PT400' using message = 'attachment: its content does not match its mime_type';
end
$$;
comment on function private.require_matching_mime_type(jsonb, boolean) is
  'Raises 400 if the first bytes of a stored file do not match its type, and 503 if the Edge Function could not read
them (null). Attachments are never overwritten, so what the Edge Function read is what is sent.';

-- Rate limits by the generic cell rate algorithm (GCRA): one row for each user or IP address and kind of request, with
-- its theoretical arrival time (tat). Unlogged, because a count is worth neither a write to the WAL nor a place in a
-- backup; after a crash everybody starts again with a full burst.
create unlogged table private.rate_limits (
  key bytea primary key,
  tat timestamptz not null
) with (fillfactor = 50);
comment on table private.rate_limits is
  'The theoretical arrival time of each rate-limited key. The key is a hash that cannot be reversed once the day''s salt
is deleted. A row whose tat has passed means nothing.';
alter table private.rate_limits enable row level security;

create unlogged table private.rate_limit_salts (
  salt text not null,
  valid_on date primary key default current_date
);
comment on table private.rate_limit_salts is
  'The salt of the hashes, renewed every day, which also resets every limit. Without a salt the hashes of all addresses
could be computed.';
alter table private.rate_limit_salts enable row level security;

create function private.rate_limit_key(kind text, who text)
returns bytea
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  todays text := (select salt from private.rate_limit_salts where valid_on = current_date);
begin
  if todays is null then
    delete from private.rate_limit_salts where valid_on < current_date;
    insert into private.rate_limit_salts (salt)
    values (gen_random_uuid()::text || gen_random_uuid()::text)
    on conflict do nothing;
    select salt into strict todays from private.rate_limit_salts where valid_on = current_date;
  end if;
  return sha256(convert_to(concat_ws(' ', todays, kind, who), 'utf8'));
end
$$;
comment on function private.rate_limit_key(text, text) is
  'Today''s key in rate_limits of a user or address for one kind of request.';

create function private.purge_rate_limits()
returns void
language sql volatile security invoker set search_path = ''
as $$
  delete from private.rate_limits
  where key in (select key from private.rate_limits where tat < clock_timestamp() for update skip locked)
$$;
comment on function private.purge_rate_limits() is 'Deletes rows whose tat has passed, skipping locked ones.';

create function private.consume_rate_limit(kind text, who text, seconds_each double precision, burst integer)
returns json
language plpgsql volatile security definer
set search_path = ''
-- A caller who waits longer than this for the row is let through uncounted, or refused if signing up (rate_limit.ts).
set lock_timeout = '250ms'
as $$
declare
  token_interval constant interval := make_interval(secs => seconds_each);
  own_key constant bytea := private.rate_limit_key(kind, who);
  allowed_at timestamptz;
begin
  -- One call in a hundred purges, which leaves about a hundred expired rows at most.
  if random() < 0.01 then
    perform private.purge_rate_limits();
  end if;
  insert into private.rate_limits as existing (key, tat)
  values (own_key, clock_timestamp() + token_interval)
  -- clock_timestamp() is read while the row is locked, so that concurrent calls get exactly the allowed number of
  -- tokens.
  on conflict (key) do update set tat = greatest(existing.tat, clock_timestamp()) + token_interval
  where existing.tat <= clock_timestamp() + token_interval * (burst - 1);
  if found then
    return to_json(0);
  end if;
  select tat - token_interval * (burst - 1) into allowed_at from private.rate_limits where key = own_key;
  return to_json(greatest(1, ceil(extract(epoch from allowed_at - clock_timestamp()))));
end
$$;
comment on function private.consume_rate_limit(text, text, double precision, integer) is
  'Consumes a token: a burst at once, then one token every seconds_each. Returns 0, or the number of seconds until
the next token; a refusal consumes nothing. Definer, because the Edge Functions have no grant on rate_limits.';
grant execute on function private.consume_rate_limit(text, text, double precision, integer) to edge_functions;

create function private.consume_send_limit(
  account uuid, client_id uuid, seconds_each double precision, burst integer
)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if client_id is not null and exists (
    select
    from public.messages
    join public.users on users.id = messages.user_id
    where users.auth_id = account and messages.client_id = consume_send_limit.client_id
  ) then
    return to_json(0);
  end if;
  return private.consume_rate_limit(
    kind => 'send', who => account::text, seconds_each => seconds_each, burst => burst
  );
end
$$;
comment on function private.consume_send_limit(uuid, uuid, double precision, integer) is
  'As consume_rate_limit, for messages: sending again with the same client_id consumes nothing. Definer, as
consume_rate_limit.';
grant execute on function private.consume_send_limit(uuid, uuid, double precision, integer) to edge_functions;

create table private.rate_settings (
  name text primary key
    constraint "name is RATE_LIMIT_PROFILE" check (name = 'RATE_LIMIT_PROFILE'),
  rate text not null
    constraint "rate is count/seconds, count/seconds/burst or off"
    check (rate ~ '^([1-9]\d{0,5}/[1-9]\d{0,5}(/[1-9]\d{0,5})?|off)$')
);
comment on table private.rate_settings is
  'The limits that the database enforces itself, because it cannot see the environment of the Edge Functions. Operators
change them in the SQL editor.';
alter table private.rate_settings enable row level security;
insert into private.rate_settings (name, rate) values ('RATE_LIMIT_PROFILE', '120/3600/30');

create function private.limit_profile_changes()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  -- The local stack sets it for its own connections, because several stacks can share a database.
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
      kind => 'RATE_LIMIT_PROFILE',
      who => (select auth.uid())::text,
      seconds_each => rate[2]::double precision / rate[1]::integer,
      burst => coalesce(rate[3], rate[1])::integer
    )::text::integer;
  exception
    when lock_not_available then
      raise warning 'RATE_LIMIT_PROFILE could not be counted; the change was allowed';
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
comment on function private.limit_profile_changes() is
  'Consumes a token of RATE_LIMIT_PROFILE for a change through the Data API; the Edge Functions consume theirs before
they call the database. A refused or failed change consumes none. Definer, as consume_rate_limit.';

-- api.caller is set for calls of Edge Functions. Hiding a profile is free, there as here; any other change costs an
-- embedding.
create trigger count_changes_of_users
  after update on public.users
  for each row
  when (current_user = 'authenticated' and coalesce(current_setting('api.caller', true), '') = '')
  execute function private.limit_profile_changes();

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
  execute function private.limit_profile_changes();

create trigger count_changes_of_interests
  after insert or delete on public.profile_interests
  for each statement
  when (current_user = 'authenticated' and coalesce(current_setting('api.caller', true), '') = '')
  execute function private.limit_profile_changes();

-- Privacy: exporting all data of a user, and erasing a user.
create function private.messages_after(conversation bigint, after_id bigint, max_rows integer)
returns setof public.messages
language plpgsql stable security invoker
set search_path = ''
-- As in api.list_messages.
set enable_bitmapscan = off
as $$
begin
  return query
    select *
    from public.messages
    where conversation_id = conversation and id > after_id
    order by id
    limit max_rows;
end
$$;
comment on function private.messages_after(bigint, bigint, integer) is
  'The next messages of a conversation, oldest first. A function of its own, because the rest of export_me needs the
bitmap scans that are off here.';
grant execute on function private.messages_after(bigint, bigint, integer) to authenticated;

create function api.export_me(place jsonb)
returns text
language plpgsql stable security invoker set search_path = ''
as $$
declare
  -- The most messages in a piece: 2 MB of the longest possible ones. For a client that stops reading, the server holds
  -- two or three pieces in memory: with 500 messages in each, ten stalled exports of one user took 400 MB.
  remaining integer := 100;
  at_conversation constant bigint := coalesce((place ->> 'conversation')::bigint, 0);
  after_id bigint := (place ->> 'message')::bigint;
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
          'id', users.id, 'name', users.name, 'email', users.email, 'bio', users.bio, 'location', users.location,
          'role', users.role, 'is_active', users.is_active, 'createdAt', private.iso(users.created_at)
        ),
        'profile', json_build_object(
          'id', profiles.id, 'user_id', profiles.user_id, 'first_name', profiles.first_name,
          'last_name', profiles.last_name, 'age', profiles.age, 'biography', profiles.biography,
          'country', profiles.country, 'city', profiles.city, 'image_url', profiles.image_url,
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
      participants.voyager_id,
      json_build_object('id', participants.voyager_id, 'name', participants.voyager_name) as voyager,
      json_build_object('id', participants.local_id, 'name', participants.local_name) as local,
      json_build_object(
        'id', conversations.id, 'voyager_id', conversations.voyager_id, 'local_id', conversations.local_id,
        'Voyager', json_build_object(
          'id', participants.voyager_id, 'name', participants.voyager_name, 'email', participants.voyager_email
        ),
        'Local', json_build_object(
          'id', participants.local_id, 'name', participants.local_name, 'email', participants.local_email
        ),
        'Reservations', private.reservations_of(conversations.id),
        'createdAt', private.iso(conversations.created_at)
      )::text as body
    from public.conversations
    -- Each conversation counts as one message, so no more than these fit into a piece.
    join private.participants_of(
      array(select id from public.conversations where id >= at_conversation order by id limit remaining + 1)
    ) as participants on participants.id = conversations.id
    order by conversations.id
  loop
    if entry.id > at_conversation or after_id is null then
      if remaining <= 0 then
        perform private.set_response_metadata(
          jsonb_build_object('place', jsonb_build_object('conversation', entry.id))
        );
        return array_to_string(pieces, '');
      end if;
      pieces := pieces || (separator || left(entry.body, -1) || ',"messages":[');
      after_id := 0;
      remaining := remaining - 1;
    end if;
    separator := ',';
    select
      string_agg(
        to_json(
          private.to_message_view(message, case user_id when entry.voyager_id then entry.voyager else entry.local end)
        )::text,
        ','
        order by message.id
      ) as bodies,
      count(*) as length,
      max(message.id) as last_id
    into page
    from private.messages_after(conversation => entry.id, after_id => after_id, max_rows => remaining + 1) as message;
    pieces := pieces || (case when after_id > 0 and page.length > 0 then ',' else '' end || coalesce(page.bodies, ''));
    if page.length > remaining then
      perform private.set_response_metadata(
        jsonb_build_object('place', jsonb_build_object('conversation', entry.id, 'message', page.last_id))
      );
      return array_to_string(pieces, '');
    end if;
    pieces := pieces || ']}'::text;
    remaining := remaining - page.length;
  end loop;
  return array_to_string(pieces || ']}'::text, '');
end
$$;
comment on function api.export_me(jsonb) is
  'Everything that the caller entered, did or received, as they see it, in pieces of one JSON document; place is null
for the first piece. The response metadata holds the place of the next piece while there is one. In pieces, so that a
long history needs no more memory than a short one.';
grant execute on function api.export_me(jsonb) to edge_functions;

create function private.erase_person(person bigint)
returns boolean
language plpgsql volatile security definer set search_path = ''
as $$
declare
  account constant uuid := (select auth_id from public.users where id = person);
  profile bigint;
  address text;
begin
  -- Take the locks in the same order as other transactions: the Auth account first, then the profile.
  perform from auth.users where id = account for update;
  select id into profile from public.profiles where user_id = person for update;
  select email into address from public.users where id = person;
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
  -- Cascades to its interests and its search entry; the search context was removed when the account became inactive.
  delete from public.profiles where id = profile;
  delete from private.embedding_queue where (kind, id) in (('profile', profile), ('context', person));
  delete from private.blocks where person in (blocker_id, blocked_id);
  delete from private.sign_ups where address_hash = sha256(convert_to(lower(address), 'UTF8'));
  delete from private.idempotent_replies
  using public.messages
  where messages.id = message_id and messages.user_id = person;
  -- Cascades to its sessions, refresh tokens and identities.
  delete from auth.users where id = account;
  begin
    delete from auth.flow_state where user_id = account;
    delete from auth.audit_log_entries
    where payload ->> 'actor_id' = account::text or payload -> 'traits' ->> 'user_id' = account::text;
  exception
    -- Auth's log has no index for this and may belong to another role. The erasure must not fail because of it.
    when undefined_table or undefined_column or insufficient_privilege or query_canceled then
      raise warning 'Auth''s audit log was not erased: %', sqlstate;
  end;
  return true;
end
$$;
comment on function private.erase_person(bigint) is
  'Erases a user and their log-in in one transaction or not at all; false if that was done before. Messages to others
stay, sent by "Deleted user". Definer, because it deletes from auth.users. Admins call it in the SQL editor.';

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
  'Erases the caller. Of two concurrent calls one gets 401. Definer, as erase_person.';
grant execute on function api.erase_me() to edge_functions;
