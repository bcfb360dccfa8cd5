import {
  REALTIME_POSTGRES_CHANGES_LISTEN_EVENT,
  type RealtimeChannel,
  type SupabaseClient,
} from '@supabase/supabase-js'
import { expect, inject, test } from 'vitest'
import { asAdmin, openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { connect, join, resign } from '../tools/realtime.ts'
import { aWhile, eventually } from '../tools/wait.ts'

const stack = inject('stack')

interface Change {
  eventType: string
  schema: string
  table: string
  commit_timestamp: string
  new: Record<string, unknown>
  old: Record<string, unknown>
  errors: unknown
}

type Event = '*' | 'INSERT' | 'UPDATE' | 'DELETE'

/** Subscribes to changes of messages on a private topic, and waits for the reply of the database. */
const subscribeOn = async (
  client: SupabaseClient,
  topic: string,
  binding: { event?: Event; filter?: string; table?: string } = {},
): Promise<{ changes: Change[]; reply: { status: string; message: string }; channel: RealtimeChannel }> => {
  const changes: Change[] = []
  const replies: { status: string; message: string }[] = []
  const channel = client.channel(topic, { config: { private: true } })
  channel.on('system', {}, (reply) => replies.push(reply))
  channel.on(
    'postgres_changes',
    {
      schema: 'public',
      table: 'messages',
      ...binding,
      event: (binding.event ?? '*') as `${REALTIME_POSTGRES_CHANGES_LISTEN_EVENT.ALL}`,
    },
    (change) => {
      // Everybody receives the key of a deleted row, as on Supabase, and other files delete messages meanwhile.
      const isOfOthers = !binding.event && !binding.filter && change.eventType === 'DELETE'
      if (!isOfOthers) changes.push(change as unknown as Change)
    },
  )
  expect(await join(channel)).toMatchObject({ status: 'SUBSCRIBED' })
  await eventually(() => replies.length > 0)
  return { changes, reply: replies[0]!, channel }
}

/** Subscribes a user on their own topic. Each call connects, because supabase-js has one channel for a topic. */
const subscribe = async ({ id, token }: Person, binding?: Parameters<typeof subscribeOn>[2]) =>
  await subscribeOn(await connect(token), `user:${id}`, binding)

const pair = async (): Promise<{ ana: Person; ben: Person; conversation: number }> => {
  const [ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
  return { ana, ben, conversation: await openConversation(ana, ben) }
}

test('participants receive inserts, updates and deletes of messages', async () => {
  const { ana, ben, conversation } = await pair()
  const { changes, reply } = await subscribe(ana, { filter: `conversation_id=eq.${conversation}` })
  expect(reply).toMatchObject({ status: 'ok', message: 'Subscribed to PostgreSQL' })
  const { id } = await sendMessage(ben, conversation, 'Welcome')
  await ana.call('PATCH', `/conversations/${conversation}/messages/${id}/read`)
  await eventually(() => changes.length >= 2)
  const row = {
    id,
    conversation_id: conversation,
    user_id: ben.id,
    content: 'Welcome',
    attachment: null,
    client_id: null,
    created_at: expect.stringMatching(/^20\d\d-/),
  }
  const envelope = {
    schema: 'public',
    table: 'messages',
    commit_timestamp: expect.stringMatching(/\.\d{3}Z$/),
    errors: null,
  }
  expect(changes).toEqual([
    { ...envelope, eventType: 'INSERT', new: { ...row, read: false }, old: {} },
    { ...envelope, eventType: 'UPDATE', new: { ...row, read: true }, old: { id } },
  ])

  // A delete has only the key of the row, so a filter on another column does not match.
  const all = await subscribe(ana, { event: 'DELETE' })
  await asAdmin('DELETE', `messages?id=eq.${id}`)
  await eventually(() => all.changes.some(({ old }) => old.id === id))
  expect(all.changes).toContainEqual({ ...envelope, eventType: 'DELETE', new: {}, old: { id } })
  await aWhile()
  expect(changes).toHaveLength(2)
})

test('outsiders receive no change, nor do users who were deactivated after they joined', async () => {
  const { ana, ben, conversation } = await pair()
  const [gone, mallory] = await Promise.all([signUp('Gone'), signUp('Mallory')])
  const theirs = await openConversation(gone, ben)
  const [partner, ...outsiders] = await Promise.all([subscribe(ana), subscribe(gone), subscribe(mallory)])
  await asAdmin('PATCH', `users?id=eq.${gone.id}`, { is_active: false })
  await sendMessage(ben, theirs, 'Still there?')
  const { id } = await sendMessage(ben, conversation, 'Only for Ana')
  await eventually(() => partner.changes.length >= 1)
  await aWhile()
  expect(partner.changes.map((change) => change.new.id)).toEqual([id])
  for (const { changes } of outsiders) expect(changes).toEqual([])
})

test.each([
  ['a public channel', {}, 'PrivateOnly: This project only allows private channels'],
  ['an unknown private topic', { private: true }, /^Unauthorized: .*: rows$/],
])('no changes can be subscribed to on %s', async (_, config, reason) => {
  for (const client of [await connect((await signUp('Ana')).token), await connect()]) {
    const channel = client.channel('rows', { config })
    channel.on('postgres_changes', { event: '*', schema: 'public', table: 'messages' }, () => {})
    const joined = await join(channel)
    expect(joined).toMatchObject({ status: 'CHANNEL_ERROR' })
    expect(joined.reason).toMatch(reason)
  }
})

test('broadcasts and changes arrive through one channel', async () => {
  const { ana, ben, conversation } = await pair()
  const client = await connect(ana.token)
  const events: unknown[] = []
  client.channel(`user:${ana.id}`, { config: { private: true } }).on(
    'broadcast',
    { event: 'message.created' },
    ({ payload }) => events.push(payload.id),
  )
  const { changes } = await subscribeOn(client, `user:${ana.id}`)
  // A renewed token does not interrupt it.
  await client.realtime.setAuth(resign(ana.token, { renewed: true }))
  const { id } = await sendMessage(ben, conversation, 'Hello')
  await eventually(() => events.length > 0 && changes.length > 0)
  expect([events, changes.map((change) => change.new.id)]).toEqual([[id], [id]])
})

test('the secret key receives every change, and a channel that was left receives none', async () => {
  const { ana, conversation } = await pair()
  const client = await connect(undefined, { key: stack.secretKey })
  const { changes } = await subscribeOn(client, 'here', {
    event: 'INSERT',
    filter: `conversation_id=eq.${conversation}`,
  })
  const left = await subscribeOn(client, 'there', { event: 'INSERT', filter: `conversation_id=eq.${conversation}` })
  await left.channel.unsubscribe()
  await sendMessage(ana, conversation, 'Hello')
  await eventually(() => changes.length > 0)
  await aWhile()
  expect([changes.length, left.changes.length]).toEqual([1, 0])
})

test('a filter passes the changes that match and no others', async () => {
  const { ana, ben, conversation } = await pair()
  const mine = `conversation_id=eq.${conversation}`
  const subscribeWith = async (filter: string) => ({ filter, ...await subscribe(ana, { event: 'INSERT', filter }) })
  const filters: [string, string[]][] = [
    [mine, ['Hello', 'a, "b" (c)']],
    [`${mine},user_id=eq.${ana.id}`, ['Hello']],
    [`${mine},user_id=neq.${ana.id}`, ['a, "b" (c)']],
    [`${mine},user_id=not.eq.${ana.id}`, ['a, "b" (c)']],
    [`${mine},user_id=lt.${ben.id}`, ana.id < ben.id ? ['Hello'] : []],
    [`${mine},user_id=gt.${ana.id}`, ana.id < ben.id ? ['a, "b" (c)'] : []],
    [`${mine},user_id=lte.${Math.max(ana.id, ben.id)},user_id=gte.${Math.min(ana.id, ben.id)}`, [
      'Hello',
      'a, "b" (c)',
    ]],
    [`${mine},user_id=in.(${ana.id},${ben.id})`, ['Hello', 'a, "b" (c)']],
    [`${mine},content=in.(Hello,Bye)`, ['Hello']],
    [`${mine},content=eq."a, \\"b\\" (c)"`, ['a, "b" (c)']],
    [`${mine},content=like.H%`, ['Hello']],
    [`${mine},content=ilike.h%`, ['Hello']],
    [`${mine},content=match.^[A-Z]`, ['Hello']],
    [`${mine},content=imatch.^hello$`, ['Hello']],
    [`${mine},read=is.false`, ['Hello', 'a, "b" (c)']],
    [`${mine},attachment=not.is.null`, []],
  ]
  const subscriptions: ({ expected: string[] } & Awaited<ReturnType<typeof subscribeWith>>)[] = []
  for (const [filter, expected] of filters) subscriptions.push({ expected, ...await subscribeWith(filter) })
  await sendMessage(ana, conversation, 'Hello')
  await sendMessage(ben, conversation, 'a, "b" (c)')
  await eventually(() => subscriptions[0]!.changes.length >= 2)
  await aWhile()
  for (const { filter, expected, changes, reply } of subscriptions) {
    expect({ filter, status: reply.status, got: changes.map((change) => change.new.content) })
      .toEqual({ filter, status: 'ok', got: expected })
  }
})

test.each([
  ['a table that is not published', { table: 'users' }],
  ['an unknown column', { filter: 'colour=eq.red' }],
  ['a value of the wrong type', { filter: 'id=eq.red' }],
  ['a null that is a word', { filter: 'client_id=isdistinct.null' }],
  ['an unknown operator', { filter: 'id=almost.3' }],
  ['SQL in a value', { filter: `id=eq.1';drop table public.messages;--` }],
  ['SQL in a column', { filter: `id" is null; drop table public.messages; --=eq.1` }],
  ['a pattern that is slow to match', { filter: 'content=match.((a{1,255}){1,255}){1,255}' }],
])('a subscription to %s is rejected, and the channel stays open', async (_, binding) => {
  const { reply, channel } = await subscribe(await signUp('Ana'), binding)
  expect(reply).toMatchObject({ status: 'error', message: expect.stringContaining('Unable to subscribe to changes') })
  expect(channel.state).toBe('joined')
})
