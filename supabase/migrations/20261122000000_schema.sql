-- As released in 1.0.0: to change it, edit sql/schema and add a migration (CONTRIBUTING.md).

-- Schemas, the role that the Edge Functions log in as, and private.act_as, which makes a statement run as its caller.
--   public   tables, as the Data API and the dashboard show them
--   api      API functions, which the Edge Functions call; the Data API does not expose this schema
--   private  helpers of policies and API functions, and tables that callers cannot access; a function without a grant
--            is only called by definer functions
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

create function private.to_page(listed anyarray, page_limit bigint, next bigint)
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if cardinality(listed) > page_limit then
    perform private.set_response_metadata(jsonb_build_object('next', next));
    listed := listed[:page_limit];
  end if;
  return coalesce(array_to_json(listed), '[]');
end
$$;
comment on function private.to_page(anyarray, bigint, bigint) is
  'The page of what was listed: one row more than the limit, so that next is in the response metadata if another page
follows. A limit of null takes all.';
grant execute on function private.to_page(anyarray, bigint, bigint) to authenticated;

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
what was read hold; those that share the lock do not.';

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
language sql stable security definer set search_path = ''
as $$
  select case when is_active then 'active' else 'inactive' end
  from public.users
  where auth_id = (select auth.uid()) and confirmed_at is not null
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
language sql immutable security invoker set search_path = ''
as $$
  select coalesce(array_agg(distinct id::bigint), '{}')
  from jsonb_array_elements_text(list) as id
$$;
comment on function private.parse_ids(jsonb) is 'Turns a JSON array of ids into a bigint[] without duplicates.';

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

create function api.list_interests()
returns json
language sql stable security invoker set search_path = ''
as $$
  select coalesce(json_agg(json_build_object('id', id, 'name', name) order by name), '[]')
  from public.interests
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

create function api.get_me()
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

  if changes - array['name', 'bio', 'location', 'interest_ids'] <> '{}' then
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

  return api.get_me();
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
  perform api.update_profile(jsonb_build_object('is_searchable', searchable));
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
  shown json;
begin
  select
    profiles.is_searchable and users.is_active,
    json_build_object(
      'id', users.id,
      'name', users.name,
      'profile', json_build_object(
        'id', profiles.id, 'first_name', profiles.first_name, 'last_name', profiles.last_name, 'age', profiles.age,
        'biography', profiles.biography, 'country', profiles.country, 'city', profiles.city,
        'image_url', profiles.image_url, 'interests', private.interests_of(profiles.id)
      )
    )
  into visible, shown
  from public.profiles
  join public.users on users.id = profiles.user_id
  where profiles.id = profile and users.confirmed_at is not null;
  if visible is null then
    raise sqlstate 'PT404' using message = 'Profile not found';
  elsif not visible then
    raise sqlstate 'PT403' using message = 'This profile is not public', hint = 'not_public';
  end if;
  return shown;
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
  delete from public.profile_interests
  where profile_id = profile and interest_id <> all (ids);
  insert into public.profile_interests (profile_id, interest_id)
  select profile, unnest(ids)
  on conflict do nothing;
end
$$;
comment on function private.replace_interests(bigint, bigint[]) is
  'Replaces a profile''s interests by ids, or raises 400 and changes nothing. The caller has locked the profile:
concurrent replacements would end with the union of both sets.';

create function api.set_interests(wanted jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me constant json := api.update_profile(jsonb_build_object('interest_ids', wanted -> 'ids'));
begin
  return json_build_object(
    'id', me #> '{Profile,id}', 'user_id', me -> 'id', 'Interests', me #> '{Profile,Interests}'
  );
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
first one would be valid. A trigger and not a statement before the request: a sign-up that commits in between would keep
its password.';

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
password.';

create function private.begin_sign_up(address text, name text, fields jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  begun private.sign_ups;
begin
  -- Auth would report an unknown interest as an unspecified failure.
  perform private.check_interests(private.parse_ids(coalesce(nullif(fields -> 'interest_ids', 'null'), '[]')));
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
yet seen the CAPTCHA. Raises 400 for unknown interests. Definer, because edge_functions has no rights on sign_ups and
users.';
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
language sql stable security invoker set search_path = ''
as $$
  select case
    when exists (select from private.blocks where blocker_id = me and blocked_id = partner) then 'blocked'
    else 'forbidden'
  end
$$;
comment on function private.refusal_code(bigint, bigint) is
  'The X-Error-Code of a refusal to write to a partner: who has blocked them reads blocked; who was blocked cannot tell
it from other reasons.';

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

create function api.list_blocks()
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
comment on function api.list_blocks() is
  'The users whom the caller has blocked, as [{user_id, name, createdAt}], latest first. Definer, because callers can
read neither blocks nor the names of other users.';
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
  'Blocks a user for the caller; a repeat changes nothing. Errors name this field of the request.';

create function api.block_person(other_user bigint)
returns void
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
end
$$;
comment on function api.block_person(bigint) is
  'Blocks a user for the caller; a repeat changes nothing. Definer, because no caller has a grant on blocks: only API
functions write them.';
grant execute on function api.block_person(bigint) to edge_functions;

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
key was used for another request. Without a key null.';

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
  'Stores the first answer about subject, if there is a key, sets its response metadata and returns it.';

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
begin
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
  'Ids of the caller''s conversations. Definer, so that the policies of messages and reservations compute one set
instead of running a policy for each row: on a scan of 5,000 messages the set costs nothing measurable, a function of
the row''s column costs ten times as much as no policy.';
grant execute on function private.my_conversations() to authenticated;

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

create function private.participants_of(conversations bigint[], emails text default null)
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
  cut_off constant bigint[] := case when emails is not null then coalesce(private.blocked_users_of(me), '{}') end;
begin
  return query
    select
      mine.id,
      voyager.id, voyager.name,
      case
        when emails is null then null
        when voyager.id = any (cut_off) then ''
        -- A call of shown_email for each of them made the list of conversations a tenth dearer.
        when emails = 'always' then voyager.email
        else private.shown_email(voyager.id, voyager.email, mine.id)
      end,
      local.id, local.name,
      case
        when emails is null then null
        when local.id = any (cut_off) then ''
        when emails = 'always' then local.email
        else private.shown_email(local.id, local.email, mine.id)
      end,
      mine.created_at
    from public.conversations as mine
    join public.users as voyager on voyager.id = mine.voyager_id
    join public.users as local on local.id = mine.local_id
    where mine.id = any (conversations) and me in (mine.voyager_id, mine.local_id);
end
$$;
comment on function private.participants_of(bigint[], text) is
  'The names of both participants of each of these conversations, and when it was opened, if the caller is one of them;
with emails (always or after_reply) their e-mail addresses, too. Definer, because users can read only their own row of
users; they see no other columns of a partner''s.';
grant execute on function private.participants_of(bigint[], text) to authenticated;

create function private.require_participant(conversation bigint)
returns void
language plpgsql stable security invoker set search_path = ''
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
  'Raises 404 if the caller does not take part in the conversation, with the same message whether or not it exists.';

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
  page_limit integer, page_offset bigint, emails text, archived boolean default null,
  pinned_first boolean default false, with_partner boolean default false
)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  listed json[];
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
    )::json
    order by page.is_pinned desc, page.active_at desc, page.id desc
  )
  into listed
  from private.my_inbox(
    page_limit => page_limit + 1, page_offset => page_offset, archived => archived, pinned_first => pinned_first,
    with_profile => with_partner, emails => emails
  ) as page;

  return private.to_page(listed, page_limit, next => page_offset + page_limit);
end
$$;
comment on function api.list_conversations(integer, bigint, text, boolean, boolean, boolean) is
  'The caller''s conversations with their latest message, latest activity first; all of them if the limit is null. With
archived only those that the caller has archived, or only the others; with pinned_first the pinned ones come first; with
with_partner each has the other participant, with their public profile unless there is a block; emails says when a
partner''s address is shown: always or after_reply. The response metadata holds the offset of the next page if there is
one.';
grant execute on function api.list_conversations(integer, bigint, text, boolean, boolean, boolean) to edge_functions;

create function api.get_conversation(conversation bigint)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  participants record;
begin
  -- Empty for non-participants, as in list_messages.
  select * into participants from private.participants_of(array[conversation]);
  if not found then
    perform private.require_participant(conversation);
  end if;
  return json_build_object(
    'id', participants.id,
    'Voyager', json_build_object('id', participants.voyager_id, 'name', participants.voyager_name),
    'Local', json_build_object('id', participants.local_id, 'name', participants.local_name),
    'Reservations', private.reservations_of(conversation)
  );
end
$$;
comment on function api.get_conversation(bigint) is
  'A conversation with its two participants and its reservations, ordered by date. Definer, as list_messages.';
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

create function api.list_messages(conversation bigint, page jsonb)
returns json
language plpgsql stable security definer
set search_path = ''
-- Where most conversations are short, the generic plan would read all of a long one and sort it for its last 50
-- messages.
set enable_bitmapscan = off
as $$
declare
  page_limit integer := (page ->> 'limit')::integer;
  page_offset bigint := (page ->> 'offset')::bigint;
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

  return private.to_page(listed, page_limit, next => listed[page_limit].id);
end
$$;
comment on function api.list_messages(bigint, jsonb) is
  'A page {limit, offset, before_id, after_id, order} of a conversation: newest first; oldest first with after_id or
order asc. The response metadata holds the last id of the page if another page follows. Definer, because the policy on
messages gathers the whole inbox, 100 µs for one of 246, where a page takes 300; the caller must take part first.';
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
    and private.first_contact_left(conversation, partner, first_contact_limit, is_locked => true) is distinct from 0
  on conflict (user_id, client_id) do nothing
  returning * into sent;

  if sent.id is null then
    select * into sent from public.messages where user_id = me and client_id = draft_client_id;
    if sent.id is null then
      perform private.require_first_contact(conversation, partner, first_contact_limit);
      raise sqlstate 'PT403' using
        message = 'You cannot write to this person',
        hint = private.refusal_code(me, partner);
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
language plpgsql stable security definer set search_path = ''
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
    from private.inbox_entries
    where user_id = private.my_id() and unread > 0
  );
end
$$;
comment on function api.count_unread() is
  'The number of unread messages, in total and for each conversation that has some. Definer, because callers cannot read
inbox_entries.';
grant execute on function api.count_unread() to edge_functions;

-- The inbox: for each conversation a row for each of its two participants, with its latest message, how many messages
-- are unread, and how the participant has arranged it. A page of an inbox reads this table through an index in its
-- order, so it costs the same in an inbox of 40 as in one of 10,000. docs/scale.md has the designs that were rejected.
-- A domain instead of a check of the table, whose text Postgres would parse again at each statement: 2 % of a send.
create domain private.unread_count as integer
  constraint "the unread count is not negative" check (value >= 0);

create table private.inbox_entries (
  conversation_id bigint not null references public.conversations (id) on delete cascade,
  user_id bigint not null references public.users (id) on delete restrict,
  last_message_id bigint not null default 0,
  previous_message_id bigint not null default 0,
  active_at timestamptz not null,
  unread private.unread_count not null default 0,
  has_written boolean not null default false,
  archived_id bigint,
  is_archived boolean not null generated always as (coalesce(archived_id >= last_message_id, false)) stored,
  is_pinned boolean not null default false,
  muted_until timestamptz,
  primary key (conversation_id, user_id)
);
comment on table private.inbox_entries is
  'A conversation in the inbox of one of its participants: what the list is ordered by, the unread count, and what they
have archived, muted and pinned, of which the partner never learns. Triggers on conversations and messages keep it,
whoever writes those. Only set_conversation_state and the erasing write it as well: how it is arranged.';
comment on column private.inbox_entries.last_message_id is 'The message with the highest id; 0 without one.';
comment on column private.inbox_entries.previous_message_id is
  'What last_message_id was before the latest message was sent, for its event: before Postgres 18 an update cannot
return old values, and looking it up took 5 of the 79 pages of a send.';
comment on column private.inbox_entries.active_at is
  'When the latest message was sent; when the conversation was opened, without one.';
comment on column private.inbox_entries.has_written is
  'Whether the user has ever sent a message here, also if an admin has deleted it since (60_first_contact.sql).';
comment on column private.inbox_entries.archived_id is
  'The latest message when the user archived the conversation; null if they did not. A newer message shows it again, and
nothing has to be written for that but last_message_id.';

create index inbox_entries_order_idx
  on private.inbox_entries (user_id, is_archived, active_at desc, conversation_id desc);
comment on index private.inbox_entries_order_idx is
  'The inbox in its order. What is archived is apart from the rest, so that neither is read for a page of the other.';
create index inbox_entries_unread_idx on private.inbox_entries (user_id) where unread > 0;
comment on index private.inbox_entries_unread_idx is
  'Conversations with unread messages; small, because most have none.';
create index inbox_entries_pinned_idx on private.inbox_entries (user_id) where is_pinned;
comment on index private.inbox_entries_pinned_idx is 'At most 20 for each user, also of 10,000 muted ones.';
create index inbox_entries_arranged_idx on private.inbox_entries (user_id, conversation_id desc)
  where archived_id is not null or is_pinned or muted_until is not null;
comment on index private.inbox_entries_arranged_idx is
  'The states that may differ from the default, as they are listed.';
alter table private.inbox_entries enable row level security;

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
  'Whether a conversation has a message of this person now.';

