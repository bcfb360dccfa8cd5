-- A page of messages takes a third less of Postgres: rows that become JSON at once in place of an object each, and a policy that looks for one
-- conversation in place of the whole inbox. In a page, messages lose the spaces between their keys and values, and nothing else.
create or replace function private.tell_door(aside jsonb)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  perform set_config('api.aside', tell_door.aside::text, true);
end
$$;
comment on function private.tell_door(jsonb) is
  'What a verb has to say besides its answer, for the door to put into headers: {next: cursor} or {replayed: true}.';

create or replace function private.my_id()
returns bigint
language plpgsql stable security definer set search_path = ''
as $$
declare
  me bigint;
begin
  -- Without a subquery around auth.uid(), which an index asks once anyway (a scan of a small table for each row), and into a variable: 4 µs in place of 6, several times a request.
  select id
  into me
  from public.users
  where auth_id = auth.uid() and is_active;
  return me;
end
$$;
comment on function private.my_id() is
  'The caller''s user id; null for anonymous and deactivated callers. Definer, because the policy on users asks it. plpgsql, as all
that policies and verbs ask often: Postgres 17 plans the body of an SQL function anew at each call, which takes 100 µs where this takes 4.';

create or replace function private.my_conversations()
returns setof bigint
language plpgsql stable security definer rows 10 set search_path = ''
as $$
declare
  me bigint := private.my_id();
  looked_at bigint := nullif(current_setting('api.conversation', true), '')::bigint;
begin
  if looked_at is not null then
    return query
      select id
      from public.conversations
      where id = looked_at and me in (voyager_id, local_id);
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
  'Conversations the caller takes part in; of them only the one that the transaction looks at, if it does. Definer, so that the policies
of messages and reservations ask one set once, not a policy for each row: on a 5,000-message scan the set costs what no policy costs, a
function of the row''s column ten times as much.';

create function private.look_at(conversation bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  perform set_config('api.conversation', coalesce(conversation::text, ''), true);
end
$$;
comment on function private.look_at(bigint) is
  'Narrows my_conversations to one, until it is null again or the transaction ends. It gives nobody anything: who has no part in that one
finds none. For verbs about one conversation, whose policies would else gather the whole inbox: 100 µs for one of 246, where a page takes 300.';
grant execute on function private.look_at(bigint) to authenticated;

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
  'A message as the listing shows it. A row, because a page of rows becomes JSON in two thirds of the time that as many objects take.';

create function private.view_of(message public.messages, sender json)
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
comment on function private.view_of(public.messages, json) is
  'A message as the listing shows it, from its sender {id, name}. Without `set search_path`, so that it is inlined as private.iso is.';
grant execute on function private.view_of(public.messages, json) to authenticated;

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
comment on function api.list_messages(bigint, jsonb) is
  'A page {limit, offset, before_id, after_id, order} of a conversation: newest first, with after_id or order asc oldest first.
Tells the door the last id of the page where another follows.';

create or replace function api.send_message(conversation bigint, draft jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
  partner bigint;
  my_name text;
  key uuid := (draft ->> 'client_id')::uuid;
  sent public.messages;
begin
  -- The lock gives ids in commit order within the conversation, and lets one of two sends with the same key in at a time.
  select case me when voyager_id then local_id else voyager_id end
  into partner
  from public.conversations
  where id = conversation and me in (voyager_id, local_id)
  for no key update;
  if not found then
    raise sqlstate 'PT404' using message = 'Conversation not found';
  end if;
  -- Shared, so that who is erased meanwhile leaves no name behind: the one waits for the other.
  select name into my_name from public.users where id = me and is_active for share;
  if not found then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;

  insert into public.messages (conversation_id, user_id, content, attachment, client_id)
  select conversation, me, draft ->> 'content', nullif(draft -> 'attachment', 'null'), key
  where not private.are_apart(me, partner)
    and exists (select from public.users where id = partner and erased_at is null)
  on conflict (user_id, client_id) where client_id is not null do nothing
  returning * into sent;

  if sent.id is null then
    select * into sent from public.messages where user_id = me and client_id = key;
    if sent.id is null then
      raise sqlstate 'PT403' using message = 'You cannot write to this person';
    end if;
    if (sent.conversation_id, sent.content, sent.attachment)
      is distinct from (conversation, draft ->> 'content', nullif(draft -> 'attachment', 'null')) then
      raise sqlstate 'PT422' using message = 'This idempotency key was used for another message';
    end if;
    perform private.tell_door('{"replayed": true}');
    sent.read := false;
    select coalesce(min(sender_name), my_name) into my_name from private.receipts where message_id = sent.id;
  else
    -- Doors of the release before do not look, and do not say so either.
    if draft ? 'type_is_true' then
      perform private.require_true_type(sent.attachment, (draft ->> 'type_is_true')::boolean);
    end if;
    if key is not null then
      insert into private.receipts (message_id, sender_name) values (sent.id, my_name);
    end if;
  end if;

  -- As it always was, spaces and all, so that a repeat says what the first answer said, whichever release gave that.
  return json_build_object(
    'id', sent.id,
    'user_id', sent.user_id,
    'conversation_id', sent.conversation_id,
    'content', sent.content,
    'attachment', sent.attachment,
    'read', sent.read,
    'createdAt', private.iso(sent.created_at),
    'Sender', json_build_object('id', me, 'name', my_name)
  );
end
$$;
comment on function api.send_message(bigint, jsonb) is
  'Sends {content, attachment, client_id, type_is_true} as the caller; a client_id seen before answers the first answer again and tells
the door so. 403 says that one of the two blocked the other or that the other erased themselves, and not which. Definer, because nobody holds
a grant to insert messages: they are written here alone.';

create or replace function private.reservations_of(conversation bigint)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
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
    where reservations.conversation_id = reservations_of.conversation
  );
end
$$;
comment on function private.reservations_of(bigint) is 'A conversation''s reservations, by date.';

create or replace function api.get_conversation(conversation bigint)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  people record;
  reservations json;
begin
  -- As in list_messages.
  select * into people from private.people_in(array[conversation]);
  if not found then
    perform private.require_participation(conversation);
  end if;
  perform private.look_at(conversation);
  reservations := private.reservations_of(conversation);
  perform private.look_at(null);
  return json_build_object(
    'id', people.id,
    'Voyager', json_build_object('id', people.voyager_id, 'name', people.voyager_name),
    'Local', json_build_object('id', people.local_id, 'name', people.local_name),
    'Reservations', reservations
  );
end
$$;
comment on function api.get_conversation(bigint) is 'A conversation with its two people and its reservations, by date.';

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
comment on function api.export_me(jsonb) is
  'All that the caller gave and did, and what they were written, as they see it: a piece of one JSON document, the first where the place is
null. Tells the door the place of the next while there is one. In pieces, so that a long history needs no more memory than a short one.';

drop function private.message_body(public.messages, text);

-- Postgres 17 plans the body of a function in SQL anew at each call, 100 to 340 µs for these.
create or replace function private.is_attachment(value jsonb)
returns boolean
-- Strict, so that a message without one does not pay the 95 µs of its plan.
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
comment on function private.is_attachment(jsonb) is 'Whether this is {url, name, mime_type, size} and nothing else; null of null.';

create or replace function private.as_ids(list jsonb)
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
comment on function private.as_ids(jsonb) is 'A JSON array of ids, without repeats.';

create or replace function private.spots_of(profile public.profiles, name text, interests text[])
returns jsonb
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    with texts (attribute, element, value) as (
      values
        (0, 0, name),
        (2, 0, profile.city),
        (3, 0, profile.country),
        (4, 0, profile.biography),
        (5, 0, profile.first_name),
        (5, 1, profile.last_name)
      union all
      select 1, ordinality - 1, interest
      from unnest(interests) with ordinality as listed (interest, ordinality)
    ),
    worded as materialized (
      select attribute, element, private.words_of(value) as words
      from texts
      where value is not null
    ),
    placed as (
      select attribute, element, position, word
      from worded
      cross join lateral unnest(words) with ordinality as listed (word, position)
      -- Letters that fold into many words could run into the next text's spots.
      where position <= 9000
      union all
      select attribute, element, least(9000, cardinality(words)) + 1, ''
      from worded
    ),
    standing as (
      select
        word,
        attribute * 1000000 + element * 10000 + position - 1 as spot,
        row_number() over (partition by word order by attribute, element, position) as nth
      from placed
    )
    select coalesce(jsonb_object_agg(word, spots), '{}')
    from (
      select word, jsonb_agg(spot order by spot) as spots
      from standing
      -- A word's tenth mention tells nothing that the first nine did not.
      where nth <= 9 or word = ''
      group by word
    ) as grouped
  );
