// What the client knows of Realtime's events: whether they arrive, and what it does while they do not.
import { expect, test } from 'vitest'
import { advance, disconnect, forget, hear, markRead, network, offline, openAs, openFixture } from './fixture.ts'
import { openBoth, playAll, repeat, type Row, type Scene, send, useFakeTime, watch, withoutPolling } from './fixture.ts'
import { createSimulator } from './network_simulator.ts'

useFakeTime()

/** Milliseconds until this holds, at most a minute. */
const timeUntil = async (condition: () => boolean): Promise<number> => {
  const start = Date.now()
  while (!condition() && Date.now() - start < 60_000) await advance(10)
  return Date.now() - start
}

/** Ana on a server that has just begun to serve the project: it passes events on some time after the join. */
const openOnFreshServer = async (readyAfter: number) => {
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

test('while replication waits for a transaction, messages come within seconds and the status is delayed', async () => {
  const { chat, insertMessage } = await openOnFreshServer(20_000)
  for (let count = 1; count <= 6; count++) {
    insertMessage(2, { content: `Message ${count}` })
    expect(await timeUntil(() => chat.view.messages.length === count)).toBeLessThan(3000)
    expect(chat.view.status).toBe('delayed')
    await advance(200)
  }
  expect(await timeUntil(() => chat.view.status === 'live')).toBeLessThan(20_000)
})

test('an event that is lost although the server said that it passes events on is made up for in seconds', async () => {
  const { chat, inbox, insertMessage } = await openOnFreshServer(500)
  await timeUntil(() => chat.view.status === 'live')
  insertMessage(2, { content: 'Lost' })
  expect(await timeUntil(() => chat.view.messages.length > 0)).toBeLessThan(5000)
  // It is a sign that others may be lost, too.
  expect(await timeUntil(() => inbox.view.status === 'delayed')).toBeLessThan(4000)
})

const lossy = network({ eventLoss: 1 })
const within = (limit: number, holds: (scene: Scene) => boolean) => async (scene: Scene) =>
  expect(await timeUntil(() => holds(scene))).toBeLessThan(limit)
const shows = (count: number) => ({ chat }: Scene) => chat.view.messages.length === count
const bothAre = (status: string) => ({ chat, inbox }: Scene) =>
  [chat, inbox].every(({ view }) => view.status === status)

// deno-fmt-ignore
playAll([
  ['a server that never says so is live from its first event on', {}, ({ client }) => client.control.readyAfter = null,
    disconnect, 10_000, { status: 'delayed' }, hear('Here'), 100, { status: 'live' }],
  ["one's own message without its event makes both views delayed and quickens the polls until an event", {},
    lossy, send('Anybody there?'), 2500, { status: 'live' }, 1000, { status: 'delayed', inbox: { status: 'delayed' } },
    hear('Yes'), within(3500, shows(2)),
    // In silence the polls slow down again.
    120_000, forget, 60_000,
    ({ requestsWith }) => expect(requestsWith('conversations/changes').length).toBeLessThan(4),
    { status: 'delayed' }, network(), hear('Still here'), 100, { status: 'live', inbox: { status: 'live' } }],
  ['a poll that finds a message of which no event told makes the views delayed', {},
    lossy, hear('Hello'), within(60_000, shows(1)), within(3500, ({ inbox }) => inbox.view.status === 'delayed'),
    hear('Hello?'), within(3500, shows(2))],
  ['what is dropped at the end of a run of events is shown within seconds, and the views are delayed', {},
    repeat(19, hear('Arrives'), 20), lossy, repeat(21, hear('Is dropped'), 20), within(5000, shows(40)),
    within(3500, bothAre('delayed'))],
  ['a list that names a message of which nothing told makes the views delayed',
    { ...withoutPolling, messages: 1 }, lossy, hear('Lost'), markRead, within(3500, bothAre('delayed'))],
  ['a correction by an admin, a late event and a new join do not', { messages: 3 },
    ({ table, correctMessage }) => correctMessage(table[1]!, 'Corrected'), 70_000,
    network({ eventDelay: 2500 }), send('Late'), 2600,
    disconnect, hear('Missed'), watch(({ chat }) => chat.view.status === 'delayed'), 70_000,
    { status: 'live', isComplete: true, seen: [false] }],
  ['a message that the list does not have yet, and of which an event has told, does not', { browser: true },
    hear('One'), 100, watch(({ chat }) => chat.view.status === 'delayed'), hear('Two'), 10,
    ({ page }) => page.tell('online'), 5000, { isComplete: true, seen: [false] }],
  ['nor does a message that is read before its event comes', { browser: true },
    network({ eventDelay: 2500 }), watch(({ chat }) => chat.view.status === 'delayed'),
    repeat(5, hear('Late'), ({ page }) => page.tell('online'), 3000), { status: 'live', seen: [false] }],
  ["nor does one's own that an earlier try has stored, of which was told while there was no connection", { seed: 2 },
    network({ responseLoss: 1, eventLoss: 1 }), send('Mine'), 50, disconnect, 3000, network({ latency: 300 }), 20_000,
    { status: 'live', isComplete: true, outgoing: [] }],
  ['where there are no WebSockets, polls show what is new within a minute, and are no more than otherwise',
    { messages: 1 }, ({ client }) => client.control.refuseJoins = true, disconnect, 60_000, forget,
    repeat(5, hear('By a poll'), 61_000, ({ chat, table }) => expect(chat.view.messages).toEqual(table)),
    ({ requestsWith }) => expect(requestsWith('conversations/changes').length).toBeLessThan(11)],
  ...[1, 2, 3, 4, 5].map((seed): Row => [
    `what waited for a service that was down is sent with its first answer (seed ${seed})`, { ...withoutPolling, seed },
    offline, send('Waiting'), 120_000, network(), within(46_000, bothAre('live')), 100,
    { outgoing: [], messages: [{ content: 'Waiting' }] },
  ]),
])

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