create function private.refresh_entries(conversation bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- A statement of its own: the next one then sees all messages of those whom it has waited for. In the order of the
  -- primary key, so that two such functions do not wait for each other.
  perform from private.inbox_entries where conversation_id = conversation order by user_id for no key update;
  update private.inbox_entries as entries
  set
    last_message_id = coalesce(latest.id, 0),
    active_at = coalesce(latest.created_at, conversations.created_at),
    has_written = has_written or private.has_message_of(entries.user_id, conversation)
  from public.conversations
  left join lateral (
    select id, created_at
    from public.messages
    where messages.conversation_id = conversations.id
    order by id desc
    limit 1
  ) as latest on true
  where conversations.id = conversation and entries.conversation_id = conversation;
end
$$;
comment on function private.refresh_entries(bigint) is
  'Reads latest message and time of activity again after an admin has changed or removed them. Marks who has written,
and unmarks nobody.';

create function private.handle_changed_conversation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.refresh_entries(new.id);
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
    -- The row of whoever leaves goes to whoever comes, with its count, so that who marks messages as read meanwhile
    -- finds it. A count of what this transaction sees would miss that.
    update private.inbox_entries as entries
    set
      user_id = coalesce(newcomer, entries.user_id),
      has_written = newcomer is null and has_written,
      archived_id = null,
      is_pinned = newcomer is null and is_pinned,
      muted_until = case when newcomer is null then muted_until end
    from unnest(array[old.voyager_id, old.local_id]) as participant
    cross join lateral (
      select case
        when participant in (new.voyager_id, new.local_id) then null
        when new.voyager_id in (old.voyager_id, old.local_id) then new.local_id
        when new.local_id in (old.voyager_id, old.local_id) then new.voyager_id
        when participant = old.voyager_id then new.voyager_id
        else new.local_id
      end as newcomer
    ) as change
    where entries.conversation_id = new.id and entries.user_id = participant;
  end if;
  return null;
end
$$;
comment on function private.handle_changed_conversation() is
  'An admin changed the participants or the time of a conversation. Refuses to take away somebody whose message or
reservation is in it: others would read it as somebody else''s. Definer, because nobody has a grant on inbox_entries.';

create trigger handle_changed_conversation
  after update of voyager_id, local_id, created_at on public.conversations
  for each row
  execute function private.handle_changed_conversation();

-- A conversation as one participant has arranged it: archived, muted, pinned. The partner never learns.
create type private.conversation_state as (
  conversation_id bigint,
  archived boolean,
  muted_until text,
  pinned boolean
);
comment on type private.conversation_state is 'A state as every answer shows it.';

create function private.to_state(entry private.inbox_entries)
returns private.conversation_state
language sql stable security invoker
as $$
  select row(
    entry.conversation_id,
    entry.is_archived,
    private.iso(case when entry.muted_until > now() then entry.muted_until end),
    entry.is_pinned
  )::private.conversation_state
$$;
comment on function private.to_state(private.inbox_entries) is
  'How a user has arranged a conversation. Without `set search_path`, so that it is inlined, as private.iso.';

create function private.follows(person bigint, conversation bigint, message bigint)
returns boolean
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return exists (
    select
    from private.inbox_entries
    where user_id = person
      and conversation_id = conversation
      and coalesce(archived_id < message, not is_archived)
      and (muted_until <= now()) is not false
  );
end
$$;
comment on function private.follows(bigint, bigint, bigint) is
  'Whether a user wants to hear of a message of a conversation, as they have arranged it: they take part in it, have not
muted it, and have not archived it after that message. message is null for anything but a message: then what is archived
now counts.';

create function api.set_conversation_state(conversation bigint, changes jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  archive constant boolean := (changes ->> 'archived')::boolean;
  pin constant boolean := (changes ->> 'pinned')::boolean;
  mute_until constant timestamptz := (changes ->> 'muted_until')::timestamptz;
  before private.inbox_entries;
  after private.inbox_entries;
begin
  if mute_until <= now() then
    raise sqlstate 'PT400' using message = 'muted_until: must be in the future';
  end if;
  -- One request of a user after the other, so that the limit of pinned conversations holds, and an erasure leaves
  -- nothing. The user's row comes before the conversation's, as in send_message.
  perform private.lock_me();
  perform private.require_participant(conversation);
  -- What a message that commits meanwhile has shown again is told as archived anew.
  select * into before
  from private.inbox_entries
  where conversation_id = conversation and user_id = me
  for no key update;
  update private.inbox_entries
  set
    archived_id = case
      when archive is null or archive = is_archived then archived_id
      when archive then last_message_id
    end,
    is_pinned = coalesce(pin, is_pinned),
    muted_until = case when changes ? 'muted_until' then mute_until else muted_until end
  where conversation_id = conversation and user_id = me
  returning * into after;
  if pin and (select count(*) from private.inbox_entries where user_id = me and is_pinned) > 20 then
    raise sqlstate 'PT400' using message = 'pinned: you cannot pin more than 20 conversations', hint = 'too_many';
  end if;
  if private.to_state(after) is distinct from private.to_state(before) then
    perform private.record_state(me, conversation, 'conversation.state', me);
  end if;
  return row_to_json(private.to_state(after));
end
$$;
comment on function api.set_conversation_state(bigint, jsonb) is
  'Archives, mutes or pins a conversation for the caller: {archived, muted_until, pinned}, of which what is absent stays
unchanged. Returns the state, and tells the caller''s other devices if it is another one. Definer, because no caller has
a grant on inbox_entries.';
grant execute on function api.set_conversation_state(bigint, jsonb) to edge_functions;

create function api.list_conversation_states(page jsonb)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  page_limit constant bigint := (page ->> 'limit')::bigint;
  before_id constant bigint := coalesce((page ->> 'before_id')::bigint, 9223372036854775807);
  listed private.conversation_state[];
begin
  -- One more than the page, as in list_messages.
  listed := array(
    select private.to_state(entries)
    from private.inbox_entries as entries
    where user_id = (select private.my_id())
      and conversation_id < before_id
      -- The condition of the index; what is archived may have come back since, and a mute may have ended.
      and (archived_id is not null or is_pinned or muted_until is not null)
      and (is_archived or is_pinned or muted_until > now())
    order by conversation_id desc
    limit page_limit + 1
  );
  return private.to_page(listed, page_limit, next => listed[page_limit].conversation_id);
end
$$;
comment on function api.list_conversation_states(jsonb) is
  'A page {limit, before_id} of the caller''s states that differ from the default, by descending conversation_id; all of
them without a limit. The response metadata holds the last id of the page if another page follows. Definer, as
set_conversation_state.';
grant execute on function api.list_conversation_states(jsonb) to edge_functions;

create function private.erase_states_of(person bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  delete from private.changes where user_id = person and other_id is null;
  update private.inbox_entries
  set archived_id = null, is_pinned = false, muted_until = null
  where user_id = person and (archived_id is not null or is_pinned or muted_until is not null);
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
    select *
    from private.inbox_entries
    where user_id = person
      and not is_archived
      and archived is distinct from true
      and conversation_id <> all (without)
      and (active_at, conversation_id) < (after_time, after_id)
    order by active_at desc, conversation_id desc
    limit max_rows
  )
  union all
  (
    select *
    from private.inbox_entries
    where user_id = person
      and is_archived
      and archived is distinct from false
      and conversation_id <> all (without)
      and (active_at, conversation_id) < (after_time, after_id)
    order by active_at desc, conversation_id desc
    limit max_rows
  )
$$;
comment on function private.latest_entries_of(bigint, boolean, bigint[], timestamptz, bigint, bigint) is
  'At least the max_rows entries of an inbox that come after this time and id, if there are as many: that many of what
is archived and of what is not, because Postgres does not merge parts of a union that have a condition each. Without
`set search_path`, so that it is inlined.';

create function private.my_inbox(
  page_limit bigint, page_offset bigint, archived boolean, pinned_first boolean, with_profile boolean, emails text
)
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
begin
  if pinned_first then
    pinned := array(
      select entries.conversation_id
      from private.inbox_entries as entries
      where entries.user_id = me
        and entries.is_pinned
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
    with entries as materialized (
      select known.*, true as is_shown_first
      from private.inbox_entries as known
      where known.user_id = me and known.conversation_id = any (shown)
      union all
      (
        select latest.*, false
        from private.latest_entries_of(me, archived, pinned, after_time, after_id, page_limit) as latest
        order by latest.active_at desc, latest.conversation_id desc
        limit page_limit - cardinality(shown)
      )
    ),
    -- Each table is read once and in the order of its index: a row at a time was ten pages for each conversation.
    page as materialized (
      select
        entries.conversation_id, conversations.voyager_id, conversations.local_id, conversations.created_at,
        entries.active_at, entries.is_shown_first, entries.last_message_id,
        conversations.voyager_id + conversations.local_id - me as partner_id
      from entries
      join public.conversations
        on conversations.id = entries.conversation_id
        and conversations.id = any (array(select entries.conversation_id from entries))
    )
    select
      page.conversation_id,
      page.voyager_id,
      case me when page.voyager_id then my_name else partner.name end,
      case me when page.voyager_id then my_email else shown.email end,
      page.local_id,
      case me when page.local_id then my_name else partner.name end,
      case me when page.local_id then my_email else shown.email end,
      page.created_at, page.active_at, page.is_shown_first,
      messages.id, messages.content, messages.user_id, messages.read, messages.created_at,
      profile.id, profile.image_url
    from page
    join public.users as partner
      on partner.id = page.partner_id
      and partner.id = any (array(select page.partner_id from page))
    cross join lateral (
      select
        case
          when partner.id = any (cut_off) then ''
          when emails = 'always' then partner.email
          else private.shown_email(partner.id, partner.email, page.conversation_id)
        end as email,
        partner.is_active and partner.id <> all (cut_off) as profile
    ) as shown
    left join public.profiles as profile
      on profile.user_id = partner.id
      and profile.is_searchable
      and shown.profile
      and profile.user_id = any (array(select page.partner_id from page where with_profile))
    left join public.messages
      on messages.id = page.last_message_id
      and messages.id = any (array(select page.last_message_id from page));
end
$$;
comment on function private.my_inbox(bigint, bigint, boolean, boolean, boolean, text) is
  'A page of the caller''s conversations with their participants and latest messages, in no order; all of them if the
limit is null. archived null takes archived ones and others; with_profile reads the partners'' public profiles too.
Definer, because callers cannot read inbox_entries and other users, and the policy on messages would gather all
conversations of the caller.';
grant execute on function private.my_inbox(bigint, bigint, boolean, boolean, boolean, text) to authenticated;

-- What messages do to the inbox: triggers that keep its order and its unread counts.
create function private.handle_new_message()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  recipient bigint;
  takes_part boolean;
  previous_id bigint;
begin
  with entries as (
    update private.inbox_entries
    set
      previous_message_id = last_message_id,
      last_message_id = greatest(last_message_id, new.id),
      -- An admin may insert a message with a lower id.
      active_at = case when new.id > last_message_id then new.created_at else active_at end,
      unread = unread + (user_id <> new.user_id and not new.read)::integer,
      has_written = has_written or user_id = new.user_id
    where conversation_id = new.conversation_id
    returning user_id, previous_message_id
  )
  select max(user_id) filter (where user_id <> new.user_id), bool_or(user_id = new.user_id), max(previous_message_id)
  into recipient, takes_part, previous_id
  from entries;
  if takes_part is not true then
    raise check_violation using
      message = 'user_id is not a participant', constraint = 'user_id must be one of the two participants';
  end if;
  insert into private.changes (user_id, other_id, kind, conversation_id, entity_id)
  values (new.user_id, recipient, 'message', new.conversation_id, new.id);

  perform private.notify(
    event => 'message.created', conversation => new.conversation_id, subject => new.id, by_id => new.user_id,
    people => array[recipient]
  );
  perform private.broadcast_to_users(
    event => 'message.created', conversation => new.conversation_id, id => new.id,
    previous_id => case when previous_id between 1 and new.id - 1 then previous_id end, user_id => new.user_id,
    one => new.user_id, other => recipient
  );
  return null;
end
$$;
comment on function private.handle_new_message() is
  'Moves the conversation up in both inboxes, counts the message as unread, logs it as a change (10_changes.sql), tells
the recipient and the webhook (30_outbox.sql) and broadcasts message.created, of which user_id is the sender
(10_realtime_events.sql). Refuses a sender who is not a participant, whom only an admin could name. One trigger, because
the rest needs what the update returns, and every message pays for what it does; docs/scale.md has the costs. Definer,
because nobody has a grant on inbox and log, and callers may not send events.';

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
  update private.inbox_entries
  set unread = unread + amount
  where conversation_id = conversation and user_id <> sender;
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
  -- The entries before the counts, because that locks both of a conversation in the order in which a send does.
  if tg_op = 'DELETE' then
    perform private.refresh_entries(conversation_id)
    from (select distinct conversation_id from old_rows) as shortened
    order by conversation_id;
    perform private.add_unread(conversation => conversation_id, sender => user_id, amount => -count(*))
    from old_rows
    where not read
    group by conversation_id, user_id
    order by conversation_id, user_id;
    perform private.record_change('message.removed', conversation_id, id) from old_rows order by id;
    return null;
  end if;

  perform private.refresh_entries(conversation_id)
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
comment on function private.handle_changed_messages() is
  'Messages were marked as read, of which the log names the newest of a statement, or an admin has corrected, moved or
removed them, with a conversation, too. Definer, as handle_new_message.';

create trigger handle_changed_messages
  after update on public.messages
  referencing old table as old_rows new table as new_rows
  for each statement
  execute function private.handle_changed_messages();

create trigger handle_deleted_messages
  after delete on public.messages
  referencing old table as old_rows
  for each statement
  execute function private.handle_changed_messages();

create function private.rebuild_inbox()
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  insert into private.inbox_entries as entry (
    conversation_id, user_id, last_message_id, active_at, unread, has_written
  )
  with written as materialized (
    select conversation_id, user_id, max(id) as last_id, count(*) filter (where not read) as unread
    from public.messages
    group by conversation_id, user_id
  ),
  latest as materialized (
    select conversation_id, max(last_id) as id from written group by conversation_id
  )
  select
    conversations.id, person, coalesce(latest.id, 0), coalesce(messages.created_at, conversations.created_at),
    coalesce(theirs.unread, 0), mine.user_id is not null
  from public.conversations
  cross join lateral (values (voyager_id, local_id), (local_id, voyager_id)) as participants (person, partner)
  left join written as mine on mine.conversation_id = conversations.id and mine.user_id = person
  left join written as theirs on theirs.conversation_id = conversations.id and theirs.user_id = partner
  left join latest on latest.conversation_id = conversations.id
  left join public.messages on messages.id = latest.id
  on conflict (conversation_id, user_id) do update
  set
    last_message_id = excluded.last_message_id, active_at = excluded.active_at, unread = excluded.unread,
    has_written = entry.has_written or excluded.has_written
  where (entry.last_message_id, entry.active_at, entry.unread, entry.has_written) is distinct from
    (excluded.last_message_id, excluded.active_at, excluded.unread, entry.has_written or excluded.has_written);
end
$$;
comment on function private.rebuild_inbox() is
  'Makes the inboxes anew from conversations and messages, after a load without triggers; what people have arranged
stays. For operators, while the functions are stopped: what is sent meanwhile may be missing.';

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
comment on column public.reservations.host_id is 'Who receives the other: either participant, by default the local.';
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
  'Refuses every change of the history, by its owner too, except the deletion that follows its reservation''s or its
conversation''s.';

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
create function private.reservation_at(reservation public.reservations, moment timestamptz)
returns public.reservations
language plpgsql immutable parallel safe security invoker set search_path = ''
as $$
begin
  if reservation.due_at <= moment then
    reservation.status := case reservation.status when 'pending' then 'cancelled' else 'completed' end;
    -- An admin may write a date that has passed.
    reservation.updated_at := greatest(reservation.due_at, reservation.updated_at);
    reservation.due_at := null;
  end if;
  return reservation;
end
$$;
comment on function private.reservation_at(public.reservations, timestamptz) is
  'The reservation as it is at this moment, whether or not the clock has written the step that is due. It writes
nothing.';
grant execute on function private.reservation_at(public.reservations, timestamptz) to authenticated;

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
  'Appends the reservation as it is now, and tells whoever did not take the step; both, if an admin or the clock did.';

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
    settled := private.reservation_at(old, moment);
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
  if tg_op <> 'DELETE'
    and (new.conversation_id, new.title, new.price, new.date, new.ends_at, new.status, new.host_id)
      is distinct from (old.conversation_id, old.title, old.price, old.date, old.ends_at, old.status, old.host_id) then
    perform private.add_to_history(new, step.by_id, step.note);
  end if;
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
comment on function private.record_reservation() is
  'Appends every new and changed reservation to the history, whoever wrote it, and logs what was offered, changed, moved
to another conversation or removed. Definer, because callers can write neither.';

create trigger record_reservation
  after insert or update or delete on public.reservations
  for each row
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
history; moment is the time of the whole step, so that nothing becomes due between the look at the status and the
write.';

create function private.settle(reservation public.reservations, moment timestamptz)
returns public.reservations
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  settled constant public.reservations := private.reservation_at(reservation, moment);
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
partner. Raises 404 if the caller does not take part.';

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
  'Raises 403 if the caller and this person have a block, or the person is deactivated or erased, without saying
which.';

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
  'Locks a reservation of this conversation, and its host if told to, and returns it unsettled.';

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
that they have not seen.';

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

  offered := jsonb_populate_record(null::public.reservations, request || jsonb_build_object('offered_by', me));
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
  wanted public.reservations := jsonb_populate_record(current, changes);
begin
  perform private.require_partner(partner);
  perform private.require_revision(current, revision);
  if current.status <> 'pending' then
    raise sqlstate 'PT409' using
      message = format('This reservation is %s', current.status),
      detail = json_build_object('status', current.status);
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
  if note is not null and private.first_contact_left(conversation, partner, first_contact_limit) = 0 then
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
  'Cancels what a person has pending or accepted; what has ended by now is completed.';

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
          'status', (private.reservation_at(reservations, moment)).status
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

create function private.history_of(reservation public.reservations, moment timestamptz)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  settled constant public.reservations := private.reservation_at(reservation, moment);
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
      where reservation_id = reservation.id and conversation_id = reservation.conversation_id
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
      cross join lateral private.to_reservation_view(private.reservation_at(reservations, moment)) as view
      where reservations.conversation_id = conversation
        and (reservation is null or reservations.id = reservation)
      order by reservations.date, reservations.id
    ) as entry;
end
$$;
comment on function private.reservations_with_history(bigint, bigint) is
  'One reservation of a conversation, or all of them by date if its id is null, each with its history.';

create function api.get_reservation(conversation bigint, reservation bigint)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  found_one json;
begin
  perform private.require_participant(conversation);
  select body
  into found_one
  from private.reservations_with_history(conversation, reservation);
  if found_one is null then
    raise sqlstate 'PT404' using message = 'Reservation not found';
  end if;
  return found_one;
end
$$;
comment on function api.get_reservation(bigint, bigint) is
  'A reservation of a conversation with its history. Definer, as list_messages.';
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
begin
  with mine as materialized (
    -- One more than the page, as in list_messages.
    select reservations as entry, reservations.id, reservations.conversation_id
    from public.reservations
    where reservations.conversation_id = any (array(select private.my_conversations()))
      and reservations.id < before_id
      and reservations.date >= from_date
      and reservations.date < to_date
      and (wanted is null or (private.reservation_at(reservations, moment)).status = wanted)
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
    cross join lateral private.to_reservation_view(private.reservation_at(mine.entry, moment)) as view
    join private.participants_of(array(select distinct conversation_id from mine)) as participants
      on participants.id = mine.conversation_id
  )
  select array_agg(row_to_json(entries) order by entries.id desc)
  into listed
  from entries;
  return private.to_page(listed, page_limit, next => (listed[page_limit] ->> 'id')::bigint);
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
  'When private.purge_evidence() deletes note and evidence: 180 days after one of the two was erased. Null: both have an
account, or it is done.';

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
  'Copies the reported message and, if the reporter shares them, the latest 20 messages of the two.';

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
    perform private.notify(event => 'report.created', conversation => null, subject => report.id);
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
    body => json_build_object(
      'id', report.id, 'status', 'open', 'reason', report.reason, 'createdAt', private.iso(report.created_at)
    ),
    metadata => jsonb_build_object('existing', not is_new)
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
begin
  select array_agg(
    json_build_object(
      'id', id, 'status', case when resolved_at is null then 'open' else 'resolved' end, 'reason', reason,
      'createdAt', private.iso(created_at), 'resolvedAt', private.iso(resolved_at)
    )
    order by id desc
  )
  into listed
  from (
    -- One more than the page, as in list_messages.
    select *
    from public.reports
    where reporter_id = (select private.my_id()) and id < before_id
    order by id desc
    limit page_limit + 1
  ) as reports;
  return private.to_page(listed, page_limit, next => (listed[page_limit] ->> 'id')::bigint);
end
$$;
comment on function api.list_my_reports(jsonb) is
  'A page {limit, before_id} of the caller''s own reports, newest first: whether each is resolved, not how. The response
metadata holds the last id of the page if another page follows. Definer, because callers cannot read reports.';
grant execute on function api.list_my_reports(jsonb) to edge_functions;

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
language sql immutable security invoker set search_path = ''
as $$
  select substring(statement from '-- user: ([0-9a-f-]{36})\s+-- date: [^\n]*\s*$')
$$;
comment on function private.dashboard_user(text) is
  'The user of Supabase''s dashboard who ran this statement: its SQL editor ends each with comments that say so.';

create function private.current_admin()
returns text
language sql stable security invoker set search_path = ''
as $$
  select concat_ws(
    ' ', coalesce(claims ->> 'role', session_user), claims ->> 'sub',
    'dashboard user ' || private.dashboard_user(current_query())
  )
  from (select nullif(current_setting('request.jwt.claims', true), '')::json) as request (claims)
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
  'Appends to the log. Raises 400 if a decision has no reason.';

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
  'Hides or suspends a locked person; false if they are already.';

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
to be removed by hand (docs/runbook.md); DELETE /users/me removes them. Definer, because the secret key has no rights on
schema private.';
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
    from private.inbox_entries
    where conversation_id = conversation and user_id = person and inbox_entries.has_written
  );
end
$$;
comment on function private.has_written(bigint, bigint) is
  'Whether a person has ever sent a message in this conversation, also if an admin has deleted it since.';

create function private.first_contact_left(
  conversation bigint, partner bigint, max_things integer, is_locked boolean default false
)
returns bigint
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if max_things is null then
    return null;
  end if;
  if not is_locked then
    -- Concurrent messages, offers and notes are counted.
    perform from public.conversations where id = conversation for no key update;
  end if;
  if private.has_written(partner, conversation) or exists (
    select
    from public.reservation_history
    where conversation_id = conversation and by_id = partner and status in ('pending', 'accepted', 'declined')
  ) then
    return null;
  end if;
  return (
    select greatest(max_things - count(*), 0)
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
comment on function private.first_contact_left(bigint, bigint, integer, boolean) is
  'How many more messages, offers, changed offers and notes may reach the partner before they have written, offered, or
accepted or declined an offer. Null: any number, because they have, or max_things is null. Locks the conversation,
unless the caller has.';

create function private.require_first_contact(conversation bigint, partner bigint, max_things integer)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if private.first_contact_left(conversation, partner, max_things) = 0 then
    raise sqlstate 'PT403' using
      message = format(
        'You can send %s until this person has answered',
        case max_things when 1 then '1 message or offer' else max_things || ' messages or offers' end
      ),
      hint = 'first_contact_limit';
  end if;
end
$$;
comment on function private.require_first_contact(bigint, bigint, integer) is
  'Raises 403 if nothing more may reach the partner before they have answered. It says no more, so that it hides a
block.';

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
until they have written.';

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
  'One of the two participants; of what only one of them may learn, as of a state, that one.';
comment on column private.changes.other_id is 'The other; null if only one of the two may learn of it.';
comment on column private.changes.xid is
  'The transaction that wrote the row. Ids are drawn before the commit, so they do not tell what a reader has seen.';

create index changes_other_id_idx on private.changes (other_id, xid, id) where other_id is not null;
comment on index private.changes_other_id_idx is 'As the primary key, for the other participant.';
alter table private.changes enable row level security;

create view private.changes_by_reader with (security_invoker = true) as
select user_id as reader_id, changes.* from private.changes
union all
select other_id as reader_id, changes.* from private.changes;
comment on view private.changes_by_reader is
  'Each change once for whoever may learn of it. Postgres merges the two indexes, as neither part has a condition.';

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
(actor) for that one alone. Nothing if the conversation is gone, of which they are told by itself.';

create function private.record_conversation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if tg_op = 'INSERT' then
    insert into private.inbox_entries (conversation_id, user_id, active_at)
    values (new.id, new.voyager_id, new.created_at), (new.id, new.local_id, new.created_at);
  end if;
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
  'A conversation was opened, which puts it into both inboxes, and of which user_id of the event is the voyager, who
opened it; or changed or removed by an admin. Whoever took part in it before is told too. Definer, because nobody has a
grant on inbox and log.';

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
  'Logs that a user has arranged a conversation differently, for this user''s devices alone, and tells them.';

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
    select user_id, xid, id, other_id, conversation_id, entity_id, created_at, kind
    from private.changes_by_reader
    where reader_id = person
      and (xid, id) > (after_xid, after_id)
      and xid < pg_snapshot_xmax(target)
      and pg_visible_in_snapshot(xid, target)
      and not pg_visible_in_snapshot(xid, seen)
      and id > origin_id
    order by xid, id
    limit max_rows;
end
$$;
comment on function private.changes_between(bigint, pg_snapshot, pg_snapshot, xid8, bigint, integer) is
  'The next changes of a user that are visible in target and not in seen.';

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
  select user_id, xid, id, other_id, conversation_id, entity_id, created_at, kind
  into newest
  from private.changes_by_reader
  where reader_id = person
    and xid < pg_snapshot_xmax(snapshot)
    and pg_visible_in_snapshot(xid, snapshot)
    and id > origin_id
  order by xid desc, id desc
  limit 1;
  return newest;
end
$$;
comment on function private.newest_change(bigint, pg_snapshot) is
  'A user''s newest change that is visible in this snapshot, by transaction.';

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

-- The search. Its index has one row for each profile that is searchable and whose owner is active. docs/search.md is
-- its design on a page. What a query passes through, in this order:
--   functions/users/read_query.ts: words, with what is denied, ages and words without meaning apart
--   30 read_query: units to look for (a word, a phrase, a place), and how rare each is
--   40 read_filter: what every hit must meet, and who meets it if they are few
--   50 keyword_candidates: who has the words · nearest_profiles: who is near in meaning
--   55 match_words, score_profiles: the scores, the place as a condition, the caller's context · find_profiles: a page
-- Around it: 12 places · 15 how texts become words · 20 triggers that keep the index in sync · 25 the lexicon, typing
-- errors · 65 facets · 70 completions of a search box · 75 embeddings, made later from a queue · 80 rebuild
create extension if not exists unaccent with schema extensions;
create extension if not exists fuzzystrmatch with schema extensions;
create extension if not exists vector with schema extensions;

create table private.search_models (
  name text primary key,
  similarity_floor double precision not null,
  similarity_ceiling double precision not null,
  similarity_threshold double precision not null,
  trust double precision not null check (trust > 0 and trust <= 1),
  measured_profiles integer not null default 0,
  check (similarity_floor < similarity_threshold and similarity_threshold < similarity_ceiling)
);
comment on table private.search_models is
  'How to read the cosines of each embedding model: floor and ceiling, between which they are ranked (the first
percentile of all queries and profiles, and the 99.8th); threshold, from where on a profile is a hit: the lowest, which
has the highest recall, at which .15 of what is found is relevant, among short texts and among long ones alike.
bench/search/calibrate.ts computes them for the offline model, private.calibrate_model for others. Trust: how much a
similarity says beside words; it is multiplied by this before the two are weighed (as `distribution` does for an
embedder of Meilisearch).';
comment on column private.search_models.measured_profiles is
  'How many profiles there were when floor, ceiling and threshold were measured (private.calibrate_model); 0 for those
that nobody has measured.';
alter table private.search_models enable row level security;

-- Those of the offline model come from the labelled set: its similarities reach 1 as often as words do, and then say
-- less. Any other is measured once it has embedded enough profiles (private.calibrate_model).
insert into private.search_models (
  name, similarity_floor, similarity_ceiling, similarity_threshold, trust, measured_profiles
)
values
  ('offline-wordnet-v3', -0.11, 0.7, 0.13, 3.0 / 7, 160);

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

create table private.search_sentences (
  profile_id bigint references private.search_entries (profile_id) on delete cascade,
  place smallint,
  embedding extensions.halfvec(384) not null,
  primary key (profile_id, place)
);
comment on table private.search_sentences is
  'The embeddings of each interest and each sentence of a profile (private.entry_parts), of the model of its entry. One
sentence on a matter is hidden in the embedding of a whole life. There is none where the model knows no word.';
comment on column private.search_sentences.place is 'Which of the parts it is, from 1.';
-- In line, as those of the entries.
alter table private.search_sentences alter column embedding set storage plain;
alter table private.search_sentences enable row level security;

-- One copy of each word. Postings (a row for each word and profile) took 81 MB for 10,000 profiles where this takes 10,
-- and a change of interests touched 1,000 pages. Apart from the entries, because an embedding is saved more often than
-- words change. Rows of up to 8 kB stay in line: reading a thousand candidates out of line takes ten times as long.
create table private.search_words (
  profile_id bigint primary key references private.search_entries (profile_id) on delete cascade,
  words tsvector not null
) with (toast_tuple_target = 8160);
comment on table private.search_words is
  'The words of each entry with their positions and weights (A names, B interests, C places, D biography), and after a
sign that no word has: @ the values that filters compare and the places where somebody lives, ~ names as other scripts
spell them.';
-- Without a list of pending words, which each search would read from beginning to end.
create index search_words_words_idx on private.search_words using gin (words) with (fastupdate = off);
alter table private.search_words enable row level security;

create table private.search_lexicon (
  word text collate "C" not null,
  holders integer not null,
  named real not null
) with (fillfactor = 80);
comment on table private.search_lexicon is
  'Every word of the index, how many profiles have it, and whether it is a name: what private.naming says of it, summed.
A change of a profile adds the words that are new; an hourly job counts (private.count_words). It has no unique
constraint: with one, two transactions that add the same new words wait for each other, and in another order they
deadlock. A word that both add is there twice until the next count.';
create index search_lexicon_word_idx on private.search_lexicon (word);
alter table private.search_lexicon enable row level security;

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

-- The places of the world. A profile is tagged with the place that it is in and with all that this lies in, so that a
-- place in a query or a filter is one condition. The rows are data: private.load_places reads sql/data/places.tsv.

create table private.search_places (
  id integer primary key,
  kind text not null check (kind in ('area', 'country', 'region', 'city', 'district')),
  parents integer[] not null,
  names text[] not null,
  ambiguous text[] not null default '{}',
  adjectives text[] not null default '{}',
  latitude real,
  longitude real,
  population integer
);
comment on table private.search_places is
  'Places: their names in any language and adjectives (Dutch), all as private.words_of writes them; the names and
adjectives that are also ordinary words or given names (Nice, Sofia); and all places that they lie in. Ids are those of
GeoNames, or of UN M49 for parts of the world; from 1,000,000,000 on they are the operator''s (private.add_place).';
create index search_places_names_idx on private.search_places using gin ((names || adjectives)) with (fastupdate = off);
create index search_places_latitude_idx on private.search_places (latitude);
alter table private.search_places enable row level security;

create table private.loaded_data (
  name text primary key,
  checksum text not null
);
comment on table private.loaded_data is
  'Which data files were loaded: the MD5 of each. Whoever has a file with another one loads it.';
alter table private.loaded_data enable row level security;

create function private.folded_parts(value text)
returns text[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return array(
    select array_to_string(private.words_of(part), ' ')
    from unnest(value || regexp_split_to_array(value, '[,;/()]| - ')) with ordinality as parts (part, place)
    where part ~ '\S'
    order by place
    limit 6
  );
end
$$;
comment on function private.folded_parts(text) is
  'A city or country as it is written, and its parts: many write "Lisbon, Portugal".';

create function private.place_tags(city text, country text)
returns integer[]
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  written constant text[] := private.folded_parts(city);
  written_country constant text[] := private.folded_parts(country);
  -- Somebody's country may be Scotland, which is a region.
  countries constant integer[] := array(
    select id
    from private.search_places
    where names || adjectives && written_country and names && written_country and kind in ('country', 'region')
    order by kind
  );
  found private.search_places;
begin
  select places.* into found
  from private.search_places as places
  cross join lateral (select min(array_position(written, name)) from unnest(names) as name) as matches (part)
  where names || adjectives && written and names && written
    and (cardinality(countries) = 0 or id = any (countries) or parents && countries)
  order by
    matches.part,
    -- In "Portland, Oregon" the rest tells which one.
    cardinality(written) > 2 and exists (
      select from private.search_places as wider
      where wider.id = any (places.parents) and wider.names && written[3:]
    ) desc,
    case
      when kind in ('city', 'district') then 1
      -- Whoever writes only Jamaica does not mean the part of New York; whoever lives in Luxembourg in Luxembourg does.
      when kind = 'country' then case when cardinality(countries) = 0 then 1 else 3 end
      else 2
    end,
    population desc nulls last,
    id
  limit 1;
  if found.id is null then
    select places.* into found from private.search_places as places where id = countries[1];
  end if;
  return array(select distinct tag from unnest(found.id || found.parents) as tag where tag is not null order by tag);
end
$$;
comment on function private.place_tags(text, text) is
  'The place of a profile and all that it lies in. A city is looked for in the country, if that is known, and the
largest of its name is taken; if it is not known there, the country alone.';

create type private.place_name as (
  candidate text,
  ids integer[],
  is_adjective boolean,
  is_ambiguous boolean
);
comment on type private.place_name is 'A name or an adjective of these places (private.places_named).';

create function private.places_named(candidates text[])
returns setof private.place_name
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return query
    select
      phrase, array_agg(id order by population desc nulls last, id), kinds.adjectival, bool_or(phrase = any (ambiguous))
    from private.search_places as places
    cross join lateral (values (false, places.names), (true, places.adjectives)) as kinds (adjectival, listed)
    cross join unnest(candidates) as phrase
    where places.names || places.adjectives && candidates and phrase = any (kinds.listed)
    group by phrase, kinds.adjectival;
end
$$;
comment on function private.places_named(text[]) is
  'Which of these folded phrases are names or adjectives of places, of which ones, and whether they are also ordinary
words or given names.';

create function private.places_within(ids integer[], kilometres double precision)
returns integer[]
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return array(
    select unnest(ids)
    union
    select near.id
    from private.search_places as centre
    cross join lateral (
      select kilometres / 111.2, kilometres / 111.2 / greatest(cosd(centre.latitude), 0.01)
    ) as box (height, width)
    join private.search_places as near
      on near.latitude between centre.latitude - box.height and centre.latitude + box.height
      -- Across the 180th meridian as well.
      and (
        abs(near.longitude - centre.longitude) <= box.width or 360 - abs(near.longitude - centre.longitude) <= box.width
      )
    where centre.id = any (ids)
      and centre.kind in ('city', 'district')
      and near.kind in ('city', 'district')
      -- The haversine formula, with the mean radius of the Earth.
      and 12742 * asin(least(1, sqrt(
        sind((near.latitude - centre.latitude) / 2) ^ 2
          + cosd(centre.latitude) * cosd(near.latitude) * sind((near.longitude - centre.longitude) / 2) ^ 2
      ))) <= kilometres
    order by 1
  );
end
$$;
comment on function private.places_within(integer[], double precision) is
  'These places and the cities and districts within so many kilometres of those that are cities or districts. A region
or country has no middle that a distance could be measured from.';

create function private.add_place(
  names text[], kind text default 'city', parents integer[] default '{}', adjectives text[] default '{}',
  latitude real default null, longitude real default null, population integer default null
)
returns integer
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  place private.search_places;
begin
  select
    greatest(max(places.id) + 1, 1000000000), add_place.kind,
    array(
      select distinct parent
      from unnest(add_place.parents) as given
      left join private.search_places as above on above.id = given
      cross join unnest(given || above.parents) as parent
    ),
    array(select array_to_string(private.words_of(name), ' ') from unnest(add_place.names) as name), array[]::text[],
    array(select array_to_string(private.words_of(adjective), ' ') from unnest(add_place.adjectives) as adjective),
    add_place.latitude, add_place.longitude, add_place.population
  into place
  from private.search_places as places;
  insert into private.search_places select place.*;
  perform private.refresh_search_entry(profiles.id)
  from public.profiles
  where is_searchable and private.folded_parts(city) || private.folded_parts(country) && place.names;
  return place.id;
end
$$;
comment on function private.add_place(text[], text, integer[], text[], real, real, integer) is
  'For operators: a place with its names, adjectives and what it lies in; returns its id. The profiles of its people are
indexed anew.';

create function private.refresh_places(after bigint, max_profiles integer)
returns bigint
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  taken bigint[] := array(
    select profile_id
    from private.search_entries
    where profile_id > after and (city is not null or country is not null)
    order by profile_id
    limit max_profiles
  );
begin
  perform private.refresh_search_entry(profile) from unnest(taken) as profile;
  return taken[cardinality(taken)];
end
$$;
comment on function private.refresh_places(bigint, integer) is
  'Indexes the next max_profiles profiles with a place anew, whose ids are greater; returns the last id, null if there
are no more.';

create function private.load_places(file text)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  names_index text;
begin
  names_index := pg_get_indexdef('private.search_places_names_idx'::regclass);
  -- It is built afterwards. This also locks the table: two stacks that start on one database load one after the other.
  drop index private.search_places_names_idx;
  delete from private.search_places where id < 1000000000;
  with recursive
  rows as materialized (
    select
      columns[1]::integer as id, columns[2] as kind, string_to_array(columns[3], ',')::integer[] as parents,
      string_to_array(columns[4], '|') as names, string_to_array(columns[5], '|') as ambiguous,
      string_to_array(columns[6], '|') as adjectives, nullif(columns[7], '')::real as latitude,
      nullif(columns[8], '')::real as longitude, nullif(columns[9], '')::integer as population
    from string_to_table(file, E'\n') as line
    -- Without the offset each column would split the line anew.
    cross join lateral (select string_to_array(line, E'\t') offset 0) as split (columns)
    where line <> '' and line not like '#%'
  ),
  above as (
    select id, parent from rows cross join unnest(parents) as parent where kind in ('area', 'country', 'region')
    union
    select above.id, further
    from above
    join rows on rows.id = above.parent
    cross join unnest(parents) as further
  ),
  ancestors as (
    select id, array_agg(parent) as parents from above group by id
  ),
  -- The file has the nearest parents only, which many cities share.
  placed as (
    select nearest, array_agg(distinct parent) as parents
    from (select distinct parents from rows) as shared (nearest)
    cross join unnest(nearest) as direct
    left join ancestors on ancestors.id = direct
    cross join unnest(direct || ancestors.parents) as parent
    group by nearest
  )
  insert into private.search_places
  select
    id, kind, coalesce(placed.parents, '{}'), names, ambiguous, adjectives, latitude, longitude, population
  from rows
  left join placed on nearest = rows.parents;
  execute names_index;
  insert into private.loaded_data (name, checksum)
  values ('places', md5(file))
  on conflict (name) do update set checksum = excluded.checksum;
end
$$;
comment on function private.load_places(text) is
  'Replaces all places but the operator''s by those of sql/data/places.tsv, given as text. Searches wait meanwhile: a
second on a server.';

-- How texts become words of the index.

create function private.to_latin(letters text)
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  pairs constant text[] := array[
    'ου', 'ou', 'θ', 'th', 'χ', 'ch', 'ψ', 'ps', 'щ', 'shch', 'ш', 'sh', 'ч', 'ch', 'ж', 'zh', 'х', 'kh', 'ц', 'ts',
    'ю', 'yu', 'я', 'ya', 'є', 'ye', 'ђ', 'dj', 'љ', 'lj', 'њ', 'nj', 'џ', 'dz', 'ѕ', 'dz', 'ъ', '', 'ь', ''
  ];
begin
  if letters !~ '[\u0370-\u03ff\u0400-\u04ff]' then
    return letters;
  end if;
  for place in 1..cardinality(pairs) by 2 loop
    letters := replace(letters, pairs[place], pairs[place + 1]);
  end loop;
  return translate(
    letters,
    'абвгдезийклмнопрстуфыэіїґўјћѓќαβγδεζηικλμνξοπρσςτυφω',
    'abvgdeziyklmnoprstufyeiigujcgkavgdeziiklmnxoprsstyfo'
  );
end
$$;
comment on function private.to_latin(text) is
  'Lower-case Greek and Cyrillic letters in their usual Latin spelling, so that Иван is found as Ivan and the other way
round. functions/_shared/fold.ts does the same.';

create function private.fold(value text)
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return private.to_latin(lower(extensions.unaccent('extensions.unaccent', normalize(value, nfkc))));
end
$$;
comment on function private.fold(text) is
  'Folds case, accents, compatibility forms and scripts of single sounds. Immutable as long as nobody edits the
dictionary unaccent.';

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
      -- Collations disagree on what is punctuation: to ICU « and emoji are letters.
      regexp_replace(private.fold(value), '([' || private.unspaced_letters() || '])', ' \1 ', 'g')
        collate pg_catalog.pg_c_utf8,
      '[^[:space:][:punct:][:cntrl:]]+', 'g'
    ) with ordinality as matches (word, position)
  );
