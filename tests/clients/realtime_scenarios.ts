// What happens to the client on Supabase's Realtime. tests/clients/realtime.test.ts plays it on the local one with
// REALTIME_DELAYS=on, and tests/platform/realtime/server.test.ts on a server that somebody supplies.
import { createClient } from '@supabase/supabase-js'
import { expect, onTestFinished } from 'vitest'
import ws from 'ws'
import { type Conversation, openInbox, type Options } from '../../clients/inbox.ts'
import { openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { eventually, pause } from '../tools/wait.ts'

export interface Server {
  /** Where the functions answer. */
  base: string
  publishableKey: string
}

const until = async (condition: () => boolean, seconds = 20): Promise<void> => {
  await eventually(condition, seconds)
  expect(condition()).toBe(true)
}

/** The inbox of a user, opened as an app does. */
export const openInboxOf = async ({ base, publishableKey }: Server, person: Person, options?: Options) => {
  const { email, password } = person
  const supabase = createClient(new URL(base).origin, publishableKey, {
    auth: { persistSession: false, storageKey: email },
    realtime: { transport: ws as never },
  })
  expect((await supabase.auth.signInWithPassword({ email, password })).error).toBe(null)
  const inbox = openInbox(supabase, options)
  onTestFinished(async () => {
    inbox.close()
    await supabase.auth.stopAutoRefresh()
  })
  return inbox
}

export const openPair = async ({ base }: Server) => {
  const [ana, ben] = await Promise.all([signUp('Ana', {}, base), signUp('Ben', {}, base)])
  return { ana, ben, conversation: await openConversation(ana, ben) }
}

/** Sends a message over HTTP; resolves with the milliseconds from the answer until the view shows it. */
export const timeToShow = async (sender: Person, chat: Conversation, content: string): Promise<number> => {
  const isShown = () => chat.view.messages.some((message) => message.content === content)
  const shown = new Promise<number>((resolve) => {
    const stop = chat.subscribe(() => {
      if (!isShown()) return
      stop()
      resolve(performance.now())
    })
  })
  await sendMessage(sender, chat.id, content)
  const answered = performance.now()
  return Math.max(0, Math.round(await Promise.race([shown, pause(60_000).then(() => Infinity)]) - answered))
}

/** Ana has blocked Ben, who opens their conversation: his typing topic is refused. Carl writes to him. */
export const playRefusedTyping = async (server: Server): Promise<number[]> => {
  const { ana, ben, conversation } = await openPair(server)
  const carl = await signUp('Carl', {}, server.base)
  const withCarl = await openConversation(carl, ben)
  expect((await ana.call('PUT', `/users/me/blocks/${ben.id}`)).status).toBe(204)
  const inbox = await openInboxOf(server, ben)
  const chat = inbox.open(withCarl)
  await until(() => chat.view.status === 'live' && chat.view.loaded)
  inbox.open(conversation)
  const times: number[] = []
  for (let count = 0; count < 30; count++) {
    times.push(await timeToShow(carl, chat, `Message ${count}`))
    await pause(250)
  }
  return times
}

/** A user joins on a server that does not pass events on yet, and gets a message at once. */
export const playFirstMessage = async (
  server: Server,
  { ana, ben, conversation }: Awaited<ReturnType<typeof openPair>>,
) => {
  const inbox = await openInboxOf(server, ana)
  const chat = inbox.open(conversation)
  await until(() => inbox.view.status !== 'offline')
  const time = await timeToShow(ben, chat, `The first ${Math.random()}`)
  return { time, chat }
}

/** Replication breaks off without a word to the channels. */
export const playOutage = async (server: Server, begin: () => unknown, end: () => unknown) => {
  const { ana, ben, conversation } = await openPair(server)
  const [anas, bens] = await Promise.all([ana, ben].map((person) => openInboxOf(server, person)))
  const [anasChat, bensChat] = [anas!.open(conversation), bens!.open(conversation)]
  await until(() => [anas!, bens!, anasChat, bensChat].every(({ view }) => view.status === 'live'))
  await begin()
  // The outage may begin after the first of them has gone through.
  const texts: string[] = []
  const isDelayed = () => anas!.view.status === 'delayed' && anasChat.view.status === 'delayed'
  for (let count = 0; !isDelayed() && count < 3; count++) {
    texts.push(`Can you hear me? ${count}`)
    await anasChat.send(texts[count]!)
    await eventually(isDelayed, 5)
  }
  expect(isDelayed()).toBe(true)
  const times = []
  for (let count = 0; count < 3; count++) times.push(await timeToShow(ben, anasChat, `Answer ${count}`))
  await end()
  const isLive = () => anas!.view.status === 'live' && anasChat.view.status === 'live'
  let sent = 0
  for (; !isLive() && sent < 60; sent++) {
    await sendMessage(ben, conversation, `Now ${sent}`)
    await eventually(isLive, 1)
  }
  expect(isLive()).toBe(true)
  for (let count = 0; count < 3; count++) texts.push(`Answer ${count}`)
  for (let count = 0; count < sent; count++) texts.push(`Now ${count}`)
  await until(() => anasChat.view.messages.length === texts.length)
  expect(anasChat.view.messages.map(({ content }) => content)).toEqual(texts)
  return times
}
