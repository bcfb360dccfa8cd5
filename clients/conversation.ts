import type { ServiceError } from './errors.ts'
import { createMessages, type Messages } from './messages.ts'
import type { InboxParts } from './inbox.ts'
import { createPartner, type Partner } from './partner.ts'
import { createStore } from './store.ts'
import type { Change, EventName, EventPayload } from './types.ts'
import type { Unsent } from './unsent.ts'
import { uuid } from './uuid.ts'
import type { Conversation, ConversationView } from './views.ts'

const emptyView = {
  ...{ messages: [], draft: '', hasOlder: false, loaded: false, asOf: null },
  ...{ typing: false, other: null, blocked: false, reservations: [], error: null },
}

const withDraft = (conversation: number, text: string) => {
  const client_id = uuid()
  return (unsent: Unsent): Unsent => {
    const { [conversation]: draft, ...others } = unsent.drafts
    if (draft?.text === text) return unsent
    return { ...unsent, drafts: text ? { ...others, [conversation]: { text, client_id } } : others }
  }
}

const createFollower = (messages: Messages, partner: Partner, setResult: (error?: ServiceError | null) => void) => {
  const { reader } = messages
  return {
    connectionChanged: () => setResult(),
    updatePartner: partner.update,
    rejoin: partner.typing.rejoin,
    handleEvent(event: EventName, { id, previous_id, user_id }: EventPayload) {
      if (event === 'message.created') {
        partner.wrote(user_id)
        if ((previous_id ?? 0) > messages.lastKnown()) reader.fellBehind()
        if (id > messages.lastKnown()) messages.expect(id)
      } else if (event === 'message.changed') messages.changed(id)
      else if (event === 'message.read') messages.marked(id, user_id)
      else if (event === 'reservation.changed') partner.details.run()
      if (!messages.isCurrent()) reader.run()
      setResult()
    },
    /** What has changed in this conversation, read during this join of the inbox's channel. */
    handleChanges(changes: readonly Change[], join: number) {
      for (const { kind, id } of changes) {
        if (kind === 'reservation' || kind === 'conversation') partner.details.runNow()
        else if (kind === 'read') messages.marked()
        else if (kind !== 'state') messages.changed(id, kind === 'message.removed')
      }
      if (!messages.isCurrent()) return reader.runNow()
      reader.caughtUp(join)
      setResult(null)
    },
    readAll(anew: boolean) {
      messages.readAll(anew)
      partner.details.runNow()
    },
  }
}

export const openConversation = (id: number, inbox: InboxParts) => {
  const { api, cache, channel, list, myId, unsent } = inbox
  const closing = new AbortController()
  const own: InboxParts = { ...inbox, closed: closing.signal }
  const queue = inbox.outbox.of(id)
  // What was answered meanwhile is among the messages that are read now, or was taken back.
  for (const { client_id, message } of queue.all()) if (message) queue.discard(client_id)
  const status = channel.join() ? 'catching up' : 'offline'
  const store = createStore<ConversationView>({ ...emptyView, id, outgoing: queue.all(), status })
  const setResult = (error = store.view.error) =>
    store.set({ error, status: channel.statusOf(reader.isBehind(), error) })
  // Not what is about to be read again.
  const cachePage = () => messages.isCurrent() && cache.setPage(store.view)
  const messages = createMessages(store, queue, own, () => partner.update(), (error) => {
    // What an earlier page has left is not the user's any more.
    if (store.view.asOf && error?.status === 404) store.set({ ...emptyView, draft: store.view.draft })
    setResult(error)
    cachePage()
  })
  const { reader } = messages
  const partner = createPartner(store, own)
  const onOutgoing = () => {
    for (const { message } of queue.all()) {
      if (!message) continue
      messages.expect(message.id)
      // An earlier try may have stored it, before this join.
      if (!list.reader.isBehind() && !list.knows(id, message.id)) channel.expectEvent()
    }
    messages.show()
    if (!messages.isCurrent()) reader.run()
  }
  const onUnsent = () => store.set({ draft: unsent.current().drafts[id]?.text ?? '' })
  const stops = [queue.subscribe(onOutgoing), unsent.subscribe(onUnsent)]
  store.subscribe(cachePage)
  /** Shows what an earlier page has left, until the service has answered. */
  const showCached = () => {
    const page = myId() ? cache.open(id) : null
    if (page && !store.view.loaded) messages.show(page.messages, { ...page, loaded: true })
  }
  /** Shows what has become of a message, also where the answer was lost. */
  const showAfter = <Result>(message: number, change: Promise<Result>): Promise<Result> =>
    change.finally(() => {
      messages.changed(message)
      reader.run()
    })
  let olderPage: Promise<void> | null = null
  onUnsent()
  reader.run()
  showCached()
  const handle: Conversation = {
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
    edit: (message, content) => showAfter(message, api.edit(id, message, content)),
    unsend: (message) => showAfter(message, api.unsend(id, message)),
    older() {
      olderPage ??= messages.older().finally(() => olderPage = null)
      // A caller that ignores the promise sees the error in the view.
      olderPage.catch((error) => closing.signal.aborted || setResult(error))
      return olderPage
    },
    typing: partner.typing.typed,
    refresh() {
      list.readAll()
      partner.details.runNow()
    },
    markRead(upTo = messages.last()) {
      // What was taken back counts as read.
      const unread = store.view.messages.findLast((one) => one.id <= upTo && one.user_id !== myId() && !one.read)
      if (unread) queue.marker.mark(unread.id)
    },
    close() {
      closing.abort()
      for (const stop of stops) stop()
      store.close()
    },
  }
  return Object.assign(handle, createFollower(messages, partner, setResult), { showCached })
}
export type OpenConversation = ReturnType<typeof openConversation>