end
$$;
comment on function private.words_of(text) is
  'The folded words of a text, in order. In scripts without spaces every character is a word.';

create function private.lexeme(word text)
returns text
language sql immutable parallel safe
as $$
  select '''' || replace(replace(word, '\', '\\'), '''', '''''') || ''''
$$;
comment on function private.lexeme(text) is 'A word as a tsvector or tsquery spells it.';

create function private.romaji(kana text)
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  latin text;
  sounds constant text[] := string_to_array(
    'きゃ kya きゅ kyu きょ kyo しゃ sha しゅ shu しょ sho ちゃ cha ちゅ chu ちょ cho にゃ nya にゅ nyu にょ nyo ひゃ hya ひゅ hyu '
    'ひょ hyo みゃ mya みゅ myu みょ myo りゃ rya りゅ ryu りょ ryo ぎゃ gya ぎゅ gyu ぎょ gyo じゃ ja じゅ ju じょ jo びゃ bya '
    'びゅ byu びょ byo ぴゃ pya ぴゅ pyu ぴょ pyo あ a い i う u え e お o か ka き ki く ku け ke こ ko さ sa し shi す su '
    'せ se そ so た ta ち chi つ tsu て te と to な na に ni ぬ nu ね ne の no は ha ひ hi ふ fu へ he ほ ho ま ma み mi '
    'む mu め me も mo や ya ゆ yu よ yo ら ra り ri る ru れ re ろ ro わ wa を o ん n が ga ぎ gi ぐ gu げ ge ご go ざ za '
    'じ ji ず zu ぜ ze ぞ zo だ da ぢ ji づ zu で de ど do ば ba び bi ぶ bu べ be ぼ bo ぱ pa ぴ pi ぷ pu ぺ pe ぽ po', ' '
  );
