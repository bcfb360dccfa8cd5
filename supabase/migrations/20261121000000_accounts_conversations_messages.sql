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
-- So that a connection that logs in as postgres can start as edge_functions (see functions/_shared/database.ts).
grant edge_functions to postgres;

grant usage on schema api to edge_functions;
grant usage on schema private to edge_functions, anon, authenticated;

create function private.act_as(claims jsonb, strict boolean)
returns boolean
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  standing text;
begin
  perform set_config('request.jwt.claims', coalesce(claims::text, '{"role": "anon"}'), true);
  perform set_config('request.jwt.claim.sub', coalesce(claims ->> 'sub', ''), true);
  if claims is not null then
    standing := private.standing();
    if standing is distinct from 'active' then
      if strict and standing is null then
        raise sqlstate 'PT401' using message = 'This account no longer exists';
      elsif strict then
        raise sqlstate 'PT403' using message = 'This account is deactivated';
      end if;
      perform set_config('request.jwt.claims', '{"role": "anon"}', true);
      perform set_config('request.jwt.claim.sub', '', true);
      claims := null;
    end if;
  end if;
  -- The role is a literal, whatever the claims say.
  perform set_config('role', case when claims is null then 'anon' else 'authenticated' end, true);
  return true;
end
$$;
comment on function private.act_as(jsonb, boolean) is
  'Makes the rest of the statement run as the caller: role and claims last until its transaction ends. Null claims are an
anonymous caller. Strict refuses unknown (401) and deactivated (403) accounts; otherwise they count as anonymous.
Called before the verb in one statement it keeps 75 % of the bare rate of requests, where begin, set and commit keep 28 %
(bench/one_round_trip.ts).';
grant execute on function private.act_as(jsonb, boolean) to edge_functions;

create function private.tell_door(aside jsonb)
returns void
language sql volatile security invoker set search_path = ''
as $$
  select set_config('api.aside', tell_door.aside::text, true)
$$;
comment on function private.tell_door(jsonb) is
  'What a verb has to say besides its answer, for the door to put into headers: {next: cursor} or {replayed: true}.';
grant execute on function private.tell_door(jsonb) to anon, authenticated;

-- Without `set search_path`, which would keep the planner from inlining it: a page of 50 messages calls it 50 times.
create function private.iso(moment timestamptz)
returns text
language sql stable security invoker parallel safe
as $$
  select pg_catalog.to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
comment on function private.iso(timestamptz) is 'ISO 8601 in UTC with milliseconds, as every timestamp in an answer.';
grant execute on function private.iso(timestamptz) to anon, authenticated;

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
  created_at timestamptz not null default now()
);
comment on table public.users is
  'One row for each person. Without an auth_id nobody can log in as them; inactive, their token is refused and their profile hidden.';
comment on column public.users.email is 'Follows the Auth account''s address. Shown to its owner, and to partners in the list of conversations.';

create unique index users_email_key on public.users (lower(email)) where email <> '';
comment on index public.users_email_key is 'No two accounts share an address, whatever its case. Erased accounts have none.';

alter table public.users enable row level security;

create function private.standing()
returns text
language sql stable security definer set search_path = ''
as $$
  select case when is_active then 'active' else 'inactive' end
  from public.users
  where auth_id = (select auth.uid())
$$;
comment on function private.standing() is
  'active, inactive, or null for an account that is not there. Definer, because an inactive caller cannot read their own row.';
grant execute on function private.standing() to edge_functions;

create function private.my_id()
returns bigint
language sql stable security definer set search_path = ''
as $$
  select id
  from public.users
  where auth_id = (select auth.uid()) and is_active
$$;
comment on function private.my_id() is
  'The caller''s user id; null for anonymous and deactivated callers. Definer, because the policy on users asks it.';
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

create function private.follow_auth_email()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  update public.users set email = coalesce(new.email, '') where auth_id = new.id;
  return null;
end
$$;
comment on function private.follow_auth_email() is 'Keeps users.email the address of the Auth account. Definer, because Auth''s own role writes there.';

create trigger follow_auth_email
  after update of email on auth.users
  for each row
  when (old.email is distinct from new.email)
  execute function private.follow_auth_email();

