import { lastId, markReadUpTo, merge, replaced, unconfirmed } from './merge.ts'
import type { Queue } from './outbox.ts'
import type { ReadMarker } from './read_markers.ts'
import type { Store } from './store.ts'
import type { Message } from './types.ts'
import type { ConversationView, InboxView } from './views.ts'

/** Shows messages in the view of a conversation, and below them the user's own that are not among them yet. */
export const createMessages = (
  store: Store<ConversationView>,
  queue: Queue,
  marker: ReadMarker,
  inbox: Store<InboxView>,
) => {
  /** Messages that an admin has removed. A page that was read before that may still hold them. */
  const removed = new Set<number>()
  // A message may be removed before it is fetched, so the newest one shown does not say how far was fetched.
  let fetchedUpTo = 0
  /** The id of the user, or 0 until it is known. */
  const myId = () => inbox.view.me?.id ?? 0
  const last = () => lastId(store.view.messages)
  const lastKnown = () => Math.max(last(), fetchedUpTo)
  /** What was answered is not outgoing any more once it is shown, or was removed. */
  const discardAnswered = () => {
    for (const { client_id, message } of queue.entries()) {
      if (message && (message.id <= last() || removed.has(message.id))) queue.discard(client_id)
    }
  }
  const show = (messages: readonly Message[], change: Partial<ConversationView> = {}) => {
    const outgoing = unconfirmed(queue.entries(), messages, myId(), queue.answered)
    store.set({ ...change, messages, outgoing: replaced(store.view.outgoing, outgoing) })
    discardAnswered()
  }
  const showRead = (messages: readonly Message[]) => markReadUpTo(messages, myId(), marker.view().confirmed)

  return {
    store,
    myId,
    last,
    lastKnown,
    show,
    addPage(
      page: readonly Message[],
      change: Partial<ConversationView> = {},
      known: readonly Message[] = store.view.messages,
    ) {
      show(merge(known, showRead(page.filter(({ id }) => !removed.has(id)))), change)
    },
    showOutgoing: () => show(store.view.messages),
    showRead: () => store.set({ messages: showRead(store.view.messages) }),
    isRemoved: (message: number) => removed.has(message),
    remove(message: number) {
      removed.add(message)
      fetchedUpTo = lastKnown()
      const left = store.view.messages.filter(({ id }) => id !== message)
      if (left.length < store.view.messages.length) store.set({ messages: left })
      discardAnswered()
    },
    /** It is there, although it was taken for removed. */
    restore: (message: number) => void removed.delete(message),
    /** Whatever is not shown up to this message is not there. */
    fetched: (upTo: number) => void (fetchedUpTo = Math.max(fetchedUpTo, upTo)),
    /** This message is there, and has not been fetched. */
    notFetched: (message: number) => void (fetchedUpTo = Math.min(fetchedUpTo, message - 1)),
  }
}
export type Messages = ReturnType<typeof createMessages>
