import { replaced } from './merge.ts'
import { browserStorage, type TimedStorage } from './storage.ts'
import { createTimer, withTimeout } from './timers.ts'
import type { Change, Person } from './types.ts'
import type { ConversationView, InboxView } from './views.ts'

/** The list, as of when the service last said that nothing else has changed, and the cursor that it gave then. */
type CachedInbox = Pick<InboxView, 'conversations' | 'unread'> & { me: Person; cursor: string; asOf: string }

/** A conversation that was open; `asOf` is null where it is as new as the list. */
type CachedPage = Pick<ConversationView, 'id' | 'messages' | 'hasOlder' | 'other' | 'reservations' | 'asOf'>

/** The pages are in the order in which they were opened. */
type Cached = { inbox: CachedInbox; pages: readonly CachedPage[] }

// One key for whoever was here last, so that the next user of the browser overwrites it whatever came between.
const key = 'voyagers-and-locals:seen'
// Raised when the shape of what is stored changes, that of a message included.
const version = 1
const [mostConversations, mostPages, mostMessages] = [50, 20, 50]
// Rather nothing than a wait: the service is asked then.
const longestLoad = 1000
const saveInterval = 1000

/** Whether this has what the page would fail without, at each start. Throws if it has not even lists. */
const isWhole = ({ inbox: { me, conversations, cursor, asOf }, pages }: Cached): boolean => {
  const listed = conversations.flatMap((one) => [one, one.Voyager, one.Local, ...one.Messages])
  const shown = pages.flatMap((page) => [page, ...page.messages, ...page.reservations])
  const areRows = [me, ...listed, ...shown].every(({ id }) => Number.isInteger(id))
  return areRows && typeof cursor === 'string' && Date.parse(asOf) > 0
}

const parse = (stored: unknown, owner: string): Cached | null => {
  const cached = stored as Cached & { version: number; owner: string } | null | undefined
  return cached?.version === version && cached.owner === owner && isWhole(cached) ? cached : null
}

/** Deletes what whoever was here last has seen, where nobody is signed in. */
export const forgetSeen = async (): Promise<void> => {
  await Promise.resolve(browserStorage()?.delete(key)).catch(() => {})
}

/**
 * Keeps what the user has seen in the storage, for a start without a network. It is only what was: the first answer of
 * the service replaces it. Where several pages are open, the last one that writes decides. A storage that fails keeps
 * nothing, and nobody is told, as nothing is lost.
 */
export const openCache = (closed: AbortSignal, storage: TimedStorage | null, owner: Promise<string>) => {
  let inbox: CachedInbox | null = null
  let pages = new Map<number, CachedPage>()
  let isCleared = false

  const timer = createTimer(async () => {
    if (!inbox) return
    const list = { ...inbox, conversations: inbox.conversations.slice(0, mostConversations) }
    const value = { version, owner: await owner, inbox: list, pages: [...pages.values()] }
    storage?.update(key, () => isCleared ? undefined : value).catch(() => {})
  }, closed)
  const save = () => storage && !timer.isWaiting() && timer.start(saveInterval)

  return {
    /** What can be read soon of this user. Never rejects. */
    async load(): Promise<CachedInbox | null> {
      if (!storage) return null
      const read = async () => parse(await storage.get(key), await owner)
      const cached = await withTimeout(longestLoad, read).catch(() => null)
      if (closed.aborted || inbox) return null
      if (!cached) storage.delete(key).catch(() => {})
      inbox = cached?.inbox ?? null
      pages = new Map(cached?.pages.map((page) => [page.id, page]))
      return inbox
    },
    open(id: number): CachedPage | null {
      const page = pages.get(id)
      if (!page || !inbox) return null
      pages.delete(id)
      pages.set(id, page)
      return { ...page, asOf: page.asOf ?? inbox.asOf }
    },
    /** The service has said that this is all, up to the cursor, which may be older, and never newer. */
    setInbox({ me, conversations, unread, asOf }: InboxView, cursor: string | null) {
      if (!me || !cursor || asOf) return
      const listed = new Set(conversations.map(({ id }) => id))
      for (const id of pages.keys()) if (!listed.has(id)) pages.delete(id)
      inbox = { me, conversations, unread, cursor, asOf: new Date().toISOString() }
      save()
    },
    setPage({ id, messages, hasOlder, other, reservations, loaded, asOf }: ConversationView) {
      if (!loaded || asOf) return
      const known = pages.get(id)
      const newest = replaced(known?.messages ?? [], messages.slice(-mostMessages))
      const isSame = newest === known?.messages && known.other === other && known.reservations === reservations
      if (isSame && known.asOf === null) return
      const isCut = newest.length < messages.length
      pages.set(id, { id, messages: newest, hasOlder: hasOlder || isCut, other, reservations, asOf: null })
      if (pages.size > mostPages) pages.delete(pages.keys().next().value!)
      save()
    },
    /** Nothing that was taken back may be shown again, and what lacks a message says as of when it is. */
    change(changes: readonly Change[]) {
      for (const { kind, conversation_id, id } of changes) {
        const page = pages.get(conversation_id)
        if (!page || !inbox || kind === 'state') continue
        const messages = kind.startsWith('message')
          ? page.messages.filter((message) => message.id !== id)
          : page.messages
        pages.set(conversation_id, { ...page, messages, asOf: page.asOf ?? inbox.asOf })
      }
    },
    /** The service has forgotten what has changed since. */
    forget: () => pages.clear(),
    /** Deletes everything, once this is closed. Never rejects. */
    async clear() {
      isCleared = true
      await storage?.delete(key).catch(() => {})
    },
  }
}
export type Cache = ReturnType<typeof openCache>
