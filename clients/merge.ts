import type { Outgoing } from './views.ts'
import type { Message } from './types.ts'

/** The id of the newest message, or 0 if there is none. */
export const lastId = (messages: readonly Message[]): number => messages.at(-1)?.id ?? 0

/** The list before, where the next one has the same items, so that nothing is rendered again. */
export const replaced = <Item>(before: readonly Item[], next: readonly Item[]): readonly Item[] =>
  next.length === before.length && next.every((item, place) => item === before[place]) ? before : next

/**
 * Adds a page that overlaps or directly adjoins the known messages. The page's version of a message wins, except that
 * `read` never goes back to false, because responses may arrive out of order.
 */
export const merge = (known: readonly Message[], page: readonly Message[]): readonly Message[] => {
  if (!page.length) return known
  if (page[0]!.id > lastId(known)) return [...known, ...page]
  const byId = new Map(known.map((message) => [message.id, message]))
  let changed = false
  for (const message of page) {
    const before = byId.get(message.id)
    const after = before?.read ? { ...message, read: true } : message
    if (before && JSON.stringify(before) === JSON.stringify(after)) continue
    byId.set(message.id, after)
    changed = true
  }
  return changed ? [...byId.values()].sort((one, other) => one.id - other.id) : known
}

/** The messages with `read` set on those that this user received, up to the given id. */
export const markReadUpTo = (messages: readonly Message[], reader: number, upTo: number): readonly Message[] => {
  const applies = (message: Message) => !message.read && message.user_id !== reader && message.id <= upTo
  return messages.some(applies)
    ? messages.map((message) => applies(message) ? { ...message, read: true } : message)
    : messages
}

/**
 * The outgoing messages that are not in `messages` yet. A message does not carry its client_id, so an unanswered send
 * is matched by content and attachment. A wrong match hides the outgoing message only until its answer comes. Messages
 * are sent one at a time, so only the first unanswered one can have arrived already.
 */
export const unconfirmed = (
  outgoing: readonly Outgoing[],
  messages: readonly Message[],
  me: number,
  answered: ReadonlySet<number>,
): readonly Outgoing[] => {
  const last = lastId(messages)
  const current = outgoing.find(({ state }) => state === 'sending' || state === 'waiting')
  const arrived = (sent: Outgoing): boolean => {
    for (let index = messages.length - 1; index >= 0 && messages[index]!.id > sent.after; index--) {
      const { id, user_id, content, attachment } = messages[index]!
      const same = user_id === me && content === sent.content && attachment?.url === sent.attachment?.url
      if (same && !answered.has(id)) return true
    }
    return false
  }
  const left = outgoing.filter((sent) => sent.message ? sent.message.id > last : sent !== current || !arrived(sent))
  return left.length === outgoing.length ? outgoing : left
}
