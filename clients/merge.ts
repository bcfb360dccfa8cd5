import type { Outgoing } from './views.ts'
import type { Message } from './types.ts'

export const lastId = (messages: readonly Message[]): number => messages.at(-1)?.id ?? 0

/** The list before, where the next one has the same items, so that nothing is rendered again. */
export const replaced = <Item>(before: readonly Item[], next: readonly Item[]): readonly Item[] =>
  next.length === before.length && next.every((item, place) => item === before[place]) ? before : next

/** Puts a page in place of what is known between its ends, neither of which is: all that is there is in the page. */
export const merge = (known: readonly Message[], page: readonly Message[], after: number, before: number) => {
  const byId = new Map(known.map((message) => [message.id, message]))
  const isSame = (message: Message) => JSON.stringify(byId.get(message.id)) === JSON.stringify(message)
  return replaced(known, [
    ...known.filter(({ id }) => id <= after),
    ...page.map((message) => isSame(message) ? byId.get(message.id)! : message),
    ...known.filter(({ id }) => id >= before),
  ])
}

/** The messages with `read` set on those that this user received, up to the given id. */
export const markReadUpTo = (messages: readonly Message[], reader: number, upTo: number): readonly Message[] => {
  const applies = ({ id, user_id, read }: Message) => !read && user_id !== reader && id <= upTo
  return replaced(messages, messages.map((message) => applies(message) ? { ...message, read: true } : message))
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
  const current = outgoing.find(({ state }) => state === 'sending' || state === 'waiting')
  const hasArrived = (sent: Outgoing): boolean =>
    messages.some(({ id, user_id, content, attachment }) =>
      id > sent.after && user_id === me && !answered.has(id) &&
      content === sent.content && attachment?.url === sent.attachment?.url
    )
  return outgoing.filter((sent) =>
    sent.message ? sent.message.id > lastId(messages) : sent !== current || !hasArrived(sent)
  )
}