begin
  if normalize(kana, nfkc) !~ '^[ぁ-ゖァ-ヶー]+$' then
    return null;
  end if;
  -- Katakana are hiragana 96 further on.
  latin := translate(
    normalize(kana, nfkc),
    (select string_agg(chr(code), '' order by code) from generate_series(12449, 12534) as code),
    (select string_agg(chr(code), '' order by code) from generate_series(12353, 12438) as code)
  );
  for place in 1..cardinality(sounds) by 2 loop
    latin := replace(latin, sounds[place], sounds[place + 1]);
  end loop;
  -- A small tsu doubles what follows; long vowels are written once.
  latin := regexp_replace(replace(latin, 'ー', ''), 'っ(.)', '\1\1', 'g');
  return regexp_replace(regexp_replace(latin, 'ou', 'o', 'g'), '([aiueo])\1', '\1', 'g');
end
$$;
comment on function private.romaji(text) is 'Kana as Hepburn writes them, without long vowels; null for anything else.';

create function private.consonants(word text)
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return '~' || case when word ~ '^[\u0590-\u05ff\u0600-\u06ff]+$'
    then 'abjad ' || regexp_replace(translate(
      regexp_replace(replace(word, 'צ', 'ts'), '[הةه]$', ''),
      'بتثجحخدذرزسشصضطظغفقكلمنهبגדזחטכךלמםנןספףץקרשתה' || 'پچگژ' || 'אעויةاأإآءؤئىيوع',
      'bttjhkddrzsssdtzgfkklmnhbgdzhtkklmmnnsffskrsth' || 'bcgz'
    ), '(.)\1+', '\1', 'g')
    else 'latin ' || regexp_replace(translate(
      regexp_replace(regexp_replace(
        replace(replace(replace(word, 'sh', 's'), 'ph', 'f'), 'tz', 'ts'), '([tdkcg])h', '\1', 'g'
      ), 'h$', ''),
      'pvcqxaeiouyw', 'fbkks'
    ), '(.)\1+', '\1', 'g')
  end;
end
$$;
comment on function private.consonants(text) is
  'What a word in Arabic or Hebrew letters and its usual Latin spelling have in common, apart from the sign in front,
which says how it is written: vowels are not, and some consonants are told apart in one of the scripts only.';

create function private.facet(kind text, value text)
returns text
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return '@' || kind || ' ' || replace(left(private.fold(trim(value)), 200), '*', '∗');
end
$$;
comment on function private.facet(text, text) is
  'A lexeme for a value that filters compare: folded, trimmed, and with a sign that no word has. An asterisk, which ends
a beginning in private.term_query, is another character.';

create function private.words_vector(profile public.profiles, name text, interests text[])
returns tsvector
language plpgsql stable security invoker set search_path = ''
as $$
declare
  -- Names as other scripts spell them.
  spelt constant text[] := array(
    select spelling
    from unnest(array[name, profile.first_name, profile.last_name]) as value
    cross join lateral regexp_split_to_table(private.fold(value), '[[:space:][:punct:]]+') as word
    cross join lateral (values (private.romaji(word)), (private.consonants(word))) as spellings (spelling)
    -- One consonant is no name.
    where spelling !~ '^~\w+ .?$'
  );
begin
  return (
    with texts (number, weight, value) as (
      values
        (1, 'A', name), (2, 'A', profile.first_name), (3, 'A', profile.last_name), (4, 'C', profile.city),
        (5, 'C', profile.country)
      union all
      select 5 + ordinality, 'B', interest
      from unnest(interests) with ordinality as listed (interest, ordinality)
      union all
      values (1000, 'D', profile.biography)
    ),
    words as (
      -- Two positions lie between two texts, so that no phrase reaches across them.
      select word, weight, 2 * text_number + row_number() over (order by number, place) as position
      from (
        select *, dense_rank() over (order by number) as text_number from texts where value is not null
      ) as numbered
      -- Some characters fold into many words, and a position of a tsvector is at most 16,383.
      cross join lateral (
        select (private.words_of(value))[:case weight when 'D' then 11000 when 'B' then 60 else 290 end] as words
      ) as split
      cross join lateral unnest(split.words) with ordinality as listed (word, place)
    )
    select coalesce(string_agg(private.lexeme(word) || ':' || least(position, 16382) || weight, ' '), '')
      || coalesce(' ' || (
        select string_agg(private.lexeme('@in ' || tag) || ':16383C', ' ')
        from unnest(private.place_tags(profile.city, profile.country)) as tag
      ), '')
    from words
  )::tsvector || setweight(array_to_tsvector(array_remove(spelt, null)), 'A') || array_to_tsvector(array(
    select private.facet('interest', interest) from unnest(interests) as interest
    union
    select private.facet('name', array_to_string(private.words_of(name), ' '))
    union
    select private.facet('city', profile.city) where profile.city is not null
    union
    select private.facet('country', profile.country) where profile.country is not null
    union
    select private.facet('age', age)
    from unnest(array[coalesce(profile.age::text, 'unknown'), profile.age / 10 || '0s']) as age
    where age is not null
  ));
end
$$;
comment on function private.words_vector(public.profiles, text, text[]) is
  'All words of a profile with their positions and weights (private.search_words), the places where its owner lives, its
name as other scripts spell it, and its facets.';

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

create function private.naming(weights text[])
returns real
language sql immutable parallel safe
as $$
  select case
    when weights && '{A,C}' then 1
    when weights && '{B}' then -1
    -- A biography may mention a name.
    else -0.5
  end
$$;
comment on function private.naming(text[]) is
  'Whether a profile has a word as the name of a person or place, by the weights that it has there: 1, or less.';

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
  hash_before text;
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
  select content_hash into hash_before from private.search_entries where profile_id = profile;
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
  if hash_before is distinct from hash then
    -- Those of the old text, too, would still find what the owner has deleted.
    delete from private.search_sentences where profile_id = profile;
    perform private.enqueue_embedding('profile', profile);
  end if;
  insert into private.search_completions as stored (profile_id, keys)
  values (
    profile,
    private.completion_keys(name => owner.name, city => current_profile.city, interests => interest_names)
  )
  on conflict (profile_id) do update set keys = excluded.keys
  where stored.keys <> excluded.keys;
  insert into private.search_words as stored (profile_id, words)
  values (profile, vector)
  on conflict (profile_id) do update set words = excluded.words
  where stored.words <> excluded.words;
  if found then
    insert into private.search_lexicon (word, holders, named)
    select lexeme, 1, private.naming(weights)
    from unnest(vector)
    where not exists (select from private.search_lexicon as lexicon where lexicon.word = lexeme);
  end if;
end
$$;
comment on function private.refresh_search_entry(bigint) is
  'Inserts, updates or deletes the entry of a profile. Definer, because users who change a profile may not write the
index.';

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
  if found then
    perform private.enqueue_embedding('context', person);
  end if;
end
$$;
comment on function private.refresh_search_context(bigint) is
  'Inserts, updates or deletes the context of a user. Only for definer triggers: users who change a profile may not
write the index.';

create function private.sync_search_index()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  case tg_table_name
    when 'profiles' then
      perform private.refresh_search_entry(new.id);
      if tg_op = 'INSERT' then
        perform private.refresh_search_context(new.user_id);
      end if;
    when 'users' then
      perform private.refresh_search_entry(id) from public.profiles where user_id = new.id;
      perform private.refresh_search_context(new.id);
    when 'interests' then
      perform private.refresh_search_entry(profiles.id), private.refresh_search_context(profiles.user_id)
      from public.profile_interests
      join public.profiles on profiles.id = profile_interests.profile_id
      where profile_interests.interest_id = new.id;
    when 'profile_interests' then
      perform private.refresh_search_entry(id), private.refresh_search_context(user_id)
      from public.profiles
      where id in (select profile_id from changed);
  end case;
  return null;
end
$$;
comment on function private.sync_search_index() is
  'Updates the index when a profile changes, its interests are added, removed or swapped, an interest is renamed, or a
user''s name or is_active changes; and the context of its owner, also when bio or location does. Definer, as
refresh_search_entry.';

create trigger sync_profile
  after insert or update on public.profiles
  for each row
  execute function private.sync_search_index();

create trigger sync_user
  after update on public.users
  for each row
  when (
    (old.name, old.is_active, old.bio, old.location) is distinct from (new.name, new.is_active, new.bio, new.location)
  )
  execute function private.sync_search_index();

create trigger sync_interest
  after update of name on public.interests
  for each row
  execute function private.sync_search_index();

create trigger sync_added_interests
  after insert on public.profile_interests
  referencing new table as changed
  for each statement
  execute function private.sync_search_index();

create trigger sync_removed_interests
  after delete on public.profile_interests
  referencing old table as changed
  for each statement
  execute function private.sync_search_index();

-- A statement that updates rows calls it twice: for the profiles as they were, and as they are.
create trigger sync_left_interests
  after update on public.profile_interests
  referencing old table as changed
  for each statement
  execute function private.sync_search_index();

create trigger sync_entered_interests
  after update on public.profile_interests
  referencing new table as changed
  for each statement
  execute function private.sync_search_index();

-- The lexicon: how its words are counted, and what a word that nobody has may be a mistyping of, or written together
-- from.

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
  on private.search_lexicon using gin (private.deletion_keys(word)) with (fastupdate = off)
  where word !~ '^[@~]';
comment on index private.search_lexicon_deletions_idx is
  'Candidates for a mistyped word. To compare it with each of 80,000 words that has its first letter took 5.5 ms.';

create function private.typo_budget(word text)
returns integer
language sql immutable parallel safe
as $$
  select case when char_length(word) < 5 then 0 when char_length(word) < 9 then 1 else 2 end
$$;
comment on function private.typo_budget(text) is
  'How many typing errors are tolerated in a word of this length. As in Meilisearch: none below 5 letters, one below 9,
else two.';

create function private.typos(typed text, meant text, budget integer)
returns integer
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
  -- A swap is one error here and two to Levenshtein, so a greater distance cannot be within the budget.
  distance constant integer := extensions.levenshtein_less_equal(typed, meant, 2 * budget);
begin
  if distance <= 1 or distance > 2 * budget then
    return case when distance <= budget then distance end;
  end if;
  return (
    select least(case when distance <= budget then distance end, 1 + min(private.typos(swapped, meant, budget - 1)))
    from generate_series(1, char_length(typed) - 1) as place
    cross join lateral overlay(
      typed placing substr(typed, place + 1, 1) || substr(typed, place, 1) from place for 2
    ) as swapped
  );
end
$$;
comment on function private.typos(text, text, integer) is
  'How many errors turn one word into the other: a wrong, missing or extra letter, or two adjacent letters swapped. Null
above the budget.';

create function private.corrections_of(typed text, unfinished boolean)
returns table (word text, typos integer)
language plpgsql stable security invoker set search_path = ''
as $$
declare
  budget constant integer := private.typo_budget(typed);
  size constant integer := char_length(typed);
  double constant text := '(.)\1';
  undoubled constant text := regexp_replace(typed, double, '\1', 'g');
begin
  if budget = 0 then
    return;
  end if;
  return query
    select lexicon.word, min(cost.errors)
    from (
      select *
      from private.search_lexicon as listed
      where listed.word !~ '^[@~]'
        and private.deletion_keys(listed.word) && private.deletions(left(typed, 4 + budget), budget)
      -- Among 13,000 words at most 77 are as near as this. Fifty profiles can hold 20,000 words that begin alike, and
      -- to compare all of them took a second.
      limit 200
    ) as lexicon
    -- The beginnings of a word that an unfinished one may stand for.
    cross join lateral unnest(case
      when unfinished and char_length(lexicon.word) > size - budget
        then array(select left(lexicon.word, size + more) from generate_series(-budget, budget) as more)
      else array[lexicon.word]
    end) as form
    cross join lateral (
      select private.typos(typed => typed, meant => form, budget => budget)
        -- A wrong first letter counts twice.
        + case when left(form, 1) <> left(typed, 1) then 1 else 0 end as errors
    ) as cost
    where cost.errors between 1 and budget
      and lexicon.word <> typed collate "C"
      and not (unfinished and starts_with(lexicon.word, typed))
    group by lexicon.word
    -- Of as many errors, a letter that should be double is the likeliest: chese is cheese and not chess.
    order by min(cost.errors), regexp_replace(lexicon.word, double, '\1', 'g') = undoubled desc, max(holders) desc, 1
    limit 20;
end
$$;
comment on function private.corrections_of(text, boolean) is
  'The words of the index that a typed word may be a mistyping of, each with its errors, the likeliest first; those that
begin with an unfinished word are not among them.';

create function private.is_listed(word text)
returns boolean
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  -- The lexicon may still have words that nobody has any more. First it, because it is quicker.
  return exists (select from private.search_lexicon as lexicon where lexicon.word = is_listed.word)
    and exists (select from private.search_words where words @@ private.lexeme(is_listed.word)::tsquery);
