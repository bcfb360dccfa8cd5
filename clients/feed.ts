import type { ServiceError } from './errors.ts'
import type { InboxParts } from './inbox.ts'
import { createRetryLoop } from './retry_loop.ts'
import type { Change } from './types.ts'

/**
 * Follows what has changed since the cursor that `begin` has from an earlier page, or from now on. Calls `onBack` with
 * the first answer after the service was away.
 */
export const createFeed = (
  { closed, api, cache, store, channel, list, conversations }: InboxParts,
  begin: () => Promise<string | null>,
  setResult: (error: ServiceError | null) => void,
  onBack: () => void,
) => {
  let cursor: string | null = null
  let isOut = false
  /** What has changed, and the next cursor; null without a cursor. */
  const readChanges = async () => {
    const changes: Change[] = []
    for (let next = cursor; next !== null;) {
      const page = await api.changes(next)
      changes.push(...page.changes)
      next = page.cursor
      if (!page.more) return { changes, cursor: next }
    }
    return null
  }
  // One that an admin corrects is a message as well, of which no event tells, and mostly an older one.
  const isUntold = ({ kind, conversation_id, id }: Change) => kind === 'message' && !list.knows(conversation_id, id)
  /** Reads what has changed, of which the feed told during this join of the channel. */
  const apply = (changes: readonly Change[], join: number) => {
    cache.change(changes)
    // A block is part of how the user sees a conversation.
    if (store.view.asOf || !list.isDone() || changes.some(({ kind }) => kind === 'state')) list.readAll()
    else if (changes.some(({ kind }) => kind !== 'reservation')) list.reader.runNow()
    else list.reader.caughtUp(join)
    conversations.forEach((conversation) => {
      conversation.handleChanges(changes.filter(({ conversation_id }) => conversation_id === conversation.id), join)
    })
  }
  const keepList = () => void (list.reader.isDone() && cache.setInbox(store.view, cursor))
  const loop = createRetryLoop(closed, async () => {
    cursor ??= await begin()
    const join = channel.join()
    const isAnew = cursor !== null
    // 410: the cursor is too old, or from before a restore of the database. 400: a stored one is damaged.
    const read = await readChanges().catch((error: ServiceError) => {
      if (![400, 410].includes(error.status)) throw error
      return null
    })
    cursor = read ? read.cursor : (await api.changes(null)).cursor
    if (!read) {
      cache.forget()
      list.readAll()
      return conversations.forEach((conversation) => conversation.readAll(isAnew))
    }
    apply(read.changes, join)
    keepList()
  }, (error) => {
    if (isOut && !error) onBack()
    isOut = error?.code === 'offline'
    // A list of an earlier page does not wait for what has changed.
    if (error && store.view.asOf) list.reader.run()
    // Otherwise the list is being read, and has the result.
    if (error || list.reader.isDone()) setResult(error)
  })
  const recheckLoop = createRetryLoop(closed, async () => {
    const read = await readChanges()
    // A read marker of which no event told waits for a poll.
    const isDue = (one: Change) => isUntold(one) || !['message', 'read'].includes(one.kind)
    if (read?.changes.some(isDue)) loop.runNow()
  })
  return {
    ...loop,
    /** Reads only whether there is anything of which no event has told. */
    recheck: recheckLoop.runNow,
    keepList,
  }
}
