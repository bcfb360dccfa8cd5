import { expect, test, vi } from 'vitest'
import type { Message } from '../../clients/types.ts'
import { createEventLimit } from './event_limit.ts'
import { advance, openAs, playAll, useFakeTime, withoutPolling } from './fixture.ts'
import { badNetwork, createSimulator } from './network_simulator.ts'

useFakeTime()

const idsOf = (messages: readonly Message[]) => messages.map(({ id }) => id)

/** Collects violations as they occur: gaps, duplicates, wrong order, an echo beside its message, "live" too early. */
const watch = (
  { inbox, chat, client: { control } }: ReturnType<typeof openAs>,
  { table, removed }: { table: Message[]; removed: ReadonlySet<number> },
) => {
  const violations: string[] = []
  let length = 0
  /** Whether this, the newest message shown, is not from after the join. */
  const isBehind = (newest?: { id: number }) =>
    (newest?.id ?? 0) < control.newestAtJoin && !removed.has(control.newestAtJoin)
  chat.subscribe(() => {
    const { messages: all, outgoing, status } = chat.view
    const messages = all.filter(({ id }) => !removed.has(id))
    const from = messages.length ? table.findIndex(({ id }) => id === messages[0]!.id) : 0
    const [shown, expected] = [messages, table.slice(from, from + messages.length)].map((list) => `${idsOf(list)}`)
    if (shown !== expected) violations.push(`shows ${shown}, not ${expected}`)
    if (all.length < length - removed.size) violations.push('shows less than before')
    length = Math.max(length, all.length)
    if (status === 'live' && isBehind(messages.at(-1))) violations.push('the conversation is live too early')
    const texts = [...messages, ...outgoing].map(({ content }) => content)
    for (const text of texts) {
      if (texts.indexOf(text) !== texts.lastIndexOf(text)) violations.push(`shows "${text}" twice`)
    }
  })
  inbox.subscribe(() => {
    const { status, conversations } = inbox.view
    if (status === 'live' && isBehind(conversations[0]?.Messages[0])) violations.push('the list is live too early')
  })
  return violations
}

/** Ana and Bob write and read for a few minutes on a bad network and then have four minutes on a good one. */
const simulateFaults = async (seed: number) => {
  const simulator = createSimulator(seed)
  const { server, setNetwork, table, random, insertMessage, markRead } = simulator
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!
  const removed = new Set<number>()
  const before = Math.floor(random() * 160)
  for (let count = 0; count < before; count++) insertMessage(1 + count % 2, { content: `Before ${count}` })
  markRead(1, table[Math.floor(random() * 50)]?.id ?? 0)

  setNetwork(badNetwork)
  const sides = [1, 2].map((id) => {
    const side = openAs(simulator, id)
    return { id, ...side, written: [] as string[], violations: watch(side, { table, removed }) }
  })
  type Side = typeof sides[number]
  const actions: [share: number, act: (side: Side, step: number) => unknown][] = [
    [50, ({ id, chat, written }, step) => {
      written.push(`${id} says ${step}`)
      void chat.send(written.at(-1)!)
    }],
    [5, ({ id }, step) => insertMessage(id, { content: `${id} says ${step} elsewhere` })],
    [10, ({ chat }) => chat.markRead()],
    [5, ({ id }) => markRead(id, pick(table)?.id ?? 0, true)],
    [10, ({ client }) => client.disconnect()],
    [5, ({ client }) => client.closeChannels()],
    [2, () => server.tokenExpired = Date.now() - server.refreshedAt > 30_000],
    // Not what may still be sent again: the service refuses a repeat of a message that was corrected.
    [2, (_, step) => {
      const others = table.filter(({ content }) => /Before|elsewhere/.test(content))
      if (others.length) simulator.correctMessage(pick(others), `corrected elsewhere in step ${step}`)
    }],
    [2, () => {
      if (!table.length) return
      const message = pick(table)
      removed.add(message.id)
      simulator.removeMessage(message)
    }],
    [3, ({ chat }) => void chat.older().catch(() => {})],
    [6, ({ chat }) => chat.typing()],
  ]
  const bag = actions.flatMap(([share, act]) => Array<typeof act>(share).fill(act))
  for (let step = 0; step < 150; step++) {
    pick(bag)(pick(sides), step)
    await advance(random() * 2000)
  }

  setNetwork()
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
    expect(inbox.view.conversations).toMatchObject([{ id: 7, Messages: [{ id: table.at(-1)!.id }], unread }])
    // Each message was stored once, in the order in which it was written.
    const stored = table.map(({ content }) => content).filter((content) => written.includes(content))
    expect(stored).toEqual(written.filter((content) => stored.includes(content)))
    expect(new Set(stored).size).toBe(stored.length)
    while (chat.view.hasOlder) await Promise.all([chat.older(), advance(1000)])
    expect(chat.view.messages).toEqual(table)
    inbox.close()
  }
  await advance(60_000)
  expect(vi.getTimerCount()).toBe(0)
  expect(sides.flatMap(({ client }) => client.channels)).toEqual([])
}

