-- The inbox: for each conversation one row with its latest message, and for each of the two participants the number of
-- unread messages and whether it is archived. A page of an inbox reads this table through an index in its order, so it
-- costs the same in an inbox of 40 as in one of 10,000. docs/scale.md has the designs that were rejected.
-- A domain instead of a check of the table, whose text Postgres would parse again at each statement: 2 % of a send.
create domain private.unread_count as integer
  constraint "the unread count is not negative" check (value >= 0);

create table private.conversation_activity (
  conversation_id bigint primary key references public.conversations (id) on delete cascade,
  voyager_id bigint not null references public.users (id) on delete restrict,
  local_id bigint not null references public.users (id) on delete restrict,
  last_message_id bigint not null default 0,
  previous_message_id bigint not null default 0,
  active_at timestamptz not null,
  voyager_unread private.unread_count not null default 0,
  local_unread private.unread_count not null default 0,
  voyager_has_written boolean not null default false,
  local_has_written boolean not null default false,
  voyager_archived_id bigint,
  local_archived_id bigint,
  voyager_archived boolean not null
    generated always as (coalesce(voyager_archived_id >= last_message_id, false)) stored,
  local_archived boolean not null
    generated always as (coalesce(local_archived_id >= last_message_id, false)) stored
);
comment on table private.conversation_activity is
  'What the list of conversations is ordered by and the unread counts are read from. Triggers on conversations and
messages keep it, whoever writes those. Only set_conversation_state and the erasing write it as well: what one
participant has archived.';
comment on column private.conversation_activity.last_message_id is 'The message with the highest id; 0 without one.';
comment on column private.conversation_activity.previous_message_id is
  'What last_message_id was before the latest message was sent, for its event: before Postgres 18 an update cannot
return old values, and looking it up took 5 of the 79 pages of a send.';
comment on column private.conversation_activity.active_at is
  'When the latest message was sent; when the conversation was opened, without one.';
comment on column private.conversation_activity.voyager_has_written is
  'Whether the voyager has ever sent a message here, also if an admin has deleted it since (60_first_contact.sql).';
comment on column private.conversation_activity.local_has_written is 'As voyager_has_written, for the local.';
comment on column private.conversation_activity.voyager_archived_id is
  'The latest message when the voyager archived the conversation; null if they did not. A newer message shows it again,
and nothing has to be written for that but last_message_id.';
comment on column private.conversation_activity.local_archived_id is 'As voyager_archived_id, for the local.';

create index conversation_activity_voyager_idx
  on private.conversation_activity (voyager_id, voyager_archived, active_at desc, conversation_id desc);
comment on index private.conversation_activity_voyager_idx is
  'The inbox in its order. What is archived is apart from the rest, so that neither is read for a page of the other.';
create index conversation_activity_local_idx
  on private.conversation_activity (local_id, local_archived, active_at desc, conversation_id desc);
comment on index private.conversation_activity_local_idx is 'As conversation_activity_voyager_idx.';
create index conversation_activity_voyager_unread_idx on private.conversation_activity (voyager_id)
  where voyager_unread > 0;
comment on index private.conversation_activity_voyager_unread_idx is
  'Conversations with unread messages; small, because most have none.';
create index conversation_activity_local_unread_idx on private.conversation_activity (local_id) where local_unread > 0;
comment on index private.conversation_activity_local_unread_idx is 'As conversation_activity_voyager_unread_idx.';
alter table private.conversation_activity enable row level security;

create view private.inbox_entries with (security_invoker = true) as
select
  voyager_id as user_id, conversation_id, voyager_id, local_id, last_message_id, active_at, voyager_unread as unread,
  voyager_archived as is_archived, voyager_archived_id as archived_id
from private.conversation_activity
union all
select
  local_id, conversation_id, voyager_id, local_id, last_message_id, active_at, local_unread, local_archived,
  local_archived_id
from private.conversation_activity;
comment on view private.inbox_entries is
  'conversation_activity as each of the two participants sees it: two rows for each conversation.';

create function private.handle_new_conversation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  insert into private.conversation_activity (conversation_id, voyager_id, local_id, active_at)
  values (new.id, new.voyager_id, new.local_id, new.created_at);
  return null;
end
$$;
comment on function private.handle_new_conversation() is
  'Puts a new conversation into both inboxes. Definer, because nobody has a grant on conversation_activity.';

create trigger handle_new_conversation
  after insert on public.conversations
  for each row
  execute function private.handle_new_conversation();

create function private.has_message_of(person bigint, conversation bigint)
returns boolean
language plpgsql stable security invoker
set search_path = ''
-- As in api.list_messages.
set enable_bitmapscan = off
as $$
begin
  return exists (select from public.messages where conversation_id = conversation and user_id = person);
end
$$;
comment on function private.has_message_of(bigint, bigint) is
  'Whether a conversation has a message of this person now. Only for definer functions.';

create function private.refresh_activity(conversation bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- A statement of its own: the next one then sees all messages of those whom it has waited for.
  perform from private.conversation_activity where conversation_id = conversation for no key update;
  update private.conversation_activity as activity
  set
    voyager_id = conversations.voyager_id,
    local_id = conversations.local_id,
    last_message_id = coalesce(latest.id, 0),
    active_at = coalesce(latest.created_at, conversations.created_at),
    voyager_has_written = voyager_has_written or private.has_message_of(conversations.voyager_id, conversation),
    local_has_written = local_has_written or private.has_message_of(conversations.local_id, conversation)
  from public.conversations
  left join lateral (
    select id, created_at
    from public.messages
    where messages.conversation_id = conversations.id
    order by id desc
    limit 1
  ) as latest on true
  where conversations.id = conversation and activity.conversation_id = conversation;
end
$$;
comment on function private.refresh_activity(bigint) is
  'Reads participants, latest message and time of activity again after an admin has changed or removed them. Marks
who has written, and unmarks nobody.';

create function private.handle_changed_conversation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.refresh_activity(new.id);
  if (new.voyager_id, new.local_id) <> (old.voyager_id, old.local_id) then
    if exists (
      select from public.messages where conversation_id = new.id and user_id not in (new.voyager_id, new.local_id)
      union all
      select
      from public.reservations
      where conversation_id = new.id
        and (host_id not in (new.voyager_id, new.local_id) or offered_by not in (new.voyager_id, new.local_id))
    ) then
      raise check_violation using
        message = 'a message or reservation would be without its participant',
        constraint = 'whoever has written or agreed must stay a participant';
    end if;
    update private.conversation_activity
    set
      voyager_unread = unread.by_voyager,
      local_unread = unread.by_local,
      voyager_archived_id = null,
      local_archived_id = null,
      voyager_has_written = private.has_message_of(new.voyager_id, new.id),
      local_has_written = private.has_message_of(new.local_id, new.id)
    from (
      select
        count(*) filter (where user_id <> new.voyager_id) as by_voyager,
        count(*) filter (where user_id <> new.local_id) as by_local
      from public.messages
      where conversation_id = new.id and not read
    ) as unread
    where conversation_activity.conversation_id = new.id;
  end if;
  return null;
end
$$;
comment on function private.handle_changed_conversation() is
  'An admin changed the participants or the time of a conversation. Refuses to take away somebody whose message or
reservation is in it: others would read it as somebody else''s. Definer, as handle_new_conversation.';

create trigger handle_changed_conversation
  after update of voyager_id, local_id, created_at on public.conversations
  for each row
  execute function private.handle_changed_conversation();
