/**
 * Mutants of every guard of reports, moderation and first contact. Prints as JSON which ones the pgTAP files about
 * these did not detect. An argument n tries one in n.
 */
import { files, openTestDatabase, read } from './database.ts'
import { type Change, tryMutants } from './guard_mutants.ts'

const changes: Record<string, Change[]> = {
  'api.report_person': [
    ['reply is not null', 'false'],
    ['and me in (voyager_id, local_id)', ''],
    ['subject = me', 'false'],
    ['and message_id is not distinct from message and', 'and'],
    ['and resolved_at is null', ''],
    ['message is null and person.is_active is not true', 'false'],
    ['message is null and person.is_active is not true', 'person.is_active is not true'],
    ["case when person.erased_at is not null then private.present() + interval '180 days' end", 'null'],
    ['perform private.copy_evidence(report);\n  elsif', 'null;\n  elsif'],
    ['shares and not report.shares_messages', 'false'],
    ['shares and not report.shares_messages', 'shares'],
    ["(draft ->> 'block')::boolean and person.erased_at is null", 'false'],
    ["(draft ->> 'block')::boolean and person.erased_at is null", 'person.erased_at is null'],
    ["(draft ->> 'block')::boolean and person.erased_at is null", "(draft ->> 'block')::boolean"],
    ['client_id => draft_client_id', 'client_id => null'],
    ["'existing', not is_new", "'existing', false"],
  ],
  'private.hash_request': [['jsonb_strip_nulls(request)', 'request']],
  'private.add_block': [['>= 1000', '>= 100000']],
  'private.copy_evidence': [
    ['select report.message_id', 'select null::bigint'],
    ['report.shares_messages', 'true'],
    ['and least(voyager_id, local_id) = least(report.reporter_id, report.user_id)', ''],
    ['and greatest(voyager_id, local_id) = greatest(report.reporter_id, report.user_id)', ''],
    ['order by messages.id desc', 'order by messages.id'],
    ['limit 20', 'limit 21'],
    ['limit 20', 'limit 19'],
    ['messages.user_id = report.user_id', 'true'],
  ],
  'api.list_my_reports': [
    ['reporter_id = (select private.my_id())', 'true'],
    ['and id < before_id', ''],
    ['id < before_id', 'id <= before_id'],
    ['cardinality(listed) > page_limit', 'true'],
    ["'open' else 'resolved'", "'open' else resolution"],
  ],
  'private.my_reports_after': [
    ['reports.reporter_id = me', 'true'],
    ['reports.reporter_id = me', 'me in (reports.reporter_id, reports.user_id)'],
    ['reports.id > after_id', 'reports.id >= after_id'],
  ],
  'api.export_me': [
    ["jsonb_build_object('place', jsonb_build_object('report', page.last_id))", "'{}'"],
    ['and at_report is null', ''],
  ],
  'private.schedule_purge': [
    ['least(purge_at, ', '('],
    ['180 days', '179 days'],
    ['reporter_id = person or user_id = person', 'user_id = person'],
    ['reporter_id = person or user_id = person', 'reporter_id = person'],
    ['where reporter_id = person or user_id = person', ''],
  ],
  'private.purge_evidence': [
    ['purge_at <= (select private.present())', 'true'],
    ['purge_at <= (select private.present())', 'false'],
    ['set note = null, purge_at = null', 'set purge_at = null'],
    ['set note = null, purge_at = null', 'set note = null'],
    ['where report_id = any (purged)', ''],
  ],
  'private.erase_person': [
    ['perform private.schedule_purge(person)', 'null'],
    ['delete from public.hidden_profiles where user_id = person', 'null'],
  ],
  'private.keep_profile_hidden': [['user_id = new.user_id', 'false'], ['where user_id = new.user_id', '']],
  'private.protect_moderation_log': [[
    "raise sqlstate '42501' using message = 'The moderation log is append-only'",
    'return old',
  ]],
  'private.dashboard_user': [["\\s*$'", "'"]],
  'private.current_admin': [["coalesce(claims ->> 'role', session_user)", 'session_user'], [
    "claims ->> 'sub'",
    'null',
  ]],
  'private.log_moderation': [
    ["log_moderation.note !~ '[^[:space:][:cntrl:]]'", 'false'],
    ["log_moderation.action <> 'read evidence'", 'false'],
    ['private.current_admin()', "'somebody'"],
  ],
  'public.resolve_report': [
    ['person is null', 'false'],
    ["action is null or action not in ('dismiss', 'warn', 'hide', 'suspend')", 'false'],
    ['resolved.resolved_at is not null', 'false'],
    ['perform private.log_moderation(', 'perform concat('],
    ["action in ('hide', 'suspend')", 'false'],
    ["set_config('api.resolved_report', report::text, true)", "set_config('api.resolved_report', '', true)"],
    ["set_config('api.resolved_report', '', true)", 'concat()'],
  ],
  'private.apply_restriction': [
    ["if restriction = 'hide' then", 'if false then'],
    ['where users.id = person and erased_at is null', 'where users.id = person'],
    ['update public.profiles set is_searchable = false where user_id = person and is_searchable', 'null'],
    ['where user_id = person and is_searchable', 'where is_searchable'],
    ['where id = person and is_active', 'where is_active'],
    ['where id = person and is_active', 'where id = person'],
  ],
  'private.log_report_edit': [
    ["old.id::text = current_setting('api.resolved_report', true)", 'true'],
    ["case key when 'note' then '' else", "case key when '' then '' else"],
    ['where before.value <> after.value', ''],
  ],
  'public.find_people': [
    ['users.id::text = wanted', 'false'],
    ["wanted !~ '^[0-9]+$' and", ''],
    ["private.fold(users.name || E'\\n' || users.email)", 'private.fold(users.name)'],
    ['restricted is not true', 'true'],
    ['or hidden.user_id is not null', ''],
    ['and users.confirmed_at is not null and users.erased_at is null', ''],
    ["resolution <> 'dismiss'", 'true'],
    ['where reports.user_id = users.id', ''],
  ],
  'private.lock_to_restrict': [
    ["restriction is null or restriction not in ('hide', 'suspend')", 'false'],
    ['not exists (select from public.users where id = person)', 'false'],
  ],
  'public.restrict_person': [
    [
      'not private.apply_restriction(person, restriction, null)',
      'private.apply_restriction(person, restriction, null) is null',
    ],
    ['perform private.log_moderation(', 'perform concat('],
  ],
  'public.erase_person': [
    ['not exists (select from public.users where id = person)', 'false'],
    ['not private.erase_person(person)', 'private.erase_person(person) is null'],
    ['perform private.log_moderation(', 'perform concat('],
  ],
  'public.read_evidence': [
    ['if not found then', 'if false then'],
    ['perform private.log_moderation(', 'perform concat('],
    ['where evidence.report_id = about.id', ''],
    ['order by evidence.message_id', 'order by evidence.message_id desc'],
  ],
  'public.lift_restriction': [
    ['if not found then', 'if false then'],
    ['delete from public.hidden_profiles where user_id = person', 'delete from public.hidden_profiles'],
    ['and erased_at is null', 'and false'],
    ['perform private.log_moderation(', 'perform concat('],
  ],
  'private.has_written': [
    ['voyager_id = person and', ''],
    ['local_id = person and', ''],
    ['conversation_id = conversation\n      and', ''],
  ],
  'private.may_write_first': [
    ['max_things is null', 'false'],
    ['or private.has_written(partner, conversation)', ''],
    ['count(*) < max_things', 'count(*) <= max_things'],
    ['by_id = partner and status in', 'status in'],
    ["by_id <> partner and (status = 'pending' or note is not null)", 'by_id <> partner and note is not null'],
    ['where conversation_id = conversation limit', 'limit'],
  ],
  'private.refusal_to_send': [['private.may_write_first(conversation, partner, max_things)', 'true']],
  'api.send_message': [['and private.may_write_first(conversation, partner, first_contact_limit)', '']],
  'private.participants_of': [
    ["coalesce(current_setting('api.partner_email', true), '') <> 'after_reply'", 'true'],
    ["coalesce(current_setting('api.partner_email', true), '') <> 'after_reply'", 'false'],
    ['private.shown_email(voyager.id, voyager.email, mine.id)', 'voyager.email'],
    ['private.shown_email(local.id, local.email, mine.id)', 'local.email'],
    ["when voyager.id = any (cut_off) then ''", ''],
    ["when local.id = any (cut_off) then ''", ''],
  ],
  'private.my_inbox': [
    ["coalesce(current_setting('api.partner_email', true), '') <> 'after_reply'", 'true'],
    ["coalesce(current_setting('api.partner_email', true), '') <> 'after_reply'", 'false'],
    ['private.shown_email(partner.id, partner.email, page.conversation_id)', 'partner.email'],
    ["when partner.id = any (cut_off) then ''", ''],
    ['partner.is_active and', ''],
    ['and partner.id <> all (cut_off)', ''],
  ],
  'private.publish_profile': [['if new.is_searchable then', 'if true then']],
  'private.shown_email': [
    ['person = private.my_id() or', ''],
    ['or private.has_written(person, conversation)', ''],
  ],
}

