// Changes of rows through our own Realtime: to whom, with which columns, with which filters.
import type { SupabaseClient } from '@supabase/supabase-js'
import { expect, inject, test } from 'vitest'
import { asAdmin, openConversation, openPair, type Person, sendMessage, signUp } from '../tools/people.ts'
import { connect, join, resign } from '../tools/realtime.ts'
import { until } from '../tools/wait.ts'

const stack = inject('stack')

interface Change {
  eventType: string
  new: Record<string, unknown>
  old: Record<string, unknown>
}
interface Binding {
  event?: '*' | 'INSERT' | 'UPDATE' | 'DELETE'
  filter?: string
  table?: string
}

/** Subscribes to changes of messages on a topic; returns the reply, the changes of each binding, and the broadcasts. */
const subscribeOn = async (client: SupabaseClient, topic: string, ...bindings: Binding[]) => {
  const replies: { status: string; message: string }[] = []
  const channel = client.channel(topic, { config: { private: true } })
  channel.on('system', {}, (reply) => replies.push(reply))
  const events: string[] = []
  channel.on('broadcast', { event: '*' }, ({ event }) => events.push(event))
  const changes = bindings.map((binding) => {
    const received: Change[] = []
    const filter = { schema: 'public', table: 'messages', ...binding, event: (binding.event ?? '*') as '*' }
    channel.on('postgres_changes', filter, (change) => received.push(change as unknown as Change))
    return received
  })
  expect(await join(channel)).toMatchObject({ status: 'SUBSCRIBED' })
  await until(() => replies.length > 0)
  return { channel, reply: replies[0]!, changes, events }
}
const subscribe = async ({ id, token }: Person, ...bindings: Binding[]) =>
  await subscribeOn(await connect(token), `user:${id}`, ...bindings)
const idsOf = (changes: Change[]) => changes.map((change) => change.new.id)
const of = (conversation: number) => `conversation_id=eq.${conversation}`

test('participants receive inserts, updates and deletes of messages, with the broadcasts on one channel', async () => {
  const { ana, ben, conversation } = await openPair()
  const client = await connect(ana.token)
  const bindings: Binding[] = [{ filter: of(conversation) }, { event: 'DELETE' }]
  const { changes: [changes, deletes], reply, events } = await subscribeOn(client, `user:${ana.id}`, ...bindings)
  expect(reply).toMatchObject({ status: 'ok', message: 'Subscribed to PostgreSQL' })
  // A renewed token does not interrupt it.
  await client.realtime.setAuth(resign(ana.token, { renewed: true }))
  const { id } = await sendMessage(ben, conversation, 'Welcome')
  // The row is read as it is delivered.
  await until(() => changes!.length === 1)
  await ana.call('PATCH', `/conversations/${conversation}/messages/${id}/read`)
  // Who may see it is looked up as it is delivered.
  await until(() => changes!.length === 2)
  await asAdmin('DELETE', `messages?id=eq.${id}`)
  await until(() => deletes!.some(({ old }) => old.id === id))
  const { id: last } = await sendMessage(ben, conversation, 'Bye')
  await until(() => idsOf(changes!).includes(last) && events.length >= 3)

  const row = {
    ...{ id, conversation_id: conversation, user_id: ben.id, content: 'Welcome', attachment: null, client_id: null },
    ...{ created_at: expect.stringMatching(/^20\d\d-/), edited_at: null, deleted_at: null },
  }
  const change = (eventType: string, entry: object, old: object) => ({
    ...{ schema: 'public', table: 'messages', errors: null, eventType, new: entry, old },
    commit_timestamp: expect.stringMatching(/\.\d{3}Z$/),
  })
  expect(changes!.slice(0, -1)).toEqual([
    change('INSERT', { ...row, read: false }, {}),
    change('UPDATE', { ...row, read: true }, { id }),
  ])
  // A delete has only the key of the row, so a filter on another column does not match, and everybody receives it.
  expect(deletes).toContainEqual(change('DELETE', {}, { id }))
  expect(events.slice(-3)).toEqual(['message.created', 'message.read', 'message.created'])
})

