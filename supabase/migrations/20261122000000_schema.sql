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
  -- What set_config returns is assigned: perform would run a statement for it, which takes five times as long.
  is_set text;
begin
  is_set := set_config('request.jwt.claims', coalesce(claims::text, '{"role": "anon"}'), true);
  is_set := set_config('request.jwt.claim.sub', coalesce(claims ->> 'sub', ''), true);
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
        raise sqlstate 'PT403' using message = 'This account is deactivated', hint = 'deactivated';
      end if;
      is_set := set_config('request.jwt.claims', '{"role": "anon"}', true);
      is_set := set_config('request.jwt.claim.sub', '', true);
      claims := null;
    end if;
  end if;
  is_set := set_config('api.caller', coalesce(me::text, ''), true);
  if claims is null and current_setting('server_version_num')::integer >= 170000 then
    is_set := set_config('transaction_timeout', '3s', true);
  end if;
  -- The role is a literal and never taken from the claims.
  is_set := set_config('role', case when claims is null then 'anon' else 'authenticated' end, true);
  return is_set is not null;
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

create function private.present()
returns timestamptz
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- Not now(): a transaction that waited for a lock must see what has become due meanwhile.
  return clock_timestamp();
end
$$;
comment on function private.present() is
  'The present time, also within a transaction that waits. A function, so that tests can replace it.';
grant execute on function private.present() to authenticated;

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

-- The same characters as of isLine in functions/_shared/validate.ts (tests/local/lines.test.ts compares them), which
-- has them by their properties in Unicode.
create function private.is_line(value text)
returns boolean
language plpgsql immutable strict parallel safe security invoker set search_path = ''
as $$
begin
  return value !~ '[\u0001-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]'
    and (
      value = ''
      or value ~ '[^\u0001-\u0020\u007f-\u00a0\u00ad\u034f\u061c\u115f-\u1160\u1680\u17b4-\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]'
    );
end
$$;
comment on function private.is_line(text) is
  'Whether the text can stand beside words of ours, as a name or title does: one line, no control characters, no
overrides of the direction of writing, and something that shows, or nothing at all. Null for null.';
grant execute on function private.is_line(text) to service_role;

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
grant execute on function private.is_web_address(text) to service_role;

create function private.is_own_photo(value text)
returns boolean
language plpgsql immutable strict parallel safe security invoker set search_path = ''
as $$
begin
  -- False, as the function is strict.
  return value is null;
end
$$;
comment on function private.is_own_photo(text) is
  'Whether the text is the address of an avatar in a Storage without https. Never: only one machine has such a Storage,
and its stack replaces this function (supabase/local/own_photos.ts). Null for null.';
grant execute on function private.is_own_photo(text) to service_role;

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
  public_profile_id bigint,
  public_image_url text,
  constraint "nobody is active before their address is confirmed" check (confirmed_at is not null or not is_active),
  constraint "an erased account holds nothing of its person" check (
    erased_at is null
    or name = 'Deleted user' and email = '' and bio is null and location is null and auth_id is null and not is_active
      and public_profile_id is null and public_image_url is null
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
comment on column public.users.public_profile_id is
  'The profile while it is searchable, and beside it its photo: what GET /users/:id shows while the user is active. Kept
here by private.publish_profile(), because a list that read the profiles of its partners would read a quarter more.';

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
  'Locks the caller''s account, and that of somebody beside them, until the transaction ends: a concurrent erasure or
deactivation waits, or has happened by now, which raises 401. The caller''s other writes wait too, so that limits and
what was read hold; those that share the lock do not. Only for definer functions.';

create policy "users read their own row" on public.users
  for select to authenticated
  using (id = (select private.my_id()));

grant select on public.users to authenticated;
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
    constraint "interest name has 1 to 60 characters" check (char_length(name) between 1 and 60)
    constraint "interest name is one line that shows something" check (private.is_line(name))
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
grant execute on function private.parse_ids(jsonb) to anon;

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
grant execute on function private.check_interests(bigint[]) to anon;

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
    constraint "first_name has at most 100 characters" check (char_length(first_name) <= 100)
    constraint "first_name is one line that shows something" check (private.is_line(first_name)),
  last_name text
    constraint "last_name has at most 100 characters" check (char_length(last_name) <= 100)
    constraint "last_name is one line that shows something" check (private.is_line(last_name)),
  age integer
    constraint "age is 18 to 120" check (age between 18 and 120),
  biography text
    constraint "biography has at most 5,000 characters" check (char_length(biography) <= 5000),
  country text
    constraint "country has at most 120 characters" check (char_length(country) <= 120)
    constraint "country is one line that shows something" check (private.is_line(country)),
  city text
    constraint "city has at most 120 characters" check (char_length(city) <= 120)
    constraint "city is one line that shows something" check (private.is_line(city)),
  image_url text
    constraint "image_url is an https address of at most 2,048 characters"
    check (
      (private.is_web_address(image_url) or private.is_own_photo(image_url)) and char_length(image_url) <= 2048
    ),
  is_searchable boolean not null default false
);
comment on table public.profiles is
  'One row for each user. Others see it only while is_searchable is true and the user is active.';

alter table public.profiles enable row level security;

create policy "users read their own profile" on public.profiles
  for select to authenticated
  using (user_id = (select private.my_id()));

grant select on public.profiles to authenticated;
grant all on public.profiles to service_role;

create function private.publish_profile()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  shown public.profiles;
begin
  if new.is_searchable then
    shown := new;
  end if;
  update public.users
  set public_profile_id = shown.id, public_image_url = shown.image_url
  where id = new.user_id
    and (public_profile_id, public_image_url) is distinct from (shown.id, shown.image_url);
  return null;
end
$$;
comment on function private.publish_profile() is
  'Keeps users.public_profile_id and users.public_image_url. Definer, because users may not write them.';

-- Its name comes before sync_profile, so that the user is locked before the search entry, as by a new name.
create trigger publish_profile
  after insert or update of is_searchable, image_url on public.profiles
  for each row
  execute function private.publish_profile();

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
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
begin
  -- Lock the profile first, as every change of a profile does, so that concurrent changes of one user queue and never
  -- deadlock.
  perform from public.profiles where user_id = me for no key update;
  if not found then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;
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
other keys are ignored. Definer, because no caller has a grant to write, so that the Data API only reads.';
grant execute on function api.update_profile(jsonb) to edge_functions;

create function api.set_searchable(searchable boolean)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
begin
  update public.profiles
  set is_searchable = set_searchable.searchable
  where user_id = private.my_id();
  if not found then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;
  return json_build_object('is_searchable', set_searchable.searchable);
end
$$;
comment on function api.set_searchable(boolean) is
  'Shows or hides the caller''s profile in the search. Definer, as update_profile.';
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
    raise sqlstate 'PT403' using message = 'This profile is not public', hint = 'not_public';
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

grant select on public.profile_interests to authenticated;
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
  if not found then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;
  delete from public.profile_interests
  where profile_id = profile and interest_id <> all (ids);
  insert into public.profile_interests (profile_id, interest_id)
  select profile, unnest(ids)
  on conflict do nothing;
end
$$;
comment on function private.replace_interests(bigint, bigint[]) is
  'Replaces a profile''s interests by ids, or raises 400, or 401 if an erasure came first, and changes nothing.';

create function api.set_interests(wanted jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  profile bigint := private.my_profile_id();
begin
  perform private.replace_interests(profile, private.parse_ids(wanted -> 'ids'));
  return json_build_object('id', profile, 'user_id', private.my_id(), 'Interests', private.interests_of(profile));
end
$$;
comment on function api.set_interests(jsonb) is
  'Replaces the caller''s interests by {ids}. Definer, as update_profile.';
grant execute on function api.set_interests(jsonb) to edge_functions;

-- Sign-up: how an Auth account becomes a user with a profile, and what happens until its address is confirmed. Auth
-- keeps the first sign-up of an unconfirmed address, including its password. The Edge Function therefore removes that
-- account before it asks Auth for another one, once Auth has accepted the CAPTCHA of whoever asks.
create table private.sign_ups (
  ticket uuid primary key default gen_random_uuid(),
  user_id bigint not null,
  profile_id bigint not null,
  address_hash bytea not null,
  name text,
  fields jsonb,
  is_accepted boolean not null default false,
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
comment on column private.sign_ups.is_accepted is
  'Whether Auth has accepted its CAPTCHA. Only then it supersedes others.';
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

  insert into public.profiles
  overriding system value
  select *
  from jsonb_populate_record(
    null::public.profiles,
    '{"is_searchable": false}' || jsonb_strip_nulls(fields) || jsonb_build_object(
      'id', coalesce(sign_up.profile_id, nextval('public.profiles_id_seq')), 'user_id', created_user.id
    )
  )
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
  insert into private.sign_ups (user_id, profile_id, address_hash, name, fields)
  values (
    nextval('public.users_id_seq'), nextval('public.profiles_id_seq'), sha256(convert_to(lower(address), 'UTF8')),
    begin_sign_up.name, begin_sign_up.fields
  )
  returning * into begun;
  return json_build_object(
    'ticket', begun.ticket,
    'user_id', begun.user_id,
    'pending', exists (
      select from public.users where lower(email) = lower(address) and email <> '' and confirmed_at is null
    )
  );
end
$$;
comment on function private.begin_sign_up(text, text, jsonb) is
  'Returns {ticket, user_id, pending}: the account whose metadata holds the ticket gets that id, the name and the
fields; pending is whether an unconfirmed account has the address. It stays until check_sign_up, because Auth has not
yet seen the CAPTCHA. Definer, because edge_functions has no rights on sign_ups and users.';
grant execute on function private.begin_sign_up(text, text, jsonb) to edge_functions;

create function private.check_sign_up(address text, begun uuid, accepted boolean)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  sign_up private.sign_ups;
begin
  update private.sign_ups set is_accepted = is_accepted or accepted where ticket = begun returning * into sign_up;
  return to_json(case
    -- Deleted after an hour: Auth answers long before.
    when sign_up is null or sign_up.name is null then 'made'
    when exists (
      select from public.users where lower(email) = lower(address) and email <> '' and confirmed_at is not null
    ) then 'taken'
    -- Ids are drawn in order. If every sign-up could remove the others, concurrent ones could remove each other until
    -- none is left.
    when exists (
      select from private.sign_ups
      where address_hash = sign_up.address_hash and user_id > sign_up.user_id and (is_accepted or name is null)
    ) then 'superseded'
    when accepted and private.remove_pending_account(address) then 'retry'
    when exists (select from public.users where lower(email) = lower(address) and email <> '') then 'taken'
    else 'not made'
  end);
end
$$;
comment on function private.check_sign_up(text, uuid, boolean) is
  'The outcome of a sign-up, which the answer of Auth does not reveal: made; superseded by a later sign-up with the same
address that Auth has accepted; retry, because a pending account of an earlier one, or one that was created in Auth
directly, has the address and has been removed; taken, by a confirmed or an invited account, or by a pending one that
stays; not made, for another reason. It removes an account only if Auth has accepted the CAPTCHA. Only for the Edge
Functions, because it reveals whether an address is taken. Definer, because it deletes from auth.users.';
grant execute on function private.check_sign_up(text, uuid, boolean) to edge_functions;

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

create function private.refusal_code(me bigint, partner bigint)
returns text
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return case
    when exists (select from private.blocks where blocker_id = me and blocked_id = partner) then 'blocked'
    else 'forbidden'
  end;
end
$$;
comment on function private.refusal_code(bigint, bigint) is
  'The X-Error-Code of a refusal to write to a partner: who has blocked them reads blocked; who was blocked cannot tell
it from other reasons. Only for definer functions.';

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

create function private.add_block(me bigint, other_user bigint, field text)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- Serialize concurrent blocks by one user, so that the limit of 1,000 holds.
  perform private.lock_me();
  if (select count(*) from private.blocks where blocker_id = me and blocked_id <> other_user) >= 1000 then
    raise sqlstate 'PT400' using message = field || ': you cannot block more than 1,000 people', hint = 'too_many';
  end if;
  insert into private.blocks (blocker_id, blocked_id)
  values (me, other_user)
  on conflict do nothing;
end
$$;
comment on function private.add_block(bigint, bigint, text) is
  'Blocks a user for the caller; a repeat changes nothing. Errors name this field of the request. Only for definer
functions.';

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
  perform private.add_block(me, other_user, 'user_id');
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

-- Idempotency: the answers to what was created with a key, so that a repeat creates nothing and gets the same bytes.
-- Messages have no row here (20_conversations/20_messages.sql): a unique index on their client_id does it.
create table private.stored_replies (
  user_id bigint not null references public.users (id) on delete cascade,
  noun text not null,
  client_id uuid not null,
  subject_id bigint not null,
  request_hash bytea not null,
  body json not null,
  metadata jsonb not null,
  primary key (user_id, noun, client_id)
);
comment on table private.stored_replies is
  'What was created with an idempotency key: a hash of the request, and its first answer, which a repeat returns byte
for byte. The file of each noun adds a column that makes the answer go with what it describes.';
comment on column private.stored_replies.noun is
  'What was created, as the refusal of another request calls it. Each noun has keys of its own.';
comment on column private.stored_replies.metadata is 'The response metadata of the first answer.';
alter table private.stored_replies enable row level security;

create function private.hash_request(request jsonb)
returns bytea
language plpgsql immutable security invoker set search_path = ''
as $$
begin
  return sha256(convert_to(jsonb_strip_nulls(request)::text, 'UTF8'));
end
$$;
comment on function private.hash_request(jsonb) is 'What tells a repeat from another request with the same key.';

create function private.find_reply(noun text, client_id uuid, request jsonb)
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  stored private.stored_replies;
begin
  if find_reply.client_id is null then
    return null;
  end if;
  -- Serializes requests with the same key until one is stored.
  perform pg_advisory_xact_lock(
    hashtextextended(format('%s %s %s', find_reply.noun, me, find_reply.client_id), 0)
  );
  select *
  into stored
  from private.stored_replies as known
  where known.user_id = me and known.noun = find_reply.noun and known.client_id = find_reply.client_id;
  if not found then
    return null;
  elsif stored.request_hash <> private.hash_request(request) then
    raise sqlstate 'PT422' using
      message = format('This idempotency key was used for another %s', find_reply.noun);
  end if;
  perform private.set_response_metadata(stored.metadata || '{"replayed": true}');
  return stored.body;
end
$$;
comment on function private.find_reply(text, uuid, jsonb) is
  'The stored answer to this request of the caller, or null; sets its response metadata and replayed. Raises 422 if the
key was used for another request. Without a key null. Only for definer functions.';

create function private.store_reply(
  noun text, client_id uuid, request jsonb, subject bigint, body json, metadata jsonb default '{}'
)
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if store_reply.client_id is not null then
    insert into private.stored_replies (user_id, noun, client_id, subject_id, request_hash, body, metadata)
    values (
      private.my_id(), store_reply.noun, store_reply.client_id, subject, private.hash_request(request),
      store_reply.body, store_reply.metadata
    );
  end if;
  perform private.set_response_metadata(store_reply.metadata);
  return store_reply.body;
end
$$;
comment on function private.store_reply(text, uuid, jsonb, bigint, json, jsonb) is
  'Stores the first answer about subject, if there is a key, sets its response metadata and returns it. Only for definer
functions.';

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

create function private.participants_of(conversations bigint[], emails boolean default false)
returns table (
  id bigint,
  voyager_id bigint, voyager_name text, voyager_email text,
  local_id bigint, local_name text, local_email text,
  created_at timestamptz
)
language plpgsql stable security definer rows 10
set search_path = ''
-- Otherwise it is planned again for each array, 170 µs, because the generic plan expects ten elements where there
-- usually is one.
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  me bigint := private.my_id();
  cut_off constant bigint[] := case when emails then coalesce(private.blocked_users_of(me), '{}') end;
  -- A call of shown_email for each of them made the list of conversations a tenth dearer.
  is_shown constant boolean := coalesce(current_setting('api.partner_email', true), '') <> 'after_reply';
begin
  return query
    select
      mine.id,
      voyager.id, voyager.name,
      case
        when not emails then null
        when voyager.id = any (cut_off) then ''
        when is_shown then voyager.email
        else private.shown_email(voyager.id, voyager.email, mine.id)
      end,
      local.id, local.name,
      case
        when not emails then null
        when local.id = any (cut_off) then ''
        when is_shown then local.email
        else private.shown_email(local.id, local.email, mine.id)
      end,
      mine.created_at
    from public.conversations as mine
    join public.users as voyager on voyager.id = mine.voyager_id
    join public.users as local on local.id = mine.local_id
    where mine.id = any (conversations) and me in (mine.voyager_id, mine.local_id);
end
$$;
comment on function private.participants_of(bigint[], boolean) is
  'The names of both participants of each of these conversations, their e-mail addresses if they are asked for, and when
it was opened, if the caller is one of them. Definer, because users can read only their own row of users; they see no
other columns of a partner''s.';
grant execute on function private.participants_of(bigint[], boolean) to authenticated;

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
  -- A concurrent erasure, deactivation or block waits, or has happened by now.
  perform private.lock_me(beside => other_user, shared => true);
  if other_user = me then
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
      raise sqlstate 'PT403' using
        message = 'You cannot write to this person',
        hint = private.refusal_code(me, other_user);
    end if;
    raise sqlstate 'PT409' using
      message = 'A conversation with this user already exists',
      detail = json_build_object('conversation_id', opened.id),
      hint = 'already_open';
  end if;
  return json_build_object('id', opened.id, 'voyager_id', opened.voyager_id, 'local_id', opened.local_id);
end
$$;
comment on function api.open_conversation(bigint) is
  'Opens a conversation with the caller as the voyager. Raises 409 with the id of an existing one, and 403 if one of the
two has blocked the other, without saying who. Definer, because no caller has a grant to insert conversations: only this
function does.';
grant execute on function api.open_conversation(bigint) to edge_functions;

create function api.list_conversations(
  page_limit integer, page_offset bigint, archived boolean default null, pinned_first boolean default false,
  with_partner boolean default false
)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  listed text[];
begin
  -- One more than the page, as in list_messages. format, because json_build_object took a fifth of a page of 50.
  select array_agg(
    format(
      '{"id" : %1$s, "voyager_id" : %2$s, "local_id" : %3$s, '
      '"Voyager" : {"id" : %2$s, "name" : %4$s, "email" : %5$s}, '
      '"Local" : {"id" : %3$s, "name" : %6$s, "email" : %7$s}, '
      '"Messages" : [%8$s], "createdAt" : "%9$s"%10$s}',
      page.id, page.voyager_id, page.local_id,
      to_json(page.voyager_name), to_json(page.voyager_email), to_json(page.local_name), to_json(page.local_email),
      case
        when page.latest_id is not null then format(
          '{"id" : %s, "content" : %s, "user_id" : %s, "read" : %s, "createdAt" : "%s"}',
          page.latest_id, to_json(page.content), page.user_id, to_json(page.read), private.iso(page.latest_at)
        )
      end,
      private.iso(page.created_at),
      case
        when with_partner then format(
          ', "partner" : {"id" : %s, "name" : %s, "profile" : %s}',
          page.voyager_id + page.local_id - me,
          to_json(case me when page.voyager_id then page.local_name else page.voyager_name end),
          case
            when page.partner_profile_id is null then 'null'
            else format(
              '{"id" : %s, "image_url" : %s}',
              page.partner_profile_id, coalesce(to_json(page.partner_image_url)::text, 'null')
            )
          end
        )
      end
    )
    order by page.is_pinned desc, page.active_at desc, page.id desc
  )
  into listed
  from private.my_inbox(
    page_limit => page_limit + 1, page_offset => page_offset, archived => archived, pinned_first => pinned_first
  ) as page;

  if cardinality(listed) > page_limit then
    perform private.set_response_metadata(jsonb_build_object('next', page_offset + page_limit));
    listed := listed[:page_limit];
  end if;
  return ('[' || coalesce(array_to_string(listed, ','), '') || ']')::json;
end
$$;
comment on function api.list_conversations(integer, bigint, boolean, boolean, boolean) is
  'The caller''s conversations with their latest message, latest activity first; all of them if the limit is null. With
archived only those that the caller has archived, or only the others; with pinned_first the pinned ones come first; with
with_partner each has the other participant, with their public profile unless there is a block. The response metadata
holds the offset of the next page if there is one.';
grant execute on function api.list_conversations(integer, bigint, boolean, boolean, boolean) to edge_functions;

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
  constraint "attachment.name is one line that shows something" check (private.is_line(attachment ->> 'name')),
  constraint "attachment.url is a path in the bucket or an https address"
    check (attachment ->> 'url' !~* '^https:' or private.is_web_address('https' || substr(attachment ->> 'url', 6))),
  read boolean not null default false,
  client_id uuid,
  created_at timestamptz not null default clock_timestamp(),
  constraint "a message says something or carries an attachment"
    check (content ~ '[^[:space:][:cntrl:]]' or attachment is not null)
);
comment on table public.messages is
  'What participants have written. Within a conversation, ids are in commit order: a reader who has seen an id has seen
all before it.';
comment on column public.messages.client_id is
  'The sender''s idempotency key: sending it again returns the message as it was sent and inserts nothing.';

create index messages_conversation_id_id_idx on public.messages (conversation_id, id desc);
comment on index public.messages_conversation_id_id_idx is 'Pages of a conversation, from either end.';
create index messages_unread_idx on public.messages (conversation_id, user_id) where not read;
comment on index public.messages_unread_idx is 'Unread messages; small, because most messages are read.';
create unique index messages_one_per_client_id on public.messages (user_id, client_id);
comment on index public.messages_one_per_client_id is
  'A client_id of a sender identifies one message, for ever. Messages without one are in it too, for the foreign key of
user_id: an index less to write saves 3 of the 79 pages of a send.';

alter table public.messages enable row level security;

create policy "participants read messages" on public.messages
  for select to authenticated
  using (conversation_id in (select private.my_conversations()));

grant select on public.messages to authenticated;
grant all on public.messages to service_role;

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
  oldest_first boolean := page ->> 'after_id' is not null or page ->> 'order' = 'asc';
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
  first_contact_limit integer := (draft ->> 'first_contact_limit')::integer;
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
  select name into my_name from public.users where id = me and is_active;
  if not found then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;

  insert into public.messages (conversation_id, user_id, content, attachment, client_id)
  select conversation, me, draft ->> 'content', draft_attachment, draft_client_id
  where not private.is_blocked_between(me, partner)
    and exists (select from public.users where id = partner and erased_at is null)
    and private.may_write_first(conversation, partner, first_contact_limit)
  on conflict (user_id, client_id) do nothing
  returning * into sent;

  if sent.id is null then
    select * into sent from public.messages where user_id = me and client_id = draft_client_id;
    if sent.id is null then
      raise sqlstate 'PT403' using
        message = private.refusal_to_send(conversation, partner, first_contact_limit),
        hint = case
          when private.may_write_first(conversation, partner, first_contact_limit)
            then private.refusal_code(me, partner)
          else 'first_contact_limit'
        end;
    end if;
    if (sent.conversation_id, sent.content, sent.attachment)
      is distinct from (conversation, draft ->> 'content', draft_attachment) then
      raise sqlstate 'PT422' using message = 'This idempotency key was used for another message';
    end if;
    perform private.set_response_metadata('{"replayed": true}');
    sent.read := false;
  end if;

  return to_json(private.to_message_view(sent, json_build_object('id', me, 'name', my_name)));
end
$$;
comment on function api.send_message(bigint, jsonb) is
  'Sends {content, attachment, client_id, first_contact_limit} as the caller. A client_id that was used before returns
that message again, as it was sent, and sets replayed in the response metadata. Raises 403 if one of the two has blocked
the other or the partner is erased, without saying which, or if the partner has not written yet and the limit is
reached. Definer, because no caller has a grant to insert messages: only this function does.';
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
  if found then
    delete from private.silences where user_id = me;
  end if;
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
    from private.my_unread()
  );
end
$$;
comment on function api.count_unread() is
  'The number of unread messages, in total and for each conversation that has some.';
grant execute on function api.count_unread() to edge_functions;

-- The inbox: for each conversation one row with its latest message, and for each of the two participants the number of
-- unread messages and whether it is archived. A page of an inbox reads this table through an index in its order, so it
-- costs the same in an inbox of 40 as in one of 10,000. docs/scale.md has the designs that were rejected.
-- A domain instead of a check of the table, whose text Postgres would parse again at each statement: 2 % of a send.
create domain private.unread_count as integer
  constraint "the unread count is not negative" check (value >= 0);

create table private.conversation_activity (
  conversation_id bigint primary key references public.conversations (id) on delete cascade,
  voyager_id bigint not null references public.users (id) on delete restrict,
  local_id bigint not null references public.users (id) on delete restrict,
  last_message_id bigint not null default 0,
  previous_message_id bigint not null default 0,
  active_at timestamptz not null,
  voyager_unread private.unread_count not null default 0,
  local_unread private.unread_count not null default 0,
  voyager_has_written boolean not null default false,
  local_has_written boolean not null default false,
  voyager_archived_id bigint,
  local_archived_id bigint,
  voyager_archived boolean not null
    generated always as (coalesce(voyager_archived_id >= last_message_id, false)) stored,
  local_archived boolean not null
    generated always as (coalesce(local_archived_id >= last_message_id, false)) stored
);
comment on table private.conversation_activity is
  'What the list of conversations is ordered by and the unread counts are read from. Triggers on conversations and
messages keep it, whoever writes those. Only set_conversation_state and the erasing write it as well: what one
participant has archived.';
comment on column private.conversation_activity.last_message_id is 'The message with the highest id; 0 without one.';
comment on column private.conversation_activity.previous_message_id is
  'What last_message_id was before the latest message was sent, for its event: before Postgres 18 an update cannot
return old values, and looking it up took 5 of the 79 pages of a send.';
comment on column private.conversation_activity.active_at is
  'When the latest message was sent; when the conversation was opened, without one.';
comment on column private.conversation_activity.voyager_has_written is
  'Whether the voyager has ever sent a message here, also if an admin has deleted it since (60_first_contact.sql).';
comment on column private.conversation_activity.local_has_written is 'As voyager_has_written, for the local.';
comment on column private.conversation_activity.voyager_archived_id is
  'The latest message when the voyager archived the conversation; null if they did not. A newer message shows it again,
and nothing has to be written for that but last_message_id.';
comment on column private.conversation_activity.local_archived_id is 'As voyager_archived_id, for the local.';

create index conversation_activity_voyager_idx
  on private.conversation_activity (voyager_id, voyager_archived, active_at desc, conversation_id desc);
comment on index private.conversation_activity_voyager_idx is
  'The inbox in its order. What is archived is apart from the rest, so that neither is read for a page of the other.';
create index conversation_activity_local_idx
  on private.conversation_activity (local_id, local_archived, active_at desc, conversation_id desc);
comment on index private.conversation_activity_local_idx is 'As conversation_activity_voyager_idx.';
create index conversation_activity_voyager_unread_idx on private.conversation_activity (voyager_id)
  where voyager_unread > 0;
comment on index private.conversation_activity_voyager_unread_idx is
  'Conversations with unread messages; small, because most have none.';
create index conversation_activity_local_unread_idx on private.conversation_activity (local_id) where local_unread > 0;
comment on index private.conversation_activity_local_unread_idx is 'As conversation_activity_voyager_unread_idx.';
alter table private.conversation_activity enable row level security;

create view private.inbox_entries with (security_invoker = true) as
select
  voyager_id as user_id, conversation_id, voyager_id, local_id, last_message_id, active_at, voyager_unread as unread,
  voyager_archived as is_archived, voyager_archived_id as archived_id
from private.conversation_activity
union all
select
  local_id, conversation_id, voyager_id, local_id, last_message_id, active_at, local_unread, local_archived,
  local_archived_id
from private.conversation_activity;
comment on view private.inbox_entries is
  'conversation_activity as each of the two participants sees it: two rows for each conversation.';

create function private.handle_new_conversation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  insert into private.conversation_activity (conversation_id, voyager_id, local_id, active_at)
  values (new.id, new.voyager_id, new.local_id, new.created_at);
  return null;
end
$$;
comment on function private.handle_new_conversation() is
  'Puts a new conversation into both inboxes. Definer, because nobody has a grant on conversation_activity.';

create trigger handle_new_conversation
  after insert on public.conversations
  for each row
  execute function private.handle_new_conversation();

create function private.has_message_of(person bigint, conversation bigint)
returns boolean
language plpgsql stable security invoker
set search_path = ''
-- As in api.list_messages.
set enable_bitmapscan = off
as $$
begin
  return exists (select from public.messages where conversation_id = conversation and user_id = person);
end
$$;
comment on function private.has_message_of(bigint, bigint) is
  'Whether a conversation has a message of this person now. Only for definer functions.';

create function private.refresh_activity(conversation bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- A statement of its own: the next one then sees all messages of those whom it has waited for.
  perform from private.conversation_activity where conversation_id = conversation for no key update;
  update private.conversation_activity as activity
  set
    voyager_id = conversations.voyager_id,
    local_id = conversations.local_id,
    last_message_id = coalesce(latest.id, 0),
    active_at = coalesce(latest.created_at, conversations.created_at),
    voyager_has_written = voyager_has_written or private.has_message_of(conversations.voyager_id, conversation),
    local_has_written = local_has_written or private.has_message_of(conversations.local_id, conversation)
  from public.conversations
  left join lateral (
    select id, created_at
    from public.messages
    where messages.conversation_id = conversations.id
    order by id desc
    limit 1
  ) as latest on true
  where conversations.id = conversation and activity.conversation_id = conversation;
end
$$;
comment on function private.refresh_activity(bigint) is
  'Reads participants, latest message and time of activity again after an admin has changed or removed them. Marks
who has written, and unmarks nobody.';

create function private.handle_changed_conversation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.refresh_activity(new.id);
  if (new.voyager_id, new.local_id) <> (old.voyager_id, old.local_id) then
    if exists (
      select from public.messages where conversation_id = new.id and user_id not in (new.voyager_id, new.local_id)
      union all
      select
      from public.reservations
      where conversation_id = new.id
        and (host_id not in (new.voyager_id, new.local_id) or offered_by not in (new.voyager_id, new.local_id))
    ) then
      raise check_violation using
        message = 'a message or reservation would be without its participant',
        constraint = 'whoever has written or agreed must stay a participant';
    end if;
    update private.conversation_activity
    set
      voyager_unread = unread.by_voyager,
      local_unread = unread.by_local,
      voyager_archived_id = null,
      local_archived_id = null,
      voyager_has_written = private.has_message_of(new.voyager_id, new.id),
      local_has_written = private.has_message_of(new.local_id, new.id)
    from (
      select
        count(*) filter (where user_id <> new.voyager_id) as by_voyager,
        count(*) filter (where user_id <> new.local_id) as by_local
      from public.messages
      where conversation_id = new.id and not read
    ) as unread
    where conversation_activity.conversation_id = new.id;
  end if;
  return null;
end
$$;
comment on function private.handle_changed_conversation() is
  'An admin changed the participants or the time of a conversation. Refuses to take away somebody whose message or
reservation is in it: others would read it as somebody else''s. Definer, as handle_new_conversation.';

create trigger handle_changed_conversation
  after update of voyager_id, local_id, created_at on public.conversations
  for each row
  execute function private.handle_changed_conversation();

-- A conversation as one participant has arranged it: archived, muted, pinned. The partner never learns. What is
-- archived is in conversation_activity, because its indexes keep that apart.
create table private.conversation_states (
  user_id bigint not null references public.users (id) on delete cascade,
  conversation_id bigint not null references public.conversations (id) on delete cascade,
  is_pinned boolean not null default false,
  muted_until timestamptz,
  primary key (user_id, conversation_id)
);
comment on table private.conversation_states is
  'The conversations that somebody has ever pinned or muted.';
create index conversation_states_conversation_id_idx on private.conversation_states (conversation_id);
create index conversation_states_pinned_idx on private.conversation_states (user_id) where is_pinned;
comment on index private.conversation_states_pinned_idx is 'At most 20 for each user, also of 10,000 muted ones.';
alter table private.conversation_states enable row level security;

create type private.conversation_state as (
  conversation_id bigint,
  archived boolean,
  muted_until text,
  pinned boolean
);
comment on type private.conversation_state is 'A state as every answer shows it.';

create function private.state_of(person bigint, conversation bigint)
returns private.conversation_state
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select row(
      entries.conversation_id,
      entries.is_archived,
      private.iso(case when states.muted_until > now() then states.muted_until end),
      coalesce(states.is_pinned, false)
    )::private.conversation_state
    from private.inbox_entries as entries
    left join private.conversation_states as states
      on states.user_id = person and states.conversation_id = conversation
    where entries.user_id = person and entries.conversation_id = conversation
  );
end
$$;
comment on function private.state_of(bigint, bigint) is
  'How a user has arranged a conversation; null if they do not take part in it. Only for definer functions.';

create function private.follows(person bigint, conversation bigint, message bigint)
returns boolean
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return exists (
    select
    from private.inbox_entries as entries
    where entries.user_id = person
      and entries.conversation_id = conversation
      and coalesce(entries.archived_id < message, not entries.is_archived)
      and not exists (
        select
        from private.conversation_states as states
        where states.user_id = person and states.conversation_id = conversation and states.muted_until > now()
      )
  );
end
$$;
comment on function private.follows(bigint, bigint, bigint) is
  'Whether a user wants to hear of a message of a conversation, as they have arranged it: they take part in it, have not
muted it, and have not archived it after that message. message is null for anything but a message: then what
is archived now counts. Only for definer functions.';

create function api.set_conversation_state(conversation bigint, changes jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  archive constant boolean := (changes ->> 'archived')::boolean;
  pin constant boolean := (changes ->> 'pinned')::boolean;
  mute_until constant timestamptz := (changes ->> 'muted_until')::timestamptz;
  before private.conversation_state;
  after private.conversation_state;
begin
  if mute_until <= now() then
    raise sqlstate 'PT400' using message = 'muted_until: must be in the future';
  end if;
  -- One request of a user after the other, so that the limit of pinned conversations holds, and an erasure leaves
  -- nothing. The user's row comes before the conversation's, as in send_message.
  perform private.lock_me();
  perform private.require_participant(conversation);
  before := private.state_of(me, conversation);

  if archive <> before.archived then
    update private.conversation_activity
    set
      voyager_archived_id = case when voyager_id <> me then voyager_archived_id when archive then last_message_id end,
      local_archived_id = case when local_id <> me then local_archived_id when archive then last_message_id end
    where conversation_id = conversation;
  end if;
  if pin <> before.pinned
    or changes ? 'muted_until' and private.iso(mute_until) is distinct from before.muted_until then
    insert into private.conversation_states as known (user_id, conversation_id, is_pinned, muted_until)
    values (me, conversation, coalesce(pin, false), mute_until)
    on conflict (user_id, conversation_id) do update set
      is_pinned = coalesce(pin, known.is_pinned),
      muted_until = case when changes ? 'muted_until' then mute_until else known.muted_until end;
  end if;
  if pin and (select count(*) from private.conversation_states where user_id = me and is_pinned) > 20 then
    raise sqlstate 'PT400' using message = 'pinned: you cannot pin more than 20 conversations', hint = 'too_many';
  end if;

  after := private.state_of(me, conversation);
  if after is distinct from before then
    perform private.record_state(me, conversation, 'conversation.state', me);
  end if;
  return row_to_json(after);
end
$$;
comment on function api.set_conversation_state(bigint, jsonb) is
  'Archives, mutes or pins a conversation for the caller: {archived, muted_until, pinned}, of which what is absent stays
unchanged. Returns the state, and tells the caller''s other devices if it is another one. Definer, because no caller has
a grant on these tables.';
grant execute on function api.set_conversation_state(bigint, jsonb) to edge_functions;

create function private.my_states(before_id bigint, max_rows bigint)
returns setof private.conversation_state
language plpgsql stable security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
begin
  return query
    select found.*
    from (
      select conversation_id from private.inbox_entries where user_id = me and is_archived
      union
      select conversation_id from private.conversation_states where user_id = me and (is_pinned or muted_until > now())
    ) as arranged
    cross join lateral private.state_of(me, arranged.conversation_id) as found
    where arranged.conversation_id < before_id
    order by arranged.conversation_id desc
    limit max_rows;
end
$$;
comment on function private.my_states(bigint, bigint) is
  'The caller''s states that differ from the default, by descending conversation_id. Definer, because no caller has a
grant on these tables.';
grant execute on function private.my_states(bigint, bigint) to authenticated;

create function private.my_state(conversation bigint)
returns json
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
    select json_build_object('archived', archived, 'muted_until', muted_until, 'pinned', pinned)
    from private.state_of(private.my_id(), conversation)
  );
end
$$;
comment on function private.my_state(bigint) is
  'How the caller has arranged a conversation, for the export. Definer, as my_states.';
grant execute on function private.my_state(bigint) to authenticated;

create function api.list_conversation_states(page jsonb)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  page_limit constant bigint := (page ->> 'limit')::bigint;
  before_id constant bigint := coalesce((page ->> 'before_id')::bigint, 9223372036854775807);
  listed private.conversation_state[];
begin
  -- One more than the page, to know whether another page follows.
  listed := array(
    select states::private.conversation_state
    from private.my_states(before_id => before_id, max_rows => page_limit + 1) as states
  );
  if cardinality(listed) > page_limit then
    perform private.set_response_metadata(jsonb_build_object('next', listed[page_limit].conversation_id));
    listed := listed[:page_limit];
  end if;
  return coalesce(array_to_json(listed), '[]');
end
$$;
comment on function api.list_conversation_states(jsonb) is
  'A page {limit, before_id} of the caller''s states that differ from the default, by descending conversation_id; all of
them without a limit. The response metadata holds the last id of the page if another page follows.';
grant execute on function api.list_conversation_states(jsonb) to edge_functions;

create function private.erase_states_of(person bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  delete from private.conversation_states where user_id = person;
  delete from private.changes where user_id = person and other_id is null;
  -- Lock in the order of ids, so that two erasures do not wait for each other.
  perform
  from private.conversation_activity
  where voyager_id = person and voyager_archived_id is not null or local_id = person and local_archived_id is not null
  order by conversation_id
  for no key update;
  update private.conversation_activity
  set voyager_archived_id = null
  where voyager_id = person and voyager_archived_id is not null;
  update private.conversation_activity
  set local_archived_id = null
  where local_id = person and local_archived_id is not null;
end
$$;
comment on function private.erase_states_of(bigint) is 'Forgets how a user has arranged conversations.';

-- Reading the inbox: a page of conversations, and the unread counts.
create function private.latest_entries_of(
  person bigint, archived boolean, without bigint[], after_time timestamptz, after_id bigint, max_rows bigint
)
returns setof private.inbox_entries
language sql stable security invoker
as $$
  (
    select
      voyager_id, conversation_id, voyager_id, local_id, last_message_id, active_at, voyager_unread, voyager_archived,
      voyager_archived_id
    from private.conversation_activity
    where voyager_id = person
      and not voyager_archived
      and archived is distinct from true
      and conversation_id <> all (without)
      and (active_at, conversation_id) < (after_time, after_id)
    order by active_at desc, conversation_id desc
    limit max_rows
  )
  union all
  (
    select
      local_id, conversation_id, voyager_id, local_id, last_message_id, active_at, local_unread, local_archived,
      local_archived_id
    from private.conversation_activity
    where local_id = person
      and not local_archived
      and archived is distinct from true
      and conversation_id <> all (without)
      and (active_at, conversation_id) < (after_time, after_id)
    order by active_at desc, conversation_id desc
    limit max_rows
  )
  union all
  (
    select
      voyager_id, conversation_id, voyager_id, local_id, last_message_id, active_at, voyager_unread, voyager_archived,
      voyager_archived_id
    from private.conversation_activity
    where voyager_id = person
      and voyager_archived
      and archived is distinct from false
      and conversation_id <> all (without)
      and (active_at, conversation_id) < (after_time, after_id)
    order by active_at desc, conversation_id desc
    limit max_rows
  )
  union all
  (
    select
      local_id, conversation_id, voyager_id, local_id, last_message_id, active_at, local_unread, local_archived,
      local_archived_id
    from private.conversation_activity
    where local_id = person
      and local_archived
      and archived is distinct from false
      and conversation_id <> all (without)
      and (active_at, conversation_id) < (after_time, after_id)
    order by active_at desc, conversation_id desc
    limit max_rows
  )
$$;
comment on function private.latest_entries_of(bigint, boolean, bigint[], timestamptz, bigint, bigint) is
  'At least the max_rows entries of an inbox that come after this time and id, if there are as many: that many from each
of four indexes, because Postgres does not merge parts of a union that have a condition each. Without
`set search_path`, so that it is inlined.';

create function private.my_inbox(page_limit bigint, page_offset bigint, archived boolean, pinned_first boolean)
returns table (
  id bigint,
  voyager_id bigint, voyager_name text, voyager_email text,
  local_id bigint, local_name text, local_email text,
  created_at timestamptz, active_at timestamptz, is_pinned boolean,
  latest_id bigint, content text, user_id bigint, read boolean, latest_at timestamptz,
  partner_profile_id bigint, partner_image_url text
)
language plpgsql stable security definer rows 50
set search_path = ''
-- Otherwise the plan for an inbox of five, which reads and sorts all of it, is kept for one of 10,000.
set enable_bitmapscan = off
set enable_seqscan = off
-- Nor compares each of 10,000 with each, which ten would justify.
set enable_nestloop = off
as $$
declare
  me constant bigint := private.my_id();
  my_name text;
  my_email text;
  pinned bigint[] := array[]::bigint[];
  shown bigint[];
  skipped bigint;
  -- The page begins after this entry.
  after_time timestamptz := 'infinity'::timestamptz;
  after_id bigint := 9223372036854775807;
  -- The rule of participants_of.
  cut_off constant bigint[] := coalesce(private.blocked_users_of(me), '{}');
  is_shown constant boolean := coalesce(current_setting('api.partner_email', true), '') <> 'after_reply';
begin
  if pinned_first then
    pinned := array(
      select entries.conversation_id
      from private.inbox_entries as entries
      where entries.user_id = me
        and entries.conversation_id = any (array(
          select states.conversation_id
          from private.conversation_states as states
          where states.user_id = me and states.is_pinned
        ))
        and (archived is null or entries.is_archived = archived)
      order by entries.active_at desc, entries.conversation_id desc
    );
  end if;
  shown := pinned[least(page_offset, 20)::integer + 1:];
  if page_limit < cardinality(shown) then
    shown := shown[:page_limit::integer];
  end if;
  skipped := page_offset - cardinality(pinned);
  if skipped > 0 then
    -- From the index alone, so that a late page costs little more than the first.
    select entries.active_at, entries.conversation_id
    into after_time, after_id
    from private.latest_entries_of(me, archived, pinned, after_time, after_id, skipped) as entries
    order by entries.active_at desc, entries.conversation_id desc
    limit 1
    offset skipped - 1;
  end if;
  select name, email into my_name, my_email from public.users where users.id = me;
  return query
    with page as materialized (
      select *, true as is_pinned
      from private.inbox_entries as entries
      where entries.user_id = me and entries.conversation_id = any (shown)
      union all
      (
        select *, false
        from private.latest_entries_of(me, archived, pinned, after_time, after_id, page_limit) as entries
        order by entries.active_at desc, entries.conversation_id desc
        limit page_limit - cardinality(shown)
      )
    )
    -- Each table is read once and in the order of its index: a row at a time was ten pages for each conversation.
    select
      page.conversation_id,
      page.voyager_id,
      case me when page.voyager_id then my_name else partner.name end,
      case me when page.voyager_id then my_email else shown.email end,
      page.local_id,
      case me when page.local_id then my_name else partner.name end,
      case me when page.local_id then my_email else shown.email end,
      conversations.created_at, page.active_at, page.is_pinned,
      messages.id, messages.content, messages.user_id, messages.read, messages.created_at,
      case when shown.profile then partner.public_profile_id end,
      case when shown.profile then partner.public_image_url end
    from page
    join public.conversations
      on conversations.id = page.conversation_id
      and conversations.id = any (array(select page.conversation_id from page))
    join public.users as partner
      on partner.id = page.voyager_id + page.local_id - me
      and partner.id = any (array(select page.voyager_id + page.local_id - me from page))
    cross join lateral (
      select
        case
          when partner.id = any (cut_off) then ''
          when is_shown then partner.email
          else private.shown_email(partner.id, partner.email, page.conversation_id)
        end as email,
        partner.is_active and partner.id <> all (cut_off) as profile
    ) as shown
    left join public.messages
      on messages.id = page.last_message_id
      and messages.id = any (array(select page.last_message_id from page));
end
$$;
comment on function private.my_inbox(bigint, bigint, boolean, boolean) is
  'A page of the caller''s conversations with their participants and latest messages, in no order; all of them if the
limit is null. archived null takes archived ones and others. Definer, because callers cannot read conversation_activity
and other users, and the policy on messages would gather all conversations of the caller.';
grant execute on function private.my_inbox(bigint, bigint, boolean, boolean) to authenticated;

create function private.my_unread()
returns table (conversation_id bigint, unread integer)
language plpgsql stable security definer set search_path = ''
as $$
begin
  return query
    select entries.conversation_id, entries.unread::integer
    from private.inbox_entries as entries
    where entries.user_id = private.my_id() and entries.unread > 0;
end
$$;
comment on function private.my_unread() is
  'The caller''s conversations with unread messages, and how many. Definer, because callers cannot read
conversation_activity.';
grant execute on function private.my_unread() to authenticated;

-- What messages do to the inbox: triggers that keep its order and its unread counts.
create function private.handle_new_message()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  voyager bigint;
  local bigint;
  previous_id bigint;
begin
  update private.conversation_activity
  set
    previous_message_id = last_message_id,
    last_message_id = greatest(last_message_id, new.id),
    -- An admin may insert a message with a lower id.
    active_at = case when new.id > last_message_id then new.created_at else active_at end,
    voyager_unread = voyager_unread + (voyager_id <> new.user_id and not new.read)::integer,
    local_unread = local_unread + (local_id <> new.user_id and not new.read)::integer,
    voyager_has_written = voyager_has_written or voyager_id = new.user_id,
    local_has_written = local_has_written or local_id = new.user_id
  where conversation_id = new.conversation_id
  returning voyager_id, local_id, nullif(previous_message_id, 0)
  into voyager, local, previous_id;
  if new.user_id not in (voyager, local) then
    raise check_violation using
      message = 'user_id is not a participant', constraint = 'user_id must be one of the two participants';
  end if;
  insert into private.changes (user_id, other_id, kind, conversation_id, entity_id)
  values (voyager, local, 'message', new.conversation_id, new.id);

  perform private.notify(
    event => 'message.created', conversation => new.conversation_id, subject => new.id, by_id => new.user_id,
    people => array[case new.user_id when voyager then local else voyager end]
  );
  perform private.broadcast_to_users(
    event => 'message.created', conversation => new.conversation_id, id => new.id,
    previous_id => case when previous_id < new.id then previous_id end, user_id => new.user_id, one => voyager,
    other => local
  );
  return null;
end
$$;
comment on function private.handle_new_message() is
  'Moves the conversation up in both inboxes, counts the message as unread, logs it as a change (10_changes.sql), tells
the recipient and the webhook (30_outbox.sql) and broadcasts message.created, of which user_id is the sender
(10_realtime_events.sql). Refuses a sender who is not a participant, whom only an admin could name. One trigger, because
the rest needs what the update returns, and every message pays for what it does; docs/scale.md has the costs. Definer,
as handle_new_conversation, and because callers may not send events.';

create trigger handle_new_message
  after insert on public.messages
  for each row
  execute function private.handle_new_message();

create function private.require_sender_to_participate()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not exists (
    select
    from public.conversations
    where id = new.conversation_id and new.user_id in (voyager_id, local_id)
  ) then
    raise check_violation using
      message = 'user_id is not a participant', constraint = 'user_id must be one of the two participants';
  end if;
  return null;
end
$$;
comment on function private.require_sender_to_participate() is
  'An admin may give a message to the other participant or move it to another conversation of its sender. Definer,
because under row level security an admin''s role may not see the conversation.';

create trigger require_sender_to_participate
  after update of user_id, conversation_id on public.messages
  for each row
  when (new.user_id <> old.user_id or new.conversation_id <> old.conversation_id)
  execute function private.require_sender_to_participate();

create function private.add_unread(conversation bigint, sender bigint, amount bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  update private.conversation_activity
  set
    voyager_unread = voyager_unread + case when voyager_id <> sender then amount else 0 end,
    local_unread = local_unread + case when local_id <> sender then amount else 0 end
  where conversation_id = conversation;
end
$$;
comment on function private.add_unread(bigint, bigint, bigint) is
  'Counts messages of a sender as unread, or with a negative amount as not unread any more, for whoever did not send
them. Only differences are ever written, each in the transaction that changes the messages: a count of what one
transaction sees would miss what another has not committed.';

create function private.handle_changed_messages()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  -- Always in the order of ids, so that two such statements do not wait for each other.
  perform private.add_unread(conversation => conversation_id, sender => user_id, amount => sum(amount)::bigint)
  from (
    select conversation_id, user_id, -1 as amount from old_rows where not read
    union all
    select conversation_id, user_id, 1 from new_rows where not read
  ) as changes
  group by conversation_id, user_id
  having sum(amount) <> 0
  order by conversation_id, user_id;
  perform private.refresh_activity(conversation_id)
  from (
    select old_rows.conversation_id
    from old_rows
    left join new_rows using (id, conversation_id, user_id, created_at)
    where new_rows.id is null
    union
    select new_rows.conversation_id
    from new_rows
    left join old_rows using (id, conversation_id, user_id, created_at)
    where old_rows.id is null
  ) as moved
  order by conversation_id;
  return null;
end
$$;
comment on function private.handle_changed_messages() is
  'Messages were marked as read, or an admin changed them. Definer, as handle_new_conversation.';

create trigger handle_changed_messages
  after update on public.messages
  referencing old table as old_rows new table as new_rows
  for each statement
  execute function private.handle_changed_messages();

create function private.handle_deleted_messages()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.add_unread(conversation => conversation_id, sender => user_id, amount => -count(*))
  from old_rows
  where not read
  group by conversation_id, user_id
  order by conversation_id, user_id;
  perform private.refresh_activity(conversation_id)
  from (select distinct conversation_id from old_rows) as shortened
  order by conversation_id;
  return null;
end
$$;
comment on function private.handle_deleted_messages() is
  'An admin deleted messages, or a conversation with its messages. Definer, as handle_new_conversation.';

create trigger handle_deleted_messages
  after delete on public.messages
  referencing old table as old_rows
  for each statement
  execute function private.handle_deleted_messages();

-- Reservations: offers between the two participants of a conversation, and their history. 20 is the clock, 30 what the
-- participants do, 40 what they read. Admins write the table itself, in the dashboard.
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
comment on table public.reservations is
  'What the two participants of a conversation offer each other and have agreed on.';
comment on column public.reservations.host_id is
  'Who receives the other: either participant, by default the local.';
comment on column public.reservations.offered_by is
  'Who made the current offer, so that the other one answers it. Null: an admin did, and either may answer.';
comment on column public.reservations.revision is
  'Of the terms: one more with every change of title, price, date or ends_at. Whoever answers names it.';
comment on column public.reservations.due_at is
  'When the clock changes the status. Once it has passed, a pending reservation counts as cancelled and an accepted one
as completed, even before private.settle_reservations() has written that.';

create index reservations_conversation_id_idx on public.reservations (conversation_id);
create index reservations_host_id_idx on public.reservations (host_id);
create index reservations_offered_by_idx on public.reservations (offered_by);
create index reservations_due_at_idx on public.reservations (due_at) where due_at is not null;
comment on index public.reservations_due_at_idx is 'What the clock has to do next.';

alter table public.reservations enable row level security;

create policy "participants read reservations" on public.reservations
  for select to authenticated
  using (conversation_id in (select private.my_conversations()));

grant select on public.reservations to authenticated;
grant all on public.reservations to service_role;

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
  'The conversation at that time. If an admin moves the reservation, its new participants do not read earlier steps.';
comment on column public.reservation_history.by_id is 'Null: an admin or the clock.';

create index reservation_history_reservation_id_id_idx on public.reservation_history (reservation_id, id);
create index reservation_history_conversation_id_idx on public.reservation_history (conversation_id);
create index reservation_history_by_id_idx on public.reservation_history (by_id);

alter table public.reservation_history enable row level security;

create policy "participants read the history of reservations" on public.reservation_history
  for select to authenticated
  using (conversation_id in (select private.my_conversations()));

grant select on public.reservation_history to authenticated;
-- The platform grants everything to service_role. Only the triggers below write here.
revoke all on public.reservation_history from service_role;
grant select on public.reservation_history to service_role;
revoke all on sequence public.reservation_history_id_seq from service_role;

create function private.protect_history()
returns trigger
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if tg_op = 'DELETE' then
    if not exists (select from public.reservations where id = old.reservation_id)
      or not exists (select from public.conversations where id = old.conversation_id) then
      return old;
    end if;
  end if;
  raise sqlstate '42501' using message = 'The history of reservations is append-only';
end
$$;
comment on function private.protect_history() is
  'Refuses every change of the history, by its owner too, except the deletion that follows its
reservation''s or its conversation''s.';

create trigger protect_history
  before update or delete on public.reservation_history
  for each row
  execute function private.protect_history();

create trigger protect_history_from_truncate
  before truncate on public.reservation_history
  for each statement
  execute function private.protect_history();

alter table private.stored_replies
  add column reservation_id bigint generated always as (case noun when 'reservation' then subject_id end) stored
    references public.reservations (id) on delete cascade;
create index stored_replies_reservation_id_idx on private.stored_replies (reservation_id);

-- The clock of reservations. What is pending when its date has passed is cancelled, and what is accepted when its end
-- has passed is completed, at that very moment: whoever reads or writes before the schedule has run sees the same.
create function private.status_at(status text, due_at timestamptz, moment timestamptz)
returns text
language plpgsql immutable parallel safe security invoker set search_path = ''
as $$
begin
  return case
    when due_at <= moment then case status when 'pending' then 'cancelled' else 'completed' end
    else status
  end;
end
$$;
comment on function private.status_at(text, timestamptz, timestamptz) is
  'The status of a reservation at this moment, whether or not the clock has written it.';
grant execute on function private.status_at(text, timestamptz, timestamptz) to authenticated;

create function private.settled(reservation public.reservations, moment timestamptz)
returns public.reservations
language plpgsql immutable security invoker set search_path = ''
as $$
begin
  if reservation.due_at <= moment then
    reservation.status := private.status_at(reservation.status, reservation.due_at, moment);
    -- An admin may write a date that has passed.
    reservation.updated_at := greatest(reservation.due_at, reservation.updated_at);
    reservation.due_at := null;
  end if;
  return reservation;
end
$$;
comment on function private.settled(public.reservations, timestamptz) is
  'The reservation as it is at this moment, with the step of the clock that is due.';
grant execute on function private.settled(public.reservations, timestamptz) to authenticated;

create function private.add_to_history(reservation public.reservations, by_id bigint, note text)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  step bigint;
begin
  insert into public.reservation_history (
    reservation_id, conversation_id, status, by_id, note, title, price, date, ends_at, created_at
  )
  values (
    reservation.id, reservation.conversation_id, reservation.status, add_to_history.by_id, add_to_history.note,
    reservation.title, reservation.price, reservation.date, reservation.ends_at, reservation.updated_at
  )
  returning id into step;
  perform private.notify(
    event => 'reservation.changed', conversation => reservation.conversation_id, subject => step,
    by_id => add_to_history.by_id,
    people => array(
      select participant
      from public.conversations
      cross join unnest(array[voyager_id, local_id]) as participant
      where conversations.id = reservation.conversation_id and participant is distinct from add_to_history.by_id
    )
  );
end
$$;
comment on function private.add_to_history(public.reservations, bigint, text) is
  'Appends the reservation as it is now, and tells whoever did not take the step; both, if an admin or the clock did.
Only for definer functions.';

create function private.lock_host(host bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('reservations of host ' || host, 0));
end
$$;
comment on function private.lock_host(bigint) is
  'Serializes acceptances of one host. Of two transactions that check an exclusion constraint at once Postgres may abort
one as a deadlock, a second later; one after the other, the second is refused at once.';

create type private.reservation_step as (by_id bigint, note text, moment timestamptz);
comment on type private.reservation_step is
  'Who takes a step, with which note, and its time. Null for an admin or the clock, whose steps happen now.';

create function private.present_step()
returns private.reservation_step
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return nullif(current_setting('api.reservation_step', true), '')::private.reservation_step;
end
$$;
comment on function private.present_step() is
  'The step that write_reservation takes. Only for the triggers of reservations, which Postgres passes no arguments.';

create function private.prepare_reservation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  participants bigint[];
  settled public.reservations;
  moment constant timestamptz := coalesce((private.present_step()).moment, private.present());
begin
  select array[local_id, voyager_id]
  into participants
  from public.conversations
  where id = new.conversation_id;
  new.host_id := coalesce(new.host_id, participants[1]);
  new.revision := 1;
  if tg_op = 'UPDATE' then
    new.revision := old.revision + (
      (new.title, new.price, new.date, new.ends_at) is distinct from (old.title, old.price, old.date, old.ends_at)
    )::integer;
    if new.conversation_id <> old.conversation_id then
      new.host_id := case when new.host_id = any (participants) then new.host_id else participants[1] end;
      new.offered_by := case when new.offered_by = any (participants) then new.offered_by end;
    end if;
    settled := private.settled(old, moment);
    new.status := case when new.status = old.status then settled.status else new.status end;
    if settled.status <> old.status
      and (new.conversation_id, new.title, new.price, new.date, new.ends_at, new.status, new.host_id)
        is not distinct from (
          old.conversation_id, old.title, old.price, old.date, old.ends_at, settled.status, old.host_id
        ) then
      new.updated_at := settled.updated_at;
    else
      if settled.status <> old.status then
        -- An admin was quicker than the schedule. The step of the clock comes first.
        perform private.add_to_history(settled, null, null);
      end if;
      new.updated_at := moment;
    end if;
  else
    new.updated_at := new.created_at;
  end if;
  if not new.host_id = any (participants) then
    raise check_violation using
      message = 'host_id is not a participant', constraint = 'host_id must be one of the two participants';
  end if;
  if not new.offered_by = any (participants) then
    raise check_violation using
      message = 'offered_by is not a participant', constraint = 'offered_by must be one of the two participants';
  end if;
  if new.status = 'accepted' and new.ends_at is not null then
    perform private.lock_host(new.host_id);
  end if;
  return new;
end
$$;
comment on function private.prepare_reservation() is
  'Fills in the host, revision and updated_at. If the clock has a step to take it is taken first, and dated when it was
due. Definer, because callers cannot write the history.';

create trigger prepare_reservation
  before insert or update on public.reservations
  for each row
  execute function private.prepare_reservation();

create function private.record_reservation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  step constant private.reservation_step := private.present_step();
begin
  perform private.add_to_history(new, step.by_id, step.note);
  return null;
end
$$;
comment on function private.record_reservation() is
  'Appends every new and changed reservation to the history, whoever wrote it. Definer, because callers cannot write
the history.';

create trigger record_new_reservation
  after insert on public.reservations
  for each row
  execute function private.record_reservation();

create trigger record_changed_reservation
  after update on public.reservations
  for each row
  when (
    (old.conversation_id, old.title, old.price, old.date, old.ends_at, old.status, old.host_id)
      is distinct from (new.conversation_id, new.title, new.price, new.date, new.ends_at, new.status, new.host_id)
  )
  execute function private.record_reservation();

create function private.write_reservation(
  reservation public.reservations, by_id bigint, note text, moment timestamptz
)
returns public.reservations
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  written public.reservations;
begin
  perform set_config(
    'api.reservation_step',
    row(write_reservation.by_id, write_reservation.note, write_reservation.moment)::private.reservation_step::text,
    true
  );
  if reservation.id is null then
    insert into public.reservations (conversation_id, title, price, date, ends_at, host_id, offered_by)
    values (
      reservation.conversation_id, reservation.title, reservation.price, reservation.date, reservation.ends_at,
      reservation.host_id, reservation.offered_by
    )
    returning * into written;
  else
    update public.reservations
    set
      title = reservation.title, price = reservation.price, date = reservation.date, ends_at = reservation.ends_at,
      offered_by = reservation.offered_by, status = reservation.status
    where id = reservation.id
    returning * into written;
  end if;
  perform set_config('api.reservation_step', '', true);
  return written;
end
$$;
comment on function private.write_reservation(public.reservations, bigint, text, timestamptz) is
  'Writes a new reservation, or a step of a locked one, and returns it as it is then. by_id and note go into its
history; moment is the time of the whole step, so that nothing becomes due between the look at the status and the write.
Only for definer functions.';

create function private.settle(reservation public.reservations, moment timestamptz)
returns public.reservations
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  settled constant public.reservations := private.settled(reservation, moment);
begin
  if settled.status = reservation.status then
    return reservation;
  end if;
  return private.write_reservation(reservation => settled, by_id => null, note => null, moment => moment);
end
$$;
comment on function private.settle(public.reservations, timestamptz) is
  'Writes the step of the clock that is due at this moment on this locked reservation, and returns it as it is then.';

create function private.settle_reservations()
returns integer
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  reservation public.reservations;
  settled integer := 0;
begin
  for reservation in
    select *
    from public.reservations
    where due_at <= (select private.present())
    order by due_at
    limit 500
    -- Whoever holds a lock settles that reservation first.
    for no key update skip locked
  loop
    perform private.settle(reservation, private.present());
    settled := settled + 1;
  end loop;
  return settled;
end
$$;
comment on function private.settle_reservations() is
  'Writes the steps of the clock that are due, 500 at most, and returns their number. Scheduled; how often decides only
when the others learn of it by an event.';

-- What the participants do with reservations. Every function locks the two accounts, then the reservation, writes what
-- the clock has to do, and only then looks at the status.
create type private.reservation_view as (
  id bigint,
  conversation_id bigint,
  title text,
  price numeric,
  date text,
  ends_at text,
  status text,
  host_id bigint,
  offered_by bigint,
  revision integer,
  "createdAt" text,
  "updatedAt" text
);
comment on type private.reservation_view is 'A reservation as every answer of its own endpoints shows it.';

create function private.to_reservation_view(reservation public.reservations)
returns private.reservation_view
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return row(
    reservation.id, reservation.conversation_id, reservation.title, reservation.price,
    private.iso(reservation.date), private.iso(reservation.ends_at), reservation.status, reservation.host_id,
    reservation.offered_by, reservation.revision, private.iso(reservation.created_at),
    private.iso(reservation.updated_at)
  )::private.reservation_view;
end
$$;
comment on function private.to_reservation_view(public.reservations) is
  'A settled reservation as every answer of its own endpoints shows it.';
grant execute on function private.to_reservation_view(public.reservations) to authenticated;

create function private.lock_pair(conversation bigint)
returns bigint
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  partner bigint;
begin
  select case me when voyager_id then local_id else voyager_id end
  into partner
  from public.conversations
  where id = conversation and me in (voyager_id, local_id);
  if not found then
    raise sqlstate 'PT404' using message = 'Conversation not found';
  end if;
  -- A concurrent erasure, deactivation or block waits, or has happened by now. Erasing locks the account before the
  -- reservations as well.
  perform private.lock_me(beside => partner, shared => true);
  return partner;
end
$$;
comment on function private.lock_pair(bigint) is
  'Locks the accounts of the caller and their partner in this conversation until the transaction ends, and returns the
partner. Raises 404 if the caller does not take part. Only for definer functions.';

create function private.require_partner(partner bigint)
returns void
language plpgsql stable security invoker set search_path = ''
as $$
begin
  if private.is_blocked_between(private.my_id(), partner)
    or not exists (select from public.users where id = partner and is_active) then
    raise sqlstate 'PT403' using
      message = 'You cannot write to this person',
      hint = private.refusal_code(private.my_id(), partner);
  end if;
end
$$;
comment on function private.require_partner(bigint) is
  'Raises 403 if the caller and this person have a block, or the person is deactivated or erased, without saying which.
Only for definer functions.';

create function private.lock_reservation(conversation bigint, reservation bigint, and_host boolean)
returns public.reservations
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  locked public.reservations;
begin
  select *
  into locked
  from public.reservations
  where id = reservation and conversation_id = conversation
  for no key update;
  if not found then
    raise sqlstate 'PT404' using message = 'Reservation not found';
  end if;
  if and_host then
    perform private.lock_host(locked.host_id);
  end if;
  return locked;
end
$$;
comment on function private.lock_reservation(bigint, bigint, boolean) is
  'Locks a reservation of this conversation, and its host if told to, and returns it unsettled. Only for definer
functions.';

create function private.require_revision(reservation public.reservations, read_revision integer)
returns void
language plpgsql stable security invoker set search_path = ''
as $$
begin
  if reservation.revision is distinct from read_revision then
    raise sqlstate 'PT409' using
      message = 'This offer has changed since it was read',
      detail = json_build_object('status', reservation.status),
      hint = 'stale_revision';
  end if;
end
$$;
comment on function private.require_revision(public.reservations, integer) is
  'Raises 409 unless the terms of a settled reservation are those that the caller has read, so that nobody answers terms
that they have not seen. Only for definer functions.';

create function api.offer_reservation(conversation bigint, draft jsonb, first_contact_limit integer default null)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  partner constant bigint := private.lock_pair(conversation);
  draft_client_id constant uuid := (draft ->> 'client_id')::uuid;
  host constant bigint := coalesce(
    (draft ->> 'host_id')::bigint, (select local_id from public.conversations where id = conversation)
  );
  request constant jsonb := draft || jsonb_build_object(
    'conversation_id', conversation, 'host_id', host, 'price', trim_scale((draft ->> 'price')::numeric)
  );
  reply constant json := private.find_reply('reservation', draft_client_id, request);
  offered public.reservations;
begin
  if reply is not null then
    return reply;
  end if;
  if host not in (me, partner) then
    raise sqlstate 'PT400' using message = 'host_id: must be one of the two participants';
  elsif (draft ->> 'date')::timestamptz <= private.present() then
    raise sqlstate 'PT400' using message = 'date: must be in the future';
  end if;
  perform private.require_partner(partner);
  perform private.require_first_contact(conversation, partner, first_contact_limit);

  offered.conversation_id := conversation;
  offered.title := draft ->> 'title';
  offered.price := (draft ->> 'price')::numeric;
  offered.date := (draft ->> 'date')::timestamptz;
  offered.ends_at := (draft ->> 'ends_at')::timestamptz;
  offered.host_id := host;
  offered.offered_by := me;
  offered := private.write_reservation(reservation => offered, by_id => me, note => null, moment => private.present());
  return private.store_reply(
    noun => 'reservation', client_id => draft_client_id, request => request, subject => offered.id,
    body => to_json(private.to_reservation_view(offered))
  );
end
$$;
comment on function api.offer_reservation(bigint, jsonb, integer) is
  'Offers {title, price, date, ends_at, host_id, client_id} to the partner. A client_id that was used before returns the
first answer again and sets replayed in the response metadata. Raises 403 if the partner is blocked, deactivated or
erased, or has not answered yet and the limit is reached. Definer, because no caller has a grant to write reservations:
only these functions do.';
grant execute on function api.offer_reservation(bigint, jsonb, integer) to edge_functions;

create function api.counter_reservation(
  conversation bigint, reservation bigint, revision integer, changes jsonb, first_contact_limit integer default null
)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  partner constant bigint := private.lock_pair(conversation);
  locked constant public.reservations := private.lock_reservation(conversation, reservation, false);
  moment constant timestamptz := private.present();
  current public.reservations := private.settle(locked, moment);
  wanted public.reservations := current;
begin
  perform private.require_partner(partner);
  perform private.require_revision(current, revision);
  if current.status <> 'pending' then
    raise sqlstate 'PT409' using
      message = format('This reservation is %s', current.status),
      detail = json_build_object('status', current.status);
  end if;
  wanted.title := coalesce(changes ->> 'title', current.title);
  wanted.price := coalesce((changes ->> 'price')::numeric, current.price);
  wanted.date := coalesce((changes ->> 'date')::timestamptz, current.date);
  if changes ? 'ends_at' then
    wanted.ends_at := (changes ->> 'ends_at')::timestamptz;
  end if;
  if wanted.date <= moment then
    raise sqlstate 'PT400' using message = 'date: must be in the future';
  end if;
  if wanted is distinct from current then
    perform private.require_first_contact(conversation, partner, first_contact_limit);
    wanted.offered_by := me;
    current := private.write_reservation(reservation => wanted, by_id => me, note => null, moment => moment);
  end if;
  return to_json(private.to_reservation_view(current));
end
$$;
comment on function api.counter_reservation(bigint, bigint, integer, jsonb, integer) is
  'Changes a pending offer, as it was at this revision, by {title, price, date, ends_at}, so that the partner has to
answer; without a difference nothing happens. Raises 409 if it has changed since or is not pending any more, 403 as
offer_reservation. Definer, as that.';
grant execute on function api.counter_reservation(bigint, bigint, integer, jsonb, integer) to edge_functions;

create function api.step_reservation(
  conversation bigint, reservation bigint, step text, note text, revision integer default null,
  first_contact_limit integer default null
)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  partner constant bigint := private.lock_pair(conversation);
  locked constant public.reservations := private.lock_reservation(
    conversation, reservation, and_host => step = 'accept'
  );
  moment constant timestamptz := private.present();
  current public.reservations := private.settle(locked, moment);
  next_status constant text := case step
    when 'accept' then 'accepted'
    when 'decline' then 'declined'
    when 'cancel' then 'cancelled'
    when 'complete' then 'completed'
  end;
  wanted public.reservations;
begin
  if step <> 'cancel' then
    perform private.require_partner(partner);
  elsif private.is_blocked_between(me, partner) then
    -- Whoever is in a reservation can leave it, but no words cross a block.
    note := null;
  end if;
  if step in ('accept', 'decline') then
    perform private.require_revision(current, step_reservation.revision);
  end if;
  if current.status = next_status then
    return to_json(private.to_reservation_view(current));
  end if;
  -- Nobody completes a reservation before its end, and at its end the clock does.
  if step = 'complete'
    or current.status <> 'pending' and not (step = 'cancel' and current.status = 'accepted') then
    raise sqlstate 'PT409' using
      message = case
        when step = 'complete' and current.status = 'accepted' then 'This reservation has not ended yet'
        else format('This reservation is %s', current.status)
      end,
      detail = json_build_object('status', current.status);
  elsif step in ('accept', 'decline') and current.offered_by = me then
    raise sqlstate 'PT409' using
      message = 'Only the other participant can answer this offer',
      detail = json_build_object('status', current.status);
  end if;
  if note is not null and not private.may_reach(conversation, partner, first_contact_limit) then
    note := null;
  end if;
  wanted := current;
  wanted.status := next_status;
  begin
    current := private.write_reservation(reservation => wanted, by_id => me, note => note, moment => moment);
  exception
    when exclusion_violation then
      raise sqlstate 'PT409' using
        message = 'The host has another reservation at that time',
        detail = json_build_object('status', current.status),
        hint = 'overlap';
  end;
  return to_json(private.to_reservation_view(current));
end
$$;
comment on function api.step_reservation(bigint, bigint, text, text, integer, integer) is
  'Takes a step: accept, decline, cancel or complete, with a note. Accepting and declining name the revision of the
terms that were read; any other is 409. Repeating the step that led to the present status changes nothing; one that is
not possible raises 409 with the status. With a partner who is blocked, deactivated or erased only cancel is possible;
the rest is 403. A note is left out across a block, and where nothing more may reach the partner before they have
answered. Definer, as offer_reservation.';
grant execute on function api.step_reservation(bigint, bigint, text, text, integer, integer) to edge_functions;

create function private.cancel_reservations_of(person bigint, by_id bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  reservation public.reservations;
  moment timestamptz;
begin
  for reservation in
    select reservations.*
    from public.conversations
    join public.reservations on reservations.conversation_id = conversations.id
    where person in (conversations.voyager_id, conversations.local_id)
      and reservations.status in ('pending', 'accepted')
    order by reservations.id
    for no key update of reservations
  loop
    moment := private.present();
    reservation := private.settle(reservation, moment);
    continue when reservation.status not in ('pending', 'accepted');
    reservation.status := 'cancelled';
    perform private.write_reservation(
      reservation => reservation, by_id => cancel_reservations_of.by_id, note => null, moment => moment
    );
  end loop;
end
$$;
comment on function private.cancel_reservations_of(bigint, bigint) is
  'Cancels what a person has pending or accepted; what has ended by now is completed. Only for definer functions.';

-- What the participants read of reservations: always the status of this moment.
create function private.reservations_of(conversation bigint)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  moment constant timestamptz := private.present();
begin
  return (
    select coalesce(
      json_agg(
        json_build_object(
          'id', reservations.id, 'title', reservations.title, 'price', reservations.price,
          'date', private.iso(reservations.date),
          'status', private.status_at(reservations.status, reservations.due_at, moment)
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
comment on function private.reservations_of(bigint) is
  'A conversation''s reservations as its details show them, ordered by date.';
grant execute on function private.reservations_of(bigint) to authenticated;

create function private.history_of(reservation public.reservations, moment timestamptz)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  settled constant public.reservations := private.settled(reservation, moment);
begin
  return (
    select json_agg(
      json_build_object(
        'status', entry.status, 'by', entry.by_id, 'note', entry.note, 'title', entry.title, 'price', entry.price,
        'date', private.iso(entry.date), 'ends_at', private.iso(entry.ends_at),
        'createdAt', private.iso(entry.created_at)
      )
      order by entry.id nulls last
    )
    from (
      select id, status, by_id, note, title, price, date, ends_at, created_at
      from public.reservation_history
      where reservation_id = reservation.id
      union all
      -- The step of the clock, as it will be written.
      select
        null, settled.status, null, null, settled.title, settled.price, settled.date, settled.ends_at,
        settled.updated_at
      where settled.status <> reservation.status
    ) as entry
  );
end
$$;
comment on function private.history_of(public.reservations, timestamptz) is
  'The steps of a reservation up to this moment, oldest first.';
grant execute on function private.history_of(public.reservations, timestamptz) to authenticated;

create function private.reservations_with_history(conversation bigint, reservation bigint)
returns table (body json)
language plpgsql stable security invoker set search_path = ''
as $$
declare
  moment constant timestamptz := private.present();
begin
  return query
    select row_to_json(entry)
    from (
      select view.*, private.history_of(reservations, moment) as history
      from public.reservations
      cross join lateral private.to_reservation_view(private.settled(reservations, moment)) as view
      where reservations.conversation_id = conversation
        and (reservation is null or reservations.id = reservation)
      order by reservations.date, reservations.id
    ) as entry;
end
$$;
comment on function private.reservations_with_history(bigint, bigint) is
  'One reservation of a conversation, or all of them by date if its id is null, each with its history.';
grant execute on function private.reservations_with_history(bigint, bigint) to authenticated;

create function api.get_reservation(conversation bigint, reservation bigint)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  found_one json;
begin
  perform private.require_participant(conversation);
  perform private.scope_to_conversation(conversation);
  select body
  into found_one
  from private.reservations_with_history(conversation, reservation);
  perform private.scope_to_conversation(null);
  if found_one is null then
    raise sqlstate 'PT404' using message = 'Reservation not found';
  end if;
  return found_one;
end
$$;
comment on function api.get_reservation(bigint, bigint) is 'A reservation of a conversation with its history.';
grant execute on function api.get_reservation(bigint, bigint) to edge_functions;

create function api.list_my_reservations(page jsonb)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  moment constant timestamptz := private.present();
  page_limit constant integer := (page ->> 'limit')::integer;
  before_id constant bigint := coalesce((page ->> 'before_id')::bigint, 9223372036854775807);
  wanted constant text := page ->> 'status';
  from_date constant timestamptz := coalesce((page ->> 'from')::timestamptz, '-infinity');
  to_date constant timestamptz := coalesce((page ->> 'to')::timestamptz, 'infinity');
  listed json[];
  last_id bigint;
begin
  with mine as materialized (
    -- Read one more than the page to know whether another page follows.
    select reservations as entry, reservations.id, reservations.conversation_id
    from public.reservations
    where reservations.conversation_id = any (array(select private.my_conversations()))
      and reservations.id < before_id
      and reservations.date >= from_date
      and reservations.date < to_date
      and (wanted is null or private.status_at(reservations.status, reservations.due_at, moment) = wanted)
    order by reservations.id desc
    limit page_limit + 1
  ),
  entries as (
    select
      view.*,
      case (select private.my_id())
        when voyager_id then json_build_object('id', local_id, 'name', local_name)
        else json_build_object('id', voyager_id, 'name', voyager_name)
      end as partner
    from mine
    cross join lateral private.to_reservation_view(private.settled(mine.entry, moment)) as view
    join private.participants_of(array(select distinct conversation_id from mine)) as participants
      on participants.id = mine.conversation_id
  )
  select
    array_agg(row_to_json(entries) order by entries.id desc),
    (array_agg(entries.id order by entries.id desc))[page_limit]
  into listed, last_id
  from entries;
  if cardinality(listed) > page_limit then
    perform private.set_response_metadata(jsonb_build_object('next', last_id));
  end if;
  return coalesce(array_to_json(listed[:page_limit]), '[]');
end
$$;
comment on function api.list_my_reservations(jsonb) is
  'A page {status, from, to, limit, before_id} of the caller''s reservations in all conversations, newest first, each
with the partner {id, name}. from and to are about the date: from is included, to is not. The response metadata holds
the last id of the page if another page follows.';
grant execute on function api.list_my_reservations(jsonb) to edge_functions;

-- Reports: what people tell the operator about others, with the messages that they share as evidence. Nothing of it is
-- visible to the reported person. What admins do with it is in 30_moderation.sql and 50_restrictions.sql.
create table public.reports (
  id bigint generated always as identity primary key,
  reporter_id bigint not null references public.users (id) on delete restrict,
  user_id bigint not null references public.users (id) on delete restrict,
  message_id bigint,
  reason text not null
    constraint "reason is spam, harassment, scam, danger, impersonation or other"
    check (reason in ('spam', 'harassment', 'scam', 'danger', 'impersonation', 'other')),
  note text
    constraint "note has at most 2,000 characters" check (char_length(note) <= 2000),
  shares_messages boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  resolution text
    constraint "resolution is dismiss, warn, hide or suspend"
    check (resolution in ('dismiss', 'warn', 'hide', 'suspend')),
  resolved_at timestamptz,
  purge_at timestamptz,
  constraint "nobody reports themselves" check (reporter_id <> user_id),
  constraint "a resolved report says when and how" check ((resolved_at is null) = (resolution is null))
);
comment on table public.reports is
  'What people have reported. Written only by api.report_person and by the functions of the moderators, so that each
change is in public.moderation_log. The users cannot be deleted while it exists; erasing a user keeps the row.';
comment on column public.reports.user_id is 'The reported person; of a message, its sender.';
comment on column public.reports.message_id is
  'The reported message; null: the person. No foreign key, because the report outlives the message.';
comment on column public.reports.shares_messages is
  'Whether the reporter agreed to share the latest messages of the conversation.';
comment on column public.reports.resolution is 'What an admin decided; null while the report is open.';
comment on column public.reports.purge_at is
  'When private.purge_evidence() deletes note and evidence: 180 days after one of the two was erased. Null: both have
an account, or it is done.';

create unique index reports_one_open_per_subject on public.reports (reporter_id, user_id, coalesce(message_id, 0))
  where resolved_at is null;
comment on index public.reports_one_open_per_subject is
  'A person has one open report about another person, and one about each message.';
create index reports_reporter_id_id_idx on public.reports (reporter_id, id);
create index reports_user_id_id_idx on public.reports (user_id, id);
create index reports_open_idx on public.reports (id) where resolved_at is null;
comment on index public.reports_open_idx is 'The queue of the moderators.';
create index reports_purge_at_idx on public.reports (purge_at) where purge_at is not null;

alter table public.reports enable row level security;
-- The platform grants everything to service_role.
revoke all on public.reports from service_role;
grant select on public.reports to service_role;
revoke all on sequence public.reports_id_seq from service_role;

create table private.report_evidence (
  report_id bigint not null references public.reports (id) on delete cascade,
  message_id bigint not null,
  is_by_reported boolean not null,
  content text not null,
  attachment jsonb,
  sent_at timestamptz not null,
  primary key (report_id, message_id)
);
comment on table private.report_evidence is
  'Copies of messages as they were when they were reported: the reported one, and with the reporter''s consent the
latest 20 of the conversation. Admins read them with public.read_evidence(), which is logged.';
comment on column private.report_evidence.is_by_reported is
  'Whether the reported person sent it; otherwise the reporter did.';
alter table private.report_evidence enable row level security;

alter table private.stored_replies
  add column report_id bigint generated always as (case noun when 'report' then subject_id end) stored
    references public.reports (id) on delete cascade;
create index stored_replies_report_id_idx on private.stored_replies (report_id);

create function private.report_body(report public.reports)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return json_build_object(
    'id', report.id, 'status', 'open', 'reason', report.reason, 'createdAt', private.iso(report.created_at)
  );
end
$$;
comment on function private.report_body(public.reports) is
  'A report as reporting answers: {id, status, reason, createdAt}, as it was made.';

create function private.copy_evidence(report public.reports)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  insert into private.report_evidence (report_id, message_id, is_by_reported, content, attachment, sent_at)
  select
    report.id, messages.id, messages.user_id = report.user_id, messages.content, messages.attachment,
    messages.created_at
  -- A union instead of `or`, and a list of ids instead of a join, which would read all messages: 86 ms a report with a
  -- million of them.
  from public.messages
  where id = any (array(
    select report.message_id
    union
    select latest.id
    from public.conversations
    cross join lateral (
      select messages.id
      from public.messages
      where conversation_id = conversations.id
      order by messages.id desc
      limit 20
    ) as latest
    where report.shares_messages
      and least(voyager_id, local_id) = least(report.reporter_id, report.user_id)
      and greatest(voyager_id, local_id) = greatest(report.reporter_id, report.user_id)
  ))
  on conflict do nothing;
end
$$;
comment on function private.copy_evidence(public.reports) is
  'Copies the reported message and, if the reporter shares them, the latest 20 messages of the two. Only for definer
functions.';

create function api.report_person(draft jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  draft_client_id constant uuid := (draft ->> 'client_id')::uuid;
  reply constant json := private.find_reply('report', draft_client_id, draft);
  shares constant boolean := coalesce((draft ->> 'share_messages')::boolean, false);
  message constant bigint := (draft ->> 'message_id')::bigint;
  subject bigint := (draft ->> 'user_id')::bigint;
  person public.users;
  report public.reports;
  is_new boolean;
begin
  if reply is not null then
    return reply;
  end if;
  if message is not null then
    select messages.user_id
    into subject
    from public.messages
    join public.conversations on conversations.id = messages.conversation_id
    where messages.id = message and me in (voyager_id, local_id);
    if not found then
      raise sqlstate 'PT404' using message = 'Message not found';
    end if;
  end if;
  if subject = me then
    raise sqlstate 'PT400' using
      message = case when message is null then 'user_id' else 'message_id' end || ': you cannot report yourself';
  end if;
  -- A concurrent erasure waits, or has happened by now, and so does another report or block by the caller.
  perform private.lock_me(beside => subject);
  select * into person from public.users where id = subject;

  select *
  into report
  from public.reports
  where reporter_id = me and user_id = subject and message_id is not distinct from message and resolved_at is null;
  is_new := not found;
  if is_new then
    -- Who has sent a message can be reported for it after being deactivated or erased.
    if message is null and person.is_active is not true then
      raise sqlstate 'PT404' using message = 'User not found';
    end if;
    insert into public.reports (reporter_id, user_id, message_id, reason, note, shares_messages, purge_at)
    values (
      me, subject, message, draft ->> 'reason', draft ->> 'note', shares,
      case when person.erased_at is not null then private.present() + interval '180 days' end
    )
    returning * into report;
    perform private.copy_evidence(report);
  elsif shares and not report.shares_messages then
    -- The consent came with a repeat.
    update public.reports set shares_messages = true where id = report.id returning * into report;
    perform private.copy_evidence(report);
  end if;
  if (draft ->> 'block')::boolean and person.erased_at is null then
    perform private.add_block(me, subject, 'block');
  end if;
  return private.store_reply(
    noun => 'report', client_id => draft_client_id, request => draft, subject => report.id,
    body => private.report_body(report), metadata => jsonb_build_object('existing', not is_new)
  );
end
$$;
comment on function api.report_person(jsonb) is
  'Reports {user_id or message_id, reason, note, share_messages, block, client_id}; evidence and block in the same
transaction. While a report about the same subject is open it is returned instead, with existing in the response
metadata; what the repeat shares or blocks is still done. A client_id that was used before returns the first answer
again. Blocks in either direction make no difference. Definer, because no caller has a grant on reports: the reported
must not learn of them.';
grant execute on function api.report_person(jsonb) to edge_functions;

create function api.list_my_reports(page jsonb)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  page_limit constant integer := (page ->> 'limit')::integer;
  before_id constant bigint := coalesce((page ->> 'before_id')::bigint, 9223372036854775807);
  listed json[];
  last_id bigint;
begin
  select
    array_agg(
      json_build_object(
        'id', id, 'status', case when resolved_at is null then 'open' else 'resolved' end, 'reason', reason,
        'createdAt', private.iso(created_at), 'resolvedAt', private.iso(resolved_at)
      )
      order by id desc
    ),
    (array_agg(id order by id desc))[page_limit]
  into listed, last_id
  from (
    -- One more than the page, to know whether another page follows.
    select *
    from public.reports
    where reporter_id = (select private.my_id()) and id < before_id
    order by id desc
    limit page_limit + 1
  ) as reports;
  if cardinality(listed) > page_limit then
    perform private.set_response_metadata(jsonb_build_object('next', last_id));
  end if;
  return coalesce(array_to_json(listed[:page_limit]), '[]');
end
$$;
comment on function api.list_my_reports(jsonb) is
  'A page {limit, before_id} of the caller''s own reports, newest first: whether each is resolved, not how. The response
metadata holds the last id of the page if another page follows. Definer, because callers cannot read reports.';
grant execute on function api.list_my_reports(jsonb) to edge_functions;

create function private.my_reports_after(after_id bigint, max_rows integer)
returns table (id bigint, body text)
language plpgsql stable security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
begin
  return query
    select
      reports.id,
      json_build_object(
        'id', reports.id, 'user_id', reports.user_id, 'message_id', reports.message_id, 'reason', reports.reason,
        'note', reports.note, 'share_messages', reports.shares_messages,
        'status', case when reports.resolved_at is null then 'open' else 'resolved' end,
        'createdAt', private.iso(reports.created_at), 'resolvedAt', private.iso(reports.resolved_at)
      )::text
    from public.reports
    where reports.reporter_id = me and reports.id > after_id
    order by reports.id
    limit max_rows;
end
$$;
comment on function private.my_reports_after(bigint, integer) is
  'The next of the caller''s own reports as the export has them, oldest first. Definer, because callers cannot read
reports.';
grant execute on function private.my_reports_after(bigint, integer) to authenticated;

-- What people wrote in a report is kept while both have an account, and for 180 days after one of them was erased.
create function private.schedule_purge(person bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  update public.reports
  set purge_at = least(purge_at, private.present() + interval '180 days')
  where reporter_id = person or user_id = person;
end
$$;
comment on function private.schedule_purge(bigint) is
  'Sets the evidence of all reports by and about an erased person to be deleted in 180 days, unless it is due earlier.';

create function private.purge_evidence()
returns integer
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  purged bigint[];
begin
  with due as (
    update public.reports
    set note = null, purge_at = null
    where purge_at <= (select private.present())
    returning id
  )
  select array_agg(id) into purged from due;
  delete from private.report_evidence where report_id = any (purged);
  return coalesce(cardinality(purged), 0);
end
$$;
comment on function private.purge_evidence() is
  'Deletes notes and evidence whose time has passed, and returns of how many reports. What stays of these: who, whom,
reason, dates and outcome. Scheduled.';

-- Moderation: the queue of open reports, and what admins do about them. Only the secret key and the owner can read and
-- call this, in the table editor and the SQL editor; every call is logged.
create table public.moderation_log (
  id bigint generated always as identity primary key,
  action text not null
    constraint "action is a step of moderation"
    check (action in ('read evidence', 'dismiss', 'warn', 'hide', 'suspend', 'lift hide', 'lift suspend', 'erase')),
  report_id bigint references public.reports (id) on delete restrict,
  user_id bigint not null references public.users (id) on delete restrict,
  by_whom text not null,
  note text
    constraint "the reason has 1 to 2,000 characters"
    check (char_length(note) <= 2000 and note ~ '[^[:space:][:cntrl:]]'),
  created_at timestamptz not null default clock_timestamp(),
  constraint "every decision has a reason" check (note is not null or action = 'read evidence')
);
comment on table public.moderation_log is
  'What admins did: who, when and why. Append-only for everybody, its owner included.';
comment on column public.moderation_log.user_id is 'The person whom it is about.';
comment on column public.moderation_log.by_whom is
  'The database role and, if they are known, the subject of the token and the dashboard''s user.';
create index moderation_log_report_id_idx on public.moderation_log (report_id);
create index moderation_log_user_id_idx on public.moderation_log (user_id);

create table public.hidden_profiles (
  user_id bigint primary key references public.users (id) on delete cascade,
  report_id bigint references public.reports (id) on delete restrict,
  hidden_at timestamptz not null default clock_timestamp()
);
comment on table public.hidden_profiles is
  'The people whom an admin has hidden. Until public.lift_restriction() they cannot make their profile searchable.';
comment on column public.hidden_profiles.report_id is 'Null: hidden without a report.';
create index hidden_profiles_report_id_idx on public.hidden_profiles (report_id);

alter table public.moderation_log enable row level security;
alter table public.hidden_profiles enable row level security;
-- The platform grants everything to service_role. Only the functions below write here.
revoke all on public.moderation_log, public.hidden_profiles from service_role;
grant select on public.moderation_log, public.hidden_profiles to service_role;
revoke all on sequence public.moderation_log_id_seq from service_role;

create function private.protect_moderation_log()
returns trigger
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  raise sqlstate '42501' using message = 'The moderation log is append-only';
end
$$;
comment on function private.protect_moderation_log() is 'Refuses every change of the log, by its owner too.';

create trigger protect_moderation_log
  before update or delete on public.moderation_log
  for each row
  execute function private.protect_moderation_log();

create trigger protect_moderation_log_from_truncate
  before truncate on public.moderation_log
  for each statement
  execute function private.protect_moderation_log();

create function private.keep_profile_hidden()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if exists (select from public.hidden_profiles where user_id = new.user_id) then
    raise sqlstate 'PT403' using message = 'An administrator has hidden this profile', hint = 'hidden';
  end if;
  return new;
end
$$;
comment on function private.keep_profile_hidden() is
  'Refuses to make a hidden profile searchable, whoever tries. Definer, because callers cannot read hidden_profiles.';

create trigger keep_profile_hidden
  before insert or update of is_searchable on public.profiles
  for each row
  when (new.is_searchable)
  execute function private.keep_profile_hidden();

create view public.moderation_queue
with (security_invoker = true)
as
  select
    reports.id as report, person.name as person, reports.reason, reports.note,
    earlier.reports as earlier_reports, earlier.dismissed as earlier_dismissed, earlier.upheld as earlier_upheld,
    exists (select from public.hidden_profiles where hidden_profiles.user_id = person.id) as is_hidden,
    person.is_active, reporter.name as reporter, reports.created_at, reports.message_id, reports.shares_messages,
    person.id as person_id, reporter.id as reporter_id
  from public.reports
  join public.users as person on person.id = reports.user_id
  join public.users as reporter on reporter.id = reports.reporter_id
  cross join lateral (
    select
      count(*) as reports,
      count(*) filter (where others.resolution = 'dismiss') as dismissed,
      count(*) filter (where others.resolution <> 'dismiss') as upheld
    from public.reports as others
    where others.user_id = reports.user_id and others.id < reports.id
  ) as earlier
  where reports.resolved_at is null
  order by reports.id;
comment on view public.moderation_queue is
  'The open reports, oldest first, each with the number of earlier ones about the same person, and how many of these
were dismissed or ended in a warning, hiding or suspension.';
revoke all on public.moderation_queue from service_role;
grant select on public.moderation_queue to service_role;

create function private.dashboard_user(statement text)
returns text
language plpgsql immutable security invoker set search_path = ''
as $$
begin
  return substring(statement from '-- user: ([0-9a-f-]{36})\s+-- date: [^\n]*\s*$');
end
$$;
comment on function private.dashboard_user(text) is
  'The user of Supabase''s dashboard who ran this statement: its SQL editor ends each with comments that say so.';

create function private.current_admin()
returns text
language plpgsql stable security invoker set search_path = ''
as $$
declare
  claims constant json := nullif(current_setting('request.jwt.claims', true), '')::json;
begin
  return concat_ws(
    ' ', coalesce(claims ->> 'role', session_user), claims ->> 'sub',
    'dashboard user ' || private.dashboard_user(current_query())
  );
end
$$;
comment on function private.current_admin() is
  'Who is calling: the role, the subject of a token, and the user of Supabase''s dashboard, as far as they are known.';

create function private.log_moderation(action text, report bigint, person bigint, note text)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if log_moderation.note !~ '[^[:space:][:cntrl:]]' or char_length(log_moderation.note) > 2000
    or log_moderation.note is null and log_moderation.action <> 'read evidence' then
    raise sqlstate 'PT400' using message = 'note: say why, in 1 to 2,000 characters';
  end if;
  insert into public.moderation_log (action, report_id, user_id, by_whom, note)
  values (log_moderation.action, report, person, private.current_admin(), log_moderation.note);
end
$$;
comment on function private.log_moderation(text, bigint, bigint, text) is
  'Appends to the log. Raises 400 if a decision has no reason. Only for definer functions.';

create function private.lock_person(person bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- In the order of an erasure, which goes on to the reports as well.
  perform from public.profiles where user_id = person for no key update;
  perform from public.users where id = person for no key update;
end
$$;
comment on function private.lock_person(bigint) is
  'Locks profile and account of a person, so that a change of theirs happens before or after what an admin does.';

create function private.apply_restriction(person bigint, restriction text, report bigint)
returns boolean
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  is_new boolean;
begin
  if restriction = 'hide' then
    -- Who has been erased has no profile.
    insert into public.hidden_profiles (user_id, report_id)
    select users.id, report from public.users where users.id = person and erased_at is null
    on conflict do nothing;
    is_new := found;
    update public.profiles set is_searchable = false where user_id = person and is_searchable;
  else
    update public.users set is_active = false where id = person and is_active;
    is_new := found;
  end if;
  return is_new;
end
$$;
comment on function private.apply_restriction(bigint, text, bigint) is
  'Hides or suspends a locked person; false if they are already. Only for definer functions.';

create function public.resolve_report(report bigint, action text, note text)
returns public.reports
language plpgsql volatile security definer set search_path = ''
as $$
declare
  person constant bigint := (select user_id from public.reports where id = report);
  resolved public.reports;
begin
  if person is null then
    raise sqlstate 'PT404' using message = 'Report not found';
  elsif action is null or action not in ('dismiss', 'warn', 'hide', 'suspend') then
    raise sqlstate 'PT400' using message = 'action: must be dismiss, warn, hide or suspend';
  end if;
  perform private.lock_person(person);
  select * into resolved from public.reports where id = report for update;
  if resolved.resolved_at is not null then
    raise sqlstate 'PT409' using message = format(
      'This report was resolved before: %s, at %s', resolved.resolution, private.iso(resolved.resolved_at)
    );
  end if;
  perform private.log_moderation(action => action, report => report, person => person, note => note);
  update public.reports
  set resolution = action, resolved_at = clock_timestamp()
  where id = report
  returning * into resolved;
  if action in ('hide', 'suspend') then
    perform private.apply_restriction(person, action, report);
  end if;
  return resolved;
end
$$;
comment on function public.resolve_report(bigint, text, text) is
  'Resolves an open report: dismiss, warn (it counts against the person in later reports), hide (the profile is not
searchable until public.lift_restriction()) or suspend (the account is deactivated). The note says why. Raises 409 if it
was resolved before. Definer, because the secret key has no grant to write reports, so that every decision is logged.';
grant execute on function public.resolve_report(bigint, text, text) to service_role;

create function public.read_evidence(report bigint)
returns table (
  message_id bigint, sent_at timestamptz, sender_id bigint, is_by_reported boolean, content text, attachment jsonb
)
language plpgsql volatile security definer set search_path = ''
as $$
declare
  about public.reports;
begin
  select * into about from public.reports where id = report;
  if not found then
    raise sqlstate 'PT404' using message = 'Report not found';
  end if;
  perform private.log_moderation(action => 'read evidence', report => report, person => about.user_id, note => null);
  return query
    select
      evidence.message_id, evidence.sent_at,
      case when evidence.is_by_reported then about.user_id else about.reporter_id end,
      evidence.is_by_reported, evidence.content, evidence.attachment
    from private.report_evidence as evidence
    where evidence.report_id = about.id
    order by evidence.message_id;
end
$$;
comment on function public.read_evidence(bigint) is
  'The messages that were copied for a report, oldest first; none once they are purged. Definer, because nobody has a
grant on the evidence, so that every look at it is logged.';
grant execute on function public.read_evidence(bigint) to service_role;

-- What admins do about people without a report: find, hide, suspend, lift, erase. As in 30_moderation.sql, only the
-- secret key and the owner can call this, and everything but finding is logged.
create function public.find_people(query text, restricted boolean default false)
returns table (
  id bigint, name text, email text, status text, is_hidden boolean, is_searchable boolean, bio text, location text,
  role text, created_at timestamptz, reports bigint, upheld bigint
)
language plpgsql stable security definer set search_path = ''
as $$
#variable_conflict use_column
declare
  wanted constant text := private.fold(trim(coalesce(query, '')));
begin
  return query
    select
      users.id, users.name, users.email,
      case
        when users.erased_at is not null then 'erased'
        when users.confirmed_at is null then 'pending'
        when users.is_active then 'active'
        else 'suspended'
      end,
      hidden.user_id is not null, coalesce(profiles.is_searchable, false), users.bio, users.location, users.role,
      users.created_at, about.reports, about.upheld
    from public.users
    left join public.profiles on profiles.user_id = users.id
    left join public.hidden_profiles as hidden on hidden.user_id = users.id
    cross join lateral (
      select count(*) as reports, count(*) filter (where resolution <> 'dismiss') as upheld
      from public.reports
      where reports.user_id = users.id
    ) as about
    where (
        users.id::text = wanted
        or wanted !~ '^[0-9]+$' and position(wanted in private.fold(users.name || E'\n' || users.email)) > 0
      )
      and (
        restricted is not true
        or hidden.user_id is not null
        or not users.is_active and users.confirmed_at is not null and users.erased_at is null
      )
    order by users.id desc
    limit 50;
end
$$;
comment on function public.find_people(text, boolean) is
  'The newest 50 people with this text in their name or e-mail address, regardless of case and accents; digits alone are
an id; restricted: only those who are hidden or suspended. reports counts those about the person, upheld those that
ended in a warning, hiding or suspension. Definer, because the secret key has no rights on schema private.';
grant execute on function public.find_people(text, boolean) to service_role;

create function private.lock_to_restrict(person bigint, restriction text)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if restriction is null or restriction not in ('hide', 'suspend') then
    raise sqlstate 'PT400' using message = 'restriction: must be hide or suspend';
  elsif not exists (select from public.users where id = person) then
    raise sqlstate 'PT404' using message = 'User not found';
  end if;
  perform private.lock_person(person);
end
$$;
comment on function private.lock_to_restrict(bigint, text) is
  'Locks a person whom an admin restricts or restores; raises 400 for an unknown restriction and 404 for nobody.';

create function public.restrict_person(person bigint, restriction text, note text)
returns text
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.lock_to_restrict(person, restriction);
  if not private.apply_restriction(person, restriction, null) then
    raise sqlstate 'PT409' using message = case
      when exists (select from public.users where id = person and erased_at is not null) then 'This account was erased'
      when restriction = 'hide' then 'This profile is already hidden'
      else 'This account is not active'
    end;
  end if;
  perform private.log_moderation(action => restriction, report => null, person => person, note => note);
  return 'restricted';
end
$$;
comment on function public.restrict_person(bigint, text, text) is
  'Does without a report what resolve_report does with one: hide or suspend. The note says why. Raises 409 if that was
done before. Definer, as resolve_report.';
grant execute on function public.restrict_person(bigint, text, text) to service_role;

create function public.lift_restriction(person bigint, restriction text, note text)
returns text
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.lock_to_restrict(person, restriction);
  if restriction = 'hide' then
    delete from public.hidden_profiles where user_id = person;
  else
    update public.users
    set is_active = true
    where id = person and not is_active and confirmed_at is not null and erased_at is null;
  end if;
  if not found then
    raise sqlstate 'PT409' using message = case restriction
      when 'hide' then 'This profile is not hidden'
      else 'This account is not suspended'
    end;
  end if;
  perform private.log_moderation(action => 'lift ' || restriction, report => null, person => person, note => note);
  return 'lifted';
end
$$;
comment on function public.lift_restriction(bigint, text, text) is
  'Ends what resolve_report did to a person: hide (they may make their profile searchable again, which it is not by
itself) or suspend (they may log in again). The note says why. Definer, as resolve_report.';
grant execute on function public.lift_restriction(bigint, text, text) to service_role;

create function public.erase_person(person bigint, note text)
returns text
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not exists (select from public.users where id = person) then
    raise sqlstate 'PT404' using message = 'User not found';
  end if;
  -- First, because it locks in the order of every erasure, and the entry in the log locks the person.
  if not private.erase_person(person) then
    raise sqlstate 'PT409' using message = 'This account was erased before';
  end if;
  perform private.log_moderation(action => 'erase', report => null, person => person, note => note);
  return 'erased';
end
$$;
comment on function public.erase_person(bigint, text) is
  'Erases a person on their request, which cannot be undone. The note says why. Their avatars stay in Storage and have
to be removed by hand (docs/runbook.md); DELETE /users/me removes them. Definer, because the secret key has no rights
on schema private.';
grant execute on function public.erase_person(bigint, text) to service_role;

-- What somebody may do before the other participant has answered: send a few messages and offers, and on the operator's
-- wish see no e-mail address. The limits are settings of the Edge Functions, which pass them on.
create function private.has_written(person bigint, conversation bigint)
returns boolean
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return exists (
    select
    from private.conversation_activity
    where conversation_id = conversation
      and (voyager_id = person and voyager_has_written or local_id = person and local_has_written)
  );
end
$$;
comment on function private.has_written(bigint, bigint) is
  'Whether a person has ever sent a message in this conversation, also if an admin has deleted it since. Only for
definer functions.';

create function private.may_write_first(conversation bigint, partner bigint, max_things integer)
returns boolean
language plpgsql stable security invoker set search_path = ''
as $$
begin
  -- Apart, because the rest is a statement.
  if max_things is null or private.has_written(partner, conversation) then
    return true;
  end if;
  return exists (
    select
    from public.reservation_history
    where conversation_id = conversation and by_id = partner and status in ('pending', 'accepted', 'declined')
  ) or (
    select count(*) < max_things
    from (
      (select from public.messages where conversation_id = conversation limit max_things)
      union all
      (
        select
        from public.reservation_history
        where conversation_id = conversation and by_id <> partner and (status = 'pending' or note is not null)
        limit max_things
      )
    ) as own
  );
end
$$;
comment on function private.may_write_first(bigint, bigint, integer) is
  'Whether one more thing may reach the partner: they have written, offered, or accepted or declined an offer, or fewer
than so many messages, offers, changed offers and notes have reached them. Null: no limit. The conversation must be
locked, so that concurrent ones are counted. Only for definer functions.';

create function private.refusal_of_first_contact(max_things integer)
returns text
language sql immutable parallel safe security invoker set search_path = ''
as $$
  select format(
    'You can send %s until this person has answered',
    case max_things when 1 then '1 message or offer' else max_things || ' messages or offers' end
  )
$$;
comment on function private.refusal_of_first_contact(integer) is
  'What somebody reads who has reached the limit. It says no more, so that it hides a block.';

create function private.refusal_to_send(conversation bigint, partner bigint, max_things integer)
returns text
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return case
    when private.may_write_first(conversation, partner, max_things) then 'You cannot write to this person'
    else private.refusal_of_first_contact(max_things)
  end;
end
$$;
comment on function private.refusal_to_send(bigint, bigint, integer) is
  'Why a message is refused. Only for definer functions.';

create function private.may_reach(conversation bigint, partner bigint, max_things integer)
returns boolean
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if max_things is null then
    return true;
  end if;
  perform from public.conversations where id = conversation for no key update;
  return private.may_write_first(conversation, partner, max_things);
end
$$;
comment on function private.may_reach(bigint, bigint, integer) is
  'As may_write_first, after it has locked the conversation. Not for messages: a send checks in its one statement.
Only for definer functions.';

create function private.require_first_contact(conversation bigint, partner bigint, max_things integer)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if not private.may_reach(conversation, partner, max_things) then
    raise sqlstate 'PT403' using
      message = private.refusal_of_first_contact(max_things),
      hint = 'first_contact_limit';
  end if;
end
$$;
comment on function private.require_first_contact(bigint, bigint, integer) is
  'Raises 403 if nothing more may reach the partner before they have answered. Only for definer functions.';

create function private.shown_email(person bigint, email text, conversation bigint)
returns text
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return case
    when person = private.my_id() or private.has_written(person, conversation) then email
    else ''
  end;
end
$$;
comment on function private.shown_email(bigint, text, bigint) is
  'The e-mail address of a participant as the caller sees it with PARTNER_EMAIL=after_reply: the partner''s is empty
until they have written. Only for definer functions.';

-- The log of changes: what GET /conversations/changes reads. A row is written by the transaction that makes the change,
-- so it commits or rolls back with it; unlike an event of Realtime it is never lost.
--
-- It costs a send 6 of 87 pages and 3 to 4 % of its processor time. Rejected (docs/scale.md): a row for each
-- participant; an index on created_at for what is to be forgotten, which even as a BRIN costs three pages more; a
-- counter for each user, which is gap-free because writers wait for each other: a busy host would get one message after
-- the other.
create type private.change_kind as enum (
  'conversation', 'message', 'read', 'reservation', 'state', 'message.removed'
);

create table private.changes (
  user_id bigint not null,
  xid xid8 not null default pg_current_xact_id(),
  id bigint generated always as identity,
  other_id bigint,
  conversation_id bigint not null,
  entity_id bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  kind private.change_kind not null,
  primary key (user_id, xid, id)
);
comment on table private.changes is
  'One row for each change that a participant of a conversation can see, kept for 31 days. Holds ids only. Without
foreign keys, because what was removed is named here too, and because keys cost a send six pages (20_messages.sql).';
comment on column private.changes.user_id is
  'The voyager; of what only one of the two may learn, as of a state, that one.';
comment on column private.changes.other_id is 'The local; null if only one of the two may learn of it.';
comment on column private.changes.xid is
  'The transaction that wrote the row. Ids are drawn before the commit, so they do not tell what a reader has seen.';

create index changes_other_id_idx on private.changes (other_id, xid, id) where other_id is not null;
comment on index private.changes_other_id_idx is 'As the primary key, for the other participant.';
alter table private.changes enable row level security;

create materialized view private.changes_origin as
select gen_random_uuid() as epoch, coalesce(max(id), 0) as last_id
from private.changes;
comment on materialized view private.changes_origin is
  'Which log this is, and the last of its rows that another database wrote. pg_restore refreshes it after it has loaded
the rows, so a restored database has another epoch, in which the transaction ids of older rows mean nothing.';

create function private.record_change(
  kind private.change_kind, conversation bigint, entity bigint, actor bigint default null, event text default null,
  previous_id bigint default null
)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  one bigint;
  other bigint;
begin
  select case when is_cut_off then actor else voyager_id end, case when not is_cut_off then local_id end
  into one, other
  from public.conversations
  cross join lateral (
    select actor is not null and private.is_blocked_between(voyager_id, local_id) as is_cut_off
  ) as pair
  where conversations.id = conversation;
  if one is null then
    return;
  end if;
  insert into private.changes (user_id, other_id, kind, conversation_id, entity_id)
  values (one, other, record_change.kind, conversation, entity);
  if event is not null then
    perform private.broadcast_to_users(
      event => event, conversation => conversation, id => entity, previous_id => previous_id, user_id => actor,
      one => one, other => other
    );
  end if;
end
$$;
comment on function private.record_change(private.change_kind, bigint, bigint, bigint, text, bigint) is
  'Logs a change for both participants, and broadcasts it if it has an event; across a block, what one of them does
(actor) for that one alone. Nothing if the conversation is gone, of which they are told by itself. Only for definer
functions.';

create function private.record_conversation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  insert into private.changes (user_id, other_id, kind, conversation_id, entity_id)
  select concerned.voyager_id, concerned.local_id, 'conversation', concerned.id, concerned.id
  from (
    select old.voyager_id, old.local_id, old.id
    union
    select new.voyager_id, new.local_id, new.id
  ) as concerned (voyager_id, local_id, id)
  where concerned.id is not null;
  if tg_op = 'INSERT' then
    perform private.notify(event => 'conversation.created', conversation => new.id, subject => new.id);
    perform private.broadcast_to_users(
      event => 'conversation.created', conversation => new.id, id => new.id, previous_id => null,
      user_id => new.voyager_id, one => new.voyager_id, other => new.local_id
    );
  end if;
  return null;
end
$$;
comment on function private.record_conversation() is
  'A conversation was opened, of which user_id of the event is the voyager, who opened it; or changed or removed by an
admin. Whoever took part in it before is told too. Definer, because nobody has a grant on the log.';

create trigger record_conversation
  after insert or update or delete on public.conversations
  for each row
  execute function private.record_conversation();

create function private.record_person()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.record_change('conversation', id, id, actor => new.id)
  from public.conversations
  where new.id in (voyager_id, local_id);
  return null;
end
$$;
comment on function private.record_person() is
  'The name or the address that the partners'' lists show has changed. Definer, as record_conversation.';

create trigger record_person
  after update of name, email on public.users
  for each row
  when ((old.name, old.email) is distinct from (new.name, new.email))
  execute function private.record_person();

create function private.record_changed_messages()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.record_change(
    'read', marked.conversation_id, marked.id,
    actor => case marked.user_id when voyager_id then local_id else voyager_id end,
    event => 'message.read',
    previous_id => (
      select max(id) from public.messages where conversation_id = marked.conversation_id and id < marked.id
    )
  )
  from (
    select new_rows.conversation_id, new_rows.user_id, max(new_rows.id) as id
    from new_rows
    join old_rows using (id, conversation_id)
    where new_rows.read and not old_rows.read
    group by new_rows.conversation_id, new_rows.user_id
  ) as marked
  join public.conversations on conversations.id = marked.conversation_id;

  perform private.record_change(
    case when new_rows.id is null then 'message.removed' else 'message' end::private.change_kind, conversation_id, id
  )
  from new_rows
  full join old_rows using (id, conversation_id)
  where new_rows.id is null
    or old_rows.id is null
    or old_rows.read and not new_rows.read
    or (old_rows.user_id, old_rows.content, old_rows.attachment, old_rows.created_at)
      is distinct from (new_rows.user_id, new_rows.content, new_rows.attachment, new_rows.created_at)
  order by id;
  return null;
end
$$;
comment on function private.record_changed_messages() is
  'Messages were marked as read, of which the newest of a statement is named, or an admin has corrected or moved them.
Definer, as record_conversation.';

create trigger record_changed_messages
  after update on public.messages
  referencing old table as old_rows new table as new_rows
  for each statement
  execute function private.record_changed_messages();

create function private.record_deleted_messages()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.record_change('message.removed', conversation_id, id) from old_rows order by id;
  return null;
end
$$;
comment on function private.record_deleted_messages() is
  'An admin has removed messages. Definer, as record_conversation.';

create trigger record_deleted_messages
  after delete on public.messages
  referencing old table as old_rows
  for each statement
  execute function private.record_deleted_messages();

create function private.record_changed_reservation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.record_change('reservation', concerned.conversation_id, concerned.id, event => 'reservation.changed')
  from (
    select old.conversation_id, old.id
    union
    select new.conversation_id, new.id
  ) as concerned (conversation_id, id)
  where concerned.id is not null;
  return null;
end
$$;
comment on function private.record_changed_reservation() is
  'A reservation was offered, changed, moved to another conversation or removed. Definer, as record_conversation.';

create trigger record_changes
  after insert or update or delete on public.reservations
  for each row
  execute function private.record_changed_reservation();

create function private.record_state(person bigint, conversation bigint, event text, actor bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  insert into private.changes (user_id, kind, conversation_id, entity_id)
  select person, 'state', conversation, conversation
  where conversation is not null;
  perform private.broadcast_to_users(
    event => event, conversation => conversation, id => case when event <> 'block.changed' then conversation end,
    previous_id => null, user_id => actor, one => person, other => null
  );
end
$$;
comment on function private.record_state(bigint, bigint, text, bigint) is
  'Logs that a user has arranged a conversation differently, for this user''s devices alone, and tells them. Only for
definer functions.';

create function private.record_block()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  block constant private.blocks := coalesce(new, old);
begin
  perform private.record_state(
    block.blocker_id,
    (
      select id
      from public.conversations
      where least(voyager_id, local_id) = least(block.blocker_id, block.blocked_id)
        and greatest(voyager_id, local_id) = greatest(block.blocker_id, block.blocked_id)
    ),
    'block.changed', block.blocked_id
  );
  return null;
end
$$;
comment on function private.record_block() is
  'A block changes what its owner, and nobody else, sees of the conversation. Of block.changed user_id is the user who
was blocked or unblocked; the devices that get it leave the pair''s typing: topic. Definer, as record_conversation.';

create trigger record_block
  after insert or delete on private.blocks
  for each row
  execute function private.record_block();

create function private.forget_changes()
returns integer
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  forgotten integer;
begin
  delete from private.changes
  where created_at < (select private.present()) - interval '31 days';
  get diagnostics forgotten = row_count;
  return forgotten;
end
$$;
comment on function private.forget_changes() is
  'Removes what no cursor can ask for any more, and returns how many rows. A day more than cursors are valid, for
transactions that take long. Reads the whole log, so it is scheduled once a day.';

-- What changed since a cursor. A cursor names the snapshot of the database that its owner has seen, and the next page
-- is what is visible now and was not visible then. So a change that commits late is not skipped, whatever its id.
--
-- Rejected: serving only rows below pg_snapshot_xmin(pg_current_snapshot()), so that a cursor is one transaction id. It
-- is as gap-free, but one transaction that stays open for ten minutes, an admin's or a migration's, would for ten
-- minutes hide everything from every client that comes back. A snapshot costs some ten characters for each transaction
-- that is running when it is taken.
create type private.change_cursor as (
  user_id bigint,
  epoch uuid,
  issued_at timestamptz,
  -- The owner has seen what is visible in this.
  seen pg_snapshot,
  -- Between two pages: these show what is visible in this, and the first of them ended after (xid, id).
  target pg_snapshot,
  xid xid8,
  id bigint,
  -- The owner's newest change that is visible in target or seen.
  newest_id bigint,
  newest_at timestamptz
);
comment on type private.change_cursor is
  'What a cursor holds. It is not signed: whoever makes one up can only ask for their own changes.';

create function private.encode_cursor(cursor private.change_cursor)
returns text
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return translate(encode(convert_to(cursor::text, 'UTF8'), 'base64'), E'+/=\n', '-_');
end
$$;
comment on function private.encode_cursor(private.change_cursor) is 'A cursor as the answers print it: base64url.';

create function private.decode_cursor(encoded text)
returns private.change_cursor
language plpgsql stable security invoker set search_path = ''
as $$
declare
  padded constant text := translate(encoded, '-_', '+/') || repeat('=', -length(encoded) & 3);
begin
  return convert_from(decode(padded, 'base64'), 'UTF8')::private.change_cursor;
exception
  when data_exception then
    return null;
end
$$;
comment on function private.decode_cursor(text) is 'The reverse of encode_cursor; null for anything else.';

create function private.bounded_snapshot(snapshot pg_snapshot, max_running integer)
returns pg_snapshot
language plpgsql immutable security invoker set search_path = ''
as $$
declare
  running constant xid8[] := array(select pg_snapshot_xip(snapshot) order by 1);
begin
  if cardinality(running) <= max_running then
    return snapshot;
  end if;
  return format(
    '%s:%s:%s', pg_snapshot_xmin(snapshot), running[max_running + 1],
    array_to_string(running[:max_running], ',')
  )::pg_snapshot;
end
$$;
comment on function private.bounded_snapshot(pg_snapshot, integer) is
  'The snapshot, or an older one with at most as many running transactions, so that a cursor fits into a URL. What the
older one does not show comes with the next page.';

create function private.changes_between(
  person bigint, seen pg_snapshot, target pg_snapshot, after_xid xid8, after_id bigint, max_rows integer
)
returns setof private.changes
language plpgsql stable security invoker
set search_path = ''
-- Otherwise it is planned again at each call, which takes more than the five pages that it reads; and without the next
-- two the plan for a short log, which reads and sorts all of it, is kept for a long one.
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off
set enable_seqscan = off
as $$
declare
  origin_id constant bigint := (select last_id from private.changes_origin);
begin
  return query
    (
      select *
      from private.changes
      where user_id = person
        and (xid, id) > (after_xid, after_id)
        and xid < pg_snapshot_xmax(target)
        and pg_visible_in_snapshot(xid, target)
        and not pg_visible_in_snapshot(xid, seen)
        and id > origin_id
      order by xid, id
      limit max_rows
    )
    union all
    (
      select *
      from private.changes
      where other_id = person
        and (xid, id) > (after_xid, after_id)
        and xid < pg_snapshot_xmax(target)
        and pg_visible_in_snapshot(xid, target)
        and not pg_visible_in_snapshot(xid, seen)
        and id > origin_id
      order by xid, id
      limit max_rows
    )
    order by xid, id
    limit max_rows;
end
$$;
comment on function private.changes_between(bigint, pg_snapshot, pg_snapshot, xid8, bigint, integer) is
  'The next changes of a user that are visible in target and not in seen. Only for definer functions.';

create function private.newest_change(person bigint, snapshot pg_snapshot)
returns private.changes
language plpgsql stable security invoker
set search_path = ''
-- As in changes_between.
set plan_cache_mode = force_generic_plan
set enable_bitmapscan = off
set enable_seqscan = off
as $$
declare
  origin_id constant bigint := (select last_id from private.changes_origin);
  newest private.changes;
begin
  select *
  into newest
  from (
    (
      select *
      from private.changes
      where user_id = person
        and xid < pg_snapshot_xmax(snapshot)
        and pg_visible_in_snapshot(xid, snapshot)
        and id > origin_id
      order by xid desc, id desc
      limit 1
    )
    union all
    (
      select *
      from private.changes
      where other_id = person
        and xid < pg_snapshot_xmax(snapshot)
        and pg_visible_in_snapshot(xid, snapshot)
        and id > origin_id
      order by xid desc, id desc
      limit 1
    )
  ) as last_of_each
  order by xid desc, id desc
  limit 1;
  return newest;
end
$$;
comment on function private.newest_change(bigint, pg_snapshot) is
  'A user''s newest change that is visible in this snapshot, by transaction. Only for definer functions.';

create function private.require_current(cursor private.change_cursor)
returns void
language plpgsql stable security invoker set search_path = ''
as $$
declare
  last_seen constant pg_snapshot := coalesce(cursor.target, cursor.seen);
  oldest constant timestamptz := private.present() - interval '30 days';
  newest private.changes;
begin
  if cursor.issued_at >= oldest
    and cursor.epoch = (select epoch from private.changes_origin)
    and pg_snapshot_xmax(last_seen) <= pg_snapshot_xmax(pg_current_snapshot()) then
    -- A copy of the files, restored, has the same epoch and uses the same transaction ids again. Then what the owner
    -- has seen last is not there, or something else is there that they seem to have seen.
    newest := private.newest_change(cursor.user_id, last_seen);
    if (newest.id, newest.created_at) is not distinct from (cursor.newest_id, cursor.newest_at)
      or newest.id is null and cursor.newest_at < oldest then
      return;
    end if;
  end if;
  raise sqlstate 'PT410' using message = 'after: this cursor is not valid any more, read everything anew';
end
$$;
comment on function private.require_current(private.change_cursor) is
  'Raises 410 for a cursor that is older than 30 days or from before a restore.';

create function api.list_changes(after text, page_limit integer)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  present constant pg_snapshot := private.bounded_snapshot(pg_current_snapshot(), 100);
  cursor private.change_cursor;
  newest private.changes;
  page private.changes[] := array[]::private.changes[];
  more boolean := false;
begin
  if after is not null then
    cursor := private.decode_cursor(after);
    if cursor.user_id is distinct from me or cursor.epoch is null or cursor.issued_at is null or cursor.seen is null
      or (cursor.target is null) <> (cursor.xid is null) or (cursor.target is null) <> (cursor.id is null) then
      raise sqlstate 'PT400' using message = 'after: must be a cursor of your own';
    end if;
    perform private.require_current(cursor);
    cursor.target := coalesce(cursor.target, present);
    -- One more than the page, to know whether another page follows.
    page := array(
      select changes
      from private.changes_between(
        person => me, seen => cursor.seen, target => cursor.target,
        after_xid => coalesce(cursor.xid, pg_snapshot_xmin(cursor.seen)), after_id => coalesce(cursor.id, 0),
        max_rows => page_limit + 1
      ) as changes
    );
    more := cardinality(page) > page_limit;
    page := page[:page_limit];
  end if;

  if more then
    cursor.xid := page[page_limit].xid;
    cursor.id := page[page_limit].id;
  else
    cursor.seen := coalesce(cursor.target, present);
    cursor.target := null;
    cursor.xid := null;
    cursor.id := null;
  end if;
  newest := private.newest_change(me, coalesce(cursor.target, cursor.seen));
  cursor.newest_id := newest.id;
  cursor.newest_at := newest.created_at;
  cursor.user_id := me;
  cursor.epoch := (select epoch from private.changes_origin);
  cursor.issued_at := private.present();
  return json_build_object(
    'changes', (
      select coalesce(
        json_agg(json_build_object('kind', kind, 'conversation_id', conversation_id, 'id', entity_id) order by place),
        '[]'
      )
      from (
        select
          change.kind, change.conversation_id, change.entity_id, place,
          -- A message that was removed is the same entity as the message.
          row_number() over (
            partition by split_part(change.kind::text, '.', 1), change.conversation_id, change.entity_id
            order by place desc
          ) as later
        from unnest(page) with ordinality
          as change (user_id, xid, id, other_id, conversation_id, entity_id, created_at, kind, place)
      ) as entries
      where later = 1
    ),
    'cursor', private.encode_cursor(cursor),
    'more', more
  );
end
$$;
comment on function api.list_changes(text, integer) is
  'What has changed for the caller since the cursor, oldest first, each entity once at its latest; without a cursor no
changes and the present one. Raises 400 for a cursor of somebody else, 410 for one that is too old or from before a
restore. Not for a standby, whose snapshots do not name the running transactions. Definer, because nobody has a grant on
the log.';
grant execute on function api.list_changes(text, integer) to edge_functions;

-- The search. Its index has one row for each profile that is searchable and whose owner is active. What a query passes
-- through, in this order:
--   25 parse_query: its words · corrections_of: what a mistyped one may stand for
--   30 read_words: those written together, and places · read_query: queries of the index, and how rare each is
--   35 api.understand_query: completed, corrected, a name, or nothing; what remains, the Edge Function embeds
--   55 api.search_profiles: from here on with the vector
--   40 read_filter: what every hit must meet, and who meets it if they are few
--   55 find_profiles, the ranking: 50 nearest_profiles and keyword_candidates; 45 keyword_scores, for the best of them;
--      the page as JSON
--   60 and 65 highlights, facets and nearness to one profile, if asked for
-- Around it: 10 tables · 12 names of places · 15 how texts become words · 20 triggers that keep the index in sync
-- 70 completions of a search box · 75 embeddings, made later from a queue · 80 audit and repair
create extension if not exists unaccent with schema extensions;
create extension if not exists fuzzystrmatch with schema extensions;
create extension if not exists vector with schema extensions;

create table private.search_models (
  name text primary key,
  similarity_floor double precision not null,
  similarity_ceiling double precision not null,
  similarity_threshold double precision not null,
  trust double precision not null check (trust > 0 and trust <= 1),
  check (similarity_floor < similarity_threshold and similarity_threshold < similarity_ceiling)
);
comment on table private.search_models is
  'How to read the cosines of each embedding model: floor and ceiling, between which they are ranked (the first
percentile of all queries and profiles, and the 99.8th); threshold, from where on a profile is a hit: the lowest, which
has the highest recall, at which .15 of what is found is relevant, among short texts and among long ones alike.
bench/search/calibrate.ts computes them. Trust: how much a similarity says beside words; it is multiplied by this before
the two are weighed (as `distribution` does for an embedder of Meilisearch).';
alter table private.search_models enable row level security;

-- Those of the offline model are measured: its similarities reach 1 as often as words do, and then say less. The others
-- follow what makers and users of the models report; nobody has measured them here, nor their trust.
insert into private.search_models (name, similarity_floor, similarity_ceiling, similarity_threshold, trust)
values
  ('offline-wordnet-v3', -0.11, 0.7, 0.13, 3.0 / 7),
  ('text-embedding-3-small', 0.1, 0.6, 0.3, 3.0 / 7),
  ('gte-small', 0.72, 0.92, 0.8, 3.0 / 7);

create table private.search_entries (
  profile_id bigint primary key references public.profiles (id) on delete cascade,
  user_id bigint not null references public.users (id) on delete cascade,
  name text not null,
  biography text,
  city text,
  country text,
  interests text[] not null,
  image_url text,
  content_hash text not null,
  model text references private.search_models (name) on delete set null,
  embedding extensions.halfvec(384)
);
comment on table private.search_entries is
  'The profiles that a search can find, as hits show them: those that are searchable and whose owner is active.';
comment on column private.search_entries.content_hash is
  'Hash of the text that the embedding is made from. While it stays the same, the embedding is kept.';
-- Only hits show the biography, so it is stored out of line. Every candidate's embedding is read, so it is stored in
-- line: out of line, a hundred neighbours take 6.5 ms instead of 1.2.
alter table private.search_entries alter column biography set storage external;
alter table private.search_entries alter column embedding set storage plain;
alter table private.search_entries enable row level security;

create index search_entries_user_id_idx on private.search_entries (user_id);
create index search_entries_model_idx on private.search_entries (model);
-- With 64 for ef_construction, the default, a walk reads a tenth more to find as many, and saving a vector takes 4.3 ms
-- instead of 5.3. docs/scale.md has other values.
create index search_entries_embedding_idx
  on private.search_entries using hnsw (embedding extensions.halfvec_cosine_ops)
  with (m = 16, ef_construction = 128);
comment on index private.search_entries_embedding_idx is
  'Nearest neighbours. Filters are applied during the index scan, not after it.';
create index search_entries_unembedded_idx on private.search_entries (profile_id) where embedding is null;
comment on index private.search_entries_unembedded_idx is
  'Whether a profile that is no neighbour of a query has no embedding. To read its entry takes four times as long.';

-- One copy of each word. Postings (a row for each word and profile) took 81 MB for 10,000 profiles where this takes 10,
-- and a change of interests touched 1,000 pages. Apart from the entries, because an embedding is saved more often than
-- words change. Rows of up to 8 kB stay in line: reading a thousand candidates out of line takes ten times as long.
create table private.search_words (
  profile_id bigint primary key references private.search_entries (profile_id) on delete cascade,
  words tsvector not null
) with (toast_tuple_target = 8160);
comment on table private.search_words is
  'The words of each entry with their places (private.text_start), between two full stops for each text, and the values
that filters compare (private.facet).';
-- Without a list of pending words, which each search would read from beginning to end.
create index search_words_words_idx on private.search_words using gin (words) with (fastupdate = off);
alter table private.search_words enable row level security;

create function private.text_start(attribute integer, element integer)
returns integer
language sql immutable parallel safe
as $$
  select case attribute
    when 0 then 1 when 1 then 301 + 62 * element when 2 then 3501 when 3 then 3801 when 4 then 4101
    else 15401 + 400 * element
  end
$$;
comment on function private.text_start(integer, integer) is
  'Where a text begins in the tsvector of its profile: the full stop before its first word. attribute: 0 name,
1 interests, 2 city, 3 country, 4 biography, 5 first and last name; element: which of the texts of the attribute, such
as the second interest. A position of a tsvector is at most 16,383.';

-- The readers of positions have no search_path, so that Postgres inlines them.
create function private.attribute_at(word_position integer)
returns integer
language sql immutable parallel safe
as $$
  select case
    when word_position < 301 then 0
    when word_position < 3501 then 1
    when word_position < 3801 then 2
    when word_position < 4101 then 3
    when word_position < 15401 then 4
    else 5
  end
$$;
comment on function private.attribute_at(integer) is 'The attribute that has this position.';

create function private.text_start_at(word_position integer)
returns integer
language sql immutable parallel safe
as $$
  select case
    when word_position < 301 then 1
    when word_position < 3501 then 301 + (word_position - 301) / 62 * 62
    when word_position < 3801 then 3501
    when word_position < 4101 then 3801
    when word_position < 15401 then 4101
    else 15401 + (word_position - 15401) / 400 * 400
  end
$$;
comment on function private.text_start_at(integer) is 'Where the text begins that has this position.';

create table private.search_lexicon (
  word text collate "C" not null
);
comment on table private.search_lexicon is
  'Every word of the index. Typing errors are matched against it. Words are only added, and swept now and then
(private.sweep_lexicon). It has no counters, which every change of a profile would update, and no unique constraint:
with one, two transactions that add the same new words wait for each other, and in another order they deadlock. A word
that both add is there twice until the sweep.';
create index search_lexicon_word_idx on private.search_lexicon (word);
alter table private.search_lexicon enable row level security;

create table private.search_lexicon_queue (
  profile_id bigint primary key references private.search_entries (profile_id) on delete cascade
);
comment on table private.search_lexicon_queue is
  'Profiles with words that the lexicon still lacks. A new word costs 60 µs there, so a change of a profile adds ten,
and the others follow (private.drain_lexicon_queue). Until then they are found only as they are written.';
alter table private.search_lexicon_queue enable row level security;

create table private.search_removed_words (
  word text collate "C" not null
);
comment on table private.search_removed_words is
  'Words that profiles no longer have. The next sweep deletes those from the lexicon that nobody else has.';
alter table private.search_removed_words enable row level security;

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

create table private.search_locks (
  profile_id bigint primary key references public.profiles (id) on delete cascade
);
comment on table private.search_locks is
  'A row for each profile, to be locked while its entry is written. Locking the profile instead would deadlock: one
transaction updates the profile and then the user, another deactivates the user and then writes the entry.';
alter table private.search_locks enable row level security;

-- Other names of places. A profile is indexed under all names of its city and country, so that no search has to look
-- them up, and typing errors, prefixes and filters need nothing of their own.

create table private.search_places (
  names text[] not null,
  adjectives text[] not null default '{}',
  parts text[] not null default '{}'
);
comment on table private.search_places is
  'The names of each place in any language, its adjectives (Dutch) and its districts: all as private.words_of writes
them. Whoever lives in a district lives in the place as well. private.add_place adds one.';
create index search_places_names_idx
  on private.search_places using gin ((names || parts || adjectives)) with (fastupdate = off);
alter table private.search_places enable row level security;

create function private.places_among(candidates text[])
returns text[]
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return array(
    select distinct sign || candidate
    from private.search_places
    cross join lateral (values ('', names || parts), ('@', adjectives)) as kinds (sign, listed)
    cross join unnest(candidates) as candidate
    where names || parts || adjectives && candidates and candidate = any (listed)
  );
end
$$;
comment on function private.places_among(text[]) is
  'Which of these are names of places, and after an @ which are adjectives of places.';

create function private.other_names_of(value text)
returns text[]
language plpgsql stable security invoker set search_path = ''
as $$
declare
  -- Many write "Lisbon, Portugal".
  written constant text[] := array(
    select array_to_string(private.words_of(part), ' ') from unnest(array[value, split_part(value, ',', 1)]) as part
  );
begin
  return array(
    select name
    from private.search_places
    cross join lateral unnest(names || array(select '@' || adjective from unnest(adjectives) as adjective)) as name
    where names || parts || adjectives && written and names || parts && written
    except
    select unnest(written)
    order by 1
  );
end
$$;
comment on function private.other_names_of(text) is
  'The other names of a city or country, and its adjectives with a sign that no word has: whoever speaks Dutch may live
anywhere.';

create function private.add_place(names text[], adjectives text[] default '{}', parts text[] default '{}')
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  place private.search_places;
begin
  select
    array(select array_to_string(private.words_of(each), ' ') from unnest(names) as each),
    array(select array_to_string(private.words_of(each), ' ') from unnest(adjectives) as each),
    array(select array_to_string(private.words_of(each), ' ') from unnest(parts) as each)
  into place;
  insert into private.search_places select place.*;
  perform private.refresh_search_entry(profiles.id)
  from public.profiles
  where is_searchable and exists (
    select
    from unnest(array[city, country, split_part(city, ',', 1), split_part(country, ',', 1)]) as value
    where array_to_string(private.words_of(value), ' ') = any (place.names || place.parts)
  );
end
$$;
comment on function private.add_place(text[], text[], text[]) is
  'For operators: a place with its other names, adjectives and districts. The profiles of its people are indexed anew.';

-- Names of places, written by scripts/places/main.ts: the names; the adjectives; the parts. From the Unicode CLDR
-- (Unicode License V3), WordNet 3.1 (its licence lies beside the embedder's data) and scripts/places/places.txt.
insert into private.search_places (names, adjectives, parts)
select
  string_to_array(split_part(line, ';', 1), ','), string_to_array(split_part(line, ';', 2), ','),
  string_to_array(split_part(line, ';', 3), ',')
from regexp_split_to_table($places$aachen,aix la chapelle,aken,aquisgran,aquisgrana
aarhus,arhus
addis ababa,addis abeba,adis abeba,アジスアベバ,亚的斯亚贝巴,new flower
afghanistan,afganistan,afeganistao,アフガニスタン,阿富汗;afghani
aktau,aktaou,aktav,アクタウ,阿克套
aland islands,alandinseln,islas aland,iles aland,isole aland,ilhas aland,aland,aland adalari,wyspy alandzkie,alandy
albania,albanien,albanie,arnavutluk,アルバニア,阿尔巴尼亚;albanian,albanians
alexandria,alexandrie,alejandria,alessandria d egitto,iskenderiye,el iskandriyah
algeria,algerien,argelia,algerie,algerije,cezayir,algieria,algeriet,alzirsko,アルジェリア,阿尔及利亚;algerian,algerians
algiers,alger,algier,argel,algeri,cezayir,alzir,アルジェ,阿尔及尔
american samoa,amerikanisch samoa,samoa americana,samoa americaines,samoa americane,amerikaans samoa,amerikan samoasi
amsterdam,amsterdao;amsterdammer;jordaan,de pijp
andalusia,andalucia,andalusien;andalusian,andalusians
andorra,andorre,andora,アンドラ,安道尔;andorran,andorrans
angola,アンゴラ,安哥拉;angolan,angolans
anguilla,anguila,アンギラ,安圭拉;anguillan,anguillans
ankara,angora
antakya,antioch,antakiya
antigua barbuda,antigua und barbuda,antigua y barbuda,antigua et barbuda,antigua e barbuda,antigua en barbuda
antwerp,antwerpen,anvers,amberes,anversa,antuerpia
aqtobe,aktobe,aktioubinsk,aktiubinsk,アクトベ,阿克托别
araguaina,アラグァイナ,阿拉瓜伊纳
argentina,argentinien,argentinie,arjantin,argentyna,アルゼンチン,阿根廷;argentine
armenia,armenien,armenie,ermenistan,アルメニア,亚美尼亚,hayastan;armenian,armenians
aruba,アルバ,阿鲁巴
ashgabat,asgabat,asjabad,achgabat,asgabate,asjchabad,askabat,aszchabad,aschabad,アシガバード,阿什哈巴德
asmara,アスマラ,阿斯马拉,asmera
astrakhan,astrachan,astracan,astraca,astrahan,アストラハン,阿斯特拉罕
asuncion,assuncao,アスンシオン,亚松森
athens,athen,athina,athenes,atenas,atene,athene,atina,ateny,aten,atheny,アテネ,雅典;athenian,athenians;exarchia,koukaki
atikokan,アティコカン,阿蒂科肯
australia,australien,australie,avustralya,オーストラリア,澳大利亚
austria,osterreich,autriche,oostenrijk,avusturya,osterrike,rakousko,オーストリア,奥地利,oesterreich;austrian,austrians
avignon,avignone,avinon
azerbaijan,aserbaidschan,azerbaiyan,azerbaidjan,azerbaigian,azerbaijao,azerbeidzjan,azerbaycan,azerbejdzan;azerbaijani
azores,azoren,acores,azzorre,azor adalari,azory,azorerna,azorske ostrovy,アゾレス,亚速尔群岛
baghdad,bagdad,bagda,bagdat,バグダッド,巴格达
bahamas,bahama s,bahamalar,bahamy,バハマ,巴哈马,bahama islands;bahamian,bahamians
bahia de banderas,bahia banderas,バイアバンデラ,巴伊亚班德拉斯
bahrain,barein,bahrein,bahreyn,bahrajn,バーレーン,巴林,bahrain island,bahrein island;bahraini
bangkok,krung thep,banguecoque
bangladesh,bangladesch,banglades,bangladesz,バングラデシュ,孟加拉国,bangla desh,east pakistan;bangladeshi
barbados,barbade,バルバドス,巴巴多斯;barbadian,barbadians
barcelona,barcelone,barcellona;catalan;gracia,el born,poblenou,raval
basel,basle,basilea
basque country,euskadi,pais vasco,baskenland,pays basque
bavaria,bayern,baviere,baviera;bavarian,bavarians
beijing,peking,pekin,pechino,pequim,北京,peiping;pekingese
beirut,beyrouth,beirute
belarus,bielorrusia,bielorussie,bielorussia,bielorrussia,bialorus,belorusko,ベラルーシ,白俄罗斯,byelarus;belarusian,belarusians
belem,belen,ベレン,贝伦,feliz lusitania,santa maria de belem
belfast,beal feirste
belgium,belgien,belgica,belgique,belgio,belgie,belcika,belgia,ベルギー,比利时;belgian,belgians
belgrade,beograd,belgrad,belgrado,belehrad,ベオグラード,贝尔格莱德
belize,belice,ベリーズ,伯利兹,british honduras
bengaluru,bangalore
benin,ベナン,贝宁,dahomey;beninese
berlin,berlino,berlim;berliner,berliners;kreuzberg,neukolln,prenzlauer berg,friedrichshain,charlottenburg,schoneberg
bermuda,bermudas,bermudes,bermudy,バミューダ,百慕大;bermudan,bermudans
bern,berne,berna
bhutan,butan,bhoutan,butao,ブータン,不丹;bhutanese
bilbao,bilbo
bishkek,bischkek,bichkek,bisjkek,biskek,biszkek,ビシュケク,比什凯克,frunze
bogota,ボゴタ,波哥大
bolivia,bolivien,bolivie,bolivya,boliwia,ボリビア,玻利维亚;bolivian,bolivians
bologna,bologne,bolonia,bolonha
bolzano,bozen
bordeaux,bordeus,burdeos
bosnia and herzegovina,bosnia,bosnien,bosna i hercegovina;bosnian,bosnians
bosnia herzegovina,bosnien und herzegowina,bosnia y herzegovina,bosnie herzegovine,bosnia ed erzegovina
botswana,botsuana,botsvana,ボツワナ,博茨瓦纳;botswanan,botswanans
bratislava,pressburg,pozsony
brazil,brasilien,brasil,bresil,brasile,brazilie,brezilya,brazylia,ブラジル,巴西;brazilian,brazilians
british indian ocean territory,britisches territorium im indischen ozean,territorio britanico del oceano indico
british virgin islands,britische jungferninseln,islas virgenes britanicas,iles vierges britanniques
brittany,bretagne,breizh,bretana,breiz;breton
brno,brunn
bruges,brugge,brujas
brunei,brunei darussalam,brunej,ブルネイ,文莱,negara brunei darussalam;bruneian,bruneians
brunswick,braunschweig
brussels,bruxelles,brussel,bruselas,bruxelas,bruksel,bruksela,bryssel,brusel,ブリュッセル,布鲁塞尔;bruxellois
bucharest,bucuresti,bukarest,bucarest,bukres,bucareste,boekarest,bukareszt,bukurest,ブカレスト,布加勒斯特,bucharesti
budapest,budapeste
buenos aires,bs as;porteno;palermo soho,san telmo
bulgaria,bulgarien,bulgarie,bulgarije,bulgaristan,bulharsko,ブルガリア,保加利亚;bulgarian,bulgarians
burkina faso,burquina faso,ブルキナファソ,布基纳法索,upper volta
busingen,busingen am hochrhein,ビュージンゲン,布辛根
cairo,kairo,le caire,el cairo,il cairo,kahire,kair,kahira,カイロ,开罗,al qahira,el qahira;cairene
cambodia,kambodscha,camboya,cambodge,cambogia,camboja,cambodja,kambocya,kambodza,kambodja,カンボジア;cambodian,cambodians
cameroon,kamerun,camerun,cameroun,camaroes,kameroen,カメルーン,喀麦隆;cameroonian,cameroonians
canada,kanada,カナダ,加拿大;canadian,canadians
canaries,kanaren,canarias,iles canaries,canarie,canarische eilanden,kanarya adalari,wyspy kanaryjskie,kanarieoarna
cancun,カンクン,坎昆
canton island,isla kanton,ilha de canton,kanton,canton adasi,kantonatollen,kanton ostrov,カントン島,坎顿岛
cape town,kapstadt,le cap,ciudad del cabo,citta del capo,kaapstad;capetonian
cape verde,cabo verde,cap vert,capo verde,kaapverdie,republika zielonego przyladka,kap verde,kapverdy,カーボベルデ,佛得角
cardiff,caerdydd
caribbean netherlands,karibische niederlande,caribe neerlandes,pays bas caribeens,caraibi olandesi
cartagena,cartagena de indias
casablanca,dar el beida
catalonia,catalunya,cataluna,katalonien;catalan,catalans
cayman islands,kaimaninseln,islas caiman,iles caimans,isole cayman,ilhas cayman,kaaimaneilanden,cayman adalari,kajmany
cayman,kaimaninseln,caimans,kajmany,caymanoarna,kajmanske ostrovy,ケイマン,开曼
central african republic,zentralafrikanische republik,republica centroafricana,republique centrafricaine
chad,tschad,tchad,ciad,chade,tsjaad,czad,チャド,乍得;chadian,chadians
chagos archipelago,chagosarchipel,czagos,チャゴス,查戈斯
chatham islands,chatnam,chathamske ostrovy,チャタム,查塔姆
chile,cile,sili,チリ,智利;chilean,chileans
china,cina,cin,chiny,中国,communist china,red china,cathay;chinese,taiwanese
chisinau,kisinev,kiszyniow,キシナウ,基希讷乌
chita,tschita,tchita,cita,czyta,tjita,チタ,赤塔
christmas island,weihnachtsinsel,isla de navidad,ile christmas,isola christmas,ilha christmas,christmaseiland
chuuk,chuukske ostrovy,チューク,特鲁克群岛
ciudad juarez,シウダー フアレス,华雷斯城,juarez
cluj,cluj napoca,klausenburg,kolozsvar
cocos islands,cocoseilanden,wyspy kokosowe,kokosoarna,kokosove ostrovy,ココス諸島,可可斯
cocos,kokosinseln,islas cocos,iles cocos,isole cocos,ilhas cocos,cocoseilanden,wyspy kokosowe,kokosoarna
cologne,koln,koeln,colonia,keulen
colombia,kolumbien,colombie,kolombiya,kolumbia,kolumbie,コロンビア,哥伦比亚;colombian,colombians
comoros,komoren,comoras,comores,comore,comoren,komorlar,komory,komorerna,コモロ,科摩罗,komor
congo brazzaville,kongo brazzaville,republica do congo,kongo brazavil,kongo,コンゴ共和国,刚果;congolese,zairean,zaireans
congo kinshasa,kongo kinshasa,republica democratica del congo,kongo kinsasa,demokratyczna republika konga,コンゴ民主共和国,刚果
cook islands,cookinseln,islas cook,iles cook,isole cook,ilhas cook,cookeilanden,cook adalari,wyspy cooka,cookoarna
copenhagen,kobenhavn,kopenhagen,copenhague,copenaghen,kodan,kopenhag,kopenhaga,kopenhamn,コペンハーゲン;;norrebro,vesterbro
cordoba,cordova,cordoue,コルドバ,科尔多瓦
costa rica,kosta rika,kostaryka,kostarika,コスタリカ,哥斯达黎加
croatia,kroatien,croacia,croatie,croazia,kroatie,hirvatistan,chorwacja,chorvatsko,クロアチア,克罗地亚;croatian,croatians
cuba,kuba,キューバ,古巴;cuban,cubans
cuiaba,クイアバ,库亚巴
curacao,curazao,キュラソー,库拉索
cuzco,cusco
cyprus,zypern,chipre,chypre,cipro,kibris,cypr,cypern,kypr,キプロス,塞浦路斯;cyprian,cyprians
czechia,czech republic,tschechien,cesko,chequia,tchequie,cechia,tchequia,tsjechie,cekya,czechy,tjeckien;czech,czechs
damascus,damaskus,damas,damasco,sam,damaszek,damasek,ダマスカス,大马士革
dar es salaam,daressalam,dar es salam,darusselam,ダルエスサラーム,达累斯萨拉姆
delhi,new delhi,neu delhi,nueva delhi
denmark,danemark,dinamarca,danimarca,denemarken,danimarka,dania,danmark,dansko,デンマーク,丹麦;danish
djibouti,dschibuti,yibuti,gibuti,djibuti,cibuti,dzibuti,dzibutsko,ジブチ,吉布提,afars and issas;djiboutian,djiboutians
dominica,dominique,dominika,ドミニカ国,多米尼克
dominican republic,dominikanische republik,republica dominicana,republique dominicaine;dominican,dominicans
dresden,dresde,dresda
dublin,baile atha cliath,dublino,ダブリン,都柏林;dubliner
dubrovnik,ragusa
dunkirk,dunkerque,duinkerke
dushanbe,duschanbe,dusambe,douchanbe,duchambe,doesjanbe,dusanbe,duszanbe,dusjanbe,ドゥシャンベ,杜尚别,dyushambe,stalinabad
easter island,osterinsel,isla de pascua,ile de paques,pasqua,ilha de pascoa,paaseiland,paskalya adasi
ecuador,equateur,equador,ekvador,ekwador,エクアドル,厄瓜多尔;ecuadorian,ecuadorians
edinburgh,edimbourg,edimburgo,dun eideann;;leith
egypt,agypten,egipto,egypte,egitto,egito,misir,egipt,egypten,エジプト,埃及;egyptian,egyptians
eirunepe,エイルネペ,依伦尼贝
el aaiun,laayoune,el ayun,layun,al ujun,アイウン,阿尤恩
el salvador,salvador,salwador,エルサルバドル,萨尔瓦多;salvadoran,salvadorans
england;english,englishman
equatorial guinea,aquatorialguinea,guinea ecuatorial,guinee equatoriale,guinea equatoriale,guine equatorial
eritrea,erythree,eritreia,eritre,erytrea,エリトリア,厄立特里亚;eritrean,eritreans
estonia,estland,estonie,estonya,estonsko,エストニア,爱沙尼亚,esthonia;estonian,estonians
eswatini,esuatini,essuatini,esvatini,エスワティニ,斯威士兰
ethiopia,athiopien,etiopia,ethiopie,etiyopya,etiopien,etiopie,エチオピア,埃塞俄比亚,yaltopya,abyssinia;ethiopian,ethiopians
falkland islands,falklandinseln,islas malvinas,iles malouines,isole falkland,ilhas malvinas,falklandeilanden
faroe islands,faroer,islas feroe,iles feroe,isole faer oer,ilhas faroe,faeroer,faroe adalari,wyspy owcze,faroarna
faroes,faroer,islas feroe,iles feroe,isole faer oer,ilhas faroe,faeroer,faroe,wyspy owcze,torshamn,faerske ostrovy
fernando de noronha,ノローニャ,洛罗尼亚
fez,fes
fiji,fidschi,fiyi,fidji,figi,fidzi,フィジー,斐济;fijian,fijians
finland,finnland,finlandia,finlande,finlandiya,finsko,フィンランド,芬兰,suomi;finnish
flanders,vlaanderen,flandern,flandre;flemish
florence,firenze,florenz,florencia,florenca,floransa;florentine
france,frankreich,francia,franca,frankrijk,fransa,francja,frankrike,francie,フランス,法国;french
frankfurt,frankfurt am main,francoforte,francfort,francfort sur le main
french guiana,franzosisch guayana,guayana francesa,guyane francaise,guyana francese,guiana francesa,frans guyana
french polynesia,franzosisch polynesien,polinesia francesa,polynesie francaise,polinesia francese,frans polynesie
french southern territories,franzosische sud und antarktisgebiete,territorios australes franceses
gabon,gabun,gabao,ガボン,加蓬;gabonese
galapagos islands,galapagos,galapagy,ガラパゴス,科隆群岛
galway,gaillimh
gambia,gambie,gambiya,ガンビア,冈比亚,the gambia;gambian,gambians
gdansk,danzig
geneva,geneve,genf,ginevra,ginebra,genebra,cenevre;genevan
genoa,genova,genua,genes;genoese
georgia,georgien,georgie,gurcistan,gruzja,gruzie,ジョージア,格鲁吉亚,sakartvelo,ga;georgian,georgians
germany,deutschland,alemania,allemagne,germania,alemanha,duitsland,almanya,niemcy,tyskland,nemecko,ドイツ;german,germans
ghana,gana,ガーナ,加纳;ghanaian,ghanaians
ghent,gand,gante
gibraltar,gibilterra,cebelitarik,ジブラルタル,直布罗陀,calpe;gibraltarian,gibraltarians
gothenburg,goteborg,gotemburgo,gotenburg,goeteborg
greece,griechenland,grecia,grece,griekenland,yunanistan,grecja,grekland,recko,ギリシャ,希腊,ellas;greek
greenland,gronland,groenlandia,groenland,grenlandia,gronsko,グリーンランド,格陵兰,kalaallit nunaat
grenada,granada,グレナダ,格林纳达;grenadian,grenadians
guadeloupe,guadalupe,guadalupa,gwadelupa,グアドループ,瓜德罗普
guam,グアム,关岛
guangzhou,kanton,广州,kuangchou,kwangchow
guatemala,gwatemala,グアテマラ,危地马拉;guatemalan,guatemalans
guernsey,guernesey,ガーンジー,根西岛
guinea bissau,guinea bisau,guinee bissau,guine bissau,gine bissau,gwinea bissau,ギニアビサウ,几内亚比绍,portuguese guinea
guinea,guinee,guine,gine,gwinea,ギニア,几内亚,french guinea;guinean,guineans
guyana,guiana,gujana,ガイアナ,圭亚那,british guiana;guyanese
haiti,ハイチ,海地;haitian,haitians,hispaniolan,hispaniolans
hamburg,hambourg,amburgo,hamburgo;;altona,st pauli,eimsbuttel
hanoi,ha noi
hanover,hannover
havana,la habana,havanna,la havane,l avana,hawana,ハバナ,哈瓦那
helsinki,helsingfors
ho chi minh city,saigon,ho chi minh,ho chi minh stadt,ciudad ho chi minh,ho chi minh ville,cidade de ho chi minh
honduras,ホンジュラス,洪都拉斯;honduran,hondurans
hong kong,hongkong,香港;hongkonger
honolulu,ホノルル,檀香山
hungary,ungarn,hungria,hongrie,ungheria,hongarije,macaristan,wegry,ungern,madarsko,ハンガリー,匈牙利;hungarian,hungarians
iceland,islandia,islande,islanda,ijsland,izlanda,アイスランド,冰岛;icelandic
india,indien,inde,hindistan,インド,印度,bharat;indian,indians
indonesia,indonesien,indonesie,endonezya,indonezja,インドネシア,印度尼西亚,dutch east indies;indonesian,indonesians
iran,イラン,伊朗,persia,persian empire;iranian,iranians
iraq,irak,iraque,イラク,伊拉克,al iraq;iraqi
ireland,irland,irlanda,irlande,ierland,irlandia,irsko,アイルランド,爱尔兰,hibernia,emerald isle,eire;irish
isle of man,isla de man,ile de man,isola di man,ilha de man,man adasi,wyspa man,ostrov man,マン島,马恩岛;manx
israel,israele,israil,izrael,イスラエル,以色列,yisrael,zion,sion;israeli
istanbul,estambul,istambul,constantinople,konstantinopel,stambul,stamboul;istanbulite;kadikoy,beyoglu,besiktas,uskudar
italy,italien,italia,italie,italya,wlochy,イタリア,意大利;italian,italians
ittoqqortoormiit,イトコルトルミット,斯科列斯比桑德
ivory coast,cote d ivoire,costa d avorio,costa do marfim,ivoorkust,elfenbenskusten,pobrezi slonoviny,コートジボワール;ivorian
izmir,smyrna,esmirna,smirne
jamaica,jamaika,jamaique,giamaica,jamajka,ジャマイカ,牙买加;jamaican,jamaicans
japan,japon,giappone,japao,japonya,japonia,japonsko,日本,japanese islands,japanese archipelago,nippon,nihon;japanese
jersey,ジャージー,泽西岛
jerusalem,jerusalen,gerusalemme,kudus;jerusalemite
jordan,jordanien,jordania,jordanie,giordania,urdun,jordansko,ヨルダン,约旦;jordanian,jordanians
kamchatka,kamtschatka,kamtchatka,kamtsjatka,kamcatka,kamczatka,kamtjatka,カムチャッカ,堪察加
karachi,karatschi,karaci,karaczi,カラチ,卡拉奇
kathmandu,katmandu,katmandou,カトマンズ,加德满都
kazakhstan,kasachstan,kazajistan,kazakistan,cazaquistao,kazachstan,kazakstan,カザフスタン,哈萨克斯坦,kazakh,kazak;kazakhstani
kenya,kenia,quenia,kena,ケニア,肯尼亚;kenyan,kenyans
kerguelen islands,wyspy kerguelena,kerguelenoarna,kerguelenovy ostrovy,ケルゲレン諸島,凯尔盖朗
khandyga,chandyga,khandiga,handiga,ハンドゥイガ,汉德加
khartoum,khartum,jartum,cartum,khartoem,hartum,chartum,ハルツーム,喀土穆
khovd,chowd,kobdo,chovd,ホブド,科布多
kiribati,quiribati,キリバス,基里巴斯
kirov,kirow,キーロフ,基洛夫
kolkata,calcutta,kalkutta,calcuta,kalkuta,kalkata,コルカタ,加尔各答;calcuttan,calcuttans
kosovo,kosova,kosowo,コソボ,科索沃
kostanay,qostanai,kostanai,kustanaj,kostanaj,コスタナイ,库斯塔奈
krakow,cracow,krakau,cracovie,cracovia
krasnoyarsk,krasnojarsk,krasnoiarsk,クラスノヤルスク,克拉斯诺亚尔斯克
kuwait,koweit,koeweit,kuveyt,kuwejt,kuvajt,クウェート,科威特;kuwaiti
kwajalein atoll,クェゼリン,夸贾林
kyiv,kiev,kiew,kyjiw,kijow,kyjev,キーウ,基辅
kyoto,kioto,quioto,京都
kyrgyzstan,kirgisistan,kirguistan,kirghizstan,kirghizistan,quirguistao,kirgizie,kirgizistan,kirgistan,キルギス;kyrgyzstani
kyzylorda,qysylorda,kzyl orda,kizilorda,クズロルダ,克孜洛尔达
la coruna,a coruna,corunna
laos,ラオス,老挝;laotian,laotians
latvia,lettland,letonia,lettonie,lettonia,letland,letonya,lotwa,lotyssko,ラトビア,拉脱维亚;latvian,latvians
lausanne,losanna,lausana
lebanon,libanon,libano,liban,lubnan,レバノン,黎巴嫩;lebanese
leipzig,lipsia
lesotho,lesoto,レソト,莱索托,basutoland
leuven,louvain,lowen,lovaina
liberia,liberya,liberie,リベリア,利比里亚;liberian,liberians
libya,libyen,libia,libye,libie,リビア,利比亚,socialist people s libyan arab jamahiriya;libyan,libyans
liechtenstein,lichtenstejnsko,リヒテンシュタイン,列支敦士登;liechtensteiner
liege,luik,luttich,lieja,liegi
lille,rijsel
lisbon,lisboa,lissabon,lisbonne,lisbona,lizbon,lizbona,lisabon,リスボン,里斯本;lisboeta;alfama,bairro alto,mouraria,graca
lithuania,litauen,lituania,lituanie,litouwen,litvanya,litwa,litva,リトアニア,立陶宛,lietuva;lithuanian,lithuanians
livorno,livourne
ljubljana,laibach,lubiana,liubliana
lome,ロメ,洛美
london,londres,londra,londen,londyn,ロンドン;londoner,londoners,cockney;camden,hackney,brixton,shoreditch,peckham,islington
lord howe island,ロードハウ,豪勋爵岛
lower prince s quarter,beneden prinsen kwartier,ローワー プリンセズ クウォーター,下太子区
lucerne,luzern,lucerna
luxembourg,luxemburg,luxemburgo,lussemburgo,luksemburg,lucembursko,ルクセンブルク,卢森堡;luxembourgian,luxembourgians,luxemburger
lviv,lvov,lwow,lemberg,leopoli
lyon,lyons,lione
macao,macau,makao,makau,マカオ,澳门
maceio,マセイオ,马塞约
madagascar,madagaskar,マダガスカル,马达加斯加;madagascan,madagascans
mahe,マヘ,马埃岛
majorca,mallorca,majorque,maiorca
malawi,malaui,malavi,マラウイ,马拉维,nyasaland;malawian,malawians
malaysia,malasia,malaisie,maleisie,malezya,malezja,malajsie,マレーシア,马来西亚;malaysian,malaysians
maldives,malediven,maldivas,maldive,maldiven,maldivler,malediwy,maldiverna,maledivy,モルディブ,马尔代夫,maldive islands
mali,マリ,马里,french sudan;malian,malians
malta,malte,マルタ,马耳他;maltese
mantua,mantova,mantoue
marquesas islands,marquises,marchesi,marquesaseilanden,markiz adalari,markizy,marquesasoarna,markezy,マルキーズ,马克萨斯
marrakesh,marrakech,marrakesch,marraquexe
marseille,marseilles,marsiglia,marsella,marselha
marshall islands,marshallinseln,islas marshall,iles marshall,isole marshall,ilhas marshall,marshalleilanden
martinique,martinica,martinik,martynika,マルティニーク,马提尼克
mauritania,mauretanien,mauritanie,moritanya,mauretania,モーリタニア,毛里塔尼亚,muritaniya
mauritius,mauricio,maurice,mauricius,モーリシャス,毛里求斯;mauritanian,mauritanians
mayotte,majotta,マヨット,马约特
mazatlan,マサトラン,马萨特兰
merida,メリダ,梅里达
mexico city,ciudad de mexico,cdmx,mexiko stadt,citta del messico;chilango,mexican,mexicans;coyoacan,condesa
mexico,mexiko,mexique,messico,meksika,meksyk,メキシコ,墨西哥
micronesia,mikronesien,micronesie,mikronezya,mikronezja,mikronesie,ミクロネシア連邦,密克罗尼西亚
midway atoll,midwayoarna,ミッドウェー島,中途岛
milan,milano,mailand,milaan,milao;milanese
mogadishu,mogadischu,mogadiscio,mogadisu,mogadiszu,モガディシオ,摩加迪沙
moldova,republik moldau,moldavia,moldavie,moldawia,moldavien,moldavsko,モルドバ,摩尔多瓦;moldovan,moldovans
monaco,monako,モナコ,摩纳哥;monacan,monacans
mongolia,mongolei,mongolie,mogolistan,mongoliet,mongolsko,モンゴル,蒙古,outer mongolia;mongol,mongolian,mongolians,mongoloid
montenegro,karadag,czarnogora,cerna hora,モンテネグロ,黑山,crna gora
montreal;montrealer
montserrat,モントセラト,蒙特塞拉特
morocco,marokko,marruecos,maroc,marocco,marrocos,fas,maroko,marocko,モロッコ,摩洛哥,al magrib;moroccan,moroccans
moscow,moskva,moskau,moscou,moscu,mosca,moskou,moskova,moskwa,モスクワ,莫斯科;muscovite
mozambique,mosambik,mozambico,mocambique,mozambik,モザンビーク,莫桑比克;mozambican,mozambicans
mumbai,bombay
munich,munchen,muenchen,monaco di baviera,munique,monachium
muscat,maskat,mascate,マスカット,马斯喀特,masqat
myanmar,burma,mianmar,mjanma,ミャンマー,缅甸;burmese
n djamena,yamena,ndzamena,ンジャメナ,恩贾梅纳,ndjamena,fort lamy
namibia,namibie,namibya,ナミビア,纳米比亚,south west africa;namibian,namibians
nanjing,nanking,南京
naples,napoli,neapel,napoles,napels;neapolitan,neapolitans
nauru,ナウル,瑙鲁,nauru island,pleasant island;nauruan,nauruans
nepal,ネパール,尼泊尔;nepalese
netherlands,the netherlands,holland,nederland,niederlande,paises bajos,pays bas,paesi bassi;dutch,dutchman
new caledonia,neukaledonien,nueva caledonia,nouvelle caledonie,nuova caledonia,nova caledonia,nieuw caledonie
new orleans,nouvelle orleans,nueva orleans,nola
new york,new york city,nyc,nueva york;new yorker,new yorkers;brooklyn,manhattan,queens,bronx,harlem,staten island
new zealand,nz,aotearoa,neuseeland,nueva zelanda,nouvelle zelande,nuova zelanda,nova zelandia;kiwi,new zealander
nicaragua,nikaragua,ニカラグア,尼加拉瓜;nicaraguan,nicaraguans
nice,nizza,niza
nicosia,lefkosia,lefkosa,nikosia,nicosie,nikozja,nikosie,ニコシア,尼科西亚
niger,nijer,ニジェール,尼日尔
nigeria,nijerya,nigerie,ナイジェリア,尼日利亚;nigerian,nigerians
niue,ニウエ,纽埃
norfolk island,norfolkinsel,isla norfolk,ile norfolk,isola norfolk,ilha norfolk,norfolk,norfolk adasi,norfolkon
normandy,normandie,normandia;norman,normans
north korea,nordkorea,corea del norte,coree du nord,corea del nord,coreia do norte,noord korea,kuzey kore
north macedonia,macedonia,nordmazedonien,macedonia del norte,macedoine du nord;macedonian,macedonians
northern ireland,nordirland,irlanda del norte,irlande du nord
northern mariana islands,nordliche marianen,islas marianas del norte,iles mariannes du nord
norway,norwegen,noruega,norvege,norvegia,noorwegen,norvec,norwegia,norge,norsko,ノルウェー,挪威,noreg;norwegian,norwegians
noumea,numea,ヌメア,努美阿
novokuznetsk,nowokuznetsk,novokuzneck,nowokuznieck,ノヴォクズネツク,新库兹涅茨克
novosibirsk,nowosibirsk,novossibirsk,nowosybirsk,ノヴォシビルスク,新西伯利亚
nuremberg,nurnberg,nuernberg,norimberga,neurenberg
nuuk,ヌーク,努克
odesa,odessa
oman,oma,umman,オマーン,阿曼,muscat and oman;omani
osaka,大阪
ostend,oostende,ostende
padua,padova,padoue,patavium
pakistan,paquistao,パキスタン,巴基斯坦,west pakistan;pakistani
palau,palaos,パラオ,帕劳,palau islands,belau,pelew
palermo,palerme
palestine,palastina,palestina,filistin,palestyna,パレスチナ,巴勒斯坦,canaan,holy land;palestinian,palestinians
pamplona,iruna
panama,パナマ,巴拿马;panamanian,panamanians
papua new guinea,papua neuguinea,papua nueva guinea,papouasie nouvelle guinee,papua nuova guinea,papua nova guine
paraguay,paraguai,paragwaj,パラグアイ,巴拉圭;paraguayan,paraguayans
paris,parigi,parijs;parisian,parisians;montmartre,belleville,le marais
peru,perou,ペルー,秘鲁;peruvian,peruvians
philadelphia,philly
philippines,philippinen,filipinas,filippine,filipijnen,filipinler,filipiny,filippinerna,フィリピン,菲律宾;filipino
phnom penh,pnom penh
pilsen,plzen
pitcairn islands,pitcairninseln,islas pitcairn,iles pitcairn,isole pitcairn,ilhas pitcairn,pitcairneilanden
pohnpei,ポンペイ島,波纳佩岛
poland,polen,polonia,pologne,polonya,polska,polsko,ポーランド,波兰;polish
porto novo,portonovo,ポルトノボ,波多诺伏
porto,oporto
portugal,portogallo,portekiz,portugalia,portugalsko,ポルトガル,葡萄牙;portuguese
poznan,posen
prague,praha,prag,praga,praag,プラハ,布拉格;;zizkov,vinohrady
puerto rico,porto rico,portorico,porto riko,portoryko,portoriko,プエルトリコ,波多黎各
pyongyang,pjongjang,pchjongjang,平壌,平壤
qatar,katar,catar,カタール,卡塔尔,qatar peninsula,katar peninsula;qatari
quebec,quebec city;quebecois
regensburg,ratisbon,ratisbona
reunion,la reunion,riunione,reuniao,レユニオン,留尼汪,la riunione
reykjavik,reyk ja vik,reikiavik,レイキャビク,雷克雅未克
rio de janeiro,rio;carioca;copacabana,ipanema,santa teresa
riyadh,riad,riyad,riade,rijad,リヤド,利雅得
romania,rumanien,rumania,roumanie,romenia,roemenie,romanya,rumunia,rumunsko,ルーマニア,罗马尼亚,roumania;romanian,romanians
rome,roma,rom,rzym,ローマ,罗马;roman,romans;trastevere,testaccio,monti
russia,russland,rusia,russie,rusland,rusya,rosja,ryssland,rusko,ロシア,俄罗斯,russian federation;russian,russians,soviet
rwanda,ruanda,ルワンダ,卢旺达;rwandan,rwandans
saint petersburg,st petersburg,sankt petersburg,san petersburgo,leningrad,peterburg,petrograd
saint pierre,miquelon,ミクロン島,密克隆
sakhalin,sachalin,sajalin,sakhaline,sacalina,sahalin,サハリン,萨哈林
salzburg,salzbourg,salisburgo,salzburgo
samoa,サモア,萨摩亚,samoan islands,western samoa,samoa i sisifo;samoan,samoans
san francisco,sf
san marino,saint marin,サンマリノ,圣马力诺
san sebastian,donostia
santarem,サンタレム,圣塔伦
santiago de compostela,saint jacques de compostelle
sao paulo,san paolo,サンパウロ,圣保罗;paulistano
sao tome principe,sao tome und principe,santo tome y principe,sao tome et principe,sao tome e principe
sao tome,santo tome,svaty tomas,サントメ,圣多美
saragossa,zaragoza,saragosse
saratov,saratow,サラトフ,萨拉托夫
sardinia,sardegna,sardinien;sardinian,sardinians
saudi arabia,saudi arabien,arabia saudi,arabie saoudite,arabia saudita,saoedi arabie,suudi arabistan,arabia saudyjska
scotland,schottland,escocia,ecosse,scozia,schotland,iskocya;scottish,scots
senegal,セネガル,塞内加尔;senegalese
seoul,seul,서울
serbia,serbien,serbie,servia,servie,sirbistan,srbsko,セルビア,塞尔维亚,srbija;serbian,serbians
seville,sevilla,siviglia,sevilha;sevillian
seychelles,seychellen,seicheles,seyseller,seszele,seychellerna,seychely,セーシェル,塞舌尔,seychelles islands;seychellois
shanghai,schanghai,上海
sicily,sicilia,sizilien,sicile;sicilian,sicilians
sierra leone,sierra leona,serra leoa,シエラレオネ,塞拉利昂
singapore,singapur,singapour,singapura,シンガポール,新加坡,singapore island;singaporean,singaporeans
sint maarten,saint martin,svaty martin,シント マールテン,荷属圣马丁
slovakia,slowakei,eslovaquia,slovaquie,slovacchia,slowakije,slovakya,slowacja,slovakien,slovensko;slovakian,slovakians
slovenia,slowenien,eslovenia,slovenie,slovenya,slowenia,slovenien,slovinsko,スロベニア,斯洛文尼亚,slovenija;slovenian,slovenians
sofia,sofija,serdica
solomon islands,salomonen,islas salomon,iles salomon,isole salomone,ilhas salomao,salomonseilanden,solomon adalari
somalia,somalie,somali,somalsko,ソマリア,索马里;somalian,somalians
south africa,rsa,sudafrika,sudafrica,afrique du sud,africa do sul,zuid afrika,guney afrika;south african,afrikaans
south georgia south sandwich islands,sudgeorgien und die sudlichen sandwichinseln
south georgia,sudgeorgien,georgia del sur,georgie du sud,georgia del sud,georgia do sul,zuid georgia,guney georgia
south korea,korea,republic of korea,sudkorea,corea del sur,coree du sud,corea del sud,coreia do sul;korean,koreans
south sudan,sudsudan,sudan del sur,soudan du sud,sud sudan,sudao do sul,zuid soedan,guney sudan,sudan poludniowy
spain,spanien,espana,espagne,spagna,espanha,spanje,ispanya,hiszpania,spanelsko,スペイン,西班牙;spanish
sri lanka,スリランカ,斯里兰卡,ceylon
st barthelemy,san bartolome,saint barthelemy,sao bartolomeu,s t barthelemy,svaty bartolomej,サン バルテルミー,圣巴泰勒米,圣巴泰勒米岛
st helena,santa elena,sainte helene,sant elena,santa helena,sint helena,saint helena,wyspa swietej heleny,s t helena
st john s,san juan de terranova,saint jean de terre neuve,saint john s,セントジョンズ,圣约翰斯
st kitts nevis,st kitts und nevis,san cristobal y nieves,saint christophe et nieves,saint kitts e nevis
st kitts,san cristobal,saint christophe,sao cristovao,saint kitts,svaty krystof,セントクリストファー,圣基茨
st lucia,santa lucia,sainte lucie,saint lucia,s t lucia,svata lucie,セントルシア,圣卢西亚
st martin,san martin,saint martin,sao martinho,svaty martin,サン マルタン,法属圣马丁,saint maarten,st maarten
st pierre miquelon,st pierre und miquelon,san pedro y miquelon,saint pierre et miquelon,saint pierre e miquelon
st thomas,saint thomas,svaty tomas karibik,セントトーマス,圣托马斯
st vincent grenadines,st vincent und die grenadinen,san vicente y las granadinas,saint vincent et les grenadines
st vincent,san vicente,saint vincent,sao vicente,svaty vincenc,セントビンセント,圣文森特
strasbourg,strassburg,strasburgo,estrasburgo,straatsburg
stuttgart,stoccarda
sudan,soudan,sudao,soedan,スーダン,苏丹;sudanese
suriname,surinam,スリナム,苏里南,dutch guiana,netherlands guiana
svalbard jan mayen,spitzbergen und jan mayen,svalbard y jan mayen,svalbard et jan mayen,svalbard e jan mayen
swansea,abertawe
sweden,schweden,suecia,svezia,zweden,isvec,szwecja,sverige,svedsko,スウェーデン,瑞典;swedish
switzerland,schweiz,suisse,svizzera,suiza,suica,zwitserland,isvicre,szwajcaria,svycarsko,スイス,瑞士;swiss
syracuse,siracusa
syria,syrien,siria,syrie,suriye,シリア,叙利亚;syrian,syrians
szczecin,stettin
taipei,taipeh,台北,tajpej,tchaj pej
taiwan,tayvan,tajwan,tchaj wan,台湾,formosa,nationalist china
tajikistan,tadschikistan,tayikistan,tadjikistan,tagikistan,tadjiquistao,tadzjikistan,tacikistan,tadzykistan;tajikistani
tallinn,reval,tallin
tampere,tammerfors
tangier,tanger,tangeri,tangiers
tanzania,tansania,tanzanie,tanzanya,タンザニア,坦桑尼亚;tanzanian,tanzanians
tashkent,taschkent,taskent,tachkent,tasjkent,taszkient,タシケント,塔什干
tbilisi,tiflis,tbilissi,トビリシ,第比利斯
tehran,teheran,teera,tahran,テヘラン,德黑兰;tehrani
tel aviv,tel aviv yafo,tel aviv yalo,tel aviv jaffa
thailand,tailandia,thailande,thailandia,tayland,tajlandia,thajsko,タイ,泰国,siam;thai
the hague,den haag,la haye,la haya,l aia,haag,s gravenhage
thessaloniki,salonica,saloniki,tesalonica,salonicco,selanik,salonika,thessalonica
timisoara,temeswar
timor leste,timor oriental,timor est,oost timor,timor wschodni,osttimor,vychodni timor,東ティモール,东帝汶
tirana,tiran,ティラナ,地拉那
togo,トーゴ,多哥;togolese
tokelau,tokelauoarna,トケラウ,托克劳
tokyo,tokio,toquio,東京,东京,yeddo,yedo,edo;;shibuya,shinjuku,asakusa,shimokitazawa
tonga,トンガ,汤加,friendly islands;tongan,tongans
toulouse,tolosa
trieste,triest,trst
trinidad tobago,trinidad und tobago,trinidad y tobago,trinite et tobago,trinidad e tobago,trinidad en tobago
tripoli,tripolis,tripoli libye,trablus,trypolis,トリポリ,的黎波里,tarabulus al gharb
tunisia,tunesien,tunez,tunisie,tunesie,tunus,tunezja,tunisien,tunisko,チュニジア,突尼斯;tunisian,tunisians
turin,torino,turim;turinese
turkey,turkiye,turkei,turquia,turquie,turchia,turkije,turcja,turkiet,turecko,トルコ,土耳其;turkish,turks
turkmenistan,turcomenistao,トルクメニスタン,土库曼斯坦,turkomen,turkmenia;turkmen
turks caicos islands,turks und caicosinseln,islas turcas y caicos,iles turques et caiques,isole turks e caicos
turku,abo
tuscany,toscana,toskana,toscane;tuscan,tuscans
tuvalu,ツバル,图瓦卢,ellice islands
u s virgin islands,amerikanische jungferninseln,islas virgenes de ee uu,iles vierges des etats unis
uganda,ouganda,oeganda,ウガンダ,乌干达;ugandan,ugandans
ukraine,ucrania,ucraina,oekraine,ukrayna,ukraina,ukrajina,ウクライナ,乌克兰,ukrayina;ukrainian,ukrainians
ulaanbaatar,ulan bator,urga,kulun
ulyanovsk,uljanowsk,ulianovsk,oulianovsk,uljanovsk,ウリヤノフスク,乌里扬诺夫斯克
united arab emirates,uae,emirates,vereinigte arabische emirate,emiratos arabes unidos,emirats arabes unis;emirati
united kingdom,uk,gb,great britain,britain,grossbritannien,vereinigtes konigreich,reino unido;british,britons
united states,usa,us,united states of america,america,estados unidos,etats unis,stati uniti;american,americans
uruguay,uruguai,urugwaj,ウルグアイ,乌拉圭;uruguayan,uruguayans
urumqi,urumci,urumczi,ウルムチ,乌鲁木齐
uzbekistan,usbekistan,ouzbekistan,uzbequistao,oezbekistan,ozbekistan,ウズベキスタン,乌兹别克斯坦,uzbek;uzbekistani
vanuatu,バヌアツ,瓦努阿图,new hebrides
vatican city,vatikanstadt,ciudad del vaticano,etat de la cite du vatican,citta del vaticano,cidade do vaticano
vatican,vatikan,el vaticano,le vatican,citta del vaticano,vaticano,vaticaanstad,watykan,vatikanen,バチカン,梵蒂冈
venezuela,wenezuela,ベネズエラ,委内瑞拉;venezuelan,venezuelans
venice,venezia,venedig,venise,venecia,veneza,venetie,venedik;venetian,venetians
verona,verone
vienna,wien,vienne,viena,wenen,viyana,becs,wieden,viden,ウィーン,维也纳;viennese
vietnam,viet nam,vietna,wietnam,ベトナム,越南,annam;vietnamese
vilnius,wilna,wilno,vilna,vilno
vitoria,vitoria gasteiz,gasteiz
vladivostok,wladiwostok,wladywostok,ウラジオストク,海参崴
volgograd,wolgograd,volgogrado,ボルゴグラード,伏尔加格勒,stalingrad,tsaritsyn
wake island,ウェーク島,威克
wales,pays de galles,gales,galles,cymru,cambria;welsh
wallis futuna,wallis und futuna,wallis y futuna,wallis et futuna,wallis e futuna,wallis en futuna,wallis ve futuna
wallonia,wallonie;walloon
warsaw,warszawa,warschau,varsovie,varsovia,varsavia,varsova,varsava,ワルシャワ,华沙;varsovian;praga polnoc,mokotow
washington,washington dc,washington d c;washingtonian,washingtonians
western sahara,westsahara,sahara occidental,sahara occidentale,saara ocidental,westelijke sahara,bati sahra
wroclaw,breslau,breslavia
yakutsk,jakutsk,iakoutsk,jakoetsk,jakuck,ヤクーツク,雅库茨克
yangon,rangoon,rangun,yangon rangun,rangoun,rangum,ヤンゴン,仰光
yekaterinburg,jekaterinburg,ekaterimburgo,ekaterinbourg,ekaterinburg,ecaterimburgo,jekaterinenburg,jekaterynburg
yemen,jemen,iemen,イエメン,也门;yemeni
yerevan,eriwan,erevan,jerevan,erivan,erywan,エレバン,埃里温
zagreb,agram,zagabria
zambia,sambia,zambie,zambiya,ザンビア,赞比亚,northern rhodesia;zambian,zambians
zimbabwe,simbabwe,zimbabue,zimbabve,ジンバブエ,津巴布韦,rhodesia,southern rhodesia;rhodesian,rhodesians,zimbabwean,zimbabweans
zurich,zurigo,zuerich,zurique,zurih,zurych,curych,チューリッヒ,苏黎世
ブルンジ,布隆迪;burundi$places$, '\n') as line;

-- How texts become words of the index, and how words are found that are mistyped.

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

create function private.unspaced_letters()
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return '\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff';
end
$$;
comment on function private.unspaced_letters() is
  'The letters of scripts without spaces (Han, kana, Thai, Lao, Khmer, Burmese), for a character class.';

create function private.words_of(value text)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select coalesce(array_agg(left(matches.word[1], 60) order by matches.position), '{}')
    from regexp_matches(
      regexp_replace(private.fold(value), '([' || private.unspaced_letters() || '])', ' \1 ', 'g'),
      '[^[:space:][:punct:][:cntrl:]]+', 'g'
    ) with ordinality as matches (word, position)
  );
end
$$;
comment on function private.words_of(text) is
  'The folded words of a text, in order. In scripts without spaces every character is a word.';

create function private.name_hash(name text)
returns uuid
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return md5(array_to_string(private.words_of(name), ' '))::uuid;
end
$$;
comment on function private.name_hash(text) is 'Equal for names that have the same folded words in the same order.';
create index search_entries_name_hash_idx on private.search_entries (private.name_hash(name));

create function private.lexeme(word text)
returns text
language sql immutable parallel safe
as $$
  select '''' || replace(replace(word, '\', '\\'), '''', '''''') || ''''
$$;
comment on function private.lexeme(text) is 'A word as a tsvector or tsquery spells it.';

create function private.facet(kind text, value text)
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return '@' || kind || ' ' || left(private.fold(trim(value)), 200);
end
$$;
comment on function private.facet(text, text) is
  'A lexeme for a value that filters compare: folded, trimmed, and with a sign that no word has.';

create function private.words_vector(profile public.profiles, name text, interests text[])
returns tsvector
language plpgsql stable security invoker set search_path = ''
as $$
declare
  city_names constant text[] := private.other_names_of(profile.city);
  country_names constant text[] := private.other_names_of(profile.country);
  facets constant text[] := array(
    select private.facet('interest', interest) from unnest(interests) as interest
    union all
    select private.facet('city', profile.city) where profile.city is not null
    union all
    select private.facet('country', profile.country) where profile.country is not null
    union all
    select private.facet(kind, other)
    from (values ('city', city_names), ('country', country_names)) as places (kind, others)
    cross join lateral unnest(others) as other
    where other !~ '^@'
    union all
    select private.facet('age', age)
    from unnest(array[coalesce(profile.age::text, 'unknown'), profile.age / 10 || '0s']) as age
    where age is not null
  );
begin
  return (
    with texts (attribute, element, value, others) as (
      values
        (0, 0, name, '{}'),
        (2, 0, profile.city, city_names),
        (3, 0, profile.country, country_names),
        (4, 0, profile.biography, '{}'),
        (5, 0, profile.first_name, '{}'),
        (5, 1, profile.last_name, '{}')
      union all
      select 1, ordinality::integer - 1, interest, '{}'
      from unnest(interests) with ordinality as listed (interest, ordinality)
    )
    select coalesce(string_agg(
      private.lexeme(word) || ':' || private.text_start(attribute, element) + place - 1
        || substr('ABCCDC', attribute + 1, 1),
      ' '
    ), '')::tsvector
    from texts
    -- Some characters fold into many words, which could run into the next text.
    cross join lateral (
      select (
        private.words_of(value) || case when others <> '{}' then regexp_split_to_array(trim(regexp_replace(
          '. ' || array_to_string(others, ' . '), ' *([' || private.unspaced_letters() || ']) *', ' \1 ', 'g'
        )), ' +') end
      )[:(array[290, 60, 290, 290, 11000, 390])[attribute + 1]] as words
    ) as split
    cross join lateral unnest(array['.'] || words || array['.']) with ordinality as listed (word, place)
    where value is not null
  ) || array_to_tsvector(facets);
end
$$;
comment on function private.words_vector(public.profiles, text, text[]) is
  'All words of a profile with their places, each text between two full stops, and its facets. Behind a city or country
follow its other names. Weight A: name;
B: interests; C: city, country, first and last name; D: biography.';

create function private.deletions(letters text, depth integer)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  found text[] := array[letters];
begin
  -- Every new word of the lexicon pays this: 5 µs, where one statement for each depth takes 60.
  for one in 1..char_length(letters) loop
    found := found || overlay(letters placing '' from one for 1);
    if depth = 2 then
      for two in one + 1..char_length(letters) loop
        found := found || overlay(overlay(letters placing '' from two for 1) placing '' from one for 1);
      end loop;
    end if;
  end loop;
  return found;
end
$$;
comment on function private.deletions(text, integer) is 'The letters without up to `depth` of them, which is 1 or 2.';

create function private.deletion_keys(word text)
returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  depth constant integer := case when char_length(word) < 7 then 1 else 2 end;
begin
  return private.deletions(left(word, 4 + depth), depth);
end
$$;
comment on function private.deletion_keys(text) is
  'What a word may be found by when it is mistyped. If two words are at most n errors apart, or one and the beginning of
the other, then deleting up to n of the first letters of each makes them equal (as in SymSpell). One error is forgiven
from 5 letters on and two from 9, so the first 5 and 6 letters suffice.';
create index search_lexicon_deletions_idx
  on private.search_lexicon using gin (private.deletion_keys(word)) with (fastupdate = off);
comment on index private.search_lexicon_deletions_idx is
  'Candidates for a mistyped word. To compare it with each of 80,000 words that has its first letter took 5.5 ms.';

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

-- Keeps the index in sync: the transaction that changes a profile also updates its entry, the entry's words and the
-- context of its owner.

create function private.add_to_lexicon(profile bigint, words tsvector, max_words integer)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  with missing as materialized (
    select lexeme, positions[1] as place
    from unnest(words)
    where lexeme !~ '^[.@]'
      and not exists (select from private.search_lexicon as lexicon where lexicon.word = lexeme)
  ),
  added as (
    -- The name, interests and places come before the biography.
    insert into private.search_lexicon (word)
    select lexeme from missing order by place limit max_words
  )
  insert into private.search_lexicon_queue (profile_id)
  select profile
  where (select count(*) from missing) > max_words
  on conflict do nothing;
end
$$;
comment on function private.add_to_lexicon(bigint, tsvector, integer) is
  'Adds the words of a profile that the lexicon lacks: the first max_words, and queues the profile for the others. Only
for definer functions.';

create function private.drain_lexicon_queue(max_profiles integer)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  taken bigint[];
begin
  -- Under the lock of its entry, so that no word is added that its profile has just lost.
  with due as (
    select profile_id
    from private.search_lexicon_queue
    join private.search_locks using (profile_id)
    limit max_profiles
    for update skip locked
  ),
  done as (
    delete from private.search_lexicon_queue where profile_id in (select profile_id from due) returning profile_id
  )
  select coalesce(array_agg(profile_id), '{}') into taken from done;
  perform private.add_to_lexicon(profile => profile_id, words => words, max_words => null)
  from private.search_words
  where profile_id = any (taken);
  return to_json(cardinality(taken));
end
$$;
comment on function private.drain_lexicon_queue(integer) is
  'Adds all words of up to max_profiles queued profiles to the lexicon, and returns how many profiles it took. Definer,
because edge_functions has no rights on the index.';
grant execute on function private.drain_lexicon_queue(integer) to edge_functions;

create function private.refresh_search_entry(profile bigint)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
  current_profile public.profiles;
  owner public.users;
  interest_names text[];
  vector tsvector;
  hash text;
begin
  -- Held until the transaction ends. Whoever refreshes this entry next waits here, and then reads what this transaction
  -- has committed. So one that read a profile before it was hidden cannot put it back. Nobody else waits.
  perform from private.search_locks where profile_id = profile for update;
  if not found then
    insert into private.search_locks (profile_id) values (profile)
    on conflict (profile_id) do update set profile_id = excluded.profile_id;
  end if;
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

  vector := private.words_vector(profile => current_profile, name => owner.name, interests => interest_names);
  hash := md5(concat_ws(
    e'\n',
    array_to_string(interest_names, ', '), current_profile.city, current_profile.country, current_profile.biography
  ));
  insert into private.search_entries as entry (
    profile_id, user_id, name, biography, city, country, interests, image_url, content_hash
  )
  values (
    profile, owner.id, owner.name, current_profile.biography, current_profile.city, current_profile.country,
    interest_names, current_profile.image_url, hash
  )
  on conflict (profile_id) do update set
    name = excluded.name,
    biography = excluded.biography,
    city = excluded.city,
    country = excluded.country,
    interests = excluded.interests,
    image_url = excluded.image_url,
    content_hash = excluded.content_hash,
    -- The embedding of an old text would still find what the owner has deleted.
    embedding = case when entry.content_hash = excluded.content_hash then entry.embedding end,
    model = case when entry.content_hash = excluded.content_hash then entry.model end
  where (entry.image_url, entry.name, entry.biography, entry.city, entry.country, entry.interests)
    is distinct from (
      excluded.image_url, excluded.name, excluded.biography, excluded.city, excluded.country, excluded.interests
    );
  insert into private.search_words as stored (profile_id, words)
  values (profile, vector)
  on conflict (profile_id) do update set words = excluded.words
  where stored.words <> excluded.words;
  if found then
    perform private.add_to_lexicon(profile => profile, words => vector, max_words => 10);
  end if;
end
$$;
comment on function private.refresh_search_entry(bigint) is
  'Inserts, updates or deletes the entry of a profile. Definer, because users who change a profile may not write the
index.';

create function private.note_removed_words()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  insert into private.search_removed_words (word)
  select word
  from (
    select unnest(tsvector_to_array(old.words)) as word
    except
    select unnest(tsvector_to_array(new.words))
  ) as removed
  where word !~ '^[.@]';
  return null;
end
$$;
comment on function private.note_removed_words() is
  'Notes words for the next sweep of the lexicon. Definer, as refresh_search_entry.';

create trigger note_removed_words
  after update or delete on private.search_words
  for each row
  execute function private.note_removed_words();

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

create function private.sync_profile()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.refresh_search_entry(new.id);
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
  perform private.refresh_search_entry(id), private.refresh_search_context(user_id)
  from public.profiles
  where id in (select profile_id from changed);
  return null;
end
$$;
comment on function private.sync_profile_interests() is
  'Updates the index when interests are added to profiles, removed or swapped. Definer, as refresh_search_entry.';

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

-- A statement that updates rows calls it twice: for the profiles as they were, and as they are.
create trigger sync_left_interests
  after update on public.profile_interests
  referencing old table as changed
  for each statement
  execute function private.sync_profile_interests();

create trigger sync_entered_interests
  after update on public.profile_interests
  referencing new table as changed
  for each statement
  execute function private.sync_profile_interests();

-- The words of a query, and the words of the index that they may stand for. Functions that every search calls are in
-- plpgsql, which keeps their plans; those to be inlined are in SQL without a search_path.

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
        word ~ ('^[' || private.unspaced_letters() || ']') as is_letter
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

create function private.typos(typed text, meant text, budget integer, swaps text[] default null)
returns integer
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  -- A swap is one error here and two to Levenshtein, so a greater distance cannot be within the budget.
  distance constant integer := extensions.levenshtein_less_equal(typed, meant, 2 * budget);
  -- Two swaps keep the letters.
  has_same_letters constant boolean := char_length(typed) = char_length(meant) and translate(meant, typed, '') = '';
begin
  if distance <= 1 or distance > 2 * budget then
    return case when distance <= budget then distance end;
  end if;
  swaps := coalesce(swaps, private.swaps_of(typed));
  if meant = any (swaps) then
    return 1;
  elsif distance <= budget then
    return distance;
  elsif budget = 1 then
    return null;
  end if;
  return (
    select nullif(min(1 + case
      when rest = 2 and has_same_letters and meant = any (private.swaps_of(swapped)) then 1
      else rest
    end), budget + 1)
    from unnest(swaps) as swapped
    cross join lateral (
      select least(budget, extensions.levenshtein_less_equal(swapped, meant, 2)) as rest
    ) as measured
  );
end
$$;
comment on function private.typos(text, text, integer, text[]) is
  'How many errors turn one word into the other: a wrong, missing or extra letter, or two adjacent letters swapped. Null
above the budget, which is 1 or 2. The swaps of the typed word may be given.';

create function private.corrections_of(typed text, unfinished boolean)
returns table (word text, typos integer)
language plpgsql stable security invoker set search_path = ''
as $$
declare
  budget constant integer := private.typo_budget(typed);
  size constant integer := char_length(typed);
  swaps constant text[] := private.swaps_of(typed);
begin
  if budget = 0 then
    return;
  end if;
  return query
    select lexicon.word, min(cost.errors)
    from private.search_lexicon as lexicon
    -- The beginnings of a word that an unfinished one may stand for.
    cross join lateral unnest(case
      when unfinished and char_length(lexicon.word) > size - budget
        then array(select left(lexicon.word, size + more) from generate_series(-budget, budget) as more)
      else array[lexicon.word]
    end) as form
    cross join lateral (
      select private.typos(typed => typed, meant => form, budget => budget, swaps => swaps)
        -- A wrong first letter counts twice.
        + case when left(form, 1) <> left(typed, 1) then 1 else 0 end as errors
    ) as cost
    where private.deletion_keys(lexicon.word) && private.deletions(left(typed, 4 + budget), budget)
      and cost.errors between 1 and budget
      and lexicon.word <> typed collate "C"
      and not (unfinished and starts_with(lexicon.word, typed))
    group by lexicon.word
    order by 2, 1
    limit 50;
end
$$;
comment on function private.corrections_of(text, boolean) is
  'The words of the index that a typed word may be a mistyping of, each with its errors; those that begin with an
unfinished word are not among them.';

-- What a query looks for: its words and phrases, as queries of the index, and how much each of them says.

create type private.search_term as (
  place integer,
  unit integer,
  word text,
  typos integer,
  is_prefix boolean
);
comment on type private.search_term is
  'A word of the index that a word of the query may stand for, or the beginning of such words. `place` and `unit` are
those of the query word.';

create function private.term_query(term private.search_term)
returns tsquery
language sql immutable parallel safe
as $$
  select (private.lexeme(term.word) || case when term.is_prefix then ':*' else '' end)::tsquery
$$;
comment on function private.term_query(private.search_term) is 'Finds the profiles that have a term.';

create type private.search_unit as (
  unit integer,
  quoted boolean,
  is_phrase boolean,
  places integer[],
  query tsquery,
  holders integer,
  rarity double precision,
  is_named boolean
);
comment on type private.search_unit is
  'A word or phrase to look for. `query` finds the profiles that have it, or what it may stand for. `holders` is about
how many there are, `rarity` how much it says to have it: ln(1 + profiles / holders). `is_named`: above all a name of
people or places.';

create type private.search_query as (
  words private.query_word[],
  terms private.search_term[],
  units private.search_unit[],
  places text[]
);
comment on type private.search_query is
  'A query as private.read_query returns it. `places` are the names of places in it, and their adjectives after an @.';

create aggregate private.any_of(tsquery) (sfunc = tsquery_or, stype = tsquery);
comment on aggregate private.any_of(tsquery) is 'Finds what any of the queries finds; ignores null.';

create aggregate private.all_of(tsquery) (sfunc = tsquery_and, stype = tsquery);
comment on aggregate private.all_of(tsquery) is 'Finds what all of the queries find; ignores null.';

create function private.count_profiles()
returns double precision
language plpgsql stable security invoker set search_path = ''
as $$
declare
  estimate constant real := (select reltuples from pg_class where oid = 'private.search_words'::regclass);
begin
  return case when estimate > 2000 then estimate else (select count(*) from private.search_words) end;
end
$$;
comment on function private.count_profiles() is
  'How many profiles the index has. Beyond 2,000 as the latest vacuum counted them, if there was one.';

create function private.sample_profiles(profiles double precision)
returns tsvector[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return case when profiles > 2000 then array(
    select words from private.search_words tablesample system (20000 / profiles) repeatable (0)
  ) end;
end
$$;
comment on function private.sample_profiles(double precision) is
  'The words of about 200 profiles, always the same while the table keeps its size; null if there are at most 2,000.';

-- Without `set search_path`, so that Postgres inlines it: it is called for each candidate and word.
create function private.weight_class(words tsvector, query tsquery)
returns integer
language sql immutable parallel safe
as $$
  -- The best weight decides the order of magnitude of the rank, 1 to 1e-18. To see that there is none takes .1 µs. The
  -- rank may overlook completions, as it takes a word and its prefix for the same: then it is 0, and the class D.
  select case when ts_match_vq(words, query) then
    floor(
      coalesce((1 - log(nullif(ts_rank('{1e-18, 1e-12, 1e-6, 1}', words, query), 0)::double precision)) / 6, 3)
    )::integer
  end
$$;
comment on function private.weight_class(tsvector, tsquery) is
  'The best weight of the words of a query in a profile: 0 for A to 3 for D; null if it has none of them. Takes .4 µs,
where reading all words of the profile takes 15.';

create function private.measure_word(
  query tsquery,
  is_known boolean,
  profiles double precision,
  sample tsvector[],
  out holders integer,
  out is_named boolean
)
language plpgsql stable security invoker
set search_path = ''
-- Postgres would scan the table for common words and stop early, which reads up to six times as much.
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  name_values constant double precision[] := array[1, -1, 1, -0.5];
  sampled constant integer := (select count(*) from unnest(sample) as words where words @@ query);
  classes integer[];
  named double precision;
begin
  if sampled >= 30 then
    classes := array(
      select private.weight_class(words, query) from unnest(sample) as words where words @@ query limit 50
    );
  else
    classes := array(
      select private.weight_class(words, query) from private.search_words where words @@ query limit 50
    );
    holders := case
      when cardinality(classes) < 50 then cardinality(classes)
      else (
        select count(*)
        from (
          select from private.search_words where words @@ query limit case when sample is not null then 1000 end
        ) as found
      )
    end;
  end if;
  named := (select sum(name_values[class + 1]) from unnest(classes) as class);
  if holders is null or holders = 1000 and sample is not null then
    holders := greatest(1000, profiles * sampled / nullif(cardinality(sample), 0));
  end if;
  is_named := coalesce(named, 0) > case when is_known then 2 else 0 end;
end
$$;
comment on function private.measure_word(tsquery, boolean, double precision, tsvector[]) is
  'How many profiles have a word: exact below 1,000 and without a sample, but for words that at least 30 of the sampled
profiles have, of which it is the share in the sample. And whether the word is above all the name of people or
places, in fifty profiles that have it. A biography may mention a place, so it counts half. A word that the model
knows, such as Baker, is a name if at least three more have it as one.';

create function private.split_of(typed text, unfinished boolean)
returns text[]
language plpgsql stable security invoker
set search_path = ''
-- Postgres takes the half of the lexicon for a range of it.
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  if char_length(typed) < 4 or exists (
    select
    from private.search_lexicon as lexicon
    where lexicon.word >= typed and lexicon.word <= case when unfinished then typed || u&'\+10FFFF' else typed end
  ) then
    return array[typed];
  end if;
  return coalesce(
    (
      select array[first, second]
      from generate_series(1, least(60, char_length(typed) - 2)) as cut
      cross join lateral (select left(typed, cut) as first, substr(typed, cut + 1) as second) as pieces
      -- O'Brien, d'Angelo and l'Aquila are two words.
      where (cut > 1 or first in ('d', 'l', 'o'))
        and exists (select from private.search_lexicon as lexicon where lexicon.word = first)
        and exists (select from private.search_lexicon as lexicon where lexicon.word = second)
        and exists (
          select
          from private.search_words
          where words @@ tsquery_phrase(private.lexeme(first)::tsquery, private.lexeme(second)::tsquery)
        )
      order by abs(2 * cut - char_length(typed))
      limit 1
    ),
    array[typed]
  );
end
$$;
comment on function private.split_of(text, boolean) is
  'The two words that a word which nobody has is written together from, if somebody has them as neighbours; else the
word.';

create function private.read_words(query text, out words private.query_word[], out places text[])
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  loose text[];
begin
  words := array(
    select row(
      unit,
      case when excluded then place when place is not null
        then (count(*) filter (where place is not null) over in_order)::integer end,
      piece, quoted, excluded, unfinished and cardinality(pieces) = 1, (row_number() over (order by position, number))
    )::private.query_word
    from (
      select *, count(*) over (partition by unit) as size from private.parse_query(query)
    ) as part
    cross join lateral (
      -- A split adds a place, and there are bits for twenty.
      select case when size = 1 and place <= 9 and not quoted and not excluded
        then private.split_of(word, unfinished) else array[word] end as pieces
      offset 0
    ) as split
    cross join lateral unnest(pieces) with ordinality as numbered (piece, number)
    window in_order as (partition by excluded order by position, number)
    order by position, number
  );
  loose := array(select word from unnest(words) as part where not quoted and not excluded order by position);
  places := private.places_among(array(
    select array_to_string(loose[first:first + size - 1], ' ')
    from generate_subscripts(loose, 1) as first
    cross join generate_series(1, 4) as size
    where first + size - 1 <= cardinality(loose)
  ));
  -- The longest names first. Each is a unit, like a phrase.
  if exists (select from unnest(places) as name where name like '% %') then
    words := array(
      select row(
        coalesce(named.unit, part.unit), place, word, quoted, excluded, unfinished, position
      )::private.query_word
      from (
        select *, count(*) filter (where not quoted and not excluded) over (order by position) as number
        from unnest(words)
      ) as part
      left join lateral (
        select (select unit from unnest(words) as one where not one.quoted and not one.excluded
          order by position offset first - 1 limit 1) as unit
        from generate_series(number - 3, number) as first
        cross join generate_series(2, 4) as size
        where first > 0 and first + size > number
          and array_to_string(loose[first:first + size - 1], ' ') = any (places)
        order by size desc, first
        limit 1
      ) as named on not quoted and not excluded
      order by position
    );
  end if;
end
$$;
comment on function private.read_words(text) is
  'The words of a query, with those apart that were written together, and each name of a place as one unit; and the
names of places that it has.';

create function private.read_query(query text, known text[] default '{}', reading jsonb default '{}')
returns private.search_query
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  asked private.search_query;
  profiles constant double precision := private.count_profiles();
  sample constant tsvector[] := private.sample_profiles(profiles);
begin
  select words, places into asked.words, asked.places from private.read_words(query);
  asked.terms := array(
    select row(place, unit, term.word, term.typos, term.is_prefix)::private.search_term
    from (
      select *, quoted or count(*) over (partition by unit) > 1 as is_literal
      from unnest(asked.words)
      where not excluded
    ) as parsed
    cross join lateral (
      select parsed.word, 0 as typos, false as is_prefix
      union all
      select parsed.word, 0, true where parsed.unfinished and not parsed.is_literal
      union all
      select '@' || parsed.word, 0, false
      where not parsed.is_literal and '@' || parsed.word = any (asked.places)
        and not coalesce(reading -> 'spoken' ? parsed.word, false)
      union all
      select variant, 0, false
      from jsonb_array_elements_text(coalesce(reading -> 'variants' -> parsed.word, '[]')) as variant
      where not parsed.is_literal
      union all
      -- What was written apart.
      select joined, 0, false
      from unnest(asked.words) as other
      cross join lateral (
        select case when other.place > parsed.place then parsed.word || other.word else other.word || parsed.word end
          as joined
      ) as pair
      where abs(other.place - parsed.place) = 1 and not other.excluded and not other.quoted and not parsed.is_literal
        -- Not exists(): Postgres would hash the whole lexicon.
        and (select lexicon.word from private.search_lexicon as lexicon where lexicon.word = joined limit 1) is not null
      union all
      select corrections.word, corrections.typos, false
      from private.corrections_of(parsed.word, parsed.unfinished) as corrections
      where not parsed.is_literal and parsed.word <> all (asked.places)
    ) as term
    where place is not null
  );
  asked.units := array(
    select row(
      units.unit, quoted, is_phrase, places, written.query, holders,
      ln(1 + greatest(1, profiles) / greatest(1, holders)), either.is_named
    )::private.search_unit
    from (
      select
        unit,
        bool_or(quoted) as quoted,
        count(*) > 1 as is_phrase,
        bool_and(word = any (known)) as is_known,
        bool_or(unfinished) as is_unfinished,
        string_agg(word, ' ' order by position) = any (asked.places) as is_place,
        array_agg(place order by place) filter (where place is not null) as places,
        string_agg(private.lexeme(word), ' <-> ' order by position)::tsquery as phrase
      from unnest(asked.words)
      where not excluded
      group by unit
    ) as units
    cross join lateral (
      select case when is_phrase then phrase else (
        select private.any_of(private.term_query(term)) from unnest(asked.terms) as term where term.unit = units.unit
      ) end as query
      offset 0
    ) as written
    cross join lateral private.measure_word(
      query => written.query, is_known => is_known, profiles => profiles, sample => sample
    ) as measured
    -- Fes is a city, whether or not it may go on as festivals.
    cross join lateral (
      select measured.is_named or is_place and measured.holders = 0 or is_unfinished and not is_phrase and (
        private.measure_word(query => phrase, is_known => is_known, profiles => profiles, sample => sample)
      ).is_named as is_named
    ) as either
    where places is not null
    order by unit
  );
  return asked;
end
$$;
comment on function private.read_query(text, text[], jsonb) is
  'What a query looks for, and how many profiles have each of it. `known` are words of it that the model knows;
`reading` is what the Edge Function has understood: {spoken, variants}.';

create function private.closest_bit(place integer, typos integer)
returns bigint
language sql immutable parallel safe
as $$
  select 1::bigint << (3 * place + typos)
$$;
comment on function private.closest_bit(integer, integer) is
  'A bit for a word of the query and the typing errors of its closest matches in a profile.';

create type private.word_pair as (
  bits bigint,
  none_between tsquery,
  one_between tsquery,
  two_between tsquery
);
comment on type private.word_pair is
  'Two words that are neighbours in a query, as closest_bits, and the queries that find them with so many words between
them.';

create function private.word_pairs(asked private.search_query)
returns setof private.word_pair
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return query
    with forms as (
      select
        place,
        private.closest_bit(place, typos) as bit,
        private.any_of(private.term_query(term)) as query
      from unnest(asked.terms) as term
      group by place, typos
    )
    -- In reverse order the distance counts one more.
    select
      one.bit | other.bit,
      tsquery_phrase(one.query, other.query, 0) || (one.query <-> other.query),
      tsquery_phrase(one.query, other.query, 2) || (other.query <-> one.query),
      tsquery_phrase(one.query, other.query, 3) || tsquery_phrase(other.query, one.query, 2)
    from forms as one
    join forms as other on other.place = one.place + 1;
end
$$;
comment on function private.word_pairs(private.search_query) is
  'The neighbours in a query, for all typing errors that they may have.';

-- Looks for three phrases at most, .3 µs each. To read the positions of the words and compare them took 5 µs for each
-- of them.
create function private.nearness(words tsvector, pair private.word_pair)
returns integer
language sql immutable parallel safe
as $$
  select case
    when ts_match_vq(words, pair.none_between) then 3
    when ts_match_vq(words, pair.one_between) then 2
    when ts_match_vq(words, pair.two_between) then 1
    else 0
  end
$$;
comment on function private.nearness(tsvector, private.word_pair) is
  'How near to each other a profile has two words: 3 if nothing stands between them anywhere, 0 if three words do.';

-- What the words of a query mean, before any of it is embedded: as typed, completed, corrected, a name, or nothing.

create function private.completions_of(typed text, context tsquery)
returns text[]
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return array(
    select lexeme
    from (select words from private.search_words where words @@ context limit 50) as sample
    cross join lateral unnest(words)
    where starts_with(lexeme, typed)
    group by lexeme
    order by count(*) desc, lexeme
    limit 2
  );
end
$$;
comment on function private.completions_of(text, tsquery) is
  'The words that an unfinished word most often stands for, in fifty profiles that a query finds.';

create type private.understood_word as (
  typed text,
  meant text[],
  before text,
  is_corrected boolean,
  is_embedded boolean
);
comment on type private.understood_word is
  'What a word of a query means: the words that it stands for, none if it means nothing. `before` is what separates it
from the word before it: nothing within a run of letters, else a space.';

create function private.understand(asked private.search_query, known text[])
returns setof private.understood_word
language plpgsql stable security invoker set search_path = ''
as $$
declare
  part private.query_word;
  run integer;
  is_listed boolean;
  is_word boolean;
  understood private.understood_word;
begin
  foreach part in array asked.words loop
    continue when part.excluded;
    understood := row(
      part.word, array[part.word],
      case
        when part.unit = run and not part.quoted and part.word ~ ('^[' || private.unspaced_letters() || ']') then ''
        else ' '
      end,
      false, false
    );
    run := part.unit;
    is_listed := exists (select from private.search_lexicon as lexicon where lexicon.word = part.word)
      -- The lexicon may not have it yet.
      or exists (select from private.search_words where words @@ private.lexeme(part.word)::tsquery);
    is_word := part.quoted or part.word = any (known) or is_listed;
    -- Of an unfinished word with up to three letters, nobody knows whether it is one already, unless the model knows it
    -- and somebody has it.
    if part.unfinished
      and (not is_word or char_length(part.word) <= 3 and not (part.word = any (known) and is_listed)) then
      understood.meant := private.completions_of(
        part.word, (select private.all_of(query) from unnest(asked.units))
      );
      if understood.meant = '{}' then
        understood.meant := private.completions_of(part.word, (private.lexeme(part.word) || ':*')::tsquery);
      end if;
    end if;
    if not is_word and (not part.unfinished or understood.meant = '{}') then
      understood.meant := array(
        select closest.word
        from (
          select term.word, term.typos
          from unnest(asked.terms) as term
          where term.place = part.place and term.typos > 0
          order by term.typos, term.word
          limit 5
        ) as closest
        cross join lateral private.measure_word(
          query => private.lexeme(closest.word)::tsquery, is_known => false, profiles => 0, sample => null
        ) as measured
        -- The lexicon may still have words of profiles that are hidden by now.
        where holders > 0
        order by closest.typos, holders desc, closest.word
        limit 1
      );
      understood.is_corrected := understood.meant <> '{}';
    elsif understood.meant = '{}' then
      understood.meant := array[part.word];
    end if;
    understood.is_embedded := understood.meant <> '{}' and not exists (
      select from unnest(asked.units) as asked_unit where asked_unit.unit = part.unit and is_named
    );
    return next understood;
  end loop;
end
$$;
comment on function private.understand(private.search_query, text[]) is
  'What each word of a query means. A word that the model knows or a profile has is meant as typed. Any other is
completed if it is the last one, from profiles that have the other words if there are any, or else corrected by the
words that profiles have. Names, places and words that mean nothing are not embedded: nearest to them would be
strangers.';

create function api.understand_query(request jsonb)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  known constant text[] := private.words_of(request ->> 'known');
  asked constant private.search_query := private.read_query(
    coalesce(request ->> 'words', request ->> 'q', ''), known, request
  );
  suggestion text := coalesce(request ->> 'q', '');
  understood private.understood_word;
  embedded text := '';
  is_as_typed boolean := true;
  corrections jsonb := jsonb_build_array();
begin
  perform set_config('api.time_limit', coalesce(request ->> 'timeout' || ' ms', ''), true);
  for understood in select * from private.understand(asked, known) loop
    is_as_typed := is_as_typed and understood.is_embedded and understood.meant = array[understood.typed];
    if understood.is_embedded then
      embedded := embedded || understood.before || array_to_string(understood.meant, ' ');
    end if;
    if understood.is_corrected then
      corrections := corrections || jsonb_build_object('from', understood.typed, 'to', understood.meant[1]);
      suggestion := regexp_replace(
        suggestion, '\m' || regexp_replace(understood.typed, '(\W)', '\\\1', 'g') || '\M', understood.meant[1], 'i'
      );
    end if;
  end loop;
  return json_build_object(
    'text', case when not is_as_typed then trim(embedded) end,
    'suggestion', case when corrections <> '[]' then jsonb_build_object('query', suggestion, 'words', corrections) end,
    'asked', asked
  );
end
$$;
comment on function api.understand_query(jsonb) is
  'What a query means, before it is embedded, from {q, words, known, spoken, variants, timeout}: {text, suggestion,
asked}. `words` are those of q to look for, `known` those that the model knows, `spoken` names of languages, `variants`
other ways to write a word; `text` is to be embedded: null for the query as typed, empty for nothing; `asked`
saves api.search_profiles from reading the query again. Definer, as api.search_profiles.';
grant execute on function api.understand_query(jsonb) to edge_functions;

-- The conditions that every hit must meet: facets, quoted phrases, excluded words, and whom the caller may not find.

create type private.search_filter as (
  required tsquery,
  excluded tsquery,
  hidden_ids bigint[],
  passing bigint[]
);
comment on type private.search_filter is
  'The conditions that every hit must meet. `required` has facets and quoted phrases, `excluded` what no hit may have;
either may be null. `hidden_ids` are the caller''s own profile and those of users whom a block hides from the caller.
`passing` are all profiles that meet the conditions, if they are few; then the others are empty.';

-- Without `set search_path`, so that Postgres inlines it.
create function private.matches_filter(profile_id bigint, words tsvector, filter private.search_filter)
returns boolean
language sql immutable parallel safe
as $$
  -- ts_match_vq is @@ without the index, which takes 20 ms to merge the profiles of fifty facet values.
  select (filter.required is null or ts_match_vq(words, filter.required))
    and (filter.excluded is null or not ts_match_vq(words, filter.excluded))
    and profile_id <> all (filter.hidden_ids)
$$;
comment on function private.matches_filter(bigint, tsvector, private.search_filter) is
  'Whether a profile meets the conditions of a filter. True where the filter lists the profiles that do.';

create function private.find_passing(
  filter private.search_filter,
  alternatives tsquery[],
  sample tsvector[],
  profiles double precision
)
returns bigint[]
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  -- To list a profile takes 4 µs. Without a list the vector index visits 100 * profiles / passing, at 16 µs each, to
  -- find 100 that pass. Both take as long where passing is sqrt(400 * profiles).
  max_passing constant integer := greatest(2000, sqrt(400 * profiles));
  share constant double precision := (
    select avg((
      (filter.required is null or words @@ filter.required)
      and (filter.excluded is null or not words @@ filter.excluded)
    )::integer)
    from unnest(sample) as words
  );
  passing bigint[];
begin
  if share * profiles > max_passing or alternatives is null and profiles > 50000 then
    return null;
  elsif alternatives is null then
    passing := array(
      select stored.profile_id
      from private.search_words as stored
      where private.matches_filter(stored.profile_id, stored.words, filter)
      limit max_passing + 1
    );
  else
    passing := array(
      select distinct found.profile_id
      from unnest(alternatives) as alternative
      cross join lateral (
        select stored.profile_id
        from private.search_words as stored
        where stored.words @@ alternative and private.matches_filter(stored.profile_id, stored.words, filter)
        -- Else Postgres would read the whole table once.
        offset 0
      ) as found
      limit max_passing + 1
    );
  end if;
  return case when cardinality(passing) <= max_passing then passing end;
end
$$;
comment on function private.find_passing(private.search_filter, tsquery[], tsvector[], double precision) is
  'All profiles that meet the conditions of a search, or null if they are many, or if only excluded words and more than
50,000 profiles would be read. `alternatives` are queries of which a profile must match at least one: one after the
other they take a tenth of the time that a query with all of them takes.';

create function private.hidden_profiles_of(caller bigint)
returns bigint[]
language plpgsql stable security invoker set search_path = ''
as $$
declare
  hidden_users constant bigint[] := case when caller is not null then caller || private.blocked_users_of(caller) end;
begin
  return case
    when caller is null then '{}'
    else array(select profile_id from private.search_entries where user_id = any (hidden_users))
  end;
end
$$;
comment on function private.hidden_profiles_of(bigint) is
  'The profiles that no search of a caller finds: their own, and those of users whom a block hides from them.';

create function private.read_filter(request jsonb, asked private.search_query, caller bigint)
returns private.search_filter
language plpgsql stable security invoker set search_path = ''
as $$
declare
  profiles constant double precision := private.count_profiles();
  has_conditions constant boolean := exists (select from unnest(asked.words) where quoted or excluded)
    or exists (select from unnest(array['interests', 'cities', 'countries']) as key where request -> key <> '[]')
    or coalesce(request -> 'age', 'null') <> 'null';
  sample constant tsvector[] := case when has_conditions then private.sample_profiles(profiles) end;
  alternatives tsquery[];
  filter private.search_filter;
begin
  filter.hidden_ids := private.hidden_profiles_of(caller);
  if has_conditions then
    with conditions as (
      select array_agg(distinct private.lexeme(private.facet(kind, value))::tsquery) as alternatives
      from (values ('interest', 'interests'), ('city', 'cities'), ('country', 'countries')) as facets (kind, key)
      cross join lateral jsonb_array_elements_text(coalesce(request -> key, '[]')) as value
      group by kind
      union all
      select array[query] from unnest(asked.units) where quoted
      union all
      -- Whole decades, and the years before and after them. A profile without an age is not left out.
      select array_agg(distinct private.lexeme(private.facet('age', case
        when age is null then 'unknown'
        when age / 10 * 10 >= min_age and age / 10 * 10 + 9 <= max_age then age / 10 || '0s'
        else age::text
      end))::tsquery)
      from jsonb_to_record(nullif(request -> 'age', 'null')) as asked_age (min integer, max integer)
      cross join lateral (select min as min_age, max as max_age) as bounds
      cross join lateral (
        select generate_series(min_age, max_age) as age union all select null
      ) as ages
      where min_age is not null
      having count(*) > 0
    )
    -- All conditions, as the limit comes after the window, those with the fewest alternatives first: they take the
    -- least time and let the fewest pass. And the alternatives of the one for which the index looks at the fewest
    -- profiles, if they are less than all: it looks at those with several interests several times.
    select
      private.all_of(condition) over (
        order by cardinality(conditions.alternatives) rows between unbounded preceding and unbounded following
      ),
      case when looked_at <= 1 or sample is null then conditions.alternatives end
    into filter.required, alternatives
    from conditions
    cross join lateral (
      select
        private.any_of(alternative) as condition,
        -- For a phrase, all that have its words.
        sum((
          select avg((words @@ looked_up)::integer)
          -- At most some 2,000 comparisons.
          from unnest(sample[:1 + 2000 / cardinality(conditions.alternatives)]) as words
        )) as looked_at
      from unnest(conditions.alternatives) as alternative
      cross join lateral (select replace(alternative::text, '<->', '&')::tsquery as looked_up offset 0) as written
    ) as estimated
    order by looked_at
    limit 1;
    filter.excluded := (
      select private.any_of(phrase)
      from (
        select string_agg(private.lexeme(word), ' <-> ' order by position)::tsquery as phrase
        from unnest(asked.words)
        where excluded
        group by unit
      ) as phrases
    );
  elsif profiles > 2000 then
    return filter;
  end if;
  filter.passing := private.find_passing(
    filter => filter, alternatives => alternatives, sample => sample, profiles => profiles
  );
  if filter.passing is not null then
    filter := row(null, null, '{}', filter.passing);
  end if;
  return filter;
end
$$;
comment on function private.read_filter(jsonb, private.search_query, bigint) is
  'The filter of a search. Values of one facet are alternatives; facets, phrases, ages and excluded words add up.';

-- The score of an entry: how well it matches the words of a query, by Meilisearch's ranking rules, and its similarity
-- in meaning. Functions without a search_path are inlined.

create function private.position_cost(distance integer)
returns integer
language sql immutable parallel safe
as $$
  select width_bucket(distance, array[1, 2, 5, 8, 12, 17, 25, 65, 257, 1025])
$$;
comment on function private.position_cost(integer) is
  'The cost, 0 to 10, of the distance between a word''s places in the text and in the query. The buckets are
Meilisearch''s.';

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

create function private.keyword_scores(
  ids bigint[],
  asked private.search_query,
  words_asked integer,
  attribute_weights integer[] default '{0, 1, 2, 3, 4, 5}'
)
returns table (
  profile_id bigint, score double precision, ranks private.keyword_ranks, coverage double precision,
  names_found double precision, in_name boolean
)
language plpgsql stable security invoker
set search_path = ''
-- Planning this statement takes longer than running it. And Postgres underestimates how many rows the expressions
-- return, and would use nested loops, which took minutes for 1,000 candidates.
set plan_cache_mode = 'force_generic_plan'
set enable_nestloop = off
as $$
declare
  max_weight constant integer := (select max(weight) from unnest(attribute_weights) as weight);
  typo_budgets constant integer[] := array(
    select private.typo_budget(word) from unnest(asked.words) where not excluded and place is not null order by place
  );
  -- By place: the share of the query's rarity that the word has, and if it is a name.
  shares constant double precision[] := array(
    select rarity / cardinality(places) / (select sum(rarity) from unnest(asked.units))
    from unnest(asked.units)
    cross join unnest(places) as place
    order by place
  );
  named_shares constant double precision[] := array(
    select case when is_named then shares[place] else 0 end
    from unnest(asked.units)
    cross join unnest(places) as place
    order by place
  );
  prefix constant private.search_term := (select term from unnest(asked.terms) as term where term.is_prefix);
  phrases constant private.search_unit[] := array(
    select asked_unit from unnest(asked.units) as asked_unit where is_phrase
  );
  completions constant text[] := array(
    select lexicon.word
    from private.search_lexicon as lexicon
    -- The greatest character after the prefix is above all words that begin with it.
    where lexicon.word >= (prefix).word and lexicon.word < (prefix).word || u&'\+10FFFF'
    limit 101
  );
  -- The words that count, those of phrases, and the full stops between texts. Null if they are too many.
  lexemes constant text[] := case when cardinality(completions) <= 100 then array(
    select word from unnest(asked.terms) union select word from unnest(asked.words)
    union select unnest(completions) union select '.'
  ) end;
  any_word constant tsquery := (select private.any_of(query) from unnest(asked.units));
  full_stop constant tsquery := private.lexeme('.')::tsquery;
  -- Find the texts that begin with a word of the query.
  openings constant tsquery[] := array(
    select full_stop <-> private.lexeme(word)::tsquery
    from unnest(asked.terms)
    where not is_prefix and typos = 0
    order by place
  );
begin
  perform private.check_deadline();
  return query
    with entries as materialized (
      select
        stored.profile_id,
        -- Marks the words that count with a weight, and drops all others. To read them all takes five times as long.
        coalesce(ts_filter(setweight(setweight(stored.words, 'D'), 'A', lexemes), '{a}'), stored.words) as words
      from private.search_words as stored
      where stored.profile_id = any (ids) and ts_match_vq(stored.words, any_word)
    ),
    occurrences as materialized (
      select entries.profile_id, lexeme, positions
      from entries
      cross join lateral unnest(entries.words)
      where lexeme in (select word from unnest(asked.terms)) or starts_with(lexeme, (prefix).word)
    ),
    terms as materialized (
      select term.place, term.unit, term.word, term.typos, not term.is_prefix and term.typos = 0 as exact
      from unnest(asked.terms) as term
      where not term.is_prefix
      union all
      select (prefix).place, (prefix).unit, lexeme, 0, false
      from (select distinct lexeme from occurrences where starts_with(lexeme, (prefix).word)) as completions
    ),
    without_phrase as (
      select entries.profile_id, phrase.unit
      from entries
      cross join unnest(phrases) as phrase
      where not ts_match_vq(entries.words, phrase.query)
    ),
    best_matches as materialized (
      select occurrences.profile_id, terms.place, min(best.cost) as cost, bool_or(terms.exact) as exact
      from occurrences
      join terms on terms.word = occurrences.lexeme
      left join without_phrase
        on without_phrase.profile_id = occurrences.profile_id and without_phrase.unit = terms.unit
      cross join lateral (
        -- min() finds the fewest typos, then the best attribute, then the best position. Before Postgres 18 it does not
        -- take composite types.
        select min(
          terms.typos * 1000000
          + attribute_weights[private.attribute_at(word_position) + 1] * 100
          + private.position_cost(abs(word_position - private.text_start_at(word_position) - terms.place))
        ) as cost
        -- The tenth occurrence of a word says nothing that the first nine did not.
        from unnest(occurrences.positions[:9]) as in_place (word_position)
      ) as best
      where without_phrase.unit is null
      group by occurrences.profile_id, terms.place
    ),
    tallies as materialized (
      select
        best_matches.profile_id,
        count(*)::integer as words_matched,
        sum(best_matches.cost / 1000000)::integer as typos,
        greatest(sum(typo_budgets[best_matches.place]), case when count(*) > 1 then count(*) else 0 end)::integer + 1
          as typo_max,
        sum(best_matches.cost % 1000000 / 100)::integer as attribute_cost,
        sum(best_matches.cost % 100)::integer as position_cost,
        count(*) filter (where best_matches.exact)::integer as exact_words,
        least(1, sum(shares[best_matches.place])) as coverage,
        sum(named_shares[best_matches.place]) as names_found,
        bool_and(best_matches.cost < 100) and count(*) = words_asked as in_name,
        min(best_matches.place) as first_place,
        bit_or(1::bigint << best_matches.place) as places,
        bit_or(private.closest_bit(best_matches.place, best_matches.cost / 1000000)) as closest
      from best_matches
      group by best_matches.profile_id
    ),
    pairs as materialized (
      select * from private.word_pairs(asked) where words_asked > 1
    )
    select
      tallies.profile_id, private.keyword_score(ranked.ranks), ranked.ranks, tallies.coverage, tallies.names_found,
      tallies.in_name
    from tallies
    join entries on entries.profile_id = tallies.profile_id
    cross join lateral (
      select coalesce(sum(private.nearness(entries.words, pair)), 0)::integer as proximity
      from pairs as pair
      where tallies.closest & bits = bits
    ) as near
    cross join lateral (
      -- Whether a text begins with all the words that the profile has, or is equal to them.
      select case when exact_words = words_matched and ts_match_vq(entries.words, openings[first_place]) then (
        select case
          when ts_match_vq(entries.words, opening <-> full_stop) then 3
          when ts_match_vq(entries.words, opening) then 2
        end
        from (
          select (private.lexeme('.') || string_agg(' <-> ' || private.lexeme(word), '' order by place))::tsquery
            as opening
          from terms
          where terms.exact and tallies.places >> terms.place & 1 = 1
        ) as matched
      ) end as exactness
    ) as whole
    cross join lateral (
      select row(
        words_asked, words_matched, typos, typo_max, 3 * (words_matched - 1) - proximity, attribute_cost,
        max_weight * words_matched + 1, position_cost, coalesce(exactness, 1), exact_words
      )::private.keyword_ranks as ranks
      -- Postgres inlines keyword_score only if its argument is simple.
      offset 0
    ) as ranked;
end
$$;
comment on function private.keyword_scores(bigint[], private.search_query, integer, integer[]) is
  'The keyword scores of the profiles that contain some of the terms. words_asked is how many words the query has;
attribute_weights are the weights of name, interests, city, country, biography, and first and last name. `coverage` is
the share of the query''s rarity that a profile has, `names_found` that of its names and places; `in_name`: all the
words are in the name, as typed.';

create function private.semantic_score(
  cosine double precision,
  model private.search_models,
  names_missing double precision
)
returns double precision
language sql immutable parallel safe
as $$
  -- 0 without a cosine, since greatest() ignores nulls.
  select least(
    1, greatest(0, (cosine - model.similarity_floor) / (model.similarity_ceiling - model.similarity_floor))
  ) * (1 - names_missing)
$$;
comment on function private.semantic_score(double precision, private.search_models, double precision) is
  'The similarity of a profile to a query, 0 at the floor of the model to 1 at its ceiling. No embedding has names, so
the share of the query that its missing names have is taken off.';

create function private.semantic_weight(semantic_ratio double precision, trust double precision)
returns double precision
language sql immutable parallel safe
as $$
  select semantic_ratio * trust / (1 - semantic_ratio + semantic_ratio * trust)
$$;
comment on function private.semantic_weight(double precision, double precision) is
  'The weight of meaning beside words, 0 to 1: (1 - r) k + r c s, divided by (1 - r) + r c, is (1 - w) k + w s.';

create function private.final_score(
  semantic_weight double precision,
  keyword double precision,
  semantic double precision,
  in_name boolean,
  has_all_words boolean
)
returns double precision
language sql immutable parallel safe
as $$
  select 1 - case when has_all_words then 0.85 else 1 end * (
    1 - greatest(keyword + semantic_weight * (semantic - keyword), case when in_name then keyword end)
  )
$$;
comment on function private.final_score(double precision, double precision, double precision, boolean, boolean) is
  'What profiles are ranked by without a context: the weighted sum of both scores, and at least the keyword score where
the name contains all the words. Whoever has all the words gets .15 of what is missing to 1.';

create function private.shown_score(score double precision, semantic_weight double precision)
returns double precision
language sql immutable parallel safe
as $$
  select case
    when score < 0.88 * semantic_weight then score * 0.5 / (0.88 * semantic_weight)
    when score < semantic_weight then 0.5 + (score - 0.88 * semantic_weight) * 0.2 / (0.12 * semantic_weight)
    else 0.7 + coalesce((score - semantic_weight) * 0.3 / nullif(1 - semantic_weight, 0), 0)
  end
$$;
comment on function private.shown_score(double precision, double precision) is
  'A final score as hits show it, in the same order. A meaning alone reaches the weight of meaning, shown as .7. At .5
half of the hits by meaning alone are wanted (bench/search/quality.ts --curve).';

create function private.context_nearness(cosine double precision, model private.search_models)
returns double precision
language sql immutable parallel safe
as $$
  select case
    when cosine > model.similarity_threshold then
      least(1, (cosine - model.similarity_threshold) / (model.similarity_ceiling - model.similarity_threshold)) ^ 2
    else 0
  end
$$;
comment on function private.context_nearness(double precision, private.search_models) is
  'The similarity of a profile to the caller''s own interests, bio and location: 0 at the threshold of the model to 1 at
its ceiling. Squared, because many strangers are somewhat alike.';

-- Rejected: a fifth of what is missing to 1. It moves nobody at the top, where people are about equal (18 of the 32
-- callers of tests/search/tastes saw their own kind first, now 27), and callers with other interests lost .004 nDCG.
create function private.context_bonus(shown double precision, nearness double precision, highest double precision)
returns double precision
language sql immutable parallel safe
as $$
  select nearness * least(0.1 * shown, 0.9 * (highest - shown))
$$;
comment on function private.context_bonus(double precision, double precision, double precision) is
  'What nearness to the caller''s context adds to a shown score: up to a tenth of it, so that it decides among people
whom the query leaves about equal, and never all that is missing to the highest score that it could be.';

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

-- The candidates of a search: the profiles that pass its filter and contain words of the query (keyword_candidates) or
-- are similar to it in meaning (nearest_profiles). Between its steps a search looks whether its time is over.

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

create function private.keyword_candidates(
  asked private.search_query,
  filter private.search_filter,
  max_results integer
)
returns table (profile_id bigint, rank real)
language plpgsql stable security invoker
set search_path = ''
-- As in measure_word.
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  -- Of the classes D to A. Whoever has all the words comes first.
  weights constant real[] := array[.2, .4, .8, 1]::real[];
  units constant private.search_unit[] := asked.units;
  is_short_list constant boolean := coalesce(cardinality(filter.passing) <= max_results, false);
  all_words constant tsquery := (select private.all_of(query) from unnest(units));
  any_word constant tsquery := (select private.any_of(query) from unnest(units));
  as_typed constant tsquery := (
    select private.any_of(private.term_query(term)) from unnest(asked.terms) as term where typos = 0
  );
  -- The rarest words, as long as they have few enough holders. The others only add profiles that have all the words: a
  -- word in more than every fourth profile distinguishes none. With 25 profiles or fewer no word is common.
  rare_words constant tsquery := (
    select private.any_of(query)
    from (
      select query, holders, sum(holders) over rarest as holders_so_far, row_number() over rarest as rank
      from unnest(units)
      window rarest as (order by holders, unit)
    ) as ranked
    where ranked.rank = 1
      or holders_so_far <= max_results and holders <= greatest(25, private.count_profiles() / 4)
  );
  -- Looked up one by one: the few who pass the filter, which is quicker than the index of words; or else whoever has
  -- exactly this name, also if more people than max_results have its words.
  listed constant bigint[] := case
    when is_short_list then filter.passing
    when max_results > any (select holders from unnest(units)) then '{}'
    else array(
      select entry.profile_id
      from private.search_entries as entry
      where private.name_hash(entry.name) = private.name_hash((
          select string_agg(word, ' ' order by position) from unnest(asked.words) where not excluded
        ))
        and (filter.passing is null or entry.profile_id = any (filter.passing))
      limit max_results
    )
  end;
begin
  return query
    select
      found.profile_id,
      (
        first + ts_rank(weights, words, any_word)
          + case when as_typed <> any_word then ts_rank(weights, words, as_typed) else 0 end
      )::real
    from (
      select
        stored.profile_id, stored.words,
        case when not ts_match_vq(stored.words, all_words) then 0 when is_short_list then 4 else 8 end as first
      from private.search_words as stored
      where stored.profile_id = any (listed)
        and ts_match_vq(stored.words, all_words || rare_words)
        and private.matches_filter(stored.profile_id, stored.words, filter)
      union all
      select stored.profile_id, stored.words, 4
      from private.search_words as stored
      where not is_short_list
        and stored.words @@ all_words
        and stored.profile_id <> all (listed)
        and private.matches_filter(stored.profile_id, stored.words, filter)
        -- As a subquery, because Postgres hashes its rows and not those of an array.
        and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
      union all
      select stored.profile_id, stored.words, 0
      from private.search_words as stored
      where not is_short_list
        and cardinality(units) > 1
        and stored.words @@ rare_words
        -- As part of the query, the index would look at every profile that has a word of it: 6 ms instead of .5.
        and not ts_match_vq(stored.words, all_words)
        and private.matches_filter(stored.profile_id, stored.words, filter)
        and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
      limit max_results
    ) as found;
end
$$;
comment on function private.keyword_candidates(private.search_query, private.search_filter, integer) is
  'Up to max_results profiles that contain words of the query and pass the filter: first those with all the words, then
those with the rarest. `rank` roughly tells who of them will have the best keyword scores, at 1 µs each.';

create function private.nearest_profiles(
  query_vector extensions.halfvec,
  query_model text,
  filter private.search_filter,
  max_results integer,
  max_distance double precision
)
returns table (profile_id bigint, distance double precision)
language plpgsql stable security invoker
set search_path = 'extensions'
-- The vector index is read in batches of ef_search, and a filter may make several necessary.
set hnsw.iterative_scan = 'relaxed_order'
set hnsw.ef_search = 160
-- The walk gives up after this many, which matters where a filter lets nearly nobody pass.
set hnsw.max_scan_tuples = 10000
-- Allow only one plan, a scan of the vector index.
set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off
set enable_sort = off
as $$
begin
  return query
    select nearest.profile_id, nearest.away
    from (
      (
        -- A scan of their vectors is exact, and quicker than the vector index, in which the rows that pass a filter are
        -- far apart. Else Postgres would walk the whole vector index, as sorting is off.
        select entry.profile_id, embedding <=> query_vector as away
        from private.search_entries as entry
        where entry.profile_id = any (filter.passing) and model = query_model
        offset 0
      )
      union all
      (
        select entry.profile_id, embedding <=> query_vector
        from private.search_entries as entry
        where filter.passing is null
          and model = query_model
          and entry.profile_id <> all (filter.hidden_ids)
          and (
            filter.required is null and filter.excluded is null
            or exists (
              select
              from private.search_words as stored
              where stored.profile_id = entry.profile_id
                and private.matches_filter(stored.profile_id, stored.words, filter)
            )
          )
        order by embedding <=> query_vector
        limit max_results
      )
    ) as nearest
    where nearest.away <= max_distance
    order by nearest.away, nearest.profile_id
    limit max_results;
end
$$;
comment on function private.nearest_profiles(
  extensions.halfvec, text, private.search_filter, integer, double precision
) is
  'Up to max_results profiles within max_distance of a vector, and their cosine distances. Scans the vector index, or
all vectors if few pass the filter.';

-- The search: api.search_profiles reads what is asked for, and find_profiles takes the candidates, scores the best of
-- them, and prints the requested page. Of the search's functions only those of schema api are security definer;
-- no role may call the functions behind them.

create function private.find_profiles(
  request jsonb,
  asked private.search_query,
  filter private.search_filter,
  query_vector extensions.halfvec,
  context_vector extensions.halfvec,
  semantic_ratio double precision
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
  max_neighbours constant integer := 100;
  -- This many of those with the words are scored at once, beside the neighbours, the others only for a later page.
  block_size constant integer := 100;
  query_model constant text := request ->> 'model';
  page_limit constant integer := (request ->> 'limit')::integer;
  page_offset constant bigint := (request ->> 'offset')::bigint;
  page_end constant integer := least(page_offset, max_results) + page_limit;
  explain constant boolean := coalesce((request ->> 'explain')::boolean, false);
  facets constant text[] := case
    when request -> 'facets' is not null then array(select jsonb_array_elements_text(request -> 'facets'))
  end;
  has_words constant boolean := cardinality(asked.units) > 0;
  -- The share of names and places in the rarity of the query. No embedding has them.
  names_share constant double precision := (
    select coalesce(sum(rarity) filter (where is_named) / sum(rarity), 0) from unnest(asked.units)
  );
  model private.search_models;
  weight double precision;
  neighbour_ids bigint[];
  hits json;
  total integer;
  distribution json;
begin
  select * into model from private.search_models where name = query_model;
  if model.name is null then
    query_vector := null;
    context_vector := null;
  end if;
  weight := private.semantic_weight(semantic_ratio => semantic_ratio, trust => coalesce(model.trust, 1));
  if not has_words and query_vector is null then
    query_vector := context_vector;
    context_vector := null;
  end if;
  if query_vector is not null then
    neighbour_ids := array(
      select profile_id
      from private.nearest_profiles(
        query_vector => query_vector, query_model => query_model, filter => filter, max_results => max_neighbours,
        -- Without words there is no threshold: every profile is a hit.
        max_distance => case when has_words then 1 - model.similarity_threshold else 2 end
      )
    );
  end if;
  perform private.check_deadline();

  with matches as materialized (
    select profile_id, rank, row_number() over (order by rank desc, profile_id) as place
    from (
      select * from private.keyword_candidates(asked => asked, filter => filter, max_results => max_results)
      where has_words
      union all
      (
        select profile_id, 0
        from private.search_words as stored
        where not has_words
          and private.matches_filter(stored.profile_id, stored.words, filter)
          and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
        order by profile_id
        limit max_results
      )
    ) as found
  ),
  -- Nobody is put before those of an earlier block.
  candidates as materialized (
    select either.profile_id, rank,
      -- Without words to score, one block does.
      case
        when neighbour is null and (has_words or query_vector is null) then (place - 1) / block_size else 0
      end as block
    from matches
    full join unnest(neighbour_ids) as neighbour on neighbour = matches.profile_id
    cross join lateral (select coalesce(matches.profile_id, neighbour) as profile_id) as either
  ),
  wanted as materialized (
    select first_block, (select count(*) from candidates where block between 1 and first_block - 1) as skipped
    from (select block as first_block from candidates order by block offset page_offset limit 1) as reached
  ),
  scoring as materialized (
    select profile_id, block
    from candidates
    where block = 0
      or block between (select first_block from wanted)
        and coalesce((select block from candidates order by block offset page_end - 1 limit 1), max_results)
  ),
  -- These three are materialized so that each step gets columns, without which its functions are not inlined.
  scored as materialized (
    select
      *,
      private.final_score(
        semantic_weight => own_weight, keyword => keyword, semantic => semantic, in_name => named,
        has_all_words => has_words and coalesce(coverage > 0.999999, false)
      ) as query_score
    from scoring
    left join private.keyword_scores(
      ids => array(select profile_id from scoring where has_words), asked => asked,
      words_asked => (select max(place) from unnest(asked.terms))
    ) as exact using (profile_id)
    cross join lateral (
      select
        case when entry.model = query_model then 1 - (entry.embedding <=> query_vector) end as cosine,
        case when entry.model = query_model then 1 - (entry.embedding <=> context_vector) end as context_cosine
      from private.search_entries as entry
      where entry.profile_id = scoring.profile_id
      -- Makes Postgres look up the entries instead of reading all.
      offset 0
    ) as entry
    cross join lateral (
      select
        -- Without words every profile is a hit, with score 1 unless the caller's context ranks them.
        case when has_words then coalesce(coverage * exact.score, 0) else (query_vector is null)::integer end
          as keyword,
        greatest(0, names_share - coalesce(names_found, 0)) as names_missing,
        -- An entry without a vector (such as one whose words the model does not know) is scored by words alone.
        case when cosine is null then 0 else weight end as own_weight,
        coalesce(in_name, false) as named,
        private.context_nearness(cosine => context_cosine, model => model) as context
    ) as parts
    cross join lateral (
      select private.semantic_score(cosine => cosine, model => model, names_missing => names_missing) as semantic
    ) as by_meaning
  ),
  shown as materialized (
    select *, private.shown_score(query_score, weight) as shown
    from scored
  ),
  ranked as materialized (
    select
      *,
      shown + private.context_bonus(
        shown => shown, nearness => context, highest => case when keyword > 0 then 1 else 0.7 end
      ) as own_score
    from shown
  ),
  page as (
    select
      *,
      -- Scores never rise down the list: those behind the first block stay between the ranks of their own and the next.
      case when block = 0 then own_score else least(
        last_shown * coalesce((select max(rank) from candidates where candidates.block = ranked.block) / last_rank, 1),
        greatest(
          own_score,
          last_shown * (select max(rank) from candidates where candidates.block = ranked.block + 1) / last_rank
        )
      ) end as shown_score
    from ranked
    cross join (
      select
        (select min(own_score) from ranked where block = 0) as last_shown,
        (select nullif(max(rank), 0) from candidates where block > 0) as last_rank
    ) as ends
    order by block, own_score desc, keyword desc, cosine desc nulls last, profile_id
    limit greatest(0, least(page_limit, max_results - page_offset))
    offset page_offset - coalesce((select skipped from wanted), 0)
  )
  select
    coalesce(json_agg(body order by block, own_score desc, keyword desc, cosine desc nulls last, profile_id), '[]'),
    (select least(max_results, count(*)) from candidates),
    case
      when facets is not null then private.facet_distribution(facets, array(select profile_id from candidates))
    end
  into hits, total, distribution
  from page
  cross join lateral (
    select case
      when explain then (
        private.hit_body(entry, shown_score)::jsonb || jsonb_build_object('_rankingScoreDetails', jsonb_build_object(
          'words', private.keyword_details(ranks), 'coverage', coverage, 'keyword', keyword,
          'cosine', cosine, 'similarityFloor', model.similarity_floor, 'similarityCeiling', model.similarity_ceiling,
          'namesMissing', names_missing, 'semantic', semantic, 'ratio', semantic_ratio, 'trust', model.trust,
          'named', named, 'context', context
        ))
      )::json
      else private.hit_body(entry, shown_score)
    end as body
    from private.search_entries as entry
    where entry.profile_id = page.profile_id
    offset 0
  ) as printed;
  perform private.check_deadline();
  if (request ->> 'highlight')::boolean then
    hits := private.highlight(hits => hits, asked => asked);
  end if;
  return (
    left(
      json_build_object(
        'hits', hits, 'query', coalesce(request ->> 'q', ''), 'estimatedTotalHits', total, 'limit', page_limit,
        'offset', page_offset
      )::text,
      -1
    ) || coalesce(', "facetDistribution" : ' || distribution, '') || '}'
  )::json;
end
$$;
comment on function private.find_profiles(
  jsonb, private.search_query, private.search_filter, extensions.halfvec, extensions.halfvec, double precision
) is
  'The ranking of a search {q, model, limit, offset, explain, facets, highlight}: profiles that contain words of the
query or are similar to it in meaning, filtered, best first. At most 1,000 count by words and 100 by meaning. Facets are
counted over all candidates.';

create function api.search_profiles(request jsonb)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  understood constant json := case when request ? 'guess' then api.understand_query(request) end;
  asked private.search_query := case
    when request ? 'asked' then jsonb_populate_record(null::private.search_query, request -> 'asked')
    when request ? 'guess' then json_populate_record(null::private.search_query, understood -> 'asked')
    else private.read_query(coalesce(request ->> 'words', request ->> 'q', ''))
  end;
  filter private.search_filter;
  query_vector extensions.halfvec := (request ->> 'vector')::extensions.halfvec;
  context_vector extensions.halfvec;
  liked private.search_entries;
begin
  if understood ->> 'text' is distinct from request ->> 'guess' then
    return json_build_object('understood', understood);
  end if;
  perform set_config('api.time_limit', coalesce(request ->> 'timeout' || ' ms', ''), true);
  filter := private.read_filter(request, asked, me);
  if request ->> 'like' is not null then
    liked := private.like_profile((request ->> 'like')::bigint, me);
    filter.hidden_ids := filter.hidden_ids || liked.profile_id;
    filter.passing := array_remove(filter.passing, liked.profile_id);
    if liked.model = request ->> 'model' then
      -- Halfway between the query and the profile; one of them if the other has no vector.
      query_vector := coalesce(
        extensions.l2_normalize(query_vector) operator(extensions.+) extensions.l2_normalize(liked.embedding),
        liked.embedding, query_vector
      );
    elsif cardinality(asked.units) = 0 then
      -- It is not embedded yet, so who is like it is found by words.
      asked := private.read_query(array_to_string(liked.interests, ' '));
    end if;
  elsif me is not null then
    select embedding into context_vector
    from private.search_contexts
    where user_id = me and search_contexts.model = request ->> 'model';
  end if;
  perform private.check_deadline();
  return private.find_profiles(
    request => request, asked => asked, filter => filter, query_vector => query_vector,
    context_vector => context_vector,
    -- The contract's two ratios.
    semantic_ratio => case when me is null then 0.5 else 0.7 end
  );
end
$$;
comment on function api.search_profiles(jsonb) is
  'Searches profiles for {q, asked, guess, vector, model, interests, cities, countries, limit, offset, explain, facets,
highlight, like, timeout}. `guess`, with what api.understand_query takes, stands for `asked`: the text that the vector
was made from, as api.understand_query returned it before. If that has changed, the answer is {understood}. A user''s
search prefers what is near to their own context. `like` is a profile that takes the place of the context, and ranks by
itself if there is no `q`. After `timeout` milliseconds the search is cancelled (57014). Definer, because no role may
read the index; this function is the only access to it, beside api.complete_search.';
grant execute on function api.search_profiles(jsonb) to edge_functions;

-- Where hits have the words of a query, if a search asks for highlights.

create function private.word_places(value text)
returns table (place integer, word text, start integer, length integer)
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  letters constant text := private.unspaced_letters();
  -- What folds into nothing else and belongs to no word.
  between constant text := '[:space:][:cntrl:]!-/:-@\[-`{-~\u00a1\u00a7\u00ab\u00b6'
    || '\u00b7\u00bb\u00bf\u2010-\u2027\u2030-\u205e\u3001-\u301f';
begin
  return query
    select
      (row_number() over (order by number, position))::integer, folded.word, char_start, char_length(token)
    from (
      select
        ordinality as number, part[2] as token,
        (sum(char_length(part[1]) + char_length(part[2])) over (order by ordinality))::integer - char_length(part[2])
          as char_start
      from regexp_matches(
        value,
        -- A voiced sound mark belongs to the kana before it.
        '([' || between || ']*)([' || letters || '][\u3099\u309a\uff9e\uff9f]*|[^' || between || letters || ']+)', 'g'
      ) with ordinality as matched (part, ordinality)
    ) as tokens
    cross join lateral unnest(private.words_of(token)) with ordinality as folded (word, position);
end
$$;
comment on function private.word_places(text) is
  'The words of a text as private.words_of has them, and where each stands in the text as written: from which character,
0 for the first, and how many. If what is written together folds into several words, it belongs to each.';

create type private.text_match as (
  hit integer,
  field text,
  element integer,
  unit integer,
  start integer,
  length integer
);
comment on type private.text_match is
  'Where a field of a hit has a word or phrase of a query, in characters. `hit`: which hit of the page, from 1;
`element`: which of the values, for a field with several, from 0.';

create function private.text_matches(hits json, asked private.search_query)
returns setof private.text_match
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  -- What half of the profiles have, as "the" and "in", would hide the words that say something. With 25 profiles or
  -- fewer no word is common.
  common constant double precision := ln(1 + 2);
  telling constant integer[] := array(
    select unit
    from unnest(asked.units)
    where quoted or holders <= 25 or rarity > common or (select max(rarity) from unnest(asked.units)) <= common
  );
  wanted constant text[] := array(
    select distinct word
    from (
      select term.word, term.unit from unnest(asked.terms) as term
      union all
      select part.word, part.unit from unnest(asked.words) as part where not excluded
    ) as words
    where unit = any (telling)
  );
  -- The o of O'Brien is marked where another word of the query follows.
  letters constant integer[] := array(
    select unit from unnest(asked.words) where word ~ '^[a-z]$' and not quoted and cardinality(asked.units) > 1
  );
begin
  return query
    with texts as (
      select ordinality::integer as hit, printed.field, printed.element, value
      from json_array_elements(hits) with ordinality as listed (body, ordinality)
      cross join lateral (
        select named.field, null::integer as element, body ->> named.field as value
        from unnest(array['name', 'city', 'country', 'biography']) as named (field)
        union all
        select 'interests', ordinality::integer - 1, interest.value
        from json_array_elements_text(body -> 'interests') with ordinality as interest (value, ordinality)
      ) as printed
    ),
    words as materialized (
      select texts.hit, texts.field, texts.element, word_places.*
      from texts
      -- `offset 0` keeps Postgres from folding a text for each word.
      cross join lateral (select private.fold(value) as folded offset 0) as whole
      cross join lateral private.word_places(value)
      -- Most texts have none of the words. To look for them takes a tenth of the time.
      where exists (select from unnest(wanted) as word where position(word in folded) > 0)
    ),
    phrases as materialized (
      select
        part.unit, part.word,
        row_number() over (partition by part.unit order by position) as number,
        count(*) over (partition by part.unit) as size
      from unnest(asked.words) as part
      where not excluded and part.unit = any (telling)
    ),
    terms as materialized (
      select * from unnest(asked.terms) as term where term.unit in (select phrases.unit from phrases where size = 1)
    ),
    words_found as (
      select words.hit, words.field, words.element, terms.unit, terms.typos, words.start, words.length
      from words
      join terms on terms.word = words.word and not is_prefix
      union
      select words.hit, words.field, words.element, terms.unit, 0, words.start, words.length
      from words
      join terms on starts_with(words.word, terms.word) and is_prefix
    )
    select ranked.hit, ranked.field, ranked.element, ranked.unit, ranked.start, ranked.length
    from (
      select *, rank() over (partition by words_found.hit, words_found.unit order by typos) as rank
      from words_found
    ) as ranked
    where rank = 1 and (
      ranked.unit <> all (letters) or exists (
        select
        from words_found as following
        where (following.hit, following.field) = (ranked.hit, ranked.field)
          and following.element is not distinct from ranked.element
          and following.start = ranked.start + ranked.length + 1
      )
    )
    union all
    -- Each word of a phrase says where the phrase would begin. All of them say so where it does.
    select words.hit, words.field, words.element, phrases.unit, min(words.start),
      max(words.start + words.length) - min(words.start)
    from words
    join phrases on phrases.word = words.word and size > 1
    group by words.hit, words.field, words.element, phrases.unit, size, place - number
    having count(*) = size;
end
$$;
comment on function private.text_matches(json, private.search_query) is
  'Where hits have the words of a query, as typed, completed or corrected, and its phrases, without those that half of
the profiles have, unless all are such or they are quoted. Of each word only the matches with the fewest typing
errors in the hit, as in its score.';

-- What else a search says if it is asked to: the part of a biography that shows the words, facet counts, and nearness
-- to one profile.

create type private.snippet as (
  text text,
  start integer,
  length integer
);
comment on type private.snippet is
  'A part of a biography. `start` and `length` say which characters, without the ellipses.';

create function private.snippet_of(biography text, matches private.text_match[])
returns private.snippet
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  max_length constant integer := 160;
  -- With an ellipsis at each end.
  room constant integer := max_length - 2;
  size constant integer := char_length(biography);
  part_of_word constant text := '[^[:space:]' || private.unspaced_letters() || ']+';
  -- Accents, and the vowel signs of the scripts without spaces.
  combining constant text := '[\u0300-\u036f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece'
    || '\u102b-\u103e\u17b6-\u17d3\u3099\u309a]';
  first integer := 0;
  last integer := 0;
  start integer;
  ending integer;
  whole integer;
begin
  if biography is null then
    return null;
  elsif size <= max_length then
    return row(biography, 0, size)::private.snippet;
  end if;
  -- From the match after which most words of the query follow, near enough for the last one to be whole. In one pass:
  -- with a join of all pairs, 100 biographies of a thousand matches each took a minute.
  select window_start, window_end
  into first, last
  from (
    select
      match.start as window_start,
      least(match.start + room, max(match.start + match.length) over following) as window_end,
      bit_count((bit_or(1::bigint << match.unit) over following)::bit(64)) as units,
      count(*) over following as matches_found
    from unnest(matches) as match
    window following as (order by match.start range between current row and 100 following)
  ) as windows
  order by units desc, matches_found desc, window_start
  limit 1;
  first := coalesce(first, 0);
  last := coalesce(last, 0);

  start := greatest(0, least(first - (room - (last - first)) / 2, size - room - 1));
  ending := case when start = 0 then room + 1 when start + room + 1 >= size then size else start + room end;
  if start > 0 then
    -- Not from the middle of a word, nor from a space or a mark, unless the match begins there.
    start := start + char_length(substring(
      substr(biography, start + 1, first - start) from '^'
        || case when substr(biography, start, 1) ~ part_of_word then '(?:' || part_of_word || ')?' else '' end
        || '[[:space:]]*' || combining || '*'
    ));
  end if;
  if ending < size then
    whole := ending - char_length(substring(
      substr(biography, last + 1, ending - last) from '[[:space:]]*'
        || case when substr(biography, ending + 1, 1) ~ part_of_word then '(?:' || part_of_word || ')?' else '' end
        || '$'
    ));
    -- A word that fills the snippet is cut.
    ending := case when whole > start then whole else ending end;
    while ending > start + 1 and substr(biography, ending + 1, 1) ~ combining loop
      ending := ending - 1;
    end loop;
  end if;
  return row(
    case when start > 0 then '…' else '' end || substr(biography, start + 1, ending - start)
      || case when ending < size then '…' else '' end,
    start,
    ending - start
  )::private.snippet;
end
$$;
comment on function private.snippet_of(text, private.text_match[]) is
  'The 160 characters of a biography that have the most words of a query, or its beginning if it has none: cut between
words, with an ellipsis, which counts, where text is left out. Null for no biography.';

create function private.highlight_together(hits json, asked private.search_query)
returns json
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return (
    with matches as materialized (
      select * from private.text_matches(hits, asked)
    ),
    snippets as materialized (
      select
        hit, body, (snippet).*,
        -- Characters before the snippet, for which it has an ellipsis.
        greatest(0, (snippet).start - 1) as hidden
      from (
        select
          ordinality::integer as hit, body,
          private.snippet_of(body ->> 'biography', coalesce(in_biography, '{}')) as snippet
        from json_array_elements(hits) with ordinality as listed (body, ordinality)
        left join (
          select hit, array_agg(row(matches.*)::private.text_match) as in_biography
          from matches
          where field = 'biography'
          group by hit
        ) as biographies on hit = ordinality
        offset 0
      ) as cut
    ),
    ranges as (
      select hit, field, element, int4range(matches.start, matches.start + matches.length) as range
      from matches
      union all
      select hit, '_snippet', null, int4range(lower(shown) - hidden, upper(shown) - hidden)
      from matches
      join snippets using (hit)
      cross join lateral (
        select int4range(matches.start, matches.start + matches.length)
          * int4range(snippets.start, snippets.start + snippets.length)
      ) as cut (shown)
      where field = 'biography' and not isempty(shown)
    ),
    fields as (
      select hit, field, jsonb_agg(
        jsonb_strip_nulls(jsonb_build_object(
          'index', element, 'start', lower(range), 'length', upper(range) - lower(range)
        ))
        order by element, range
      ) as places
      from (
        select hit, field, element, unnest(range_agg(range)) as range
        from ranges
        group by hit, field, element
      ) as merged
      group by hit, field
    )
    select coalesce(
      json_agg(
        body::jsonb || jsonb_build_object('_snippet', snippets.text, '_matches', coalesce(places, '{}')) order by hit
      ),
      '[]'
    )
    from snippets
    left join (
      select hit, jsonb_object_agg(field, places) as places from fields group by hit
    ) as found using (hit)
  );
end
$$;
comment on function private.highlight_together(json, private.search_query) is
  'What highlight returns, in one step.';

create function private.highlight(hits json, asked private.search_query)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  step json;
  highlighted json[] := array[]::json[];
begin
  -- A hit whose longest biography is full of matches takes 10 to 50 ms, and a page has up to a hundred. Ordinary pages
  -- are one step or two.
  for step in
    select json_agg(body order by ordinality)
    from (
      select body, ordinality, sum(char_length(body::text)) over (order by ordinality) / 10000 as number
      from json_array_elements(hits) with ordinality as listed (body, ordinality)
    ) as numbered
    group by number
    order by number
  loop
    highlighted := highlighted || array(select json_array_elements(private.highlight_together(step, asked)));
    perform private.check_deadline();
  end loop;
  return array_to_json(highlighted);
end
$$;
comment on function private.highlight(json, private.search_query) is
  'The hits with _matches, {field: [{start, length}]} in characters of the field as printed (for interests also
`index`), and _snippet, which is such a field too. Matches that touch are one.';

create function private.facet_distribution(facets text[], ids bigint[])
returns json
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
-- Otherwise each spelling is compared with each value, because the plan expects few.
set enable_nestloop = off
as $$
begin
  return (
    with listed as materialized (
      select facet, value, profile_id
      from private.search_entries as entry
      cross join lateral (
        select 'interests' as facet, unnest(entry.interests) as value
        union all
        values ('city', entry.city), ('country', entry.country)
      ) as printed
      where profile_id = any (ids) and facet = any (facets) and trim(value) <> ''
    ),
    -- Folding takes longer than counting, so each spelling is folded once.
    spellings as materialized (
      select
        facet, value, holders, folded, count(*) over (partition by facet, folded) as alternatives,
        row_number() over (partition by facet, folded order by holders desc, value collate "C") as place
      from (
        select facet, value, count(*) as holders, private.facet(facet, value) as folded
        from listed
        group by facet, value
      ) as grouped
    ),
    -- A profile with two spellings counts once. To count all values so was half of the time.
    counted as (
      select facet, folded, count(distinct profile_id) as holders
      from listed
      join (select facet, value, folded from spellings where alternatives > 1) as several using (facet, value)
      group by facet, folded
    )
    select coalesce(json_object_agg(facet, coalesce(distribution, '{}')), '{}')
    from unnest(facets) as facet
    left join (
      select facet, json_object_agg(value, holders order by holders desc, value collate "C") as distribution
      from (
        select facet, value, coalesce(counted.holders, spellings.holders) as holders
        from spellings
        left join counted using (facet, folded)
        where place = 1
      ) as named
      group by facet
    ) as distributions using (facet)
  );
end
$$;
comment on function private.facet_distribution(text[], bigint[]) is
  'How many of these profiles have each value: {facet: {value: count}}, the most frequent first. Values that differ only
in case, accents or spaces at the ends count as one, which is printed as most of the profiles print it.';

create function private.like_profile(profile bigint, caller bigint)
returns private.search_entries
language plpgsql stable security invoker set search_path = ''
as $$
declare
  liked private.search_entries;
begin
  select * into liked
  from private.search_entries
  where profile_id = profile and user_id <> all (coalesce(private.blocked_users_of(caller), '{}'));
  if liked.profile_id is null then
    raise sqlstate 'PT404' using message = 'No such profile';
  end if;
  return liked;
end
$$;
comment on function private.like_profile(bigint, bigint) is
  'The profile that a search compares others to. 404 unless it is searchable, its owner active, and no block between
them and the caller.';

-- What the text of a search box may go on to. Searches themselves do not use it.

create function private.completion_keys(name text, city text, interests text[])
returns tsvector
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return array_to_tsvector(array(
    select left(kind || ' ' || array_to_string(words[first_word:], ' '), 60)
    from (
      values ('names', name), ('cities', city)
      union all
      select 'interests', unnest(interests)
    ) as printed (kind, value)
    cross join lateral (select private.words_of(value) as words) as split
    cross join lateral generate_series(1, least(8, cardinality(words))) as first_word
  ));
end
$$;
comment on function private.completion_keys(text, text, text[]) is
  'What a profile completes: each value from each of its first eight words to its end, folded, after its kind.';

create table private.search_completions (
  profile_id bigint primary key references private.search_entries (profile_id) on delete cascade,
  keys tsvector not null
);
comment on table private.search_completions is
  'What each entry completes (private.completion_keys). Not an index on the entries, which each saved embedding would
write again.';
create index search_completions_keys_idx on private.search_completions using gin (keys) with (fastupdate = off);
alter table private.search_completions enable row level security;

create function private.sync_completions()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  insert into private.search_completions (profile_id, keys)
  values (
    new.profile_id, private.completion_keys(name => new.name, city => new.city, interests => new.interests)
  )
  on conflict (profile_id) do update set keys = excluded.keys;
  return null;
end
$$;
comment on function private.sync_completions() is
  'Updates what an entry completes. Definer, as refresh_search_entry.';

create trigger sync_new_completions
  after insert on private.search_entries
  for each row
  execute function private.sync_completions();

create trigger sync_changed_completions
  after update of name, city, interests on private.search_entries
  for each row
  when ((old.name, old.city, old.interests) is distinct from (new.name, new.city, new.interests))
  execute function private.sync_completions();

create function private.completions(kind text, parts text[], hidden_ids bigint[], max_results integer)
returns json
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  prefixes constant tsquery := (
    select private.all_of((private.lexeme(left(kind || ' ' || part, 60)) || ':*')::tsquery) from unnest(parts) as part
  );
begin
  return (
    with found as materialized (
      select profile_id
      from private.search_completions
      where keys @@ prefixes and profile_id <> all (hidden_ids)
      limit 200
    ),
    spellings as materialized (
      select value, count(*) as holders
      from found
      join private.search_entries using (profile_id)
      cross join lateral unnest(
        case kind when 'names' then array[name] when 'cities' then array[city] else interests end
      ) as value
      group by value
    ),
    completed as (
      select
        (array_agg(value order by holders desc, value collate "C"))[1] as value,
        row_number() over (order by starts_with(folded, parts[1]) desc, sum(holders) desc, folded) as place
      from spellings
      cross join lateral (select private.fold(trim(value)) as folded offset 0) as keys
      -- Of a profile's interests, those that are meant.
      where kind <> 'interests' or not exists (
        select from unnest(parts) as part
        where ' ' || array_to_string(private.words_of(value), ' ') not like '% ' || part || '%'
      )
      group by folded
    )
    select coalesce(json_agg(value order by place), '[]') from completed where place <= max_results
  );
end
$$;
comment on function private.completions(text, text[], bigint[], integer) is
  'Values of a kind, names, cities or interests, of searchable profiles, that go on from each of the typed parts at
their beginning or from a later word. First those that begin with them, then the most frequent in 200 profiles that
have one.';

create function private.complete(parts text[], hidden_ids bigint[], max_results integer)
returns json
language plpgsql stable security invoker
set search_path = ''
as $$
begin
  return json_build_object(
    'interests',
    private.completions(kind => 'interests', parts => parts, hidden_ids => hidden_ids, max_results => max_results),
    'cities',
    private.completions(kind => 'cities', parts => parts, hidden_ids => hidden_ids, max_results => max_results),
    'names',
    private.completions(kind => 'names', parts => parts, hidden_ids => hidden_ids, max_results => max_results)
  );
end
$$;
comment on function private.complete(text[], bigint[], integer) is
  'What goes on from the typed parts: {interests, cities, names}.';

create function api.complete_search(request jsonb)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  max_results constant integer := (request ->> 'limit')::integer;
  words constant text[] := private.words_of(request ->> 'q');
  hidden_ids constant bigint[] := private.hidden_profiles_of(private.my_id());
  none constant json := json_build_object('interests', '[]'::json, 'cities', '[]'::json, 'names', '[]'::json);
  -- The last word, if it is long enough to mean something in a sentence.
  last_words constant text[] := private.words_of(substring(request ->> 'q' from '\S\s+(\S{3,})$'));
  completed json;
begin
  if cardinality(words) = 0 then
    return none;
  end if;
  completed := private.complete(
    parts => array[array_to_string(words, ' ')], hidden_ids => hidden_ids, max_results => max_results
  );
  -- Else each word for itself, as a search would read it: Zoe Lop(ez) of Zoe Maria Lopez, obr(ien), hikng.
  if completed::text = none::text then
    completed := private.complete(
      parts => array(
        select coalesce(
          (
            select corrections.word
            from private.corrections_of(piece, true) as corrections
            where not exists (
              select from private.search_lexicon as lexicon
              where lexicon.word >= piece and lexicon.word <= piece || u&'\+10FFFF'
            )
            order by corrections.typos, corrections.word
            limit 1
          ),
          piece
        )
        from unnest(words[:10]) as word
        cross join unnest(private.split_of(word, true)) as piece
      ),
      hidden_ids => hidden_ids, max_results => max_results
    );
  end if;
  -- Else the last word, after what is written: hiking in Lis(bon). A name is typed from its beginning.
  if completed::text = none::text and cardinality(last_words) > 0 then
    select json_object_agg(
      kind,
      (
        select coalesce(json_agg(substring(request ->> 'q' from '^.*\s') || value), '[]')
        from json_array_elements_text(listed) as value
        where kind <> 'names'
      )
    )
    into completed
    from json_each(
      private.complete(
        parts => array[array_to_string(last_words, ' ')], hidden_ids => hidden_ids, max_results => max_results
      )
    ) as completions (kind, listed);
  end if;
  return completed;
end
$$;
comment on function api.complete_search(jsonb) is
  'What the text of a search box, {q, limit}, may go on to: {interests, cities, names} of the profiles that a search of
the caller finds. Definer, as api.search_profiles.';
grant execute on function api.complete_search(jsonb) to edge_functions;

-- Embeddings of profiles and of users' contexts are made later: the queue that the Edge Function embed takes them from.

create table private.embedding_queue (
  kind text not null check (kind in ('profile', 'context')),
  id bigint not null,
  attempts integer not null default 0,
  failures integer not null default 0,
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
  'How often a worker began to embed it and was killed, or the provider refused it by itself. A worker claims what its
next call embeds and nothing else, so one that is killed does not count against texts that it had not begun. Nor do
failures of the provider count, so an outage makes no dead letters, however long it lasts.';
comment on column private.embedding_queue.failures is
  'How often it was tried for whatever reason: the next attempt waits longer after each, and it is tried alone.';
comment on column private.embedding_queue.due_at is
  'When the next attempt may begin. Until then the worker of the last one has it, or it waits after a failure.';
comment on column private.embedding_queue.last_error is
  'Why the last attempt failed; null if it was not told: its worker is at it, or was killed.';
comment on column private.embedding_queue.queued_at is
  'Since when the embedding is missing. Another change of the text does not reset it.';
comment on column private.embedding_queue.model is
  'The model of the attempts and failures. They start again at 0 for another model, which may accept what this one
refused.';
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
  on conflict (kind, id) do update set attempts = 0, failures = 0, due_at = now(), last_error = null;
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

create function private.adopt_model(wanted text)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
  insert into private.search_models (name, similarity_floor, similarity_ceiling, similarity_threshold, trust)
  values (wanted, 0.1, 0.6, 0.3, 3.0 / 7)
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
  on conflict (kind, id) do update set attempts = 0, failures = 0, due_at = now(), last_error = null, model = wanted
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
      select kind, id, failures, due_at
      from private.embedding_queue
      where not newest and due_at <= now() and attempts < 8
      order by due_at
      limit max_jobs
      for update skip locked
    ),
    -- Profiles before contexts, because others look for them.
    newest_untried as (
      select kind, id, failures, due_at
      from private.embedding_queue
      where newest and due_at <= now() and attempts < 8 and failures = 0
      order by due_at desc, kind desc
      limit max_jobs
      for update skip locked
    ),
    due as (
      select
        kind, id, failures, row_number() over (order by due_at) as place,
        first_value(failures) over (order by due_at) as first_failures
      from (select * from oldest_due union all select * from newest_untried) as locked
    ),
    taken as (
      update private.embedding_queue
      set
        attempts = attempts + 1,
        failures = failures + 1,
        -- The worker has half a minute. Then the job is due again, later after each failure, up to 16 minutes: after an
        -- outage everything is embedded within that time.
        due_at = now() + interval '30 seconds' * 2 ^ least(failures, 5),
        last_error = null,
        model = wanted
      where (kind, id) in (
        select kind, id
        from due
        -- What was tried before is tried alone: it may be what made its call fail, or killed its worker.
        where failures = 0 and first_failures = 0 or place = 1
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
that have been due longest, or the newest of those that were never tried. A job that was tried before comes alone. Two
workers never get the same job. Definer, because edge_functions has no rights on the queue.';
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

create function private.fail_embeddings(jobs jsonb, reason text, refused boolean)
returns void
language sql volatile security definer set search_path = ''
as $$
  update private.embedding_queue as job
  set
    last_error = left(reason, 500),
    -- claim_embeddings has counted it already, for the case that the worker is killed. Since then the text may have
    -- changed.
    attempts = case when refused then attempts else greatest(attempts - 1, 0) end
  from jsonb_to_recordset(jobs) as failed (kind text, id bigint)
  where job.kind = failed.kind and job.id = failed.id
$$;
comment on function private.fail_embeddings(jsonb, text, boolean) is
  'Records why jobs failed. Only if the provider refused a text by itself, the attempt counts against it.
claim_embeddings has already set when they are due again. Definer, because edge_functions has no rights on the queue.';
grant execute on function private.fail_embeddings(jsonb, text, boolean) to edge_functions;

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

create function private.sweep_lexicon()
returns void
language plpgsql volatile security invoker
set search_path = ''
set lock_timeout = '200ms'
as $$
declare
  removed text[];
begin
  -- Every change of a profile inserts into the lexicon, if only nothing. So this waits for the changes under way, and
  -- later ones wait for the sweep: a word that one of them has found in the lexicon is not taken for unused. On a busy
  -- database the wait ends, and the words stay until the next sweep.
  lock table private.search_lexicon in share row exclusive mode;
  -- Hiding a profile adds no word, so it does not wait. Only the rows that are seen here are deleted: one that is added
  -- meanwhile, for a word that its profile still had when it was looked for below, is for the next sweep.
  with taken as (
    delete from private.search_removed_words returning word
  )
  select array_agg(distinct word) into removed from taken;
  delete from private.search_lexicon
  where word = any (removed)
    and not exists (
      select from private.search_words where words @@ private.lexeme(search_lexicon.word)::tsquery
    );
  delete from private.search_lexicon
  where ctid in (
    select ctid
    from (select ctid, row_number() over (partition by word) as copy from private.search_lexicon) as copies
    where copy > 1
  );
exception
  when lock_not_available then
    return;
end
$$;
comment on function private.sweep_lexicon() is
  'Deletes from the lexicon the words that no profile has any more, and second copies.';

create function private.audit_search_index()
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  perform private.sweep_lexicon();
  return (
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
      select expected.profiles, expected.id, expected.name, expected.interests
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
      left join private.search_words as stored on stored.profile_id = sample.id
      where stored.words is distinct from private.words_vector(
        profile => sample.profiles, name => sample.name, interests => sample.interests
      )
      union all
      select 'unlisted', count(distinct word)
      from sample
      join private.search_words as stored on stored.profile_id = sample.id
      cross join lateral unnest(tsvector_to_array(stored.words)) as listed (word)
      where word !~ '^[.@]' and word not in (select lexicon.word from private.search_lexicon as lexicon)
        and stored.profile_id not in (select profile_id from private.search_lexicon_queue)
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
    select json_object_agg(finding, amount order by finding) from findings
  );
end
$$;
comment on function private.audit_search_index() is
  'Sweeps the lexicon, and counts the differences between the index and the profiles. missing: not in the index, but
should be; surplus: in it, but should not be; stale: with other texts; misworded: with other words, and unlisted: words
that the lexicon lacks and does not wait for (both of 100 random profiles); forgotten: without an embedding and not
queued for one.';

create function private.rebuild_search_index()
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  delete from private.search_entries as entry
  where not exists (
    select
    from public.profiles
    join public.users on users.id = profiles.user_id
    where profiles.id = entry.profile_id and profiles.is_searchable and users.is_active
  );
  -- Makes every entry stale, so that each is written again. An embedding stays if its text is the same.
  update private.search_entries set name = '';
  perform private.refresh_search_entry(id) from public.profiles where is_searchable order by id;
  perform private.refresh_search_context(id) from public.users;
  perform private.sweep_lexicon();
  perform private.drain_lexicon_queue(max_profiles => null);
  insert into private.embedding_queue (kind, id)
  select 'profile', profile_id from private.search_entries where model is null
  union all
  select 'context', user_id from private.search_contexts where model is null
  on conflict (kind, id) do nothing;
  return private.audit_search_index();
end
$$;
comment on function private.rebuild_search_index() is
  'Rebuilds the index from the profiles, and returns the audit. A profile that it has written cannot change until it has
finished, which takes up to 5 ms per profile.';

create function private.describe_search()
returns json
language sql stable security definer set search_path = ''
as $$
  select json_build_object(
    'waiting', count(*) filter (where attempts < 8),
    'dead', count(*) filter (where attempts >= 8),
    'oldest', coalesce(extract(epoch from now() - min(queued_at) filter (where attempts < 8)), 0)
  )
  from private.embedding_queue
$$;
comment on function private.describe_search() is
  'The state of the queue: how many texts wait, how many are dead letters, and the age of the oldest that waits, in
seconds. Definer, because edge_functions has no rights on it.';
grant execute on function private.describe_search() to edge_functions;

-- Realtime events for the participants of a conversation. An event is only a hint that something is new: the tables are
-- the truth, and a client that missed an event catches up by paging with after_id.
create function private.broadcast_to_users(
  event text, conversation bigint, id bigint, previous_id bigint, user_id bigint, one bigint, other bigint
)
returns void
language plpgsql volatile security invoker
set search_path = ''
-- Realtime creates and drops partitions of its table from time to time; a message must not wait for that. Each of the
-- two events may wait this long.
set lock_timeout = '50ms'
as $$
begin
  -- Realtime checks its policies when a client joins, not for each event, so events must not be sent to deactivated
  -- users. There is no topic for the conversation: a plan's limit counts each event, and two say the same as three.
  perform realtime.send(
    jsonb_build_object(
      'conversation_id', conversation, 'id', broadcast_to_users.id, 'previous_id', previous_id,
      'user_id', broadcast_to_users.user_id
    ),
    event, 'user:' || users.id, true
  )
  from public.users
  -- An array instead would be planned again at each call: 50 of the 430 µs of a send.
  where users.id in (one, other) and users.is_active;
exception
  -- The write must succeed even if Realtime fails or does not exist.
  when others then
    raise warning 'Could not broadcast %: %', event, sqlstate;
end
$$;
comment on function private.broadcast_to_users(text, bigint, bigint, bigint, bigint, bigint, bigint) is
  'Broadcasts an event {conversation_id, id, previous_id, user_id} to one or two users, if they are active. Never
raises. Only for definer functions: callers may not send on these topics, and a trigger with the writer''s rights would
send nothing.';

create function private.broadcast_closed()
returns trigger
language plpgsql volatile security definer
set search_path = ''
-- As in broadcast_to_users.
set lock_timeout = '50ms'
as $$
begin
  perform realtime.send(jsonb_build_object('user_id', new.id), 'closed', 'typing:' || conversations.id, true)
  from public.conversations
  where new.id in (voyager_id, local_id);
  return null;
exception
  when others then
    raise warning 'Could not broadcast %: %', 'closed', sqlstate;
    return null;
end
$$;
comment on function private.broadcast_closed() is
  'closed, on the typing: topics of somebody whose account has become inactive: the partners'' devices leave them,
because Realtime lets whoever has joined send until their token ends. Definer, because callers may not send events.';

create trigger broadcast_closed
  after update of is_active on public.users
  for each row
  when (old.is_active and not new.is_active)
  execute function private.broadcast_closed();

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

create function private.is_upload()
returns boolean
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return coalesce(
    storage.operation() in (
      'storage.object.upload', 'storage.object.upload_update',
      'storage.tus.upload.create', 'storage.tus.upload.part', 'storage.tus.upload.delete'
    ),
    false
  );
end
$$;
comment on function private.is_upload() is
  'Whether Storage checks a file that the caller is sending now, at once or in pieces. It also asks the policies before
it copies a file or signs a URL for an upload, and must not do either here. Of a copy it checks neither size nor type,
and the caller may give the copy any type. A signed URL takes its file later, without asking again, so blocks and quotas
would not apply.';
grant execute on function private.is_upload() to authenticated;

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
    and (select private.is_upload())
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
    and (select private.is_upload())
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
  select attachment ->> 'url' !~* '^https://'
$$;
comment on function private.is_storage_path(jsonb) is
  'Whether an attachment must be a file in Storage. An https URL is accepted as it is.';

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

-- Devices: the Web Push subscriptions of users' browsers, as the Push API gives them.
create table private.devices (
  user_id bigint not null references public.users (id) on delete cascade,
  id uuid not null,
  endpoint text not null
    constraint "endpoint has at most 2,048 visible ASCII characters"
    check (char_length(endpoint) <= 2048 and endpoint ~ '^[\u0021-\u007e]+$'),
  p256dh text not null
    constraint "p256dh is a public key in base64url" check (p256dh ~ '^[A-Za-z0-9_-]{87}$'),
  auth text not null
    constraint "auth is 16 bytes in base64url" check (auth ~ '^[A-Za-z0-9_-]{22}$'),
  silences integer not null default 0,
  silent_until timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  primary key (user_id, id)
);
comment on table private.devices is
  'Where pushes for a user go. The endpoint and the keys are what a browser hands out for one subscription; whoever
knows them can push to it.';
comment on column private.devices.silences is
  'How often its push service has not answered in time since it last did. It gets no push, of any conversation, before
silent_until.';
create unique index devices_endpoint_key on private.devices (endpoint);
comment on index private.devices_endpoint_key is
  'A browser belongs to whoever logged in there last, so that nobody else''s messages are shown on it.';
alter table private.devices enable row level security;

create function private.my_devices()
returns json
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
    select coalesce(
      json_agg(
        json_build_object(
          'id', id, 'endpoint', endpoint, 'keys', json_build_object('p256dh', p256dh, 'auth', auth),
          'createdAt', private.iso(created_at)
        )
        order by created_at desc, id
      ),
      '[]'
    )
    from private.devices
    where user_id = (select private.my_id())
  );
end
$$;
comment on function private.my_devices() is
  'The caller''s devices as [{id, endpoint, keys, createdAt}], newest first. Definer, because callers have no grant on
devices.';
grant execute on function private.my_devices() to authenticated;

create function api.list_devices()
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return private.my_devices();
end
$$;
comment on function api.list_devices() is 'The caller''s devices, newest first.';
grant execute on function api.list_devices() to edge_functions;

create function api.put_device(device uuid, subscription jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
begin
  -- Serialize concurrent calls of one user, so that the limit holds. An erasure waits, or has happened.
  perform private.lock_me();
  -- Serialize calls of different users with the same endpoint: the second takes the device over.
  perform pg_advisory_xact_lock(hashtextextended('device ' || (subscription ->> 'endpoint'), 0));
  delete from private.devices where endpoint = subscription ->> 'endpoint' and (user_id, id) <> (me, device);
  if (select count(*) from private.devices where user_id = me and id <> device) >= 10 then
    raise sqlstate 'PT400' using message = 'device: you cannot have more than 10 devices', hint = 'too_many';
  end if;
  insert into private.devices as known (user_id, id, endpoint, p256dh, auth)
  values (
    me, device, subscription ->> 'endpoint', subscription #>> '{keys,p256dh}', subscription #>> '{keys,auth}'
  )
  on conflict (user_id, id) do update
  set
    endpoint = excluded.endpoint, p256dh = excluded.p256dh, auth = excluded.auth,
    silences = case when known.endpoint = excluded.endpoint then known.silences else 0 end,
    silent_until = case when known.endpoint = excluded.endpoint then known.silent_until end;
  return to_json(true);
end
$$;
comment on function api.put_device(uuid, jsonb) is
  'Stores a subscription {endpoint, keys: {p256dh, auth}} as the caller''s device; a repeat changes nothing. Whoever had
the endpoint before loses it. Definer, because no caller has a grant on devices.';
grant execute on function api.put_device(uuid, jsonb) to edge_functions;

create function api.delete_device(device uuid)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
begin
  delete from private.devices where user_id = private.my_id() and id = device;
  return to_json(true);
end
$$;
comment on function api.delete_device(uuid) is
  'Removes a device of the caller; a repeat changes nothing. Definer, as put_device.';
grant execute on function api.delete_device(uuid) to edge_functions;

-- What users want to be told while they are away, and when not.
create table private.outbox_settings (
  singleton boolean primary key default true check (singleton),
  delay_seconds integer not null default 600
    constraint "delay_seconds is at most a day" check (delay_seconds between 0 and 86400),
  webhooks boolean not null default false,
  inner_key text not null default gen_random_uuid()::text || gen_random_uuid()::text,
  outer_key text not null default gen_random_uuid()::text || gen_random_uuid()::text
);
comment on table private.outbox_settings is
  'What the triggers must know of the environment of the function notify, which writes it when it starts, and the keys
that sign the links to unsubscribe. One row.';
alter table private.outbox_settings enable row level security;
insert into private.outbox_settings default values;

create table private.notification_settings (
  user_id bigint primary key references public.users (id) on delete cascade,
  push boolean not null default true,
  email boolean not null default true,
  delay_minutes integer
    constraint "delay_minutes is 0 to 1,440" check (delay_minutes between 0 and 1440),
  quiet_from time,
  quiet_to time,
  time_zone text
    constraint "time_zone has at most 64 characters" check (char_length(time_zone) <= 64),
  previews boolean not null default false,
  constraint "quiet hours have a beginning, an end and a time zone"
    check (num_nulls(quiet_from, quiet_to, time_zone) in (0, 3)),
  constraint "quiet hours end at another time than they begin" check (quiet_from <> quiet_to)
);
comment on table private.notification_settings is
  'What each user has chosen; whoever has no row has the defaults.';
comment on column private.notification_settings.delay_minutes is 'Null: not chosen, so outbox_settings.delay_seconds.';
comment on column private.notification_settings.previews is 'Whether pushes and mails quote the latest message.';
alter table private.notification_settings enable row level security;

create function private.notification_settings_of(person bigint)
returns private.notification_settings
language plpgsql stable security invoker set search_path = ''
as $$
declare
  chosen private.notification_settings;
begin
  select * into chosen from private.notification_settings where user_id = person;
  chosen.user_id := person;
  chosen.push := coalesce(chosen.push, true);
  chosen.email := coalesce(chosen.email, true);
  chosen.previews := coalesce(chosen.previews, false);
  return chosen;
end
$$;
comment on function private.notification_settings_of(bigint) is
  'What a user has chosen, with the defaults, except that a delay which was not chosen is null. Only for definer
functions.';

create function private.describe_notification_settings(person bigint)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  chosen constant private.notification_settings := private.notification_settings_of(person);
begin
  return json_build_object(
    'push', chosen.push,
    'email', chosen.email,
    'delay_minutes', coalesce(
      chosen.delay_minutes, (select ceil(delay_seconds / 60.0)::integer from private.outbox_settings)
    ),
    'quiet_hours', case
      when chosen.time_zone is not null then json_build_object(
        'from', to_char(chosen.quiet_from, 'HH24:MI'),
        'to', to_char(chosen.quiet_to, 'HH24:MI'),
        'time_zone', chosen.time_zone
      )
    end,
    'previews', chosen.previews
  );
end
$$;
comment on function private.describe_notification_settings(bigint) is
  'The settings of a user as {push, email, delay_minutes, quiet_hours, previews}. Only for definer functions.';

create function private.quiet_until(quiet_from time, quiet_to time, time_zone text, moment timestamptz)
returns timestamptz
language plpgsql stable security invoker set search_path = ''
as $$
declare
  today date;
begin
  today := (moment at time zone time_zone)::date;
  -- Both ends are computed from the wall clock of their own day, so that they are right on the days on which the clocks
  -- change: such a night is an hour shorter or longer.
  return (
    select max(ends)
    from (
      select
        (day + quiet_from) at time zone time_zone as starts,
        (day + quiet_to + case when quiet_to < quiet_from then interval '1 day' else interval '0' end)
          at time zone time_zone as ends
      from unnest(array[today - 1, today]) as day
    ) as nights
    where moment >= starts and moment < ends
  );
exception
  -- Postgres has forgotten the time zone since it was chosen.
  when invalid_parameter_value then
    return null;
end
$$;
comment on function private.quiet_until(time, time, text, timestamptz) is
  'When the quiet hours end that this moment is in; null if it is in none, or there are none.';

create function private.my_notification_settings()
returns json
language plpgsql stable security definer set search_path = ''
as $$
begin
  return private.describe_notification_settings(private.my_id());
end
$$;
comment on function private.my_notification_settings() is
  'The caller''s settings, with the defaults. Definer, because callers have no grant on them.';
grant execute on function private.my_notification_settings() to authenticated;

create function api.get_notification_settings()
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return private.my_notification_settings();
end
$$;
comment on function api.get_notification_settings() is 'The caller''s settings, with the defaults.';
grant execute on function api.get_notification_settings() to edge_functions;

create function api.update_notification_settings(changes jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  wanted private.notification_settings;
  quiet constant jsonb := nullif(changes -> 'quiet_hours', 'null');
  delay integer;
begin
  -- Serializes concurrent changes of one user, of which each keeps what it does not name. An erasure waits.
  perform private.lock_me();
  wanted := private.notification_settings_of(me);
  wanted.push := coalesce((changes ->> 'push')::boolean, wanted.push);
  wanted.email := coalesce((changes ->> 'email')::boolean, wanted.email);
  wanted.previews := coalesce((changes ->> 'previews')::boolean, wanted.previews);
  wanted.delay_minutes := coalesce((changes ->> 'delay_minutes')::integer, wanted.delay_minutes);
  if changes ? 'quiet_hours' then
    wanted.quiet_from := (quiet ->> 'from')::time;
    wanted.quiet_to := (quiet ->> 'to')::time;
    wanted.time_zone := quiet ->> 'time_zone';
  end if;
  if quiet is not null then
    begin
      perform now() at time zone wanted.time_zone;
    exception
      when invalid_parameter_value then
        raise sqlstate 'PT400' using message = 'quiet_hours.time_zone: must be the name of a time zone';
    end;
  end if;
  delete from private.notification_settings where user_id = me;
  insert into private.notification_settings select wanted.*;
  -- What waits already goes by the new delay.
  if changes ? 'delay_minutes' then
    delay := wanted.delay_minutes;
    update private.outbox
    set due_at = created_at + make_interval(mins => delay)
    where user_id = me and channel = 'person';
  end if;
  return private.describe_notification_settings(me);
end
$$;
comment on function api.update_notification_settings(jsonb) is
  'Changes {push, email, delay_minutes, quiet_hours, previews} of the caller; what is absent stays. Returns the whole.
Definer, because no caller has a grant on them.';
grant execute on function api.update_notification_settings(jsonb) to edge_functions;

create function private.sign_unsubscribing(person bigint)
returns text
language sql stable security invoker set search_path = ''
as $$
  -- As HMAC, with two keys of their own instead of two that are made from one.
  select person || '.' || encode(
    sha256(convert_to(outer_key, 'utf8') || sha256(convert_to(inner_key || person, 'utf8'))), 'hex'
  )
  from private.outbox_settings
$$;
comment on function private.sign_unsubscribing(bigint) is
  'The token of the link in a user''s mails that turns them off. It does nothing else, and does not expire: mails are
kept for years.';

create function api.unsubscribe(token text)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  person constant bigint := substring(token from '^([1-9][0-9]{0,17})\.[0-9a-f]{64}$')::bigint;
begin
  -- Whoever compares the tokens' times learns nothing: an attacker cannot choose the bytes that are compared.
  if person is null or sha256(convert_to(token, 'utf8'))
    <> sha256(convert_to(private.sign_unsubscribing(person), 'utf8')) then
    raise sqlstate 'PT404' using message = 'This link is not one of ours';
  end if;
  insert into private.notification_settings (user_id, email)
  select id, false
  from public.users
  where id = person and erased_at is null
  on conflict (user_id) do update set email = false;
  return json_build_object('email', false);
end
$$;
comment on function api.unsubscribe(text) is
  'Turns off the mails of the user whom the token names; a repeat changes nothing. Definer, because it is called without
log-in.';
grant execute on function api.unsubscribe(text) to edge_functions;

create function api.check_unsubscribe(token text)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  person constant bigint := substring(token from '^([1-9][0-9]{0,17})\.[0-9a-f]{64}$')::bigint;
begin
  if person is null or sha256(convert_to(token, 'utf8'))
    <> sha256(convert_to(private.sign_unsubscribing(person), 'utf8')) then
    raise sqlstate 'PT404' using message = 'This link is not one of ours';
  end if;
  return json_build_object('email', (private.notification_settings_of(person)).email);
end
$$;
comment on function api.check_unsubscribe(text) is
  'Whether the user whom the token names gets mails, as {email}. Changes nothing, because mail programs follow links
before anybody reads the mail. Definer, as unsubscribe.';
grant execute on function api.check_unsubscribe(text) to edge_functions;

-- The outbox: what is still to be sent to people who are away and to the operator's webhook. A row is written by the
-- transaction that it tells of, so nothing is told that did not happen, and nothing that happened is forgotten.
--
-- private.notify is the one way to tell somebody something. A new kind of event is a value of private.outbox_event, a
-- branch of private.notice_of (40_notification_plan.sql) if people are told, and of private.webhook_data.

-- Domains, as private.unread_count.
create domain private.outbox_channel as text check (value in ('person', 'push', 'mail', 'webhook'));
create domain private.outbox_event as text check (
  value in (
    'message.created', 'conversation.created', 'reservation.changed', 'report.created', 'user.erased', 'silence'
  )
);

create table private.outbox (
  id bigint generated always as identity primary key,
  channel private.outbox_channel not null,
  event private.outbox_event not null,
  conversation_id bigint,
  subject_id bigint,
  first_id bigint,
  user_id bigint,
  device_id uuid,
  key uuid not null default gen_random_uuid(),
  attempts integer not null default 0,
  due_at timestamptz not null,
  last_error text,
  created_at timestamptz not null default clock_timestamp()
);
comment on table private.outbox is
  'What is still to be sent. Rows are deleted when they are sent, or are not wanted any more. After 8 attempts a row is
a dead letter. No foreign keys, because each would make every message dearer: the worker drops a row whose subject
is gone.';
comment on column private.outbox.channel is
  'person: somebody has to be told, once the delay has passed, and the worker turns that into pushes and a mail. push:
one for each device and conversation. mail: one for a silence. webhook: one for each event.';
comment on column private.outbox.subject_id is
  'The id of the message, of the entry in the history of a reservation, or of what else the event is about. Of a push:
of the latest.';
comment on column private.outbox.first_id is 'Of a push: of the first message that it tells of.';
comment on column private.outbox.user_id is 'Who is told. Of a webhook: null.';
comment on column private.outbox.key is 'The Message-ID of a mail, and the webhook-id of a webhook, at every attempt.';
comment on column private.outbox.attempts is
  'How often a worker began to send it. Counted before, so a row that kills its worker becomes a dead letter too.';
comment on column private.outbox.due_at is
  'When the next attempt may begin. Until then the worker of the last one has it, or it waits after a failure.';

create index outbox_due_at_idx on private.outbox (channel, due_at) where attempts < 8;
create index outbox_user_id_idx on private.outbox (user_id) where user_id is not null;
create index outbox_webhooks_idx on private.outbox (conversation_id, id) where channel = 'webhook';
comment on index private.outbox_webhooks_idx is 'What has to be delivered before a webhook: those before it.';
create unique index outbox_one_mail on private.outbox (user_id) where channel = 'mail';
create unique index outbox_one_push
  on private.outbox (user_id, device_id, conversation_id, event)
  where channel = 'push';
comment on index private.outbox_one_push is
  'While a push waits, what comes after it is told by the same one, so an outage does not end in a hundred of them.';
alter table private.outbox enable row level security;

create table private.silences (
  user_id bigint primary key references public.users (id) on delete cascade,
  steps bigint[] not null default '{}',
  began_at timestamptz not null default clock_timestamp()
);
comment on table private.silences is
  'Who was mailed, or is about to be, and has not been here since. Nobody is mailed twice in a silence. It ends when the
user reads or writes a message, or takes a step of a reservation.';
comment on column private.silences.steps is 'The entries of reservations'' histories that its mail tells of.';
alter table private.silences enable row level security;

create function private.notify(
  event text, conversation bigint, subject bigint, by_id bigint default null, people bigint[] default '{}'
)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  delay integer;
  to_webhook boolean;
  person bigint;
begin
  select delay_seconds, webhooks into delay, to_webhook from private.outbox_settings;
  foreach person in array people loop
    insert into private.outbox (channel, event, conversation_id, subject_id, user_id, due_at)
    values (
      'person', notify.event, conversation, subject, person,
      private.present() + interval '1 second' * coalesce(
        60 * (select delay_minutes from private.notification_settings where user_id = person), delay
      )
    );
  end loop;
  if to_webhook then
    insert into private.outbox (channel, event, conversation_id, subject_id, due_at)
    values ('webhook', notify.event, conversation, subject, private.present());
  end if;
  -- Whoever did it is here again, which ends a silence.
  delete from private.silences where user_id = by_id;
end
$$;
comment on function private.notify(text, bigint, bigint, bigint, bigint[]) is
  'Tells these people, once their delay has passed and if they have not seen it, and the operator''s webhook at once, of
what by_id did, or an admin or the clock if that is null. The ids of one conversation''s events are in the order in
which they happened: whoever draws the later one has waited for the lock on the conversation or the reservation. Only
for definer functions.';

create function private.notify_of_report()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.notify(event => 'report.created', conversation => null, subject => new.id);
  return null;
end
$$;
comment on function private.notify_of_report() is
  'For the webhook. Definer, because callers have no grant on the outbox.';

create trigger notify_of_report
  after insert on public.reports
  for each row
  execute function private.notify_of_report();

create function private.adopt_outbox_settings(delay_seconds integer, webhooks boolean)
returns void
language sql volatile security definer set search_path = ''
as $$
  update private.outbox_settings
  set delay_seconds = adopt_outbox_settings.delay_seconds, webhooks = adopt_outbox_settings.webhooks
  where (outbox_settings.delay_seconds, outbox_settings.webhooks)
    is distinct from (adopt_outbox_settings.delay_seconds, adopt_outbox_settings.webhooks)
$$;
comment on function private.adopt_outbox_settings(integer, boolean) is
  'Tells the triggers what the environment says. Definer, because edge_functions has no rights on the settings.';
grant execute on function private.adopt_outbox_settings(integer, boolean) to edge_functions;

create function private.describe_outbox()
returns json
language sql stable security definer set search_path = ''
as $$
  select json_object_agg(
    channel,
    json_build_object('depth', depth, 'age', age, 'dead', dead)
  )
  from (
    select
      channels.channel,
      count(outbox.id) filter (where attempts < 8) as depth,
      greatest(
        0,
        extract(epoch from max(
          private.present() - case outbox.channel when 'person' then due_at else created_at end
        ) filter (where attempts < 8))
      ) as age,
      count(outbox.id) filter (where attempts >= 8) as dead
    from unnest(array['person', 'push', 'mail', 'webhook']) as channels (channel)
    left join private.outbox on outbox.channel = channels.channel
    group by channels.channel
  ) as counts
$$;
comment on function private.describe_outbox() is
  'For each channel: how many rows wait, for how many seconds the oldest could have been sent, and the number of dead
letters. Definer, because edge_functions has no rights on the outbox.';
grant execute on function private.describe_outbox() to edge_functions;

create function private.count_due()
returns json
language sql stable security definer set search_path = ''
as $$
  select json_object_agg(
    channel,
    (
      select count(*)
      from (
        select
        from private.outbox
        where outbox.channel = channels.channel and due_at <= (select private.present()) and attempts < 8
        limit 100
      ) as due
    )
  )
  from unnest(array['person', 'push', 'mail', 'webhook']) as channels (channel)
$$;
comment on function private.count_due() is
  'How many rows of each channel are due, at most 100. Definer, because edge_functions has no rights on the outbox.';
grant execute on function private.count_due() to edge_functions;

-- From the outbox to people who are away. The worker plans (whom to tell, by which channels), claims what is due
-- (50_notification_claims.sql), commits, sends, and says what became of it. Whether a person still wants to hear is
-- asked at the claim again.
create function private.back_off(failures integer)
returns interval
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  return interval '15 seconds' * 3 ^ least(failures, 6) * (1 + random() / 2);
end
$$;
comment on function private.back_off(integer) is
  'How long the next attempt waits after so many earlier ones: 15 s to 22 s, three times longer each time, up to 3 to 4
hours; eight attempts take 5 hours. More than the 12 s that a worker has for a row.';

create function private.partner_in(person bigint, conversation bigint)
returns public.users
language plpgsql stable security invoker set search_path = ''
as $$
declare
  partner public.users;
begin
  select users.*
  into partner
  from public.conversations
  join public.users
    on users.id in (conversations.voyager_id, conversations.local_id) and users.id <> person
  where conversations.id = conversation;
  return partner;
end
$$;
comment on function private.partner_in(bigint, bigint) is
  'The other participant of a conversation. Only for definer functions.';

create type private.notice as (id bigint, status text, content text);
comment on type private.notice is
  'What somebody is told of: the latest message with its text, or a reservation with its new status.';

create function private.unread_notice(person bigint, conversation bigint, first_id bigint, last_id bigint)
returns private.notice
language plpgsql stable security invoker set search_path = ''
as $$
declare
  latest public.messages;
begin
  select *
  into latest
  from public.messages
  where conversation_id = conversation and id between first_id and last_id and user_id <> person and not read
  order by id desc
  limit 1;
  if exists (select from public.users where id = latest.user_id and is_active) then
    return row(latest.id, null, latest.content)::private.notice;
  end if;
  return null;
end
$$;
comment on function private.unread_notice(bigint, bigint, bigint, bigint) is
  'The latest of these messages that the person has not read; null if there is none, or its sender is not active. Only
for definer functions.';

create function private.step_notice(person bigint, conversation bigint, step_id bigint)
returns private.notice
language plpgsql stable security invoker set search_path = ''
as $$
declare
  step public.reservation_history;
begin
  select *
  into step
  from public.reservation_history
  where id = step_id and conversation_id = conversation and by_id is distinct from person;
  if not found
    or exists (
      select
      from public.reservation_history
      where reservation_id = step.reservation_id and id > step_id and by_id = person
    )
    -- Reservations have no read marker. Whoever has read or written a later message there has seen the step.
    or exists (
      select
      from (
        select * from public.messages where conversation_id = conversation order by id desc limit 100
      ) as latest
      where latest.created_at > step.created_at and (latest.user_id = person or latest.read)
    )
  then
    return null;
  end if;
  return row(step.reservation_id, step.status, null)::private.notice;
end
$$;
comment on function private.step_notice(bigint, bigint, bigint) is
  'This step of a reservation, if the other or nobody took it and the person has not seen it; also what an erasure does
to a reservation. Only for definer functions.';

create function private.notice_of(person bigint, event text, conversation bigint, first_id bigint, last_id bigint)
returns private.notice
language plpgsql stable security invoker set search_path = ''
as $$
declare
  notice private.notice;
  message bigint;
begin
  -- Another kind of event raises case_not_found.
  case event
    when 'message.created' then
      notice := private.unread_notice(person, conversation, first_id, last_id);
      message := notice.id;
    when 'reservation.changed' then
      notice := private.step_notice(person, conversation, last_id);
  end case;
  if exists (
    select
    from public.conversations
    where id = conversation
      and person in (voyager_id, local_id)
      and exists (select from public.users where id = person and is_active)
      and not private.is_blocked_between(voyager_id, local_id)
      and private.follows(person, conversation, message)
  ) then
    return notice;
  end if;
  return null;
end
$$;
comment on function private.notice_of(bigint, text, bigint, bigint, bigint) is
  'What a person is still to be told of messages (the latest from first_id to last_id), or of the step of a reservation
(last_id in its history). Null: they have seen it, their account is not active, one of the two has blocked the other, or
they have muted the conversation or archived it since. The one place that decides it. Only for definer functions.';

create function private.plan_person(person bigint, ids bigint[], push boolean, mail boolean, moment timestamptz)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  chosen constant private.notification_settings := private.notification_settings_of(person);
  quiet constant timestamptz := private.quiet_until(
    quiet_from => chosen.quiet_from, quiet_to => chosen.quiet_to, time_zone => chosen.time_zone, moment => moment
  );
  heard bigint[];
  heard_steps bigint[];
begin
  if quiet is not null then
    update private.outbox set due_at = quiet where id = any (ids);
    return;
  end if;
  select array_agg(id), coalesce(array_agg(subject_id) filter (where event = 'reservation.changed'), '{}')
  into heard, heard_steps
  from private.outbox
  where id = any (ids)
    and (
      private.notice_of(
        person => person, event => event, conversation => conversation_id, first_id => subject_id, last_id => subject_id
      )
    ).id is not null;
  if push and chosen.push then
    insert into private.outbox as waiting (
      channel, event, conversation_id, first_id, subject_id, user_id, device_id, due_at
    )
    select 'push', event, conversation_id, min(subject_id), max(subject_id), person, devices.id, moment
    from private.outbox
    join private.devices on devices.user_id = person
    where outbox.id = any (heard)
    group by event, conversation_id, devices.id
    on conflict (user_id, device_id, conversation_id, event) where channel = 'push'
    do update set
      subject_id = greatest(waiting.subject_id, excluded.subject_id),
      -- A dead letter is tried again. Its last attempt may still be under way until it is due.
      due_at = greatest(waiting.due_at, case when waiting.attempts >= 8 then excluded.due_at end),
      attempts = case when waiting.attempts >= 8 then 0 else waiting.attempts end;
  end if;
  if mail and chosen.email and heard is not null then
    insert into private.silences (user_id, steps) values (person, heard_steps) on conflict do nothing;
    if found then
      insert into private.outbox as waiting (channel, event, user_id, due_at)
      values ('mail', 'silence', person, moment)
      on conflict (user_id) where channel = 'mail'
      do update set attempts = 0, due_at = greatest(waiting.due_at, excluded.due_at) where waiting.attempts >= 8;
    else
      update private.silences set steps = silences.steps || heard_steps where user_id = person;
    end if;
  end if;
  delete from private.outbox where id = any (ids);
end
$$;
comment on function private.plan_person(bigint, bigint[], boolean, boolean, timestamptz) is
  'Turns these rows of a person, which the caller has locked, into pushes and a mail, or lets them wait until the quiet
hours end. Only for definer functions.';

create function private.plan_notifications(max_rows integer, push boolean, mail boolean)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  moment constant timestamptz := private.present();
  planned integer := 0;
  entry record;
begin
  for entry in
    with due as materialized (
      select id, user_id
      from private.outbox
      where channel = 'person' and due_at <= moment and attempts < 8
      order by due_at
      limit max_rows
      for update skip locked
    )
    select user_id, array_agg(id order by id) as ids from due group by user_id order by user_id
  loop
    begin
      perform private.plan_person(
        person => entry.user_id, ids => entry.ids, push => push, mail => mail, moment => moment
      );
    exception
      -- One person's rows must not keep the others' waiting.
      when others then
        update private.outbox
        set attempts = attempts + 1, due_at = moment + private.back_off(attempts), last_error = sqlstate
        where id = any (entry.ids);
    end;
    planned := planned + cardinality(entry.ids);
  end loop;
  return to_json(planned);
end
$$;
comment on function private.plan_notifications(integer, boolean, boolean) is
  'Plans up to max_rows rows whose delay has passed, and returns their number. push and mail say which channels the
worker has. Definer, because edge_functions has no rights on the outbox.';
grant execute on function private.plan_notifications(integer, boolean, boolean) to edge_functions;

-- What the worker sends next: claimed in one transaction, sent after its commit. Whether it is still wanted is asked
-- here once more. Pushes are here, mails and webhooks in 60_mails_and_webhooks.sql.
create function private.registrable_name(url text)
returns text
language plpgsql immutable security invoker set search_path = ''
as $$
declare
  host constant text := rtrim(lower(substring(url from '^https?://(\[[^]]*\]|[^/:?#]*)')), '.');
begin
  return case when host ~ '^[\d.]+$|^\[' then host else substring(host from '[^.]+\.[^.]+$') end;
end
$$;
comment on function private.registrable_name(text) is
  'The last two labels of the host of a URL, whatever its port and subdomains, or its IP address: whoever has one host
of a name may have any number. Names under a public suffix of two labels count as one.';

create function private.push_receivers(device private.devices)
returns text[]
language plpgsql immutable security invoker set search_path = ''
as $$
begin
  return array[device.id::text, 'user ' || device.user_id, private.registrable_name(device.endpoint)];
end
$$;
comment on function private.push_receivers(private.devices) is
  'Who could hold up a push: the device, its owner and the name of its push service. Only for definer functions.';

create function private.next_pushes(max_rows integer, avoided text[], moment timestamptz)
returns bigint[]
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  return array(
    select entry.id
    from (
      select distinct on (user_id) id, was_silent
      from (
        select due.id, due.user_id, due_at, coalesce(silences > 0, false) as was_silent
        from private.outbox as due
        -- A push whose device is gone is claimed, and dropped then.
        left join private.devices on devices.user_id = due.user_id and devices.id = due.device_id
        where channel = 'push' and due_at <= moment and attempts < 8
          and coalesce(silent_until <= moment, true)
          and not coalesce(private.push_receivers(devices) && avoided, false)
        order by due_at, due.id
        -- Reading all of 48,000 took 0.4 s. Whose rows these are is busy after two claims, if they are few.
        limit 1000
      ) as oldest
      order by user_id, was_silent, due_at, id
    ) as next
    join private.outbox as entry using (id)
    where due_at <= moment and attempts < 8
    -- Those that answered last time come first.
    order by was_silent, due_at, entry.id
    limit max_rows
    for update of entry skip locked
  );
end
$$;
comment on function private.next_pushes(integer, text[], timestamptz) is
  'The due pushes to send next, locked: one for each person, none for the avoided receivers. Only for definer
functions.';

create function private.next_rows(wanted text, max_rows integer, avoided text[], moment timestamptz)
returns bigint[]
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  return array(
    select outbox.id
    from private.outbox
    left join public.users on channel = 'mail' and users.id = user_id
    where channel = wanted and due_at <= moment and attempts < 8
      and not coalesce(split_part(email, '@', 2) = any (avoided), false)
      -- A dead letter holds nothing up once its last attempt is over.
      and (
        channel <> 'webhook'
        or not exists (
          select
          from private.outbox as earlier
          where earlier.channel = 'webhook' and earlier.conversation_id = outbox.conversation_id
            and earlier.id < outbox.id and (earlier.attempts < 8 or earlier.due_at > moment)
        )
      )
    order by due_at, outbox.id
    limit max_rows
    for update of outbox skip locked
  );
end
$$;
comment on function private.next_rows(text, integer, text[], timestamptz) is
  'The due mails or webhooks to send next, locked: no mail to the avoided hosts, and of each conversation''s webhooks
the first. Only for definer functions.';

create function private.claim_rows(wanted text, max_rows integer, busy jsonb, moment timestamptz)
returns bigint[]
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  avoided constant text[] := array(select jsonb_array_elements_text(busy));
  claimed constant bigint[] := case wanted
    when 'push' then private.next_pushes(max_rows => max_rows, avoided => avoided, moment => moment)
    else private.next_rows(wanted => wanted, max_rows => max_rows, avoided => avoided, moment => moment)
  end;
begin
  update private.outbox
  set attempts = attempts + 1, due_at = moment + private.back_off(attempts), last_error = null
  where id = any (claimed);
  return claimed;
end
$$;
comment on function private.claim_rows(text, integer, jsonb, timestamptz) is
  'Takes up to max_rows due rows of a channel, which no other worker gets before they are due again: none for the
receivers that are busy. Only for definer functions.';

create function private.postpone_quiet(ids bigint[], moment timestamptz)
returns bigint[]
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  quiet bigint[];
begin
  with postponed as (
    update private.outbox
    -- It was not tried.
    set attempts = attempts - 1, due_at = nights.ends_at
    from (
      select chosen.user_id, private.quiet_until(quiet_from, quiet_to, time_zone, postpone_quiet.moment) as ends_at
      from private.notification_settings as chosen
      where time_zone is not null
        and user_id in (select outbox.user_id from private.outbox where outbox.id = any (postpone_quiet.ids))
    ) as nights
    where outbox.id = any (ids) and outbox.user_id = nights.user_id and nights.ends_at is not null
    returning outbox.id
  )
  select array_agg(id) into quiet from postponed;
  return array(select unnest(ids) except select unnest(quiet));
end
$$;
comment on function private.postpone_quiet(bigint[], timestamptz) is
  'Lets those of the claimed rows wait whose person has quiet hours, which a delayed attempt may fall into, and returns
the others. Only for definer functions.';

create function private.quote(value text, longest integer default 60)
returns text
language plpgsql immutable security invoker set search_path = ''
as $$
declare
  line constant text := regexp_replace(
    btrim(value), '[[:space:][:cntrl:]\u200e\u200f\u2028-\u202e\u2066-\u2069]+', ' ', 'g'
  );
begin
  return case when char_length(line) > longest then left(line, longest - 1) || '…' else line end;
end
$$;
comment on function private.quote(text, integer) is
  'What somebody else has written, in one line of at most so many characters, so that it cannot pose as ours.';

create function private.push_data(entry private.outbox)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  notice constant private.notice := private.notice_of(
    person => entry.user_id, event => entry.event, conversation => entry.conversation_id, first_id => entry.first_id,
    last_id => entry.subject_id
  );
  chosen constant private.notification_settings := private.notification_settings_of(entry.user_id);
  partner constant public.users := private.partner_in(entry.user_id, entry.conversation_id);
begin
  if notice.id is null or not chosen.push then
    return null;
  end if;
  return json_build_object(
    'type', entry.event,
    'conversation_id', entry.conversation_id,
    'id', notice.id,
    'name', private.quote(partner.name),
    'unread', (
      select count(*)
      from public.messages
      where conversation_id = entry.conversation_id and user_id = partner.id and not read
    ),
    'status', notice.status,
    'text', case when chosen.previews then private.quote(notice.content, 160) end
  );
end
$$;
comment on function private.push_data(private.outbox) is
  'What a push says: {type, conversation_id, id, name, unread, status, text}; null if the person does not want it any
more. id is a message''s or a reservation''s, status is null for messages, and text is null unless the person has chosen
previews. Only for definer functions.';

create function private.claim_pushes(max_rows integer, busy jsonb default '[]')
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  moment constant timestamptz := private.present();
  ids bigint[];
  pushes json;
begin
  -- As claim_mail.
  for round in 1..50 loop
    ids := private.claim_rows('push', max_rows, busy, moment);
    exit when cardinality(ids) = 0;
    ids := private.postpone_quiet(ids, moment);
    -- One statement, so that what is wanted and what it says are of one moment: otherwise a push whose messages are
    -- read in between would say that there are none.
    with claimed as materialized (
      select outbox.id, outbox.subject_id, devices, private.push_data(outbox) as data
      from private.outbox
      left join private.devices on devices.user_id = outbox.user_id and devices.id = outbox.device_id
      where outbox.id = any (ids)
    ),
    unwanted as (
      delete from private.outbox
      where id in (select claimed.id from claimed where (devices).id is null or data is null)
    )
    select
      json_agg(
        json_build_object(
          'id', claimed.id,
          'receivers', private.push_receivers(devices),
          'endpoint', (devices).endpoint,
          'keys', json_build_object('p256dh', (devices).p256dh, 'auth', (devices).auth),
          'subject', subject_id,
          'data', data
        )
      )
    into pushes
    from claimed
    where (devices).id is not null and data is not null;
    exit when pushes is not null;
  end loop;
  return coalesce(pushes, '[]');
end
$$;
comment on function private.claim_pushes(integer, jsonb) is
  'Claims up to max_rows due pushes as [{id, receivers, endpoint, keys, subject, data}], none for the receivers that are
busy, and drops those that nobody wants any more. Definer, because edge_functions has no rights on the outbox.';
grant execute on function private.claim_pushes(integer, jsonb) to edge_functions;

-- From the outbox to mail servers and to the operator's webhook, and what became of each row.
create function private.unseen_by(person bigint, steps bigint[])
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    with mine as (
      select id from public.conversations where voyager_id = person
      union all
      select id from public.conversations where local_id = person
    ),
    messages as materialized (
      select
        unread.conversation_id, count(*) as unread,
        private.notice_of(
          person => person, event => 'message.created', conversation => unread.conversation_id, first_id => min(id),
          last_id => max(id)
        ) as notice
      from public.messages as unread
      where conversation_id in (select id from mine) and user_id <> person and not read
      group by unread.conversation_id
    ),
    changes as materialized (
      select
        id, conversation_id,
        private.notice_of(
          person => person, event => 'reservation.changed', conversation => conversation_id, first_id => id,
          last_id => id
        ) as notice
      from public.reservation_history
      where id = any (steps)
    ),
    told as (
      select conversation_id, unread, notice
      from messages
      where (notice).id is not null
    ),
    changed as (
      select distinct on (conversation_id) conversation_id, notice
      from changes
      where (notice).id is not null
      order by conversation_id, id desc
    )
    select coalesce(
      json_agg(
        json_build_object(
          'name', private.quote((private.partner_in(person, conversation_id)).name),
          'unread', coalesce(told.unread, 0),
          'status', (changed.notice).status,
          'text', case
            when (private.notification_settings_of(person)).previews then private.quote((told.notice).content, 160)
          end
        )
        order by coalesce((told.notice).id, 0) desc, conversation_id desc
      ),
      '[]'
    )
    from told
    full join changed using (conversation_id)
  );
end
$$;
comment on function private.unseen_by(bigint, bigint[]) is
  'What a mail tells a person: [{name, unread, status, text}] for each conversation in which they want to hear of unread
messages or of one of these steps of reservations. Only for definer functions.';

create function private.claim_mail(busy jsonb default '[]')
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  moment constant timestamptz := private.present();
  ids bigint[];
  mail private.outbox;
  recipient public.users;
  conversations json;
begin
  -- Until one is wanted, but not without end, because a statement has 5 s.
  for round in 1..50 loop
    ids := private.claim_rows('mail', 1, busy, moment);
    exit when cardinality(ids) = 0;
    ids := private.postpone_quiet(ids, moment);
    continue when cardinality(ids) = 0;
    select * into mail from private.outbox where id = ids[1];
    select * into recipient from public.users where id = mail.user_id and is_active and email <> '';
    conversations := case
      when recipient.id is not null and (private.notification_settings_of(recipient.id)).email then
        private.unseen_by(
          recipient.id, (select coalesce(max(steps), '{}') from private.silences where user_id = recipient.id)
        )
      else '[]'::json
    end;
    if json_array_length(conversations) > 0 then
      return json_build_object(
        'id', mail.id, 'receivers', json_build_array(split_part(recipient.email, '@', 2)), 'key', mail.key,
        'to', recipient.email, 'name', private.quote(recipient.name), 'token', private.sign_unsubscribing(recipient.id),
        'conversations', conversations
      );
    end if;
    delete from private.outbox where id = mail.id;
    -- Nothing was told, so the next message may be.
    delete from private.silences where user_id = mail.user_id;
  end loop;
  return 'null'::json;
end
$$;
comment on function private.claim_mail(jsonb) is
  'Claims a due mail, to none of the domains that are busy, as {id, receivers, key, to, name, token, conversations}, or
returns null. Mails that have nothing to tell any more are dropped. Definer, because edge_functions has no rights on
the outbox.';
grant execute on function private.claim_mail(jsonb) to edge_functions;

create function private.webhook_data(entry private.outbox)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  data json;
begin
  -- Another kind of event raises case_not_found.
  case entry.event
    when 'message.created' then
      data := (
        select json_build_object(
          'conversation_id', messages.conversation_id, 'id', messages.id, 'user_id', messages.user_id,
          'recipient_id', case messages.user_id when voyager_id then local_id else voyager_id end
        )
        from public.messages
        join public.conversations on conversations.id = messages.conversation_id
        where messages.id = entry.subject_id
      );
    when 'conversation.created' then
      data := (
        select json_build_object('id', id, 'voyager_id', voyager_id, 'local_id', local_id)
        from public.conversations
        where id = entry.subject_id
      );
    when 'reservation.changed' then
      data := (
        select json_build_object(
          'conversation_id', conversation_id, 'id', reservation_id, 'status', status, 'user_id', by_id
        )
        from public.reservation_history
        where id = entry.subject_id
      );
    when 'report.created' then
      data := (
        select json_build_object('id', id, 'reason', reason, 'reporter_id', reporter_id, 'user_id', user_id)
        from public.reports
        where id = entry.subject_id
      );
    when 'user.erased' then
      data := json_build_object('user_id', entry.subject_id);
  end case;
  return data;
end
$$;
comment on function private.webhook_data(private.outbox) is
  'The data of an event: ids, and no names or texts, which the operator reads with the secret key. Null if the subject
is gone. Only for definer functions.';

create function private.claim_webhooks(max_rows integer)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  ids constant bigint[] := private.claim_rows('webhook', max_rows, '[]', private.present());
begin
  delete from private.outbox where id = any (ids) and private.webhook_data(outbox) is null;
  return (
    select coalesce(
      json_agg(
        json_build_object(
          'id', id, 'key', key, 'type', event, 'timestamp', private.iso(created_at),
          'data', private.webhook_data(outbox)
        )
        order by id
      ),
      '[]'
    )
    from private.outbox
    where id = any (ids)
  );
end
$$;
comment on function private.claim_webhooks(integer) is
  'Claims up to max_rows due webhooks as [{id, key, type, timestamp, data}], of each conversation the first. Definer,
because edge_functions has no rights on the outbox.';
grant execute on function private.claim_webhooks(integer) to edge_functions;

create function private.finish_outbox(outcomes jsonb)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
  finished record;
  entry private.outbox;
begin
  for finished in
    select *
    from jsonb_to_recordset(outcomes) as outcome (
      id bigint, outcome text, reason text, retry_after integer, subject bigint, silent boolean
    )
    order by id
  loop
    select * into entry from private.outbox where id = finished.id for update;
    continue when not found;
    update private.devices
    set
      silences = case when finished.silent then silences + 1 else 0 end,
      silent_until = case when finished.silent then private.present() + private.back_off(silences) end
    where user_id = entry.user_id and id = entry.device_id and (finished.silent or silences > 0);
    if finished.outcome = 'sent' then
      delete from private.outbox where id = entry.id and (entry.channel <> 'push' or subject_id = finished.subject);
      -- The push has more to tell by now.
      update private.outbox
      set attempts = 0, due_at = private.present(), first_id = finished.subject + 1, key = gen_random_uuid()
      where id = entry.id;
    elsif finished.outcome = 'gone' then
      delete from private.devices where user_id = entry.user_id and id = entry.device_id;
      delete from private.outbox where channel = 'push' and user_id = entry.user_id and device_id = entry.device_id;
    else
      update private.outbox
      set
        attempts = case finished.outcome when 'refused' then 8 else attempts end,
        last_error = left(finished.reason, 200),
        due_at = greatest(
          due_at, private.present() + make_interval(secs => least(coalesce(finished.retry_after, 0), 86400))
        )
      where id = entry.id;
    end if;
  end loop;
end
$$;
comment on function private.finish_outbox(jsonb) is
  'What became of claimed rows: [{id, outcome, reason, retry_after, subject, silent}]. sent deletes the row, gone the
device as well, refused makes it a dead letter, and after failed the row stays due when claim has said, or after
retry_after seconds. A device that was silent waits longer, whatever it is to be told. Definer, because edge_functions
has no rights on the outbox.';
grant execute on function private.finish_outbox(jsonb) to edge_functions;

create function private.forget_dead_letters()
returns void
language sql volatile security invoker set search_path = ''
as $$
  delete from private.outbox where attempts >= 8 and due_at < private.present() - interval '30 days'
$$;
comment on function private.forget_dead_letters() is 'Deletes dead letters of more than 30 days. Scheduled.';

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
-- A caller whose other requests hold the row for longer is refused (rate_limit.ts).
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

create function private.is_within_limit(kind text, who text, seconds_each double precision, burst integer)
returns boolean
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  wait constant json := private.consume_rate_limit(
    kind => kind, who => who, seconds_each => seconds_each, burst => burst
  );
begin
  if wait::text = '0' then
    return true;
  end if;
  perform set_config('api.response_metadata', json_build_object('wait', wait)::text, true);
  return false;
end
$$;
comment on function private.is_within_limit(text, text, double precision, integer) is
  'As consume_rate_limit, for the statement that writes: if it returns false, nothing is written, and wait in the
response metadata has the seconds. An error of the write rolls the count back; the Edge Function then counts again.';
grant execute on function private.is_within_limit(text, text, double precision, integer) to edge_functions;

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
  at_report bigint := (place ->> 'report')::bigint;
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
        'profile', row_to_json(profiles),
        'interests', private.interests_of(profiles.id),
        'blocks', private.my_blocks(),
        'devices', private.my_devices(),
        'notifications', private.my_notification_settings()
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
        'Reservations', (
          select coalesce(json_agg(body), '[]') from private.reservations_with_history(conversations.id, null)
        ),
        'createdAt', private.iso(conversations.created_at),
        'state', private.my_state(conversations.id)
      )::text as body
    from public.conversations
    -- Each conversation counts as one message, so no more than these fit into a piece.
    join private.participants_of(
      array(
        select id
        from public.conversations
        where id >= at_conversation and at_report is null
        order by id
        limit remaining + 1
      ),
      emails => true
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

  if at_report is null then
    pieces := pieces || '],"reports":['::text;
    at_report := 0;
  end if;
  select string_agg(body, ',' order by id) as bodies, count(*) as length, max(id) as last_id
  into page
  from private.my_reports_after(at_report, remaining + 1);
  pieces := pieces || (case when at_report > 0 and page.length > 0 then ',' else '' end || coalesce(page.bodies, ''));
  if page.length > remaining then
    perform private.set_response_metadata(jsonb_build_object('place', jsonb_build_object('report', page.last_id)));
    return array_to_string(pieces, '');
  end if;
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
  -- Null for an admin.
  me constant bigint := private.my_id();
  account constant uuid := (select auth_id from public.users where id = person);
  profile bigint;
  address text;
begin
  -- Take the locks in the same order as other transactions: the Auth account first, then the profile.
  perform from auth.users where id = account for update;
  select id into profile from public.profiles where user_id = person for update;
  select email into address from public.users where id = person;
  -- As the worker that plans: the rows of the outbox before the person.
  perform from private.outbox where user_id = person order by id for update;
  update public.users
  set
    name = 'Deleted user',
    email = '',
    bio = null,
    location = null,
    role = 'user',
    is_active = false,
    auth_id = null,
    public_profile_id = null,
    public_image_url = null,
    erased_at = now()
  where id = person and erased_at is null;
  if not found then
    return false;
  end if;
  perform private.cancel_reservations_of(person, me);
  delete from private.blocks where person in (blocker_id, blocked_id);
  perform private.erase_states_of(person);
  -- Cascades to its interests and its search entry; the search context was removed when the account became inactive.
  delete from public.profiles where id = profile;
  perform private.sweep_lexicon();
  delete from private.embedding_queue where (kind, id) in (('profile', profile), ('context', person));
  delete from private.sign_ups where address_hash = sha256(convert_to(lower(address), 'UTF8'));
  delete from private.stored_replies where user_id = person;
  delete from private.devices where user_id = person;
  delete from private.notification_settings where user_id = person;
  delete from private.silences where user_id = person;
  delete from private.outbox where user_id = person;
  perform private.notify(event => 'user.erased', conversation => null, subject => person);
  delete from public.hidden_profiles where user_id = person;
  perform private.schedule_purge(person);
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
stay, sent by "Deleted user", and so do reservations, of which the pending and accepted ones are cancelled. Reports by
and about the person keep their evidence for 180 days.
Definer, because it deletes from auth.users. Only for api.erase_me and public.erase_person, which logs it.';

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

-- Which migrations the database has, so that a deployed project can be compared with the repository from outside.
create function private.list_migrations()
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  migrations json;
begin
  -- Dynamic, because the CLI creates the table, and a database that was made from the files alone has none. The CLI
  -- splits a file into statements, and takes off what is between them.
  execute $query$
    select
      json_agg(
        json_build_object(
          'version', version,
          'sha256', encode(
            sha256(convert_to(translate(array_to_string(statements, ''), E' \t\r\n;', ''), 'utf8')), 'hex'
          )
        )
        order by version
      )
    from supabase_migrations.schema_migrations
  $query$
  into migrations;
  return migrations;
exception
  when undefined_table or insufficient_privilege then
    return null;
end
$$;
comment on function private.list_migrations() is
  'All applied migrations in order, {version, sha256}: the hash of their text without white space and semicolons, null
where it was not noted. Null where nobody has noted the migrations. Definer, because edge_functions has no rights on the
CLI''s table.';
grant execute on function private.list_migrations() to edge_functions;

-- What waits and what was run, for admins: the same in the SQL editor and on the page of one machine.
create function public.describe_queues()
returns table (queue text, waiting bigint, oldest_seconds double precision, dead bigint)
language plpgsql stable security definer set search_path = ''
as $$
declare
  search constant json := private.describe_search();
begin
  return query
    select 'reports', count(*), coalesce(extract(epoch from now() - min(created_at)), 0)::double precision, null::bigint
    from public.reports
    where resolved_at is null;
  return query
    select channel, (counts ->> 'depth')::bigint, (counts ->> 'age')::double precision, (counts ->> 'dead')::bigint
    from json_each(private.describe_outbox()) as channels (channel, counts)
    order by array_position(array['person', 'push', 'mail', 'webhook'], channel);
  return query
    select
      'embeddings', (search ->> 'waiting')::bigint, (search ->> 'oldest')::double precision,
      (search ->> 'dead')::bigint;
end
$$;
comment on function public.describe_queues() is
  'For each queue how many entries wait, since when in seconds, and the number of dead letters: the open reports, the
channels of the outbox (person: since the end of the delay) and the texts without a vector. Definer, because the
secret key has no rights on schema private.';
grant execute on function public.describe_queues() to service_role;

create function public.describe_schedule()
returns table (job text, schedule text, last_start timestamptz, last_status text, last_message text, failures bigint)
language plpgsql stable security definer set search_path = ''
as $$
begin
  if to_regclass('cron.job_run_details') is null then
    return;
  end if;
  -- Dynamic, because there is no pg_cron on one machine.
  return query execute $query$
    select jobname::text, schedule::text, start_time, status::text, left(return_message, 200), failures
    from cron.job
    left join lateral (
      select start_time, status, return_message
      from cron.job_run_details
      where job_run_details.jobid = job.jobid
      order by runid desc
      limit 1
    ) as latest on true
    cross join lateral (
      select count(*) as failures
      from cron.job_run_details
      where job_run_details.jobid = job.jobid and status = 'failed' and start_time > now() - interval '1 day'
    ) as day
    order by jobname
  $query$;
end
$$;
comment on function public.describe_schedule() is
  'The jobs of pg_cron, each with its latest run and the number of failures in the last day; nothing without pg_cron.
Definer, because pg_cron shows each role its own jobs.';
grant execute on function public.describe_schedule() to service_role;
