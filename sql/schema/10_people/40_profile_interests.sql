-- The interests of each profile.
create table public.profile_interests (
  profile_id bigint not null references public.profiles (id) on delete cascade,
  interest_id bigint not null references public.interests (id) on delete cascade,
  primary key (profile_id, interest_id)
);
comment on table public.profile_interests is 'Which profile has which interests.';

create index profile_interests_interest_id_idx on public.profile_interests (interest_id);
alter table public.profile_interests enable row level security;

create policy "users read their own interests" on public.profile_interests
  for select to authenticated
  using (profile_id in (select id from public.profiles where user_id = (select private.my_id())));

grant select on public.profile_interests to authenticated;

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
language sql volatile security definer set search_path = ''
as $$
  select json_build_object('id', me #> '{Profile,id}', 'user_id', me -> 'id', 'Interests', me #> '{Profile,Interests}')
  from api.update_profile(jsonb_build_object('interest_ids', wanted -> 'ids')) as me
$$;
comment on function api.set_interests(jsonb) is 'Sets the caller''s interests to {ids}. Definer, as update_profile.';
