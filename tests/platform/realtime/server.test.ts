// What only a server that somebody supplies can show: the facts of our own.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { presenceCalls, presenceWindow } from '../../../supabase/local/realtime/channels.ts'
import { connected } from '../../tools/postgres.ts'
import { platform } from '../../tools/supabase.ts'

test('messages are sent from functions that belong to plain postgres', async () => {
  const owners = await connected(platform('realtime_project', 'supabase_admin'), (sql) =>
    sql`
      select distinct pg_get_userbyid(proowner) as owner, rolsuper
      from pg_proc join pg_roles on pg_roles.oid = proowner
      where proname like 'broadcast_%' and pronamespace = 'private'::regnamespace
    `)
  expect([...owners]).toEqual([{ owner: 'postgres', rolsuper: false }])
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
