import { createApi } from './api.ts'
import { answeringOf } from './api_client.ts'
import { createBlocks } from './blocks.ts'
import { openCache } from './cache.ts'
import { openConnection } from './channel.ts'
import { openConversation } from './conversation.ts'
import { createConversations } from './conversations.ts'
import { type ErrorCode, offlineError, ServiceError } from './errors.ts'
import { createFeed, type Feed } from './feed.ts'
import { createInboxChannel } from './inbox_channel.ts'
import { createList } from './list.ts'
import { createOutbox } from './outbox.ts'
import type { InboxParts } from './parts.ts'
import { createReadMarkers } from './read_markers.ts'
import { createRetryLoop } from './retry_loop.ts'
import { openSession } from './session.ts'
import { browserStorage, type KeyValueStorage, withTimeouts } from './storage.ts'
import { createStore, type Listener } from './store.ts'
import { type Client, type EventName, eventNames, type EventPayload } from './types.ts'
import type { Person, Realtime, Status } from './types.ts'
import { openUnsentStore } from './unsent.ts'
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
   * Ends all channels, timers and requests. Unanswered messages and read markers are sent when the user's inbox is
   * opened again, if they are stored. The inbox also closes when the user signs out or another user signs in; then they
   * are deleted.
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
   * would get a request for each. An event brings the read of its conversation forward. What concerns this client alone
   * does not wait: the first join, and a network or a page that comes back (`online`, `visibilitychange`). A channel
   * that the server closed while the connection stayed, as it does when a token expires, waits a second at most.
   */
  resyncJitter?: number
  /**
   * Where unsent messages, read markers and drafts are kept, under a key for each user, and what the user has seen, for
   * a start without a network; null for memory alone. By default IndexedDB, or memory where there is none.
   */
  storage?: KeyValueStorage | null
}

const isEventPayload = (payload: unknown): payload is EventPayload => {
  const { conversation_id, id } = (payload ?? {}) as Partial<EventPayload>
  return Number.isInteger(conversation_id) && Number.isInteger(id)
}

/** What the events of the user's channel do. */
const handlersOf = ({ channel, list, blocks, conversations }: InboxParts) => {
  const handlerOf = (event: EventName) => (payload: unknown) => {
    if (!isEventPayload(payload)) return
    const { conversation_id, id } = payload
    const message = event === 'message.created' ? id : 0
    channel.arrived(conversation_id, message)
    if (message) list.expect(conversation_id, message)
    conversations.get(conversation_id)?.handleEvent(event, payload)
    list.reader.run()
  }
  return {
    ...Object.fromEntries(eventNames.map((event) => [event, handlerOf(event)])),
    'block.changed'() {
      channel.arrived()
      blocks.loop.run()
      list.reader.run()
    },
  }
}

/** The status of the inbox and its conversations. */
const createStatus = ({ auth, realtime }: Client, { store, channel, list, conversations }: InboxParts) => {
  const service = answeringOf(auth)
  const statusOf = (isBehind: boolean, error: ServiceError | null): Status => {
    if (!channel.join() || !service.view.answers || error?.temporary) return 'offline'
    return isBehind ? 'catching up' : channel.delivery.isLive() ? 'live' : 'delayed'
  }
  const setResult = (requestError: ServiceError | null) => {
    const cause = channel.error()
    const isCut = !service.view.answers || cause !== null && !realtime.isConnected()
    // While requests succeed, show why the channel does not join.
    const reason = isCut ? offlineError(cause) : cause === null ? null : new ServiceError(cause)
    const error = requestError ?? reason
    const changed = error?.message !== store.view.error?.message && { error }
    store.set({ status: statusOf(list.reader.isBehind(), requestError), ...changed })
  }
  const showConnection = () => {
    conversations.forEach((conversation) => conversation.connectionChanged())
    setResult(store.view.error?.status ? store.view.error : null)
  }
  return { statusOf, setResult, showConnection }
}

/** Finds out who the user is, and opens their channel. */
const createIdentity = (parts: InboxParts, onError: (error: ServiceError) => void) =>
  createRetryLoop(async (signal) => {
    if (parts.channel.isOpen()) return
    const me = await parts.api.me(signal)
    if (signal.aborted) return
    parts.store.set({ me })
    parts.channel.open(me.id, handlersOf(parts))
  }, (error) => error && onError(error))

