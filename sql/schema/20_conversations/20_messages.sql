-- Messages: sent, listed, and marked as read by their recipient.
create function private.is_attachment(value jsonb)
returns boolean
-- Strict, so that a message without an attachment does not pay the 95 µs of planning.
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
comment on function private.is_attachment(jsonb) is 'Whether it is {url, name, mime_type, size} alone; null for null.';

create table public.messages (
  id bigint generated always as identity primary key,
  conversation_id bigint not null references public.conversations (id) on delete cascade,
  user_id bigint not null references public.users (id) on delete restrict,
  content text not null
    constraint "content has at most 5,000 characters" check (char_length(content) <= 5000),
  attachment jsonb
    constraint "attachment is {url, name, mime_type, size}" check (private.is_attachment(attachment)),
  constraint "attachment.name is one line that shows something" check (private.is_line(attachment ->> 'name')),
  constraint "attachment.url is a path in the bucket or an https address"
    check (attachment ->> 'url' !~* '^https:' or private.is_web_address('https' || substr(attachment ->> 'url', 6))),
  read boolean not null default false,
  client_id uuid,
  created_at timestamptz not null default clock_timestamp(),
  edited_at timestamptz,
  deleted_at timestamptz,
  -- A stone has neither.
  constraint "a message says something or carries an attachment"
    check ((content ~ '[^[:space:][:cntrl:]]' or attachment is not null) = (deleted_at is null))
);
comment on table public.messages is
  'What participants have written. Within a conversation, a reader who has seen an id has seen all before it.';
comment on column public.messages.deleted_at is 'When its sender took it back. It is read then, for the counts.';

create index messages_conversation_id_id_idx on public.messages (conversation_id, id desc);
create index messages_unread_idx on public.messages (conversation_id, user_id) where not read;
create unique index messages_one_per_client_id on public.messages (user_id, client_id);
comment on index public.messages_one_per_client_id is
  'A client_id of a sender is of one message, for ever. It serves the foreign key of user_id, too: an index less saves 3
of the 79 pages of a send.';
alter table public.messages enable row level security;

create policy "participants read messages" on public.messages
  for select to authenticated
  using (conversation_id in (select private.my_conversations()));

grant select on public.messages to authenticated;

create type private.message_view as (
  id bigint, user_id bigint, conversation_id bigint, content text, attachment jsonb, read boolean, "createdAt" text,
  "Sender" json
);
comment on type private.message_view is
  'A message as every answer shows it. A page of rows becomes JSON in two thirds of the time of as many objects.';

create function private.to_message_view(message public.messages, sender json)
returns private.message_view
language sql stable security invoker
as $$
  select row(
    message.id, message.user_id, message.conversation_id, message.content, message.attachment, message.read,
    private.iso(message.created_at), sender
  )::private.message_view
$$;
comment on function private.to_message_view(public.messages, json) is
  'A message as every answer shows it; sender is {id, name}. Without `set search_path`, so that it is inlined.';