end
$$;
comment on function private.is_listed(text) is 'Whether somebody has a word.';

create function private.split_of(typed text)
returns text[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    with recursive cuts (parts, rest) as (
      -- No word that is written together is longer.
      select '{}'::text[], typed where char_length(typed) <= 40
      union all
      select parts || word, substr(rest, size + 1)
      from cuts
      cross join generate_series(case when cardinality(parts) < 2 then 1 else char_length(rest) end, char_length(rest))
        as size
      cross join lateral (select left(rest, size) as word) as part
      where cardinality(parts) < 3
        -- O'Brien, d'Angelo and l'Aquila are two words.
        and (size > 2 or word in ('d', 'l', 'o') and parts = '{}')
        and exists (select from private.search_lexicon as lexicon where lexicon.word = part.word)
    ),
    likeliest as (
      select parts
      from cuts
      where rest = '' and cardinality(parts) > 1
      order by cardinality(parts), abs(2 * char_length(parts[1]) - char_length(typed))
      -- Where all of aa, aaa, aaaa … are words, aaaaaaaaaa is many, and the index has to look for each.
      limit 20
    )
    select parts
    from likeliest
    where exists (
      select
      from private.search_words
      where words @@ (select string_agg(private.lexeme(word), ' <-> ')::tsquery from unnest(parts) as word)
    )
    limit 1
  );
end
$$;
comment on function private.split_of(text) is
  'The two or three words that a word which nobody has is written together from, if somebody has them side by side.';

create function private.count_words()
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  delete from private.search_lexicon as lexicon
  where exists (select from private.search_lexicon as copy where copy.word = lexicon.word and copy.ctid < lexicon.ctid);
  merge into private.search_lexicon as lexicon
  using (
    select lexeme as word, count(*)::integer as holders, sum(private.naming(weights))::real as named
    from private.search_words
    cross join lateral unnest(words)
    group by lexeme
  ) as counted
  on counted.word = lexicon.word
  when matched and (lexicon.holders, lexicon.named) <> (counted.holders, counted.named) then
    update set holders = counted.holders, named = counted.named
  when not matched then
    insert (word, holders, named) values (counted.word, counted.holders, counted.named)
  -- A transaction under way may have found it here. It is there again after the next count; until then it is found only
  -- as it is written.
  when not matched by source then
    delete;
end
$$;
comment on function private.count_words() is
  'Counts in the lexicon how many profiles have each word, and deletes those that nobody has. Called each hour.';

create function private.forget_words(words tsvector)
returns void
language sql volatile security invoker set search_path = ''
as $$
  delete from private.search_lexicon
  where ctid in (
    select ctid
    from private.search_lexicon
    where word = any (tsvector_to_array(words))
      and not exists (select from private.search_words as stored where stored.words @@ private.lexeme(word)::tsquery)
    -- A count under way may lock them in another order; the next one deletes them.
    for update skip locked
  )
$$;
comment on function private.forget_words(tsvector) is
  'Deletes from the lexicon those of the words that nobody has any more. For erasure, which does not
wait for the count.';

-- What a query looks for: words, phrases and places, as queries of the index, and how much each of them says.

create type private.search_unit as (
  number integer,
  words text[],
  exact text[],
  loose text[],
  is_phrase boolean,
  quoted boolean,
  place text,
  lives tsquery,
  rarity double precision,
  is_named boolean,
  exact_query tsquery,
  loose_query tsquery,
  corrected text
);
comment on type private.search_unit is
  'One thing to look for. `words`: a word, or those of a phrase or of the name of a place. `exact` are the words of the
index that mean the same, `loose` those that it may stand for: beginnings, marked with a *, and corrections; the queries
find who has them. `place` is the name of a place; `lives` finds its people if the query is about those only.
`rarity`: ln(1 + profiles / who has it). `is_named`: above all a name of people or places. `corrected`: the likeliest
word that it is a mistyping of.';

create function private.either(unit private.search_unit)
returns tsquery
language sql immutable parallel safe
as $$
  select coalesce((unit).exact_query || (unit).loose_query, (unit).exact_query)
$$;
comment on function private.either(private.search_unit) is 'Finds who has a unit, or what it may stand for.';

create type private.search_query as (
  units private.search_unit[],
  excluded tsquery,
  corrections jsonb,
  completions jsonb,
  unknown text[]
);
comment on type private.search_query is
  'A query as private.read_query returns it. `excluded` finds whom it does not want; `corrections` are the likeliest of
mistyped words, and `completions` those that an unfinished one most often stands for: [{from, to}]; `unknown` are words
that nobody has and the model does not know.';

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

create function private.phrase(words text[])
returns tsquery
language sql immutable parallel safe
as $$
  select string_agg(private.lexeme(word), ' <-> ' order by place)::tsquery
  from unnest(words) with ordinality as listed (word, place)
$$;
comment on function private.phrase(text[]) is 'Finds the profiles that have these words side by side.';

create function private.term_query(term text)
returns tsquery
language sql immutable parallel safe
as $$
  select case
    when term like '%*' then (private.lexeme(left(term, -1)) || ':*')::tsquery
    else private.lexeme(term)::tsquery
  end
$$;
comment on function private.term_query(text) is
  'Finds the profiles that have a word, or with a * behind it one that begins so.';

create function private.any_term(terms text[])
returns tsquery
language sql immutable parallel safe
as $$
  select private.any_of(private.term_query(term)) from unnest(terms) as term
$$;
comment on function private.any_term(text[]) is 'Finds the profiles that have any of these terms (private.term_query).';

create function private.tags_of(places integer[])
returns text[]
language sql immutable parallel safe
as $$
  select coalesce(array_agg('@in ' || place), '{}') from unnest(places) as place
$$;
comment on function private.tags_of(integer[]) is 'How the index says that somebody lives in one of these places.';

create function private.word_counts(terms text[], out holders double precision, out named double precision)
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  select coalesce(sum(counted.holders), 0), coalesce(sum(counted.named), 0)
  into holders, named
  from (
    select max(found.holders) as holders, max(found.named) as named
    from unnest(terms) as term
    -- With its own limit each term is a range of the index; joined, Postgres read the whole lexicon for each.
    cross join lateral (
      select lexicon.word, lexicon.holders, lexicon.named
      from private.search_lexicon as lexicon
      where lexicon.word >= rtrim(term, '*') collate "C"
        -- The greatest character after a beginning is above all words that have it.
        and lexicon.word <= (case when term like '%*' then rtrim(term, '*') || u&'\+10FFFF' else term end) collate "C"
      limit 1000
    ) as found
    group by found.word
    limit 1000
  ) as counted;
end
$$;
comment on function private.word_counts(text[]) is
  'About how many profiles have any of these words, as the lexicon last counted them, and whether these are names
(private.naming).';

create type private.query_word as (
  word text,
  run integer,
  quoted boolean,
  excluded boolean,
  unfinished boolean,
  is_known boolean,
  is_where boolean,
  is_near boolean,
  is_language boolean,
  is_capital boolean,
  is_denied boolean,
  is_light boolean,
  variants text[]
);
comment on type private.query_word is
  'A word of a query as functions/users/read_query.ts sends it, folded. Words of one `run` are a phrase. `is_known`: the
model knows it; `is_where`: after "in" or "outside", where a place stands; `is_near`: after "near"; `is_language`: where
a language stands; `is_denied`: excluded in words and not by a minus sign; `is_light`: without a meaning of its own;
`variants`: other ways to write it.';

create function private.either_number(word text)
returns text
language sql immutable parallel safe
as $$
  select case when word like '%s' then left(word, -1) else word || 's' end where char_length(word) > 2
$$;
comment on function private.either_number(text) is
  'A word in singular for plural, and the other way round, as most languages of the profiles have it.';

create function private.denied(words text[])
returns tsquery
language sql immutable parallel safe
as $$
  select private.any_of(form && !!lacking)
  from (
    select private.phrase(words) as form
    union all
    select private.lexeme(private.either_number(words[1]))::tsquery where cardinality(words) = 1
  ) as forms
  -- "no meat", "I don't eat meat".
  cross join lateral (
    select private.any_of(
      tsquery_phrase(private.lexeme(denier)::tsquery, form)
        || tsquery_phrase(private.lexeme(denier)::tsquery, form, 2)
    ) as lacking
    from unnest(
      '{no,not,t,without,never,non,kein,keine,keinen,ohne,sin,sans,pas,senza,sem,nao,geen,zonder,bez}'::text[]
    ) as denier
  ) as deniers
$$;
comment on function private.denied(text[]) is
  'Finds whoever has what a query denies, and does not say of themselves that they have no such thing.';

create function private.read_place(words private.query_word[], first integer, places private.place_name[])
returns private.search_unit
language plpgsql stable security invoker set search_path = ''
as $$
declare
  part constant private.query_word := words[first];
  named record;
  unit private.search_unit;
begin
  select * into named
  from unnest(places) as place
  cross join lateral (select array_length(string_to_array(candidate, ' '), 1) as size) as sized
  cross join lateral (
    select exists (
      select
      from private.search_words as stored
      where stored.words @@ private.any_term(private.tags_of(place.ids))
    ) as is_inhabited
    offset 0
  ) as home
  where not is_adjective
    and candidate = array_to_string(array(select word from unnest(words[first:first + size - 1])), ' ')
    and not exists (select from unnest(words[first:first + size - 1]) where run is distinct from part.run or quoted)
    and (size > 1 or not part.is_light)
    -- Two letters are an abbreviation, or a word: LA, la.
    and (part.is_capital or not is_ambiguous or candidate !~ '^[a-z]{1,2}$')
    -- What is also another word, or may become one while it is typed, is a place where one stands, or if people live
    -- there and it is all that is asked or written like a name.
    and case
      when part.is_where or part.is_near then true
      when is_inhabited then not is_ambiguous or size > 1 or part.is_capital or cardinality(words) = 1
      else not is_ambiguous and (size > 1 or not private.is_begun(part))
    end
  order by size desc
  limit 1;
  if named.candidate is null then
    return null;
  end if;
  unit.words := array(select word from unnest(words[first:first + named.size - 1]));
  unit.is_phrase := named.size > 1;
  unit.place := named.candidate;
  unit.exact := private.tags_of(named.ids);
  if part.is_near then
    -- Those where somebody lives: of 400 around a large city, a query of all takes 20 ms.
    unit.exact := unit.exact || array(
      select word
      from private.search_lexicon
      where word = any (private.tags_of(private.places_within(named.ids, 100)))
    );
  end if;
  unit.loose := unit.words;
  unit.exact_query := private.any_term(unit.exact);
  unit.loose_query := private.phrase(unit.words);
  unit.is_named := true;
  -- Where nobody lives, somebody may have the name.
  if named.is_inhabited or part.is_near or (private.word_counts(unit.words)).named <= 0 then
    unit.lives := unit.exact_query;
  end if;
  return unit;
end
$$;
comment on function private.read_place(private.query_word[], integer, private.place_name[]) is
  'The longest name of a place that begins with this word, as a unit; null if there is none.';

create function private.is_begun(part private.query_word)
returns boolean
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (private.word_counts(array[part.word || case when part.unfinished then '*' else '' end])).holders > 0;
end
$$;
comment on function private.is_begun(private.query_word) is
  'Whether somebody has a word of a query, or one that begins with it if it is unfinished.';

create function private.read_word(
  part private.query_word,
  others text[],
  places private.place_name[],
  names_only boolean
)
returns private.search_unit
language plpgsql stable security invoker set search_path = ''
as $$
declare
  word constant text := part.word;
  adjective constant integer[] := (
    select ids from unnest(places) as place where candidate = word and is_adjective
  );
  spelling constant text := private.consonants(word);
  corrections text[];
  is_begun boolean;
  unit private.search_unit;
begin
  unit.words := array[word];
  unit.is_phrase := false;
  unit.exact := array[word] || part.variants || others
    || case when not part.is_language then private.tags_of(adjective) else '{}' end;
  unit.loose :=
    -- Who speaks a language may not say so where everybody does.
    case when part.is_language then private.tags_of(adjective) else '{}' end
    || case when part.unfinished then array[word || '*'] else '{}' end
    -- Short words are not corrected: cat, cats.
    || case when char_length(word) > 2 then array[private.either_number(word)] end
    || array(
    select spelt
    from unnest(array[
      private.romaji(word), case when spelling like '~abjad %' then replace(spelling, '~abjad', '~latin')
        else replace(spelling, '~latin', '~abjad') end
    ]) as spelt
    where private.is_listed(spelt)
  );
  is_begun := (private.word_counts(unit.exact || unit.loose)).holders > 0;
  -- A word that the model knows and somebody has is meant: horse is not house. So is a beginning that goes on.
  if not (is_begun and (part.is_known or part.unfinished)) then
    corrections := array(
      select listed.word
      from private.corrections_of(word, part.unfinished) as listed
      where private.is_listed(listed.word)
      limit 5
    );
    unit.loose := unit.loose || corrections;
    if not (part.is_known or is_begun) then
      unit.corrected := corrections[1];
    end if;
  end if;
  select word_counts.named > case when part.is_known then 2 else 0 end into unit.is_named
  from private.word_counts(case when part.unfinished or is_begun then unit.exact else unit.loose end);
  unit.exact_query := private.any_term(unit.exact);
  unit.loose_query := private.any_term(unit.loose);
  if names_only then
    unit.exact_query := (private.lexeme(word) || ':A')::tsquery;
    unit.loose_query := case when part.unfinished then (private.lexeme(word) || ':*A')::tsquery end;
  end if;
  return unit;
end
$$;
comment on function private.read_word(private.query_word, text[], private.place_name[], boolean) is
  'A word of a query as a unit: as typed or as an adjective of a place, else what it may be the beginning of, else a
correction, unless the model knows it. `others` are its neighbours written together with it; `names_only`: it
counts in names alone.';

create function private.complete_word(typed text, others private.search_unit[])
returns text
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  beginning constant tsquery := private.term_query(typed || '*');
begin
  return (
    select string_agg(lexeme, ' ')
    from (
      select lexeme, min(attempt) = min(min(attempt)) over () as is_first
      from unnest(array[
        beginning && (select private.all_of(private.either(other)) from unnest(others) as other), beginning
      ]) with ordinality as attempts (query, attempt)
      cross join lateral (select words from private.search_words where words @@ query limit 50) as sample
      cross join lateral unnest(words)
      where starts_with(lexeme, typed)
      group by lexeme
      order by min(attempt), count(*) desc, lexeme
      limit 2
    ) as likeliest
    where is_first
  );
end
$$;
comment on function private.complete_word(text, private.search_unit[]) is
  'The words that an unfinished word most often stands for: in fifty profiles that have the other words, else in fifty
that have it. By the lexicon alone, without the other words, callers with a token lose .006 nDCG on the labelled set.';

create function private.read_query(typed jsonb)
returns private.search_query
language plpgsql stable security invoker set search_path = ''
as $$
declare
  profiles constant double precision := private.count_profiles();
  words private.query_word[] := array(
    select jsonb_populate_record(
      row(null, null, false, false, false, false, false, false, false, false, false, false, '{}')::private.query_word,
      word
    )
    from jsonb_array_elements(typed) as word
  );
  places constant private.place_name[] := array(
    select place
    from private.places_named(array(
      select array_to_string(array(select word from unnest(words[first:final])), ' ')
      from generate_subscripts(words, 1) as first
      cross join generate_series(first, least(first + 7, cardinality(words))) as final
    )) as place
  );
  -- "the and of" asks for nobody, unless it is a name: An Will.
  are_light constant boolean := cardinality(words) > 1 and not exists (
    select from unnest(words) where not is_light
  );
  part private.query_word;
  unit private.search_unit;
  place private.search_unit;
  phrase text[];
  pieces text[];
  size integer;
  holders double precision;
  at integer := 1;
  asked private.search_query;
