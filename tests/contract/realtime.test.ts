// Realtime as supabase-js meets it: our own, or Supabase's where tests/platform/realtime supplies it. Which event goes
// to whom and who may do what on which topic is in tests/rules/events.rules.ts; this is what arrives.
import { expect, test } from 'vitest'
import { asAdmin, openConversation, openPair, type Person, sendMessage, signUp } from '../tools/people.ts'
import { connect, type Device, join, listen, openDevice, received } from '../tools/realtime.ts'
import { until } from '../tools/wait.ts'

const pair = async () => {
  const made = await openPair()
  return { ...made, typing: `typing:${made.conversation}` }
}
const cannotRead = (topic: string) => `You do not have permissions to read from this Channel topic: ${topic}`
const expectRefused = async (token: string | undefined, topic: string): Promise<void> => {
  const client = await connect(token)
  const { channel, status, reason } = await listen(client, topic)
  expect({ status, reason }).toEqual({ status: 'CHANNEL_ERROR', reason: `Unauthorized: ${cannotRead(topic)}` })
  // It would try again, and hold up the connection for five seconds each time.
  await client.removeChannel(channel)
}
const typed = (payload: unknown) => ({ type: 'broadcast' as const, event: 'typing', payload })
test('users can join their own topic and typing: of their conversations, and nothing else', async () => {
  const { ana, ben, typing } = await pair()
  const { token: mallory } = await signUp('Mallory')
  for (const { id, token } of [ana, ben]) {
    const client = await connect(token)
    for (const topic of [`user:${id}`, typing]) expect((await listen(client, topic)).status).toBe('SUBSCRIBED')
  }
  const refused: [string | undefined, string][] = [
    ...[mallory, undefined].flatMap((token) =>
      [`user:${ana.id}`, typing].map((topic) => [token, topic] as [string, string])
    ),
    ...[mallory, undefined, ana.token].map((token) => [token, 'room'] as [string, string]),
    [ben.token, `user:${ana.id}`],
  ]
  await Promise.all(refused.map(([token, topic]) => expectRefused(token, topic)))
  expect(await join((await connect(ana.token)).channel(typing))).toEqual({
    status: 'CHANNEL_ERROR',
    reason: 'PrivateOnly: This project only allows private channels',
  })
})

test.each([
  ['deactivated', ({ id }: Person) => asAdmin('PATCH', `users?id=eq.${id}`, { is_active: false })],
  ['erased', (person: Person) => person.call('DELETE', '/users/me')],
])('a user who was %s cannot join, and receives nothing where they had joined', async (_, remove) => {
  const { ana, ben, conversation, typing } = await pair()
  const [before, partner] = await Promise.all([openDevice(ana), openDevice(ben)])
  await received(before, partner)
  expect((await remove(ana)).status).toBeLessThan(300)
  await Promise.all([`user:${ana.id}`, typing].map((topic) => expectRefused(ana.token, topic)))
  // The only event that can still happen in a conversation with a deleted user.
  const draft = { conversation_id: conversation, title: 'Harbour walk', price: 9, date: '2027-01-01' }
  const [{ id }] = (await asAdmin('POST', 'reservations', draft)).body
  const [events] = await received(partner)
  expect(events).toContainEqual(expect.objectContaining({ payload: expect.objectContaining({ id }) }))
  const own = ({ event }: { event: string }) => !['conversation.created', 'block.changed'].includes(event)
  expect(before.broadcasts.filter(own)).toEqual([])
})

test('all devices of both participants receive each event once, and nobody else any', async () => {
  const [ana, ben, mallory] = await Promise.all([signUp('Ana'), signUp('Ben'), signUp('Mallory')])
  const devices = await Promise.all([ana, ana, ben, mallory].map((person) => openDevice(person)))
  const conversation_id = await openConversation(ana, ben)
  const at = `/conversations/${conversation_id}`
  const { id } = await sendMessage(ana, conversation_id, 'Hello')
  for (const _ of [1, 2]) await ben.call('PATCH', `${at}/messages/${id}/read`)
  // The schedule of the local stack writes what the clock has done, every 5 s.
  const offer = { title: 'A walk', price: 20, date: new Date(Date.now() + 500).toISOString() }
  const { body: late } = await ana.call('POST', `${at}/reservations`, offer)
  await until(() => devices.slice(0, 3).every(({ broadcasts }) => broadcasts.length === 5))
  await ana.call('PUT', `/users/me/blocks/${ben.id}`)

  const event = (name: string, id: number | null, user_id: number | null) => ({
    event: name,
    payload: { conversation_id, id, previous_id: null, user_id },
  })
  const both = [
    event('conversation.created', conversation_id, ana.id),
    event('message.created', id, ana.id),
    event('message.read', id, ben.id),
    ...Array(2).fill(event('reservation.changed', late.id, null)),
  ]
  const anas = [...both, event('block.changed', null, ben.id)]
  expect(await received(...devices)).toEqual([anas, anas, both, []])
  // Clients use the id of a broadcast to skip those that they have received.
  const ids = devices[0]!.broadcasts.map(({ meta }) => meta!.id)
  expect(new Set(ids).size).toBe(ids.length)
  ids.forEach((id) => expect(id).toMatch(/^[0-9a-f-]{36}$/))
})

