import { openApi } from './api.ts'
import { keepChannel, type KeptChannel } from './channel.ts'
import { type Conversation, type OpenConversation, openConversation, type Surroundings } from './conversation.ts'
import { openMarks } from './marks.ts'
import { openOutbox } from './outbox.ts'
import { openPasses } from './passes.ts'
import { Problem } from './problem.ts'
import { type Client, type EventName, eventNames, type Hint, type ListedConversation } from './shapes.ts'
import type { Person, Status } from './shapes.ts'
import { keepSession } from './session.ts'
import { type Listener, openStore } from './store.ts'
import { onWake } from './wake.ts'

export type { Conversation, ConversationView } from './conversation.ts'
export type { Outgoing } from './outbox.ts'
export type { Attachment, Draft, ListedConversation, Message, Person, Reservation, Status } from './shapes.ts'
export { Problem }

export interface InboxView {
  me: Person | null
  /** Latest activity first, each with its latest message and how many are unread. */
  conversations: readonly (ListedConversation & { unread: number })[]
  /** How many messages are unread in all. */
  unread: number
  /** Whether the list has been read once. */
  loaded: boolean
  status: Status
  /** What the last request came to, until one succeeds. */
  problem: Problem | null
}

export interface Inbox {
  readonly view: InboxView
  subscribe(listener: Listener): () => void
  /** Opens a conversation; opened twice it is the same one, and stays until it is closed twice. */
  open(conversationId: number): Conversation
  /** Opens the conversation with somebody, or finds the one there is. */
  openWith(userId: number): Promise<Conversation>
  /**
   * Ends everything: channels, timers, requests. Messages and marks that were not answered stop being tried. Signing out does it too, and so
   * does somebody else who signs in.
   */
  close(): void
}

export interface Options {
  /** How often to look for what no event told, in milliseconds from and to. */
  poll?: readonly [number, number]
  /** How long a request may take, in milliseconds. */
  timeout?: number
}

const isHint = (payload: unknown): payload is Hint => {
  const { conversation_id, id } = (payload ?? {}) as Partial<Hint>
  return Number.isInteger(conversation_id) && Number.isInteger(id)
}

// The list and the counts are two requests that many events ask for; they need not be renewed more often than this.
const listPause = 500

// Clients that the server cut off together join again together; what each then reads is spread over this time.
const spread = 1000

const inUse = new WeakSet<Client>()

