import { expect, onTestFinished, test, vi } from 'vitest'
import type { Database } from '../../supabase/local/database.ts'
import { openBroadcasts } from '../../supabase/local/realtime/broadcasts.ts'
import type { Channel } from '../../supabase/local/realtime/channel.ts'
import { openHub } from '../../supabase/local/realtime/hub.ts'
import { openPostgresChanges } from '../../supabase/local/realtime/postgres_changes.ts'
import { pause } from '../tools/wait.ts'

type Rows = Record<string, unknown>[]

/** A mock database: answers as `answer` does and records the statements. */
const mockDatabase = (answer: (text: string) => Rows | Promise<Rows>) => {
  const statements: string[] = []
  const query = async (text: string) => {
    if (text.includes('pg_snapshot')) return [{ next: '1', have_ended: true }]
    statements.push(text)
    return await answer(text)
  }
  return { statements, database: { query } as unknown as Database }
}
const mockChannel = () => {
  const pushed: unknown[] = []
  const channel = {
    topic: 'user:1',
    identity: { claims: { role: 'authenticated' } },
    push: (...frame: unknown[]) => pushed.push(frame),
  }
  return { pushed, channel: channel as unknown as Channel }
}
const muteErrors = () => {
  const error = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => error.mockRestore())
}

const binding = { event: '*', schema: 'public', table: 'messages' }
const columns = [{ name: 'id', type: 'int8', is_key: true, readers: ['authenticated'] }]
const change = {
  id: 7,
  table_schema: 'public',
  table_name: 'messages',
  type: 'INSERT',
  record: { id: 1 },
  old_record: null,
  changed_at: '2027-01-01T00:00:00Z',
}
const answers = (text: string): Rows =>
  text.includes('.subscribe(')
    ? [{ tables: [{ table: 'messages', columns }] }]
    : text.includes('visible_changes')
    ? [{ visible: [[7]] }]
    : [{ changes: [change] }]

test('a notified change that is gone from the table is a loss', async () => {
  muteErrors()
  let lost = 0
  const { database, statements } = mockDatabase((text) =>
    text.includes('jsonb_agg') ? [{ changes: [] }] : answers(text)
  )
  const changes = openPostgresChanges(database, () => lost++)
  const { channel } = mockChannel()
  expect(await changes.subscribe(changes.prepare(channel, [binding]))).toBe(null)
  changes.notify('7')
  await pause(10)
  expect(lost).toBe(1)
  expect(statements.filter((text) => text.includes('visible_changes'))).toEqual([])
})

test('a notified broadcast that is gone from the table is a loss, and a public one is not', async () => {
  muteErrors()
  let lost = 0
  let rows: Rows = [{ id: 'a', topic: 'user:1', event: 'x', payload: '{}', bytes: null, private: false }]
  const { database } = mockDatabase(() => rows)
  const hub = openHub()
  hub.add({ ...mockChannel().channel, permissions: { canRead: [], canWrite: [] } } as unknown as Channel)
  const broadcasts = openBroadcasts(database, hub, () => lost++)
  broadcasts.notify('a', 'user:1')
  await pause(10)
  expect(lost).toBe(0)
  rows = []
  broadcasts.notify('b', 'user:1')
  await pause(10)
  expect(lost).toBe(1)
})

test('a channel that leaves while it subscribes has no subscription', async () => {
  let accept = () => {}
  const accepted = new Promise<void>((resolve) => accept = resolve)
  const { database, statements } = mockDatabase(async (text) => {
    if (text.includes('.subscribe(')) await accepted
    return answers(text)
  })
  const changes = openPostgresChanges(database, () => {})
  const { channel, pushed } = mockChannel()
  const bindings = [binding, { ...binding, event: 'INSERT' }, binding]
  const subscribed = changes.subscribe(changes.prepare(channel, bindings))
  changes.unsubscribe(channel)
  accept()
  await subscribed
  statements.length = 0
  changes.notify('7')
  await pause(10)
  expect(statements).toEqual([])
  expect(pushed).toEqual([])
})

test('a change without subscribers is not read', async () => {
  const { database, statements } = mockDatabase(answers)
  openPostgresChanges(database, () => {}).notify('7')
  await pause(10)
  expect(statements).toEqual([])
})
