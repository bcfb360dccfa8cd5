import type { Api } from './api.ts'
import type { CachedPage } from './cache.ts'
import { createDetails } from './details.ts'
import { type ServiceError, toServiceError } from './errors.ts'
import { lastId, markReadUpTo, merge, positionOf, unconfirmed } from './merge.ts'
import type { Outbox, Outgoing } from './outbox.ts'
import type { ReadMarkers } from './read_markers.ts'
import { createRepeats } from './repeats.ts'
import { createRetryLoop } from './retry_loop.ts'
import { createStore, type Listener } from './store.ts'
import type { Change, Draft, EventName, EventPayload, Message, OwnReservation, Person } from './types.ts'
import type { Realtime, Status } from './types.ts'
import { createTyping } from './typing.ts'
import type { Unsent, UnsentStore } from './unsent.ts'
import { uuid } from './uuid.ts'

export interface ConversationView {
  id: number
  /** Oldest first, without gaps from the first message shown. Show `outgoing` below it. */
  messages: readonly Message[]
  /** The caller's messages that are not in `messages` yet. */
  outgoing: readonly Outgoing[]
  /** What the user was writing, as `setDraft` has left it, also in another page or before a reload. */
  draft: string
  hasOlder: boolean
  /** Whether the messages have been read once. Until then an empty list does not mean an empty conversation. */
  loaded: boolean
  /** Until the service has answered: as of when this is, as an earlier page has left it. */
  asOf: string | null
  /** Whether the other participant is typing. */
  typing: boolean
  /** The other participant. */
  other: Person | null
  /** Whether the user has blocked them. */
  blocked: boolean
  /** With all their terms and steps, once these have been read. */
  reservations: readonly OwnReservation[]
  status: Status
  /** The error of the last request; null after one that succeeded. */
  error: ServiceError | null
}

/** A conversation that is kept in sync with the service until it is closed. */
export interface Conversation {
  readonly id: number
  readonly view: ConversationView
  subscribe(listener: Listener): () => void
  /**
   * Shows the message at once, clears the draft, and retries until answered. Rejects if it is refused or discarded, or
   * if the inbox closes.
   */
  send(draft: string | Draft): Promise<Message>
  /** Sends a refused message again. */
  retry(clientId: string): void
  /**
   * Removes a refused or waiting message. A message that reached the service stays, even if its answer was lost. A
   * request in flight is not cancelled, but it is not retried.
   */
  discard(clientId: string): void
  /**
   * Corrects the text of a message that the user has sent, within 15 minutes by default. Resolves to what it is then;
   * rejects with the service's refusal, or without a network. The view shows what the service has.
   */
  edit(message: number, content: string): Promise<Message>
  /** Takes back a message that the user has sent, within a day by default. It then has `deletedAt`. */
  unsend(message: number): Promise<void>
  /** Loads a page of older messages, if there are any; rejects if that fails. */
  older(): Promise<void>
  /** Keeps what the user is writing. Resolves when it is stored, if the inbox is durable. */
  setDraft(text: string): Promise<void>
  /** Tells the other participant that the caller is typing; call it on every keystroke. */
  typing(): void
  /** Reads the participants, blocks and reservations again, as after a step that the user has taken. */
  refresh(): void
  /** Marks received messages as read, up to this one or all that are shown; retried until answered. */
  markRead(upTo?: number): void
  close(): void
}

/** What a conversation uses of its inbox. */
export interface Dependencies {
  /** The connection for typing: a join that is refused there delays no message. */
  typingConnection(): Realtime
  api: Api
  unsent: UnsentStore
  outbox: Outbox
  readMarkers: ReadMarkers
  me: Promise<Person>
  /** The number of the current join of the inbox's channel, or 0 while it is not joined. */
  currentJoin(): number
  /** The status of a view, whether it is known to lack something and the error of its last request. */
  statusOf(isBehind: boolean, error: ServiceError | null): Status
  /** Tells that this message exists, so that its event must come. */
  expectEvent(conversation: number, message: number): void
  readBlocks(): void
  /** Keeps this for a start without a network. */
  cachePage(page: ConversationView): void
  /** Whether the caller has blocked this user; null until the blocks are loaded. */
  isBlocked(user: number): boolean | null
  /**
   * Whether the list has this user's address as empty: across a block and after they have erased their account, when a
   * join would be refused, and with PARTNER_EMAIL=after_reply until they have written. True until the list is loaded.
   */
  hidesAddress(user: number): boolean
}

const withDraft = (conversation: number, text: string) => {
  const client_id = uuid()
  return (unsent: Unsent): Unsent => {
    const { [conversation]: draft, ...others } = unsent.drafts
    if (draft?.text === text) return unsent
    return { ...unsent, drafts: text ? { ...others, [conversation]: { text, client_id } } : others }
  }
}

