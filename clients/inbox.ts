import { type Api, createApi } from './api.ts'
import { type Cache, openCache } from './cache.ts'
import { openConversation } from './conversation.ts'
import { type Conversations, createConversations } from './conversations.ts'
import { type ErrorCode, ServiceError } from './errors.ts'
import { createFeed } from './feed.ts'
import { createInboxChannel, type InboxChannel } from './inbox_channel.ts'
import { createList, type List } from './list.ts'
import { createOutbox, type Outbox } from './outbox.ts'
import { openSession } from './session.ts'
import { browserStorage, type KeyValueStorage, withTimeouts } from './storage.ts'
import { createStore, type Listener, type Store } from './store.ts'
import { type Client, type EventName, eventNames, type EventPayload, type Person } from './types.ts'
import { openUnsentStore, type UnsentStore } from './unsent.ts'
import type { Conversation, InboxView } from './views.ts'

export type { Conversation, ConversationView, InboxView, Outgoing } from './views.ts'
export type { KeyValueStorage } from './storage.ts'
export type { Attachment, Draft, ListedConversation, Message, OwnReservation, Partner, Person } from './types.ts'
export type { Reservation, ReservationDetail, ReservationStep, Status } from './types.ts'
export { type ErrorCode, ServiceError }

export interface Inbox {
  readonly view: InboxView
  subscribe(listener: Listener): () => void
  /** Opens a conversation. A second open shares the first, which stays open until both are closed. */
  open(conversationId: number): Conversation
  /** Opens the conversation with this user, creating it if there is none. */
  openWith(userId: number): Promise<Conversation>
  /**
   * Ends all channels, timers and requests. What is unanswered is sent when the user's inbox is opened again, if it is
   * stored. The inbox also closes when the user signs out or another user signs in; then that is deleted.
   */
  close(): void
}

export interface Options {
  /** The shortest and the longest interval between two polls for changes that no event announced, in milliseconds. */
  poll?: readonly [number, number]
  /** The timeout of a request, in milliseconds. */
  timeout?: number
  /**
   * After a lost connection this client reads what it missed at a random time up to this many milliseconds after the
   * rejoin; 10,000 by default. When Realtime restarts, all clients rejoin together, and within a second the database
   * would get a request for each. What concerns this client alone does not wait, such as a page that comes back.
   */
  resyncJitter?: number
  /** Where is kept what is unsent and what was seen; null: in memory. By default IndexedDB, or memory without one. */
  storage?: KeyValueStorage | null
}

/** What an inbox consists of, and its conversations share. */
export interface InboxParts {
  closed: AbortSignal
  api: Api
  store: Store<InboxView>
  me: Promise<Person>
  /** 0 until it is known. */
  myId: () => number
  unsent: UnsentStore
  cache: Cache
  outbox: Outbox
  channel: InboxChannel
  list: List
  conversations: Conversations
}

const handlersOf = ({ channel, list, conversations }: InboxParts) => {
  const handlerOf = (event: EventName) => (payload: EventPayload | null) => {
    // What is not the database's has no ids to compare with.
    if (!payload || ![payload.conversation_id, payload.id].every(Number.isInteger)) return
    const { conversation_id, id } = payload
    if (event === 'message.created') list.eventTold(conversation_id, id)
    channel.arrived()
    conversations.get(conversation_id)?.handleEvent(event, payload)
    list.reader.run()
  }
  return {
    ...Object.fromEntries(eventNames.map((event) => [event, handlerOf(event)])),
    'block.changed'() {
      channel.arrived()
      list.readAll()
    },
  }
}

/** Shows what an earlier page has left, and resolves to the cursor from which to follow what has changed since. */
const showSeen = async ({ closed, store, cache, list, conversations }: InboxParts) => {
  const { cursor = null, ...seen } = await cache.load() ?? {}
  if (closed.aborted) return null
  if (!cursor) list.reader.run()
  if (!cursor || store.view.loaded) return null
  store.set({ ...seen, loaded: true })
  conversations.forEach((conversation) => conversation.showCached())
  return cursor
}

const emptyView: InboxView = {
  ...{ me: null, conversations: [], unread: 0, loaded: false, asOf: null },
  ...{ status: 'offline', error: null, isDurable: false },
}

const clientsInUse = new WeakSet<Client>()

/** Opens the inbox of the signed-in user. */
export const openInbox = (supabase: Client, options: Options = {}): Inbox => {
  // supabase-js keeps one channel per topic, so two inboxes would keep removing each other's channels.
  if (clientsInUse.has(supabase)) throw new Error('This client has an open inbox already; close that one first')
  clientsInUse.add(supabase)
  const { poll = [30_000, 60_000], timeout = 15_000, resyncJitter = 10_000, storage = browserStorage() } = options
  const closing = new AbortController()
  const closed = closing.signal
  const session = openSession(closed, supabase, () => {
    close()
    unsent.clear()
    cache.clear()
  })
  const kept = storage && withTimeouts(storage)
  const unsent = openUnsentStore(closed, kept, session.owner)
  const cache = openCache(closed, kept, session.owner)
  const api = createApi(supabase, session, timeout, closed)
  const outbox = createOutbox({ closed, api, unsent, onMarked: () => list.reader.run() })
  const store = createStore(emptyView)
  const me = new Promise<Person>((resolve) => store.subscribe(() => store.view.me && resolve(store.view.me)))
  const myId = () => store.view.me?.id ?? 0
  unsent.subscribe(() => store.set({ isDurable: unsent.isDurable() }))

  const setResult = (requestError: ServiceError | null) => {
    // While requests succeed, show why the channel does not join.
    const error = requestError ?? channel.error()
    const changed = error?.message !== store.view.error?.message && { error }
    store.set({ status: channel.statusOf(list.reader.isBehind(), requestError), ...changed })
  }
  const onConnectionChange = () => {
    conversations.forEach((conversation) => conversation.connectionChanged())
    setResult(store.view.error?.status ? store.view.error : null)
  }
  const channel = createInboxChannel(closed, supabase, { poll, resyncJitter }, {
    onConnectionChange,
    follow() {
      onConnectionChange()
      feed.runNow()
    },
    resync() {
      feed.runNow()
      outbox.runNow()
    },
    recheck: () => feed.recheck(),
    rejoin: () => conversations.forEach((conversation) => conversation.rejoin()),
  })
  const list = createList({ closed, store, api, channel }, () => {
    conversations.forEach((conversation) => conversation.updatePartner())
  }, (error) => {
    setResult(error)
    if (!error) feed.keepList()
  })
  const conversations = createConversations((id) => openConversation(id, parts))
  const parts: InboxParts = { closed, api, store, me, myId, unsent, cache, outbox, channel, list, conversations }
  const seen = showSeen(parts)
  const begin = async () => {
    if (!channel.isOpen()) {
      const me = await api.me()
      closed.throwIfAborted()
      store.set({ me })
      channel.open(me.id, handlersOf(parts))
    }
    return await seen
  }
  const feed = createFeed(parts, begin, setResult, outbox.runNow)
  const open = (id: number): Conversation => {
    if (closed.aborted) throw new Error('The inbox is closed')
    return conversations.open(id)
  }
  const close = () => {
    if (closed.aborted) return
    conversations.close()
    closing.abort()
    clientsInUse.delete(supabase)
    store.set({ status: 'offline' })
    store.close()
  }

  feed.run()
  return {
    get view() {
      return store.view
    },
    subscribe: store.subscribe,
    open,
    openWith: async (userId) => open(await api.findOrCreateConversation(userId)),
    close,
  }
}