const drop = (table: string, name: string): [string, string] => [
  `without ${name}`,
  `alter table ${table} drop constraint "${name}"`,
]
const statements: [string, string][] = [
  drop('public.reports', 'reason is spam, harassment, scam, danger, impersonation or other'),
  drop('public.reports', 'note has at most 2,000 characters'),
  drop('public.reports', 'nobody reports themselves'),
  drop('public.moderation_log', 'action is a step of moderation'),
  drop('public.moderation_log', 'every decision has a reason'),
  drop('public.moderation_log', 'the reason has 1 to 2,000 characters'),
  ['several open reports', 'drop index public.reports_one_open_per_subject'],
  ...['protect_moderation_log', 'protect_moderation_log_from_truncate'].map(
    (name): [string, string] => [`without ${name}`, `drop trigger ${name} on public.moderation_log`],
  ),
  ...['edit', 'deletion'].map(
    (name): [string, string] => [`without log_report_${name}`, `drop trigger log_report_${name} on public.reports`],
  ),
  ['without keep_profile_hidden', 'drop trigger keep_profile_hidden on public.profiles'],
  [
    'keep_profile_hidden on update alone',
    `
    drop trigger keep_profile_hidden on public.profiles;
    create trigger keep_profile_hidden before update on public.profiles
      for each row when (new.is_searchable) execute function private.keep_profile_hidden()
  `,
  ],
  ...[
    ['where reports.resolved_at is null', 'where true'],
    ['others.id < reports.id', 'true'],
    ['others.user_id = reports.user_id', 'true'],
    ["others.resolution = 'dismiss'", 'true'],
    ["others.resolution <> 'dismiss'", 'true'],
    ['order by reports.id', 'order by reports.id desc'],
  ].map(([from, to]): [string, string] => {
    const [view] = /create view public\.moderation_queue[^;]+;/.exec(
      read('../../sql/schema/40_safety/30_moderation.sql'),
    )!
    if (!view.includes(from!)) throw new Error(`${from} is not in the view`)
    return [`moderation_queue: ${from} → ${to}`, view.replace('create', 'create or replace').replace(from!, to!)]
  }),
]

const database = await openTestDatabase()
const own = files.filter((file) => /^(reports|moderation)\/|\/(first_contact|partner|partner_email)\./.test(file))
await tryMutants(database, { changes, statements }, own, Number(Deno.args[0] ?? 1))
await database.close()
Deno.exit(0)
