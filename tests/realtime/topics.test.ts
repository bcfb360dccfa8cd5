import { expect, inject, test } from 'vitest'
import { asAdmin, openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { connect, join, listen } from '../tools/realtime.ts'
import { aWhile, eventually } from '../tools/wait.ts'

const stack = inject('stack')

const pair = async (): Promise<{ ana: Person; ben: Person; conversation: number }> => {
  const [ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
  const conversation = await openConversation(ana, ben)
  await aWhile()
  return { ana, ben, conversation }
}

const unauthorized = (topic: string) => ({
  status: 'CHANNEL_ERROR',
  reason: `Unauthorized: You do not have permissions to read from this Channel topic: ${topic}`,
})

test('users can join their own topic and the typing: topics of their conversations', async () => {
  const { ana, ben, conversation } = await pair()
  for (const person of [ana, ben]) {
    const client = await connect(person.token)
    for (const topic of [`user:${person.id}`, `typing:${conversation}`]) {
      expect(await listen(client, topic)).toMatchObject({ status: 'SUBSCRIBED' })
    }
  }
})

test('users cannot join topics of others, unknown topics, or public channels', async () => {
  const { ana, conversation } = await pair()
  const mallory = await connect((await signUp('Mallory')).token)
  const anonymous = await connect()
  const unknown = ['room', 'typing:abc', 'typing:99999999999999999999', `conversation:${conversation}`]
  const participant = await connect(ana.token)
  const expectRefused = async (client: typeof mallory, topic: string) => {
    const { channel, ...joined } = await listen(client, topic)
    expect(joined).toMatchObject(unauthorized(topic))
    // It would try again, and hold up the connection for five seconds each time.
    await client.removeChannel(channel)
  }
  for (const topic of [`user:${ana.id}`, `typing:${conversation}`, ...unknown]) {
    const clients = unknown.includes(topic) ? [mallory, anonymous, participant] : [mallory, anonymous]
    await Promise.all(clients.map((client) => expectRefused(client, topic)))
  }
  expect(await join((await connect(ana.token)).channel(`typing:${conversation}`))).toEqual({
    status: 'CHANNEL_ERROR',
    reason: 'PrivateOnly: This project only allows private channels',
  })
})

test.each([
  ['deactivated', ({ id }: Person) => asAdmin('PATCH', `users?id=eq.${id}`, { is_active: false })],
  ['erased', (person: Person) => person.call('DELETE', '/users/me')],
])('a user who was %s cannot join, and receives nothing on channels that they had joined', async (_, remove) => {
  const { ana, ben, conversation } = await pair()
  const client = await connect(ana.token)
  const before = await listen(client, `user:${ana.id}`)
  const partner = await listen(await connect(ben.token), `user:${ben.id}`)
  expect((await remove(ana)).status).toBeLessThan(300)
  for (const topic of [`user:${ana.id}`, `typing:${conversation}`]) {
    expect(await listen(await connect(ana.token), topic)).toMatchObject(unauthorized(topic))
  }
  // The only event that can still happen in a conversation with a deleted user.
  await asAdmin('POST', 'reservations', {
    conversation_id: conversation,
    title: 'Harbour walk',
    price: 9,
    date: '2027-01-01',
  })
  // A join shortly after the conversation was created may receive that event too.
  const newEvents = ({ broadcasts }: typeof partner) =>
    broadcasts.filter(({ event }) => event !== 'conversation.created')
  await eventually(() => newEvents(partner).length > 0)
  await aWhile()
  expect(newEvents(partner)).toHaveLength(1)
  expect({ status: before.status, broadcasts: newEvents(before) }).toEqual({ status: 'SUBSCRIBED', broadcasts: [] })
})

test('users cannot forge events of the database, neither with ack nor over HTTP', async () => {
  const { ana, ben, conversation } = await pair()
  const forger = await connect(ana.token)
  const bens = await listen(await connect(ben.token), `user:${ben.id}`)
  const laptop = await listen(await connect(ana.token), `user:${ana.id}`)
  const self = await listen(forger, `user:${ana.id}`, { ack: true, self: true })
  const forged = { type: 'broadcast' as const, event: 'message.created', payload: { id: 1 } }
  expect(await self.channel.send(forged, { timeout: 500 })).toBe('timed out')
  await expect(self.channel.httpSend('message.created', { id: 1 })).rejects.toThrow('Unauthorized')
  expect(await forger.channel(`user:${ben.id}`, { config: { private: true } }).send(forged)).toBe('ok')
  // The database's event arrives after the forged ones, and alone.
  const { id } = await sendMessage(ben, conversation, 'True')
  const subscriptions = [bens, laptop, self]
  await eventually(() => subscriptions.every(({ broadcasts }) => broadcasts.length > 0))
  for (const { broadcasts } of subscriptions) expect(broadcasts.map(({ payload }) => payload.id)).toEqual([id])
})

test('participants see typing and presence of each other, and outsiders see neither', async () => {
  const { ana, ben, conversation } = await pair()
  const topic = `typing:${conversation}`
  const config = { private: true, broadcast: { ack: true } }
  const received: unknown[] = []
  const bens = (await connect(ben.token)).channel(topic, { config: { ...config, presence: { key: 'ben' } } })
  bens.on('broadcast', { event: 'typing' }, ({ payload }) => received.push(payload))
  bens.on('presence', { event: 'sync' }, () => {})
  expect(await join(bens)).toMatchObject({ status: 'SUBSCRIBED' })
  const anas = (await connect(ana.token)).channel(topic, { config: { ...config, presence: { key: 'ana' } } })
  anas.on('presence', { event: 'sync' }, () => {})
  expect(await join(anas)).toMatchObject({ status: 'SUBSCRIBED' })

  expect(await anas.send({ type: 'broadcast', event: 'typing', payload: { user_id: ana.id, who: 'Inês é 😀' } })).toBe(
    'ok',
  )
  await eventually(() => received.length > 0)
  expect(received).toEqual([{ user_id: ana.id, who: 'Inês é 😀' }])

  expect(await anas.track({ mood: 'calm' })).toBe('ok')
  expect(await bens.track({ mood: 'busy' })).toBe('ok')
  await eventually(() =>
    Object.keys(bens.presenceState()).length === 2 && Object.keys(anas.presenceState()).length === 2
  )
  expect(bens.presenceState()).toMatchObject({ ana: [{ mood: 'calm' }], ben: [{ mood: 'busy' }] })
  expect(anas.presenceState()).toMatchObject({ ana: [{ mood: 'calm' }], ben: [{ mood: 'busy' }] })
  await anas.track({ mood: 'glad' })
  await eventually(() => JSON.stringify(bens.presenceState()).includes('glad'))
  expect(bens.presenceState().ana).toMatchObject([{ mood: 'glad' }])
  await bens.untrack()
  await eventually(() => anas.presenceState().ben === undefined)
  expect(Object.keys(anas.presenceState())).toEqual(['ana'])

  const outsider = await connect((await signUp('Mallory')).token)
  const theirs = outsider.channel(topic, { config })
  expect(await join(theirs)).toMatchObject(unauthorized(topic))
  expect(await outsider.channel(topic, { config }).send({ type: 'broadcast', event: 'typing', payload: {} })).toBe('ok')

  await anas.unsubscribe()
  await eventually(() => bens.presenceState().ana === undefined)
  expect(bens.presenceState()).toEqual({})
  expect(received).toHaveLength(1)
})

test('a sender receives its own broadcasts with self, and not without', async () => {
  const { ana, ben, conversation } = await pair()
  const topic = `typing:${conversation}`
  const [anas, bens] = await Promise.all([connect(ana.token), connect(ben.token)])
  const self = await listen(anas, topic, { self: true })
  const partner = await listen(bens, topic)
  for (const { channel } of [self, partner]) {
    await channel.send({
      type: 'broadcast',
      event: 'typing',
      payload: { by: channel === self.channel ? 'ana' : 'ben' },
    })
    await eventually(() => self.broadcasts.length + partner.broadcasts.length >= 2)
  }
  await eventually(() => self.broadcasts.length >= 2)
  await aWhile()
  expect(self.broadcasts.map(({ payload }) => payload.by)).toEqual(['ana', 'ben'])
  expect(partner.broadcasts.map(({ payload }) => payload.by)).toEqual(['ana'])
})

test('a lost connection ends presence', async () => {
  const { ana, ben, conversation } = await pair()
  const config = { private: true }
  const bens = (await connect(ben.token)).channel(`typing:${conversation}`, { config })
  bens.on('presence', { event: 'sync' }, () => {})
  await join(bens)
  const client = await connect(ana.token)
  const anas = client.channel(`typing:${conversation}`, { config: { ...config, presence: { key: 'ana' } } })
  await join(anas)
  await anas.track({})
  await eventually(() => bens.presenceState().ana !== undefined)
  expect(Object.keys(bens.presenceState())).toEqual(['ana'])
  client.realtime.disconnect()
  await eventually(() => bens.presenceState().ana === undefined)
  expect(bens.presenceState()).toEqual({})
})

test('an invalid key is rejected', async () => {
  const { status } = await listen(await connect(undefined, { key: 'sb_publishable_wrong' }), 'user:1')
  expect(status).toBe('CHANNEL_ERROR')
  const answer = await fetch(`${stack.origin}/realtime/v1/api/broadcast`, {
    method: 'POST',
    headers: { apikey: 'wrong', 'Content-Type': 'application/json' },
    body: JSON.stringify({ messages: [{ topic: 'user:1', event: 'x', payload: {}, private: true }] }),
  })
  expect(answer.status).toBe(401)
  expect(await answer.json()).toEqual({ error: 'The token provided is not a valid JWT' })
})

test('after five calls of presence within half a minute the channel is closed', async () => {
  const { ana, conversation } = await pair()
  const channel = (await connect(ana.token)).channel(`typing:${conversation}`, { config: { private: true } })
  const errors: string[] = []
  channel.on('system', {}, ({ message }) => errors.push(message))
  expect(await join(channel)).toMatchObject({ status: 'SUBSCRIBED' })
  for (let count = 0; count < 5; count++) expect(await channel.track({ count })).toBe('ok')
  expect(errors).toEqual([])
  channel.track({ count: 5 })
  await eventually(() => errors.length > 0)
  expect(errors).toEqual(['Client presence rate limit exceeded'])
})
