import type { Api } from './api.ts'
import type { Surroundings } from './parts.ts'
import { type ServiceError, toServiceError } from './errors.ts'
import { lastId } from './merge.ts'
import type { Messages } from './messages.ts'
import { createReader } from './reader.ts'
import type { Message } from './types.ts'

/**
 * What is shown and is to be read again: everything, in place of which the newest page may come (`replacement`); what
 * is unread, because a read marker has moved; and messages that may have been corrected or taken back.
 */
const createDue = () => ({ replacement: false, all: false, unread: false, ids: new Set<number>() })
type Due = ReturnType<typeof createDue>
const bothDue = (one: Due, other: Due): Due => ({
  replacement: one.replacement || other.replacement,
  all: one.all || other.all,
  unread: one.unread || other.unread,
  ids: new Set([...one.ids, ...other.ids]),
})

/** Shows the newest page, in place of all that is shown if that is due. */
const readNewest = async (api: Api, messages: Messages, due: Due, signal: AbortSignal) => {
  const { store } = messages
  try {
    const page = await api.newestMessages(store.view.id, signal)
    const change = { loaded: true, asOf: null, hasOlder: page.more }
    messages.addPage(page.messages, change, due.replacement ? [] : undefined)
  } catch (error) {
    // It is not the user's any more.
    if (store.view.asOf && toServiceError(error).status === 404) {
      store.set({ messages: [], reservations: [], other: null, loaded: false, asOf: null })
    }
    throw error
  }
}

/** Reads all that is shown anew, and what follows it. */
const readShown = async (api: Api, messages: Messages, signal: AbortSignal) => {
  const { id, messages: shown } = messages.store.view
  const first = shown[0]?.id ?? 1
  const present: Message[] = []
  for (let from = first - 1, more = true; more;) {
    const page = await api.messagesAfter(id, from, signal)
    present.push(...page.messages)
    from = lastId(page.messages)
    more = page.more
  }
  messages.addPage(present, {}, messages.store.view.messages.filter(({ id }) => id < first))
}

/** Reads again what is due, and unless `isAtEnd` what is new. */
const readOn = async (api: Api, messages: Messages, due: Due, isAtEnd: boolean, signal: AbortSignal) => {
  const { id, messages: shown } = messages.store.view
  if (due.unread) { for (const { id, read } of shown) if (!read) due.ids.add(id) }
  const ids = [...due.ids].sort((one, other) => one - other)
  for (let from = messages.last(), isRead = isAtEnd; ids.length || !isRead;) {
    const page = await api.messagesAfter(id, Math.min(from, (ids[0] ?? Infinity) - 1), signal)
    messages.addPage(page.messages)
    from = Math.max(from, lastId(page.messages))
    isRead ||= !page.more
    while (ids.length && (!page.more || ids[0]! <= lastId(page.messages))) ids.shift()
  }
}

/** Reads messages as they become known. Calls `onRead` after a read, before it is decided whether it lacks one. */
export const createReading = (
  messages: Messages,
  { api, me, channel }: Surroundings,
  onRead: () => void,
  onResult: (error: ServiceError | null) => void,
) => {
  const { store } = messages
  let due = createDue()
  // What becomes due while a page of older messages is being read, which may have been read before.
  let meanwhile: Due | null = null
  // The newest message of which was told.
  let newest = 0
  const isComplete = () => newest <= messages.lastKnown()

  const reader = createReader(channel.join, async (signal, awaits) => {
    await me
    const expected = newest
    const current = due
    due = createDue()
    try {
      const readsNewest = current.replacement || !store.view.loaded
      const readsAnew = readsNewest || current.all
      if (readsNewest) await readNewest(api, messages, current, signal)
      else if (readsAnew) await readShown(api, messages, signal)
      if (readsAnew) Object.assign(current, createDue())
      const isAtEnd = readsAnew || !current.unread && !reader.isBehind() && isComplete()
      await readOn(api, messages, current, isAtEnd, signal)
    } catch (error) {
      due = bothDue(due, current)
      throw error
    }
    onRead()
    const isMissing = expected > messages.lastKnown() && !messages.isRemoved(expected)
    if (awaits(isMissing ? expected : 0)) return false
    messages.fetched(expected)
    return isComplete()
  }, onResult)

  return {
    reader,
    /** Whether what is shown is as the service has it, as far as is known. */
    isCurrent: () => reader.isDone() && !due.ids.size,
    isComplete,
    /** There is this message. */
    expect: (message: number) => void (newest = Math.max(newest, message)),
    /** A message is new, or another than before. */
    changed(message: number) {
      messages.restore(message)
      meanwhile?.ids.add(message)
      const { messages: shown, hasOlder } = store.view
      if (message > messages.lastKnown()) newest = Math.max(newest, message)
      else if (!hasOlder || message >= (shown[0]?.id ?? 0)) due.ids.add(message)
    },
    removed(message: number) {
      messages.remove(message)
      // Reading on from nothing would begin with the oldest message.
      due.replacement ||= store.view.hasOlder && !store.view.messages.length
    },
    /** A read marker has moved; `isShown`: without consequences for what is shown. */
    marked(isShown = false) {
      if (meanwhile) meanwhile.unread = true
      due.unread ||= !isShown
    },
    replace: () => void (due.replacement = true),
    /** What was read before the first cursor of the changes may have been corrected or removed before it. */
    rereadAll: () => void (due.all = true),
    /** Loads a page of older messages. */
    async older(signal: AbortSignal) {
      const { messages: known, hasOlder } = store.view
      if (!hasOlder) return
      const missed = meanwhile = createDue()
      try {
        const page = await api.messagesBefore(store.view.id, known[0]!.id, signal)
        messages.addPage(page.messages, { hasOlder: page.more })
      } finally {
        meanwhile = null
      }
      due = bothDue(due, missed)
      if (missed.unread || missed.ids.size) reader.run()
    },
  }
}
export type Reading = ReturnType<typeof createReading>
