import { expect, test, vi } from 'vitest'
import type { Message } from '../../clients/types.ts'
import { advance, openAs, useFakeTime } from './fixture.ts'
import { createEventLimit } from './event_limit.ts'
import { badNetwork, createSimulator, goodNetwork } from './network_simulator.ts'

useFakeTime()

const idsOf = (messages: readonly Message[]) => messages.map(({ id }) => id)

/** Collects violations as they occur: gaps, duplicates, wrong order, an echo beside its message, "live" too early. */
const watch = (
  { inbox, chat, client: { control } }: ReturnType<typeof openAs>,
  { table, removed }: { table: Message[]; removed: ReadonlySet<number> },
) => {
  const violations: string[] = []
  let length = 0
  const present = (messages: readonly Message[]) => messages.filter(({ id }) => !removed.has(id))
  chat.subscribe(() => {
    const { messages: all, outgoing, status } = chat.view
    const messages = present(all)
    const from = messages.length ? table.findIndex(({ id }) => id === messages[0]!.id) : 0
    const [shown, expected] = [messages, table.slice(from, from + messages.length)].map((list) => `${idsOf(list)}`)
    if (shown !== expected) violations.push(`shows ${shown}, not ${expected}`)
    if (all.length < length - removed.size) violations.push('shows less than before')
    length = Math.max(length, all.length)
    const isBehind = (messages.at(-1)?.id ?? 0) < control.newestAtJoin
    if (status === 'live' && isBehind && !removed.has(control.newestAtJoin)) {
      violations.push('the conversation is live without the messages before the join')
    }
    const texts = [...messages, ...outgoing].map(({ content }) => content)
    for (const text of texts) {
      if (texts.indexOf(text) !== texts.lastIndexOf(text)) violations.push(`shows "${text}" twice`)
    }
  })
  inbox.subscribe(() => {
    const isBehind = (inbox.view.conversations[0]?.Messages[0]?.id ?? 0) < control.newestAtJoin
    if (inbox.view.status === 'live' && isBehind) violations.push('the list is live without the state before the join')
  })
  return violations
}

/** Ana and Bob write and read for a few minutes on a bad network and then have four minutes on a good one. */
const simulateFaults = async (seed: number) => {
  const simulator = createSimulator(seed)
  const { server, setNetwork, table, random, conversation, insertMessage, markRead } = simulator
  const removed = new Set<number>()
  const before = Math.floor(random() * 160)
  for (let count = 0; count < before; count++) insertMessage(1 + count % 2, { content: `Before ${count}` })
  markRead(1, table[Math.floor(random() * 50)]?.id ?? 0)

  setNetwork(badNetwork)
  const sides = [1, 2].map((id) => {
    const side = openAs(simulator, id)
    return { id, ...side, written: [] as string[], violations: watch(side, { table, removed }) }
  })
  for (let step = 0; step < 150; step++) {
    const { id, client, chat, written } = sides[Math.floor(random() * 2)]!
    const chance = random()
    if (chance < 0.5) {
      written.push(`${id} says ${step}`)
      chat.send(written.at(-1)!)
    } else if (chance < 0.55) insertMessage(id, { content: `${id} says ${step} elsewhere` })
    else if (chance < 0.65) chat.markRead()
    else if (chance < 0.7) markRead(id, table[Math.floor(random() * table.length)]?.id ?? 0, true)
    else if (chance < 0.8) client.disconnect()
    else if (chance < 0.85) client.closeChannels()
    else if (chance < 0.87) server.tokenExpired = Date.now() - server.refreshedAt > 30_000
    else if (chance < 0.89 && table.length) {
      simulator.correctMessage(table[Math.floor(random() * table.length)]!, `corrected in step ${step}`)
    } else if (chance < 0.91 && table.length) {
      const message = table[Math.floor(random() * table.length)]!
      removed.add(message.id)
      simulator.removeMessage(message)
    } else if (chance < 0.94) chat.older().catch(() => {})
    else chat.typing()
    await advance(random() * 2000)
  }

  setNetwork(goodNetwork)
  await advance(230_000)
  // An event that arrives ends a delay of which the client knows.
  insertMessage(2, { content: 'Delivered' })
  await advance(10_000)
  for (const { id, chat, inbox, written, violations } of sides) {
    expect(violations).toEqual([])
    expect(chat.view.messages).toEqual(table.slice(-chat.view.messages.length))
    expect(chat.view).toMatchObject({ outgoing: [], status: 'live', error: null, typing: false })
    const unread = table.filter(({ user_id, read }) => user_id !== id && !read).length
    expect(inbox.view).toMatchObject({ unread, status: 'live', error: null })
    expect(inbox.view.conversations).toMatchObject([{ id: conversation, Messages: table.slice(-1), unread }])
    // Each message was stored once, in the order in which it was written.
    const stored = table.map(({ content }) => content).filter((content) => written.includes(content))
    expect(stored).toEqual(written.filter((content) => stored.includes(content)))
    expect(new Set(stored).size).toBe(stored.length)
    while (chat.view.hasOlder) {
      const page = chat.older()
      await advance(1000)
      await page
    }
    expect(chat.view.messages).toEqual(table)
    inbox.close()
  }
  await advance(60_000)
  expect(vi.getTimerCount()).toBe(0)
  expect(sides.flatMap(({ client }) => client.channels)).toEqual([])
}