/** Begins with what an earlier page has left, and asks what has changed since. */
const begin = async (signal: AbortSignal, { store, cache, list, conversations }: InboxParts, feed: Feed) => {
  const cached = await cache.load()
  if (signal.aborted) return
  if (!cached || store.view.loaded) return list.reader.run()
  const { cursor, isFresh, ...seen } = cached
  store.set({ ...seen, loaded: true })
  feed.begin(cursor)
  conversations.forEach((conversation) => conversation.showCached())
  if (isFresh) feed.run()
  else list.reader.run()
}

const emptyView: InboxView = {
  me: null,
  conversations: [],
  unread: 0,
  loaded: false,
  asOf: null,
  status: 'offline',
  error: null,
  isDurable: false,
}

const clientsInUse = new WeakSet<Client>()

/** Opens the inbox of the signed-in user. */
export const openInbox = (supabase: Client, options: Options = {}): Inbox => {
  // supabase-js keeps one channel per topic, so two inboxes would keep removing each other's channels.
  if (clientsInUse.has(supabase)) throw new Error('This client has an open inbox already; close that one first')
  clientsInUse.add(supabase)
  const { poll = [30_000, 60_000], timeout = 15_000, resyncJitter = 10_000, storage = browserStorage() } = options
  const closed = new AbortController()
  const session = openSession(supabase, () => {
    unsent.clear()
    cache.clear()
    close()
  })
  const kept = storage && withTimeouts(storage)
  const unsent = openUnsentStore(kept, session.owner)
  const cache = openCache(kept, session.owner)
  const api = createApi(supabase, session, timeout)
  const outbox = createOutbox(api, unsent)
  const readMarkers = createReadMarkers(api, unsent, () => list.reader.run())
  const service = answeringOf(supabase.auth)
  const store = createStore(emptyView)
  const me = new Promise<Person>((resolve) => store.subscribe(() => store.view.me && resolve(store.view.me)))
  unsent.subscribe(() => store.set({ isDurable: unsent.isDurable() }))

  const sendNow = () => [outbox, readMarkers].forEach((sender) => sender.retryNow())
  const channel = createInboxChannel(supabase.realtime, { poll, resyncJitter }, {
    onDeliveryChange: () => showConnection(),
    onJoinChange() {
      list.reader.fellBehind()
      conversations.forEach((conversation) => conversation.joinChanged())
      showConnection()
    },
    resync() {
      for (const loop of [identity, feed]) loop.runNow()
      sendNow()
    },
    recheck: () => feed.recheck(),
    rejoin: () => conversations.forEach((conversation) => conversation.rejoin()),
    onSilence: () => service.set({ answers: false }),
  })
  const list = createList(store, api, channel.delivery, channel.join, (newest) => {
    conversations.forEach((conversation) => conversation.handleListed(newest.get(conversation.id)))
  }, (error) => {
    setResult(error)
    if (!error) feed.keepList()
  })
  const blocks = createBlocks(api, () => conversations.forEach((conversation) => conversation.updatePartner()))
  let typing: Realtime | undefined
  const typingConnection = () => typing ??= openConnection(supabase)
  const conversations = createConversations((id) => openConversation(id, parts))
  const shared = { api, store, me, unsent, cache, outbox, readMarkers, channel, list, blocks, conversations }
  const parts: InboxParts = { ...shared, statusOf: (...view) => statusOf(...view), typingConnection }
  const { statusOf, setResult, showConnection } = createStatus(supabase, parts)
  const feed = createFeed(parts, setResult, sendNow)
  const identity = createIdentity(parts, setResult)
  const unsubscribe = service.subscribe(() => {
    showConnection()
    // It asks until there is an answer, and reads at once when somebody else has got one.
    const loop = channel.isOpen() ? feed : identity
    loop.runNow()
  })
  const open = (id: number): Conversation => {
    if (closed.signal.aborted) throw new Error('The inbox is closed')
    return conversations.open(id)
  }
  const close = () => {
    if (closed.signal.aborted) return
    closed.abort()
    clientsInUse.delete(supabase)
    unsubscribe()
    const readers = [list.reader, blocks.loop, feed, identity]
    for (const part of [session, conversations, channel, ...readers, cache, outbox, readMarkers, unsent]) part.close()
    store.set({ status: 'offline' })
    store.close()
  }

  for (const loop of [identity, blocks.loop]) loop.run()
  begin(closed.signal, parts, feed)

  return {
    get view() {
      return store.view
    },
    subscribe: store.subscribe,
    open,
    openWith: async (userId) => open(await api.findOrCreateConversation(userId, closed.signal)),
    close,
  }
}
