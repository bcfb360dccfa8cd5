// Our own Realtime on a Postgres server, where other sessions hold locks, write long transactions and end connections.
import type { SupabaseClient } from '@supabase/supabase-js'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openPair, signUp } from '../tools/people.ts'
import { makeDatabase } from '../tools/postgres.ts'
import { connect, join, listen, openDevice } from '../tools/realtime.ts'
import { startStack, stopStack } from '../tools/stack.ts'
import { until } from '../tools/wait.ts'

const url = process.env.TEST_DATABASE_URL

/** A session beside those of the stack, which PGlite does not allow. */
const openSession = (address = url!) => {
  const sql = postgres(address, { max: 2, onnotice: () => {} })
  onTestFinished(() => sql.end({ timeout: 1 }))
  return sql
}
/** Collects the ids of the messages that a participant may see, once the server has said that it passes them on. */
const subscribe = async (client: SupabaseClient, topic: string, filter?: string) => {
  const [rows, replies]: [number[], string[]] = [[], []]
  const channel = client.channel(topic, { config: { private: true } })
  channel.on('system', {}, ({ status }) => replies.push(status))
  const insert = { event: 'INSERT' as const, schema: 'public', table: 'messages', ...(filter && { filter }) }
  channel.on('postgres_changes', insert, (row) => rows.push(row.new.id))
  expect((await join(channel)).status).toBe('SUBSCRIBED')
  await until(() => replies.length > 0)
  expect(replies).toEqual(['ok'])
  return rows
}

describe.skipIf(!url)('on a Postgres server', () => {
  describe('with a database of its own', () => {
    let address: string
    let stack: Awaited<ReturnType<typeof startStack>>
    beforeAll(async () => {
      address = await makeDatabase('realtime')
      stack = await startStack({ DATABASE_URL: address })
    })
    afterAll(() => stopStack(stack.process))

    const pair = async () => {
      const { ana, ben, conversation } = await openPair(stack.base)
      const send = (content: string) => ana.call('POST', `/conversations/${conversation}/messages`, { content })
      const clientOf = ({ base }: { base: string }) => connect(ben.token, { origin: new URL(base).origin })
      /** The events on Ben's topic, after that of the conversation. */
      const listenOn = async (client: SupabaseClient) => {
        const { broadcasts } = await listen(client, `user:${ben.id}`)
        return () => broadcasts.filter(({ event }) => event === 'message.created').map(({ payload }) => payload)
      }
      return { topic: `user:${ben.id}`, conversation, send, clientOf, listenOn }
    }

    test('a send waits for a lock on realtime.messages for a moment, and the next event arrives', async () => {
      const { send, clientOf, listenOn } = await pair()
      const events = await listenOn(await clientOf(stack))
      let last = 0
      const times: number[] = []
      await openSession(address).begin(async (locked) => {
        await locked`lock table realtime.messages in access exclusive mode`
        for (let count = 0; count < 5; count++) {
          const before = Date.now()
          const { status, body } = await send('Behind a lock')
          expect(status).toBe(201)
          times.push(Date.now() - before)
          last = body.id
        }
      })
      // The two events of a message wait 50 ms each; what waits for the lock is never answered.
      expect(Math.min(...times)).toBeLessThan(2000)
      const { id } = (await send('After it')).body
      await until(() => events().length > 0)
      // The event names the message before it, whose event was lost.
      expect(events().map((payload) => [payload.previous_id, payload.id])).toEqual([[last, id]])
    })

    test('when the connection to the database is lost, clients connect again and receive new events', async () => {
      const { topic, send, clientOf } = await pair()
      await send('Hello')
      const [joins, events]: [string[], string[]] = [[], []]
      const client = await clientOf(stack)
      client.channel(topic, { config: { private: true, broadcast: { replication_ready: true } } })
        .on('broadcast', { event: '*' }, ({ event, payload }) => events.push(`${event} ${payload.id}`))
        .on('postgres_changes', { event: '*', schema: 'public', table: 'messages' }, () => {})
        .on('system', {}, ({ message }) => joins.push(message))
        .subscribe()
      // Subscribed to changes, and to what the database sends.
      await until(() => joins.length === 2)
      const sql = openSession(address)
      // A public broadcast is for nobody, and no loss.
      await sql`select realtime.send('{"id": 1}', 'public', ${topic}, private => false)`
      await sql`select realtime.send('{"id": 2}', 'private', ${topic})`
      await until(() => events.length > 0)
      expect(joins.length).toBe(2)
      await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query ilike 'listen%' and pid <> pg_backend_pid()`
      await until(() => joins.length === 4)
      const { body } = await send('Again')
      await until(() => events.length > 1)
      expect(events).toEqual(['private 2', `message.created ${body.id}`])
    })

    test('two stacks on one database both deliver events, and one also after the other stops', async () => {
      const { conversation, send, clientOf, listenOn } = await pair()
      const open = async (at: { base: string }) => {
        const client = await clientOf(at)
        const [events, rows] = [await listenOn(client), await subscribe(client, `typing:${conversation}`)]
        return () => [events().map(({ id }) => id), rows]
      }
      const sendTo = async (...all: (() => unknown[][])[]) => {
        const { body: { id } } = await send('Hello')
        await until(() => all.every((one) => one().every((ids) => ids.includes(id))))
        return id
      }
      const first = await open(stack)
      const second = await startStack({ DATABASE_URL: address })
      onTestFinished(() => stopStack(second.process))
      const ids = [await sendTo(first)]
      const other = await open(second)
      ids.push(await sendTo(first, other))
      expect(other()).toEqual([ids.slice(1), ids.slice(1)])
      await stopStack(second.process)
      ids.push(await sendTo(first))
      expect(first()).toEqual([ids, ids])
    })
  })

  test('broadcasts from SQL arrive, also of 7 kB, unless they are rolled back, public or larger', async () => {
    const ana = await signUp('Ana')
    const { broadcasts } = await openDevice(ana)
    const sql = openSession()
    const topic = `user:${ana.id}`
    await sql.begin(async (transaction) => {
      await transaction`select realtime.send('{"n": 0}', 'said', ${topic})`
      throw new Error('roll back')
    }).catch(() => {})
    const say = (length: number) =>
      sql`select realtime.send(jsonb_build_object('text', repeat('é', ${length}::int)), 'said', ${topic})`
    for (const length of [3500, 5000]) await say(length)
    await sql`select realtime.send('{}', 'said', ${topic}, private => false)`
    await sql`select realtime.send('{}', 'last', ${topic})`
    await until(() => broadcasts.length >= 2)
    expect(broadcasts.map(({ event }) => event)).toEqual(['said', 'last'])
    expect(broadcasts[0]!.payload).toEqual({ id: broadcasts[0]!.meta!.id, text: 'é'.repeat(3500) })
  })

  test('the rows of a transaction that was open before the join arrive, all and in order', async () => {
    const { ana, ben, conversation } = await openPair()
    const client = await connect(ana.token)
    let rows: number[] = []
    const written = await openSession().begin(async (long) => {
      const inserted = await long`
        insert into public.messages (conversation_id, user_id, content)
        select ${conversation}, ${ben.id}, 'Message ' || n from generate_series(1, 250) as n
        returning id`
      rows = await subscribe(client, `user:${ana.id}`, `conversation_id=eq.${conversation}`)
      return inserted.map(({ id }) => Number(id))
    })
    await until(() => rows.length >= written.length)
    expect(rows).toEqual(written)
  })
})
