import { expect, test } from 'vitest'
import { advance, openAs, openBoth, useFakeTime } from './fixture.ts'

useFakeTime()

const typingTopic = 'realtime:typing:7'

test('blocking a user who is typing hides it and leaves the typing topic', async () => {
  const { chat, client, bob, setBlocked } = await openBoth()
  bob.chat.typing()
  await advance(100)
  expect([chat.view.typing, chat.view.blocked]).toEqual([true, false])
  setBlocked(1, true)
  await advance(100)
  expect([chat.view.typing, chat.view.blocked]).toEqual([false, true])
  // The blocked user is not told.
  expect(bob.chat.view.blocked).toBe(false)
  expect(client.channels.map(({ topic }) => topic)).not.toContain(typingTopic)
  // On the platform the blocked user stays joined until their token is refreshed.
  expect(bob.client.channels.map(({ topic }) => topic)).toContain(typingTopic)
  for (let second = 0; second < 30; second++) {
    bob.chat.typing()
    await advance(1000)
    expect(chat.view.typing).toBe(false)
  }
  // The blocked user does not see Ana typing either.
  chat.typing()
  await advance(100)
  expect(bob.chat.view.typing).toBe(false)
  expect(client.log).not.toContain('send typing:7 typing')
})

test('a typing event that is in flight during the block is not shown', async () => {
  const { chat, bob, setNetwork, setBlocked } = await openBoth()
  setNetwork({ eventDelay: 2000 })
  setBlocked(1, true)
  bob.chat.typing()
  await advance(2500)
  expect(chat.view.typing).toBe(false)
})

test('after unblocking, both see each other typing again', async () => {
  const { chat, bob, setBlocked } = await openBoth()
  setBlocked(1, true)
  await advance(100)
  setBlocked(1, false)
  await advance(1000)
  bob.chat.typing()
  chat.typing()
  await advance(100)
  expect([chat.view.typing, bob.chat.view.typing]).toEqual([true, true])
})

test('a user who was blocked before the conversation was opened is never shown as typing', async () => {
  const { simulator, inbox, bob, server } = await openBoth()
  inbox.close()
  server.blocked = { 1: [2] }
  const { client, chat } = openAs(simulator, 1)
  const seen: boolean[] = []
  chat.subscribe(() => seen.push(chat.view.typing))
  for (let count = 0; count < 100; count++) {
    bob.chat.typing()
    await advance(50)
  }
  expect(seen).not.toContain(true)
  expect(client.log).not.toContain('subscribe typing:7')
})

test('if the event of a block is lost, the next resync applies the block', async () => {
  const { chat, client, bob, setNetwork, setBlocked } = await openBoth()
  setNetwork({ eventLoss: 1 })
  setBlocked(1, true)
  setNetwork({ eventLoss: 0 })
  await advance(61_000)
  bob.chat.typing()
  await advance(100)
  expect(chat.view.typing).toBe(false)
  expect(client.channels.map(({ topic }) => topic)).not.toContain(typingTopic)
})

test('blocks of or by anybody else leave the typing topic open', async () => {
  const { chat, bob, server, setBlocked } = await openBoth()
  server.blocked = { 1: [99] }
  setBlocked(2, false)
  await advance(61_000)
  bob.chat.typing()
  await advance(100)
  expect(chat.view.typing).toBe(true)
})

test('a user who was blocked leaves the typing topic with the next list, where the address is empty', async () => {
  const { bob, insertMessage, broadcast, setBlocked } = await openBoth()
  insertMessage(1, { content: 'Hello' })
  await advance(1000)
  setBlocked(1, true)
  await advance(1000)
  expect(bob.client.channels.map(({ topic }) => topic)).toContain(typingTopic)
  const readList = async () => {
    broadcast('conversation.created', { id: 8, previous_id: null, user_id: null })
    await advance(1000)
  }
  await readList()
  expect(bob.client.channels.map(({ topic }) => topic)).not.toContain(typingTopic)
  setBlocked(1, false)
  await readList()
  expect(bob.client.channels.map(({ topic }) => topic)).toContain(typingTopic)
})

test('when the account of the other becomes inactive, the typing topic is left until they write again', async () => {
  const { chat, client, bob, insertMessage } = await openBoth()
  const topics = () => client.channels.map(({ topic }) => topic)
  const channel = bob.client.channels.find(({ topic }) => topic === typingTopic)!
  bob.chat.typing()
  await advance(100)
  expect(chat.view.typing).toBe(true)
  await channel.send({ event: 'closed', payload: { user_id: 2 } })
  await advance(100)
  expect([chat.view.typing, topics().includes(typingTopic)]).toEqual([false, false])
  await advance(60_000)
  expect(topics()).not.toContain(typingTopic)
  insertMessage(2, { content: 'I am back' })
  await advance(1000)
  expect(topics()).toContain(typingTopic)
})