create function private.with_states(listed private.message_view[])
returns json[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return array(
    select row_to_json(shown)
    from (
      select (listed[ordinality]).*, private.iso(edited_at) as "editedAt", private.iso(deleted_at) as "deletedAt"
      from unnest(listed) with ordinality as entry
      join public.messages on messages.id = entry.id
      order by ordinality
    ) as shown
  );
end
$$;
comment on function private.with_states(private.message_view[]) is
  'The JSON of these messages with their states. A second step: a case for each row made a page a third dearer.';

create function api.list_messages(conversation bigint, page jsonb)
returns json
language plpgsql stable security definer
set search_path = ''
-- The generic plan would read all of a long conversation and sort it for its last 50 messages.
set enable_bitmapscan = off
as $$
declare
  page_limit integer := (page ->> 'limit')::integer;
  page_offset bigint := (page ->> 'offset')::bigint;
  before_id bigint := coalesce((page ->> 'before_id')::bigint, 9223372036854775807);
  after_id bigint := coalesce((page ->> 'after_id')::bigint, 0);
  oldest_first boolean := page ->> 'after_id' is not null or page ->> 'order' = 'asc';
  pair record;
  listed private.message_view[];
begin
  -- Empty for non-participants, so the second query runs only before a refusal.
  select * into pair from private.participants_of(array[conversation]);
  if not found then
    perform private.require_participant(conversation);
  end if;
  -- One row more than the page, to know whether another page follows. One query for both orders was a tenth dearer.
  if oldest_first then
    listed := array(
      select private.to_message_view(entry, case user_id when pair.voyager_id then pair.voyager else pair.local end)
      from (
        select *
        from public.messages
        where conversation_id = conversation and id > after_id
        order by id
        limit page_limit + 1
        offset page_offset
      ) as entry
    );
  else
    listed := array(
      select private.to_message_view(entry, case user_id when pair.voyager_id then pair.voyager else pair.local end)
      from (
        select *
        from public.messages
        where conversation_id = conversation and id < before_id
        order by id desc
        limit page_limit + 1
        offset page_offset
      ) as entry
    );
  end if;
  if (page ->> 'states')::boolean then
    return private.to_page(private.with_states(listed), page_limit, next => listed[page_limit].id);
  end if;
  return private.to_page(listed, page_limit, next => listed[page_limit].id);
end
$$;
comment on function api.list_messages(bigint, jsonb) is
  'A page {limit, offset, before_id, after_id, order, states} of a conversation: newest first; oldest first with
after_id or order asc. Definer, because the policy on messages gathers the whole inbox, 100 µs for one of 246, where a
page takes 300.';

create function private.hash_message(message public.messages)
returns bytea
language sql immutable security invoker set search_path = ''
as $$
  select private.hash_request(jsonb_build_object('content', message.content, 'attachment', message.attachment))
$$;
comment on function private.hash_message(public.messages) is 'What tells a repeat from another message with its key.';

create function api.send_message(conversation bigint, draft jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
  partner bigint;
  my_name text;
  draft_client_id uuid := (draft ->> 'client_id')::uuid;
  draft_attachment jsonb := nullif(draft -> 'attachment', 'null');
  first_contact_limit integer := (draft ->> 'first_contact_limit')::integer;
  sent public.messages;
begin
  -- The lock makes ids follow commit order within the conversation and serializes sends with the same client_id.
  select voyager_id + local_id - me into partner
  from public.conversations
  where id = conversation and me in (voyager_id, local_id)
  for no key update;
  if not found then
    raise sqlstate 'PT404' using message = 'Conversation not found';
  end if;
  select name into my_name from public.users where id = me and is_active;
  if not found then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;
  insert into public.messages (conversation_id, user_id, content, attachment, client_id)
  select conversation, me, draft ->> 'content', draft_attachment, draft_client_id
  where not private.is_blocked_between(me, partner)
    and exists (select from public.users where id = partner and erased_at is null)
    and private.first_contact_left(conversation, partner, first_contact_limit, is_locked => true) is distinct from 0
  on conflict (user_id, client_id) do nothing
  returning * into sent;
  if sent.id is null then
    select * into sent from public.messages where user_id = me and client_id = draft_client_id;
    if sent.id is null then
      perform private.require_first_contact(conversation, partner, first_contact_limit);
      perform private.forbid_writing(partner);
    end if;
    -- private.record_own_change has kept the hash of what has changed since.
    if sent.conversation_id <> conversation
      or private.hash_message(jsonb_populate_record(null::public.messages, draft)) <> coalesce(
        (
          select request_hash
          from private.stored_replies
          where user_id = me and noun = 'message' and client_id = draft_client_id
        ),
        private.hash_message(sent)
      ) then
      raise sqlstate 'PT422' using message = 'This idempotency key was used for another message';
    end if;
    perform private.set_response_metadata('{"replayed": true}');
    sent.read := sent.deleted_at is not null;
  end if;
  return to_json(private.to_message_view(sent, json_build_object('id', me, 'name', my_name)));
end
$$;
comment on function api.send_message(bigint, jsonb) is
  'Sends {content, attachment, client_id, first_contact_limit} as the caller. A client_id that was used before returns
that message again, unread or as it was changed since. Raises 403 across a block or if the partner is erased, without
saying which, or at the limit of first contact. Definer, because no caller has a grant to insert messages.';

create function api.mark_read(conversation bigint, message bigint, and_before boolean)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
begin
  perform private.require_participant(conversation);
  if not exists (select from public.messages where id = message and conversation_id = conversation) then
    raise sqlstate 'PT404' using message = 'Message not found';
  end if;
  update public.messages
  set read = true
  where conversation_id = conversation and (id = message or and_before and id < message) and user_id <> me and not read;
  if found then
    delete from private.silences where user_id = me;
  end if;
  return json_build_object('success', true);
end
$$;
comment on function api.mark_read(bigint, bigint, boolean) is
  'Marks a message that the caller has received as read; with and_before, all received before it as well. Definer,
because no caller has a grant to update messages.';

create function api.count_unread()
returns json
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
    select json_build_object(
      'total', coalesce(sum(unread), 0),
      'conversations', coalesce(
        json_agg(json_build_object('conversation_id', conversation_id, 'unread', unread) order by conversation_id),
        '[]'
      )
    )
    from private.inbox_entries
    where user_id = private.my_id() and unread > 0
  );
end
$$;
comment on function api.count_unread() is
  'Unread messages, in all and by conversation. Definer, because callers cannot read the inbox.';