test('messages that both send at the same time, or an admin at once, arrive once each and in order', async () => {
  const { ana, ben, conversation } = await pair()
  const devices = await Promise.all([openDevice(ana), openDevice(ben)])
  const sent: number[] = []
  const send = async (person: Person) => {
    for (let n = 0; n < 20; n++) sent.push((await sendMessage(person, conversation, `${n}`)).id)
  }
  await Promise.all([ana, ana, ben, ben].map(send))
  // Those of one statement come as one batch.
  const row = { conversation_id: conversation, user_id: ana.id }
  const rows = Array.from({ length: 30 }, (_, n) => ({ ...row, content: `${n}` }))
  sent.push(...(await asAdmin('POST', 'messages', rows)).body.map(({ id }: { id: number }) => id))
  sent.sort((one, other) => one - other)
  for (const events of await received(...devices)) {
    const created = events.filter(({ event }) => event === 'message.created').map(({ payload }) => payload)
    expect(created.map(({ id }) => id)).toEqual(sent)
    expect(created.map(({ previous_id }) => previous_id)).toEqual([null, ...sent.slice(0, -1)])
  }
})

test('users cannot forge events of the database, with ack neither', async () => {
  const { ana, ben, conversation } = await pair()
  const forger = await connect(ana.token)
  const [bens, laptop] = await Promise.all([openDevice(ben), openDevice(ana)])
  const self: Device = { person: ana, ...await listen(forger, `user:${ana.id}`, { ack: true, self: true }) }
  await received(bens, laptop)
  const forged = { type: 'broadcast' as const, event: 'message.created', payload: { id: 1 } }
  expect(await self.channel.send(forged, { timeout: 500 })).toBe('timed out')
  await forger.channel(`user:${ben.id}`, { config: { private: true } }).send(forged)
  const { id } = await sendMessage(ben, conversation, 'True')
  for (const events of await received(bens, laptop, self)) {
    expect(events.filter(({ event }) => event === 'message.created').map(({ payload }) => payload.id)).toEqual([id])
  }
})

test('participants see typing and presence of each other until they leave, and outsiders see neither', async () => {
  const { ana, ben, typing } = await pair()
  const client = await connect(ana.token)
  const bens = await listen(await connect(ben.token), typing, { ack: true }, { key: 'ben' })
  const anas = await listen(client, typing, { ack: true, self: true }, { key: 'ana' })
  const payload = { user_id: ana.id, who: 'Inês é 😀' }
  expect(await anas.channel.send(typed(payload))).toBe('ok')
  expect(await bens.channel.send(typed({ by: 'ben' }))).toBe('ok')
  const outsider = await connect((await signUp('Mallory')).token)
  // Without a join supabase-js sends it over HTTP, which the platform alone takes, and drops.
  await outsider.channel(typing, { config: { private: true } }).send(typed({}))
  expect(await anas.channel.send(typed({ last: true }))).toBe('ok')
  const payloads = ({ broadcasts }: typeof anas) => broadcasts.map(({ payload }) => payload)
  await until(() => [anas, bens].every((one) => payloads(one).some(({ last }) => last)))
  // With `self` senders receive their own, too.
  const last = { last: true }
  expect([payloads(anas), payloads(bens)]).toEqual([[payload, { by: 'ben' }, last], [payload, last]])

  const states = () => [anas, bens].map(({ channel }) => JSON.stringify(channel.presenceState()))
  const mood = (who: typeof anas, key: string) =>
    (who.channel.presenceState()[key]?.[0] as { mood?: string } | undefined)?.mood
  expect(await anas.channel.track({ mood: 'calm' })).toBe('ok')
  expect(await bens.channel.track({ mood: 'busy' })).toBe('ok')
  await until(() => [anas, bens].every((who) => mood(who, 'ana') === 'calm' && mood(who, 'ben') === 'busy'))
  await anas.channel.track({ mood: 'glad' })
  await until(() => mood(bens, 'ana') === 'glad')
  await bens.channel.untrack()
  await until(() => mood(anas, 'ben') === undefined)
  expect(states().every((state) => state.includes('glad') && !state.includes('busy'))).toBe(true)
  await anas.channel.unsubscribe()
  await until(() => states()[1] === '{}')
  // A connection that is lost ends it, too.
  const again = await listen(client, typing, {}, { key: 'ana' })
  await again.channel.track({})
  await until(() => states()[1]!.includes('ana'))
  client.realtime.disconnect()
  await until(() => states()[1] === '{}')
})

test('after five calls of presence within half a minute the channel is closed', async () => {
  const { ana, typing } = await pair()
  const { channel, errors } = await listen(await connect(ana.token), typing)
  for (let count = 0; count < 5; count++) expect(await channel.track({ count })).toBe('ok')
  expect(errors).toEqual([])
  channel.track({ count: 5 })
  await until(() => errors.length > 0)
  expect(errors).toEqual(['Client presence rate limit exceeded'])
})

test('protocol 1.0.0 works too', async () => {
  const [ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
  const device = await openDevice(ben, { vsn: '1.0.0' })
  const id = await openConversation(ana, ben)
  expect(await received(device)).toMatchObject([[{ event: 'conversation.created', payload: { id } }]])
  const [anas, bens] = await Promise.all([
    listen(await connect(ana.token), `typing:${id}`),
    listen(await connect(ben.token, { vsn: '1.0.0' }), `typing:${id}`),
  ])
  for (const { channel } of [anas, bens]) await channel.send(typed({ who: 'Inês' }))
  await until(() => [anas, bens].every(({ broadcasts }) => broadcasts.length > 0))
  expect([anas.broadcasts[0]!.payload, bens.broadcasts[0]!.payload]).toEqual(Array(2).fill({ who: 'Inês' }))
})

test('an invalid key is rejected', async () => {
  const { status, reason } = await listen(await connect(undefined, { key: 'sb_publishable_wrong' }), 'user:1')
  expect({ status, reason }).toEqual({ status: 'CHANNEL_ERROR', reason: expect.stringContaining('transport failure') })
})