begin
  asked.units := '{}';
  asked.corrections := '[]';
  asked.completions := '[]';
  asked.unknown := '{}';
  while at <= cardinality(words) loop
    part := words[at];
    phrase := array(select word from unnest(words[at:]) where run = part.run);
    if part.excluded then
      size := cardinality(phrase);
      -- Whoever has it, or lives in the place of that name.
      asked.excluded := (
        select private.any_of(query)
        from (
          values (asked.excluded), (case
            when not part.is_denied then private.phrase(phrase)
            when not part.is_where then private.denied(phrase)
          end)
          union all
          select private.any_term(private.tags_of(ids))
          from unnest(places)
          where candidate = array_to_string(phrase, ' ') and not is_adjective
        ) as exclusions (query)
      );
    else
      unit := private.read_place(words, at, places);
      size := cardinality(unit.words);
      if size is null and part.run is not null then
        size := cardinality(phrase);
        unit := null;
        unit.words := phrase;
        unit.exact := phrase;
        unit.is_phrase := true;
        unit.exact_query := private.phrase(phrase);
        unit.loose := array_remove(array[private.romaji(array_to_string(phrase, ''))], null);
        unit.loose_query := private.any_term(unit.loose);
      elsif size is null then
        pieces := case
          when not part.is_known and not private.is_begun(part) then private.split_of(part.word)
        end;
        if pieces is not null then
          words := words[:at - 1] || array(
            select jsonb_populate_record(part, jsonb_build_object('word', piece, 'is_known', true))
            from unnest(pieces) as piece
          ) || words[at + 1:];
          continue;
        end if;
        size := 1;
        unit := private.read_word(
          part => part, places => places, names_only => are_light,
          others => array(
            select joined
            from unnest(array[(words[at - 1]).word || part.word, part.word || (words[at + 1]).word]) as joined
            where private.is_listed(joined)
          )
        );
        if unit.corrected is null and not part.is_known and not private.is_begun(part)
          and (private.word_counts(unit.exact || unit.loose)).holders = 0 then
          asked.unknown := asked.unknown || part.word;
        end if;
        if unit.corrected is not null then
          asked.corrections := asked.corrections || jsonb_build_object('from', part.word, 'to', unit.corrected);
          -- in Madrdi
          words[at].word := unit.corrected;
          place := private.read_place(
            words, at, array(select named from private.places_named(array[unit.corrected]) as named)
          );
          if place.words is not null then
            unit := place;
          end if;
        end if;
      end if;
      unit.number := cardinality(asked.units) + 1;
      unit.quoted := part.quoted;
      if not exists (select from unnest(asked.units) as other where other.words = unit.words) then
        holders := least(profiles, case
          -- All the words of a phrase, as the rarest of them.
          when unit.is_phrase and unit.place is null
            then (select min((private.word_counts(array[word])).holders) from unnest(unit.words) as word)
          else coalesce(
            nullif((private.word_counts(unit.exact)).holders, 0),
            (private.word_counts(case when unit.place is null then unit.loose end)).holders
          )
        end);
        unit.rarity := ln(1 + profiles / greatest(1, holders));
        unit.is_named := coalesce(unit.is_named, false);
        asked.units := asked.units || unit;
      end if;
    end if;
    at := at + size;
  end loop;
  part := words[cardinality(words)];
  unit := asked.units[cardinality(asked.units)];
  -- Of a word with up to three letters, nobody knows whether it is one already, unless somebody has it.
  if part.unfinished and part.word || '*' = any (unit.loose) and unit.corrected is null and (
    part.is_light or not part.is_known
    or char_length(part.word) <= 3 and not private.is_listed(part.word)
  ) then
    asked.completions := asked.completions || (
      select coalesce(jsonb_agg(jsonb_build_object('from', part.word, 'to', meant)), '[]')
      from private.complete_word(part.word, asked.units[:cardinality(asked.units) - 1]) as meant
      where meant <> part.word
    );
  end if;
  return asked;
end
$$;
comment on function private.read_query(jsonb) is 'What a query looks for, from its words (private.query_word).';

-- The conditions that every hit must meet: facets, quoted phrases, ages, excluded words, and whom the caller may not
-- find.

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

create function private.places_to_filter(kind text, value text)
returns text[]
language plpgsql stable security invoker set search_path = ''
as $$
declare
  name constant text := array_to_string(private.words_of(value), ' ');
begin
  return array(
    select tag
    from (
      -- Georgia is a country, if one filters by countries.
      select id, rank() over (order by (place.kind in ('city', 'district')) = (places_to_filter.kind = 'city') desc,
        place.kind = places_to_filter.kind desc) as rank
      from private.places_named(array[name]) as named
      cross join unnest(named.ids) as id
      join private.search_places as place using (id)
      where not named.is_adjective
    ) as ranked
    cross join unnest(private.tags_of(array[id])) as tag
    where rank = 1
  );
end
$$;
comment on function private.places_to_filter(text, text) is
  'How the index says that somebody lives in the city or country of this name, in any language.';

create function private.conditions_of(request jsonb)
returns setof text[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return query
    select array_agg(distinct term)
    from (
      values ('interest', 'interests'), ('city', 'cities'), ('country', 'countries')
    ) as facets (kind, key)
    cross join lateral jsonb_array_elements_text(coalesce(request -> key, '[]')) as value
    cross join lateral unnest(
      array[private.facet(kind, value)]
        || case when kind in ('city', 'country') then private.places_to_filter(kind, value) else '{}' end
    ) as term
    group by kind
    union all
    -- Whole decades, and the years before and after them. A profile without an age is not left out.
    select array_agg(distinct private.facet('age', case
      when age is null then 'unknown'
      when age / 10 * 10 >= bounds.min and age / 10 * 10 + 9 <= bounds.max then age / 10 || '0s'
      else age::text
    end))
    from jsonb_to_record(nullif(request -> 'age', 'null')) as bounds (min integer, max integer)
    cross join lateral (select generate_series(bounds.min, bounds.max) as age union all select null) as ages
    where bounds.min is not null
    having count(*) > 0;
end
$$;
comment on function private.conditions_of(jsonb) is
  'What a request requires beside its words: of each of these lists of lexemes a hit has one.';

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

create function private.list_passing(filter private.search_filter, alternatives text[], max_passing integer)
returns bigint[]
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  passing constant bigint[] := array(
    select distinct found.profile_id
    from unnest(alternatives) as alternative
    cross join lateral (
      select stored.profile_id
      from private.search_words as stored
      where stored.words @@ private.term_query(alternative)
        and private.matches_filter(stored.profile_id, stored.words, filter)
      -- Else Postgres would read the whole table once.
      offset 0
    ) as found
    limit max_passing + 1
  );
begin
  return case when cardinality(passing) <= max_passing then passing end;
end
$$;
comment on function private.list_passing(private.search_filter, text[], integer) is
  'The profiles that meet the conditions of a search, or null if they are more than max_passing. `alternatives` are
lexemes of which each of them has one: one after the other they take a tenth of the time that one query takes.';

create function private.read_filter(request jsonb, asked private.search_query, caller bigint)
returns private.search_filter
language plpgsql stable security invoker set search_path = ''
as $$
declare
  profiles constant double precision := private.count_profiles();
  -- To list a profile takes 4 µs. Without a list the vector index visits 100 * profiles / passing, at 16 µs each, to
  -- find 100 that pass. Both take as long where passing is sqrt(400 * profiles).
  max_passing constant integer := greatest(2000, sqrt(400 * profiles));
  condition record;
  filter private.search_filter;
begin
  if (request ->> 'isNobody')::boolean then
    return row(null, null, '{}', '{}')::private.search_filter;
  end if;
  filter.hidden_ids := private.hidden_profiles_of(caller);
  filter.excluded := asked.excluded;
  filter.required := (select private.all_of(exact_query) from unnest(asked.units) where quoted);
  for condition in
    select terms, private.any_term(terms) as query, (private.word_counts(terms)).holders
    from private.conditions_of(request) as terms
    order by holders desc
  loop
    filter.required := coalesce(filter.required && condition.query, condition.query);
  end loop;
  -- The last has the fewest holders.
  if condition.holders <= max_passing then
    filter.passing := private.list_passing(
      filter => filter, alternatives => condition.terms, max_passing => max_passing
    );
  end if;
  if filter.passing is not null then
    filter := row(null, null, '{}', filter.passing);
  end if;
  return filter;
end
$$;
comment on function private.read_filter(jsonb, private.search_query, bigint) is
  'The filter of a search. Values of one facet are alternatives; facets, phrases, ages and excluded words add up.';

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

create function private.called_so(asked private.search_query)
returns tsquery
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select private.lexeme(private.facet('name', string_agg(array_to_string(words, ' '), ' ' order by number)))::tsquery
    from unnest(asked.units)
  );
end
$$;
comment on function private.called_so(private.search_query) is 'Finds whose name the words of a query are.';

create function private.keyword_candidates(
  asked private.search_query,
  filter private.search_filter,
  max_results integer
)
returns bigint[]
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  profiles constant double precision := private.count_profiles();
  all_words constant tsquery := (select private.all_of(private.either(unit)) from unnest(asked.units) as unit);
  -- The rarest words, as long as they have few enough holders. The others only add profiles that have all the words: a
  -- word in more than every fourth profile distinguishes none. With 25 profiles or fewer no word is common.
  rare_words constant tsquery := (
    select private.any_of(query)
    from (
      select
        private.either(unit) as query, held,
        sum(held) over rarest as held_so_far, row_number() over rarest as rank
      from unnest(asked.units) as unit
      cross join lateral (select profiles / exp(unit.rarity) as held) as counted
      window rarest as (order by held, unit.number)
    ) as ranked
    where ranked.rank = 1 or held_so_far <= max_results and held <= greatest(25, profiles / 4)
  );
begin
  if cardinality(filter.passing) <= max_results then
    return array(
      select stored.profile_id
      from private.search_words as stored
      where stored.profile_id = any (filter.passing) and ts_match_vq(stored.words, all_words || rare_words)
    );
  end if;
  return array(
    select found.profile_id
    from unnest(array[private.called_so(asked), all_words, rare_words]) with ordinality as steps (query, step)
    cross join lateral (
      select stored.profile_id
      from private.search_words as stored
      where stored.words @@ steps.query
        and private.matches_filter(stored.profile_id, stored.words, filter)
        -- As a subquery, because Postgres hashes its rows and not those of an array.
        and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
      limit max_results
    ) as found
    group by found.profile_id
    order by min(steps.step)
    limit max_results
  );
end
$$;
comment on function private.keyword_candidates(private.search_query, private.search_filter, integer) is
  'Up to max_results profiles that contain words of the query and pass the filter: whoever has exactly this name, those
with all the words, and those with the rarest.';

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
-- no role may call the functions behind them. Functions without a search_path are inlined.

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

-- Without `set search_path`, so that Postgres inlines it: it is called for each candidate and unit.
create function private.weight_value(words tsvector, query tsquery)
returns double precision
language sql immutable parallel safe
as $$
  -- The best weight decides the order of magnitude of the rank.
  select (array[0.92, 0.96, 0.98, 1])[
    1 + width_bucket(ts_rank('{1e-18, 1e-12, 1e-6, 1}', words, query), array[1e-15, 1e-9, 1e-3])
  ]
$$;
comment on function private.weight_value(tsvector, tsquery) is
  'What a word that somebody has is worth, by the best of the fields that have it: name, interests, place, biography.';

create function private.match_words(ids bigint[], neighbour_ids bigint[], asked private.search_query)
returns table (
  profile_id bigint, coverage double precision, words_matched bigint, names_missing double precision, has_all boolean,
  in_name boolean, is_name boolean, lives boolean
)
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  all_rarity constant double precision := (select sum(unit.rarity) from unnest(asked.units) as unit);
  called_so constant tsquery := private.called_so(asked);
  home constant tsquery := (select private.any_of(unit.lives) from unnest(asked.units) as unit);
  -- Of more than one word, and where no place is asked for, so that the name of a place is not one of a person.
  name_words constant tsquery := (
    select case when count(*) > 1 and home is null then private.all_of((
      private.lexeme(word) || ':A' || case when word || '*' = any (unit.loose) then '*' else '' end
    )::tsquery) end
    from unnest(asked.units) as unit
    cross join unnest(unit.words) as word
  );
  neighbours constant tsquery := (
    select private.all_of(one.exact_query <-> private.either(other))
    from unnest(asked.units) as one
    join unnest(asked.units) as other on other.number = one.number + 1
    where one.place is null and other.place is null
  );
begin
  return query
    select
      id, share * case when are_apart then 0.97 else 1 end, matched, missing, least_worth > 0,
      least_worth = 1 or is_called_so or has_name_words, is_called_so, lives_there
    from unnest(ids) as id
    join private.search_words as stored on stored.profile_id = id
    -- One after the other for each profile: a join with the units copied the words of all of them.
    cross join lateral (
      select
        coalesce(sum(worth * unit.rarity) / all_rarity, 0) as share, count(*) filter (where worth > 0) as matched,
        coalesce(sum(unit.rarity) filter (where unit.is_named and worth = 0) / all_rarity, 0) as missing,
        coalesce(min(worth), 0) as least_worth
      from unnest(asked.units) as unit
      cross join lateral (
        select case
          when ts_match_vq(stored.words, unit.exact_query) then private.weight_value(stored.words, unit.exact_query)
          when ts_match_vq(stored.words, unit.loose_query)
            then 0.8 * private.weight_value(stored.words, unit.loose_query)
          else 0
        end as worth
        -- Else once for each of the sums.
        offset 0
      ) as worths
    ) as by_unit
    cross join lateral (
      select
        coalesce(ts_match_vq(stored.words, called_so), false) as is_called_so,
        coalesce(ts_match_vq(stored.words, name_words), false) as has_name_words,
        coalesce(ts_match_vq(stored.words, home), true) as lives_there,
        not coalesce(ts_match_vq(stored.words, neighbours), true) as are_apart
      offset 0
    ) as person
    where matched > 0 or id = any (neighbour_ids) or cardinality(asked.units) = 0;
end
$$;
comment on function private.match_words(bigint[], bigint[], private.search_query) is
  'How profiles match the words of a query: those of these that have any, or are neighbours in meaning. `coverage`: the
share of their rarity that it has, 0 to 1, by field and less for what is only a beginning or a correction, or not side
by side as typed; `in_name`: the name has all the words as typed; `is_name`: and no others; `lives`: in the place that
the query asks for, true if it asks for none; `names_missing`: the share of the rarity that missing names have.';

create function private.score_profiles(
  ids bigint[],
  neighbour_ids bigint[],
  asked private.search_query,
  model private.search_models,
  query_vector extensions.halfvec,
  context_vector extensions.halfvec,
  semantic_weight double precision
)
returns table (
  profile_id bigint, score double precision, keyword double precision, cosine double precision,
  semantic double precision, context double precision, coverage double precision, words_matched bigint,
  names_missing double precision, in_name boolean, is_name boolean, lives boolean
)
language plpgsql stable security invoker
set search_path = 'extensions'
set plan_cache_mode = 'force_generic_plan'
as $$
#variable_conflict use_column
declare
  has_words constant boolean := cardinality(asked.units) > 0;
  has_place constant boolean := exists (select from unnest(asked.units) as unit where unit.lives is not null);
  -- So many of those with the words are compared in meaning, beside the neighbours; the others follow by words alone.
  -- With 60 the labelled sets have the same order.
  max_compared constant integer := case when has_words then 100 else 1000 end;
begin
  return query
    with matches as materialized (select * from private.match_words(ids, neighbour_ids, asked)),
    compared as materialized (
      select array(
        (
          select profile_id from matches
          order by is_name desc, lives desc, in_name desc, coverage desc, profile_id
          limit max_compared
        )
        union select unnest(neighbour_ids)
      ) as compared_ids
    ),
    -- A search of the index for each profile took twice as long.
    nearest_sentences as materialized (
      select profile_id, max(similarity) as sentence
      from (
        select profile_id, 1 - (embedding <=> query_vector) as similarity
        from private.search_sentences
        where has_words and profile_id = any ((select compared_ids from compared)::bigint[])
        offset 0
      ) as sentences
      group by profile_id
    ),
    near as materialized (
      select
        entry.profile_id, (whole + coalesce(sentence, whole)) / 2 as cosine,
        1 - (embedding <=> context_vector) as context_cosine
      from private.search_entries as entry
      cross join lateral (select 1 - (embedding <=> query_vector) as whole offset 0) as of_the_whole
      left join nearest_sentences using (profile_id)
      where entry.profile_id = any ((select compared_ids from compared)::bigint[]) and entry.model = model.name
    ),
    scored as (
      select
        matches.*, is_compared, keyword, cosine, semantic, context,
        case
          when not has_place or in_name then own_score
          -- Who lives in the place has .5 or more, the others less.
          when lives then 0.5 + 0.5 * own_score
          else 0.499 * own_score
        end as score
      from matches
      cross join compared
      left join near using (profile_id)
      -- `offset 0`, here and below: each step gets columns, which are computed once.
      cross join lateral (
        select
          profile_id = any (compared_ids) as is_compared,
          -- Without words every profile is a hit, with score 1 unless its nearness ranks it.
          case when has_words then coverage ^ 2 else (query_vector is null)::integer end as keyword,
          -- 0 without a cosine, since greatest() ignores nulls. No embedding has names, so the share of the query that
          -- its missing names have is taken off.
          (1 - names_missing) * least(1, greatest(
            0, (cosine - model.similarity_floor) / (model.similarity_ceiling - model.similarity_floor)
          )) as semantic,
          -- Squared, because many strangers are somewhat alike.
          least(1, greatest(
            0, (context_cosine - model.similarity_threshold) / (model.similarity_ceiling - model.similarity_threshold)
          )) ^ 2 as context
        offset 0
      ) as parts
      cross join lateral (
        select private.shown_score(
          case
            when in_name then 1
            -- Whoever has all the words gets .15 of what is missing to 1. An entry without a vector (such as one whose
            -- words the model does not know) is scored by words alone.
            else 1 - case when has_all then 0.85 else 1 end
              * (1 - keyword - weight * (semantic - keyword))
          end,
          semantic_weight
        ) as shown
        from (select case when is_compared and cosine is null then 0 else semantic_weight end as weight) as weighed
        offset 0
      ) as ranked
      -- The context adds up to a tenth of the score, so that it decides among people whom the query leaves about equal,
      -- and never all that is missing to the highest that it could be. Rejected: a fifth of what is missing to 1. It
      -- moves nobody at the top, where people are about equal (18 of the 32 callers of tests/search/tastes saw their
      -- own kind first, now 27), and callers with other interests lost .004 nDCG.
      cross join lateral (
        select shown
          + context * least(0.1 * shown, 0.9 * (case when keyword > 0 then 1 else 0.7 end - shown)) as own_score
        offset 0
      ) as own
      -- A name means nothing, so nobody is near to it.
      where not has_words or keyword > 0 or cosine >= model.similarity_threshold and semantic > 0
    )
    select
      profile_id, case when is_compared then score else least(score, min(score) filter (where is_compared) over ()) end,
      keyword, cosine, semantic, context, coverage, words_matched, names_missing, in_name, is_name, lives
    from scored;