/** Opens the inbox of whoever is signed in. */
export const openInbox = (supabase: Client, options: Options = {}): Inbox => {
  // supabase-js has one channel for a topic; two inboxes would take it away from each other without end.
  if (inUse.has(supabase)) throw new Error('This client has an open inbox already; close that one first')
  inUse.add(supabase)
  const { poll = [30_000, 60_000], timeout = 15_000 } = options

  const life = new AbortController()
  const session = keepSession(supabase, () => close())
  const api = openApi(supabase, session, timeout)
  const outbox = openOutbox(api)
  const marks = openMarks(api, () => list.run())
  const conversations = new Map<number, { conversation: OpenConversation; opened: number }>()
  let joins = 0
  let join = 0
  let isBehind = true
  let refused: string | null = null
  let isAwaited = true
  let catchingUp: ReturnType<typeof setTimeout> | undefined
  let channel: KeptChannel | null = null
  let meet: (person: Person) => void
  const me = new Promise<Person>((resolve) => meet = resolve)

  const store = openStore<InboxView>({
    me: null,
    conversations: [],
    unread: 0,
    loaded: false,
    status: 'offline',
    problem: null,
  })
  const ended = (failed: Problem | null) => {
    // Where requests succeed, what keeps the events away is worth telling.
    const problem = failed ?? (refused === null ? null : new Problem(refused))
    const status = !join || failed?.temporary ? 'offline' : isBehind ? 'catching up' : 'live'
    store.set({ status, ...(problem?.message !== store.view.problem?.message && { problem }) })
  }

  const list = openPasses(
    async (signal) => {
      const began = join
      const [listed, { total, conversations }] = await Promise.all([api.conversations(signal), api.unread(signal)])
      const unread = new Map(conversations.map(({ conversation_id, unread }) => [conversation_id, unread]))
      const entries = listed.map((conversation) => ({ ...conversation, unread: unread.get(conversation.id) ?? 0 }))
      if (signal.aborted) return
      if (began && began === join) isBehind = false
      store.set({ conversations: entries, unread: total, loaded: true })
    },
    ended,
    listPause,
  )

  // Nobody is told that they were blocked, so their side goes on for as long as the platform lets it: this side must not listen.
  let blocked: ReadonlySet<number> | null = null
  const blocks = openPasses(async (signal) => {
    const people = await api.blocked(signal)
    if (signal.aborted) return
    blocked = new Set(people)
    for (const { conversation } of conversations.values()) conversation.blocksChanged()
  })

  const resync = () => {
    who.hurry()
    list.hurry()
    blocks.hurry()
    outbox.hurry()
    marks.hurry()
    for (const { conversation } of conversations.values()) conversation.resync()
  }
  const joined = (now: boolean, error: string | null) => {
    join = now ? ++joins : 0
    isBehind = true
    refused = error
    for (const { conversation } of conversations.values()) conversation.joined()
    ended(store.view.problem?.status ? store.view.problem : null)
    // Everything that happened before the join, for the first time or again, no event will tell.
    clearTimeout(catchingUp)
    if (!now) return
    if (isAwaited) resync()
    else catchingUp = setTimeout(resync, Math.random() * spread)
    isAwaited = false
  }
  const hear = (event: EventName) => (payload: unknown) => {
    if (!isHint(payload)) return
    conversations.get(payload.conversation_id)?.conversation.hear(event, payload)
    list.run()
  }

  const who = openPasses(async (signal) => {
    if (store.view.me) return
    const person = await api.me(signal)
    if (signal.aborted) return
    store.set({ me: person })
    meet(person)
    const events = {
      ...Object.fromEntries(eventNames.map((event) => [event, hear(event)])),
      'block.changed': blocks.run,
    }
    channel = keepChannel(supabase, `user:${person.id}`, events, joined)
  }, (problem) => problem && ended(problem))

  const surroundings: Surroundings = {
    supabase,
    api,
    outbox,
    marks,
    me,
    join: () => join,
    mayHear: (person) => blocked !== null && !blocked.has(person),
  }
  const stopWaking = onWake(() => {
    isAwaited ||= !join
    channel?.wake()
    for (const { conversation } of conversations.values()) conversation.wake()
    resync()
  }, poll)

  const open = (id: number): Conversation => {
    if (life.signal.aborted) throw new Error('The inbox is closed')
    const entry = conversations.get(id) ?? { conversation: openConversation(id, surroundings), opened: 0 }
    conversations.set(id, entry)
    entry.opened++
    let released = false
    return Object.assign(Object.create(entry.conversation) as Conversation, {
      close() {
        if (!released && !--entry.opened && conversations.delete(id)) entry.conversation.close()
        released = true
      },
    })
  }

  const close = () => {
    if (life.signal.aborted) return
    life.abort()
    inUse.delete(supabase)
    stopWaking()
    session.close()
    clearTimeout(catchingUp)
    for (const { conversation } of conversations.values()) conversation.close()
    conversations.clear()
    channel?.close()
    for (const work of [who, list, blocks]) work.close()
    outbox.close()
    marks.close()
    join = 0
    store.set({ status: 'offline' })
    store.close()
  }

  who.run()
  list.run()
  blocks.run()

  return {
    get view() {
      return store.view
    },
    subscribe: store.subscribe,
    open,
    openWith: async (userId) => open(await api.converse(userId, life.signal)),
    close,
  }
}
