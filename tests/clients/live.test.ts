import { createClient } from '@supabase/supabase-js'
import { decodeJwt, SignJWT } from 'jose'
import { expect, inject, test } from 'vitest'
import ws from 'ws'
import { type Conversation, type Message, openInbox } from '../../clients/inbox.ts'
import { converse, type Person, signUp } from '../tools/people.ts'
import { eventually, pause } from '../tools/wait.ts'

const stack = inject('stack')
// PGlite is one session for everybody: the whole of it takes a while there, and CHAOS=full is for who wants to wait.
const full = process.env.CHAOS === 'full' || process.env.TEST_DATABASE_URL !== undefined
const [messages, cuts] = full ? [5000, 200] : [1000, 40]

const until = async (isSo: () => boolean, seconds: number) => {
  await eventually(isSo, seconds)
  expect(isSo()).toBe(true)
}

/** Somebody's supabase-js as it is installed, on sockets that can be cut. No poll helps what is tested. */
const enter = async (person: Person, conversation: number) => {
  const sockets = new Set<ws>()
  class Socket extends ws {
    constructor(...parameters: ConstructorParameters<typeof ws>) {
      super(...parameters)
      sockets.add(this)
      this.on('close', () => sockets.delete(this))
    }
  }
  const supabase = createClient(stack.origin, stack.publishableKey, {
    auth: { persistSession: false, storageKey: person.email },
    // Eager, so that many cuts fit into a test.
    realtime: { transport: Socket as never, reconnectAfterMs: () => 50 },
  })
  const { data, error } = await supabase.auth.signInWithPassword({ email: person.email, password: person.password })
  expect(error).toBe(null)
  const inbox = openInbox(supabase, { poll: [1e8, 1e9] })
  const chat = inbox.open(conversation)
  await until(() => chat.view.status === 'live' && inbox.view.status === 'live', 10)
  return {
    inbox,
    chat,
    /** Tells Realtime of a token that is good for these seconds, as if the one it has were that old. */
    age: async (seconds: number) => {
      const claims = { ...decodeJwt(data.session!.access_token), exp: Math.floor(Date.now() / 1000) + seconds }
      const secret = new TextEncoder().encode(stack.jwtSecret)
      await supabase.realtime.setAuth(await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(secret))
    },
    cut: () => {
      const open = [...sockets].filter(({ readyState }) => readyState === ws.OPEN)
      for (const socket of open) socket.terminate()
      return open.length > 0
    },
    leave: async () => {
      inbox.close()
      await supabase.auth.stopAutoRefresh()
      await supabase.removeAllChannels()
    },
  }
}

const meet = async () => {
  const [ana, bob] = await Promise.all([signUp('Ana'), signUp('Bob')])
  const conversation = await converse(ana, bob)
  const [anas, bobs] = await Promise.all([enter(ana, conversation), enter(bob, conversation)])
  return { ana, bob, conversation, anas, bobs }
}

/** Everything in a conversation, oldest first. */
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

test('a message, its mark, and somebody typing are seen on the other side', async () => {
  const { anas, bobs } = await meet()
  anas.chat.typing()
  await until(() => bobs.chat.view.typing, 5)
  const sent = await anas.chat.send('Hello')
  await until(() => bobs.chat.view.messages.length === 1, 5)
  expect(bobs.chat.view).toMatchObject({ messages: [sent], typing: false })
  await until(() => bobs.inbox.view.unread === 1, 5)
  bobs.chat.markRead()
  await until(() => anas.chat.view.messages[0]?.read === true, 5)
  await until(() => bobs.inbox.view.unread === 0, 5)
  await Promise.all([anas.leave(), bobs.leave()])
})

test('a message is seen in milliseconds', async () => {
  const { anas, bobs } = await meet()
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
  console.log(`from send to the other screen: median ${times[25]!.toFixed(0)} ms, worst ${times[49]!.toFixed(0)} ms`)
  // The quickest quarter: a wait that is built in slows all, and a busy machine some.
  expect(times[12]).toBeLessThan(500)
  await Promise.all([anas.leave(), bobs.leave()])
})

test('a channel that the server ends because its token has expired is joined again with a fresh one', async () => {
  const { anas, bobs } = await meet()
  await anas.age(2)
  await until(() => anas.inbox.view.status === 'offline', 10)
  await bobs.chat.send('Missed')
  await until(() => anas.inbox.view.status === 'live' && anas.chat.view.status === 'live', 10)
  expect(anas.chat.view.messages).toMatchObject([{ content: 'Missed' }])
  await bobs.chat.send('Heard')
  await until(() => anas.chat.view.messages.length === 2, 5)
  await Promise.all([anas.leave(), bobs.leave()])
})

/** Says what a view ever did but grow at its end. */
const watch = (chat: Conversation) => {
  const faults: string[] = []
  let last: Message | undefined
  let length = 0
  chat.subscribe(() => {
    const { messages } = chat.view
    if (messages[length - 1]?.id !== last?.id) faults.push(`message ${last?.id} moved`)
    length = messages.length
    last = messages.at(-1)
  })
  return faults
}

test(`with the sockets cut ${cuts} times while ${messages} messages flow, both end with exactly the table`, {
  timeout: 240_000,
}, async () => {
  const { ana, bob, conversation, anas, bobs } = await meet()
  const sides = [{ ...anas, person: ana }, { ...bobs, person: bob }]
  const faults = sides.map(({ chat }) => watch(chat))
  const start = performance.now()
  const took = () => ((performance.now() - start) / 1000).toFixed(1)

  let sent = 0
  const flow = Promise.all(sides.map(async ({ chat, person }) => {
    const each = messages / 2
    for (let from = 0; from < each; from += 20) {
      const some = Array.from({ length: Math.min(20, each - from) }, (_, index) => `${person.name} ${from + index}`)
      await Promise.all(some.map((content) => chat.send(content).then(() => sent++)))
      chat.markRead()
    }
  }))
  for (let cut = 0; cut < cuts; cut++) {
    while (sent < (cut / cuts) * messages) await pause(5)
    await pause(Math.random() * 50)
    const side = sides[Math.floor(Math.random() * 2)]!
    while (!side.cut()) await pause(5)
  }
  await flow
  const sentAfter = took()
  await until(() => sides.every(({ chat }) => chat.view.messages.length >= messages && chat.view.status === 'live'), 60)
  for (const { chat } of sides) chat.markRead()
  await until(() => sides.every(({ chat }) => chat.view.messages.every(({ read }) => read)), 60)
  await until(() => sides.every(({ inbox }) => inbox.view.unread === 0), 10)
  console.log(`${messages} messages and ${cuts} cuts: sent after ${sentAfter} s, all seen and read after ${took()} s`)

  const table = await readTable(ana, conversation)
  for (const [side, { chat, person }] of sides.entries()) {
    expect(faults[side]).toEqual([])
    expect(chat.view.messages).toEqual(table)
    expect(chat.view).toMatchObject({ outgoing: [], problem: null })
    const own = table.filter(({ user_id }) => user_id === person.id).map(({ content }) => content)
    expect(own).toEqual(Array.from({ length: messages / 2 }, (_, index) => `${person.name} ${index}`))
  }
  await Promise.all(sides.map(({ leave }) => leave()))
})