create function private.retire_user()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  update public.users set is_active = false, email = '' where auth_id = old.id;
  return old;
end
$$;
comment on function private.retire_user() is
  'Deleting the Auth account (in the dashboard, say) takes the person out of sight and frees the address. Definer, because Auth''s own role deletes there.';

create trigger retire_user
  before delete on auth.users
  for each row
  execute function private.retire_user();

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

create function api.has_account(address text)
returns json
language sql stable security definer set search_path = ''
as $$
  select to_json(exists (
    select from public.users where lower(email) = lower(has_account.address) and email <> ''
  ))
$$;
comment on function api.has_account(text) is
  'Whether an address is taken, where Auth does not say. Definer, because callers see no address but their own; the door tells nobody
but who may know.';
grant execute on function api.has_account(text) to edge_functions;

create function api.draw_user_id()
returns json
language sql volatile security definer set search_path = ''
as $$
  select to_json(nextval('public.users_id_seq'))
$$;
comment on function api.draw_user_id() is
  'An id nobody has. Where e-mail must be confirmed, signing up with a taken address answers like any other sign-up, and needs
an id that looks the part. Definer, because no caller may draw from the sequence.';
grant execute on function api.draw_user_id() to edge_functions;

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
language sql stable security invoker set search_path = ''
as $$
  select coalesce(json_agg(json_build_object('id', id, 'name', name) order by name), '[]')
  from public.interests
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
language sql immutable security invoker set search_path = ''
as $$
  select coalesce(array_agg(distinct id::bigint), '{}')
  from jsonb_array_elements_text(list) as id
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
    check (image_url ~ '^https://[^[:space:][:cntrl:]]+$' and char_length(image_url) <= 2048),
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
language sql stable security definer set search_path = ''
as $$
  select id
  from public.profiles
  where user_id = (select private.my_id())
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
language sql stable security invoker set search_path = ''
as $$
  select coalesce(json_agg(json_build_object('id', interests.id, 'name', interests.name) order by interests.name), '[]')
  from public.profile_interests
  join public.interests on interests.id = profile_interests.interest_id
  where profile_interests.profile_id = profile
$$;
comment on function private.interests_of(bigint) is 'A profile''s interests as [{id, name}], by name.';
grant execute on function private.interests_of(bigint) to authenticated;

create function private.settle_in()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  -- Log-in providers have their own idea of what `profile` is, so only an object is ours.
  wishes jsonb := case jsonb_typeof(new.raw_user_meta_data -> 'profile')
    when 'object' then new.raw_user_meta_data -> 'profile'
    else '{}'
  end;
  newcomer public.users;
  profile public.profiles;
begin
  insert into public.users (auth_id, name, email, bio, location, created_at)
  values (
    new.id,
    coalesce(nullif(left(new.raw_user_meta_data ->> 'name', 100), ''), 'New user'),
    coalesce(new.email, ''),
    wishes ->> 'bio',
    wishes ->> 'location',
    coalesce(new.created_at, now())
  )
  returning * into newcomer;

  insert into public.profiles (
    user_id, first_name, last_name, age, biography, country, city, image_url, is_searchable
  )
  select
    newcomer.id, first_name, last_name, age, biography, country, city, image_url, coalesce(is_searchable, false)
  from jsonb_populate_record(null::public.profiles, wishes)
  returning * into profile;

  if jsonb_typeof(wishes -> 'interest_ids') = 'array' then
    perform private.replace_interests(profile.id, private.as_ids(wishes -> 'interest_ids'));
  end if;

  -- Metadata travels in every access token; what now stands in the profile has no business there.
  if new.raw_user_meta_data ? 'profile' then
    update auth.users set raw_user_meta_data = raw_user_meta_data - 'profile' where id = new.id;
  end if;
  return null;
end
$$;
comment on function private.settle_in() is
  'A user and a profile come into being with the Auth account, in its transaction. The account''s metadata may hold {name, profile:
{any field of PATCH /users/profile}}. Definer, because Auth''s own role inserts there.';

create trigger settle_in
  after insert on auth.users
  for each row
  execute function private.settle_in();

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
  'The caller with profile and interests. plpgsql, as every verb that clients call often: Postgres 17 plans the body of an SQL
