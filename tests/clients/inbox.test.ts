import { describe, expect, test, vi } from 'vitest'
import { openInbox } from '../../clients/inbox.ts'
import { advance, openAs, openFixture, useFakeTime, withoutPolling } from './fixture.ts'
import { createSimulator } from './network_simulator.ts'

useFakeTime()

describe('the list', () => {
  test('holds conversations with unread counts and follows events', async () => {
    const { inbox, insertMessage, conversation } = await openFixture({}, 3)
    const expected = { me: { id: 1, name: 'Ana' }, unread: 3, loaded: true, status: 'live', error: null }
    expect(inbox.view).toMatchObject(expected)
    const { id } = insertMessage(2, { content: 'Are you there?' })
    await advance(1000)
    expect(inbox.view.unread).toBe(4)
    expect(inbox.view.conversations).toMatchObject([{ id: conversation, unread: 4, Messages: [{ id }] }])
  })

  test('is throttled: a hundred events cause a few reads', async () => {
    const { inbox, insertMessage, requestsWith } = await openFixture()
    for (let count = 0; count < 100; count++) {
      insertMessage(2, { content: `${count}` })
      await advance(10)
    }
    await advance(2000)
    expect(inbox.view.unread).toBe(100)
    expect(requestsWith('1 GET conversations/unread').length).toBeLessThan(6)
  })

  test('openWith returns the existing conversation with a user', async () => {
    const { inbox, conversation } = await openFixture()
    const opening = inbox.openWith(2)
    await advance(100)
    expect((await opening).id).toBe(conversation)
  })
})

describe('closing', () => {
  test('leaves no channel, timer, listener or request, and rejects pending promises', async () => {
    const { inbox, chat, client, setNetwork, requests } = await openFixture({}, 60)
    let calls = 0
    inbox.subscribe(() => calls++)
    chat.subscribe(() => calls++)
    setNetwork({ latency: 1000 })
    const answer = chat.send('Too late')
    const older = chat.older()
    chat.markRead()
    inbox.close()
    calls = 0
    for (const promise of [answer, older]) await expect(promise).rejects.toMatchObject({ status: 0 })
    // supabase-js takes up to ten seconds to disconnect.
    await advance(15_000)
    const left = { channels: client.channels, auth: client.hasAuthListener, timers: vi.getTimerCount(), calls }
    expect(left).toEqual({ channels: [], auth: false, timers: 0, calls: 0 })
    requests.length = 0
    await advance(300_000)
    expect(requests).toEqual([])
  })

  test('leaves no channel or timer if it comes right after opening', async () => {
    const { inbox, client } = openAs(createSimulator(), 1)
    inbox.close()
    await advance(60_000)
    expect({ channels: client.channels, timers: vi.getTimerCount() }).toEqual({ channels: [], timers: 0 })
  })

  test('allows opening again at once, as React does in development', async () => {
    const { inbox, client, simulator, insertMessage, table } = await openFixture()
    inbox.close()
    const again = openAs(simulator, 1, withoutPolling, client)
    await advance(1000)
    insertMessage(2, { content: 'Hello again' })
    await advance(100)
    expect(again.chat.view.messages).toEqual(table)
    expect(again.inbox.view.status).toBe('live')
  })
})

test('a client can have one inbox at a time', async () => {
  const { inbox, client } = await openFixture()
  expect(() => openInbox(client)).toThrow('close that one first')
  inbox.close()
  openInbox(client).close()
})

test('an error thrown by a listener is reported as uncaught and does not affect other listeners', async () => {
  const { chat, insertMessage, table } = await openFixture()
  const uncaught: unknown[] = []
  const original = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException').on('uncaughtException', (error) => void uncaught.push(error))
  chat.subscribe(() => {
    throw new Error('A bug in the page')
  })
  let calls = 0
  chat.subscribe(() => calls++)
  insertMessage(2, { content: 'Hello' })
  await advance(100)
  process.removeAllListeners('uncaughtException')
  for (const listener of original) process.on('uncaughtException', listener)
  expect(chat.view.messages).toEqual(table)
  expect(calls).toBeGreaterThan(0)
  expect(uncaught[0]).toMatchObject({ message: 'A bug in the page' })
})
