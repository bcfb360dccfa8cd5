-- A page of a long conversation reads its own messages, also where most conversations are short.
create or replace function api.list_messages(conversation bigint, page jsonb)
returns json
language plpgsql stable security invoker
set search_path = ''
-- Where most conversations are short, the general plan would gather the whole of a long one, and sort it for its last 50.
set enable_bitmapscan = off
as $$
declare
  page_limit integer := (page ->> 'limit')::integer;
  page_offset bigint := (page ->> 'offset')::bigint;
  -- Variables rather than coalesce() in the condition, which under row level security keeps it out of the index.
  before_id bigint := coalesce((page ->> 'before_id')::bigint, 9223372036854775807);
  after_id bigint := coalesce((page ->> 'after_id')::bigint, 0);
  oldest_first boolean := after_id > 0 or page ->> 'order' = 'asc';
  people record;
  voyager json;
  local json;
  listed private.message_view[];
begin
  -- It finds the two for participants alone, so only who is about to be refused is looked at twice.
  select * into people from private.people_in(array[conversation]);
  if not found then
    perform private.require_participation(conversation);
  end if;
  voyager := json_build_object('id', people.voyager_id, 'name', people.voyager_name);
  local := json_build_object('id', people.local_id, 'name', people.local_name);
  perform private.look_at(conversation);

  -- One row more than the page tells whether there is a next one.
  if oldest_first then
    select array_agg(private.view_of(entry, case user_id when people.voyager_id then voyager else local end) order by entry.id)
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
    select array_agg(private.view_of(entry, case user_id when people.voyager_id then voyager else local end) order by entry.id desc)
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

  perform private.look_at(null);
  if cardinality(listed) > page_limit then
    perform private.tell_door(jsonb_build_object('next', listed[page_limit].id));
  end if;
  return coalesce(array_to_json(listed[:page_limit]), '[]');
end
$$;

create function private.messages_after(conversation bigint, seen bigint, most integer)
returns setof public.messages
language plpgsql stable security invoker
set search_path = ''
-- As in list_messages.
set enable_bitmapscan = off
as $$
begin
  return query
    select *
    from public.messages
    where conversation_id = conversation and id > seen
    order by id
    limit most;
end
$$;
comment on function private.messages_after(bigint, bigint, integer) is
  'The next messages of a conversation, oldest first. By itself, because what else export_me reads needs the scan that this must do without.';
grant execute on function private.messages_after(bigint, bigint, integer) to authenticated;

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
      json_build_object('id', people.voyager_id, 'name', people.voyager_name) as voyager,
      json_build_object('id', people.local_id, 'name', people.local_name) as local,
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
        to_json(private.view_of(message, case user_id when entry.voyager_id then entry.voyager else entry.local end))::text,
        ','
        order by message.id
      ) as bodies,
      count(*) as length,
      max(message.id) as last_id
    into page
    from private.messages_after(entry.id, seen, room + 1) as message;
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
