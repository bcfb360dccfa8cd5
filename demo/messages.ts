import type { Conversation, Inbox, Message, Outgoing } from '../clients/inbox.ts'
import { button, el, icon, setText } from './dom.ts'
import { formatDay, pluralize } from './format.ts'
import { createList } from './list.ts'
import { renderMessage, renderOutgoing, summaryOf } from './message.ts'
import { errorText } from './errors.ts'
import type { Card } from './reservation_card.ts'
import type { Files } from './storage.ts'

type Item =
  | { kind: 'day'; key: string; day: string }
  | { kind: 'message'; key: string; message: Message; own: boolean; follows: boolean }
  | { kind: 'reservation'; key: string; card: Card }
  | { kind: 'outgoing'; key: string; outgoing: Outgoing; error: string }

// The distance in pixels that still counts as being at an edge.
const edgeDistance = 80
// Messages of one sender within this time are grouped.
const groupWithin = 5 * 60_000

/**
 * Day separators, messages, reservations and outgoing messages in display order. A refused message stays where it was
 * written; the others are about to appear at the end. A reservation stands where its last change belongs.
 */
const toItems = (
  messages: readonly Message[],
  outgoing: readonly Outgoing[],
  cards: readonly Card[],
  me: number,
): Item[] => {
  const items: Item[] = []
  let day = ''
  const addDay = (timestamp: string) => {
    if (formatDay(timestamp) === day) return
    day = formatDay(timestamp)
    items.push({ kind: 'day', key: `day ${new Date(timestamp).toDateString()}`, day })
  }
  const addOutgoing = (one: Outgoing) => {
    addDay(one.createdAt)
    items.push({ kind: 'outgoing', key: one.client_id, outgoing: one, error: one.error?.message ?? '' })
  }
  const waiting = cards.toSorted((one, other) => one.updatedAt < other.updatedAt ? -1 : 1)
  const addCards = (until: string) => {
    while (waiting[0] && waiting[0].updatedAt < until) {
      const card = waiting.shift()!
      addDay(card.updatedAt)
      items.push({ kind: 'reservation', key: `reservation ${card.id}`, card })
    }
  }
  const refused = outgoing.filter(({ state }) => state === 'refused')
  messages.forEach((message, index) => {
    while (refused[0] && refused[0].after < message.id) addOutgoing(refused.shift()!)
    addCards(message.createdAt)
    addDay(message.createdAt)
    const before = messages[index - 1]
    const follows = items.at(-1)!.kind === 'message' && before?.user_id === message.user_id &&
      Date.parse(message.createdAt) - Date.parse(before.createdAt) < groupWithin
    items.push({ kind: 'message', key: `${message.id}`, message, own: message.user_id === me, follows })
  })
  addCards('9999')
  for (const one of [...refused, ...outgoing.filter(({ state }) => state !== 'refused')]) addOutgoing(one)
  return items
}

