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

create function private.handle_conversation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  conversation constant public.conversations := coalesce(new, old);
begin
  insert into private.changes (user_id, other_id, kind, conversation_id, entity_id)
  values (conversation.voyager_id, conversation.local_id, 'conversation', conversation.id, conversation.id);
  if tg_op = 'INSERT' then
    insert into private.inbox_entries (conversation_id, user_id, active_at)
    values (new.id, new.voyager_id, new.created_at), (new.id, new.local_id, new.created_at);
    perform private.notify(event => 'conversation.created', conversation => new.id, subject => new.id);
    perform private.broadcast_to_users(
      event => 'conversation.created', conversation => new.id, id => new.id, previous_id => null,
      user_id => new.voyager_id, one => new.voyager_id, other => new.local_id
    );
  end if;
  return null;
end
$$;
comment on function private.handle_conversation() is
  'A conversation was opened, which puts it into both inboxes and tells both and the webhook, or an admin removed it.
Definer, because nobody has a grant on inbox and log.';

create trigger handle_conversation
  after insert or delete on public.conversations
  for each row execute function private.handle_conversation();
