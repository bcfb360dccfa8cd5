import type { ServiceError } from './errors.ts'
import { lastId, markReadUpTo, merge, replaced, unconfirmed } from './merge.ts'
import type { Queue } from './outbox.ts'
import type { InboxParts } from './inbox.ts'
import { createReader } from './reader.ts'
import type { Store } from './store.ts'
import type { Message } from './types.ts'
import type { ConversationView } from './views.ts'

/** Reads messages, and shows them in the view of a conversation, below them the user's own that are not there yet. */
const createPages = (store: Store<ConversationView>, queue: Queue, { closed, api, myId }: InboxParts) => {
  const { id } = store.view
  // Whatever is not shown up to this message is not there, as an admin may have removed it before it was read.
  let readUpTo = 0
  const last = () => lastId(store.view.messages)
  const lastKnown = () => Math.max(last(), readUpTo)
  const withMarker = (messages: readonly Message[]) => markReadUpTo(messages, myId(), queue.markedUpTo())
  /** Without messages: shows again, as something else has changed. */
  const show = (known = store.view.messages, change: Partial<ConversationView> = {}) => {
    // What one that is closed still reads is not shown yet in the next one.
    if (closed.aborted) return
    const messages = withMarker(known)
    const outgoing = unconfirmed(queue.all(), messages, myId(), queue.answered)
    store.set({ ...change, messages, outgoing: replaced(store.view.outgoing, outgoing) })
    // What was answered is not outgoing any more once it is shown, or was removed.
    for (const { client_id, message } of queue.all()) {
      if (message && message.id <= lastKnown()) queue.discard(client_id)
    }
  }
  /** Shows a page in place of all that was known between its ends. */
  const add = (page: readonly Message[], after: number, before: number, change?: Partial<ConversationView>) =>
    show(merge(store.view.messages, withMarker(page), after, before), change)

  return {
    ...{ last, lastKnown, show },
    setReadUpTo: (message: number) => void (readUpTo = message),
    /** In place of all that is shown. */
    async readNewest() {
      const { messages, more } = await api.messages(id, {})
      add(messages, -1, Infinity, { loaded: true, asOf: null, hasOlder: more })
    },
    async readAfter(message: number) {
      const { messages: [first], hasOlder } = store.view
      readUpTo = lastKnown()
      for (let after = hasOlder && first ? Math.max(message, first.id - 1) : message; after < Infinity;) {
        const { messages, more } = await api.messages(id, { after_id: after })
        const end = more ? lastId(messages) : Infinity
        add(messages, after, end + 1)
        after = closed.aborted ? Infinity : end
      }
    },
    async readBefore(message: number) {
      const { messages, more } = await api.messages(id, { before_id: message })
      // Otherwise another page has come in place of all.
      if (store.view.messages[0]?.id === message) add(messages, -1, message, { hasOlder: more })
    },
  }
}

/**
 * The messages of a conversation. Reads what is new, and again what may have changed, one read at a time. Calls
 * `onRead` before it is decided whether a read lacks one.
 */
export const createMessages = (
  store: Store<ConversationView>,
  queue: Queue,
  inbox: InboxParts,
  onRead: () => void,
  onResult: (error: ServiceError | null) => void,
) => {
  const pages = createPages(store, queue, inbox)
  const { last, lastKnown } = pages
  let newestTold = 0
  let rereadAfter = Infinity
  // Whether the newest page is to be read, in place of all that is shown.
  let isReplaced = true
  let timesTold = 0
  const isComplete = () => newestTold <= lastKnown()
  // Reading on from nothing would begin with the oldest message.
  const isEmptied = () => store.view.hasOlder && !last()
  const expect = (message: number) => void (newestTold = Math.max(newestTold, message))
  const reread = (from: number) => void (rereadAfter = Math.min(rereadAfter, from))

  const reader = createReader(inbox.closed, inbox.channel.join, async (awaits) => {
    await inbox.me
    const [expected, from, isAnew] = [newestTold, rereadAfter, isReplaced || isEmptied()]
    rereadAfter = Infinity
    isReplaced = false
    try {
      const isDue = from < Infinity || reader.isBehind() || !isComplete()
      if (!isAnew && isDue) await pages.readAfter(Math.min(from, last()))
      if (isAnew || isEmptied()) await pages.readNewest()
    } catch (error) {
      reread(from)
      isReplaced ||= isAnew
      throw error
    }
    onRead()
    if (awaits(expected > lastKnown() ? expected : 0)) return false
    // Ids begin again after a restore, of which may have been told during the read.
    pages.setReadUpTo(isReplaced ? 0 : Math.max(lastKnown(), expected))
    pages.show()
    return isComplete()
  }, onResult)

  return {
    ...pages,
    reader,
    /** Whether what is shown is as the service has it, as far as is known. */
    isCurrent: () => reader.isDone() && rereadAfter === Infinity && isComplete(),
    expect,
    changed(message: number, isRemoved = false) {
      timesTold++
      const { messages: [first], hasOlder } = store.view
      if (message > lastKnown()) {
        if (!isRemoved) expect(message)
      } else if (!hasOlder || first && message >= first.id) reread(message - 1)
    },
    /** This user has marked what is unread up to a message, as an event has told, or whoever what the feed told of. */
    marked(upTo = Infinity, user: number | null = null) {
      timesTold++
      const unread = store.view.messages.filter(({ read }) => !read)
      const isShown = upTo <= last() && !unread.some((one) => one.id <= upTo && one.user_id !== user)
      if (!isShown) reread((unread[0]?.id ?? last() + 1) - 1)
    },
    /** Reads again all that is shown; with `anew`, more has changed than that, and the newest page replaces it. */
    readAll(anew: boolean) {
      reread(0)
      if (anew) {
        isReplaced = true
        newestTold = 0
        pages.setReadUpTo(0)
      }
      reader.runNow()
    },
    async older() {
      const { messages: [first], hasOlder } = store.view
      if (!hasOlder || !first) return
      const before = timesTold
      await pages.readBefore(first.id)
      if (timesTold === before) return
      // They may have been read before that.
      reread(0)
      reader.run()
    },
  }
}
export type Messages = ReturnType<typeof createMessages>
