import { expect, test } from 'vitest'
import { advance, openFixture, useFakeTime, withoutPolling } from './fixture.ts'

useFakeTime()

test('opens with the newest messages, oldest first, and loads older pages', async () => {
  const { chat, table } = await openFixture({}, 120)
  expect(chat.view.messages).toEqual(table.slice(70))
  expect(chat.view).toMatchObject({ hasOlder: true, loaded: true, status: 'live', other: { id: 2, name: 'Bob' } })
  const both = Promise.all([chat.older(), chat.older()])
  await advance(100)
  await both
  expect(chat.view.messages).toEqual(table.slice(20))
  chat.older()
  await advance(100)
  expect(chat.view.messages).toEqual(table)
  expect(chat.view.hasOlder).toBe(false)
})

test('shows a new message within milliseconds, with one request', async () => {
  const { chat, insertMessage, requestsWith, table } = await openFixture({}, 3)
  insertMessage(2, { content: 'Now' })
  await advance(20)
  expect(chat.view.messages).toEqual(table)
  const after = table[2]!.id
  expect(requestsWith('messages')).toEqual([`1 GET conversations/7/messages?after_id=${after}&limit=100`])
})

test('sends no request for an event of a message that is shown already', async () => {
  const { table, broadcast, requestsWith } = await openFixture({}, 3)
  broadcast('message.created', { id: table[1]!.id, previous_id: table[0]!.id, user_id: 2 })
  await advance(100)
  expect(requestsWith('messages')).toEqual([])
})

test('sends one request for an event that arrives twice', async () => {
  const { setNetwork, insertMessage, requestsWith } = await openFixture({}, 3)
  setNetwork({ eventDuplication: 1, eventDelay: 0, latency: 100 })
  insertMessage(2, { content: 'Now' })
  await advance(1000)
  expect(requestsWith('messages')).toHaveLength(1)
})

test('is "catching up" from the event that reveals a gap until the gap is filled', async () => {
  const { chat, setNetwork, insertMessage, table } = await openFixture({}, 3)
  const seen: string[] = []
  chat.subscribe(() => seen.push(`${chat.view.messages.length} ${chat.view.status}`))
  setNetwork({ eventLoss: 1 })
  insertMessage(2, { content: 'Lost' })
  setNetwork({ eventLoss: 0 })
  await advance(1000)
  expect(chat.view.messages.length).toBe(3)
  insertMessage(2, { content: 'Delivered' })
  await advance(100)
  expect(chat.view.messages).toEqual(table)
  expect(seen).toEqual(['3 catching up', '5 catching up', '5 live'])
})

test.each([
  ['next', 0],
  ['after a gap', 998],
])(
  'an event of a message that was removed before it was read adds nothing and is forgotten (%s)',
  async (_, previous) => {
    const { chat, broadcast, requests, requestsWith, table } = await openFixture(withoutPolling, 3)
    const payload = { id: 999, previous_id: previous || table[2]!.id, user_id: 2 }
    broadcast('message.created', payload)
    await advance(5000)
    expect(chat.view.messages).toEqual(table)
    expect(chat.view.status).toBe('live')
    requests.length = 0
    broadcast('message.created', payload)
    await advance(5000)
    expect(requestsWith('messages')).toEqual([])
  },
)

test('shows reservations, their changes, and what the user can do about them', async () => {
  const { chat, server, broadcast, requestsWith, setBlocked } = await openFixture()
  expect(chat.view.reservations).toEqual([])
  const shown = async (...reservations: typeof server.reservations) => {
    server.reservations = reservations
    broadcast('reservation.changed', { id: 3, previous_id: null, user_id: null })
    await advance(100)
    return chat.view.reservations
  }
  const jazz = { id: 3, title: 'Jazz evening', price: 12.5, date: '', ends_at: null, revision: 1, offered_by: 2 }
  const over = { ...jazz, id: 2, status: 'declined' }
  const offer = { ...jazz, status: 'pending' }
  expect(await shown(over, offer)).toEqual([
    { ...over, can: [] },
    { ...offer, can: ['accept', 'decline', 'change', 'cancel'] },
  ])
  expect(await shown(over, { ...offer, offered_by: 1 })).toMatchObject([{}, { can: ['change', 'cancel'] }])
  expect(await shown(over, { ...offer, status: 'accepted' })).toMatchObject([{}, { can: ['cancel'] }])
  // What has ended is read once.
  expect(requestsWith('reservations/2')).toHaveLength(1)
  await shown(offer)
  setBlocked(1, true)
  await advance(1000)
  expect(chat.view.reservations).toMatchObject([{ can: ['cancel'] }])
})

test('an unknown conversation shows the 404 as its error', async () => {
  const { inbox } = await openFixture()
  const chat = inbox.open(8)
  await advance(1000)
  expect(chat.view).toMatchObject({ loaded: false, error: { status: 404, message: 'Conversation not found' } })
})

test('opened twice, a conversation shares its view and channels until it is closed twice', async () => {
  const { inbox, chat, client, insertMessage, conversation } = await openFixture()
  const again = inbox.open(conversation)
  expect(again.view).toBe(chat.view)
  chat.close()
  chat.close()
  insertMessage(2, { content: 'Still here?' })
  await advance(1000)
  expect(again.view.messages).toHaveLength(1)
  expect(client.channels).toHaveLength(2)
  again.close()
  await advance(1000)
  expect(client.channels.map(({ topic }) => topic)).toEqual(['realtime:user:1'])
})
