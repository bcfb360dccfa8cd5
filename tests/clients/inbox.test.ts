import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openInbox, type Options } from '../../clients/inbox.ts'
import { openWorld } from './world.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds)

/** Ana with her inbox and the conversation with Bob open, and all at rest. */
const atRest = async (options?: Options, messages = 0) => {
  const ocean = openWorld()
  for (let count = 1; count <= messages; count++) ocean.write(2, { content: `Message ${count}` })
  const client = ocean.openClient(1)
  const inbox = openInbox(ocean.asClient(client), options)
  const chat = inbox.open(ocean.conversation)
  await pass(1000)
  ocean.requests.length = 0
  client.log.length = 0
  return { ...ocean, client, inbox, chat }
}

describe('the list', () => {
  test('is there with counts, and follows what happens', async () => {
    const { inbox, write, conversation } = await atRest({}, 3)
    expect(inbox.view).toMatchObject({
      me: { id: 1, name: 'Ana' },
      unread: 3,
      loaded: true,
      status: 'live',
      problem: null,
    })
    const { id } = write(2, { content: 'Are you there?' })
    await pass(1000)
    expect(inbox.view.unread).toBe(4)
    expect(inbox.view.conversations).toMatchObject([{ id: conversation, unread: 4, Messages: [{ id }] }])
    inbox.close()
  })

  test('is read a few times for many events, not once for each', async () => {
    const { inbox, write, requests } = await atRest()
    for (let count = 0; count < 100; count++) {
      write(2, { content: `${count}` })
      await pass(10)
    }
    await pass(2000)
    expect(inbox.view.unread).toBe(100)
    expect(requests.filter((request) => request === '1 GET conversations/unread').length).toBeLessThan(6)
    inbox.close()
  })

  test('opens the conversation with somebody that there is already', async () => {
    const { inbox, conversation } = await atRest()
    const opening = inbox.openWith(2)
    await pass(100)
    expect((await opening).id).toBe(conversation)
    inbox.close()
  })
})

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

