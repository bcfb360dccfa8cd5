// What only a server that somebody supplies can show: restarts under load, bursts, and the facts of our own.
import { readFileSync } from 'node:fs'
import { expect, inject, test } from 'vitest'
import { presenceCalls, presenceWindow } from '../../../supabase/local/realtime/channels.ts'
import { openBoth, watchMissing } from '../../clients/real_inbox.ts'
import { sendMessage } from '../../tools/people.ts'
import { connected } from '../../tools/postgres.ts'
import { platform } from '../../tools/supabase.ts'
import { pause, until } from '../../tools/wait.ts'

test('messages are sent from functions that belong to plain postgres', async () => {
  const owners = await connected(platform('realtime_project', 'supabase_admin'), (sql) =>
    sql`
      select distinct pg_get_userbyid(proowner) as owner, rolsuper
      from pg_proc join pg_roles on pg_roles.oid = proowner
      where proname like 'broadcast_%' and pronamespace = 'private'::regnamespace
    `)
  expect([...owners]).toEqual([{ owner: 'postgres', rolsuper: false }])
})

test('of 3000 messages in a burst all are shown, in order, and none is missing for long while "live"', async () => {
  const { ben, anas: { chat }, conversation } = await openBoth()
  const { longest, add } = watchMissing(chat)
  for (let sent = 0; sent < 3000; sent += 10) {
    const some = Array.from({ length: 10 }, (_, index) => sendMessage(ben, conversation, `${sent + index}`))
    for (const message of await Promise.all(some)) add(message)
  }
  await until(() => chat.view.messages.length === 3000, 90)
  expect(longest.live).toBeLessThan(10_000)
  const ids = chat.view.messages.map(({ id }) => id)
  expect(ids).toEqual([...new Set(ids)].toSorted((one, other) => one - other))
})

test.each(['TERM', 'KILL'])('nothing is lost when the server is restarted by %s', async (signal) => {
  const { ben, anas: { chat }, conversation } = await openBoth()
  const { longest, add } = watchMissing(chat)
  let sent = 0
  const restarted = fetch(`${inject('realtimeControl')}/${signal}`, { method: 'POST' }).then(() => true)
  for (let isOver = false; !isOver;) {
    add(await sendMessage(ben, conversation, `${sent++}`))
    isOver = await Promise.race([restarted, pause(100).then(() => false)])
  }
  await until(() => chat.view.messages.length === sent && chat.view.status === 'live', 90)
  expect(chat.view.messages.map(({ content }) => Number(content))).toEqual(Array.from({ length: sent }, (_, n) => n))
  expect(longest.live).toBeLessThan(10_000)
})

test.runIf(process.env.SUPABASE_REALTIME_SOURCE)('the facts of our own Realtime are those of the source', () => {
  const source = (file: string) => readFileSync(`${process.env.SUPABASE_REALTIME_SOURCE}/${file}`, 'utf8')
  const runtime = source('config/runtime.exs')
  const setting = (name: string) => {
    const [, unit, value] = new RegExp(`"${name}", (:timer\\.seconds\\()?([\\d_]+)`).exec(runtime)!
    return Number(value!.replaceAll('_', '')) * (unit ? 1000 : 1)
  }
  const channel = source('lib/realtime_web/channels/realtime_channel.ex')
  expect([setting('CLIENT_PRESENCE_MAX_CALLS'), setting('CLIENT_PRESENCE_WINDOW_MS')])
    .toEqual([presenceCalls, presenceWindow])
  expect(channel).toContain('"Replication connection established"')
  expect(channel).toContain('"You do not have permissions to read from this Channel topic: #{topic}"')
})
