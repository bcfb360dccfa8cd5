import type { Api } from './api.ts'
import type { ServiceError } from './errors.ts'
import type { InboxParts } from './parts.ts'
import { createRetryLoop } from './retry_loop.ts'
import type { Change } from './types.ts'

// With more than this, reading everything anew takes fewer requests.
const mostPages = 50

/** What has changed after a cursor, and the next one; null if that is too much. */
const readChanges = async (api: Api, from: string, signal: AbortSignal) => {
  const changes: Change[] = []
  for (let pages = 0, cursor = from; pages < mostPages; pages++) {
    const page = await api.changes(cursor, signal)
    changes.push(...page.changes)
    cursor = page.cursor
    if (!page.more) return { changes, cursor }
  }
  return null
}

/** Reads what has changed, of which the feed told during this join of the channel. */
const applyChanges = (
  changes: readonly Change[],
  join: number,
  isFollowed: boolean,
  { store, cache, channel: { delivery }, list, conversations }: InboxParts,
) => {
  cache.change(changes)
  for (const { kind, conversation_id, id } of changes) {
    if (kind !== 'message') continue
    if (!isFollowed) delivery.seen(conversation_id, id)
    // An older message was corrected, of which no event tells.
    else if (id > list.newestOf(conversation_id)) delivery.expect(conversation_id, id)
  }
  // A block is part of how the user sees a conversation.
  if (changes.some(({ kind }) => kind === 'state')) list.blocksChanged()
  if (store.view.asOf || !list.reader.isDone() || changes.some(({ kind }) => kind !== 'reservation')) {
    list.reader.runNow()
  } else list.reader.caughtUp(join)
  conversations.forEach((conversation) => {
    conversation.handleChanges(changes.filter(({ conversation_id }) => conversation_id === conversation.id), join)
  })
}

/** Reads everything; with `anew`, the service has forgotten what has changed. */
const readAll = (anew: boolean, { cache, list, conversations }: InboxParts) => {
  cache.forget()
  list.blocksChanged()
  list.reader.runNow()
  conversations.forEach((conversation) => conversation.readAll(anew))
}

/**
 * Follows what has changed since the cursor that `begin` has from an earlier page, or from now on. Calls `onBack` with
 * the first answer after the service was away.
 */
export const createFeed = (
  parts: InboxParts,
  begin: (signal: AbortSignal) => Promise<string | null>,
  setResult: (error: ServiceError | null) => void,
  onBack: () => void,
) => {
  const { api, cache, store, channel, list } = parts
  let cursor: string | null = null
  let isOut = false
  const keepList = () => void (list.reader.isDone() && cache.setInbox(store.view, cursor))
  const loop = createRetryLoop(async (signal) => {
    cursor ??= await begin(signal)
    const join = channel.join()
    const isFollowed = list.reader.watch()
    const isAnew = cursor !== null
    // 410: the cursor is too old, or from before a restore of the database. 400: a stored one is damaged.
    const read = cursor === null ? null : await readChanges(api, cursor, signal).catch((error: ServiceError) => {
      if (![400, 410].includes(error.status)) throw error
      return null
    })
    cursor = read ? read.cursor : (await api.changes(null, signal)).cursor
    if (!read) return readAll(isAnew, parts)
    applyChanges(read.changes, join, isFollowed(), parts)
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
    const read = cursor === null ? null : await readChanges(api, cursor, signal)
    if (read ? !read.changes.every(isKnown) : cursor !== null) loop.runNow()
  })
  return {
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
