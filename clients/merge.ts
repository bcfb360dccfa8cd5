import type { Hint, Message } from './shapes.ts'
import type { Outgoing } from './outbox.ts'

/** The id of the newest of these, 0 where there is none. */
export const lastId = (messages: readonly Message[]): number => messages.at(-1)?.id ?? 0

/**
 * Adds a page that begins no later than where the known messages end, so that nothing is between them. The page is newer: it says what a
 * message holds; but read never goes back, because answers may overtake each other.
 */
export const merge = (known: readonly Message[], page: readonly Message[]): readonly Message[] => {
  if (!page.length) return known
  if (page[0]!.id > lastId(known)) return [...known, ...page]
  const byId = new Map(known.map((message) => [message.id, message]))
  let changed = false
  for (const message of page) {
    const before = byId.get(message.id)
    const now = before?.read ? { ...message, read: true } : message
    if (before && JSON.stringify(before) === JSON.stringify(now)) continue
    byId.set(message.id, now)
    changed = true
  }
  return changed ? [...byId.values()].sort((one, other) => one.id - other.id) : known
}

/** The same messages, with those that this person received up to one marked as read. */
export const markedUpTo = (messages: readonly Message[], reader: number, upTo: number): readonly Message[] => {
  const marks = (message: Message) => !message.read && message.user_id !== reader && message.id <= upTo
  return messages.some(marks)
    ? messages.map((message) => marks(message) ? { ...message, read: true } : message)
    : messages
}

/** Where to read from to learn of every mark that may have come: before the first unread message, or at the end. */
export const beforeUnread = (messages: readonly Message[]): number => {
  const unread = messages.find(({ read }) => !read)
  return unread ? unread.id - 1 : lastId(messages)
}

/** What an event of a new message means to somebody who has seen everything up to `last`. */
export const placeOf = ({ id, previous_id }: Hint, last: number): 'seen' | 'next' | 'after a hole' => {
  if (id <= last) return 'seen'
  return (previous_id ?? 0) <= last ? 'next' : 'after a hole'
}

/**
 * What was sent and is not among the messages yet. A message does not say by which send it came, so before a send is answered its message
 * is told by what it says. A wrong guess hides an echo until the answer comes, and no longer. Sends go one by one, so that only the first
 * that has no answer can be there already.
 */
export const unconfirmed = (
  outgoing: readonly Outgoing[],
  messages: readonly Message[],
  me: number,
  answered: ReadonlySet<number>,
): readonly Outgoing[] => {
  const last = lastId(messages)
  const underWay = outgoing.find(({ state }) => state === 'sending' || state === 'waiting')
  const arrived = (sent: Outgoing): boolean => {
    for (let index = messages.length - 1; index >= 0 && messages[index]!.id > sent.after; index--) {
      const { id, user_id, content, attachment } = messages[index]!
      const same = user_id === me && content === sent.content && attachment?.url === sent.attachment?.url
      if (same && !answered.has(id)) return true
    }
    return false
  }
  const left = outgoing.filter((sent) => sent.message ? sent.message.id > last : sent !== underWay || !arrived(sent))
  return left.length === outgoing.length ? outgoing : left
}