end
$$;
comment on function private.score_profiles(
  bigint[], bigint[], private.search_query, private.search_models, extensions.halfvec, extensions.halfvec,
  double precision
) is
  'All hits of a search among these profiles, with their scores by their words, their nearness in meaning, their place
and the caller''s context, and the parts of them: `keyword`, the square of the coverage, so that one accidental word of
five says little; `cosine`, half of the whole''s and half of its nearest sentence''s; `semantic` and `context`, 0 to 1.
Nobody is put before those who were compared in meaning, which all neighbours are.';

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
  page_limit constant integer := (request ->> 'limit')::integer;
  page_offset constant bigint := (request ->> 'offset')::bigint;
  has_words constant boolean := cardinality(asked.units) > 0;
  model private.search_models;
  trust double precision;
  weight double precision;
  neighbour_ids bigint[] := array[]::bigint[];
  candidate_ids bigint[];
  answer json;
begin
  select * into model from private.search_models where name = request ->> 'model';
  trust := coalesce(model.trust, 1);
  if model.name is null then
    query_vector := null;
    context_vector := null;
  end if;
  -- (1 - r) k + r c s, divided by (1 - r) + r c, is (1 - w) k + w s.
  weight := semantic_ratio * trust / (1 - semantic_ratio + semantic_ratio * trust);
  if not has_words and query_vector is null then
    query_vector := context_vector;
    context_vector := null;
  end if;
  if query_vector is not null then
    neighbour_ids := array(
      select profile_id
      from private.nearest_profiles(
        query_vector => query_vector, query_model => model.name, filter => filter, max_results => max_neighbours,
        -- Without words there is no threshold: every profile is a hit.
        max_distance => case when has_words then 1 - model.similarity_threshold else 2 end
      )
    );
  end if;
  perform private.check_deadline();
  candidate_ids := case
    when has_words then private.keyword_candidates(asked => asked, filter => filter, max_results => max_results)
    else array(
      select stored.profile_id
      from private.search_words as stored
      where private.matches_filter(stored.profile_id, stored.words, filter)
        and (filter.passing is null or stored.profile_id in (select unnest(filter.passing)))
      order by stored.profile_id
      limit max_results
    )
  end;
  perform private.check_deadline();

  with ranked as materialized (
    select *
    from private.score_profiles(
      ids => array(select unnest(candidate_ids) union select unnest(neighbour_ids)), neighbour_ids => neighbour_ids,
      asked => asked, model => model, query_vector => query_vector, context_vector => context_vector,
      semantic_weight => weight
    )
  ),
  page as (
    select *, row_number() over (
      order by score desc, is_name desc, keyword desc, cosine desc nulls last, profile_id
    ) as place
    from ranked
    order by place
    limit greatest(0, least(page_limit, max_results - page_offset))
    offset page_offset
  )
  select json_build_object(
    'hits', coalesce(json_agg(body order by place), '[]'),
    'estimatedTotalHits', (select least(max_results, count(*)) from ranked),
    'facetDistribution', case when request -> 'facets' is not null then private.facet_distribution(
      array(select jsonb_array_elements_text(request -> 'facets')), array(select profile_id from ranked)
    ) end
  )
  into answer
  from page
  cross join lateral (
    select case
      when (request ->> 'explain')::boolean then (
        private.hit_body(entry, score)::jsonb || jsonb_build_object('_rankingScoreDetails', jsonb_build_object(
          'words', case when words_matched > 0 then
            json_build_object('words', json_build_array(words_matched, cardinality(asked.units)))
          end,
          'coverage', coverage, 'keyword', keyword, 'cosine', cosine,
          'similarityFloor', model.similarity_floor, 'similarityCeiling', model.similarity_ceiling,
          'namesMissing', names_missing, 'semantic', semantic, 'ratio', semantic_ratio, 'trust', model.trust,
          'named', in_name, 'context', context,
          'lives', case when exists (select from unnest(asked.units) where lives is not null) then lives end
        ))
      )::json
      else private.hit_body(entry, score)
    end as body
    from private.search_entries as entry
    where entry.profile_id = page.profile_id
    offset 0
  ) as printed;
  return answer;
end
$$;
comment on function private.find_profiles(
  jsonb, private.search_query, private.search_filter, extensions.halfvec, extensions.halfvec, double precision
) is
  'The ranking of a search {model, limit, offset, explain, facets}: profiles that contain words of the query or are
similar to it in meaning, filtered, best first, as {hits, estimatedTotalHits, facetDistribution}. At most 1,000 count by
words and 100 by meaning. Facets are counted over all of them.';

create function private.shown_spellings(spellings jsonb, hidden_ids bigint[])
returns json
language sql stable security invoker set search_path = ''
as $$
  select coalesce(json_agg(spelling order by place), '[]')
  from jsonb_array_elements(spellings) with ordinality as listed (spelling, place)
  where not exists (
    select
    from unnest(private.words_of(spelling ->> 'to')) as word
    where not exists (
      select
      from private.search_words
      where words @@ private.lexeme(word)::tsquery and profile_id <> all (hidden_ids)
    )
  )
$$;
comment on function private.shown_spellings(jsonb, bigint[]) is
  'Of corrections and completions those whose words somebody has who is not hidden: they would tell a name across a
block.';

create function private.describe_query(asked private.search_query, hidden_ids bigint[])
returns json
language sql stable security invoker set search_path = ''
as $$
  select json_build_object(
    'places', coalesce(json_agg(
      array_to_string(words, case when words[1] ~ ('^[' || private.unspaced_letters() || ']') then '' else ' ' end)
    ) filter (where exists (select from unnest(exact) as term where term like '@in %')), '[]'),
    'corrections', private.shown_spellings(asked.corrections, hidden_ids),
    'completions', private.shown_spellings(asked.completions, hidden_ids),
    'unknown', asked.unknown,
    'wanted', coalesce(json_agg(json_build_object(
      'unit', number, 'phrase', is_phrase, 'quoted', quoted, 'common',
      rarity <= ln(3) and private.count_profiles() > 50, 'words', case
        when is_phrase then to_json(array(
          select json_build_object('word', word, 'typos', 0, 'prefix', false) from unnest(words) as word
        ))
        else to_json(array(
          select json_build_object(
            'word', rtrim(term, '*'), 'prefix', term like '%*',
            'typos', (kind = 'loose' and term not like '%*')::integer
          )
          from (
            select 'exact' as kind, unnest(exact) as term union all select 'loose', unnest(loose)
          ) as terms
          where term !~ '^[@~]'
        ))
      end
    )), '[]')
  )
  from unnest(asked.units)
$$;
comment on function private.describe_query(private.search_query, bigint[]) is
  'What the Edge Function says of a query: names of places, corrections, completions,
unknown words, and what to highlight.';

create function api.search_profiles(request jsonb)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  asked private.search_query := private.read_query(coalesce(request -> 'words', '[]'));
  filter private.search_filter;
  query_vector extensions.halfvec := (request ->> 'vector')::extensions.halfvec;
  context_vector extensions.halfvec;
  liked private.search_entries;
  is_draft constant boolean := coalesce((request ->> 'isDraft')::boolean, false);
begin
  perform set_config('api.time_limit', coalesce(request ->> 'timeout' || ' ms', ''), true);
  filter := private.read_filter(request, asked, me);
  if request ->> 'like' is not null then
    select * into liked
    from private.search_entries
    where profile_id = (request ->> 'like')::bigint
      and user_id <> all (coalesce(private.blocked_users_of(me), '{}'));
    if liked.profile_id is null then
      raise sqlstate 'PT404' using message = 'No such profile';
    end if;
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
      asked := private.read_query((
        select coalesce(jsonb_agg(jsonb_build_object('word', word)), '[]')
        from (
          select unnest(private.words_of(interest)) as word from unnest(liked.interests) as interest limit 10
        ) as words
      ));
    end if;
  elsif me is not null then
    select embedding into context_vector
    from private.search_contexts
    where user_id = me and search_contexts.model = request ->> 'model';
  end if;
  perform private.check_deadline();
  return json_build_object(
    'answer', case
      -- The vector is not yet that of what was meant.
      when not is_draft or asked.corrections || asked.completions = '[]' then private.find_profiles(
        request => request, asked => asked, filter => filter, query_vector => query_vector,
        context_vector => context_vector,
        -- The contract's two ratios.
        semantic_ratio => case when me is null then 0.5 else 0.7 end
      )
    end,
    'query', private.describe_query(asked, private.hidden_profiles_of(me))
  );
end
$$;
comment on function api.search_profiles(jsonb) is
  'Searches profiles for {words, vector, model, interests, cities, countries, age, limit, offset, explain,
facets, like, timeout, isNobody, isDraft}: {answer, query}, as private.find_profiles and private.describe_query print
them. `words` are private.query_words, `vector` is that of the query. Where words of a draft are corrected or completed,
answer is null: the vector must be made of what is meant. A user''s search prefers what is near to their own context.
`like` is a profile that takes the place of the context, and ranks by itself if there is no query; 404 unless it is
searchable, its owner active, and no block between them and the caller. After `timeout` milliseconds the search is
cancelled (57014). Definer, because no role may read the index; this function is the only access to it, beside
api.complete_search.';
grant execute on function api.search_profiles(jsonb) to edge_functions;

-- What else a search says if it is asked to: counts of facets.

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
      select facet, value, private.facet(facet, value) as folded from listed group by facet, value
    ),
    -- A profile with two spellings counts once.
    counted as (
      select
        facet, mode() within group (order by value collate "C") as value, count(distinct profile_id) as holders
      from listed
      join spellings using (facet, value)
      group by facet, folded
    )
    select coalesce(json_object_agg(facet, coalesce(distribution, '{}')), '{}')
    from unnest(facets) as facet
    left join (
      select facet, json_object_agg(value, holders order by holders desc, value collate "C") as distribution
      from counted
      group by facet
    ) as distributions using (facet)
  );
end
$$;
comment on function private.facet_distribution(text[], bigint[]) is
  'How many of these profiles have each value: {facet: {value: count}}, the most frequent first. Values that differ only
in case, accents or spaces at the ends count as one, which is printed as most of the profiles print it.';

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
write again. Rejected: private.search_words, where a letter begins many words of biographies (four times as long).';
create index search_completions_keys_idx on private.search_completions using gin (keys) with (fastupdate = off);
alter table private.search_completions enable row level security;

create function private.complete(parts text[], before text, hidden_ids bigint[], max_results integer)
returns json
language plpgsql stable security invoker
set search_path = ''
set enable_seqscan = off
set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return (
    select json_object_agg(kind, array(
      select before || (array_agg(value order by holders desc, value collate "C"))[1]
      from (
        select value, count(*) as holders
        from (
          select profile_id
          from private.search_completions
          where keys @@ prefixes and profile_id <> all (hidden_ids)
          limit 200
        ) as found
        join private.search_entries using (profile_id)
        cross join lateral unnest(
          case kind when 'names' then array[name] when 'cities' then array[city] else interests end
        ) as value
        group by value
      ) as spellings
      cross join lateral (select private.fold(trim(value)) as folded offset 0) as keys
      -- Of a profile's interests, those that are meant. A name is typed from its beginning.
      where case kind when 'interests' then not exists (
          select from unnest(parts) as part
          where ' ' || array_to_string(private.words_of(value), ' ') not like '% ' || part || '%'
        ) else kind <> 'names' or before = '' end
      group by folded
      order by starts_with(folded, parts[1]) desc, sum(holders) desc, folded
      limit max_results
    ))
    from unnest('{interests,cities,names}'::text[]) as kind
    cross join lateral (
      select private.all_of((private.lexeme(left(kind || ' ' || part, 60)) || ':*')::tsquery) as prefixes
      from unnest(parts) as part
    ) as typed
  );
end
$$;
comment on function private.complete(text[], text, bigint[], integer) is
  'Interests, cities and names of searchable profiles that go on from each of the typed parts, at their beginning or
from a later word, after what is written before: {interests, cities, names}. First those that begin with them, then the
most frequent in 200 profiles that have one.';

create function api.complete_search(request jsonb)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  max_results constant integer := (request ->> 'limit')::integer;
  words constant text[] := private.words_of(request ->> 'q');
  hidden_ids constant bigint[] := private.hidden_profiles_of(private.my_id());
  completed json := json_build_object('interests', '[]'::json, 'cities', '[]'::json, 'names', '[]'::json);
  none constant jsonb := completed;
  before text := '';
  parts text[];
begin
  for attempt in 1..case when cardinality(words) > 0 then 3 else 0 end loop
    if attempt = 1 then
      parts := array[array_to_string(words, ' ')];
    elsif attempt = 2 then
      -- Each word for itself, as a search would read it: Zoe Lop(ez) of Zoe Maria Lopez, obr(ien), hikng.
      parts := array(
        select coalesce(
          (
            select corrections.word
            from private.corrections_of(piece, true) as corrections
            where (private.word_counts(array[piece || '*'])).holders = 0
            order by corrections.typos, corrections.word
            limit 1
          ),
          piece
        )
        from unnest(words[:10]) as word
        cross join unnest(coalesce(
          case when not private.is_listed(word) then private.split_of(word) end, array[word]
        )) as piece
      );
    else
      -- The last word, after what is written, if it is long enough to mean something: hiking in Lis(bon).
      before := substring(request ->> 'q' from '^.*\s');
      parts := array[array_to_string(private.words_of(substring(request ->> 'q' from '\S\s+(\S{3,})$')), ' ')];
    end if;
    exit when parts = '{""}';
    completed := private.complete(
      parts => parts, before => before, hidden_ids => hidden_ids, max_results => max_results
    );
    exit when completed::jsonb <> none;
  end loop;
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

create function private.enqueue_embedding(subject text, subject_id bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  insert into private.embedding_queue (kind, id)
  values (subject, subject_id)
  on conflict (kind, id) do update set attempts = 0, failures = 0, due_at = now(), last_error = null;
end
$$;
comment on function private.enqueue_embedding(text, bigint) is
  'Queues a profile or context whose text is new, with all attempts before it.';

create function private.adopt_model(wanted text)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
  insert into private.search_models (name, similarity_floor, similarity_ceiling, similarity_threshold, trust)
  values (wanted, 0.1, 0.6, 0.3, 3.0 / 7)
  -- Until calibrate_model has measured it.
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

create function private.entry_parts(profile bigint)
returns text[]
language plpgsql stable security invoker set search_path = ''
as $$
declare
  max_parts constant integer := 32;
  whole constant text := private.entry_text(profile);
  parts text[];
begin
  select entry.interests || array(
    select sentence
    from regexp_split_to_table(entry.biography, '[.!?…]+(?=\s|$)|[。！？\r\n]+') with ordinality as split (piece, place)
    cross join lateral btrim(piece, e' \t') as sentence
    where sentence <> ''
    order by place
  )
  into parts
  from private.search_entries as entry
  where profile_id = profile;
  if cardinality(parts) = 1 and parts[1] = btrim(whole, ' .!?。！？') then
    return '{}'::text[];
  end if;
  -- Of more, neighbours are joined.
  return array(
    select string_agg(part, '. ' order by place)
    from unnest(parts) with ordinality as listed (part, place)
    group by (place - 1) * max_parts / greatest(cardinality(parts), max_parts)
    order by min(place)
  );
end
$$;
comment on function private.entry_parts(bigint) is
  'What of a profile gets an embedding of its own: each interest, then each sentence of the biography, 32 at most: of
more, neighbours are joined. None if its whole text is one.';

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
          'parts', case mine.kind when 'profile' then private.entry_parts(mine.id) else '{}' end,
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
  'Claims up to max_jobs due jobs for this model, to be embedded in one call, as [{kind, id, text, parts,
content_hash}]: those that have been due longest, or the newest of those that were never tried. A job that was tried
before comes alone. Two workers never get the same job. Definer, because edge_functions has no rights on the queue.';
grant execute on function private.claim_embeddings(text, integer, boolean) to edge_functions;

create function private.save_embeddings(made_by text, vectors jsonb)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
  saved bigint[];
begin
  -- It locks the entries, so the sentences that follow are of the same text and model.
  with made as (
    select kind, id, content_hash, embedding::extensions.halfvec as embedding
    from jsonb_to_recordset(vectors) as vector (kind text, id bigint, content_hash text, embedding text)
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
  ),
  done as (
    delete from private.embedding_queue as job
    using (select * from profiles union all select * from contexts) as of_this_text
    where job.kind = of_this_text.kind and job.id = of_this_text.id
  )
  select array_agg(id) into saved from profiles;
  delete from private.search_sentences where profile_id = any (saved);
  insert into private.search_sentences (profile_id, place, embedding)
  select id, place, part::extensions.halfvec
  from jsonb_to_recordset(vectors) as vector (kind text, id bigint, parts jsonb)
  cross join lateral jsonb_array_elements_text(coalesce(parts, '[]')) with ordinality as listed (part, place)
  where kind = 'profile' and id = any (saved) and part is not null;
end
$$;
comment on function private.save_embeddings(text, jsonb) is
  'Saves embeddings [{kind, id, content_hash, embedding, parts}] of texts that have not changed; the other jobs stay
queued. An embedding is a vector as text, or null; parts are those of entry_parts, in order. Definer, because
edge_functions has no rights on the index.';
grant execute on function private.save_embeddings(text, jsonb) to edge_functions;

create function private.calibrate_model(wanted text)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
  sample_size constant integer := 200;
  min_profiles constant integer := 20;
  before integer := (select measured_profiles from private.search_models where name = wanted);
  limits double precision[];
