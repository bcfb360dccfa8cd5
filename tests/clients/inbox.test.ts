import { describe, expect, test, vi } from 'vitest'
import { openInbox } from '../../clients/inbox.ts'
import { atRest, onFakeTime, pass } from './at_rest.ts'
import { openWorld } from './world.ts'

onFakeTime()

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
