import type { SupabaseClient } from '@supabase/supabase-js'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openConversation, signUp } from '../tools/people.ts'
import { makeDatabase } from '../tools/postgres.ts'
import { connect, join, listen } from '../tools/realtime.ts'
import { startStack, stopStack } from '../tools/stack.ts'
import { aWhile, eventually } from '../tools/wait.ts'

const url = process.env.TEST_DATABASE_URL

/** A session beside those of the stack, which PGlite does not allow. */
const openSession = (address = url!) => {
  const sql = postgres(address, { max: 2, onnotice: () => {} })
  onTestFinished(() => sql.end({ timeout: 1 }))
  return sql
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
      const [ana, ben] = [await signUp('Ana', {}, stack.base), await signUp('Ben', {}, stack.base)]
      const conversation = await openConversation(ana, ben)
      await aWhile()
      const sendMessage = (content: string) => ana.call('POST', `/conversations/${conversation}/messages`, { content })
      const clientOf = ({ base }: { base: string }) => connect(ben.token, { origin: new URL(base).origin })
      return {
        topic: `user:${ben.id}`,
        typing: `typing:${conversation}`,
        sendMessage,
        clientOf,
        client: await clientOf(stack),
      }
    }

    test('a send waits for a lock on realtime.messages for 0.1 s at most, and the next event arrives', async () => {
      const { topic, sendMessage, client } = await pair()
      const { broadcasts } = await listen(client, topic)
      const sql = openSession(address)
      let first = 0
      const times: number[] = []
      await sql.begin(async (locked) => {
        await locked`lock table realtime.messages in access exclusive mode`
        for (let count = 0; count < 5; count++) {
          const before = Date.now()
          const { status, body } = await sendMessage('Behind a lock')
          expect(status).toBe(201)
          times.push(Date.now() - before)
          first = body.id
        }
      })
      // The two events of a message wait 50 ms each. The least, because a busy machine slows some.
      expect(Math.min(...times)).toBeLessThan(200)
      const { id } = (await sendMessage('After it')).body
      await eventually(() => broadcasts.length > 0)
      // The event names the message before it, whose event was lost.
      expect(broadcasts.map(({ payload }) => [payload.previous_id, payload.id])).toEqual([[first, id]])
    })

    test('after the database connection is lost, clients reconnect and receive new events', async () => {
      const { topic, sendMessage, client } = await pair()
      const statuses: string[] = []
      const broadcasts: unknown[] = []
      client.channel(topic, { config: { private: true } })
        .on('broadcast', { event: '*' }, ({ payload }) => broadcasts.push(payload.id))
        .subscribe((status) => statuses.push(status))
      await eventually(() => statuses.includes('SUBSCRIBED'))
      const terminated = await openSession(address)`
        select pg_terminate_backend(pid)
        from pg_stat_activity
        where datname = current_database() and query ilike 'listen%' and pid <> pg_backend_pid()`
      expect(terminated).toHaveLength(1)
      await eventually(() => statuses.length >= 3, 20)
      expect(statuses.at(0)).toBe('SUBSCRIBED')
      expect(statuses.at(-1)).toBe('SUBSCRIBED')
      const { body } = await sendMessage('Again')
      await eventually(() => broadcasts.length > 0)
      expect(broadcasts).toEqual([body.id])
    })

    // Once a start emptied local_realtime.subscribed_tables, and subscribers of the first stack received nothing.
    test('two stacks on one database both deliver events, and one also after the other stops', async () => {
      const { topic, typing, sendMessage, clientOf, client } = await pair()
      const subscribe = async (client: SupabaseClient) => {
        const { broadcasts } = await listen(client, topic)
        const rows: unknown[] = []
        const channel = client.channel(typing, { config: { private: true } })
          .on(
            'postgres_changes',
            { event: 'INSERT', schema: 'public', table: 'messages' },
            (row) => rows.push(row.new.id),
          )
        const subscribed = new Promise((resolve) => channel.on('system', {}, ({ status }) => resolve(status)))
        expect((await join(channel)).status).toBe('SUBSCRIBED')
        expect(await subscribed).toBe('ok')
        return { ids: () => broadcasts.map(({ payload }) => payload.id), rows }
      }
      const first = await subscribe(client)
      const second = await startStack({ DATABASE_URL: address })
      onTestFinished(() => stopStack(second.process))
      const { body: before } = await sendMessage('Before the second has subscribers')
      await eventually(() => first.ids().length > 0 && first.rows.length > 0)
      expect([first.ids(), first.rows]).toEqual([[before.id], [before.id]])

      const other = await subscribe(await clientOf(second))
      const { body: after } = await sendMessage('After')
      await eventually(() => [first.ids(), first.rows, other.ids(), other.rows].every((ids) => ids.includes(after.id)))
      expect([first.ids(), first.rows]).toEqual([[before.id, after.id], [before.id, after.id]])
      expect([other.ids(), other.rows]).toEqual([[after.id], [after.id]])

      await stopStack(second.process)
      const { body: last } = await sendMessage('Alone again')
      await eventually(() => first.ids().length > 2 && first.rows.length > 2)
      expect([first.ids().at(-1), first.rows.at(-1)]).toEqual([last.id, last.id])
    })
  })

  test('broadcasts from SQL arrive, also of 100 kB, unless they are rolled back', async () => {
    const ana = await signUp('Ana')
    const { broadcasts } = await listen(await connect(ana.token), `user:${ana.id}`)
    const sql = openSession()
    const topic = `user:${ana.id}`
    await sql.begin(async (transaction) => {
      await transaction`
        select realtime.send(payload => '{"n": 0}', event => 'said', topic => ${topic}, private => true)`
      throw new Error('roll back')
    }).catch(() => {})
    await sql`
      select realtime.send(
        payload => jsonb_build_object('text', repeat('é', 50000)), event => 'said', topic => ${topic}, private => true
      )`
    await sql`
      select realtime.send_binary(payload => '\\x0001ff', event => 'bytes', topic => ${topic}, private => true)`
    await sql`select realtime.send(payload => '{}', event => 'said', topic => ${topic}, private => false)`
    await sql`
      select realtime.broadcast_changes(
        topic_name => ${topic},
        event_name => 'changed',
        operation => 'INSERT',
        table_name => 'users',
        table_schema => 'public',
        new => row(1),
        old => null::record
      )`
    await eventually(() => broadcasts.length >= 3)
    expect(broadcasts.map(({ event }) => event)).toEqual(['said', 'bytes', 'changed'])
    expect(broadcasts[0]!.payload).toEqual({ id: broadcasts[0]!.meta!.id, text: 'é'.repeat(50_000) })
    expect(new Uint8Array(broadcasts[1]!.payload as unknown as ArrayBuffer)).toEqual(new Uint8Array([0, 1, 255]))
    expect(broadcasts[2]!.payload).toMatchObject({ operation: 'INSERT', table: 'users', schema: 'public' })
  })
})
