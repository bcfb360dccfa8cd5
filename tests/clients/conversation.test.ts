import { describe, expect, test } from 'vitest'
import { atRest, onFakeTime, pass } from './at_rest.ts'

onFakeTime()

describe('a conversation', () => {
  test('opens with its newest messages, oldest first, and turns back pages', async () => {
    const { inbox, chat, table } = await atRest({}, 120)
    expect(chat.view.messages).toEqual(table.slice(70))
    expect(chat.view).toMatchObject({ hasOlder: true, loaded: true, status: 'live', other: { id: 2, name: 'Bob' } })
    const both = Promise.all([chat.older(), chat.older()])
    await pass(100)
    await both
    expect(chat.view.messages).toEqual(table.slice(20))
    chat.older()
    await pass(100)
    expect(chat.view.messages).toEqual(table)
    expect(chat.view.hasOlder).toBe(false)
    inbox.close()
  })

  test('shows a message in milliseconds, with one request', async () => {
    const { inbox, chat, write, requests, table } = await atRest({}, 3)
    write(2, { content: 'Now' })
    await pass(20)
    expect(chat.view.messages).toEqual(table)
    expect(requests.filter((request) => request.includes('messages'))).toEqual([
      `1 GET conversations/7/messages?after_id=${table[2]!.id}&limit=100`,
    ])
    inbox.close()
  })

  test('asks nothing for an event of a message that it shows', async () => {
    const { inbox, table, tell, requests } = await atRest({}, 3)
    tell('message.created', { id: table[1]!.id, previous_id: table[0]!.id, user_id: 2 })
    await pass(100)
    expect(requests.filter((request) => request.includes('messages'))).toEqual([])
    inbox.close()
  })

  test('asks once for an event that comes twice', async () => {
    const { inbox, world, write, requests } = await atRest({}, 3)
    world.weather = { ...world.weather, doubled: 1, delay: 0, slowness: 100 }
    write(2, { content: 'Now' })
    await pass(1000)
    expect(requests.filter((request) => request.includes('messages'))).toHaveLength(1)
    inbox.close()
  })

  test('says that it is catching up when an event tells of a hole, until the hole is filled', async () => {
    const { inbox, chat, world, write, table } = await atRest({}, 3)
    const seen: string[] = []
    chat.subscribe(() => seen.push(`${chat.view.messages.length} ${chat.view.status}`))
    world.weather = { ...world.weather, dropped: 1 }
    write(2, { content: 'Lost' })
    world.weather = { ...world.weather, dropped: 0 }
    await pass(1000)
    expect(chat.view.messages.length).toBe(3)
    write(2, { content: 'Heard' })
    await pass(100)
    expect(chat.view.messages).toEqual(table)
    expect(seen).toEqual(['3 catching up', '5 catching up', '5 live'])
    inbox.close()
  })

  test('takes nothing from an event but that there is something', async () => {
    const { inbox, chat, tell, table } = await atRest({}, 3)
    tell('message.created', { id: 999, previous_id: table[2]!.id, user_id: 2 })
    await pass(5000)
    expect(chat.view.messages).toEqual(table)
    inbox.close()
  })

  test('shows reservations, and what becomes of them', async () => {
    const { inbox, chat, world, tell } = await atRest()
    expect(chat.view.reservations).toEqual([])
    world.reservations = [{ id: 3, title: 'Jazz evening', price: 12.5, date: '', status: 'accepted' }]
    tell('reservation.changed', { id: 3, previous_id: null, user_id: null })
    await pass(100)
    expect(chat.view.reservations).toEqual(world.reservations)
    inbox.close()
  })

  test('that there is not is told as the problem it is', async () => {
    const { inbox } = await atRest()
    const chat = inbox.open(8)
    await pass(1000)
    expect(chat.view).toMatchObject({ loaded: false, problem: { status: 404, message: 'Conversation not found' } })
    inbox.close()
  })

  test('opened twice is one, with one set of channels, until it is closed twice', async () => {
    const { inbox, chat, client, write, conversation } = await atRest()
    const again = inbox.open(conversation)
    expect(again.view).toBe(chat.view)
    chat.close()
    chat.close()
    write(2, { content: 'Still here?' })
    await pass(1000)
    expect(again.view.messages).toHaveLength(1)
    expect(client.channels).toHaveLength(2)
    again.close()
    await pass(1000)
    expect(client.channels.map(({ topic }) => topic)).toEqual(['realtime:user:1'])
    inbox.close()
  })
})

describe('marks', () => {
  test('what is shown is marked in one request, and the count follows', async () => {
    const { inbox, chat, requests, table } = await atRest({}, 3)
    chat.markRead()
    chat.markRead()
    await pass(1000)
    expect(chat.view.messages.every(({ read }) => read)).toBe(true)
    expect(inbox.view.unread).toBe(0)
    chat.markRead()
    await pass(1000)
    expect(table.every(({ read }) => read)).toBe(true)
    expect(requests.filter((request) => request.startsWith('1 POST'))).toEqual(['1 POST conversations/7/read'])
    inbox.close()
  })

  test('where the network fails they are made later, and never for less than was asked', async () => {
    const { inbox, chat, world, table } = await atRest({}, 3)
    world.weather = { ...world.weather, unsent: 1 }
    chat.markRead()
    chat.markRead(table[0]!.id)
    await pass(1000)
    world.weather = { ...world.weather, unsent: 0 }
    await pass(5000)
    expect(table.every(({ read }) => read)).toBe(true)
    inbox.close()
  })

  test('the count follows without any event', async () => {
    const { inbox, chat, world } = await atRest({ poll: [1e8, 1e9] }, 3)
    world.weather = { ...world.weather, dropped: 1 }
    chat.markRead()
    await pass(1000)
    expect(inbox.view.unread).toBe(0)
    inbox.close()
  })

  test('a tick comes to every message that one event was about', async () => {
    const { inbox, chat, markRead, write } = await atRest()
    for (let count = 0; count < 5; count++) write(1, { content: `${count}` })
    await pass(100)
    markRead(2, chat.view.messages[3]!.id)
    await pass(100)
    expect(chat.view.messages.map(({ read }) => read)).toEqual([true, true, true, true, false])
    inbox.close()
  })

  test('a mark made while its message is on the way here is not missed', async () => {
    const { inbox, chat, world, markRead, write } = await atRest()
    world.weather = { ...world.weather, slowness: 400, delay: 0 }
    const { id } = write(1, { content: 'Elsewhere' })
    await pass(390)
    markRead(2, id)
    await pass(2000)
    expect(chat.view.messages.map(({ read }) => read)).toEqual([true])
    inbox.close()
  })
})