test.each([...Array(7).keys(), 67])(
  'after random network faults both clients show exactly the messages of the table (seed %i)',
  simulateFaults,
)

// deno-fmt-ignore
playAll([
  ['without any events, polling shows everything within a minute', {},
    ({ setNetwork, table, insertMessage, markRead }) => {
      setNetwork({ eventLoss: 1 })
      for (let count = 0; count < 250; count++) insertMessage(2, { content: `Message ${count}` })
      markRead(1, table[30]!.id)
    },
    { messages: [] }, 61_000, { isComplete: true, unread: 219 }],
])

test('of 400 messages that events overtake each is shown within 5 s, and none is missing while live', async () => {
  const simulator = createSimulator()
  const { chat, inbox } = openAs(simulator, 1, withoutPolling)
  await advance(1000)
  const worst = { shown: 0, live: 0 }
  for (let count = 0; count < 400; count++) {
    simulator.setNetwork({ invisibility: count % 10 ? 62 : 4000 })
    const { id } = simulator.insertMessage(1 + count % 2, { content: `${count}` })
    const isShown = () => chat.view.messages.at(-1)?.id === id && inbox.view.conversations[0]?.Messages[0]?.id === id
    const time = { shown: 0, live: 0 }
    for (; !isShown() && time.shown <= 5000; time.shown += 10) {
      if (chat.view.status === 'live' && inbox.view.status === 'live') time.live += 10
      await advance(10)
    }
    worst.shown = Math.max(worst.shown, time.shown)
    worst.live = Math.max(worst.live, time.live)
  }
  expect(worst.shown).toBeLessThan(5000)
  expect(worst.live).toBeLessThan(1000)
  expect(chat.view.messages).toHaveLength(400)
})

test('beyond the limit of the Free plan, three devices lag by a minute at most and end with all messages', async () => {
  const simulator = createSimulator()
  const { server, table, insertMessage, markRead } = simulator
  server.eventLimit = createEventLimit(25)
  const devices = [1, 1, 2].map((user) => openAs(simulator, user))
  const views = () => devices.map(({ chat, inbox }) => ({ ...chat.view, latest: inbox.view.conversations[0] }))
  await advance(1000)
  // Each message is two events and three deliveries, so this is twice the limit.
  const messagesPerSecond = 10
  for (let second = 0; second < 120; second++) {
    devices[2]!.chat.typing()
    for (let count = 0; count < messagesPerSecond; count++) {
      insertMessage(1 + count % 2, { content: `${second} ${count}` })
      await advance(1000 / messagesPerSecond)
    }
    for (const { messages } of views()) {
      expect(messages.length).toBeGreaterThanOrEqual(table.length - 61 * messagesPerSecond)
      expect(idsOf(messages)).toEqual(idsOf(table.slice(0, messages.length)))
    }
  }
  markRead(1, table.at(-1)!.id)
  const { id } = insertMessage(2, { content: 'The last one' })
  const { sentEvents, droppedEvents, closedChannels } = server
  expect(Math.abs(droppedEvents / sentEvents - 0.5)).toBeLessThan(0.2)
  expect(closedChannels).toBeGreaterThan(0)

  await advance(61_000)
  for (const view of views()) {
    expect(view).toMatchObject({ messages: table, error: null, latest: { Messages: [{ id }] } })
  }
  expect(devices.map(({ inbox }) => inbox.view.unread)).toEqual([1, 1, table.length / 2 | 0])

  // Below the limit again, events arrive.
  insertMessage(1, { content: 'Delivered' })
  await advance(100)
  expect(server.droppedEvents).toBe(droppedEvents)
  for (const view of views()) expect(view).toMatchObject({ status: 'live', messages: table })
})
