import type { ServiceError } from './errors.ts'
import { createMessages, type Messages } from './messages.ts'
import type { Queue } from './outbox.ts'
import type { Surroundings } from './parts.ts'
import { createPartner, type Partner } from './partner.ts'
import type { ReadMarker } from './read_markers.ts'
import { createReading, type Reading } from './reading.ts'
import { createStore, type Store } from './store.ts'
import type { Change, EventName, EventPayload, Message } from './types.ts'
import type { Unsent } from './unsent.ts'
import { uuid } from './uuid.ts'
import type { Conversation, ConversationView } from './views.ts'

/** What a conversation consists of. */
interface ConversationParts {
  store: Store<ConversationView>
  queue: Queue
  marker: ReadMarker
  messages: Messages
  reading: Reading
  partner: Partner
  setResult(error: ServiceError | null): void
}

const withDraft = (conversation: number, text: string) => {
  const client_id = uuid()
  return (unsent: Unsent): Unsent => {
    const { [conversation]: draft, ...others } = unsent.drafts
    if (draft?.text === text) return unsent
    return { ...unsent, drafts: text ? { ...others, [conversation]: { text, client_id } } : others }
  }
}

/** What the page calls. */
const createHandle = (
  { store, queue, marker, messages, reading, partner, setResult }: ConversationParts,
  { api, unsent, blocks }: Surroundings,
  closed: AbortController,
  onClose: () => void,
): Conversation => {
  const { id } = store.view
  let olderPage: Promise<void> | null = null
  /** Shows what has become of a message, also where the answer was lost. */
  const showAfter = <Result>(message: number, change: Promise<Result>): Promise<Result> =>
    change.finally(() => {
      reading.changed(message)
      reading.reader.run()
    })
  return {
    id,
    get view() {
      return store.view
    },
    subscribe: store.subscribe,
    send(draft) {
      partner.typing.reset()
      return queue.send(typeof draft === 'string' ? { content: draft } : draft, messages.last())
    },
    setDraft: (text) => unsent.change(withDraft(id, text)),
    retry: queue.retry,
    discard: queue.discard,
    edit: (message, content) => showAfter(message, api.edit(id, message, content, closed.signal)),
    unsend: (message) => showAfter(message, api.unsend(id, message, closed.signal)),
    older() {
      olderPage ??= reading.older(closed.signal).finally(() => olderPage = null)
      // A caller that ignores the promise sees the error in the view.
      olderPage.catch((error) => closed.signal.aborted || setResult(error))
      return olderPage
    },
    typing: partner.typing.typed,
    refresh() {
      blocks.loop.runNow()
      partner.details.runNow()
    },
    markRead(upTo = messages.last()) {
      // What was taken back counts as read.
      const unread = store.view.messages.findLast(({ id, user_id, read }) =>
        id <= upTo && user_id !== messages.myId() && !read
      )
      if (unread) marker.markRead(unread.id)
    },
    close() {
      closed.abort()
      onClose()
      partner.close()
      reading.reader.close()
      store.close()
    },
  }
}

const handleEvent = (
  event: EventName,
  payload: EventPayload,
  { store, messages, reading, partner }: ConversationParts,
) => {
  if (event === 'message.created') {
    partner.wrote(payload.user_id)
    if (payload.id <= messages.lastKnown()) return
    if ((payload.previous_id ?? 0) > messages.lastKnown()) reading.reader.fellBehind()
    reading.expect(payload.id)
  } else if (event === 'message.changed') reading.changed(payload.id)
  else if (event === 'message.read') {
    // It names only the newest message that was marked, so all unread ones are read again.
    const applies = ({ id, user_id, read }: Message) => !read && id <= payload.id && user_id !== payload.user_id
    const isShown = payload.id <= messages.last() && !store.view.messages.some(applies)
    reading.marked(isShown)
    if (isShown) return
  } else return event === 'reservation.changed' ? partner.details.run() : undefined
  reading.reader.run()
}