test('outsiders receive no change, nor does who was deactivated or has left; the secret key receives all', async () => {
  const { ana, ben, conversation } = await openPair()
  const [gone, mallory] = await Promise.all([signUp('Gone'), signUp('Mallory')])
  const [theirs, others] = [await openConversation(gone, ben), await openConversation(mallory, ben)]
  const insert = { event: 'INSERT' as const }
  const subscriptions = await Promise.all([ana, gone, mallory].map((person) => subscribe(person, insert)))
  const admin = await connect(undefined, { key: stack.secretKey })
  for (const topic of ['left', 'here']) subscriptions.push(await subscribeOn(admin, topic, insert))
  await subscriptions[3]!.channel.unsubscribe()
  await asAdmin('PATCH', `users?id=eq.${gone.id}`, { is_active: false })
  const ids: number[] = []
  for (const at of [theirs, conversation, others, conversation]) ids.push((await sendMessage(ben, at, 'Hello')).id)
  const got = () => subscriptions.map(({ changes: [all] }) => idsOf(all!))
  await until(() => [got()[0]!, got()[4]!].every((all) => all.includes(ids[3])))
  // Meanwhile other files send messages, too.
  const all = got().map((one) => one.filter((id) => ids.includes(id as number)))
  expect(all).toEqual([[ids[1], ids[3]], [], [ids[2]], [], ids])
})

test('a filter passes the changes that match and no others', async () => {
  const { ana, ben, conversation } = await openPair()
  const end = await openConversation(ana, await signUp('Cat'))
  const [both, anas, bens] = [['Hello', "It's (c)"], ['Hello'], ["It's (c)"]]
  const isFirst = ana.id < ben.id
  // deno-fmt-ignore
  const filters: [string, string[]][] = [
    [of(conversation), both], ['', [...both, 'The end']], ['content=eq.Bye', []],
    [`user_id=eq.${ben.id}`, bens], [`user_id=neq.${ben.id}`, [...anas, 'The end']],
    [`user_id=gt.${ana.id}`, isFirst ? bens : []], [`user_id=lt.${ana.id}`, isFirst ? [] : bens],
    [`conversation_id=lte.${conversation}`, both], [`conversation_id=gte.${end}`, ['The end']],
    [`user_id=in.(${ben.id},0)`, bens], ['content=in.(Hello, Bye)', anas], ["content=eq.It's (c)", bens],
  ]
  const bindings = filters.map(([filter]) => filter).concat(of(end))
  const { changes, reply } = await subscribe(ana, ...bindings.map((filter) => ({ event: 'INSERT' as const, filter })))
  expect(reply.status).toBe('ok')
  for (const [who, text] of [[ana, 'Hello'], [ben, "It's (c)"]] as const) await sendMessage(who, conversation, text)
  await sendMessage(ana, end, 'The end')
  await until(() => changes.at(-1)!.length > 0)
  const got = filters.map(([filter], index) => [filter, changes[index]!.map((change) => change.new.content)])
  expect(got).toEqual(filters)
})

test.each([
  ['a table that is not published', { table: 'users' }],
  ['an unknown column', { filter: 'colour=eq.red' }],
  ['a value of the wrong type', { filter: 'id=eq.red' }],
  ['an unknown operator', { filter: 'id=almost.3' }],
  ['SQL in a value', { filter: `id=eq.1';drop table public.messages;--` }],
  ['SQL in a column', { filter: `id" is null; drop table public.messages; --=eq.1` }],
  ['two conditions', { filter: 'id=eq.1,id=eq.2' }],
])('a subscription to %s is rejected, and the channel stays open', async (_, binding) => {
  const { reply, channel } = await subscribe(await signUp('Ana'), binding)
  expect(reply).toMatchObject({ status: 'error', message: expect.stringContaining('Unable to subscribe to changes') })
  expect(channel.state).toBe('joined')
})