describe('sending', () => {
  test('shows the message at once, and in its place when it is there', async () => {
    const { inbox, chat, table } = await atRest()
    const answer = chat.send('Hello')
    expect(chat.view).toMatchObject({ messages: [], outgoing: [{ content: 'Hello', state: 'sending' }] })
    await pass(100)
    expect(chat.view).toMatchObject({ messages: [{ content: 'Hello' }], outgoing: [] })
    expect(await answer).toEqual(table[0])
    inbox.close()
  })

  test('the same words twice are shown twice, all the while', async () => {
    const { inbox, chat, table } = await atRest()
    const seen = new Set<number>()
    chat.send('Hi')
    chat.send('Hi')
    chat.subscribe(() => seen.add(chat.view.messages.length + chat.view.outgoing.length))
    await pass(1000)
    expect(chat.view).toMatchObject({ messages: table, outgoing: [] })
    expect([...seen]).toEqual([2])
    inbox.close()
  })

  test('a send whose answer is lost is tried again, and is one message', async () => {
    const { inbox, chat, world, table, requests } = await atRest()
    world.weather = { ...world.weather, unanswered: 1 }
    chat.send('Once')
    await pass(5000)
    world.weather = { ...world.weather, unanswered: 0 }
    await pass(40_000)
    expect(requests.filter((request) => request === '1 POST conversations/7/messages').length).toBeGreaterThan(2)
    expect(table).toHaveLength(1)
    expect(chat.view).toMatchObject({ messages: [{ content: 'Once' }], outgoing: [] })
    inbox.close()
  })

  test('a request that hangs is given up, and tried again', async () => {
    const { inbox, chat, world, table } = await atRest({ timeout: 2000 })
    world.weather = { ...world.weather, slowness: 1e9 }
    chat.send('Slow')
    await pass(2500)
    expect(chat.view.outgoing).toMatchObject([{ state: 'waiting', error: { status: 0 } }])
    world.weather = { ...world.weather, slowness: 5 }
    await pass(5000)
    expect(table).toHaveLength(1)
    expect(chat.view.outgoing).toEqual([])
    inbox.close()
  })

  test('too many requests wait as long as the service says', async () => {
    const { inbox, chat, world, table } = await atRest()
    world.weather = { ...world.weather, busy: 1 }
    world.retryAfter = 20
    chat.send('Patience')
    await pass(100)
    world.weather = { ...world.weather, busy: 0 }
    await pass(19_000)
    expect(table).toHaveLength(0)
    expect(chat.view.outgoing).toMatchObject([{ state: 'waiting', error: { status: 429 } }])
    await pass(12_000)
    expect(table).toHaveLength(1)
    inbox.close()
  })

  test('messages are sent in the order they were written in, also when the first has to wait', async () => {
    const { inbox, chat, world, table } = await atRest()
    world.weather = { ...world.weather, unsent: 1 }
    for (const content of ['One', 'Two', 'Three']) chat.send(content)
    await pass(1000)
    world.weather = { ...world.weather, unsent: 0 }
    await pass(10_000)
    expect(table.map(({ content }) => content)).toEqual(['One', 'Two', 'Three'])
    inbox.close()
  })

  test('a refusal is final and told, holds up nothing, and can be tried again or forgotten', async () => {
    const { inbox, chat, table, requests } = await atRest()
    const answer = chat.send('rude')
    chat.send('Sorry')
    await pass(5000)
    await expect(answer).rejects.toMatchObject({ status: 403, message: 'You cannot write to this person' })
    expect(chat.view.outgoing).toMatchObject([{ content: 'rude', state: 'refused', error: { status: 403 } }])
    expect(table.map(({ content }) => content)).toEqual(['Sorry'])
    const { client_id } = chat.view.outgoing[0]!
    chat.retry(client_id)
    await pass(5000)
    expect(requests.filter((request) => request.startsWith('1 POST'))).toHaveLength(3)
    expect(chat.view.outgoing).toMatchObject([{ state: 'refused' }])
    chat.discard(client_id)
    expect(chat.view.outgoing).toEqual([])
    inbox.close()
  })

  test('goes on when the conversation is closed, and is shown when it is opened again', async () => {
    const { inbox, chat, world, table, conversation } = await atRest()
    world.weather = { ...world.weather, unsent: 1 }
    chat.send('Later')
    chat.close()
    await pass(1000)
    expect(inbox.open(conversation).view.outgoing).toMatchObject([{ content: 'Later', state: 'waiting' }])
    world.weather = { ...world.weather, unsent: 0 }
    await pass(5000)
    expect(table).toHaveLength(1)
    inbox.close()
  })
})

describe('typing', () => {
  const two = async () => {
    const ocean = await atRest()
    const other = openInbox(ocean.asClient(ocean.openClient(2)))
    const theirs = other.open(ocean.conversation)
    await pass(1000)
    return { ...ocean, other, theirs }
  }

  test('is seen by the other one alone, and stops by itself', async () => {
    const { inbox, chat, other, theirs } = await two()
    chat.typing()
    await pass(10)
    expect([chat.view.typing, theirs.view.typing]).toEqual([false, true])
    await pass(5000)
    expect(theirs.view.typing).toBe(false)
    inbox.close()
    other.close()
  })

  test('at every key it is told every three seconds, and seen all the while', async () => {
    const { inbox, chat, other, theirs, client } = await two()
    for (let key = 0; key < 90; key++) {
      chat.typing()
      await pass(100)
      expect(theirs.view.typing).toBe(true)
    }
    expect(client.log.filter((line) => line === 'send typing:7 typing')).toHaveLength(3)
    inbox.close()
    other.close()
  })

  test('stops when the message comes', async () => {
    const { inbox, chat, other, theirs } = await two()
    chat.typing()
    await pass(10)
    chat.send('Done')
    await pass(100)
    expect(theirs.view).toMatchObject({ typing: false, messages: [{ content: 'Done' }] })
    inbox.close()
    other.close()
  })

  test('one’s own typing on another device is not the other one’s', async () => {
    const { inbox, chat, asClient, openClient, conversation, other } = await two()
    const tablet = openInbox(asClient(openClient(1)))
    const there = tablet.open(conversation)
    await pass(1000)
    there.typing()
    await pass(10)
    expect(chat.view.typing).toBe(false)
    for (const each of [inbox, other, tablet]) each.close()
  })
})

