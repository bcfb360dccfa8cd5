import {
  REALTIME_POSTGRES_CHANGES_LISTEN_EVENT,
  type RealtimeChannel,
  type SupabaseClient,
} from '@supabase/supabase-js'
import { expect, inject, test } from 'vitest'
import { asAdmin, converse, type Person, say, signUp } from '../tools/people.ts'
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

type Verb = '*' | 'INSERT' | 'UPDATE' | 'DELETE'

/** Follows the rows of messages on a private topic, and waits until the database has agreed or refused. */
const followOn = async (
  client: SupabaseClient,
  topic: string,
  wanted: { event?: Verb; filter?: string; table?: string } = {},
): Promise<{ changes: Change[]; answer: { status: string; message: string }; channel: RealtimeChannel }> => {
  const changes: Change[] = []
  const answers: { status: string; message: string }[] = []
  const channel = client.channel(topic, { config: { private: true } })
  channel.on('system', {}, (answer) => answers.push(answer))
  channel.on(
    'postgres_changes',
    {
      schema: 'public',
      table: 'messages',
      ...wanted,
      event: (wanted.event ?? '*') as `${REALTIME_POSTGRES_CHANGES_LISTEN_EVENT.ALL}`,
    },
    (change) => changes.push(change as unknown as Change),
  )
  expect(await join(channel)).toMatchObject({ status: 'SUBSCRIBED' })
  await eventually(() => answers.length > 0)
  return { changes, answer: answers[0]!, channel }
}

/** Somebody follows on their own topic, by a connection of its own: supabase-js has one channel for a topic. */
const follow = async ({ id, token }: Person, wanted?: Parameters<typeof followOn>[2]) =>
  await followOn(await connect(token), `user:${id}`, wanted)

const pair = async (): Promise<{ ana: Person; ben: Person; conversation: number }> => {
  const [ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
  return { ana, ben, conversation: await converse(ana, ben) }
}

test('participants follow the rows of messages as they are written, read and removed', async () => {
  const { ana, ben, conversation } = await pair()
  const { changes, answer } = await follow(ana, { filter: `conversation_id=eq.${conversation}` })
  expect(answer).toMatchObject({ status: 'ok', message: 'Subscribed to PostgreSQL' })
  const { id } = await say(ben, conversation, 'Welcome')
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
  const place = {
    schema: 'public',
    table: 'messages',
    commit_timestamp: expect.stringMatching(/\.\d{3}Z$/),
    errors: null,
  }
  expect(changes).toEqual([
    { ...place, eventType: 'INSERT', new: { ...row, read: false }, old: {} },
    { ...place, eventType: 'UPDATE', new: { ...row, read: true }, old: { id } },
  ])

  // Of what was removed only the key is told, so a filter on anything else says no.
  const all = await follow(ana, { event: 'DELETE' })
  await asAdmin('DELETE', `messages?id=eq.${id}`)
  await eventually(() => all.changes.length >= 1)
  expect(all.changes).toMatchObject([{ eventType: 'DELETE', new: {}, old: { id } }])
  await aWhile()
  expect(changes).toHaveLength(2)
})

test('outsiders see no row, nor do the deactivated, who had joined before', async () => {
  const { ana, ben, conversation } = await pair()
  const [gone, mallory] = await Promise.all([signUp('Gone'), signUp('Mallory')])
  const theirs = await converse(gone, ben)
  const [partner, ...outsiders] = await Promise.all([follow(ana), follow(gone), follow(mallory)])
  await asAdmin('PATCH', `users?id=eq.${gone.id}`, { is_active: false })
  await say(ben, theirs, 'Still there?')
  const { id } = await say(ben, conversation, 'Only for Ana')
  await eventually(() => partner.changes.length >= 1)
  await aWhile()
  expect(partner.changes.map((change) => change.new.id)).toEqual([id])
  for (const { changes } of outsiders) expect(changes).toEqual([])
})

test.each([
  ['a public channel', {}, 'PrivateOnly: This project only allows private channels'],
  ['a topic of their own making', { private: true }, /^Unauthorized: .*: rows$/],
])('rows are not followed on %s', async (_, config, reason) => {
  for (const client of [await connect((await signUp('Ana')).token), await connect()]) {
    const channel = client.channel('rows', { config })
    channel.on('postgres_changes', { event: '*', schema: 'public', table: 'messages' }, () => {})
    const joined = await join(channel)
    expect(joined).toMatchObject({ status: 'CHANNEL_ERROR' })
    expect(joined.reason).toMatch(reason)
  }
})

test('events and rows come through one channel', async () => {
  const { ana, ben, conversation } = await pair()
  const client = await connect(ana.token)
  const events: unknown[] = []
  client.channel(`user:${ana.id}`, { config: { private: true } }).on(
    'broadcast',
    { event: 'message.created' },
    ({ payload }) => events.push(payload.id),
  )
  const { changes } = await followOn(client, `user:${ana.id}`)
  // A token that is renewed changes nothing about it.
  await client.realtime.setAuth(resign(ana.token, { renewed: true }))
  const { id } = await say(ben, conversation, 'Hello')
  await eventually(() => events.length > 0 && changes.length > 0)
  expect([events, changes.map((change) => change.new.id)]).toEqual([[id], [id]])
})

test('the secret key sees every row, and what left the channel sees none', async () => {
  const { ana, conversation } = await pair()
  const client = await connect(undefined, { key: stack.secretKey })
  const { changes } = await followOn(client, 'here', { event: 'INSERT', filter: `conversation_id=eq.${conversation}` })
  const left = await followOn(client, 'there', { event: 'INSERT', filter: `conversation_id=eq.${conversation}` })
  await left.channel.unsubscribe()
  await say(ana, conversation, 'Hello')
  await eventually(() => changes.length > 0)
  await aWhile()
  expect([changes.length, left.changes.length]).toEqual([1, 0])
})

test('a filter lets through what it says and nothing else', async () => {
  const { ana, ben, conversation } = await pair()
  const mine = `conversation_id=eq.${conversation}`
  const heard = async (filter: string) => ({ filter, ...await follow(ana, { event: 'INSERT', filter }) })
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
    [`${mine},client_id=isdistinct.null`, []],
  ]
  const followed: ({ expected: string[] } & Awaited<ReturnType<typeof heard>>)[] = []
  for (const [filter, expected] of filters) followed.push({ expected, ...await heard(filter) })
  await say(ana, conversation, 'Hello')
  await say(ben, conversation, 'a, "b" (c)')
  await eventually(() => followed[0]!.changes.length >= 2)
  await aWhile()
  for (const { filter, expected, changes, answer } of followed) {
    expect({ filter, status: answer.status, got: changes.map((change) => change.new.content) })
      .toEqual({ filter, status: 'ok', got: expected })
  }
})

test.each([
  ['a table that is not published', { table: 'users' }],
  ['a column that is not there', { filter: 'colour=eq.red' }],
  ['a value that is none of the column', { filter: 'id=eq.red' }],
  ['an operator that is none', { filter: 'id=almost.3' }],
  ['a statement', { filter: `id=eq.1';drop table public.messages;--` }],
  ['a column that is a statement', { filter: `id" is null; drop table public.messages; --=eq.1` }],
  ['a pattern that takes for ever', { filter: 'content=match.((a{1,255}){1,255}){1,255}' }],
])('to follow %s is refused, and the channel stays', async (_, wanted) => {
  const { answer, channel } = await follow(await signUp('Ana'), wanted)
  expect(answer).toMatchObject({ status: 'error', message: expect.stringContaining('Unable to subscribe to changes') })
  expect(channel.state).toBe('joined')
})
