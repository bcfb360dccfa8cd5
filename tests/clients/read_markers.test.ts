import { expect, test, vi } from 'vitest'
import { advance, openFixture, useFakeTime, withoutPolling } from './fixture.ts'

useFakeTime()

const markerRequest = '1 POST conversations/7/read'

test('all shown messages are marked in one request, and the unread count follows', async () => {
  const { inbox, chat, requestsWith, table } = await openFixture({}, 3)
  chat.markRead()
  chat.markRead()
  await advance(1000)
  expect(chat.view.messages.every(({ read }) => read)).toBe(true)
  expect(inbox.view.unread).toBe(0)
  chat.markRead()
  await advance(1000)
  expect(table.every(({ read }) => read)).toBe(true)
  expect(requestsWith('1 POST')).toEqual([markerRequest])
})

test('the unread count follows without an event', async () => {
  const { inbox, chat, setNetwork } = await openFixture(withoutPolling, 3)
  setNetwork({ eventLoss: 1 })
  chat.markRead()
  await advance(1000)
  expect(inbox.view.unread).toBe(0)
})

test('one message.read event updates every message up to its id', async () => {
  const { chat, markRead, insertMessage } = await openFixture()
  for (let count = 0; count < 5; count++) insertMessage(1, { content: `${count}` })
  await advance(100)
  markRead(2, chat.view.messages[3]!.id)
  await advance(100)
  expect(chat.view.messages.map(({ read }) => read)).toEqual([true, true, true, true, false])
})

test('a marker set while its message is still being fetched is not missed', async () => {
  const { chat, setNetwork, markRead, insertMessage } = await openFixture()
  setNetwork({ latency: 400, eventDelay: 0 })
  const { id } = insertMessage(1, { content: 'Elsewhere' })
  await advance(390)
  markRead(2, id)
  await advance(2000)
  expect(chat.view.messages.map(({ read }) => read)).toEqual([true])
})

test('a marker is sent even if the conversation is closed at once', async () => {
  const { inbox, chat, table, requestsWith } = await openFixture(withoutPolling, 3)
  chat.markRead()
  chat.close()
  await advance(1000)
  expect(table.every(({ read }) => read)).toBe(true)
  expect(inbox.view.unread).toBe(0)
  expect(requestsWith(markerRequest)).toHaveLength(1)
})

test('after a failure only the furthest marker is retried, also when the conversation was closed', async () => {
  const { inbox, chat, setNetwork, table, conversation, requestsWith } = await openFixture(withoutPolling, 3)
  setNetwork({ requestLoss: 1 })
  chat.markRead(table[0]!.id)
  await advance(100)
  chat.markRead()
  chat.close()
  const again = inbox.open(conversation)
  again.markRead(table[1]!.id)
  again.close()
  await advance(1000)
  setNetwork({ requestLoss: 0 })
  await advance(10_000)
  expect(table.every(({ read }) => read)).toBe(true)
  expect(requestsWith(markerRequest)).toHaveLength(1)
  expect(inbox.view.unread).toBe(0)
})

test('a conversation that is opened again shows markers that were in flight', async () => {
  const { inbox, chat, setNetwork, conversation } = await openFixture(withoutPolling, 3)
  setNetwork({ latency: 400 })
  chat.markRead()
  chat.close()
  const again = inbox.open(conversation)
  await advance(5000)
  expect(again.view.messages.map(({ read }) => read)).toEqual([true, true, true])
})

test('a refused marker shows its error and is not retried', async () => {
  const { chat, server, requestsWith } = await openFixture({ poll: [1000, 1000] }, 3)
  let refusals = 0
  server.intercept = (method) =>
    method === 'POST'
      ? (refusals++, Response.json({ error: 'No' }, { status: 403, headers: { 'X-Error-Code': 'forbidden' } }))
      : null
  const errors = new Set<string | undefined>()
  chat.subscribe(() => errors.add(chat.view.error?.message))
  chat.markRead()
  await advance(30_000)
  expect(errors).toContain('No')
  expect(refusals).toBe(1)
  expect(requestsWith(markerRequest)).toEqual([])
})

test('closing the inbox drops pending markers', async () => {
  const { inbox, chat, setNetwork, requests } = await openFixture(withoutPolling, 3)
  setNetwork({ requestLoss: 1 })
  chat.markRead()
  await advance(100)
  inbox.close()
  setNetwork({ requestLoss: 0 })
  requests.length = 0
  await advance(60_000)
  expect(requests).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})
