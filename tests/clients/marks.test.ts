import { expect, test, vi } from 'vitest'
import { openInbox, type Options } from '../../clients/inbox.ts'
import { onFakeTime, pass } from './at_rest.ts'
import { openWorld } from './world.ts'

onFakeTime()

/** Ana with three messages of Bob before her. */
const reading = async (options: Options = { poll: [1e8, 1e9] }) => {
  const ocean = openWorld()
  for (let count = 0; count < 3; count++) ocean.write(2, { content: `${count}` })
  const inbox = openInbox(ocean.asClient(ocean.openClient(1)), options)
  const chat = inbox.open(ocean.conversation)
  await pass(1000)
  ocean.requests.length = 0
  const marks = () => ocean.requests.filter((request) => request.startsWith('1 POST conversations/7/read')).length
  return { ...ocean, inbox, chat, marks }
}

test('a mark outlives the conversation on the screen', async () => {
  const { inbox, chat, table, marks } = await reading()
  chat.markRead()
  chat.close()
  await pass(1000)
  expect(table.every(({ read }) => read)).toBe(true)
  expect(inbox.view.unread).toBe(0)
  expect(marks()).toBe(1)
  inbox.close()
})

test('also one that waits out a failure, and the furthest is enough', async () => {
  const { inbox, chat, world, table, conversation, marks } = await reading()
  world.weather = { ...world.weather, unsent: 1 }
  chat.markRead(table[0]!.id)
  await pass(100)
  chat.markRead()
  chat.close()
  const again = inbox.open(conversation)
  again.markRead(table[1]!.id)
  again.close()
  await pass(1000)
  world.weather = { ...world.weather, unsent: 0 }
  await pass(10_000)
  expect(table.every(({ read }) => read)).toBe(true)
  expect(marks()).toBe(1)
  expect(inbox.view.unread).toBe(0)
  inbox.close()
})

test('a conversation that is opened again shows what was marked meanwhile', async () => {
  const { inbox, chat, world, conversation } = await reading()
  world.weather = { ...world.weather, slowness: 400 }
  chat.markRead()
  chat.close()
  const again = inbox.open(conversation)
  await pass(5000)
  expect(again.view.messages.map(({ read }) => read)).toEqual([true, true, true])
  inbox.close()
})

test('a mark that is refused is told once, and not made again and again', async () => {
  const { inbox, chat, world, marks } = await reading({ poll: [1000, 1000] })
  let refusals = 0
  world.stranger = (method) => method === 'POST' ? (refusals++, Response.json({ error: 'No' }, { status: 403 })) : null
  const problems = new Set<string | undefined>()
  chat.subscribe(() => problems.add(chat.view.problem?.message))
  chat.markRead()
  await pass(30_000)
  expect(problems).toContain('No')
  expect(refusals).toBe(1)
  expect(marks()).toBe(0)
  inbox.close()
})

test('closing the inbox ends the marks, too', async () => {
  const { inbox, chat, world, requests } = await reading()
  world.weather = { ...world.weather, unsent: 1 }
  chat.markRead()
  await pass(100)
  inbox.close()
  world.weather = { ...world.weather, unsent: 0 }
  requests.length = 0
  await pass(60_000)
  expect(requests).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})