describe('the session', () => {
  test('a token that expired is refreshed once for all, and the requests go through', async () => {
    const { inbox, chat, client, world, table } = await atRest()
    world.expired = true
    chat.send('Still me')
    const opening = Promise.all([1, 2, 3, 4, 5].map(() => inbox.openWith(2)))
    await pass(1000)
    await opening
    expect(table).toHaveLength(1)
    expect(client.log.filter((line) => line === 'refreshSession')).toHaveLength(1)
    inbox.close()
  })

  test('where it cannot be refreshed, that is told, and nothing is sent again and again', async () => {
    const { inbox, chat, client, world, requests } = await atRest()
    world.expired = true
    client.control.refreshFails = true
    const answer = chat.send('Who am I?')
    await pass(20_000)
    await expect(answer).rejects.toMatchObject({ status: 401 })
    expect(requests.filter((request) => request.startsWith('1 POST'))).toHaveLength(1)
    inbox.close()
  })

  test('a new token that is refused, too, is the end of it', async () => {
    const { inbox, chat, client, world } = await atRest({ poll: [1e8, 1e9] })
    world.expired = true
    client.control.refreshHelps = false
    const answer = chat.send('Who am I?')
    await pass(5000)
    await expect(answer).rejects.toMatchObject({ status: 401 })
    expect(client.log.filter((line) => line === 'refreshSession')).toHaveLength(1)
    inbox.close()
  })

  test('signing out closes the inbox', async () => {
    const { inbox, client } = await atRest()
    client.signOut()
    await pass(1000)
    expect(client.channels).toEqual([])
    expect(() => inbox.open(7)).toThrow('closed')
  })
})

describe('closing', () => {
  test('leaves no channel, timer, listener or request, and answers nobody', async () => {
    const { inbox, chat, client, world, requests } = await atRest({}, 60)
    let heard = 0
    inbox.subscribe(() => heard++)
    chat.subscribe(() => heard++)
    world.weather = { ...world.weather, slowness: 1000 }
    const answer = chat.send('Too late')
    const older = chat.older()
    chat.markRead()
    inbox.close()
    heard = 0
    for (const promise of [answer, older]) await expect(promise).rejects.toMatchObject({ status: 0 })
    await pass(5000)
    expect({ channels: client.channels, listening: client.isListening, timers: vi.getTimerCount(), heard })
      .toEqual({ channels: [], listening: false, timers: 0, heard: 0 })
    requests.length = 0
    await pass(300_000)
    expect(requests).toEqual([])
  })

  test('at the very beginning does the same', async () => {
    const { openClient, asClient, conversation } = openWorld()
    const client = openClient(1)
    const inbox = openInbox(asClient(client))
    inbox.open(conversation)
    inbox.close()
    await pass(60_000)
    expect({ channels: client.channels, timers: vi.getTimerCount() }).toEqual({ channels: [], timers: 0 })
  })

  test('and opening again at once, as React does in development, is heard', async () => {
    const { inbox, client, asClient, conversation, write, table } = await atRest()
    inbox.close()
    const again = openInbox(asClient(client), { poll: [1e8, 1e9] })
    const chat = again.open(conversation)
    await pass(1000)
    write(2, { content: 'Hello again' })
    await pass(100)
    expect(chat.view.messages).toEqual(table)
    expect(again.view.status).toBe('live')
    again.close()
  })

  test('a client has one inbox at a time', async () => {
    const { inbox, client, asClient } = await atRest()
    expect(() => openInbox(asClient(client))).toThrow('close that one first')
    inbox.close()
    openInbox(asClient(client)).close()
  })

  test('a listener that throws is heard of, and disturbs nobody', async () => {
    const { inbox, chat, write, table } = await atRest()
    const thrown: unknown[] = []
    const hear = (error: unknown) => void thrown.push(error)
    const before = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException').on('uncaughtException', hear)
    chat.subscribe(() => {
      throw new Error('A mistake of the page')
    })
    let heard = 0
    chat.subscribe(() => heard++)
    write(2, { content: 'Hello' })
    await pass(100)
    process.removeAllListeners('uncaughtException')
    for (const listener of before) process.on('uncaughtException', listener)
    expect(chat.view.messages).toEqual(table)
    expect(heard).toBeGreaterThan(0)
    expect(thrown[0]).toMatchObject({ message: 'A mistake of the page' })
    inbox.close()
  })
})
