import { expect, inject, test } from 'vitest'
import { asAdmin, call, openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { connect, listen } from '../tools/realtime.ts'
import { aWhile, eventually, pause } from '../tools/wait.ts'

const stack = inject('stack')

/** Two users, each subscribed to their own topic. */
const subscribePair = async () => {
  const [ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
  const clients = await Promise.all([connect(ana.token), connect(ben.token)])
  const [anas, bens] = await Promise.all([listen(clients[0], `user:${ana.id}`), listen(clients[1], `user:${ben.id}`)])
  return { ana, ben, anas, bens, clients }
}

type Subscription = Awaited<ReturnType<typeof listen>>
const eventsOf = ({ broadcasts }: Subscription) => broadcasts.map(({ event, payload }) => ({ event, payload }))

test('all devices of both participants receive each event of a conversation once', async () => {
  const { ana, ben, anas, bens } = await subscribePair()
  const laptop = await listen(await connect(ana.token), `user:${ana.id}`)
  const conversation_id = await openConversation(ana, ben)

  const first = await sendMessage(ana, conversation_id, 'Hello')
  const second = await sendMessage(ben, conversation_id, 'Welcome')
  await ben.call('PATCH', `/conversations/${conversation_id}/messages/${first.id}/read`)
  await ana.call('POST', `/conversations/${conversation_id}/read`, { up_to_message_id: second.id })
  const [reservation] = (await asAdmin('POST', 'reservations', {
    conversation_id,
    title: 'A walk',
    price: 20,
    date: '2027-01-01T10:00:00Z',
  })).body
  await asAdmin('PATCH', `reservations?id=eq.${reservation.id}`, { status: 'accepted' })
  await asAdmin('DELETE', `reservations?id=eq.${reservation.id}`)

  const event = (name: string, id: number, previous_id: number | null, user_id: number | null) => ({
    event: name,
    payload: { conversation_id, id, previous_id, user_id },
  })
  const expected = [
    event('message.created', first.id, null, ana.id),
    event('message.created', second.id, first.id, ben.id),
    event('message.read', first.id, null, ben.id),
    event('message.read', second.id, first.id, ana.id),
    ...Array(3).fill(event('reservation.changed', reservation.id, null, null)),
  ]
  const devices = [anas, laptop, bens]
  await eventually(() => devices.every(({ broadcasts }) => broadcasts.length > expected.length))
  await aWhile()
  const opened = event('conversation.created', conversation_id, null, ana.id)
  for (const device of devices) expect(eventsOf(device)).toEqual([opened, ...expected])
  // Clients use the id of a broadcast to skip those that they have received.
  const ids = anas.broadcasts.map(({ meta }) => meta!.id)
  expect(new Set(ids).size).toBe(expected.length + 1)
  ids.forEach((id) => expect(id).toMatch(/^[0-9a-f-]{36}$/))
})

test('other users receive nothing, and marking a message as read twice sends one event', async () => {
  const { ana, ben, anas } = await subscribePair()
  const other = await subscribePair()
  const conversation = await openConversation(ana, ben)
  const { id } = await sendMessage(ben, conversation, 'Hello')
  for (const _ of [1, 2]) await ana.call('PATCH', `/conversations/${conversation}/messages/${id}/read`)
  await eventually(() => anas.broadcasts.length >= 3)
  await aWhile()
  expect(anas.broadcasts.map(({ event }) => event)).toEqual(['conversation.created', 'message.created', 'message.read'])
  expect([...other.anas.broadcasts, ...other.bens.broadcasts]).toEqual([])
})

test('a thousand concurrent messages arrive once each and in order', async () => {
  const { ana, ben, anas, bens } = await subscribePair()
  const conversation = await openConversation(ana, ben)
  const sent: number[] = []
  const send = async (person: Person) => {
    for (let n = 0; n < 500; n++) sent.push((await sendMessage(person, conversation, `${person.name} ${n}`)).id)
  }
  await Promise.all([send(ana), send(ben)])
  const inOrder = sent.toSorted((one, other) => one - other)
  for (const { broadcasts } of [anas, bens]) {
    await eventually(() => broadcasts.length > inOrder.length)
    const created = broadcasts.filter(({ event }) => event === 'message.created').map(({ payload }) => payload)
    expect(created.map(({ id }) => id)).toEqual(inOrder)
    expect(created.map(({ previous_id }) => previous_id)).toEqual([null, ...inOrder.slice(0, -1)])
  }
}, 240_000)

const post = (topic: string, payload: unknown, headers: Record<string, string>, isPrivate = true) =>
  call('POST', `${stack.origin}/realtime/v1/api/broadcast`, {
    messages: [{ topic, event: 'notice', payload, private: isPrivate }],
  }, { headers })

test('the secret key can broadcast 100 kB over HTTP, and users cannot', async () => {
  const { ana, ben, anas, bens } = await subscribePair()
  const payload = { text: 'é'.repeat(50_000) }
  const secret = { apikey: stack.secretKey }
  expect((await post(`user:${ana.id}`, payload, secret)).status).toBe(202)
  await eventually(() => anas.broadcasts.length > 0)
  expect(eventsOf(anas)).toEqual([{ event: 'notice', payload }])

  const mine = { apikey: stack.publishableKey, Authorization: `Bearer ${ben.token}` }
  // As on the platform, a dropped broadcast is answered as a sent one.
  for (const headers of [mine, { apikey: stack.publishableKey }]) {
    expect((await post(`user:${ana.id}`, { id: 1 }, headers)).status).toBe(202)
  }
  expect((await post(`user:${ana.id}`, { id: 1 }, secret, false)).status).toBe(202)
  expect((await call('POST', `${stack.origin}/realtime/v1/api/broadcast`, {}, { headers: secret })).status).toBe(422)
  const tooLarge = await post(`user:${ana.id}`, { text: 'a'.repeat(3_000_001) }, secret)
  expect(tooLarge.status).toBe(413)
  await pause(100)
  expect([anas.broadcasts.length, bens.broadcasts.length]).toEqual([1, 0])
})

test('participants can broadcast typing over HTTP, as JSON or bytes', async () => {
  const { ana, ben, clients } = await subscribePair()
  const conversation = await openConversation(ana, ben)
  const subscription = await listen(clients[1], `typing:${conversation}`)
  const channel = clients[0].channel(`typing:${conversation}`, { config: { private: true } })
  expect(await channel.httpSend('typing', { user_id: ana.id })).toEqual({ success: true })
  expect(await channel.httpSend('typing', new Uint8Array([1, 2, 255]))).toEqual({ success: true })
  await eventually(() => subscription.broadcasts.length === 2)
  expect(subscription.broadcasts[0]).toMatchObject({ event: 'typing', payload: { user_id: ana.id } })
  expect(new Uint8Array(subscription.broadcasts[1]!.payload as unknown as ArrayBuffer)).toEqual(
    new Uint8Array([1, 2, 255]),
  )
  const preflight = await fetch(`${stack.origin}/realtime/v1/api/broadcast`, {
    method: 'OPTIONS',
    headers: { Origin: 'https://app.example', 'Access-Control-Request-Method': 'POST' },
  })
  expect(preflight.status).toBe(204)
  expect(preflight.headers.get('Access-Control-Allow-Origin')).toBe('*')
})

test('a join can replay the newest 25 broadcasts, and an outsider cannot', async () => {
  const { ana, ben } = await subscribePair()
  const conversation = await openConversation(ana, ben)
  const since = Date.now() - 1000
  const ids: number[] = []
  for (let n = 0; n < 30; n++) ids.push((await sendMessage(ana, conversation, `${n}`)).id)
  await aWhile()
  const replay = { since, limit: 100 }
  const subscription = await listen(await connect(ben.token), `user:${ben.id}`, { replay })
  await eventually(() => subscription.broadcasts.length >= 25)
  await aWhile()
  expect(subscription.broadcasts.map(({ payload }) => payload.id)).toEqual(ids.slice(-25))
  expect(subscription.broadcasts.every(({ meta }) => meta!.replayed)).toBe(true)
  const outsider = await listen(await connect((await signUp('Mallory')).token), `user:${ben.id}`, { replay })
  expect(outsider).toMatchObject({ status: 'CHANNEL_ERROR', broadcasts: [] })
})

test('protocol 1.0.0 works too', async () => {
  const [ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
  const subscription = await listen(await connect(ben.token, { vsn: '1.0.0' }), `user:${ben.id}`)
  expect(subscription.status).toBe('SUBSCRIBED')
  const conversation = await openConversation(ana, ben)
  await eventually(() => subscription.broadcasts.length > 0)
  expect(subscription.broadcasts).toMatchObject([{
    event: 'conversation.created',
    payload: { id: conversation },
    meta: {},
  }])
})
