import type { Api } from './api.ts'
import { type ServiceError, toServiceError } from './errors.ts'
import type { Parts } from './inbox.ts'
import { createRetryLoop } from './retry_loop.ts'
import type { Change } from './types.ts'

/** What has changed since the last time, or that everything is to be read: for the first time, or anew. */
type Changes = readonly Change[] | 'first' | 'lost'

// With more than this, reading everything anew takes fewer requests.
const mostPages = 50

/** Reads what has changed in all conversations of the user. The cursor is kept with what is seen (./cache.ts). */
const createChangeFeed = (api: Api) => {
  let cursor: string | null = null
  let outcome: 'first' | 'lost' = 'first'

  const pagesAfter = async (from: string, signal: AbortSignal) => {
    const changes: Change[] = []
    for (let pages = 0, after = from; pages < mostPages; pages++) {
      const page = await api.changes(after, signal)
      changes.push(...page.changes)
      after = page.cursor
      if (!page.more) return { changes, after }
    }
    return null
  }

  const next = async (signal: AbortSignal): Promise<Changes> => {
    if (cursor !== null) {
      try {
        const read = await pagesAfter(cursor, signal)
        if (read) {
          cursor = read.after
          return read.changes
        }
      } catch (error) {
        // 410: the cursor is too old, or from before a restore of the database. 400: a stored one is damaged.
        if (![400, 410].includes(toServiceError(error).status)) throw error
      }
      cursor = null
      outcome = 'lost'
    }
    cursor = (await api.changes(null, signal)).cursor
    return outcome
  }

  return {
    cursor: () => cursor,
    /** Goes on from a cursor of an earlier page, unless it has begun. */
    begin: (from: string) => void (cursor ??= from),
    next,
    /** Whether there is a change that is not known; `next` has not passed it then. */
    async hasNew(isKnown: (change: Change) => boolean, signal: AbortSignal): Promise<boolean> {
      const read = cursor === null ? null : await pagesAfter(cursor, signal)
      return read ? !read.changes.every(isKnown) : cursor !== null
    },
  }
}

/** Reads what has changed, of which the feed told during this join of the channel. */
const applyChanges = (
  changes: readonly Change[],
  join: number,
  isFollowed: boolean,
  { store, cache, channel: { delivery }, list, blocks, conversations }: Parts,
) => {
  cache.change(changes)
  for (const { kind, conversation_id, id } of changes) {
    if (kind !== 'message') continue
    if (!isFollowed) delivery.seen(conversation_id, id)
    // An older message was corrected, of which no event tells.
    else if (id > list.newestOf(conversation_id)) delivery.expect(conversation_id, id)
  }
  // A block is part of how the user sees a conversation.
  if (!blocks.isLoaded() || changes.some(({ kind }) => kind === 'state')) blocks.loop.runNow()
  // The blocks that a cached list was read with are not known.
  const isListed = changes.some(({ kind }) => kind !== 'reservation' && (kind !== 'state' || store.view.asOf))
  if (isListed || !list.reader.isDone()) list.reader.runNow()
  else {
    store.set({ asOf: null })
    if (list.isComplete()) list.reader.caughtUp(join)
  }
  conversations.forEach((conversation) => {
    conversation.handleChanges(changes.filter(({ conversation_id }) => conversation_id === conversation.id), join)
  })
}

/** Reads everything; with `anew`, the service has forgotten what has changed. */
const readAll = (anew: boolean, { cache, list, blocks, conversations }: Parts) => {
  cache.forget()
  list.reader.runNow()
  blocks.loop.runNow()
  conversations.forEach((conversation) => conversation.readAll(anew))
}

/** Follows what has changed in all conversations. Calls `onBack` with the first answer after the service was away. */
export const createFeed = (
  parts: Parts,
  setResult: (error: ServiceError | null) => void,
  onBack: () => void,
) => {
  const { api, cache, store, channel, list } = parts
  const feed = createChangeFeed(api)
  const keepList = () => void (list.reader.isDone() && cache.setInbox(store.view, feed.cursor()))
  let isOut = false
  const loop = createRetryLoop(async (signal) => {
    const join = channel.join()
    const isFollowed = list.reader.watch()
    const changes = await feed.next(signal)
    if (signal.aborted) return
    if (typeof changes === 'string') return readAll(changes === 'lost', parts)
    applyChanges(changes, join, isFollowed(), parts)
    keepList()
  }, (error) => {
    if (isOut && !error) onBack()
    isOut = error?.code === 'offline'
    // Otherwise the list is being read, and has the result.
    if (error || list.reader.isDone()) setResult(error)
  })
  // A read marker of which no event told waits for a poll.
  const isKnown = ({ kind, conversation_id, id }: Change) =>
    kind === 'read' || kind === 'message' && channel.delivery.knows(conversation_id, id)
  const recheckLoop = createRetryLoop(async (signal) => {
    if (await feed.hasNew(isKnown, signal)) loop.runNow()
  })
  return {
    begin: feed.begin,
    run: loop.run,
    runNow: loop.runNow,
    /** Reads only whether there is anything of which no event has told. */
    recheck: recheckLoop.runNow,
    /** Keeps the list for a start without a network. */
    keepList,
    close() {
      loop.close()
      recheckLoop.close()
    },
  }
}
export type Feed = ReturnType<typeof createFeed>
