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
  using (profile_id in (select id from public.profiles where user_id = (select private.my_id())));

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
comment on function private.cap_interests() is 'Limits a profile to 50, which a constraint cannot, for every role.';

create trigger cap_interests
  after insert on public.profile_interests
  referencing new table as added
  for each statement execute function private.cap_interests();

create function private.interests_of(profile bigint)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select coalesce(json_agg(json_build_object('id', id, 'name', name) order by name), '[]')
    from public.profile_interests
    join public.interests on id = interest_id
    where profile_id = profile
  );
end
$$;
comment on function private.interests_of(bigint) is 'A profile''s interests as [{id, name}], ordered by name.';
grant execute on function private.interests_of(bigint) to authenticated;

create function private.replace_interests(profile bigint, list jsonb)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  ids constant bigint[] := private.interest_ids(list);
begin
  delete from public.profile_interests where profile_id = profile and interest_id <> all (ids);
  insert into public.profile_interests (profile_id, interest_id) select profile, unnest(ids) on conflict do nothing;
end
$$;
comment on function private.replace_interests(bigint, jsonb) is
  'Replaces a profile''s interests by a JSON array of ids, or raises 400 and changes nothing. The caller has locked the
profile: concurrent replacements would end with the union of both sets.';

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
comment on function api.set_interests(jsonb) is 'Sets the caller''s interests to {ids}. Definer, as update_profile.';
