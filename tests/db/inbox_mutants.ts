/**
 * Mutants of every guard of the inbox and of conversation states. Prints as JSON which ones the pgTAP files about these
 * did not detect.
 */
import { openTestDatabase } from './database.ts'
import { type Change, tryMutants } from './guard_mutants.ts'

const changes: Record<string, Change[]> = {
  'api.set_conversation_state': [
    ['mute_until <= now()', 'false'],
    ['perform private.require_participant(conversation)', 'null'],
    ['archive <> before.archived', 'false'],
    ['when voyager_id <> me then voyager_archived_id when', 'when'],
    ['when local_id <> me then local_archived_id when', 'when'],
    ['voyager_archived_id when archive then last_message_id end', 'voyager_archived_id else last_message_id end'],
    ['local_archived_id when archive then last_message_id end', 'local_archived_id else last_message_id end'],
    ['where conversation_id = conversation;', ';'],
    ['pin <> before.pinned\n    or ', ''],
    ["changes ? 'muted_until' and private.iso(mute_until) is distinct from before.muted_until", 'false'],
    ['is_pinned = coalesce(pin, known.is_pinned)', 'is_pinned = coalesce(pin, false)'],
    ['is_pinned = coalesce(pin, known.is_pinned)', 'is_pinned = known.is_pinned'],
    ["case when changes ? 'muted_until' then mute_until else known.muted_until end", 'mute_until'],
    ["case when changes ? 'muted_until' then mute_until else known.muted_until end", 'known.muted_until'],
    ['> 20', '> 21'],
    ['> 20', '> 19'],
    ['where user_id = me and is_pinned', 'where is_pinned'],
    ['where user_id = me and is_pinned', 'where user_id = me'],
    ['after is distinct from before', 'true'],
    ['after is distinct from before', 'false'],
    ['user_id => me, one => me, other => null', 'user_id => me, one => me, other => me + 1'],
  ],
  'private.state_of': [
    ['entries.is_archived', 'false'],
    ['case when states.muted_until > now() then states.muted_until end', 'states.muted_until'],
    ['entries.user_id = person and', ''],
    ['and entries.conversation_id = conversation', ''],
    ['states.user_id = person and', ''],
    ['and states.conversation_id = conversation', ''],
  ],
  'private.follows': [
    ['entries.user_id = person\n      and', ''],
    ['and entries.conversation_id = conversation', ''],
    ['coalesce(entries.archived_id < message, not entries.is_archived)', 'true'],
    ['coalesce(entries.archived_id < message, not entries.is_archived)', 'not entries.is_archived'],
    ['entries.archived_id < message', 'entries.archived_id <= message'],
    ['not entries.is_archived)', 'true)'],
    ['states.user_id = person and', ''],
    ['and states.conversation_id = conversation', ''],
    ['and states.muted_until > now()', ''],
    ['states.muted_until > now()', 'false'],
  ],
  'private.my_states': [
    ['where user_id = me and is_archived', 'where is_archived'],
    ['where user_id = me and is_archived', 'where user_id = me'],
    ['where user_id = me and (is_pinned or muted_until > now())', 'where (is_pinned or muted_until > now())'],
    ['is_pinned or muted_until > now()', 'is_pinned'],
    ['is_pinned or muted_until > now()', 'muted_until > now()'],
    ['is_pinned or muted_until > now()', 'is_pinned or muted_until is not null'],
    ['where arranged.conversation_id < before_id', ''],
    ['arranged.conversation_id < before_id', 'arranged.conversation_id <= before_id'],
    ['order by arranged.conversation_id desc', 'order by arranged.conversation_id'],
  ],
  'api.list_conversation_states': [
    ['cardinality(listed) > page_limit', 'true'],
    ['cardinality(listed) > page_limit', 'false'],
    ['max_rows => page_limit + 1', 'max_rows => page_limit'],
  ],
  'private.my_state': [['private.my_id()', '(private.my_id() + 1)']],
  'private.erase_states_of': [
    ['delete from private.conversation_states where user_id = person', 'null'],
    ['delete from private.conversation_states where user_id = person', 'delete from private.conversation_states'],
    ['where voyager_id = person and voyager_archived_id is not null;', 'where voyager_archived_id is not null;'],
    ['where local_id = person and local_archived_id is not null;', 'where local_archived_id is not null;'],
    ['where voyager_id = person and voyager_archived_id is not null;', 'where false;'],
    ['where local_id = person and local_archived_id is not null;', 'where false;'],
  ],
  'private.erase_person': [['perform private.erase_states_of(person)', 'null']],
  'private.my_inbox': [
    ['entries.user_id = me and entries.conversation_id = any (shown)', 'entries.conversation_id = any (shown)'],
    ['states.user_id = me and', ''],
    ['and states.is_pinned', ''],
  ],
  'private.latest_entries_of': [
    ['and archived is distinct from true', ''],
    ['and archived is distinct from false', ''],
    ['and conversation_id <> all (without)', ''],
    ['where voyager_id = person', 'where true'],
    ['where local_id = person', 'where true'],
  ],
  'private.my_unread': [['entries.user_id = private.my_id() and', ''], ['and entries.unread > 0', '']],
  'private.handle_new_message': [
    ['greatest(last_message_id, new.id)', 'new.id'],
    ['case when new.id > last_message_id then new.created_at else active_at end', 'new.created_at'],
    ['voyager_id <> new.user_id and not new.read', 'not new.read'],
    ['voyager_id <> new.user_id and not new.read', 'voyager_id <> new.user_id'],
    ['local_id <> new.user_id and not new.read', 'not new.read'],
    ['local_id <> new.user_id and not new.read', 'local_id <> new.user_id'],
    ['voyager_has_written or voyager_id = new.user_id', 'voyager_has_written'],
    ['local_has_written or local_id = new.user_id', 'local_has_written'],
    ['voyager_has_written or voyager_id = new.user_id', 'true'],
    ['local_has_written or local_id = new.user_id', 'true'],
    ['new.user_id not in (voyager, local)', 'false'],
    ['new.user_id not in (voyager, local)', 'new.user_id <> voyager'],
    ['new.user_id not in (voyager, local)', 'new.user_id <> local'],
  ],
  'private.require_sender_to_participate': [
    ['and new.user_id in (voyager_id, local_id)', ''],
    ['new.user_id in (voyager_id, local_id)', 'new.user_id = voyager_id'],
    ['new.user_id in (voyager_id, local_id)', 'new.user_id = local_id'],
    ['id = new.conversation_id and', ''],
  ],
  'private.handle_changed_conversation': [
    ['voyager_archived_id = null', 'voyager_archived_id = voyager_archived_id'],
    ['local_archived_id = null', 'local_archived_id = local_archived_id'],
    ['private.has_message_of(new.voyager_id, new.id)', 'voyager_has_written'],
    ['private.has_message_of(new.local_id, new.id)', 'local_has_written'],
    ['perform private.refresh_activity(new.id)', 'null'],
    ['and user_id not in (new.voyager_id, new.local_id)', 'and false'],
    ['host_id not in (new.voyager_id, new.local_id)', 'false'],
    ['or offered_by not in (new.voyager_id, new.local_id)', ''],
    ['where conversation_id = new.id\n        and', 'where'],
    ['where conversation_id = new.id and user_id not in', 'where user_id not in'],
  ],
  'private.refresh_activity': [
    ['voyager_has_written or private.has_message_of(conversations.voyager_id, conversation)', 'voyager_has_written'],
    ['local_has_written or private.has_message_of(conversations.local_id, conversation)', 'local_has_written'],
    ['voyager_has_written or', ''],
    ['local_has_written or', ''],
  ],
  'private.handle_deleted_messages': [
    ['delete from private.idempotent_replies\n  using old_rows\n  where message_id = old_rows.id', 'null'],
    ['perform private.refresh_activity(conversation_id)', 'perform conversation_id'],
    ['where not read', ''],
  ],
  'private.handle_changed_messages': [
    ['using (id, conversation_id, user_id, created_at)', 'using (id, conversation_id, user_id)'],
    ['using (id, conversation_id, user_id, created_at)', 'using (id, conversation_id, created_at)'],
    ['select conversation_id, user_id, -1 as amount from old_rows where not read', 'select null, null, 0 where false'],
  ],
}

const statements: [string, string][] = [
  ...['handle_changed_messages', 'handle_deleted_messages'].map((name): [string, string] => [
    `without ${name}`,
    `drop trigger ${name} on public.messages`,
  ]),
  ['without require_sender_to_participate', 'drop trigger require_sender_to_participate on public.messages'],
  ['without handle_changed_conversation', 'drop trigger handle_changed_conversation on public.conversations'],
  [
    'counts below zero',
    `alter domain private.unread_count drop constraint "the unread count is not negative"`,
  ],
]

const database = await openTestDatabase()
// The last takes the longest.
const files = [
  'inbox/state.test.sql',
  'inbox/guards.test.sql',
  'messages/first_contact.test.sql',
  'messages/sender.test.sql',
  'inbox/drift.test.sql',
]
await tryMutants(database, { changes, statements }, files, Number(Deno.args[0] ?? 1))
await database.close()
Deno.exit(0)