function anew at each call.';
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
  where profiles.id = profile;
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
  if other_user = me then
    raise sqlstate 'PT400' using message = 'other_user_id: nobody can open a conversation with themselves';
  end if;
  if not exists (select from public.users where id = other_user and is_active) then
    raise sqlstate 'PT404' using message = 'User not found';
  end if;
  insert into public.conversations (voyager_id, local_id)
  values (me, other_user)
  on conflict (least(voyager_id, local_id), greatest(voyager_id, local_id)) do nothing
  returning * into opened;
  if opened.id is null then
    -- The conflict waited for the other opener to commit, so this statement's snapshot has the row.
    select *
    into strict opened
    from public.conversations
    where least(voyager_id, local_id) = least(me, other_user)
      and greatest(voyager_id, local_id) = greatest(me, other_user);
    raise sqlstate 'PT409' using
      message = 'A conversation with this user already exists',
      detail = json_build_object('conversation_id', opened.id);
  end if;
  return json_build_object('id', opened.id, 'voyager_id', opened.voyager_id, 'local_id', opened.local_id);
end
$$;
comment on function api.open_conversation(bigint) is
  'Opens the pair''s conversation: the caller is the voyager. 409 carries the id of the one that is there. Definer, because nobody
holds a grant to insert conversations: they come into being here alone.';
grant execute on function api.open_conversation(bigint) to edge_functions;

-- Messages: written by send_message alone, marked read by their recipient, never changed otherwise.
create function private.is_attachment(value jsonb)
returns boolean
language sql immutable security invoker set search_path = ''
as $$
  select jsonb_typeof(value) = 'object'
    and value ?& array['url', 'name', 'mime_type', 'size']
    and value - array['url', 'name', 'mime_type', 'size'] = '{}'
    and jsonb_typeof(value -> 'url') = 'string' and char_length(value ->> 'url') between 1 and 2048
    and jsonb_typeof(value -> 'name') = 'string' and char_length(value ->> 'name') between 1 and 255
    and jsonb_typeof(value -> 'mime_type') = 'string' and char_length(value ->> 'mime_type') between 1 and 255
    and jsonb_typeof(value -> 'size') = 'number' and (value ->> 'size')::numeric >= 0
$$;
comment on function private.is_attachment(jsonb) is 'Whether this is {url, name, mime_type, size} and nothing else.';
grant execute on function private.is_attachment(jsonb) to service_role;

