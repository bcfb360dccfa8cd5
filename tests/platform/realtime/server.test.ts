// The client on a Realtime server that somebody supplies.
import { readFileSync } from 'node:fs'
import { describe, expect, inject, test } from 'vitest'
import * as facts from '../../../supabase/local/realtime/server_facts.ts'
import {
  openInboxOf,
  openPair,
  playFirstMessage,
  playOutage,
  playRefusedTyping,
  timeToShow,
} from '../../clients/realtime_scenarios.ts'
import { type Person, sendMessage, signUp } from '../../tools/people.ts'
import { connected } from '../../tools/postgres.ts'
import { connect, listen } from '../../tools/realtime.ts'
import { platform } from '../../tools/supabase.ts'
import { eventually, pause } from '../../tools/wait.ts'
import { supplied } from './server.ts'

const server = inject('stack')
const control = (what: string) => fetch(`${inject('realtimeControl')}/${what}`, { method: 'POST' })
const at = (times: number[], share: number) =>
  times.toSorted((one, other) => one - other)[
    Math.min(times.length - 1, Math.floor(times.length * share))
  ]!
const summary = (times: number[]) => `p50 ${at(times, 0.5)}, p99 ${at(times, 0.99)}, worst ${at(times, 1)} ms`

const openLivePair = async () => {
  const pair = await openPair(server)
  const inbox = await openInboxOf(server, pair.ana)
  const chat = inbox.open(pair.conversation)
  await eventually(() => chat.view.status === 'live' && inbox.view.status === 'live', 30)
  expect([chat.view.status, inbox.view.status]).toEqual(['live', 'live'])
  return { ...pair, inbox, chat }
}

test('messages are sent from functions that belong to plain postgres', async () => {
  const owners = await connected(platform('realtime_project', 'supabase_admin'), (sql) =>
    sql`
      select distinct pg_get_userbyid(proowner) as owner, rolsuper
      from pg_proc join pg_roles on pg_roles.oid = proowner
      where proname like 'broadcast_%' and pronamespace = 'private'::regnamespace
    `)
  expect([...owners]).toEqual([{ owner: 'postgres', rolsuper: false }])
})

test('200 messages are shown in milliseconds', async () => {
  const { ben, chat } = await openLivePair()
  const times: number[] = []
  for (let count = 0; count < 200; count++) times.push(await timeToShow(ben, chat, `Message ${count}`))
  console.log(`200 messages, from the answer to the other view: ${summary(times)}`)
  // 25 ms on a machine that has nothing else to do.
  expect(at(times, 0.99)).toBeLessThan(100)
})

test.each([1000, 3000])('%i messages in a burst are all shown, in order', async (messages) => {
  const { ben, chat, conversation } = await openLivePair()
  const start = Date.now()
  for (let sent = 0; sent < messages; sent += 10) {
    await Promise.all(Array.from({ length: 10 }, (_, index) => sendMessage(ben, conversation, `${sent + index}`)))
  }
  const answered = Date.now()
  await eventually(() => chat.view.messages.length === messages, 60)
  console.log(`${messages} messages sent in ${answered - start} ms, all shown ${Date.now() - answered} ms later`)
  const ids = chat.view.messages.map(({ id }) => id)
  expect(ids).toHaveLength(messages)
  expect(ids).toEqual(ids.toSorted((one, other) => one - other))
})

test("a typing topic that is refused holds up nobody else's messages", async () => {
  const times = await playRefusedTyping(server)
  console.log(`beside a refused join: ${summary(times)}`)
  expect(at(times, 1)).toBeLessThan(300)
})

test('the first message after the start of the server is shown within a second', async () => {
  const times: number[] = []
  for (let count = 0; count < 4; count++) {
    const pair = await openPair(server)
    await control(count % 2 ? 'KILL' : 'TERM')
    const { time, chat } = await playFirstMessage(server, pair)
    times.push(time)
    await eventually(() => chat.view.status === 'live', 60)
    expect(chat.view.status).toBe('live')
  }
  console.log(`the first message after a start: ${summary(times)}`)
  expect(at(times, 1)).toBeLessThan(1000)
})

test.each(['TERM', 'KILL'])('nothing is lost when the server is restarted by %s', async (signal) => {
  const { ben, chat, conversation } = await openLivePair()
  let sent = 0
  const restarted = control(signal).then(() => true)
  for (let isOver = false; !isOver;) {
    await sendMessage(ben, conversation, `${sent++}`)
    isOver = await Promise.race([restarted, pause(100).then(() => false)])
  }
  const start = Date.now()
  await eventually(() => chat.view.messages.length === sent && chat.view.status === 'live', 60)
  console.log(`${sent} messages during a restart by ${signal}, complete and live ${Date.now() - start} ms after it`)
  expect([chat.view.messages.length, chat.view.status]).toEqual([sent, 'live'])
})

test('a killed walsender makes the status delayed, and messages come in seconds', async () => {
  const kill = () =>
    connected(platform('realtime_project', 'supabase_admin'), (sql) =>
      sql`
        select pg_terminate_backend(pid) from pg_stat_replication
        where application_name = 'realtime_replication_connection'
      `)
  const begin = supplied ? kill : () => control('outage')
  const times = await playOutage(server, begin, supplied ? () => {} : () => control('outage'))
  console.log(`without replication: ${summary(times)}`)
  expect(at(times, 1)).toBeLessThan(5000)
})

test('500 joins at once', async () => {
  const people: Person[] = []
  for (let count = 0; count < 25; count++) people.push(await signUp(`Person ${count}`))
  const times = await Promise.all(Array.from({ length: 500 }, async (_, index) => {
    const person = people[index % people.length]!
    const client = await connect(person.token)
    const start = performance.now()
    const { status } = await listen(client, `user:${person.id}`)
    return status === 'SUBSCRIBED' ? Math.round(performance.now() - start) : Infinity
  }))
  console.log(`500 joins: ${summary(times)}`)
  expect(at(times, 1)).toBeLessThan(30_000)
})

describe.runIf(process.env.SUPABASE_REALTIME_SOURCE)('the facts of our own Realtime', () => {
  const source = (file: string) => readFileSync(`${process.env.SUPABASE_REALTIME_SOURCE}/${file}`, 'utf8')

  test('are those of the source', () => {
    const runtime = source('config/runtime.exs')
    const setting = (name: string) => {
      const [, unit, value] = new RegExp(`"${name}", (:timer\\.seconds\\()?([\\d_]+)`).exec(runtime)!
      return Number(value!.replaceAll('_', '')) * (unit ? 1000 : 1)
    }
    const channel = source('lib/realtime_web/channels/realtime_channel.ex')
    expect({
      channelErrorBackoff: setting('CHANNEL_ERROR_BACKOFF_MS'),
      presenceCalls: setting('CLIENT_PRESENCE_MAX_CALLS'),
      presenceWindow: setting('CLIENT_PRESENCE_WINDOW_MS'),
      replicationReadyInterval: Number(/@replication_ready_check_interval (\d+)/.exec(channel)![1]),
      replicationReadyTimeout: 60_000 *
        Number(/replication_ready_timeout: :timer.minutes\((\d+)\)/.exec(source('config/config.exs'))![1]),
      replicationStart: facts.replicationStart,
    }).toEqual({ ...facts })
    expect(channel).toContain('"Replication connection established"')
    expect(channel).toContain('"You do not have permissions to read from this Channel topic: #{topic}"')
  })
})
