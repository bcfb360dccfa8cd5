-- A conversation as one participant has arranged it: archived, muted, pinned.
create type private.conversation_state as (conversation_id bigint, archived boolean, muted_until text, pinned boolean);

create function private.to_state(entry private.inbox_entries)
returns private.conversation_state
language sql stable security invoker
as $$
  select row(
    entry.conversation_id, entry.is_archived,
    private.iso(case when entry.muted_until > now() then entry.muted_until end), entry.is_pinned
  )::private.conversation_state
$$;
comment on function private.to_state(private.inbox_entries) is
  'How a user has arranged a conversation. Without `set search_path`, so that it is inlined.';

create function api.set_conversation_state(conversation bigint, changes jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  archive constant boolean := (changes ->> 'archived')::boolean;
  pin constant boolean := (changes ->> 'pinned')::boolean;
  mute_until constant timestamptz := (changes ->> 'muted_until')::timestamptz;
  before private.inbox_entries;
  after private.inbox_entries;
begin
  if mute_until <= now() then
    raise sqlstate 'PT400' using message = 'muted_until: must be in the future';
  end if;
  -- So that the limit of pinned conversations holds, and an erasure leaves nothing.
  perform private.lock_me();
  perform private.require_participant(conversation);
  -- What a message that commits meanwhile has shown again is told as archived anew.
  select * into before
  from private.inbox_entries
  where conversation_id = conversation and user_id = me
  for no key update;
  update private.inbox_entries
  set
    archived_id = case
      when archive is null or archive = is_archived then archived_id
      when archive then last_message_id
    end,
    is_pinned = coalesce(pin, is_pinned),
    muted_until = case when changes ? 'muted_until' then mute_until else muted_until end
  where conversation_id = conversation and user_id = me
  returning * into after;
  if pin and (select count(*) from private.inbox_entries where user_id = me and is_pinned) > 20 then
    raise sqlstate 'PT400' using message = 'pinned: you cannot pin more than 20 conversations', hint = 'too_many';
  end if;
  if private.to_state(after) is distinct from private.to_state(before) then
    perform private.record_change('state', conversation, conversation, actor => me, event => 'conversation.state');
  end if;
  return row_to_json(private.to_state(after));
end
$$;
comment on function api.set_conversation_state(bigint, jsonb) is
  'Arranges a conversation for the caller: {archived, muted_until, pinned}, of which what is absent stays. Tells their
other devices. Definer, because no caller has a grant on inbox_entries.';

create function api.list_conversation_states(page jsonb)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  page_limit constant bigint := (page ->> 'limit')::bigint;
  listed private.conversation_state[];
begin
  -- One more than the page, as in list_messages.
  listed := array(
    select private.to_state(entries)
    from private.inbox_entries as entries
    where user_id = (select private.my_id())
      and conversation_id < coalesce((page ->> 'before_id')::bigint, 9223372036854775807)
      -- The condition of the index; what is archived may have come back since, and a mute may have ended.
      and (archived_id is not null or is_pinned or muted_until is not null)
      and (is_archived or is_pinned or muted_until > now())
    order by conversation_id desc
    limit page_limit + 1
  );
  return private.to_page(listed, page_limit, next => listed[page_limit].conversation_id);
end
$$;
comment on function api.list_conversation_states(jsonb) is
  'A page {limit, before_id} of the caller''s states that differ from the default, by descending conversation_id; all
without a limit. Definer, as set_conversation_state.';