test.each(Array.from({ length: 40 }, (_, seed) => seed))(
  'after random network faults both clients show exactly the messages of the table (seed %i)',
  simulateFaults,
)

test('without any events, polling shows everything within a minute', async () => {
  const simulator = createSimulator()
  const { setNetwork, table, insertMessage, markRead } = simulator
  setNetwork({ eventLoss: 1 })
  const { inbox, chat } = openAs(simulator, 1)
  await advance(1000)
  for (let count = 0; count < 250; count++) insertMessage(2, { content: `Message ${count}` })
  markRead(1, table[30]!.id)
  expect(chat.view.messages).toEqual([])
  await advance(61_000)
  expect(chat.view.messages).toEqual(table)
  expect(inbox.view.unread).toBe(219)
})

test('beyond the limit of the Free plan, three devices lag by a minute at most and end with all messages', async () => {
  const simulator = createSimulator()
  const { server, table, insertMessage, markRead } = simulator
  server.eventLimit = createEventLimit(100)
  const devices = [1, 1, 2].map((user) => openAs(simulator, user))
  await advance(1000)
  // Each message is two events and three deliveries, so this is twice the limit.
  const messagesPerSecond = 40
  const expectRecent = (seconds: number) => {
    const due = table.length - seconds * messagesPerSecond
    for (const { chat: { view: { messages } } } of devices) {
      expect(messages.length).toBeGreaterThanOrEqual(due)
      expect(idsOf(messages)).toEqual(idsOf(table.slice(0, messages.length)))
    }
  }
  for (let second = 0; second < 120; second++) {
    devices[2]!.chat.typing()
    for (let count = 0; count < messagesPerSecond; count++) {
      insertMessage(1 + count % 2, { content: `${second} ${count}` })
      await advance(1000 / messagesPerSecond)
    }
    expectRecent(61)
  }
  markRead(1, table.at(-1)!.id)
  insertMessage(2, { content: 'The last one' })
  const { sentEvents, droppedEvents, closedChannels } = server
  expect(droppedEvents / sentEvents).toBeGreaterThan(0.3)
  expect(droppedEvents / sentEvents).toBeLessThan(0.7)
  expect(closedChannels).toBeGreaterThan(0)

  await advance(61_000)
  for (const { chat, inbox } of devices) {
    expect(chat.view.messages).toEqual(table)
    expect(chat.view.error).toBe(null)
    expect(inbox.view.conversations[0]).toMatchObject({ Messages: table.slice(-1) })
  }
  expect(devices.map(({ inbox }) => inbox.view.unread)).toEqual([1, 1, table.length / 2 | 0])

  // Below the limit again, events arrive.
  insertMessage(1, { content: 'Delivered' })
  await advance(100)
  expect(server.droppedEvents).toBe(droppedEvents)
  for (const { chat } of devices) expect(chat.view).toMatchObject({ status: 'live', messages: table })
})
