import { createApi } from './api.ts'
import { answeringOf } from './api_client.ts'
import { openCache } from './cache.ts'
import { createChangeFeed } from './changes.ts'
import { openConnection, openPersistentChannel, type PersistentChannel } from './channel.ts'
import { type Conversation, type OpenConversation, openConversation } from './conversation.ts'
import { type ErrorCode, offlineError, ServiceError } from './errors.ts'
import { createOutbox } from './outbox.ts'
import { watchDelivery } from './delivery.ts'
import { startHeartbeat } from './heartbeat.ts'
import { createReadMarkers } from './read_markers.ts'
import { createRepeats } from './repeats.ts'
import { scheduleResync } from './resync.ts'
import { createRetryLoop } from './retry_loop.ts'
import { openSession } from './session.ts'
import { browserStorage, type KeyValueStorage } from './storage.ts'
import { createStore, type Listener } from './store.ts'
import { type Change, type Client, type EventName, eventNames, type EventPayload } from './types.ts'
import type { ListedConversation, Person, Realtime, Status } from './types.ts'
import { openUnsentStore } from './unsent.ts'

export type { Conversation, ConversationView } from './conversation.ts'
export type { Outgoing } from './outbox.ts'
export type { KeyValueStorage } from './storage.ts'
export type { Attachment, Draft, ListedConversation, Message, OwnReservation, Partner, Person } from './types.ts'
export type { Reservation, ReservationDetail, ReservationStep, Status } from './types.ts'
export { type ErrorCode, ServiceError }

export interface InboxView {
  me: Person | null
  /** Latest activity first, each with the other participant, its latest message and its number of unread messages. */
  conversations: readonly (ListedConversation & { unread: number })[]
  /** The number of unread messages over all conversations. */
  unread: number
  /** Whether the list has been read once. */
  loaded: boolean
  /** Until the service has answered: as of when this is, as an earlier page has left it. */
  asOf: string | null
  status: Status
  /** The error of the last request; null after one that succeeded. */
  error: ServiceError | null
  /**
   * Whether unsent messages, read markers and drafts survive closing the page. False without a storage, and while the
   * storage is full, forbidden or does not answer.
   */
  isDurable: boolean
}

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

// The list and the unread counts take two requests and many events trigger them, so they run at most this often.
const listInterval = 500

// For a channel that the server closed while the connection stayed.
const closedJitter = 1000

// Realtime says with the join that it passes events on, unless it has just begun to serve the project.
const readyWait = 100

// After a run of events: Realtime drops those beyond a plan's limit, and lost some when it had just been started. What
// was read because of an event may also be what was before its commit.
const recheckDelay = () => 2000 + Math.random() * 2000

const clientsInUse = new WeakSet<Client>()

