import { describe, expect, test } from 'vitest'
import { advance, openAs, openFixture, useFakeTime, withoutPolling } from './fixture.ts'

useFakeTime()

describe('after an absence', () => {
  test('in which nothing happened, one request brings the inbox and the conversation up to date', async () => {
    const { inbox, chat, client, requests } = await openFixture({ ...withoutPolling, resyncJitter: 0 }, 3)
    client.disconnect()
    await advance(5000)
    expect(requests).toEqual(['1 GET conversations/changes?limit=100&after=c3'])
    expect([inbox.view.status, chat.view.status]).toEqual(['live', 'live'])
  })

  test('only what has changed is read', async () => {
    const { inbox, chat, client, insertMessage, markRead, table, requests, server, broadcast } = await openFixture(
      { ...withoutPolling, resyncJitter: 0 },
      3,
    )
    client.disconnect()
    const { id } = insertMessage(2, { content: 'Missed' })
    await advance(5000)
    expect(requests.filter((request) => !request.includes('changes')).toSorted()).toEqual([
      expect.stringMatching(/messages\?after_id/),
      '1 GET conversations/unread',
      '1 GET conversations?partner=true',
    ])
    expect(chat.view.messages).toEqual(table)
    expect([inbox.view.status, chat.view.status]).toEqual(['live', 'live'])

    requests.length = 0
    client.disconnect()
    server.reservations = [{ id: 5 }]
    broadcast('reservation.changed', { id: 5, previous_id: null, user_id: null })
    await advance(5000)
    expect(requests.filter((request) => !request.includes('changes'))).toEqual([
      '1 GET conversations/7',
      '1 GET conversations/7/reservations/5',
    ])
    expect(chat.view.reservations).toEqual([{ id: 5, can: [] }])

    client.disconnect()
    markRead(1, id)
    await advance(5000)
    expect(inbox.view.unread).toBe(0)
    expect(chat.view.messages).toEqual(table)
  })
})

describe('what an admin does', () => {
  test('to a message that is shown arrives within a minute', async () => {
    const { inbox, chat, simulator, table } = await openFixture({}, 20)
    simulator.correctMessage(table[4]!, 'Corrected')
    simulator.removeMessage(table[19]!)
    simulator.removeMessage(table[0]!)
    expect(chat.view.messages).toHaveLength(20)
    await advance(61_000)
    expect(chat.view.messages).toEqual(table)
    expect(chat.view.messages[3]).toMatchObject({ content: 'Corrected' })
    expect(inbox.view.conversations[0]!.Messages).toEqual(table.slice(-1))
    // The next message is shown as ever.
    simulator.insertMessage(2, { content: 'Next' })
    await advance(100)
    expect(chat.view.messages).toEqual(table)
  })

  test('to messages that are not loaded yet costs nothing, and they are right when they are', async () => {
    const { chat, simulator, table, requestsWith } = await openFixture({}, 120)
    simulator.correctMessage(table[4]!, 'Corrected')
    simulator.removeMessage(table[0]!)
    await advance(61_000)
    expect(requestsWith('messages?after_id')).toHaveLength(0)
    for (const _ of [1, 2]) {
      const page = chat.older()
      await advance(100)
      await page
    }
    expect(chat.view.messages).toEqual(table)
  })

  test('while older messages are on their way is not undone by them', async () => {
    const { client, chat, simulator, setNetwork, table } = await openFixture(
      { ...withoutPolling, resyncJitter: 0 },
      120,
    )
    setNetwork({ latency: 3000 })
    chat.older()
    // The request has been answered, and the answer is under way.
    await advance(1500)
    simulator.correctMessage(table[30]!, 'Corrected')
    simulator.removeMessage(table[40]!)
    setNetwork({ latency: 1 })
    client.disconnect()
    await advance(20_000)
    expect(chat.view.messages).toEqual(table.slice(-chat.view.messages.length))
    expect(chat.view.messages.length).toBeGreaterThan(90)
  })

  test('that leaves none of the messages shown shows those before them', async () => {
    const { chat, simulator, table } = await openFixture({}, 120)
    for (const message of table.slice(-50)) simulator.removeMessage(message)
    await advance(61_000)
    expect(chat.view.messages).toEqual(table.slice(-50))
    expect(chat.view.hasOlder).toBe(true)
  })
})

describe('a cursor that is not valid any more', () => {
  test('makes the client read everything anew', async () => {
    const { inbox, chat, client, simulator, server, table, requestsWith } = await openFixture(
      { ...withoutPolling, resyncJitter: 0 },
      120,
    )
    const page = chat.older()
    await advance(100)
    await page
    client.disconnect()
    // As after a restore: nothing tells what is gone.
    table.splice(60, 50)
    server.oldestCursor = simulator.changes.length + 1
    await advance(5000)
    expect(requestsWith('changes')).toHaveLength(2)
    expect(chat.view.messages).toEqual(table.slice(-50))
    expect(chat.view).toMatchObject({ hasOlder: true, status: 'live' })
    expect(inbox.view).toMatchObject({ status: 'live', error: null })
  })

  test('is never that of somebody else: each inbox starts with its own', async () => {
    const { simulator, requestsWith } = await openFixture({}, 3)
    openAs(simulator, 2)
    await advance(1000)
    expect(requestsWith('2 GET conversations/changes')).toEqual(['2 GET conversations/changes?limit=100'])
  })
})