create table public.messages (
  id bigint generated always as identity primary key,
  conversation_id bigint not null references public.conversations (id) on delete cascade,
  user_id bigint not null references public.users (id) on delete restrict,
  content text not null
    constraint "content has at most 5,000 characters" check (char_length(content) <= 5000),
  attachment jsonb
    constraint "attachment is {url, name, mime_type, size}" check (private.is_attachment(attachment)),
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

create table private.receipts (
  message_id bigint primary key references public.messages (id) on delete cascade,
  sender_name text not null
);
comment on table private.receipts is
  'What the first answer to a keyed send said that may change since: the sender''s name. With it a repeat answers byte for byte.';
alter table private.receipts enable row level security;

create function private.message_body(message public.messages, sender_name text)
returns json
language sql stable security invoker
as $$
  select pg_catalog.json_build_object(
    'id', message.id,
    'user_id', message.user_id,
    'conversation_id', message.conversation_id,
    'content', message.content,
    'attachment', message.attachment,
    'read', message.read,
    'createdAt', private.iso(message.created_at),
    'Sender', pg_catalog.json_build_object('id', message.user_id, 'name', sender_name)
  )
$$;
comment on function private.message_body(public.messages, text) is
  'A message as the listing shows it. Without `set search_path`, so that it is inlined as private.iso is.';
grant execute on function private.message_body(public.messages, text) to authenticated;

create function api.list_messages(conversation bigint, page jsonb)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  page_limit integer := (page ->> 'limit')::integer;
  page_offset bigint := (page ->> 'offset')::bigint;
  before_id bigint := (page ->> 'before_id')::bigint;
  after_id bigint := (page ->> 'after_id')::bigint;
  oldest_first boolean := after_id is not null or page ->> 'order' = 'asc';
  bodies json[];
  ids bigint[];
begin
  perform private.require_participation(conversation);

  -- One row more than the page tells whether there is a next one.
  if oldest_first then
    select array_agg(private.message_body(entry, sender.name) order by entry.id), array_agg(entry.id order by entry.id)
    into bodies, ids
    from (
      select *
      from public.messages
      where conversation_id = conversation and id > coalesce(after_id, 0)
      order by id
      limit page_limit + 1
      offset page_offset
    ) as entry
    join private.participants(conversation) as sender on sender.id = entry.user_id;
  else
    select array_agg(private.message_body(entry, sender.name) order by entry.id desc), array_agg(entry.id order by entry.id desc)
    into bodies, ids
    from (
      select *
      from public.messages
      where conversation_id = conversation and id < coalesce(before_id, 9223372036854775807)
      order by id desc
      limit page_limit + 1
      offset page_offset
    ) as entry
    join private.participants(conversation) as sender on sender.id = entry.user_id;
  end if;

  if cardinality(ids) > page_limit then
    perform private.tell_door(jsonb_build_object('next', ids[page_limit]));
  end if;
  return coalesce(array_to_json(bodies[:page_limit]), '[]');
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
  my_name text;
  key uuid := (draft ->> 'client_id')::uuid;
  sent public.messages;
begin
  -- The lock gives ids in commit order within the conversation, and lets one of two sends with the same key in at a time.
  perform from public.conversations
  where id = conversation and me in (voyager_id, local_id)
  for no key update;
  if not found then
    raise sqlstate 'PT404' using message = 'Conversation not found';
  end if;
  select name into my_name from public.users where id = me;

  insert into public.messages (conversation_id, user_id, content, attachment, client_id)
  values (conversation, me, draft ->> 'content', nullif(draft -> 'attachment', 'null'), key)
  on conflict (user_id, client_id) where client_id is not null do nothing
  returning * into sent;

  if sent.id is null then
    select * into strict sent from public.messages where user_id = me and client_id = key;
    if (sent.conversation_id, sent.content, sent.attachment)
      is distinct from (conversation, draft ->> 'content', nullif(draft -> 'attachment', 'null')) then
      raise sqlstate 'PT422' using message = 'This idempotency key was used for another message';
    end if;
    perform private.tell_door('{"replayed": true}');
    sent.read := false;
    select coalesce(min(sender_name), my_name) into my_name from private.receipts where message_id = sent.id;
  elsif key is not null then
    insert into private.receipts (message_id, sender_name) values (sent.id, my_name);
  end if;

  return private.message_body(sent, my_name);
end
$$;
comment on function api.send_message(bigint, jsonb) is
  'Sends {content, attachment, client_id} as the caller; a client_id seen before answers the first answer again and tells the door
so. Definer, because nobody holds a grant to insert messages: they are written here alone.';
grant execute on function api.send_message(bigint, jsonb) to edge_functions;

create function api.mark_read(conversation bigint, message bigint, and_before boolean)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.require_participation(conversation);
  if not exists (select from public.messages where id = message and conversation_id = conversation) then
    raise sqlstate 'PT404' using message = 'Message not found';
  end if;
  update public.messages
  set read = true
  where conversation_id = conversation
    and (id = message or and_before and id < message)
    and user_id <> private.my_id()
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

create function api.get_conversation(conversation bigint)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  perform private.require_participation(conversation);
  return (
    select json_build_object(
      'id', conversations.id,
      'Voyager', json_build_object('id', voyager.id, 'name', voyager.name),
      'Local', json_build_object('id', local.id, 'name', local.name),
      'Reservations', (
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
        where reservations.conversation_id = conversations.id
      )
    )
    from public.conversations
    join private.participants(conversation) as voyager on voyager.id = conversations.voyager_id
    join private.participants(conversation) as local on local.id = conversations.local_id
    where conversations.id = conversation
  );
end
$$;
comment on function api.get_conversation(bigint) is 'A conversation with its two people and its reservations, by date.';
grant execute on function api.get_conversation(bigint) to edge_functions;