export const openConversation = (id: number, dependencies: Dependencies) => {
  const { api, unsent, outbox, readMarkers, me, currentJoin, isBlocked } = dependencies
  const closed = new AbortController()
  let myId = 0
  let latestEventId = 0
  let fetchedUpTo = 0
  let rereadUnread = false
  // What was read before the first cursor of the changes may have been corrected or removed before it.
  let rereadShown = false
  let hasGap = true
  let readEventCount = 0
  let olderPage: Promise<void> | null = null
  // Whether the messages shown are to be replaced.
  let isStale = false
  /** Messages shown that may have been corrected or taken back. */
  const corrected = new Set<number>()
  /** Messages that an admin has removed. A page that was read before that may still hold them. */
  const removed = new Set<number>()
  // Changes while a page of older messages is being read, which may have been read before them.
  let changedMeanwhile = new Set<number>()

  const store = createStore<ConversationView>({
    id,
    messages: [],
    outgoing: outbox.entries(id),
    draft: unsent.current.drafts[id]?.text ?? '',
    hasOlder: false,
    loaded: false,
    asOf: null,
    typing: false,
    other: null,
    blocked: false,
    reservations: [],
    status: currentJoin() ? 'catching up' : 'offline',
    error: null,
  })
  const last = () => lastId(store.view.messages)
  // A message may be removed before it is fetched, so the newest one shown does not say how far was fetched.
  const lastKnown = () => Math.max(last(), fetchedUpTo)
  const status = (error = store.view.error): Status => dependencies.statusOf(hasGap, error)
  const setResult = (error: ServiceError | null) => store.set({ error, status: status(error) })

  const outgoing = (messages: readonly Message[]) => {
    const left = unconfirmed(outbox.entries(id), messages, myId, outbox.answered)
    const shown = store.view.outgoing
    return left.length === shown.length && left.every((entry, index) => entry === shown[index]) ? shown : left
  }
  /** What was answered is not outgoing any more once it is shown, or was removed. */
  const discardAnswered = () => {
    for (const { client_id, message } of outbox.entries(id)) {
      if (message && (message.id <= last() || removed.has(message.id))) outbox.discard(id, client_id)
    }
  }
  const addPage = (
    page: readonly Message[],
    change: Partial<ConversationView> = {},
    known: readonly Message[] = store.view.messages,
  ) => {
    if (closed.signal.aborted) return
    const present = page.some(({ id }) => removed.has(id)) ? page.filter(({ id }) => !removed.has(id)) : page
    const messages = merge(known, markReadUpTo(present, myId, readMarkers.confirmed(id)))
    store.set({ ...change, messages, outgoing: outgoing(messages) })
    discardAnswered()
  }

  const remove = (message: number) => {
    removed.add(message)
    fetchedUpTo = lastKnown()
    const { messages, hasOlder } = store.view
    const left = messages.filter(({ id }) => id !== message)
    if (left.length < messages.length) store.set({ messages: left })
    // Reading on from nothing would begin with the oldest message.
    isStale ||= hasOlder && !left.length
    discardAnswered()
  }

  /** A message is new, or another than before. */
  const changed = (message: number) => {
    removed.delete(message)
    changedMeanwhile.add(message)
    const { messages, hasOlder } = store.view
    if (message > lastKnown()) latestEventId = Math.max(latestEventId, message)
    else if (!hasOlder || message >= (messages[0]?.id ?? 0)) corrected.add(message)
  }
  /** Shows what has become of a message, also where the answer was lost. */
  const showAfter = <Result>(message: number, change: Promise<Result>): Promise<Result> =>
    change.finally(() => {
      changed(message)
      messageLoop.run()
    })

  const loadNewest = async (signal: AbortSignal) => {
    const isReplacing = isStale
    isStale = false
    try {
      const { messages, more } = await api.newestMessages(id, signal)
      addPage(messages, { loaded: true, asOf: null, hasOlder: more }, isReplacing ? [] : undefined)
    } catch (error) {
      isStale ||= isReplacing
      // It is not the user's any more.
      if (store.view.asOf && toServiceError(error).status === 404) {
        store.set({ messages: [], reservations: [], other: null, loaded: false, asOf: null })
      }
      throw error
    }
  }
  /** Reads all that is shown anew, and what follows it. */
  const replaceShown = async (signal: AbortSignal) => {
    const first = store.view.messages[0]?.id ?? 1
    const present: Message[] = []
    try {
      for (let from = first - 1, more = true; more;) {
        const page = await api.messagesAfter(id, from, signal)
        present.push(...page.messages)
        from = lastId(page.messages)
        more = page.more
      }
    } catch (error) {
      rereadShown = true
      throw error
    }
    addPage(present, {}, store.view.messages.filter(({ id }) => id < first))
  }
  /** Reads again what may have changed, and what is new unless everything has been read anew. */
  const catchUp = async (signal: AbortSignal, isReadAnew: boolean) => {
    const rereading = rereadUnread && !isReadAnew
    rereadUnread &&= isReadAnew
    if (rereading) { for (const { id, read } of store.view.messages) if (!read) corrected.add(id) }
    const ids = [...corrected].sort((one, other) => one - other)
    corrected.clear()
    let isAtEnd = isReadAnew || !rereading && !hasGap && latestEventId <= lastKnown()
    try {
      for (let from = last(); ids.length || !isAtEnd;) {
        const page = await api.messagesAfter(id, Math.min(from, (ids[0] ?? Infinity) - 1), signal)
        addPage(page.messages)
        from = Math.max(from, lastId(page.messages))
        isAtEnd ||= !page.more
        while (ids.length && (!page.more || ids[0]! <= lastId(page.messages))) ids.shift()
      }
    } catch (error) {
      rereadUnread ||= rereading
      for (const id of ids) corrected.add(id)
      throw error
    }
  }
  const repeats = createRepeats(() => messageLoop.run())
  const messageLoop = createRetryLoop(async (signal) => {
    // Only a read that began after the join covers everything that was missed before it.
    const join = currentJoin()
    const eventId = latestEventId
    myId = (await me).id
    const readsNewest = isStale || !store.view.loaded
    const readsAnew = readsNewest || rereadShown
    if (readsAnew) {
      rereadUnread = rereadShown = false
      await (readsNewest ? loadNewest(signal) : replaceShown(signal))
    }
    await catchUp(signal, readsAnew)
    if (repeats.awaits(eventId > lastKnown() && !removed.has(eventId) ? eventId : 0)) hasGap = true
    else fetchedUpTo = Math.max(fetchedUpTo, eventId)
    updateReach()
    if (join && join === currentJoin() && latestEventId <= lastKnown()) hasGap = false
  }, (error) => {
    setResult(error)
    cachePage()
  })
  const cachePage = () => {
    // Not what is about to be read again.
    if (messageLoop.isDone && !corrected.size) dependencies.cachePage(store.view)
  }
  store.subscribe(cachePage)

  const onMarked = (error: ServiceError | null) => {
    setResult(error)
    if (!error) store.set({ messages: markReadUpTo(store.view.messages, myId, readMarkers.confirmed(id)) })
  }

  // The other account is not active any more, while Realtime may still let it send.
  let isClosed = false
  const isReachable = (): boolean => {
    const { other, messages } = store.view
    return other !== null && isBlocked(other.id) === false && !isClosed &&
      !(dependencies.hidesAddress(other.id) && messages.some(({ user_id }) => user_id === other.id))
  }
  /**
   * Offers what can be done with a partner who can be reached, and leaves the typing topic while either has blocked the
   * other: Realtime may still let them send on it.
   */
  const updateReach = () => {
    const { other, loaded } = store.view
    if (closed.signal.aborted || !other || !loaded) return
    store.set({ blocked: isBlocked(other.id) === true })
    if (myId) details.show(myId)
    if (isReachable()) typing.join()
    else typing.leave()
  }
  const details = createDetails(id, api, me, isReachable, (other) => {
    store.set({ other })
    updateReach()
  }, (reservations) => store.set({ reservations }))
  const typing = createTyping(id, dependencies.typingConnection, () => myId, (typing) => store.set({ typing }), () => {
    isClosed = true
    updateReach()
  })

  const onOutgoing = () => {
    store.set({ outgoing: outgoing(store.view.messages) })
    for (const { message } of outbox.entries(id)) {
      if (!message) continue
      latestEventId = Math.max(latestEventId, message.id)
      dependencies.expectEvent(id, message.id)
    }
    discardAnswered()
    if (latestEventId > lastKnown()) messageLoop.run()
  }
  const unsubscribes = [
    outbox.subscribe(id, onOutgoing),
    readMarkers.subscribe(id, onMarked),
    unsent.subscribe(() => store.set({ draft: unsent.current.drafts[id]?.text ?? '' })),
  ]

  const loadOlder = async () => {
    const { messages: known, hasOlder } = store.view
    if (!hasOlder) return
    const countBefore = readEventCount
    const meanwhile = changedMeanwhile = new Set()
    const page = await api.messagesBefore(id, known[0]!.id, closed.signal)
    addPage(page.messages, { hasOlder: page.more })
    // What has changed during the request may concern this page.
    for (const id of meanwhile) corrected.add(id)
    if (readEventCount === countBefore && !meanwhile.size) return
    rereadUnread ||= readEventCount !== countBefore
    messageLoop.run()
  }

  messageLoop.run()
  details.run()

  const conversation: Conversation = {
    id,
    get view() {
      return store.view
    },
    subscribe: store.subscribe,
    send(draft) {
      typing.reset()
      return outbox.send(id, typeof draft === 'string' ? { content: draft } : draft, last())
    },
    setDraft: (text) => unsent.change(withDraft(id, text)),
    retry: (clientId) => outbox.retry(id, clientId),
    discard: (clientId) => outbox.discard(id, clientId),
    edit: (message, content) => showAfter(message, api.edit(id, message, content, closed.signal)),
    unsend: (message) => showAfter(message, api.unsend(id, message, closed.signal)),
    older() {
      olderPage ??= loadOlder().finally(() => olderPage = null)
      // A caller that ignores the promise sees the error in the view.
      olderPage.catch((error) => closed.signal.aborted || setResult(error))
      return olderPage
    },
    typing: () => typing.typed(),
    refresh() {
      dependencies.readBlocks()
      details.runNow()
    },
    markRead(upTo = last()) {
      const received = store.view.messages.findLast(({ id, user_id }) => id <= upTo && user_id !== myId)
      if (received && !received.read) readMarkers.markRead(id, received.id)
    },
    close() {
      closed.abort()
      for (const unsubscribe of unsubscribes) unsubscribe()
      typing.close()
      repeats.stop()
      messageLoop.close()
      details.close()
      store.close()
    },
  }
  return Object.assign(conversation, {
    handleEvent(event: EventName, payload: EventPayload) {
      if (event === 'message.created') {
        if (payload.user_id !== myId) {
          typing.stop()
          isClosed = false
          updateReach()
        }
        // Whoever can write is not blocked any more.
        typing.retryRefused()
        const position = positionOf(payload, lastKnown())
        if (position === 'known') return
        latestEventId = Math.max(latestEventId, payload.id)
        hasGap ||= position === 'after gap'
        store.set({ status: status() })
        messageLoop.run()
      } else if (event === 'message.changed') {
        changed(payload.id)
        messageLoop.run()
      } else if (event === 'message.read') {
        // The event names only the newest message that was marked. Earlier ones may have been marked too, so reread all
        // unread ones.
        readEventCount++
        const applies = ({ id, user_id, read }: Message) => !read && id <= payload.id && user_id !== payload.user_id
        if (payload.id <= last() && !store.view.messages.some(applies)) return
        rereadUnread = true
        messageLoop.run()
      } else if (event === 'reservation.changed') details.run()
    },
    joinChanged: () => void (hasGap = true),
    connectionChanged: () => store.set({ status: status() }),
    /** What has changed in this conversation, read during this join of the inbox's channel. */
    handleChanges(changes: readonly Change[], join: number) {
      for (const { kind, id } of changes) {
        if (kind === 'reservation' || kind === 'conversation') details.runNow()
        else if (kind === 'message.removed') remove(id)
        else if (kind === 'read') {
          readEventCount++
          rereadUnread = true
        } else if (kind === 'message' || kind === 'message.changed') changed(id)
      }
      if (changes.some(({ kind }) => kind !== 'state' && kind !== 'reservation') || !messageLoop.isDone) {
        messageLoop.runNow()
      } else if (join && join === currentJoin()) {
        hasGap = latestEventId > lastKnown()
        setResult(null)
      }
    },
    /** The list names this message as the newest. */
    handleListed(message: number) {
      if (!store.view.loaded || message <= last() || removed.has(message)) return
      fetchedUpTo = Math.min(fetchedUpTo, message - 1)
      latestEventId = Math.max(latestEventId, message)
      messageLoop.run()
    },
    /** Shows what an earlier page has left, until the service has answered. */
    showCached({ messages, hasOlder, other, reservations, asOf }: CachedPage, person: Person) {
      if (store.view.loaded) return
      myId = person.id
      isStale = true
      details.begin(reservations)
      store.set({ messages, outgoing: outgoing(messages), hasOlder, other, asOf, loaded: true })
    },
    /** Reads everything; with `anew`, more has changed than what is shown, and the newest page replaces it. */
    readAll(anew: boolean) {
      isStale ||= anew
      rereadShown = true
      messageLoop.runNow()
      details.runNow()
    },
    /** The caller's blocks or the list have been read. */
    updateReach,
    rejoin: typing.rejoin,
  })
}
/** What the inbox uses of a conversation. */
export type OpenConversation = ReturnType<typeof openConversation>
