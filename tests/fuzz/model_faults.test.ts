// Faults in the SQL that the model-based runs must notice, or they would prove nothing.
import { afterAll, beforeAll, expect, test } from 'vitest'
import postgres from 'postgres'
import { startStack, stopStack } from '../tools/stack.ts'
import { makeDatabase } from '../tools/postgres.ts'
import { firstContactLimit } from './model/model.ts'
import { runModel } from './model/run.ts'

/** What is wrong, in which function, which of its text, and what that becomes. */
const faults: [what: string, name: string, from: string, to: string][] = [
  ['a block holds in one direction only', 'private.is_blocked_between', 'blocker_id = other', 'false'],
  ['reading up to a message marks that one alone', 'api.mark_read', 'and_before and id < message', 'false'],
  ["reading marks one's own messages", 'api.mark_read', 'and user_id <> me', ''],
  [
    'what a local sends is unread for them',
    'private.handle_new_message',
    'local_id <> new.user_id and not new.read',
    'not new.read',
  ],
  [
    'a message that was read stays counted',
    'private.handle_changed_messages',
    'having sum(amount) <> 0',
    'having false',
  ],
  ['a removed message stays counted', 'private.handle_deleted_messages', 'amount => -count(*)', 'amount => 0'],
  ['the inbox is ordered by when it was opened', 'private.handle_new_message', 'then new.created_at', 'then active_at'],
  [
    'after a removal the inbox keeps its order',
    'private.refresh_activity',
    'coalesce(latest.created_at, conversations.created_at)',
    'active_at',
  ],
  [
    'archiving archives for the partner',
    'api.set_conversation_state',
    'when local_id <> me then local_archived_id',
    '',
  ],
  ['a muted conversation is pinned', 'api.set_conversation_state', 'coalesce(pin, known.is_pinned)', 'true'],
  ['a state is not logged', 'api.set_conversation_state', 'perform private.log_state(me, conversation)', 'null'],
  [
    'that messages were read is not logged',
    'private.log_changed_messages',
    'new_rows.read and not old_rows.read',
    'false',
  ],
  ['locals learn of no change', 'private.changes_between', 'where other_id = person', 'where other_id = -person'],
  ['a removed message is not logged', 'private.log_deleted_messages', 'from old_rows', 'from old_rows where false'],
  [
    'one message more before an answer',
    'private.may_write_first',
    'count(*) < max_things',
    'count(*) <= max_things',
  ],
  ['whoever is asked counts as having written', 'private.has_written', 'and local_has_written', ''],
  ["one accepts one's own offer", 'api.step_reservation', 'current.offered_by = me', 'false'],
  ['what was declined can be cancelled', 'api.step_reservation', "current.status = 'accepted'", 'true'],
  ['a counter-offer keeps who offered', 'api.counter_reservation', 'wanted.offered_by := me;', ''],
  [
    'what nobody answered counts as completed',
    'private.status_at',
    "when 'pending' then 'cancelled'",
    "when 'pending' then 'completed'",
  ],
  ['the history forgets who did it', 'private.record_reservation', 'step.by_id', 'null'],
  ['messages that were not shared are evidence', 'private.copy_evidence', 'report.shares_messages', 'true'],
  ['a report is filed twice', 'api.report_person', 'and resolved_at is null', 'and false'],
  [
    'hiding leaves somebody in the search',
    'private.apply_restriction',
    "if restriction = 'hide' then",
    'if false then',
  ],
  ['reporting does not block', 'api.report_person', "(draft ->> 'block')::boolean and", 'false and'],
]

// MUTANTS=1 tries every one; by default every sixth, which few runs find.
const isLong = process.env.MUTANTS === '1'
const tested = isLong ? faults : faults.filter((_, index) => index % 6 === 1)

let stack: Awaited<ReturnType<typeof startStack>>
let sql: postgres.Sql
beforeAll(async () => {
  const DATABASE_URL = await makeDatabase('faults')
  const settings = { FIRST_CONTACT_LIMIT: `${firstContactLimit}`, PARTNER_EMAIL: 'after_reply' }
  stack = await startStack({ DATABASE_URL, ...settings })
  sql = postgres(DATABASE_URL, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await sql.end()
  await stopStack(stack.process)
})

const definition = async (name: string): Promise<string> => {
  const [{ text }] = await sql`select pg_get_functiondef(${name}::regproc) as text` as unknown as [{ text: string }]
  return text
}

test.each(faults)('%s: what is changed is there', async (_, name, from) => {
  expect(await definition(name)).toContain(from)
})

/** After how many runs of at most this many the model notices the fault; null if it does not. */
const runsUntilNoticed = async (name: string, from: string, to: string, runs: number): Promise<number | null> => {
  const text = await definition(name)
  await sql.unsafe(text.replaceAll(from, () => to))
  try {
    return await runModel(stack.base, { runs, seed: 42, shrink: false }).then(
      () => null,
      (error) => Number(/failed after (\d+) tests/.exec(error.message)?.[1]),
    )
  } finally {
    await sql.unsafe(text)
  }
}

test.each(tested)('the model notices that %s', async (what, name, from, to) => {
  const runs = await runsUntilNoticed(name, from, to, 60)
  if (isLong) console.log(`${what}: ${runs}`)
  expect(runs).toBeGreaterThan(0)
}, 10 * 60_000)

test('without a fault it notices nothing', async () => {
  await runModel(stack.base, { runs: isLong ? 60 : 4, seed: 42, shrink: false })
  expect(tested.length).toBeGreaterThanOrEqual(4)
})
