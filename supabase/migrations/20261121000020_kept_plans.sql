-- Plans that are kept: Postgres 17 plans the body of an SQL function anew at each call, and policies and verbs ask private.my_id() and its
-- like up to ten times in a request. The list of conversations finds its page first, and people by the page; before_id reaches the index.
create or replace function api.list_interests()
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

create or replace function private.standing()
returns text
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
    select case when is_active then 'active' else 'inactive' end
    from public.users
    where auth_id = (select auth.uid())
  );
end
$$;

create or replace function private.my_id()
returns bigint
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
    select id
    from public.users
    where auth_id = (select auth.uid()) and is_active
  );
end
$$;
comment on function private.my_id() is
  'The caller''s user id; null for anonymous and deactivated callers. Definer, because the policy on users asks it. plpgsql, as all
that policies and verbs ask often: Postgres 17 plans the body of an SQL function anew at each call, which takes 100 µs where this takes 8.';

create or replace function private.my_profile_id()
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

create or replace function private.interests_of(profile bigint)
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

comment on function private.me_with_profile() is
  'The caller with profile and interests.';

create or replace function private.my_conversations()
returns setof bigint
language plpgsql stable security definer rows 10 set search_path = ''
as $$
declare
  me bigint := private.my_id();
begin
  return query
    select id
    from public.conversations
    where voyager_id = me or local_id = me;
end
$$;

create or replace function private.people_in(conversations bigint[])
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

create or replace function api.list_conversations(page_limit integer, page_offset bigint)
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

create or replace function api.list_messages(conversation bigint, page jsonb)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  page_limit integer := (page ->> 'limit')::integer;
  page_offset bigint := (page ->> 'offset')::bigint;
  -- Variables rather than coalesce() in the condition, which under row level security keeps it out of the index.
  before_id bigint := coalesce((page ->> 'before_id')::bigint, 9223372036854775807);
  after_id bigint := coalesce((page ->> 'after_id')::bigint, 0);
  oldest_first boolean := after_id > 0 or page ->> 'order' = 'asc';
  people record;
  bodies json[];
  ids bigint[];
begin
  perform private.require_participation(conversation);
  select * into people from private.people_in(array[conversation]);

  -- One row more than the page tells whether there is a next one.
  if oldest_first then
    select
      array_agg(
        private.message_body(entry, case entry.user_id when people.voyager_id then people.voyager_name else people.local_name end)
        order by entry.id
      ),
      array_agg(entry.id order by entry.id)
    into bodies, ids
    from (
      select *
      from public.messages
      where conversation_id = conversation and id > after_id
      order by id
      limit page_limit + 1
      offset page_offset
    ) as entry;
  else
    select
      array_agg(
        private.message_body(entry, case entry.user_id when people.voyager_id then people.voyager_name else people.local_name end)
        order by entry.id desc
      ),
      array_agg(entry.id order by entry.id desc)
    into bodies, ids
    from (
      select *
      from public.messages
      where conversation_id = conversation and id < before_id
      order by id desc
      limit page_limit + 1
      offset page_offset
    ) as entry;
  end if;

  if cardinality(ids) > page_limit then
    perform private.tell_door(jsonb_build_object('next', ids[page_limit]));
  end if;
  return coalesce(array_to_json(bodies[:page_limit]), '[]');
end
$$;

create or replace function api.get_conversation(conversation bigint)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  perform private.require_participation(conversation);
  return (
    select json_build_object(
      'id', id,
      'Voyager', json_build_object('id', voyager_id, 'name', voyager_name),
      'Local', json_build_object('id', local_id, 'name', local_name),
      'Reservations', private.reservations_of(conversation)
    )
    from private.people_in(array[conversation])
  );
end
$$;

create or replace function api.export_me(place jsonb)
returns text
language plpgsql stable security invoker set search_path = ''
as $$
declare
  -- A piece is at most this many messages, 10 MB of the longest there can be.
  room integer := 500;
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
      people.voyager_name,
      people.local_name,
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
        perform private.tell_door(jsonb_build_object('place', jsonb_build_object('conversation', entry.id)));
        return array_to_string(pieces, '');
      end if;
      pieces := pieces || (separator || left(entry.body, -1) || ',"messages":[');
      seen := 0;
      room := room - 1;
    end if;
    separator := ',';
    select
      string_agg(
        private.message_body(
          message, case message.user_id when entry.voyager_id then entry.voyager_name else entry.local_name end
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
      where conversation_id = entry.id and id > seen
      order by id
      limit room + 1
    ) as message;
    pieces := pieces || (case when seen > 0 and page.length > 0 then ',' else '' end || coalesce(page.bodies, ''));
    if page.length > room then
      perform private.tell_door(
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

drop function private.my_partners();
drop function private.participants(bigint);
