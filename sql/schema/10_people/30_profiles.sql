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
    check ((private.is_web_address(image_url) or private.is_own_photo(image_url)) and char_length(image_url) <= 2048),
  is_searchable boolean not null default false,
  show_answers boolean not null default true,
  languages text
    constraint "languages has at most 200 characters" check (char_length(languages) <= 200)
    constraint "languages is one line that shows something" check (private.is_line(languages)),
  is_hidden boolean not null default false
);
comment on table public.profiles is 'Others see one only while is_searchable is true and the user active.';
comment on column public.profiles.is_hidden is 'Whether an admin has hidden it, until public.lift_restriction().';
alter table public.profiles enable row level security;

create policy "users read their own profile" on public.profiles
  for select to authenticated
  using (user_id = (select private.my_id()));

grant select on public.profiles to authenticated;

create trigger keep_profile_hidden
  before insert or update of is_searchable, is_hidden on public.profiles
  for each row when (new.is_searchable and new.is_hidden)
  execute function private.refuse_change('An administrator has hidden this profile', 'PT403', 'hidden');

-- The secret key may write every column, and this one by the functions alone that log it.
create trigger protect_is_hidden
  before update of is_hidden on public.profiles
  for each row when (new.is_hidden <> old.is_hidden and current_user = 'service_role')
  execute function private.refuse_change('Call restrict_person() or lift_restriction(), which log whom and why');

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

create function api.update_profile(changes jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
  my_profile bigint;
begin
  -- First, as every change of a profile does, so that concurrent ones queue and never deadlock.
  select id into my_profile from public.profiles where user_id = me for no key update;
  if not found then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;
  if changes ?| array['name', 'bio', 'location'] then
    update public.users
    set (name, bio, location) = (
      select new.name, new.bio, new.location from jsonb_populate_record(users, changes) as new
    )
    where id = me;
  end if;
  if changes - array['name', 'bio', 'location', 'interest_ids'] <> '{}' then
    update public.profiles
    set (first_name, last_name, age, biography, country, city, image_url, is_searchable, show_answers, languages) = (
      select
        new.first_name, new.last_name, new.age, new.biography, new.country, new.city, new.image_url, new.is_searchable,
        new.show_answers, new.languages
      from jsonb_populate_record(profiles, changes) as new
    )
    where user_id = me;
  end if;
  if changes ? 'interest_ids' then
    perform private.replace_interests(my_profile, changes -> 'interest_ids');
  end if;
  return api.get_me();
end
$$;
comment on function api.update_profile(jsonb) is
  'Changes the fields of these keys, all or none; null clears one, others are ignored. Definer, because no caller has a
grant to write.';

create function api.set_searchable(searchable boolean)
returns json
language sql volatile security definer set search_path = ''
as $$
  select json_build_object('is_searchable', me #> '{Profile,is_searchable}')
  from api.update_profile(jsonb_build_object('is_searchable', searchable)) as me
$$;
comment on function api.set_searchable(boolean) is 'Lists the caller in the search. Definer, as update_profile.';

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
      'id', users.id, 'name', users.name, 'profile', json_build_object(
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
  'The public view of a profile, the only way to see another user''s. Definer, because row level security hides it.';
