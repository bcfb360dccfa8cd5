-- A conversation as one participant has arranged it: archived, muted, pinned. The partner never learns. What is
-- archived is in conversation_activity, because its indexes keep that apart.
create table private.conversation_states (
  user_id bigint not null references public.users (id) on delete cascade,
  conversation_id bigint not null references public.conversations (id) on delete cascade,
  is_pinned boolean not null default false,
  muted_until timestamptz,
  primary key (user_id, conversation_id)
);
comment on table private.conversation_states is
  'The conversations that somebody has ever pinned or muted.';
create index conversation_states_conversation_id_idx on private.conversation_states (conversation_id);
create index conversation_states_pinned_idx on private.conversation_states (user_id) where is_pinned;
comment on index private.conversation_states_pinned_idx is 'At most 20 for each user, also of 10,000 muted ones.';
alter table private.conversation_states enable row level security;

create type private.conversation_state as (
  conversation_id bigint,
  archived boolean,
  muted_until text,
  pinned boolean
);
comment on type private.conversation_state is 'A state as every answer shows it.';

create function private.state_of(person bigint, conversation bigint)
returns private.conversation_state
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select row(
      entries.conversation_id,
      entries.is_archived,
      private.iso(case when states.muted_until > now() then states.muted_until end),
      coalesce(states.is_pinned, false)
    )::private.conversation_state
    from private.inbox_entries as entries
    left join private.conversation_states as states
      on states.user_id = person and states.conversation_id = conversation
    where entries.user_id = person and entries.conversation_id = conversation
  );
end
$$;
comment on function private.state_of(bigint, bigint) is
  'How a user has arranged a conversation; null if they do not take part in it. Only for definer functions.';

create function private.follows(person bigint, conversation bigint, message bigint)
returns boolean
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return exists (
    select
    from private.inbox_entries as entries
    where entries.user_id = person
      and entries.conversation_id = conversation
      and coalesce(entries.archived_id < message, not entries.is_archived)
      and not exists (
        select
        from private.conversation_states as states
        where states.user_id = person and states.conversation_id = conversation and states.muted_until > now()
      )
  );
end
$$;
comment on function private.follows(bigint, bigint, bigint) is
  'Whether a user wants to hear of a message of a conversation, as they have arranged it: they take part in it, have not
muted it, and have not archived it after that message. message is null for anything but a message: then what
is archived now counts. Only for definer functions.';

create function api.set_conversation_state(conversation bigint, changes jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  archive constant boolean := (changes ->> 'archived')::boolean;
  pin constant boolean := (changes ->> 'pinned')::boolean;
  mute_until constant timestamptz := (changes ->> 'muted_until')::timestamptz;
  before private.conversation_state;
  after private.conversation_state;
begin
  if mute_until <= now() then
    raise sqlstate 'PT400' using message = 'muted_until: must be in the future';
  end if;
  -- One request of a user after the other, so that the limit of pinned conversations holds, and an erasure leaves
  -- nothing. The user's row comes before the conversation's, as in send_message.
  perform private.lock_me();
  perform private.require_participant(conversation);
  before := private.state_of(me, conversation);

  if archive <> before.archived then
    update private.conversation_activity
    set
      voyager_archived_id = case when voyager_id <> me then voyager_archived_id when archive then last_message_id end,
      local_archived_id = case when local_id <> me then local_archived_id when archive then last_message_id end
    where conversation_id = conversation;
  end if;
  if pin <> before.pinned
    or changes ? 'muted_until' and private.iso(mute_until) is distinct from before.muted_until then
    insert into private.conversation_states as known (user_id, conversation_id, is_pinned, muted_until)
    values (me, conversation, coalesce(pin, false), mute_until)
    on conflict (user_id, conversation_id) do update set
      is_pinned = coalesce(pin, known.is_pinned),
      muted_until = case when changes ? 'muted_until' then mute_until else known.muted_until end;
  end if;
  if pin and (select count(*) from private.conversation_states where user_id = me and is_pinned) > 20 then
    raise sqlstate 'PT400' using message = 'pinned: you cannot pin more than 20 conversations', hint = 'too_many';
  end if;

  after := private.state_of(me, conversation);
  if after is distinct from before then
    perform private.record_state(me, conversation, 'conversation.state', me);
  end if;
  return row_to_json(after);
end
$$;
comment on function api.set_conversation_state(bigint, jsonb) is
  'Archives, mutes or pins a conversation for the caller: {archived, muted_until, pinned}, of which what is absent stays
unchanged. Returns the state, and tells the caller''s other devices if it is another one. Definer, because no caller has
a grant on these tables.';
grant execute on function api.set_conversation_state(bigint, jsonb) to edge_functions;

create function private.my_states(before_id bigint, max_rows bigint)
returns setof private.conversation_state
language plpgsql stable security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
begin
  return query
    select found.*
    from (
      select conversation_id from private.inbox_entries where user_id = me and is_archived
      union
      select conversation_id from private.conversation_states where user_id = me and (is_pinned or muted_until > now())
    ) as arranged
    cross join lateral private.state_of(me, arranged.conversation_id) as found
    where arranged.conversation_id < before_id
    order by arranged.conversation_id desc
    limit max_rows;
end
$$;
comment on function private.my_states(bigint, bigint) is
  'The caller''s states that differ from the default, by descending conversation_id. Definer, because no caller has a
grant on these tables.';
grant execute on function private.my_states(bigint, bigint) to authenticated;

create function private.my_state(conversation bigint)
returns json
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
    select json_build_object('archived', archived, 'muted_until', muted_until, 'pinned', pinned)
    from private.state_of(private.my_id(), conversation)
  );
end
$$;
comment on function private.my_state(bigint) is
  'How the caller has arranged a conversation, for the export. Definer, as my_states.';
grant execute on function private.my_state(bigint) to authenticated;

create function api.list_conversation_states(page jsonb)
returns json
language plpgsql stable security invoker set search_path = ''
as $$
declare
  page_limit constant bigint := (page ->> 'limit')::bigint;
  before_id constant bigint := coalesce((page ->> 'before_id')::bigint, 9223372036854775807);
  listed private.conversation_state[];
begin
  -- One more than the page, to know whether another page follows.
  listed := array(
    select states::private.conversation_state
    from private.my_states(before_id => before_id, max_rows => page_limit + 1) as states
  );
  if cardinality(listed) > page_limit then
    perform private.set_response_metadata(jsonb_build_object('next', listed[page_limit].conversation_id));
    listed := listed[:page_limit];
  end if;
  return coalesce(array_to_json(listed), '[]');
end
$$;
comment on function api.list_conversation_states(jsonb) is
  'A page {limit, before_id} of the caller''s states that differ from the default, by descending conversation_id; all of
them without a limit. The response metadata holds the last id of the page if another page follows.';
grant execute on function api.list_conversation_states(jsonb) to edge_functions;

create function private.erase_states_of(person bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  delete from private.conversation_states where user_id = person;
  delete from private.changes where user_id = person and other_id is null;
  -- Lock in the order of ids, so that two erasures do not wait for each other.
  perform
  from private.conversation_activity
  where voyager_id = person and voyager_archived_id is not null or local_id = person and local_archived_id is not null
  order by conversation_id
  for no key update;
  update private.conversation_activity
  set voyager_archived_id = null
  where voyager_id = person and voyager_archived_id is not null;
  update private.conversation_activity
  set local_archived_id = null
  where local_id = person and local_archived_id is not null;
end
$$;
comment on function private.erase_states_of(bigint) is 'Forgets how a user has arranged conversations.';