/** The messages of a conversation. Scrolling to the top loads older ones. */
export const openMessages = (
  conversation: Conversation,
  inbox: Inbox,
  files: Files,
  renderCard: (card: Card) => HTMLElement,
) => {
  let other = ''
  let newest: number | null = null
  let newCount = 0
  const closed = new AbortController()

  const render = (item: Item): HTMLElement => {
    if (item.kind === 'day') return el('li.day', el('span', item.day))
    if (item.kind === 'reservation') return renderCard(item.card)
    if (item.kind === 'message') {
      return renderMessage(item.message, item.own, item.follows, conversation, files, closed.signal)
    }
    return renderOutgoing(item.outgoing, item.error, conversation)
  }

  const isAtEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < edgeDistance
  const scrollToEnd = () => {
    scroller.scrollTop = scroller.scrollHeight
  }
  let isLoadingOlder = false
  const loadOlder = async () => {
    const { loaded, hasOlder } = conversation.view
    if (!loaded || !hasOlder || isLoadingOlder) return
    isLoadingOlder = true
    setText(alert, await conversation.older().then(() => '', errorText))
    isLoadingOlder = false
  }

  const older = button('Older messages', loadOlder, 'link older', { hidden: true })
  const alert = el('p.notice', { role: 'alert', hidden: true })
  const note = el('p.empty', 'Loading…')
  const list = el('ol.messages')
  const end = el('div.end')
  const scroller = el(
    'div.scroller',
    {
      tabindex: '0',
      role: 'region',
      'aria-label': 'Messages',
      scroll: () => {
        if (scroller.scrollTop < edgeDistance) loadOlder()
      },
    },
    older,
    alert,
    note,
    list,
    end,
  )
  const jump = button('', scrollToEnd, 'jump', { hidden: true })
  const announcer = el('p.visually-hidden', { 'aria-live': 'polite' })
  const node = el('div.log', scroller, jump, announcer)
  const showList = createList<Item>(list, ({ key }) => key, render)

  /** Messages count as read once the end of the list is visible on a visible page. */
  let isEndVisible = false
  const markReadIfVisible = () => {
    if (!isEndVisible || document.visibilityState !== 'visible') return
    newCount = 0
    jump.hidden = true
    conversation.markRead()
  }
  const endObserver = new IntersectionObserver(([entry]) => {
    isEndVisible = entry?.isIntersecting ?? false
    markReadIfVisible()
  })
  endObserver.observe(end)
  document.addEventListener('visibilitychange', markReadIfVisible)
  // Stay at the end when the list shrinks, for example when a phone shows its keyboard.
  let wasAtEnd = true
  const sizeObserver = new ResizeObserver(() => wasAtEnd && scrollToEnd())
  sizeObserver.observe(scroller)
  // A picture has its height when it has arrived.
  sizeObserver.observe(list)
  scroller.addEventListener('scroll', () => wasAtEnd = isAtEnd())

  /** Announces new messages to screen readers, and shows their number if the user has scrolled up. */
  const announceNew = (messages: readonly Message[], me: number) => {
    const received = newest === null ? [] : messages.filter(({ id, user_id }) => id > newest! && user_id !== me)
    newest = messages.at(-1)?.id ?? 0
    if (!received.length) return
    announcer.textContent = received.map((message) => `${other}: ${summaryOf(message)}`).join('\n')
    if (wasAtEnd) return
    newCount += received.length
    jump.replaceChildren(icon('down'), pluralize(newCount, 'new message', 'new messages'))
    jump.hidden = false
  }

  return {
    node,
    scrollToEnd,
    showCard(id: number) {
      const card = list.querySelector<HTMLElement>(`[data-reservation="${id}"]`)
      card?.scrollIntoView({ block: 'center' })
      card?.querySelector('button')?.focus({ preventScroll: true })
    },
    show(nameOfOther: string, cards: readonly Card[]) {
      const { me } = inbox.view
      const { messages, outgoing, hasOlder, loaded } = conversation.view
      if (!me || !(loaded || outgoing.length)) return
      other = nameOfOther
      // Two may be open side by side.
      if (other) scroller.ariaLabel = `Messages with ${other}`
      // Keep the first visible message in place when older ones are inserted above it.
      const first = list.querySelector<HTMLElement>('[data-message]')
      const above = first?.getBoundingClientRect().top
      // What is older than the messages that are shown comes with them, unless it is open.
      const [oldest] = messages
      const isShown = ({ updatedAt, can }: Card) => !hasOlder || can.length > 0 || updatedAt > (oldest?.createdAt ?? '')
      showList(toItems(messages, outgoing, cards.filter(isShown), me.id))
      older.hidden = !hasOlder
      setText(note, messages.length || outgoing.length || cards.length ? '' : `Say hello to ${nameOfOther || 'them'}.`)
      if (wasAtEnd) scrollToEnd()
      else if (first && above !== undefined) {
        const same = list.querySelector(`[data-message="${first.dataset.message}"]`)
        if (same) scroller.scrollTop += same.getBoundingClientRect().top - above
      }
      if (loaded) announceNew(messages, me.id)
      markReadIfVisible()
    },
    close() {
      closed.abort()
      endObserver.disconnect()
      sizeObserver.disconnect()
      document.removeEventListener('visibilitychange', markReadIfVisible)
    },
  }
}