begin
  -- Called whenever the queue is empty, so it does not count: the planner's estimate grows with each analysis.
  if before > 0 and (
    select reltuples from pg_catalog.pg_class where oid = 'private.search_entries'::regclass
  ) < 10 * before then
    return;
  end if;
  with texts as materialized (
    select profile_id, embedding, interests
    from private.search_entries
    where profile_id in (
      select profile_id
      from private.search_entries
      where model = wanted and embedding is not null
      order by random()
      limit sample_size
    )
  ),
  -- Each one's first interest, because interests are as short as queries.
  queries as materialized (
    select profile_id, sentence.embedding
    from texts
    join private.search_sentences as sentence using (profile_id)
    where place = 1 and cardinality(interests) > 0
  )
  select
    percentile_cont(array[0.01, 0.705, 0.998])
    within group (order by 1 - (queries.embedding operator(extensions.<=>) texts.embedding))
  into limits
  from queries
  join texts on texts.profile_id <> queries.profile_id
  where (select count(*) from queries) >= min_profiles;
  if limits[1] < limits[2] and limits[2] < limits[3] then
    update private.search_models
    set
      similarity_floor = limits[1],
      similarity_threshold = limits[2],
      similarity_ceiling = limits[3],
      measured_profiles = (select count(*) from private.search_entries where model = wanted)
    where name = wanted;
  end if;
end
$$;
comment on function private.calibrate_model(text) is
  'Measures the similarities of a model by its own vectors, with an interest of each person for queries: the floor is
the first percentile of their cosines with the profiles of others, the threshold the 70.5th, the ceiling the 99.8th. For
the offline model on the labelled set that is -.108, .13 and .70, where bench/search/calibrate.ts, which knows what is
relevant, finds -.11, .13 and .70. Measured with twenty profiles, and again when there are ten times as many. Definer,
because edge_functions has no rights on the index.';
grant execute on function private.calibrate_model(text) to edge_functions;

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

-- For operators: the index made anew, and how long the queue of embeddings is.

create function private.rebuild_search_index()
returns void
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
  perform private.count_words();
  insert into private.embedding_queue (kind, id)
  select 'profile', profile_id from private.search_entries where model is null
  union all
  select 'context', user_id from private.search_contexts where model is null
  on conflict (kind, id) do nothing;
end
$$;
comment on function private.rebuild_search_index() is
  'Rebuilds the index from the profiles, after a migration of the search or a restore in parts. A profile that it has
written cannot change until it has finished, which takes up to 5 ms per profile.';

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
      'image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/heic', 'image/heif', 'application/pdf',
      'audio/mpeg', 'audio/mp4', 'audio/webm', 'video/mp4', 'video/quicktime', 'text/plain',
      'text/plain;charset=UTF-8', 'text/plain;charset=utf-8', 'text/plain; charset=UTF-8', 'text/plain; charset=utf-8'
    ]
  ),
  ('avatars', 'avatars', true, 2097152, array['image/jpeg', 'image/png', 'image/webp'])
on conflict (id) do update set
  public = excluded.public,
  file_size_limit = excluded.file_size_limit,
  allowed_mime_types = excluded.allowed_mime_types;

create policy "participants read the files of their conversations" on storage.objects
  for select to authenticated
  using (
    bucket_id = 'attachments'
    and (storage.foldername(name))[1] in (select id::text from private.my_conversations() as id)
  );

create function private.is_upload()
returns boolean
language sql stable security invoker set search_path = ''
as $$
  select coalesce(
    storage.operation() in (
      'storage.object.upload', 'storage.object.upload_update',
      'storage.tus.upload.create', 'storage.tus.upload.part', 'storage.tus.upload.delete'
    ),
    false
  )
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

create function private.check_attachment()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
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
Storage has recorded. An https URL is accepted as it is. Definer, because the sender may not read all of
storage.objects.';

-- After, not before: a repeat inserts nothing, and its answer must not depend on the file.
create trigger check_attachment
  after insert on public.messages
  for each row
  when (new.attachment ->> 'url' !~* '^https://')
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

create function api.list_devices()
returns json
language sql stable security definer set search_path = ''
as $$
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
$$;
comment on function api.list_devices() is
  'The caller''s devices as [{id, endpoint, keys, createdAt}], newest first. Definer, because callers have no grant on
devices.';
grant execute on function api.list_devices() to edge_functions;

create function api.put_device(device uuid, subscription jsonb)
returns void
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
end
$$;
comment on function api.put_device(uuid, jsonb) is
  'Stores a subscription {endpoint, keys: {p256dh, auth}} as the caller''s device; a repeat changes nothing. Whoever had
the endpoint before loses it. Definer, because no caller has a grant on devices.';
grant execute on function api.put_device(uuid, jsonb) to edge_functions;

create function api.delete_device(device uuid)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
  delete from private.devices where user_id = private.my_id() and id = device;
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
  webhooks boolean not null default false
);
comment on table private.outbox_settings is
  'What the triggers must know of the environment of the function notify, which writes it when it starts. One row.';
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
comment on table private.notification_settings is 'What each user has chosen; whoever has no row has the defaults.';
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
  'What a user has chosen, with the defaults, except that a delay which was not chosen is null.';

create function api.get_notification_settings()
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  chosen constant private.notification_settings := private.notification_settings_of(private.my_id());
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
comment on function api.get_notification_settings() is
  'The caller''s settings, with the defaults, as {push, email, delay_minutes, quiet_hours, previews}. Definer, because
callers have no grant on them.';
grant execute on function api.get_notification_settings() to edge_functions;

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
  wanted := jsonb_populate_record(
    private.notification_settings_of(me), jsonb_strip_nulls(changes) - 'user_id'
  );
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
  return api.get_notification_settings();
end
$$;
comment on function api.update_notification_settings(jsonb) is
  'Changes {push, email, delay_minutes, quiet_hours, previews} of the caller; what is absent stays. Returns the whole.
Definer, because no caller has a grant on them.';
grant execute on function api.update_notification_settings(jsonb) to edge_functions;

alter table public.users add column unsubscribe_token text not null unique default gen_random_uuid();
comment on column public.users.unsubscribe_token is
  'Of the link in a user''s mails that turns them off. It does nothing else, and does not expire: mails are kept for
years, and outlive the account.';

create function api.unsubscribe(token text, confirmed boolean)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  person constant bigint := (select id from public.users where unsubscribe_token = token);
begin
  if person is null then
    raise sqlstate 'PT404' using message = 'This link is not one of ours';
  end if;
  if confirmed then
    insert into private.notification_settings (user_id, email)
    select id, false
    from public.users
    where id = person and erased_at is null
    on conflict (user_id) do update set email = false;
  end if;
  return json_build_object('email', not confirmed and (private.notification_settings_of(person)).email);
end
$$;
comment on function api.unsubscribe(text, boolean) is
  'Turns off the mails of the user whom the token names, if that is confirmed, and returns whether they get any, as
{email}. Without it nothing changes, because mail programs follow links before anybody reads the mail. Definer, because
it is called without log-in.';
grant execute on function api.unsubscribe(text, boolean) to edge_functions;

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
a dead letter. No foreign keys, because each would make every message dearer: the worker drops a row whose subject is
gone.';
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
which they happened: whoever draws the later one has waited for the lock on the conversation or the reservation.';

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

create function private.due_channels()
returns json
language sql stable security definer set search_path = ''
as $$
  select coalesce(json_agg(channel), '[]')
  from unnest(array['push', 'mail', 'webhook']) as channels (channel)
  where exists (
    select from private.outbox
    where outbox.channel = channels.channel and due_at <= private.present() and attempts < 8
  )
$$;
comment on function private.due_channels() is
  'The channels that have something to send. Definer, because edge_functions has no rights on the outbox.';
grant execute on function private.due_channels() to edge_functions;

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
language sql stable security invoker set search_path = ''
as $$
  select users
  from public.conversations
  join public.users
    on users.id in (conversations.voyager_id, conversations.local_id) and users.id <> person
  where conversations.id = conversation
$$;
comment on function private.partner_in(bigint, bigint) is 'The other participant of a conversation.';

create type private.notice as (id bigint, status text, content text, title text, date timestamptz);
comment on type private.notice is
  'What somebody is told of: the latest message with its text, or a reservation with its new status, its title and
date.';

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
    return row(latest.id, null, latest.content, null, null)::private.notice;
  end if;
  return null;
end
$$;
comment on function private.unread_notice(bigint, bigint, bigint, bigint) is
  'The latest of these messages that the person has not read; null if there is none, or its sender is not active.';

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
  return row(step.reservation_id, step.status, null, step.title, step.date)::private.notice;
end
$$;
comment on function private.step_notice(bigint, bigint, bigint) is
  'This step of a reservation, if the other or nobody took it and the person has not seen it; also what an erasure does
to a reservation.';

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
they have muted the conversation or archived it since. The one place that decides it.';

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
hours end.';

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
  'Who could hold up a push: the device, its owner and the name of its push service.';

create function private.claim_rows(wanted text, max_rows integer, busy jsonb, moment timestamptz)
returns bigint[]
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  avoided constant text[] := array(select jsonb_array_elements_text(busy));
  claimed bigint[];
begin
  if wanted = 'push' then
    claimed := array(
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
  else
    claimed := array(
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
  end if;
  update private.outbox
  set attempts = attempts + 1, due_at = moment + private.back_off(attempts), last_error = null
  where id = any (claimed);
  return claimed;
end
$$;
comment on function private.claim_rows(text, integer, jsonb, timestamptz) is
  'Claims the rows of a channel to send next, which no other worker gets before they are due again: pushes one for each
person, mails, and of each conversation''s webhooks the first; none for the receivers that are busy.';

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
the others.';

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
    'title', case when chosen.previews then private.quote(notice.title) end,
    'date', private.iso(notice.date),
    'text', case when chosen.previews then private.quote(notice.content, 160) end
  );
end
$$;
comment on function private.push_data(private.outbox) is
  'What a push says: {type, conversation_id, id, name, unread, status, title, date, text}; null if the person does not
want it any more. id is a message''s or a reservation''s; status, title and date are null for messages, and title and
text are null unless the person has chosen previews.';

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
language sql stable security invoker set search_path = ''
as $$
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
        'conversation_id', conversation_id,
        'name', private.quote((private.partner_in(person, conversation_id)).name),
        'unread', coalesce(told.unread, 0),
        'status', (changed.notice).status,
        'title', private.quote((changed.notice).title),
        'date', private.iso((changed.notice).date),
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
$$;
comment on function private.unseen_by(bigint, bigint[]) is
  'What a mail tells a person: [{conversation_id, name, unread, status, title, date, text}] for each conversation in
which they want to hear of unread messages or of one of these steps of reservations.';

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
        'to', recipient.email, 'name', private.quote(recipient.name), 'token', recipient.unsubscribe_token,
        'time_zone', (private.notification_settings_of(recipient.id)).time_zone, 'conversations', conversations
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
  'Claims a due mail, to none of the domains that are busy, as {id, receivers, key, to, name, token, time_zone,
conversations}, or returns null. Mails that have nothing to tell any more are dropped. Definer, because edge_functions
has no rights on the outbox.';
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
is gone.';

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
  wait json;
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
  wait := to_json(greatest(1, ceil(extract(epoch from allowed_at - clock_timestamp()))));
  perform private.set_response_metadata(jsonb_build_object('wait', wait));
  return wait;
end
$$;
comment on function private.consume_rate_limit(text, text, double precision, integer) is
  'Consumes a token: a burst at once, then one token every seconds_each. Returns 0, or the number of seconds until the
next token, which are wait in the response metadata, too, for the statement that writes and then does not; a refusal
consumes nothing. An error of the write rolls the count back; the Edge Function then counts again. Definer, because the
Edge Functions have no grant on rate_limits.';
grant execute on function private.consume_rate_limit(text, text, double precision, integer) to edge_functions;

-- Privacy: exporting all data of a user, and erasing a user.
create function private.export_account()
returns json
language sql stable security invoker set search_path = ''
as $$
  select json_build_object(
    'exported_at', private.iso(now()),
    'user', json_build_object(
      'id', users.id, 'name', users.name, 'email', users.email, 'bio', users.bio, 'location', users.location,
      'role', users.role, 'is_active', users.is_active, 'createdAt', private.iso(users.created_at)
    ),
    'profile', row_to_json(profiles),
    'interests', private.interests_of(profiles.id),
    'blocks', api.list_blocks(),
    'devices', api.list_devices(),
    'notifications', api.get_notification_settings()
  )
  from public.users
  join public.profiles on profiles.user_id = users.id
  where users.id = (select private.my_id())
$$;
comment on function private.export_account() is 'What the export has of the caller alone.';

create function api.export_me(place jsonb, emails text)
returns text
language plpgsql stable security definer
set search_path = ''
-- As in api.list_messages.
set enable_bitmapscan = off
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
    pieces := array[left(private.export_account()::text, -1) || ',"conversations":['];
  end if;

  for entry in
    select
      participants.id,
      participants.voyager_id,
      json_build_object('id', participants.voyager_id, 'name', participants.voyager_name) as voyager,
      json_build_object('id', participants.local_id, 'name', participants.local_name) as local,
      json_build_object(
        'id', participants.id, 'voyager_id', participants.voyager_id, 'local_id', participants.local_id,
        'Voyager', json_build_object(
          'id', participants.voyager_id, 'name', participants.voyager_name, 'email', participants.voyager_email
        ),
        'Local', json_build_object(
          'id', participants.local_id, 'name', participants.local_name, 'email', participants.local_email
        ),
        'Reservations', (
          select coalesce(json_agg(body), '[]') from private.reservations_with_history(participants.id, null)
        ),
        'createdAt', private.iso(participants.created_at),
        'state', (
          select json_build_object('archived', state.archived, 'muted_until', state.muted_until, 'pinned', state.pinned)
          from private.inbox_entries as mine
          cross join lateral private.to_state(mine) as state
          where mine.conversation_id = participants.id and mine.user_id = private.my_id()
        )
      )::text as body
    -- Each conversation counts as one message, so no more than these fit into a piece.
    from private.participants_of(
      array(
        select id
        from private.my_conversations() as id
        where id >= at_conversation and at_report is null
        order by id
        limit remaining + 1
      ),
      emails => emails
    ) as participants
    order by participants.id
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
    from (
      select *
      from public.messages
      where conversation_id = entry.id and id > after_id
      order by id
      limit remaining + 1
    ) as message;
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
  from (
    select
      reports.id,
      json_build_object(
        'id', reports.id, 'user_id', user_id, 'message_id', message_id, 'reason', reason, 'note', note,
        'share_messages', shares_messages, 'status', case when resolved_at is null then 'open' else 'resolved' end,
        'createdAt', private.iso(created_at), 'resolvedAt', private.iso(resolved_at)
      )::text as body
    from public.reports
    where reporter_id = private.my_id() and reports.id > at_report
    order by reports.id
    limit remaining + 1
  ) as reports;
  pieces := pieces || (case when at_report > 0 and page.length > 0 then ',' else '' end || coalesce(page.bodies, ''));
  if page.length > remaining then
    perform private.set_response_metadata(jsonb_build_object('place', jsonb_build_object('report', page.last_id)));
    return array_to_string(pieces, '');
  end if;
  return array_to_string(pieces || ']}'::text, '');
end
$$;
comment on function api.export_me(jsonb, text) is
  'Everything that the caller entered, did or received, as they see it, in pieces of one JSON document; place is null
for the first piece. The response metadata holds the place of the next piece while there is one. In pieces, so that a
long history needs no more memory than a short one; emails as in list_conversations. Definer, because callers have no
grant on states and reports; what it reads of a conversation goes through participants_of.';
grant execute on function api.export_me(jsonb, text) to edge_functions;

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
  words tsvector;
begin
  -- Take the locks in the same order as other transactions: the Auth account first, then the profile.
  perform from auth.users where id = account for update;
  select id into profile from public.profiles where user_id = person for update;
  select email into address from public.users where id = person;
  select search_words.words into words from private.search_words where profile_id = profile;
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
  perform private.forget_words(words);
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
and about the person keep their evidence for 180 days. Definer, because it deletes from auth.users. Only for
api.erase_me and public.erase_person, which logs it.';

create function api.erase_me()
returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not private.erase_person(private.my_id()) then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;
end
$$;
comment on function api.erase_me() is
  'Erases the caller. Of two concurrent calls one gets 401. Definer, as erase_person.';
grant execute on function api.erase_me() to edge_functions;

-- Which migrations the database has, so that a deployed project can be compared with the repository from outside.
create function private.list_migrations()
returns json
language plpgsql stable security invoker set search_path = ''
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
where it was not noted. Null where nobody has noted the migrations.';

-- What waits and what was run, for admins: the same in the SQL editor and on the page of one machine; and for the
-- metrics.
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
channels of the outbox (person: since the end of the delay) and the texts without a vector. Definer, because the secret
key has no rights on schema private.';
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

create function private.describe_service()
returns json
language sql stable security definer set search_path = ''
as $$
  select json_build_object(
    'search', private.describe_search(),
    'outbox', private.describe_outbox(),
    'migrations', private.list_migrations(),
    'data', (select coalesce(json_agg(loaded_data order by name), '[]') from private.loaded_data)
  )
$$;
comment on function private.describe_service() is
  'What the metrics say of the database: its queues, its migrations and the data files that were loaded. Definer,
because edge_functions has no rights on their tables.';
grant execute on function private.describe_service() to edge_functions;
