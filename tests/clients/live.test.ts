// The client with the real supabase-js. Polling is off where it would hide an event that was missed.
import { decodeJwt, SignJWT } from 'jose'
import { expect, inject, test } from 'vitest'
import type { Conversation, Message } from '../../clients/inbox.ts'
import { asAdmin, openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { pause, until } from '../tools/wait.ts'
import { openBoth, timeToShow } from './real_inbox.ts'

const stack = inject('stack')
/** CHAOS=full: ten times as much, some minutes. */
const [messages, disconnects] = process.env.CHAOS === 'full' ? [5000, 200] : [500, 20]
const withoutPolls = { poll: [1e8, 1e9] as const }

/** All messages of a conversation, oldest first. */
const readTable = async (reader: Person, conversation: number): Promise<Message[]> => {
  const table: Message[] = []
  for (let body: Message[] = [], page = 0; page === 0 || body.length === 100; page += 100) {
    const path = `/conversations/${conversation}/messages?order=asc&limit=100&offset=${page}`
    body = (await reader.call('GET', path)).body
    table.push(...body)
  }
  return table
}

test('messages, read markers and typing reach the other participant, messages in milliseconds', async () => {
  const { ben, anas, bens } = await openBoth(withoutPolls)
  // Their topic is joined when it is.
  await until(() => {
    anas.chat.typing()
    return bens.chat.view.typing
  })
  const sent = await anas.chat.send('Hello')
  await until(() => bens.chat.view.messages.length === 1)
  expect(bens.chat.view).toMatchObject({ messages: [sent], typing: false })
  await until(() => bens.inbox.view.unread === 1)
  bens.chat.markRead()
  await until(() => anas.chat.view.messages[0]?.read === true && bens.inbox.view.unread === 0)
  const times: number[] = []
  for (let count = 0; count < 20; count++) times.push(await timeToShow(ben, anas.chat, `Message ${count}`))
  // A delay that is built in slows all messages, a busy machine only some.
  expect(Math.min(...times)).toBeLessThan(200)
})

test('a channel that the server closes because its token expired is joined again with a fresh token', async () => {
  const { anas, bens } = await openBoth(withoutPolls)
  // It joins again at once, so that looking now and then could miss it.
  let wasOffline = false
  anas.inbox.subscribe(() => wasOffline ||= anas.inbox.view.status === 'offline')
  // A channel that joins later, such as that of typing, would bring a fresh token for all.
  await until(() => anas.supabase.getChannels().every(({ state }) => state === 'joined'))
  // A heartbeat brings a fresh token, too.
  anas.supabase.realtime.sendHeartbeat = () => Promise.resolve()
  const claims = { ...decodeJwt(anas.token), exp: Math.floor(Date.now() / 1000) + 2 }
  const secret = new TextEncoder().encode(stack.jwtSecret)
  await anas.supabase.realtime.setAuth(await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(secret))
  await until(() => wasOffline)
  await bens.chat.send('Missed')
  await until(() => anas.inbox.view.status === 'live' && anas.chat.view.status === 'live')
  expect(anas.chat.view.messages).toMatchObject([{ content: 'Missed' }])
  await bens.chat.send('Delivered')
  await until(() => anas.chat.view.messages.length === 2)
})

test('a connection on which nothing comes any more is offline within ten seconds, and replaced', async () => {
  const { ben, conversation, anas } = await openBoth(withoutPolls)
  anas.loss.isSilent = true
  const start = performance.now()
  await until(() => anas.inbox.view.status === 'offline' && anas.chat.view.status === 'offline')
  // On a busy machine timers are late.
  expect(performance.now() - start).toBeLessThan(15_000)
  anas.loss.isSilent = false
  await sendMessage(ben, conversation, 'Missed')
  await until(() => anas.chat.view.messages.length === 1 && anas.chat.view.status === 'live')
})

/** Collects every change of a view other than appending messages. */
const watch = (chat: Conversation) => {
  const violations: string[] = []
  let last: Message | undefined
  let length = 0
  chat.subscribe(() => {
    const { messages } = chat.view
    if (messages[length - 1]?.id !== last?.id) violations.push(`message ${last?.id} moved`)
    length = messages.length
    last = messages.at(-1)
  })
  return violations
}

// Messages come from a device without the client module, whose answers would tell it of those that no event announced.
test.each([0.5, 1])(
  'while a share of %d of events is lost both clients show exactly the table, by polling',
  async (share) => {
    const { ana, ben, conversation, anas, bens } = await openBoth({ poll: [2000, 3000] })
    const sides = [anas, bens]
    const violations = sides.map(({ chat }) => watch(chat))
    for (const { loss } of sides) loss.share = share
    for (let count = 0; count < 100; count++) {
      // Nothing comes after the last ones that would reveal that they were dropped.
      if (count === 99) { for (const { loss } of sides) loss.share = 1 }
      const [sender, reader] = count % 2 ? [ana, ben] : [ben, ana]
      const { id } = await sendMessage(sender, conversation, `Message ${count}`)
      const path = `/conversations/${conversation}/read`
      if (count % 33 === 0) await reader.call('POST', path, { up_to_message_id: id })
    }
    await asAdmin('POST', 'reservations', {
      conversation_id: conversation,
      title: 'A walk',
      price: 9,
      date: '2027-01-01',
    })
    const other = await openConversation(ben, await signUp('Cleo'))

    const table = await readTable(ana, conversation)
    const unreadOf = ({ id }: Person) => table.filter(({ user_id, read }) => user_id !== id && !read).length
    await until(() =>
      sides.every(({ chat, inbox, person }) =>
        JSON.stringify(chat.view.messages) === JSON.stringify(table) && chat.view.reservations.length === 1 &&
        inbox.view.unread === unreadOf(person)
      ) && bens.inbox.view.conversations.length === 2
    )
    expect(violations).toEqual([[], []])
    for (const { chat, loss } of sides) {
      expect(chat.view).toMatchObject({ reservations: [{ title: 'A walk' }], error: null })
      expect([loss.dropped > 40, loss.delivered > 25]).toEqual([true, share < 1])
    }
    expect(bens.inbox.view.conversations.map(({ id }) => id).toSorted()).toEqual([conversation, other].toSorted())
  },
)

test(`after ${disconnects} disconnects during ${messages} messages both clients show exactly the table`, {
  timeout: 600_000,
}, async () => {
  // So that reads begin between the disconnects.
  const { ana, conversation, anas, bens } = await openBoth({ ...withoutPolls, resyncJitter: 1000 })
  const sides = [anas, bens]
  const violations = sides.map(({ chat }) => watch(chat))
  let sent = 0
  const sending = Promise.all(sides.map(async ({ chat, person }) => {
    for (let from = 0; from < messages / 2; from += 10) {
      const some = Array.from({ length: 10 }, (_, index) => `${person.name} ${from + index}`)
      await Promise.all(some.map((content) => chat.send(content).then(() => sent++)))
      chat.markRead()
    }
  }))
  for (let count = 0; count < disconnects; count++) {
    while (sent < (count / disconnects) * messages) await pause(5)
    await pause(Math.random() * 50)
    const side = sides[Math.floor(Math.random() * 2)]!
    while (!side.disconnect()) await pause(5)
  }
  await sending
  const areAll = (holds: (side: typeof anas) => boolean) => until(() => sides.every(holds), 300)
  await areAll(({ chat: { view } }) => view.messages.length >= messages && view.status === 'live')
  for (const { chat } of sides) chat.markRead()
  await areAll(({ chat, inbox }) => inbox.view.unread === 0 && chat.view.messages.every(({ read }) => read))

  const table = await readTable(ana, conversation)
  expect(violations).toEqual([[], []])
  for (const { chat, person } of sides) {
    expect(chat.view).toMatchObject({ messages: table, outgoing: [], error: null })
    const own = table.filter(({ user_id }) => user_id === person.id).map(({ content }) => content)
    expect(own).toEqual(Array.from({ length: messages / 2 }, (_, index) => `${person.name} ${index}`))
  }
})