/** What has changed in this conversation, read during the current join of the inbox's channel, or 0. */
const handleChanges = (
  changes: readonly Change[],
  join: number,
  { reading, partner, setResult }: ConversationParts,
) => {
  for (const { kind, id } of changes) {
    if (kind === 'reservation' || kind === 'conversation') partner.details.runNow()
    else if (kind === 'message.removed') reading.removed(id)
    else if (kind === 'read') reading.marked()
    else if (kind === 'message' || kind === 'message.changed') reading.changed(id)
  }
  if (changes.some(({ kind }) => kind !== 'state' && kind !== 'reservation') || !reading.reader.isDone()) {
    reading.reader.runNow()
  } else if (join) {
    if (reading.isComplete()) reading.reader.caughtUp(join)
    setResult(null)
  }
}

export const openConversation = (id: number, inbox: Surroundings) => {
  const { unsent, cache, channel } = inbox
  const closed = new AbortController()
  const queue = inbox.outbox.of(id)
  const marker = inbox.readMarkers.of(id)
  const draft = () => unsent.current().drafts[id]?.text ?? ''
  const store = createStore<ConversationView>({
    id,
    messages: [],
    outgoing: queue.entries(),
    draft: draft(),
    hasOlder: false,
    loaded: false,
    asOf: null,
    typing: false,
    other: null,
    blocked: false,
    reservations: [],
    status: channel.join() ? 'catching up' : 'offline',
    error: null,
  })
  const showStatus = (error = store.view.error) =>
    store.set({ error, status: inbox.statusOf(reading.reader.isBehind(), error) })
  const cachePage = () => {
    // Not what is about to be read again.
    if (reading.isCurrent()) cache.setPage(store.view)
  }
  const messages = createMessages(store, queue, marker, inbox.store)
  const partner = createPartner(messages, inbox)
  const reading = createReading(messages, inbox, partner.update, (error) => {
    showStatus(error)
    cachePage()
  })
  const parts = { store, queue, marker, messages, reading, partner, setResult: showStatus }

  const onOutgoing = () => {
    for (const { message } of queue.entries()) {
      if (!message) continue
      reading.expect(message.id)
      if (channel.join()) channel.delivery.expect(id, message.id)
    }
    messages.showOutgoing()
    if (!reading.isComplete()) reading.reader.run()
  }
  const onMarked = () => {
    showStatus(marker.view().error)
    if (!marker.view().error) messages.showRead()
  }
  const unsubscribes = [
    queue.subscribe(onOutgoing),
    marker.subscribe(onMarked),
    unsent.subscribe(() => store.set({ draft: draft() })),
    store.subscribe(cachePage),
  ]
  /** Shows what an earlier page has left, until the service has answered. */
  const showCached = () => {
    const page = messages.myId() ? cache.open(id) : null
    if (!page || store.view.loaded) return
    reading.replace()
    messages.show(page.messages, { ...page, loaded: true })
  }
  reading.reader.run()
  showCached()

  const handle = createHandle(parts, inbox, closed, () => unsubscribes.forEach((stop) => stop()))
  return Object.assign(handle, {
    handleEvent(event: EventName, payload: EventPayload) {
      handleEvent(event, payload, parts)
      showStatus()
    },
    handleChanges: (changes: readonly Change[], join: number) =>
      handleChanges(changes, join === channel.join() ? join : 0, parts),
    joinChanged: reading.reader.fellBehind,
    connectionChanged: () => showStatus(),
    /** The list has been read, and names this message as the newest. */
    handleListed(message = 0) {
      partner.update()
      if (!store.view.loaded || message <= messages.last() || messages.isRemoved(message)) return
      messages.notFetched(message)
      reading.expect(message)
      reading.reader.run()
    },
    showCached,
    /** Reads everything; with `anew`, more has changed than what is shown, and the newest page replaces it. */
    readAll(anew: boolean) {
      if (anew) reading.replace()
      reading.rereadAll()
      reading.reader.runNow()
      partner.details.runNow()
    },
    updatePartner: partner.update,
    rejoin: partner.typing.rejoin,
  })
}
/** What the inbox uses of a conversation. */
export type OpenConversation = ReturnType<typeof openConversation>
