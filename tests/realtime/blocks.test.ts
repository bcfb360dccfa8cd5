// A block reaches channels that are open already, and nobody but who made it is told.
import { createClient } from '@supabase/supabase-js'
import { expect, inject, onTestFinished, test } from 'vitest'
import ws from 'ws'
import { openInbox } from '../../clients/inbox.ts'
import { converse, type Person, say, signUp } from '../tools/people.ts'
import { connect, join, listen } from '../tools/realtime.ts'
import { aWhile, eventually } from '../tools/wait.ts'

const stack = inject('stack')

const pair = async () => {
  const [ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
  const conversation = await converse(ana, ben)
  await aWhile()
  return { ana, ben, conversation, topic: `typing:${conversation}` }
}
const block = async (who: Person, whom: Person) => {
  expect((await who.call('PUT', `/users/me/blocks/${whom.id}`)).status).toBe(204)
}
const unblock = async (who: Person, whom: Person) => {
  expect((await who.call('DELETE', `/users/me/blocks/${whom.id}`)).status).toBe(204)
}

/** Somebody on the topic of the two: what they are sent there, who they see there, and how it ended. */
const typist = async (person: Person, topic: string) => {
  const client = await connect(person.token)
  const heard: unknown[] = []
  const ended: string[] = []
  const channel = client.channel(topic, {
    config: { private: true, broadcast: { ack: true }, presence: { key: person.name } },
  })
  channel.on('broadcast', { event: 'typing' }, ({ payload }) => heard.push(payload))
  channel.on('presence', { event: 'sync' }, () => {})
  channel.on('system', {}, ({ status, message }) => status === 'error' && ended.push(message))
  expect(await join(channel)).toMatchObject({ status: 'SUBSCRIBED' })
  return { client, channel, heard, ended }
}
/** Somebody's inbox, as an app opens it. */
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

const sign = { type: 'broadcast' as const, event: 'typing', payload: { typing: true } }
const refused = (topic: string) => ({
  status: 'CHANNEL_ERROR',
  reason: `Unauthorized: You do not have permissions to read from this Channel topic: ${topic}`,
})

test.each([['the voyager', 0], ['the local', 1]])(
  'where %s blocks the other, both are put off the topic where they type, and neither joins it again',
  async (_, blocker) => {
    const { ana, ben, topic } = await pair()
    const [who, whom] = blocker === 0 ? [ana, ben] : [ben, ana]
    const [anas, bens] = [await typist(ana, topic), await typist(ben, topic)]
    await anas.channel.track({ here: true })
    await bens.channel.track({ here: true })
    await anas.channel.send(sign)
    await bens.channel.send(sign)
    await eventually(() => anas.heard.length > 0 && bens.heard.length > 0)
    expect([anas.heard.length, bens.heard.length]).toEqual([1, 1])

    await block(who, whom)
    await eventually(() => anas.ended.length > 0 && bens.ended.length > 0)
    const end = `You no longer have permission to read from this Channel topic: ${topic}`
    expect([anas.ended, bens.ended]).toEqual([[end], [end]])
    // Over HTTP, too, which is what supabase-js falls back on.
    for (const { channel } of [anas, bens]) await expect(channel.httpSend('typing', {})).rejects.toThrow('Unauthorized')
    await aWhile()
    expect([anas.heard.length, bens.heard.length]).toEqual([1, 1])
    for (const { client, channel } of [anas, bens]) {
      await client.removeChannel(channel)
      expect(await listen(client, topic)).toMatchObject(refused(topic))
    }

    await unblock(who, whom)
    const [again, other] = [await typist(ana, topic), await typist(ben, topic)]
    await other.channel.send(sign)
    await eventually(() => again.heard.length > 0)
    expect(again.heard).toEqual([sign.payload])
    expect(Object.keys(again.channel.presenceState())).toEqual([])
  },
)

test('only the devices of whoever blocks are told of it, and whoever is blocked stays on all the topics that say nothing of it', async () => {
  const { ana, ben, conversation } = await pair()
  const [phone, laptop, bens, theirs] = [
    await listen(await connect(ana.token), `user:${ana.id}`),
    await listen(await connect(ana.token), `user:${ana.id}`),
    await listen(await connect(ben.token), `user:${ben.id}`),
    await listen(await connect(ben.token), `conversation:${conversation}`),
  ]
  await block(ana, ben)
  await eventually(() => phone.heard.length > 0 && laptop.heard.length > 0)
  for (const { heard } of [phone, laptop]) {
    expect(heard).toMatchObject([{
      event: 'block.changed',
      payload: { conversation_id: conversation, id: null, previous_id: null, user_id: ben.id },
    }])
  }
  await aWhile()
  expect([bens.heard, theirs.heard]).toEqual([[], []])
  await unblock(ana, ben)
  await say(ben, conversation, 'Hello again')
  await eventually(() => bens.heard.length > 0 && theirs.heard.length > 0)
  for (const { heard } of [bens, theirs]) expect(heard.map(({ event }) => event)).toEqual(['message.created'])
})

test('a block between others changes nothing', async () => {
  const { ana, ben, topic } = await pair()
  const cat = await signUp('Cat')
  const [anas, bens] = [await typist(ana, topic), await typist(ben, topic)]
  await converse(ana, cat)
  await block(ana, cat)
  await block(cat, ben)
  await aWhile()
  await anas.channel.send(sign)
  await eventually(() => bens.heard.length > 0)
  expect([anas.ended, bens.ended, bens.heard]).toEqual([[], [], [sign.payload]])
})

test('whoever joins while they are blocked is not there afterwards', async () => {
  for (let round = 0; round < 5; round++) {
    const { ana, ben, topic } = await pair()
    const heard: unknown[] = []
    const client = await connect(ben.token)
    const channel = client.channel(topic, { config: { private: true, broadcast: { self: true } } })
    channel.on('broadcast', { event: 'typing' }, ({ payload }) => heard.push(payload))
    channel.subscribe()
    await block(ana, ben)
    await aWhile()
    await channel.send(sign).catch(() => {})
    await aWhile()
    expect(heard).toEqual([])
    await client.removeAllChannels()
  }
})

test('with our clients, whoever blocks somebody who is typing sees them type no more, and both see it again afterwards', async () => {
  const { ana, ben, conversation } = await pair()
  const [anas, bens] = [await inboxOf(ana), await inboxOf(ben)]
  const [chat, theirs] = [anas.open(conversation), bens.open(conversation)]
  const types = (typist: typeof chat, seenBy: typeof chat, seconds = 20) => {
    const keys = setInterval(() => typist.typing(), 100)
    return eventually(() => seenBy.view.typing, seconds).finally(() => clearInterval(keys))
  }
  await types(theirs, chat)
  expect(chat.view.typing).toBe(true)
  await block(ana, ben)
  await eventually(() => !chat.view.typing, 2)
  expect(chat.view.typing).toBe(false)
  await types(theirs, chat, 4)
  await types(chat, theirs, 1)
  expect(chat.view.typing).toBe(false)
  await unblock(ana, ben)
  await types(theirs, chat, 50)
  expect(chat.view.typing).toBe(true)
})