end
$$;
comment on function private.spots_of(public.profiles, text, text[]) is 'Where each word of a profile stands; see search_postings.';

create or replace function private.words_from_spots(spots jsonb)
returns tsvector
language plpgsql immutable security invoker set search_path = ''
as $$
begin
  return (
    select coalesce(
      string_agg(
        quote_literal(word) || ':' || least(16383, attribute_start + element * 40 + position + 1)
          || substr('ABCCDA', attribute + 1, 1),
        ' '
      ),
      ''
    )::tsvector
    from (
      select
        word,
        spot / 1000000 as attribute,
        spot / 10000 % 100 as element,
        spot % 10000 as position,
        -- Attributes stand apart, so that no phrase reaches from one into the next.
        (array[0, 200, 2400, 2600, 2800, 15000])[spot / 1000000 + 1] as attribute_start
      from jsonb_each(spots - '') as entry (word, list)
      cross join lateral (select value::integer as spot from jsonb_array_elements(list)) as placed
    ) as placed
  );
end
$$;
comment on function private.words_from_spots(jsonb) is 'The same words as a tsvector, in which phrases are found.';

create or replace function private.count_words(deltas private.search_lexicon[])
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  insert into private.search_lexicon as lexicon (word, entries)
  select word, entries from unnest(deltas) where entries > 0
  on conflict (word) do update set entries = lexicon.entries + excluded.entries;

  delete from private.search_lexicon as lexicon
  using unnest(deltas) as delta
  where delta.word = lexicon.word and lexicon.entries + delta.entries <= 0;

  update private.search_lexicon as lexicon
  set entries = lexicon.entries + delta.entries
  from unnest(deltas) as delta
  where delta.word = lexicon.word and delta.entries < 0;
end
$$;
comment on function private.count_words(private.search_lexicon[]) is 'Adds to and takes from the lexicon; a word that no entry has any more is gone.';

create or replace function private.entry_text(profile bigint)
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
comment on function private.entry_text(bigint) is 'What a profile''s vector is made from.';

create or replace function private.context_text(person bigint)
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
comment on function private.context_text(bigint) is 'What a person''s context is made from.';