/** Opens the inbox of the signed-in user. */
export const openInbox = (supabase: Client, options: Options = {}): Inbox => {
  // supabase-js keeps one channel per topic, so two inboxes would keep removing each other's channels.
  if (clientsInUse.has(supabase)) throw new Error('This client has an open inbox already; close that one first')
  clientsInUse.add(supabase)
  const {
    poll: [shortest, longest] = [30_000, 60_000],
    timeout = 15_000,
    resyncJitter = 10_000,
    storage = browserStorage(),
  } = options

  const closed = new AbortController()
  const session = openSession(supabase, () => {
    unsent.clear()
    cache.clear()
    close()
  })
  const unsent = openUnsentStore(storage, session.owner)
  const cache = openCache(storage, session.owner)
  const api = createApi(supabase, session, timeout)
  const outbox = createOutbox(api, unsent)
  const readMarkers = createReadMarkers(api, unsent, () => listLoop.run())
  const conversations = new Map<number, { conversation: OpenConversation; references: number }>()
  let joinCount = 0
  let currentJoin = 0
  let isBehind = true
  let channelError: string | null = null
  // How long after the next join the resync may begin, in milliseconds.
  let resyncWithin = 0
  // Whether it begins at once, because the user is waiting for it: the first join, and after the page became visible.
  let resyncAtOnce = true
  let resyncTimer: ReturnType<typeof setTimeout> | undefined
  let recheckTimer: ReturnType<typeof setTimeout> | undefined
  let channel: PersistentChannel | null = null
  let resolveMe: (person: Person) => void
  const me = new Promise<Person>((resolve) => resolveMe = resolve)

  const store = createStore<InboxView>({
    me: null,
    conversations: [],
    unread: 0,
    loaded: false,
    asOf: null,
    status: 'offline',
    error: null,
    isDurable: false,
  })
  unsent.subscribe(() => store.set({ isDurable: unsent.isDurable }))
  const service = answeringOf(supabase.auth)
  const statusOf = (isBehind: boolean, error: ServiceError | null): Status => {
    if (!currentJoin || !service.view.answers || error?.temporary) return 'offline'
    return isBehind ? 'catching up' : delivery.isLive ? 'live' : 'delayed'
  }
  const setResult = (requestError: ServiceError | null) => {
    const isCut = !service.view.answers || channelError !== null && !supabase.realtime.isConnected()
    // While requests succeed, show why the channel does not join.
    const reason = isCut ? offlineError(channelError) : channelError === null ? null : new ServiceError(channelError)
    const error = requestError ?? reason
    const changed = error?.message !== store.view.error?.message && { error }
    store.set({ status: statusOf(isBehind, requestError), ...changed })
  }
  const forEachOpen = (act: (conversation: OpenConversation) => void) => {
    for (const { conversation } of conversations.values()) act(conversation)
  }
  const showConnection = () => {
    forEachOpen((conversation) => conversation.connectionChanged())
    setResult(store.view.error?.status ? store.view.error : null)
  }
  const delivery = watchDelivery(() => {
    showConnection()
    schedule.restart()
  })
  const unsubscribeService = service.subscribe(() => {
    showConnection()
    // It asks until there is an answer, and reads at once when somebody else has got one.
    if (channel) feedLoop.runNow()
    else identityLoop.runNow()
  })
  const onSilence = () => service.set({ answers: false })
  const stopHeartbeat = startHeartbeat(supabase.realtime, onSilence)
  const newestListed = (id: number): number =>
    store.view.conversations.find((conversation) => conversation.id === id)?.Messages[0]?.id ?? 0

  const updateReach = () => forEachOpen((conversation) => conversation.updateReach())
  // The newest message of each conversation of which an event told, until the list has it.
  const told = new Map<number, number>()
  const listRepeats = createRepeats(() => listLoop.run())
  const listLoop = createRetryLoop(
    async (signal) => {
      const join = currentJoin
      const wasBehind = isBehind
      const expected = [...told]
      const [listed, { total, ...counts }] = await Promise.all([api.conversations(signal), api.unread(signal)])
      const unread = new Map(counts.conversations.map(({ conversation_id, unread }) => [conversation_id, unread]))
      const entries = listed.map((conversation) => ({ ...conversation, unread: unread.get(conversation.id) ?? 0 }))
      if (signal.aborted) return
      store.set({ conversations: entries, unread: total, loaded: true, asOf: null })
      const missing = expected.filter(([id, message]) => newestListed(id) < message)
      const isIncomplete = listRepeats.awaits(Math.max(0, ...missing.map(([, message]) => message)))
      for (const [id, message] of isIncomplete ? [] : expected) if (told.get(id) === message) told.delete(id)
      if (join && join === currentJoin) isBehind = isIncomplete
      updateReach()
      for (const { id, Messages: [latest] } of listed) {
        if (!latest) continue
        if (wasBehind || !join || join !== currentJoin) delivery.seen(id, latest.id)
        else delivery.expect(id, latest.id)
        conversations.get(id)?.conversation.handleListed(latest.id)
      }
    },
    (error) => {
      setResult(error)
      if (!error) keepList()
    },
    listInterval,
  )

  // A blocked user is not notified and keeps sending for as long as Realtime allows it, so this side leaves the topic.
  let blocked: ReadonlySet<number> | null = null
  const blockLoop = createRetryLoop(async (signal) => {
    const users = await api.blockedUsers(signal)
    if (signal.aborted) return
    // The list tells of blocks as well, by its addresses.
    if (blocked && (blocked.size !== users.length || users.some((user) => !blocked?.has(user)))) listLoop.run()
    blocked = new Set(users)
    updateReach()
  })

  const feed = createChangeFeed(api)
  const keepList = () => void (listLoop.isDone && cache.setInbox(store.view, feed.cursor))
  let isOut = false
  const feedLoop = createRetryLoop(async (signal) => {
    const join = currentJoin
    const wasBehind = isBehind
    const changes = await feed.next(signal)
    if (signal.aborted) return
    if (typeof changes === 'string') {
      cache.forget()
      listLoop.runNow()
      blockLoop.runNow()
      return forEachOpen((conversation) => conversation.readAll(changes === 'lost'))
    }
    cache.change(changes)
    for (const { kind, conversation_id, id } of changes) {
      if (kind !== 'message') continue
      if (wasBehind || !join || join !== currentJoin) delivery.seen(conversation_id, id)
      // An older message was corrected, of which no event tells.
      else if (id > newestListed(conversation_id)) delivery.expect(conversation_id, id)
    }
    // A block is part of how the user sees a conversation.
    if (blocked === null || changes.some(({ kind }) => kind === 'state')) blockLoop.runNow()
    // The blocks that a cached list was read with are not known.
    const isListed = changes.some(({ kind }) => kind !== 'reservation' && (kind !== 'state' || store.view.asOf))
    if (isListed || !listLoop.isDone) listLoop.runNow()
    else {
      store.set({ asOf: null })
      keepList()
      if (join && join === currentJoin) isBehind = told.size > 0
    }
    for (const [id, { conversation }] of conversations) {
      conversation.handleChanges(changes.filter(({ conversation_id }) => conversation_id === id), join)
    }
  }, (error) => {
    // What waited for the service is sent with its first answer.
    if (isOut && !error) { for (const queue of [outbox, readMarkers]) queue.retryNow() }
    isOut = error?.code === 'offline'
    // Otherwise the list is being read, and has the result.
    if (error || listLoop.isDone) setResult(error)
  })

  const recheckLoop = createRetryLoop(async (signal) => {
    // A read marker of which no event told waits for a poll.
    const isKnown = ({ kind, conversation_id, id }: Change) =>
      kind === 'read' || kind === 'message' && delivery.knows(conversation_id, id)
    if (await feed.hasNew(isKnown, signal)) feedLoop.runNow()
  })
  const recheck = () => {
    clearTimeout(recheckTimer)
    recheckTimer = setTimeout(recheckLoop.runNow, recheckDelay())
  }

  let isResyncUrgent = true
  const cancelResync = () => {
    clearTimeout(resyncTimer)
    resyncTimer = undefined
  }
  const resync = () => {
    cancelResync()
    for (const loop of [identityLoop, feedLoop]) loop.runNow()
    outbox.retryNow()
    readMarkers.retryNow()
  }
  const startCatchingUp = () => {
    isBehind = true
    forEachOpen((conversation) => conversation.joinChanged())
    showConnection()
  }
  const onChannelChange = (joined: boolean, error: string | null) => {
    currentJoin = joined ? ++joinCount : 0
    channelError = error
    delivery.reset(resyncAtOnce)
    startCatchingUp()
    clearTimeout(recheckTimer)
    schedule.restart()
    // Events from before this join were missed.
    cancelResync()
    if (!joined) {
      const isAlone = error === 'CLOSED' && supabase.realtime.isConnected()
      resyncWithin = Math.max(resyncWithin, isAlone ? Math.min(closedJitter, resyncJitter) : resyncJitter)
      return
    }
    isResyncUrgent = resyncAtOnce
    resyncTimer = setTimeout(resync, resyncAtOnce ? readyWait : Math.random() * resyncWithin)
    resyncAtOnce = false
    resyncWithin = 0
  }
  const onReady = () => {
    // What was read before this does not count.
    currentJoin = ++joinCount
    delivery.ready()
    startCatchingUp()
    if (resyncTimer !== undefined && !isResyncUrgent) return
    if (resyncTimer === undefined) recheck()
    resync()
  }
  const handlerOf = (event: EventName) => (payload: unknown) => {
    if (!isEventPayload(payload)) return
    const { conversation_id, id } = payload
    const message = event === 'message.created' ? id : 0
    delivery.arrived(conversation_id, message)
    if (message) told.set(conversation_id, Math.max(message, told.get(conversation_id) ?? 0))
    recheck()
    conversations.get(conversation_id)?.conversation.handleEvent(event, payload)
    listLoop.run()
  }

  const identityLoop = createRetryLoop(async (signal) => {
    if (channel) return
    const person = await api.me(signal)
    if (signal.aborted) return
    store.set({ me: person })
    resolveMe(person)
    const handlers = {
      ...Object.fromEntries(eventNames.map((event) => [event, handlerOf(event)])),
      'block.changed'() {
        delivery.arrived()
        recheck()
        blockLoop.run()
      },
    }
    channel = openPersistentChannel(supabase.realtime, `user:${person.id}`, handlers, onChannelChange, { onReady })
  }, (error) => error && setResult(error))

  let typing: Realtime | undefined
  const dependencies = {
    typingConnection: () => typing ??= openConnection(supabase),
    api,
    unsent,
    outbox,
    readMarkers,
    me,
    currentJoin: () => currentJoin,
    statusOf,
    expectEvent: (conversation: number, message: number) => currentJoin && delivery.expect(conversation, message),
    readBlocks: () => blockLoop.runNow(),
    cachePage: cache.setPage,
    isBlocked: (user: number) => blocked && blocked.has(user),
    hidesAddress: (user: number) =>
      !store.view.loaded ||
      store.view.conversations.some(({ Voyager, Local }) =>
        [Voyager, Local].some(({ id, email }) => id === user && email === '')
      ),
  }
  const schedule = scheduleResync(
    (isAlone) => {
      resyncAtOnce ||= isAlone && !currentJoin
      channel?.rejoin()
      forEachOpen((conversation) => conversation.rejoin())
      resync()
    },
    onSilence,
    () => {
      const usual = shortest + Math.random() * (longest - shortest)
      return currentJoin && !delivery.isLive ? Math.min(usual, delivery.interval()) : usual
    },
  )

  const showCached = (conversation: OpenConversation) => {
    const page = cache.open(conversation.id)
    if (page && store.view.me) conversation.showCached(page, store.view.me)
  }
  /** Begins with what an earlier page has left, and asks what has changed since. */
  const begin = async () => {
    const cached = await cache.load()
    if (closed.signal.aborted) return
    if (!cached || store.view.loaded) return listLoop.run()
    const { me, cursor, isFresh, ...seen } = cached
    store.set({ me, ...seen, loaded: true })
    resolveMe(me)
    feed.begin(cursor)
    forEachOpen(showCached)
    const loop = isFresh ? feedLoop : listLoop
    loop.run()
  }

  const open = (id: number): Conversation => {
    if (closed.signal.aborted) throw new Error('The inbox is closed')
    const entry = conversations.get(id) ?? { conversation: openConversation(id, dependencies), references: 0 }
    conversations.set(id, entry)
    if (!entry.references++) showCached(entry.conversation)
    let released = false
    return Object.assign(Object.create(entry.conversation) as Conversation, {
      close() {
        if (!released && !--entry.references && conversations.delete(id)) entry.conversation.close()
        released = true
      },
    })
  }

  const close = () => {
    if (closed.signal.aborted) return
    closed.abort()
    clientsInUse.delete(supabase)
    schedule.stop()
    stopHeartbeat()
    unsubscribeService()
    session.close()
    delivery.close()
    cancelResync()
    clearTimeout(recheckTimer)
    forEachOpen((conversation) => conversation.close())
    conversations.clear()
    channel?.close()
    listRepeats.stop()
    cache.close()
    for (const loop of [identityLoop, feedLoop, recheckLoop, listLoop, blockLoop]) loop.close()
    outbox.close()
    readMarkers.close()
    unsent.close()
    currentJoin = 0
    store.set({ status: 'offline' })
    store.close()
  }

  for (const loop of [identityLoop, blockLoop]) loop.run()
  begin()

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
