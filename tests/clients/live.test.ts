import { createClient } from '@supabase/supabase-js'
import { decodeJwt, SignJWT } from 'jose'
import { expect, inject, test } from 'vitest'
import ws from 'ws'
import { type Conversation, type Message, openInbox, type Options } from '../../clients/inbox.ts'
import { asAdmin, openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { eventually, pause } from '../tools/wait.ts'

const stack = inject('stack')
// PGlite has one session, so the full run takes long there; CHAOS=full forces it.
const full = process.env.CHAOS === 'full' || process.env.TEST_DATABASE_URL !== undefined
const [messages, disconnects] = full ? [5000, 200] : [1000, 40]

const until = async (condition: () => boolean, seconds: number) => {
  await eventually(condition, seconds)
  expect(condition()).toBe(true)
}

// The first byte of a broadcast's frame in the protocol 2.0.0.
const isBroadcast = (data: unknown) => new Uint8Array(data as ArrayBuffer)[0] === 4

/** The real supabase-js on sockets that can be terminated, with polling off because it would hide a missed event. */
const openClient = async (person: Person, conversation: number, options: Options = { poll: [1e8, 1e9] }) => {
  const sockets = new Set<ws>()
  const loss = { share: 0, dropped: 0, delivered: 0 }
  class Socket extends ws {
    constructor(...parameters: ConstructorParameters<typeof ws>) {
      super(...parameters)
      sockets.add(this)
      this.on('close', () => sockets.delete(this))
    }
    override emit(event: string | symbol, ...parameters: unknown[]) {
      if (event === 'message' && isBroadcast(parameters[0])) {
        const isLost = Math.random() < loss.share
        loss[isLost ? 'dropped' : 'delivered']++
        if (isLost) return true
      }
      return super.emit(event, ...parameters)
    }
  }
  const supabase = createClient(stack.origin, stack.publishableKey, {
    auth: { persistSession: false, storageKey: person.email },
    // Reconnect fast, so that many disconnects fit into a test.
    realtime: { transport: Socket as never, reconnectAfterMs: () => 50 },
  })
  const { data, error } = await supabase.auth.signInWithPassword({ email: person.email, password: person.password })
  expect(error).toBe(null)
  const inbox = openInbox(supabase, options)
  const chat = inbox.open(conversation)
  await until(() => chat.view.status === 'live' && inbox.view.status === 'live', 10)
  return {
    inbox,
    chat,
    /** The share of Realtime's events that is dropped, and what was. */
    loss,
    /** Gives Realtime a token that expires after this time. */
    expireIn: async (seconds: number) => {
      // A channel that joins later, such as that of typing, would bring a fresh token for all.
      await until(() => supabase.getChannels().every(({ state }) => state === 'joined'), 10)
      const claims = { ...decodeJwt(data.session!.access_token), exp: Math.floor(Date.now() / 1000) + seconds }
      const secret = new TextEncoder().encode(stack.jwtSecret)
      await supabase.realtime.setAuth(await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(secret))
    },
    disconnect: () => {
      const open = [...sockets].filter(({ readyState }) => readyState === ws.OPEN)
      for (const socket of open) socket.terminate()
      return open.length > 0
    },
    close: async () => {
      inbox.close()
      await supabase.auth.stopAutoRefresh()
      await supabase.removeAllChannels()
    },
  }
}

const openBoth = async (options?: Options) => {
  const [ana, bob] = await Promise.all([signUp('Ana'), signUp('Bob')])
  const conversation = await openConversation(ana, bob)
  const [anas, bobs] = await Promise.all([ana, bob].map((person) => openClient(person, conversation, options)))
  return { ana, bob, conversation, anas: anas!, bobs: bobs! }
}

/** All messages of a conversation, oldest first. */
const readTable = async (reader: Person, conversation: number): Promise<Message[]> => {
  const table: Message[] = []
  for (let page = 0;; page += 100) {
    const { body } = await reader.call(
      'GET',
      `/conversations/${conversation}/messages?order=asc&limit=100&offset=${page}`,
    )
    table.push(...body)
    if (body.length < 100) return table
  }
}

test('a message, its read marker and typing reach the other participant', async () => {
  const { anas, bobs } = await openBoth()
  anas.chat.typing()
  await until(() => bobs.chat.view.typing, 5)
  const sent = await anas.chat.send('Hello')
  await until(() => bobs.chat.view.messages.length === 1, 5)
  expect(bobs.chat.view).toMatchObject({ messages: [sent], typing: false })
  await until(() => bobs.inbox.view.unread === 1, 5)
  bobs.chat.markRead()
  await until(() => anas.chat.view.messages[0]?.read === true, 5)
  await until(() => bobs.inbox.view.unread === 0, 5)
  await Promise.all([anas.close(), bobs.close()])
})

test('a message reaches the other participant within milliseconds', async () => {
  const { anas, bobs } = await openBoth()
  const times: number[] = []
  for (let count = 1; count <= 50; count++) {
    const seen = new Promise<void>((resolve) => {
      const stop = bobs.chat.subscribe(() => {
        if (bobs.chat.view.messages.length < count) return
        stop()
        resolve()
      })
    })
    const start = performance.now()
    await Promise.all([anas.chat.send(`Message ${count}`), seen])
    times.push(performance.now() - start)
  }
  times.sort((one, other) => one - other)
  console.log(`from send to the other view: median ${times[25]!.toFixed(0)} ms, worst ${times[49]!.toFixed(0)} ms`)
  // The fastest quarter: a built-in delay slows all messages, a busy machine only some.
  expect(times[12]).toBeLessThan(500)
  await Promise.all([anas.close(), bobs.close()])
})

test('a channel that the server closes because its token expired is joined again with a fresh token', async () => {
  const { anas, bobs } = await openBoth()
  // It joins again at once, so that looking now and then could miss it.
  let wasOffline = false
  anas.inbox.subscribe(() => wasOffline ||= anas.inbox.view.status === 'offline')
  await anas.expireIn(2)
  await until(() => wasOffline, 10)
  await bobs.chat.send('Missed')
  await until(() => anas.inbox.view.status === 'live' && anas.chat.view.status === 'live', 10)
  expect(anas.chat.view.messages).toMatchObject([{ content: 'Missed' }])
  await bobs.chat.send('Delivered')
  await until(() => anas.chat.view.messages.length === 2, 5)
  await Promise.all([anas.close(), bobs.close()])
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

// From a device without the client module, whose answers would tell the client of messages that no event announced.
test.each([
  ['half of the events at random', 0.5],
  ['every event', 1],
])('while Realtime drops %s, both clients show exactly the table within the longest poll', async (_, share) => {
  const { ana, bob, conversation, anas, bobs } = await openBoth({ poll: [2000, 3000] })
  const sides = [{ ...anas, person: ana }, { ...bobs, person: bob }]
  const violations = sides.map(({ chat }) => watch(chat))
  for (const { loss } of sides) loss.share = share
  const read = (reader: Person, message: number) =>
    reader.call('POST', `/conversations/${conversation}/read`, { up_to_message_id: message })
  for (let count = 0; count < 150; count++) {
    const [sender, reader] = count % 2 ? [ana, bob] : [bob, ana]
    const { id } = await sendMessage(sender, conversation, `Message ${count}`)
    if (count % 25 === 0) await read(reader, id)
  }
  // Nothing comes after these that would reveal that they were dropped.
  for (const { loss } of sides) loss.share = 1
  const { id } = await sendMessage(ana, conversation, 'The last one')
  await read(ana, id)
  await asAdmin('POST', 'reservations', {
    conversation_id: conversation,
    title: 'A walk',
    price: 9,
    date: '2027-01-01',
  })
  const other = await openConversation(bob, await signUp('Cleo'))

  const table = await readTable(ana, conversation)
  const unreadOf = ({ id }: Person) => table.filter(({ user_id, read }) => user_id !== id && !read).length
  const isComplete = () =>
    sides.every(({ chat, inbox, person }) =>
      JSON.stringify(chat.view.messages) === JSON.stringify(table) && chat.view.reservations.length === 1 &&
      inbox.view.unread === unreadOf(person)
    ) && bobs.inbox.view.conversations.length === 2
  await eventually(isComplete, 4)
  for (const [index, { chat, inbox, loss, person }] of sides.entries()) {
    expect(violations[index]).toEqual([])
    expect(chat.view.messages).toEqual(table)
    expect(chat.view).toMatchObject({ reservations: [{ title: 'A walk' }], status: 'live', error: null })
    expect(inbox.view.unread).toBe(unreadOf(person))
    expect(loss.dropped).toBeGreaterThan(60)
    expect(loss.delivered > 40).toBe(share < 1)
  }
  expect(bobs.inbox.view.conversations.map(({ id }) => id).toSorted()).toEqual([conversation, other].toSorted())
  await Promise.all([anas.close(), bobs.close()])
})

test(`after ${disconnects} disconnects during ${messages} messages both clients show exactly the table`, {
  timeout: 240_000,
}, async () => {
  // So that reads begin between the disconnects.
  const { ana, bob, conversation, anas, bobs } = await openBoth({ resyncJitter: 1000 })
  const sides = [{ ...anas, person: ana }, { ...bobs, person: bob }]
  const violations = sides.map(({ chat }) => watch(chat))
  const start = performance.now()
  const took = () => ((performance.now() - start) / 1000).toFixed(1)

  let sent = 0
  const sending = Promise.all(sides.map(async ({ chat, person }) => {
    const each = messages / 2
    for (let from = 0; from < each; from += 20) {
      const some = Array.from({ length: Math.min(20, each - from) }, (_, index) => `${person.name} ${from + index}`)
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
  const sentAfter = took()
  await until(() => sides.every(({ chat }) => chat.view.messages.length >= messages && chat.view.status === 'live'), 60)
  for (const { chat } of sides) chat.markRead()
  await until(() => sides.every(({ chat }) => chat.view.messages.every(({ read }) => read)), 60)
  await until(() => sides.every(({ inbox }) => inbox.view.unread === 0), 10)
  console.log(`${messages} messages, ${disconnects} disconnects: sent after ${sentAfter} s, all read after ${took()} s`)

  const table = await readTable(ana, conversation)
  for (const [side, { chat, person }] of sides.entries()) {
    expect(violations[side]).toEqual([])
    expect(chat.view.messages).toEqual(table)
    expect(chat.view).toMatchObject({ outgoing: [], error: null })
    const own = table.filter(({ user_id }) => user_id === person.id).map(({ content }) => content)
    expect(own).toEqual(Array.from({ length: messages / 2 }, (_, index) => `${person.name} ${index}`))
  }
  await Promise.all(sides.map(({ close }) => close()))
})
