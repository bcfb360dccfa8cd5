// What the client knows of Realtime's events: whether they arrive, and what it does while they do not.
import { expect, test } from 'vitest'
import { advance, openAs, openBoth, openFixture, useFakeTime, withoutPolling } from './fixture.ts'
import { createSimulator } from './network_simulator.ts'

useFakeTime()

/** Milliseconds until this holds, at most a minute. */
const timeUntil = async (condition: () => boolean): Promise<number> => {
  const start = Date.now()
  while (!condition() && Date.now() - start < 60_000) await advance(10)
  return Date.now() - start
}

/** Ana on a server that has just begun to serve the project: it passes events on some time after the join. */
const openOnFreshServer = async (readyAfter: number | null) => {
  const simulator = createSimulator()
  const client = simulator.openClient(1)
  client.control.readyAfter = readyAfter
  simulator.setNetwork({ eventLoss: 1 })
  const { inbox, chat } = openAs(simulator, 1, undefined, client)
  const isJoined = () => client.channels.some(({ topic, state }) => topic === 'realtime:user:1' && state === 'joined')
  await timeUntil(isJoined)
  return { ...simulator, client, inbox, chat }
}

test('a message that is lost between the join and the start of replication is shown within a second', async () => {
  for (const wait of [5, 50, 200, 450]) {
    const { chat, inbox, insertMessage, table, setNetwork } = await openOnFreshServer(500)
    await advance(wait)
    insertMessage(2, { content: 'The first' })
    expect(chat.view.status).not.toBe('live')
    expect(await timeUntil(() => chat.view.messages.length > 0)).toBeLessThan(1000)
    await advance(1000)
    setNetwork({ eventLoss: 0 })
    expect([chat.view.messages, chat.view.status, inbox.view.status]).toEqual([table, 'live', 'live'])
    inbox.close()
  }
})

test('while replication waits for a transaction, messages come within a second and the status is delayed', async () => {
  const { chat, insertMessage } = await openOnFreshServer(7000)
  for (let count = 1; count <= 6; count++) {
    insertMessage(2, { content: `Message ${count}` })
    expect(await timeUntil(() => chat.view.messages.length === count)).toBeLessThan(1000)
    expect(chat.view.status).toBe('delayed')
    await advance(200)
  }
  expect(await timeUntil(() => chat.view.status === 'live')).toBeLessThan(7000)
})

test('an event that is lost although the server said that it passes events on is made up for in seconds', async () => {
  const { chat, inbox, insertMessage } = await openOnFreshServer(500)
  await timeUntil(() => chat.view.status === 'live')
  insertMessage(2, { content: 'Lost' })
  expect(await timeUntil(() => chat.view.messages.length > 0)).toBeLessThan(5000)
  // It is a sign that others may be lost, too.
  expect(await timeUntil(() => inbox.view.status === 'delayed')).toBeLessThan(4000)
})

test('a server that never says so is live from its first event on', async () => {
  const { chat, insertMessage, setNetwork } = await openOnFreshServer(null)
  await advance(10_000)
  expect(chat.view.status).toBe('delayed')
  setNetwork({ eventLoss: 0 })
  insertMessage(2, { content: 'Here' })
  await advance(100)
  expect(chat.view.status).toBe('live')
})

test("one's own message without its event makes both views delayed and quickens the polls until an event", async () => {
  const { chat, inbox, setNetwork, insertMessage, requests, requestsWith } = await openFixture()
  setNetwork({ eventLoss: 1 })
  chat.send('Anybody there?')
  await advance(2500)
  expect(chat.view.status).toBe('live')
  await advance(1000)
  expect([chat.view.status, inbox.view.status]).toEqual(['delayed', 'delayed'])
  insertMessage(2, { content: 'Yes' })
  expect(await timeUntil(() => chat.view.messages.length === 2)).toBeLessThan(3500)
  // In silence the polls slow down again.
  await advance(120_000)
  requests.length = 0
  await advance(60_000)
  expect(requestsWith('conversations/changes').length).toBeLessThan(4)
  expect(chat.view.status).toBe('delayed')
  setNetwork({ eventLoss: 0 })
  insertMessage(2, { content: 'Still here' })
  await advance(100)
  expect([chat.view.status, inbox.view.status]).toEqual(['live', 'live'])
})

test('a poll that finds a message of which no event told makes the views delayed', async () => {
  const { chat, inbox, setNetwork, insertMessage } = await openFixture()
  setNetwork({ eventLoss: 1 })
  insertMessage(2, { content: 'Hello' })
  await timeUntil(() => chat.view.messages.length === 1)
  expect(await timeUntil(() => inbox.view.status === 'delayed')).toBeLessThan(3500)
  insertMessage(2, { content: 'Hello?' })
  expect(await timeUntil(() => chat.view.messages.length === 2)).toBeLessThan(3500)
})

