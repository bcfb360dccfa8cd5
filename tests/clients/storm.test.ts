import { expect, test, vi } from 'vitest'
import { type Conversation, type Inbox, openInbox } from '../../clients/inbox.ts'
import type { Message } from '../../clients/shapes.ts'
import { onFakeTime } from './at_rest.ts'
import { calm, openWorld, storm } from './world.ts'

onFakeTime()

const idsOf = (messages: readonly Message[]) => messages.map(({ id }) => id)

/** What is wrong as soon as it is: a gap, a double, another order, an echo beside its message, or live too early. */
const watch = (
  inbox: Inbox,
  conversation: Conversation,
  table: Message[],
  { control }: { control: { newestAtJoin: number } },
) => {
  const faults: string[] = []
  let length = 0
  conversation.subscribe(() => {
    const { messages, outgoing, status } = conversation.view
    const from = messages.length ? table.findIndex(({ id }) => id === messages[0]!.id) : 0
    const expected = table.slice(from, from + messages.length)
    if (`${idsOf(messages)}` !== `${idsOf(expected)}`) faults.push(`shows ${idsOf(messages)}, not ${idsOf(expected)}`)
    if (messages.length < length) faults.push('shows less than before')
    length = messages.length
    const isBehind = (messages.at(-1)?.id ?? 0) < control.newestAtJoin
    if (status === 'live' && isBehind) faults.push('the conversation says live, and lacks what was there at the join')
    const texts = [...messages, ...outgoing].map(({ content }) => content)
    for (const text of texts) if (texts.indexOf(text) !== texts.lastIndexOf(text)) faults.push(`shows "${text}" twice`)
  })
  inbox.subscribe(() => {
    const isBehind = (inbox.view.conversations[0]?.Messages[0]?.id ?? 0) < control.newestAtJoin
    if (inbox.view.status === 'live' && isBehind) {
      faults.push('the list says live, and lacks what was there at the join')
    }
  })
  return faults
}

/** Two people write and read for a few minutes while everything that can go wrong does; then the network is calm again. */
const weather = async (seed: number) => {
  const { world, table, random, conversation, write, markRead, openClient, asClient } = openWorld(seed)
  const before = Math.floor(random() * 160)
  for (let count = 0; count < before; count++) write(1 + count % 2, { content: `Before ${count}` })
  markRead(1, table[Math.floor(random() * 50)]?.id ?? 0)

  world.weather = storm
  const sides = [1, 2].map((id) => {
    const client = openClient(id)
    const inbox = openInbox(asClient(client))
    const chat = inbox.open(conversation)
    return { id, client, inbox, chat, written: [] as string[], faults: watch(inbox, chat, table, client) }
  })
  for (let step = 0; step < 150; step++) {
    const { id, client, chat, written } = sides[Math.floor(random() * 2)]!
    const chance = random()
    if (chance < 0.5) {
      written.push(`${id} says ${step}`)
      chat.send(written.at(-1)!)
    } else if (chance < 0.55) write(id, { content: `${id} says ${step} elsewhere` })
    else if (chance < 0.65) chat.markRead()
    else if (chance < 0.7) markRead(id, table[Math.floor(random() * table.length)]?.id ?? 0, true)
    else if (chance < 0.8) client.cut()
    else if (chance < 0.85) client.end()
    else if (chance < 0.87) world.expired = Date.now() - world.refreshedAt > 30_000
    else if (chance < 0.9) chat.older().catch(() => {})
    else chat.typing()
    await vi.advanceTimersByTimeAsync(random() * 2000)
  }

  world.weather = calm
  await vi.advanceTimersByTimeAsync(240_000)
  for (const { id, chat, inbox, written, faults } of sides) {
    expect(faults).toEqual([])
    expect(chat.view.messages).toEqual(table.slice(-chat.view.messages.length))
    expect(chat.view).toMatchObject({ outgoing: [], status: 'live', problem: null, typing: false })
    const unread = table.filter(({ user_id, read }) => user_id !== id && !read).length
    expect(inbox.view).toMatchObject({ unread, status: 'live', problem: null })
    expect(inbox.view.conversations).toEqual([{ id: conversation, Messages: table.slice(-1), unread }])
    // Sent once each, and in the order they were written in.
    expect(table.map(({ content }) => content).filter((content) => written.includes(content))).toEqual(written)
    while (chat.view.hasOlder) {
      const page = chat.older()
      await vi.advanceTimersByTimeAsync(1000)
      await page
    }
    expect(chat.view.messages).toEqual(table)
    inbox.close()
  }
  await vi.advanceTimersByTimeAsync(60_000)
  expect(vi.getTimerCount()).toBe(0)
  expect(sides.flatMap(({ client }) => client.channels)).toEqual([])
}

test.each(Array.from({ length: 40 }, (_, seed) => seed))(
  'both end with exactly what the table holds, whatever happens on the way (%i)',
  weather,
)

test('without any events at all the slow poll shows everything', async () => {
  const { world, table, conversation, write, markRead, openClient, asClient } = openWorld()
  world.weather = { ...calm, dropped: 1 }
  const inbox = openInbox(asClient(openClient(1)))
  const chat = inbox.open(conversation)
  await vi.advanceTimersByTimeAsync(1000)
  for (let count = 0; count < 250; count++) write(2, { content: `Message ${count}` })
  markRead(1, table[30]!.id)
  expect(chat.view.messages).toEqual([])
  await vi.advanceTimersByTimeAsync(61_000)
  expect(chat.view.messages).toEqual(table)
  expect(inbox.view.unread).toBe(219)
  inbox.close()
})
