-- The log of changes: what GET /conversations/changes reads. A row is written by the transaction that makes the change,
-- so it commits or rolls back with it; unlike an event of Realtime it is never lost.
-- It costs a send 6 of 87 pages and 3 to 4 % of its processor time. Rejected: a row for each participant; an index on
-- created_at, which even as a BRIN costs three pages more; a counter for each user, for which writers wait.
create type private.change_kind as enum (
  'conversation', 'message', 'read', 'reservation', 'state', 'message.removed', 'message.changed'
);

create table private.changes (
  user_id bigint not null,
  -- The transaction that wrote the row. Ids are drawn before the commit, so they do not tell what a reader has seen.
  xid xid8 not null default pg_current_xact_id(),
  id bigint generated always as identity,
  -- Null if only one of the two may learn of it, as of a state.
  other_id bigint,
  conversation_id bigint not null,
  entity_id bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  kind private.change_kind not null,
  primary key (user_id, xid, id)
);
comment on table private.changes is
  'One row for each change that a participant of a conversation can see, kept for 31 days. Holds ids only. Without
foreign keys, because what was removed is named here too, and because keys cost a send six pages (20_messages.sql).';
create index changes_other_id_idx on private.changes (other_id, xid, id) where other_id is not null;
alter table private.changes enable row level security;

create view private.changes_by_reader with (security_invoker = true) as
select user_id as reader_id, changes.* from private.changes
union all
select other_id as reader_id, changes.* from private.changes;
comment on view private.changes_by_reader is
  'Each change once for whoever may learn of it. Postgres merges the two indexes, as neither part has a condition.';

create materialized view private.changes_origin as
select gen_random_uuid() as epoch, coalesce(max(id), 0) as last_id from private.changes;
comment on materialized view private.changes_origin is
  'Which log this is, and the last of its rows that another database wrote. pg_restore refreshes it after it has loaded
the rows, so a restored database has another epoch, in which the transaction ids of older rows mean nothing.';

create function private.record_change(
  kind private.change_kind, conversation bigint, entity bigint, actor bigint default null, event text default null
)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  one bigint;
  other bigint;
begin
  select voyager_id, local_id into one, other from public.conversations where id = conversation;
  if not found then
    return;
  elsif kind = 'state' or actor is not null and private.is_blocked_between(one, other) then
    one := actor;
    other := null;
  end if;
  insert into private.changes (user_id, other_id, kind, conversation_id, entity_id)
  values (one, other, record_change.kind, conversation, entity);
  if event is not null then
    perform private.broadcast_to_users(
      event => event, conversation => conversation, id => entity, user_id => actor, one => one, other => other,
      previous_id => (
        select max(id) from public.messages
        where record_change.kind in ('read', 'message.changed') and conversation_id = conversation and id < entity
      )
    );
  end if;
end
$$;
comment on function private.record_change(private.change_kind, bigint, bigint, bigint, text) is
  'Logs a change for both participants, and broadcasts it if it has an event; a state, and across a block what one of
them does (actor), for that one alone. Nothing if the conversation is gone, of which they are told by itself.';

create function private.record_conversation()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  insert into private.changes (user_id, other_id, kind, conversation_id, entity_id)
  select concerned.voyager_id, concerned.local_id, 'conversation', concerned.id, concerned.id
  from (select old.voyager_id, old.local_id, old.id union select new.voyager_id, new.local_id, new.id)
    as concerned (voyager_id, local_id, id)
  where concerned.id is not null;
  if tg_op = 'INSERT' then
    perform private.notify(event => 'conversation.created', conversation => new.id, subject => new.id);
    perform private.broadcast_to_users(
      event => 'conversation.created', conversation => new.id, id => new.id, previous_id => null,
      user_id => new.voyager_id, one => new.voyager_id, other => new.local_id
    );
  end if;
  return null;
end
$$;
comment on function private.record_conversation() is
  'A conversation was opened, or an admin changed or removed it, which whoever took part learns. Definer, for the log.';

create trigger record_conversation
  after insert or update or delete on public.conversations
  for each row execute function private.record_conversation();

create function private.record_person()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform private.record_change('conversation', id, id, actor => new.id)
  from public.conversations where new.id in (voyager_id, local_id);
  return null;
end
$$;
comment on function private.record_person() is
  'The name or the address that the partners'' lists show has changed. Definer, as record_conversation.';

create trigger record_person
  after update of name, email on public.users
  for each row
  when ((old.name, old.email) is distinct from (new.name, new.email))
  execute function private.record_person();

create function private.record_block()
returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
  block constant private.blocks := coalesce(new, old);
  conversation constant bigint := (
    select id
    from public.conversations
    where least(voyager_id, local_id) = least(block.blocker_id, block.blocked_id)
      and greatest(voyager_id, local_id) = greatest(block.blocker_id, block.blocked_id)
  );
begin
  perform private.record_change('state', conversation, conversation, actor => block.blocker_id);
  perform private.broadcast_to_users(
    event => 'block.changed', conversation => conversation, id => null, previous_id => null,
    user_id => block.blocked_id, one => block.blocker_id, other => null
  );
  return null;
end
$$;
comment on function private.record_block() is
  'A block changes what its owner alone sees of the conversation, and ends typing. Definer, as record_conversation.';

create trigger record_block
  after insert or delete on private.blocks
  for each row execute function private.record_block();
