-- The inbox: a row for each participant of each conversation. A page reads it by an index in its order, so it costs the
-- same in an inbox of 40 as in one of 10,000; docs/scale.md has what was rejected. A domain, as the text of a
-- check would be parsed again at each statement: 2 % of a send.
create domain private.unread_count as integer
  constraint "the unread count is not negative" check (value >= 0);

create table private.inbox_entries (
  conversation_id bigint not null references public.conversations (id) on delete cascade,
  user_id bigint not null references public.users (id) on delete restrict,
  last_message_id bigint not null default 0,
  previous_message_id bigint not null default 0,
  active_at timestamptz not null,
  unread private.unread_count not null default 0,
  has_written boolean not null default false,
  archived_id bigint,
  is_archived boolean not null generated always as (coalesce(archived_id >= last_message_id, false)) stored,
  is_pinned boolean not null default false,
  muted_until timestamptz,
  primary key (conversation_id, user_id)
);
comment on table private.inbox_entries is
  'A conversation in the inbox of one participant: its order, the unread count, and what they have archived, muted and
pinned, of which the partner never learns. Triggers on conversations and messages keep the rest, whoever writes those.';
comment on column private.inbox_entries.previous_message_id is
  'What last_message_id was before the latest message was sent, for its event: before Postgres 18 an update cannot
return old values, and looking it up took 5 of the 79 pages of a send.';
comment on column private.inbox_entries.active_at is 'When the latest message was sent, else the conversation opened.';
comment on column private.inbox_entries.has_written is
  'Whether the user has ever sent a message here, also if an admin has deleted it since.';
comment on column private.inbox_entries.archived_id is
  'The latest message when the user archived it, else null. A newer one shows it again, without another write.';

create index inbox_entries_order_idx
  on private.inbox_entries (user_id, is_archived, active_at desc, conversation_id desc);
comment on index private.inbox_entries_order_idx is 'Archived ones apart: no page reads the others.';
create index inbox_entries_unread_idx on private.inbox_entries (user_id) where unread > 0;
create index inbox_entries_pinned_idx on private.inbox_entries (user_id) where is_pinned;
create index inbox_entries_arranged_idx on private.inbox_entries (user_id, conversation_id desc)
  where archived_id is not null or is_pinned or muted_until is not null;
alter table private.inbox_entries enable row level security;

create function private.refresh_entries(conversation bigint)
returns void
language plpgsql volatile security invoker
set search_path = ''
-- As in api.list_messages.
set enable_bitmapscan = off
as $$
begin
  -- A statement of its own: the next one then sees all messages of those whom it has waited for. In the order of the
  -- primary key, so that two such functions do not wait for each other.
  perform from private.inbox_entries where conversation_id = conversation order by user_id for no key update;
  update private.inbox_entries as entries
  set
    last_message_id = coalesce(latest.id, 0),
    active_at = coalesce(latest.created_at, conversations.created_at),
    unread = (
      select count(*) from public.messages
      where conversation_id = conversation and messages.user_id <> entries.user_id and not read
    ),
    has_written = has_written or exists (
      select from public.messages where conversation_id = conversation and messages.user_id = entries.user_id
    )
  from public.conversations
  left join lateral (
    select id, created_at
    from public.messages
    where messages.conversation_id = conversations.id
    order by id desc
    limit 1
  ) as latest on true
  where conversations.id = conversation and entries.conversation_id = conversation;
end
$$;
comment on function private.refresh_entries(bigint) is
  'Reads latest message and activity, and counts what is unread, after messages were read or an admin has changed them.
Unmarks nobody who has written.';

create function private.handle_conversation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  leaving bigint[];
begin
  if tg_op = 'UPDATE' then
    leaving := array_remove(array_remove(array[old.voyager_id, old.local_id], new.voyager_id), new.local_id);
    if exists (
      select from public.messages where conversation_id = new.id and user_id = any (leaving)
      union all
      select from public.reservations where conversation_id = new.id and array[host_id, offered_by] && leaving
    ) then
      raise check_violation using
        message = 'a message or reservation would be without its participant',
        constraint = 'whoever has written or agreed must stay a participant';
    end if;
    -- First, as it locks both rows in their order.
    update private.inbox_entries set archived_id = null where conversation_id = new.id and leaving <> '{}';
    delete from private.inbox_entries where conversation_id = new.id and user_id = any (leaving);
  end if;
  insert into private.inbox_entries (conversation_id, user_id, active_at)
  values (new.id, new.voyager_id, new.created_at), (new.id, new.local_id, new.created_at)
  on conflict do nothing;
  if tg_op = 'UPDATE' then
    perform private.refresh_entries(new.id);
  end if;
  return null;
end
$$;
comment on function private.handle_conversation() is
  'A conversation was opened, which puts it into both inboxes; or an admin changed its participants or its time. Refuses
to take away somebody whose message or reservation is in it. Definer, because nobody has a grant on inbox_entries.';

-- Before record_conversation, by its name: whoever is told finds it.
create trigger handle_conversation
  after insert or update of voyager_id, local_id, created_at on public.conversations
  for each row execute function private.handle_conversation();
