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
