import type { Conversation, Inbox, Message, Outgoing } from '../clients/inbox.ts'
import { button, el, icon, setText } from './dom.ts'
import { formatDay, pluralize } from './format.ts'
import { createList } from './list.ts'
import { renderMessage, renderOutgoing, summaryOf } from './message.ts'
import { errorText } from './errors.ts'
import type { Card } from './reservation_card.ts'
import { edgeDistance, keepPlace, watchVisible } from './scroll.ts'
import type { Files } from './storage.ts'

type Item =
  | { kind: 'day'; key: string; day: string }
  | { kind: 'message'; key: string; message: Message; own: boolean; follows: boolean }
  | { kind: 'reservation'; key: string; card: Card }
  | { kind: 'outgoing'; key: string; outgoing: Outgoing; error: string }

// Messages of one sender within this time are grouped.
const groupWithin = 5 * 60_000

/**
 * Day separators, messages, reservations and outgoing messages in display order. A refused message stays where it was
 * written; the others are about to appear at the end. A reservation stands where its last change belongs.
 */
const toItems = ({ messages, outgoing }: Conversation['view'], cards: readonly Card[], me: number): Item[] => {
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

/** Announces new messages to screen readers, and shows whoever has scrolled up how many there are. */
const openNewMessages = (toEnd: () => void) => {
  let newest: number | null = null
  let count = 0
  const jump = button('', toEnd, 'jump', { hidden: true })
  const announcer = el('p.visually-hidden', { 'aria-live': 'polite' })
  return {
    nodes: [jump, announcer],
    announce(messages: readonly Message[], me: number, other: string, isAtEnd: boolean) {
      const received = newest === null ? [] : messages.filter(({ id, user_id }) => id > newest! && user_id !== me)
      newest = messages.at(-1)?.id ?? 0
      if (!received.length) return
      announcer.textContent = received.map((message) => `${other}: ${summaryOf(message)}`).join('\n')
      if (isAtEnd) return
      count += received.length
      jump.replaceChildren(icon('down'), pluralize(count, 'new message', 'new messages'))
      jump.hidden = false
    },
    clear() {
      count = 0
      jump.hidden = true
    },
  }
}

/** The messages of a conversation. Scrolling to the top loads older ones. */
export const openMessages = (
  conversation: Conversation,
  inbox: Inbox,
  files: Files,
  renderCard: (card: Card) => HTMLElement,
) => {
  const closed = new AbortController()

  const render = (item: Item): HTMLElement => {
    if (item.kind === 'day') return el('li.day', el('span', item.day))
    if (item.kind === 'reservation') return renderCard(item.card)
    if (item.kind === 'message') return renderMessage(item, conversation, files, closed.signal)
    return renderOutgoing(item.outgoing, item.error, conversation)
  }
  let isLoadingOlder = false
  const loadOlder = async () => {
    const { loaded, hasOlder } = conversation.view
    if (!loaded || !hasOlder || isLoadingOlder) return
    isLoadingOlder = true
    setText(alert, await conversation.older().then(() => '', errorText))
    isLoadingOlder = false
  }
  const onScroll = () => {
    if (scroller.scrollTop < edgeDistance) loadOlder()
  }

  const older = button('Older messages', loadOlder, 'link older', { hidden: true })
  const alert = el('p.notice', { role: 'alert', hidden: true })
  const note = el('p.empty', 'Loading…')
  const list = el('ol.messages')
  const end = el('div.end')
  const region = { tabindex: '0', role: 'region', 'aria-label': 'Messages' }
  const scroller = el('div.scroller', { ...region, scroll: onScroll }, older, alert, note, list, end)
  const showList = createList<Item>(list, ({ key }) => key, render)
  const place = keepPlace(scroller, list)
  const newMessages = openNewMessages(place.toEnd)
  // Messages count as read once the end of the list is visible on a visible page.
  const readMarker = watchVisible(end, () => {
    newMessages.clear()
    conversation.markRead()
  })

  return {
    node: el('div.log', scroller, ...newMessages.nodes),
    scrollToEnd: place.toEnd,
    showCard(id: number) {
      const card = list.querySelector<HTMLElement>(`[data-reservation="${id}"]`)
      card?.scrollIntoView({ block: 'center' })
      card?.querySelector('button')?.focus({ preventScroll: true })
    },
    show(other: string, cards: readonly Card[]) {
      const { me } = inbox.view
      const { messages, outgoing, hasOlder, loaded } = conversation.view
      if (!me || !(loaded || outgoing.length)) return
      // Two may be open side by side.
      if (other) scroller.ariaLabel = `Messages with ${other}`
      // What is older than the messages that are shown comes with them, unless it is open.
      const [oldest] = messages
      const isShown = ({ updatedAt, can }: Card) => !hasOlder || can.length > 0 || updatedAt > (oldest?.createdAt ?? '')
      place.keep(() => {
        showList(toItems(conversation.view, cards.filter(isShown), me.id))
        older.hidden = !hasOlder
        setText(note, messages.length || outgoing.length || cards.length ? '' : `Say hello to ${other || 'them'}.`)
      })
      if (loaded) newMessages.announce(messages, me.id, other, place.isAtEnd())
      readMarker.check()
    },
    close() {
      closed.abort()
      readMarker.close()
      place.close()
    },
  }
}
