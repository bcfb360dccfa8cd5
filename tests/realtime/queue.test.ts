import { expect, onTestFinished, test, vi } from 'vitest'
import type { Database } from '../../supabase/local/database.ts'
import { openBroadcasts } from '../../supabase/local/realtime/broadcasts.ts'
import { openChanges } from '../../supabase/local/realtime/changes.ts'
import type { Channel } from '../../supabase/local/realtime/channel.ts'
import { openHub } from '../../supabase/local/realtime/hub.ts'
import { pause } from '../tools/wait.ts'

type Rows = Record<string, unknown>[]

/** A database that answers as it is told, and notes what it was asked. */
const pretend = (answer: (text: string) => Rows | Promise<Rows>) => {
  const asked: string[] = []
  const query = async (text: string) => {
    if (text.includes('pg_snapshot')) return [{ next: '1', settled: true }]
    asked.push(text)
    return await answer(text)
  }
  return { asked, database: { query } as unknown as Database }
}
const somebody = () => {
  const pushed: unknown[] = []
  const channel = {
    topic: 'user:1',
    identity: { claims: { role: 'authenticated' } },
    push: (...what: unknown[]) => pushed.push(what),
  }
  return { pushed, channel: channel as unknown as Channel }
}
const silence = () => {
  const error = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => error.mockRestore())
}

const wanted = { event: '*', schema: 'public', table: 'messages' }
const columns = [{ name: 'id', type: 'int8', key: true, readers: ['authenticated'] }]
const change = {
  id: 7,
  table_schema: 'public',
  table_name: 'messages',
  verb: 'INSERT',
  record: { id: 1 },
  old_record: null,
  changed_at: '2027-01-01T00:00:00Z',
}
const answers = (text: string): Rows =>
  text.includes('.follow(')
    ? [{ tables: [{ table: 'messages', columns }] }]
    : text.includes('audience')
    ? [{ audience: [[7]] }]
    : [{ changes: [change] }]

test('a change that was told of and is gone is a loss', async () => {
  silence()
  let lost = 0
  const { database, asked } = pretend((text) => text.includes('jsonb_agg') ? [{ changes: [] }] : answers(text))
  const changes = openChanges(database, () => lost++)
  const { channel } = somebody()
  expect(await changes.follow(changes.prepare(channel, [wanted]))).toBe(null)
  changes.notice('7')
  await pause(10)
  expect(lost).toBe(1)
  expect(asked.filter((text) => text.includes('audience'))).toEqual([])
})

test('a broadcast that was told of and is gone is a loss, and one that is not private is none', async () => {
  silence()
  let lost = 0
  let rows: Rows = [{ id: 'a', topic: 'user:1', event: 'x', payload: '{}', bytes: null, private: false }]
  const { database } = pretend(() => rows)
  const hub = openHub()
  hub.add({ ...somebody().channel, rights: { hears: [], speaks: [] } } as unknown as Channel)
  const broadcasts = openBroadcasts(database, hub, () => lost++)
  broadcasts.notice('a', 'user:1')
  await pause(10)
  expect(lost).toBe(0)
  rows = []
  broadcasts.notice('b', 'user:1')
  await pause(10)
  expect(lost).toBe(1)
})

test('who leaves while the database is asked what they may follow follows nothing', async () => {
  let agree = () => {}
  const agreed = new Promise<void>((resolve) => agree = resolve)
  const { database, asked } = pretend(async (text) => {
    if (text.includes('.follow(')) await agreed
    return answers(text)
  })
  const changes = openChanges(database, () => {})
  const { channel, pushed } = somebody()
  const following = changes.follow(changes.prepare(channel, [wanted, { ...wanted, event: 'INSERT' }, wanted]))
  changes.forget(channel)
  agree()
  await following
  asked.length = 0
  changes.notice('7')
  await pause(10)
  expect(asked).toEqual([])
  expect(pushed).toEqual([])
})

test('what nobody follows is not read', async () => {
  const { database, asked } = pretend(answers)
  openChanges(database, () => {}).notice('7')
  await pause(10)
  expect(asked).toEqual([])
})
