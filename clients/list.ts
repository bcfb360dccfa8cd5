import type { ServiceError } from './errors.ts'
import type { InboxParts } from './inbox.ts'
import { createReader } from './reader.ts'
import { createRetryLoop } from './retry_loop.ts'

// The list and the unread counts take two requests and many events trigger them, so they run at most this often.
const interval = 500

/** Reads the list of conversations with the unread counts, and whom the user has blocked. */
export const createList = (
  { closed, store, api, channel }: Pick<InboxParts, 'closed' | 'store' | 'api' | 'channel'>,
  onRead: () => void,
  onResult: (error: ServiceError | null) => void,
) => {
  // The newest message of each conversation of which an event told, until the list has it.
  const told = new Map<number, number>()
  let blocked: ReadonlySet<number> | null = null
  const blocks = createRetryLoop(closed, async () => {
    blocked = new Set(await api.blockedUsers())
    onRead()
  })
  const newestOf = (id: number): number =>
    store.view.conversations.find((conversation) => conversation.id === id)?.Messages[0]?.id ?? 0

  /** Whether it is listed or told of, or a later one of its conversation. */
  const knows = (id: number, message: number) => message <= Math.max(newestOf(id), told.get(id) ?? 0)
  const read = async (awaits: (message: number) => boolean) => {
    // Also where nobody can say what has changed.
    if (!blocked && blocks.isDone()) blocks.run()
    const expected = [...told]
    const wasBehind = reader.isBehind()
    const [listed, { total, conversations: counts }] = await Promise.all([api.conversations(), api.unread()])
    const isUntold = listed.some(({ id, Messages: [newest] }) => newest && !knows(id, newest.id))
    if (isUntold && !wasBehind && !reader.isBehind()) channel.expectEvent()
    const unread = new Map(counts.map(({ conversation_id, unread }) => [conversation_id, unread]))
    const conversations = listed.map((one) => ({ ...one, unread: unread.get(one.id) ?? 0 }))
    store.set({ conversations, unread: total, loaded: true, asOf: null })
    const missing = expected.filter(([id, message]) => newestOf(id) < message)
    const isAwaited = awaits(Math.max(0, ...missing.map(([, message]) => message)))
    for (const [id, message] of isAwaited ? [] : expected) if (told.get(id) === message) told.delete(id)
    onRead()
    return !isAwaited
  }
  const reader = createReader(closed, channel.join, read, onResult, interval)

  return {
    reader,
    eventTold: (id: number, message: number) => void told.set(id, Math.max(message, told.get(id) ?? 0)),
    knows,
    isDone: () => reader.isDone() && blocks.isDone(),
    /** Also reads blocks, of which the list tells as well, by its addresses. */
    readAll() {
      blocks.runNow()
      reader.runNow()
    },
    /** Null until they are loaded. */
    isBlocked: (user: number) => blocked && blocked.has(user),
    /**
     * Whether the list has this user's address as empty: across a block and after they have erased their account, when
     * a join would be refused, and with PARTNER_EMAIL=after_reply until they have written. True until it is loaded.
     */
    hidesAddress: (user: number) =>
      !store.view.loaded ||
      store.view.conversations.some(({ Voyager, Local }) =>
        [Voyager, Local].some(({ id, email }) => id === user && email === '')
      ),
  }
}
export type List = ReturnType<typeof createList>
