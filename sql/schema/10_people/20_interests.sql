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

create function private.interest_ids(list jsonb)
returns bigint[]
language plpgsql stable security invoker set search_path = ''
as $$
declare
  ids constant bigint[] := array(select distinct wanted::bigint from jsonb_array_elements_text(list) as wanted);
  unknown constant text := (
    select string_agg(wanted::text, ', ' order by wanted)
    from unnest(ids) as wanted
    where wanted not in (select id from public.interests)
  );
begin
  if unknown is not null then
    raise sqlstate 'PT400' using message = 'interest_ids: unknown interests ' || unknown;
  elsif cardinality(ids) > 50 then
    raise sqlstate 'PT400' using message = 'interest_ids: a profile has at most 50 interests';
  end if;
  return ids;
end
$$;
comment on function private.interest_ids(jsonb) is
  'The ids of a JSON array or null, without duplicates. Raises 400 for more than 50, and names unknown ones.';

create function api.list_interests()
returns json
language sql stable security invoker set search_path = ''
as $$
  select coalesce(json_agg(json_build_object('id', id, 'name', name) order by name), '[]') from public.interests
$$;
comment on function api.list_interests() is 'All interests as [{id, name}], ordered by name.';
