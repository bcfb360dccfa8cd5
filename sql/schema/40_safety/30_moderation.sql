-- Moderation: the queue of open reports, and what admins do about them. Only the secret key and the owner can read and
-- call this, in the table editor and the SQL editor; every call is logged.
create table public.moderation_log (
  id bigint generated always as identity primary key,
  action text not null
    constraint "action is a step of moderation"
    check (action in ('read evidence', 'dismiss', 'warn', 'hide', 'suspend', 'lift hide', 'lift suspend', 'erase')),
  report_id bigint references public.reports (id) on delete restrict,
  user_id bigint not null references public.users (id) on delete restrict,
  by_whom text not null,
  note text
    constraint "the reason has 1 to 2,000 characters"
    check (char_length(note) <= 2000 and note ~ '[^[:space:][:cntrl:]]'),
  created_at timestamptz not null default clock_timestamp(),
  constraint "every decision has a reason" check (note is not null or action = 'read evidence')
);
comment on table public.moderation_log is 'What admins did: who, when and why. Append-only, also for its owner.';
create index moderation_log_report_id_idx on public.moderation_log (report_id);
create index moderation_log_user_id_idx on public.moderation_log (user_id);
alter table public.moderation_log enable row level security;

create trigger protect_moderation_log
  before update or delete or truncate on public.moderation_log
  for each statement execute function private.refuse_change('The moderation log is append-only');

create view public.moderation_queue with (security_invoker = true) as
select
  reports.id as report, person.name as person, reports.reason, reports.note,
  earlier.reports as earlier_reports, earlier.dismissed as earlier_dismissed, earlier.upheld as earlier_upheld,
  exists (select from public.profiles where profiles.user_id = person.id and profiles.is_hidden) as is_hidden,
  person.is_active, reporter.name as reporter, reports.created_at, reports.message_id, reports.shares_messages,
  person.id as person_id, reporter.id as reporter_id
from public.reports
join public.users as person on person.id = reports.user_id
join public.users as reporter on reporter.id = reports.reporter_id
cross join lateral (
  select
    count(*) as reports,
    count(*) filter (where others.resolution = 'dismiss') as dismissed,
    count(*) filter (where others.resolution <> 'dismiss') as upheld
  from public.reports as others where others.user_id = reports.user_id and others.id < reports.id
) as earlier
where reports.resolved_at is null
order by reports.id;
comment on view public.moderation_queue is
  'The open reports, oldest first, each with how many there were about the same person before, and how these ended.';

create function private.log_moderation(action text, report bigint, person bigint, note text)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  claims constant json := nullif(current_setting('request.jwt.claims', true), '')::json;
  -- The dashboard's SQL editor ends each statement with comments that say who ran it.
  editor constant text := substring(current_query() from '-- user: ([0-9a-f-]{36})\s+-- date: [^\n]*\s*$');
begin
  if note !~ '[^[:space:][:cntrl:]]' or char_length(note) > 2000 or note is null and action <> 'read evidence' then
    raise sqlstate 'PT400' using message = 'note: say why, in 1 to 2,000 characters';
  end if;
  insert into public.moderation_log (action, report_id, user_id, note, by_whom)
  values (
    action, report, person, note,
    concat_ws(' ', coalesce(claims ->> 'role', session_user), claims ->> 'sub', 'dashboard user ' || editor)
  );
end
$$;
comment on function private.log_moderation(text, bigint, bigint, text) is 'Appends to the log; 400 without a reason.';

create function private.lock_person(person bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- In the order of an erasure, which goes on to the reports as well.
  perform from public.profiles where user_id = person for no key update;
  perform from public.users where id = person for no key update;
  if not found then
    raise sqlstate 'PT404' using message = 'User not found';
  end if;
end
$$;
comment on function private.lock_person(bigint) is
  'Locks a person, so that a change of theirs happens before or after what an admin does; 404 for nobody.';

create function private.set_restriction(person bigint, restriction text, is_on boolean)
returns boolean
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  if restriction is null or restriction not in ('hide', 'suspend') then
    raise sqlstate 'PT400' using message = 'restriction: must be hide or suspend';
  end if;
  perform private.lock_person(person);
  if restriction = 'suspend' then
    update public.users
    set is_active = not is_on
    where id = person and is_active = is_on and confirmed_at is not null and erased_at is null;
  else
    update public.profiles
    set is_hidden = is_on, is_searchable = is_searchable and not is_on
    where user_id = person and is_hidden <> is_on;
  end if;
  return found;
end
$$;
comment on function private.set_restriction(bigint, text, boolean) is
  'Hides or suspends a person, or ends that; false if that was done before.';

create function public.resolve_report(report bigint, action text, note text)
returns public.reports
language plpgsql volatile security definer set search_path = ''
as $$
declare
  person constant bigint := (select user_id from public.reports where id = report);
  resolved public.reports;
begin
  if person is null then
    raise sqlstate 'PT404' using message = 'Report not found';
  elsif action is null or action not in ('dismiss', 'warn', 'hide', 'suspend') then
    raise sqlstate 'PT400' using message = 'action: must be dismiss, warn, hide or suspend';
  end if;
  perform private.lock_person(person);
  select * into resolved from public.reports where id = report for update;
  if resolved.resolved_at is not null then
    raise sqlstate 'PT409' using message = format(
      'This report was resolved before: %s, at %s', resolved.resolution, private.iso(resolved.resolved_at)
    );
  end if;
  perform private.log_moderation(action => action, report => report, person => person, note => note);
  update public.reports
  set resolution = action, resolved_at = clock_timestamp(), is_told = action = 'warn'
  where id = report
  returning * into resolved;
  if action in ('hide', 'suspend') then
    perform private.set_restriction(person, action, true);
  end if;
  return resolved;
end
$$;
comment on function public.resolve_report(bigint, text, text) is
  'Resolves an open report: dismiss, warn (the person reads it), hide (the profile is not searchable until
public.lift_restriction()) or suspend (the account is deactivated). Raises 409 if it was resolved before. Definer,
because the secret key has no grant to write reports: every decision is logged.';

create function private.warnings_of(person bigint)
returns jsonb
language sql stable security invoker set search_path = ''
as $$
  select to_jsonb(array(
    select jsonb_build_object('reason', reason, 'createdAt', private.iso(resolved_at))
    from public.reports
    where user_id = person and is_told
    order by resolved_at desc
  ))
$$;
comment on function private.warnings_of(bigint) is
  'What moderators have warned a person of, the latest first: all that the person learns of a report.';

create function public.read_evidence(report bigint)
returns table (
  message_id bigint, sent_at timestamptz, sender_id bigint, is_by_reported boolean, content text, attachment jsonb
)
language plpgsql volatile security definer set search_path = ''
as $$
declare
  about constant public.reports := (select reports from public.reports where id = report);
begin
  if about.id is null then
    raise sqlstate 'PT404' using message = 'Report not found';
  end if;
  perform private.log_moderation(action => 'read evidence', report => report, person => about.user_id, note => null);
  return query
    select
      evidence.message_id, evidence.sent_at,
      case when evidence.is_by_reported then about.user_id else about.reporter_id end,
      evidence.is_by_reported, evidence.content, evidence.attachment
    from private.report_evidence as evidence
    where evidence.report_id = about.id
    order by evidence.message_id;
end
$$;
comment on function public.read_evidence(bigint) is
  'The messages that were copied for a report. Definer, because nobody has a grant on them: every look is logged.';