test('what is dropped at the end of a run of events is shown within seconds, and the views are delayed', async () => {
  const { chat, inbox, table, setNetwork, insertMessage } = await openFixture()
  for (let count = 1; count <= 40; count++) {
    if (count === 20) setNetwork({ eventLoss: 1 })
    insertMessage(2, { content: `Message ${count}` })
    await advance(20)
  }
  expect(await timeUntil(() => chat.view.messages.length === table.length)).toBeLessThan(5000)
  expect(await timeUntil(() => inbox.view.status === 'delayed' && chat.view.status === 'delayed')).toBeLessThan(3500)
})

test('a list that names a message of which nothing told makes its conversation read it', async () => {
  const { chat, inbox, setNetwork, insertMessage } = await openFixture(withoutPolling, 1)
  setNetwork({ eventLoss: 1 })
  insertMessage(2, { content: 'Lost' })
  // The list is read after it.
  chat.markRead()
  expect(await timeUntil(() => chat.view.messages.length === 2)).toBeLessThan(1000)
  expect(await timeUntil(() => inbox.view.status === 'delayed' && chat.view.status === 'delayed')).toBeLessThan(3500)
})

test('a correction by an admin, a late event and a new join do not', async () => {
  const { chat, client, table, setNetwork, insertMessage, correctMessage } = await openFixture({}, 3)
  correctMessage(table[1]!, 'Corrected')
  await advance(70_000)
  setNetwork({ eventDelay: 2500 })
  chat.send('Late')
  await advance(2600)
  client.disconnect()
  insertMessage(2, { content: 'Missed' })
  const seen = new Set<string>()
  chat.subscribe(() => seen.add(chat.view.status))
  await advance(70_000)
  expect(chat.view).toMatchObject({ status: 'live', messages: table })
  expect([...seen]).not.toContain('delayed')
})

test('what waited for a service that was down is sent with its first answer', async () => {
  for (let seed = 1; seed <= 5; seed++) {
    const { chat, inbox, setNetwork } = await openFixture(withoutPolling, 0, seed)
    setNetwork({ requestLoss: 1 })
    chat.send('Waiting')
    await advance(120_000)
    setNetwork()
    expect(await timeUntil(() => chat.view.status === 'live' && inbox.view.status === 'live')).toBeLessThan(46_000)
    await advance(100)
    expect(chat.view).toMatchObject({ outgoing: [], messages: [{ content: 'Waiting' }] })
    inbox.close()
  }
})

const typingJoins = (log: string[]) => log.filter((line) => line === 'subscribe typing:7').length

test('typing has a connection of its own, where a refused join holds up no message', async () => {
  const { client } = await openFixture()
  expect(client.connections.map(({ channels }) => channels.map(({ topic }) => topic))).toEqual([
    ['realtime:user:1'],
    ['realtime:typing:7'],
  ])
})

test('after a refusal the typing topic is not joined again for minutes, whatever happens', async () => {
  const { simulator } = await openFixture({}, 1)
  const client = simulator.openClient(2)
  client.control.refused = ['typing:7']
  const { chat, inbox } = openAs(simulator, 2, {}, client)
  await advance(170_000)
  client.disconnect()
  await advance(12_000)
  expect(typingJoins(client.log)).toBe(1)
  expect(inbox.view).toMatchObject({ status: 'live', error: null })
  await advance(200_000)
  expect(typingJoins(client.log)).toBe(2)
  expect(chat.view.status).toBe('live')
})

test('a message of the other user ends the wait, because they cannot write across a block', async () => {
  const { bob, client, chat, insertMessage } = await openBoth()
  bob.client.control.refused = ['typing:7']
  bob.client.closeChannels()
  await advance(10_000)
  bob.client.control.refused = []
  insertMessage(1, { content: 'Unblocked' })
  await advance(1000)
  bob.chat.typing()
  await advance(100)
  expect(chat.view.typing).toBe(true)
  expect(client.connections).toHaveLength(2)
})

test('an address that is hidden although its owner has written means that typing is not joined', async () => {
  const simulator = createSimulator()
  simulator.insertMessage(2, { content: 'Hello' })
  simulator.people[1]!.email = ''
  const { client, chat } = openAs(simulator, 1, withoutPolling)
  await advance(5000)
  expect(chat.view.status).toBe('live')
  expect(typingJoins(client.log)).toBe(0)
  // With PARTNER_EMAIL=after_reply it is also hidden until they have written.
  const stranger = createSimulator()
  stranger.people[1]!.email = ''
  const { client: other } = openAs(stranger, 1, withoutPolling)
  await advance(5000)
  expect(typingJoins(other.log)).toBe(1)
})
