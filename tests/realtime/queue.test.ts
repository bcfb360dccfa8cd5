// What reads committed rows for our own Realtime, on a mock database.
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Database } from '../../supabase/local/database.ts'
import { openBroadcasts } from '../../supabase/local/realtime/broadcasts.ts'
import type { Channel } from '../../supabase/local/realtime/channel.ts'
import { openHub } from '../../supabase/local/realtime/hub.ts'
import { openPostgresChanges } from '../../supabase/local/realtime/postgres_changes.ts'
import { until } from '../tools/wait.ts'

type Rows = Record<string, unknown>[]
const change = { id: 7, table_schema: 'public', table_name: 'messages', type: 'INSERT', record: { id: 1 } }
const columns = [{ name: 'id', type: 'int8', is_key: true, readers: ['authenticated'] }]
const binding = { event: '*', schema: 'public', table: 'messages' }
const everyStatement = (text: string): Rows =>
  text.includes('.subscribe(')
    ? [{ tables: [{ table: 'messages', columns }] }]
    : text.includes('visible_changes')
    ? [{ visible: [[7]] }]
    : [{ changes: [{ ...change, changed_at: '2027-01-01T00:00:00Z' }] }]

/** Answers as `answer` does and records which changes were read, and for whom it looked what they may see. */
const mockDatabase = (answer: (text: string) => Rows | Promise<Rows>) => {
  const reads: unknown[] = []
  const query = async (text: string, [value]: unknown[]) => {
    if (text.includes('pg_snapshot')) return [{ next: '1', have_ended: true }]
    if (text.includes('jsonb_agg') || text.includes('visible_changes')) reads.push(value)
    return await answer(text)
  }
  return { reads, database: { query } as unknown as Database }
}
const mockChannel = () => {
  const pushed: unknown[] = []
  const channel = {
    topic: 'user:1',
    identity: { claims: { role: 'authenticated' } },
    permissions: { canRead: [], canWrite: [] },
    push: (...frame: unknown[]) => pushed.push(frame),
  }
  return { pushed, channel: channel as unknown as Channel }
}
const muteErrors = () => {
  const error = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => error.mockRestore())
}

test('a notified change that is gone from the table is a loss', async () => {
  muteErrors()
  let lost = 0
  const { database, reads } = mockDatabase((text) =>
    text.includes('jsonb_agg') ? [{ changes: [] }] : everyStatement(text)
  )
  const changes = openPostgresChanges(database, () => lost++)
  expect(await changes.subscribe(changes.prepare(mockChannel().channel, [binding]))).toBe(null)
  changes.notify('7')
  await until(() => lost > 0)
  expect(reads).toEqual(['{7}'])
})

test('a notified broadcast that is gone from the table is a loss, and a public one is not', async () => {
  muteErrors()
  const lost: string[] = []
  let reads = 0
  let rows: Rows = [{ id: 'a', topic: 'user:1', event: 'x', payload: '{}', bytes: null, private: false }]
  const { database } = mockDatabase(() => (reads++, rows))
  const hub = openHub()
  hub.add(mockChannel().channel)
  const broadcasts = openBroadcasts(database, hub, () => lost.push(`after ${reads} reads`))
  broadcasts.notify('a', 'user:1')
  await until(() => reads === 1)
  rows = []
  broadcasts.notify('b', 'user:1')
  await until(() => lost.length > 0)
  expect(lost).toEqual(['after 2 reads'])
})

test('a change is read for channels that are subscribed: not for none, nor for one that left while it joined', async () => {
  // Node 20 does not have all that the delivery needs.
  muteErrors()
  let accept = () => {}
  const accepted = new Promise<void>((resolve) => accept = resolve)
  const { database, reads } = mockDatabase(async (text) => {
    if (text.includes('.subscribe(')) await accepted
    return everyStatement(text)
  })
  const changes = openPostgresChanges(database, () => {})
  changes.notify('5')
  const bindings = [binding, { ...binding, event: 'INSERT' }, binding]
  const { channel, pushed } = mockChannel()
  const subscribed = changes.subscribe(changes.prepare(channel, bindings))
  changes.unsubscribe(channel)
  accept()
  await subscribed
  changes.notify('6')
  await changes.subscribe(changes.prepare(mockChannel().channel, bindings))
  changes.notify('7')
  await until(() => reads.length > 0)
  expect([reads, pushed]).toEqual([['{7}'], []])
})
