// A block takes effect on open channels, and only the blocker is notified.
import { createClient } from '@supabase/supabase-js'
import { expect, inject, onTestFinished, test } from 'vitest'
import ws from 'ws'
import { openInbox } from '../../clients/inbox.ts'
import { openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { connect, join, listen } from '../tools/realtime.ts'
import { aWhile, eventually } from '../tools/wait.ts'

const stack = inject('stack')

const pair = async () => {
  const [ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
  const conversation = await openConversation(ana, ben)
  await aWhile()
  return { ana, ben, conversation, topic: `typing:${conversation}` }
}
const block = async (blocker: Person, blocked: Person, method: 'PUT' | 'DELETE' = 'PUT') => {
  expect((await blocker.call(method, `/users/me/blocks/${blocked.id}`)).status).toBe(204)
}
const unblock = (blocker: Person, blocked: Person) => block(blocker, blocked, 'DELETE')

/** Joins the typing: topic; collects the broadcasts and the errors. */
const joinTyping = async (person: Person, topic: string) => {
  const client = await connect(person.token)
  const received: unknown[] = []
  const errors: string[] = []
  const channel = client.channel(topic, {
    config: { private: true, broadcast: { ack: true }, presence: { key: person.name } },
  })
  channel.on('broadcast', { event: 'typing' }, ({ payload }) => received.push(payload))
  channel.on('presence', { event: 'sync' }, () => {})
  channel.on('system', {}, ({ status, message }) => status === 'error' && errors.push(message))
  expect(await join(channel)).toMatchObject({ status: 'SUBSCRIBED' })
  return { client, channel, received, errors }
}
/** A user's inbox, opened as an app does. */
const inboxOf = async ({ email, password }: Person) => {
  const supabase = createClient(stack.origin, stack.publishableKey, {
    auth: { persistSession: false, storageKey: email },
    realtime: { transport: ws as unknown as typeof WebSocket },
  })
  expect((await supabase.auth.signInWithPassword({ email, password })).error).toBe(null)
  const inbox = openInbox(supabase)
  onTestFinished(async () => {
    inbox.close()
    await supabase.realtime.disconnect()
  })
  return inbox
}

const typing = { type: 'broadcast' as const, event: 'typing', payload: { typing: true } }
const refused = (topic: string) => ({
  status: 'CHANNEL_ERROR',
  reason: `Unauthorized: You do not have permissions to read from this Channel topic: ${topic}`,
})

test.each([['voyager', 0], ['local', 1]])(
  'when the %s blocks the other, both lose the typing: topic and cannot join it again until the block is removed',
  async (_, index) => {
    const { ana, ben, topic } = await pair()
    const [blocker, blocked] = index === 0 ? [ana, ben] : [ben, ana]
    const [anas, bens] = [await joinTyping(ana, topic), await joinTyping(ben, topic)]
    await anas.channel.track({ here: true })
    await bens.channel.track({ here: true })
    await anas.channel.send(typing)
    await bens.channel.send(typing)
    await eventually(() => anas.received.length > 0 && bens.received.length > 0)
    expect([anas.received.length, bens.received.length]).toEqual([1, 1])

    await block(blocker, blocked)
    await eventually(() => anas.errors.length > 0 && bens.errors.length > 0)
    const error = `You do not have permissions to read from this Channel topic: ${topic}`
    expect([anas.errors, bens.errors]).toEqual([[error], [error]])
    // Also over HTTP, to which supabase-js falls back.
    for (const { channel } of [anas, bens]) await expect(channel.httpSend('typing', {})).rejects.toThrow('Unauthorized')
    await aWhile()
    expect([anas.received.length, bens.received.length]).toEqual([1, 1])
    for (const { client, channel } of [anas, bens]) {
      await client.removeChannel(channel)
      expect(await listen(client, topic)).toMatchObject(refused(topic))
    }

    await unblock(blocker, blocked)
    const [again, other] = [await joinTyping(ana, topic), await joinTyping(ben, topic)]
    await other.channel.send(typing)
    await eventually(() => again.received.length > 0)
    expect(again.received).toEqual([typing.payload])
    expect(Object.keys(again.channel.presenceState())).toEqual([])
  },
)

test('a block is broadcast to the blocker alone, and the blocked user keeps their own topic', async () => {
  const { ana, ben, conversation } = await pair()
  const [phone, laptop, bens] = [
    await listen(await connect(ana.token), `user:${ana.id}`),
    await listen(await connect(ana.token), `user:${ana.id}`),
    await listen(await connect(ben.token), `user:${ben.id}`),
  ]
  await block(ana, ben)
  await eventually(() => phone.broadcasts.length > 0 && laptop.broadcasts.length > 0)
  for (const { broadcasts } of [phone, laptop]) {
    expect(broadcasts).toMatchObject([{
      event: 'block.changed',
      payload: { conversation_id: conversation, id: null, previous_id: null, user_id: ben.id },
    }])
  }
  await aWhile()
  expect(bens.broadcasts).toEqual([])
  await unblock(ana, ben)
  await sendMessage(ben, conversation, 'Hello again')
  await eventually(() => bens.broadcasts.length > 0)
  expect(bens.broadcasts.map(({ event }) => event)).toEqual(['message.created'])
})

test('a block between other users changes nothing', async () => {
  const { ana, ben, topic } = await pair()
  const cat = await signUp('Cat')
  const [anas, bens] = [await joinTyping(ana, topic), await joinTyping(ben, topic)]
  await openConversation(ana, cat)
  await block(ana, cat)
  await block(cat, ben)
  await aWhile()
  await anas.channel.send(typing)
  await eventually(() => bens.received.length > 0)
  expect([anas.errors, bens.errors, bens.received]).toEqual([[], [], [typing.payload]])
})

test('a user who joins during the block is not on the topic afterwards', async () => {
  for (let round = 0; round < 5; round++) {
    const { ana, ben, topic } = await pair()
    const received: unknown[] = []
    const client = await connect(ben.token)
    const channel = client.channel(topic, { config: { private: true, broadcast: { self: true } } })
    channel.on('broadcast', { event: 'typing' }, ({ payload }) => received.push(payload))
    channel.subscribe()
    await block(ana, ben)
    await aWhile()
    await channel.send(typing).catch(() => {})
    await aWhile()
    expect(received).toEqual([])
    await client.removeAllChannels()
  }
})

test('in our client the typing indicator ends with a block, and works again after it is removed', async () => {
  const { ana, ben, conversation } = await pair()
  const [anas, bens] = [await inboxOf(ana), await inboxOf(ben)]
  const [anasView, bensView] = [anas.open(conversation), bens.open(conversation)]
  const types = (typist: typeof anasView, seenBy: typeof anasView, seconds = 20) => {
    const keys = setInterval(() => typist.typing(), 100)
    return eventually(() => seenBy.view.typing, seconds).finally(() => clearInterval(keys))
  }
  await types(bensView, anasView)
  expect(anasView.view.typing).toBe(true)
  await block(ana, ben)
  await eventually(() => !anasView.view.typing, 2)
  expect(anasView.view.typing).toBe(false)
  await types(bensView, anasView, 4)
  await types(anasView, bensView, 1)
  expect(anasView.view.typing).toBe(false)
  await unblock(ana, ben)
  // Ben's client was refused, so it waits for minutes, or for a sign that the block has gone.
  await sendMessage(ana, conversation, 'Hello again')
  await types(bensView, anasView)
  expect(anasView.view.typing).toBe(true)
})
