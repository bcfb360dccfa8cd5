import type { Api } from './api.ts'
import { type ServiceError, toServiceError } from './errors.ts'
import type { InboxChannel } from './inbox_channel.ts'
import { createReader } from './reader.ts'
import type { Store } from './store.ts'
import type { InboxView } from './views.ts'

// The list and the unread counts take two requests and many events trigger them, so they run at most this often.
const interval = 500

/** Reads the list of conversations with the unread counts, and whom the user has blocked. */
export const createList = (
  store: Store<InboxView>,
  api: Api,
  { delivery, join }: InboxChannel,
  onRead: () => void,
  onResult: (error: ServiceError | null) => void,
) => {
  // The newest message of each conversation of which an event told, until the list has it.
  const told = new Map<number, number>()
  let blocked: ReadonlySet<number> | null = null
  // How often a block was told of, and of which the last read knew.
  let [blocksTold, blocksRead] = [1, 0]
  const newestOf = (id: number): number =>
    store.view.conversations.find((conversation) => conversation.id === id)?.Messages[0]?.id ?? 0

  const read = async (signal: AbortSignal, awaits: (message: number) => boolean) => {
    const isFollowed = reader.watch()
    const [expected, blocksExpected] = [[...told], blocksTold]
    // Where the list fails, blocks count all the same; where they fail, the list is shown, and both are read again.
    const readBlocks = async () => {
      const users = await api.blockedUsers(signal)
      // A later read may have overtaken this one, whose list failed.
      if (blocksExpected < blocksRead) return
      blocked = new Set(users)
      blocksRead = blocksExpected
      onRead()
    }
    const [listed, { total, conversations: counts }, failure] = await Promise.all([
      api.conversations(signal),
      api.unread(signal),
      blocksExpected === blocksRead ? null : readBlocks().catch(toServiceError),
    ])
    if (signal.aborted) return false
    const unread = new Map(counts.map(({ conversation_id, unread }) => [conversation_id, unread]))
    const conversations = listed.map((one) => ({ ...one, unread: unread.get(one.id) ?? 0 }))
    store.set({ conversations, unread: total, loaded: true, asOf: null })
    const missing = expected.filter(([id, message]) => newestOf(id) < message)
    const isAwaited = awaits(Math.max(0, ...missing.map(([, message]) => message)))
    for (const [id, message] of isAwaited ? [] : expected) if (told.get(id) === message) told.delete(id)
    const note = isFollowed() ? delivery.expect : delivery.seen
    for (const { id, Messages: [latest] } of listed) if (latest) note(id, latest.id)
    onRead()
    if (failure) throw failure
    return !isAwaited
  }
  const reader = createReader(join, read, onResult, interval)

  return {
    reader,
    newestOf,
    /** An event has told of this message. */
    expect: (id: number, message: number) => void told.set(id, Math.max(message, told.get(id) ?? 0)),
    /** A block may have changed, of which the list tells as well, by its addresses. */
    blocksChanged: () => void blocksTold++,
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
