-- Reports: what people tell the operator about others, with the messages that they share as evidence. The reported
-- person learns of a warning alone. What people wrote in a report is kept while both have an account, and for 180 days
-- after one of them was erased. What admins do with it is in 30_moderation.sql and 50_restrictions.sql.
create table public.reports (
  id bigint generated always as identity primary key,
  reporter_id bigint not null references public.users (id) on delete restrict,
  user_id bigint not null references public.users (id) on delete restrict,
  message_id bigint,
  reason text not null
    constraint "reason is spam, harassment, scam, danger, impersonation or other"
    check (reason in ('spam', 'harassment', 'scam', 'danger', 'impersonation', 'other')),
  note text
    constraint "note has at most 2,000 characters" check (char_length(note) <= 2000),
  shares_messages boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  resolution text
    constraint "resolution is dismiss, warn, hide or suspend"
    check (resolution in ('dismiss', 'warn', 'hide', 'suspend')),
  resolved_at timestamptz,
  purge_at timestamptz,
  constraint "nobody reports themselves" check (reporter_id <> user_id),
  constraint "a resolved report says when and how" check ((resolved_at is null) = (resolution is null)),
  is_told boolean not null default false
);
comment on table public.reports is
  'What people have reported. Written only by functions of reporters and moderators; erasing a user keeps the row.';
comment on column public.reports.user_id is 'The reported person; of a message, its sender.';
comment on column public.reports.message_id is
  'The reported message; null: the person. No foreign key, because the report outlives the message.';
comment on column public.reports.is_told is
  'Whether the reported person reads that they were warned. In 1.0 and 1.1 a warning promised that they do not.';
comment on column public.reports.purge_at is
  'When the job "purge evidence" deletes note and evidence. Null: both have an account, or it is done.';

create unique index reports_one_open_per_subject on public.reports (reporter_id, user_id, coalesce(message_id, 0))
  where resolved_at is null;
create index reports_reporter_id_id_idx on public.reports (reporter_id, id);
create index reports_user_id_id_idx on public.reports (user_id, id);

alter table public.reports enable row level security;

create table private.report_evidence (
  report_id bigint not null references public.reports (id) on delete cascade,
  message_id bigint not null,
  is_by_reported boolean not null,
  content text not null,
  attachment jsonb,
  sent_at timestamptz not null,
  primary key (report_id, message_id)
);
comment on table private.report_evidence is
  'Copies of messages as they were when they were reported; public.read_evidence() shows them, and is logged.';
create index report_evidence_url_idx on private.report_evidence ((attachment ->> 'url')) where attachment is not null;
alter table private.report_evidence enable row level security;

create function private.copy_evidence(report public.reports)
returns void
language sql volatile security invoker set search_path = ''
as $$
  insert into private.report_evidence (report_id, message_id, is_by_reported, content, attachment, sent_at)
  select report.id, messages.id, messages.user_id = report.user_id, content, attachment, messages.created_at
  -- A union instead of `or`, and a list of ids instead of a join, which would read all messages: 86 ms a report with a
  -- million of them.
  from public.messages
  where id = any (array(
    select report.message_id
    union
    select latest.id
    from public.conversations
    cross join lateral (
      select id from public.messages where conversation_id = conversations.id order by id desc limit 20
    ) as latest
    where report.shares_messages
      and least(voyager_id, local_id) = least(report.reporter_id, report.user_id)
      and greatest(voyager_id, local_id) = greatest(report.reporter_id, report.user_id)
  ))
  on conflict do nothing
$$;
comment on function private.copy_evidence(public.reports) is
  'Copies the reported message and, if the reporter shares them, the latest 20 messages of the two.';

create function api.report_person(draft jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me constant bigint := private.my_id();
  draft_client_id constant uuid := (draft ->> 'client_id')::uuid;
  reply constant json := private.find_reply('report', draft_client_id, draft);
  shares constant boolean := coalesce((draft ->> 'share_messages')::boolean, false);
  message constant bigint := (draft ->> 'message_id')::bigint;
  subject bigint := (draft ->> 'user_id')::bigint;
  person public.users;
  report public.reports;
  is_new boolean;
begin
  if reply is not null then
    return reply;
  end if;
  if message is not null then
    select user_id into subject
    from public.messages
    where id = message and conversation_id in (select private.my_conversations());
    if not found then
      raise sqlstate 'PT404' using message = 'Message not found';
    end if;
  end if;
  if subject = me then
    raise sqlstate 'PT400' using
      message = case when message is null then 'user_id' else 'message_id' end || ': you cannot report yourself';
  end if;
  -- A concurrent erasure waits, or has happened by now, and so does another report or block by the caller. Whoever
  -- takes a message back meanwhile waits, too, and then finds its file in the evidence (80_storage).
  perform private.lock_me(beside => subject);
  select * into person from public.users where id = subject;
  select * into report
  from public.reports
  where reporter_id = me and user_id = subject and message_id is not distinct from message and resolved_at is null;
  is_new := not found;
  if is_new then
    -- Who has sent a message can be reported for it after being deactivated or erased.
    if message is null and person.is_active is not true then
      raise sqlstate 'PT404' using message = 'User not found';
    end if;
    insert into public.reports (reporter_id, user_id, message_id, reason, note, shares_messages, purge_at)
    values (
      me, subject, message, draft ->> 'reason', draft ->> 'note', shares,
      case when person.erased_at is not null then private.present() + interval '180 days' end
    )
    returning * into report;
    perform private.copy_evidence(report);
    perform private.notify(event => 'report.created', conversation => null, subject => report.id);
  elsif shares and not report.shares_messages then
    -- The consent came with a repeat.
    update public.reports set shares_messages = true where id = report.id returning * into report;
    perform private.copy_evidence(report);
  end if;
  if (draft ->> 'block')::boolean and person.erased_at is null then
    perform private.add_block(me, subject, 'block');
  end if;
  return private.store_reply(
    noun => 'report', client_id => draft_client_id, request => draft,
    body => json_build_object(
      'id', report.id, 'status', 'open', 'reason', report.reason, 'createdAt', private.iso(report.created_at)
    ),
    metadata => jsonb_build_object('existing', not is_new)
  );
end
$$;
comment on function api.report_person(jsonb) is
  'Reports {user_id or message_id, reason, note, share_messages, block, client_id}; evidence and block in the same
transaction. While a report about the same subject is open it is returned instead, with existing in the response
metadata; what the repeat shares or blocks is still done. Definer, because no caller has a grant on reports.';

create function api.list_my_reports(page jsonb)
returns json
language plpgsql stable security definer set search_path = ''
as $$
declare
  page_limit constant integer := (page ->> 'limit')::integer;
  listed json[];
begin
  -- One more than the page, as in list_messages.
  listed := array(
    select json_build_object(
      'id', id, 'status', case when resolved_at is null then 'open' else 'resolved' end, 'reason', reason,
      'createdAt', private.iso(created_at), 'resolvedAt', private.iso(resolved_at)
    )
    from public.reports
    where reporter_id = (select private.my_id()) and id < coalesce((page ->> 'before_id')::bigint, 9223372036854775807)
    order by id desc limit page_limit + 1
  );
  return private.to_page(listed, page_limit, next => (listed[page_limit] ->> 'id')::bigint);
end
$$;
comment on function api.list_my_reports(jsonb) is
  'A page {limit, before_id} of the caller''s reports, newest first, not how they ended. Definer, as report_person.';
