import type { Conversation, Inbox, Message, Outgoing } from '../clients/inbox.ts'
import { wordsOf } from './ask.ts'
import { el, icon, unseen, write } from './dom.ts'
import { openList } from './list.ts'
import { count, dayOf, timeOf } from './words.ts'

type Item =
  | { kind: 'day'; key: string; day: string }
  | { kind: 'message'; key: string; message: Message; own: boolean; follows: boolean }
  | { kind: 'outgoing'; key: string; outgoing: Outgoing; error: string }

// How near to an edge counts as being there.
const near = 80
// Messages of one person within this time stand together.
const together = 5 * 60_000

/** Days, messages and what is on its way, in the order they stand in. */
const arrange = (messages: readonly Message[], outgoing: readonly Outgoing[], me: number): Item[] => {
  const items: Item[] = []
  let day = ''
  const begin = (timestamp: string) => {
    if (dayOf(timestamp) === day) return
    day = dayOf(timestamp)
    items.push({ kind: 'day', key: `day ${new Date(timestamp).toDateString()}`, day })
  }
  messages.forEach((message, index) => {
    begin(message.createdAt)
    const before = messages[index - 1]
    const follows = items.at(-1)!.kind === 'message' && before?.user_id === message.user_id &&
      Date.parse(message.createdAt) - Date.parse(before.createdAt) < together
    items.push({ kind: 'message', key: `${message.id}`, message, own: message.user_id === me, follows })
  })
  for (const one of outgoing) {
    begin(one.createdAt)
    items.push({ kind: 'outgoing', key: one.client_id, outgoing: one, error: one.error?.message ?? '' })
  }
  return items
}

/** What was said, with older messages above when one scrolls there. */
export const openMessages = (conversation: Conversation, inbox: Inbox) => {
  let other = ''
  let newest: number | null = null
  let news = 0

  const mark = (name: 'sent' | 'read' | 'clock' | 'refused', says: string) =>
    el('span', { class: `mark ${name}`, title: says }, icon(name), unseen(says))

  const attached = ({ attachment }: Message): HTMLElement | null => {
    if (!attachment) return null
    if (!attachment.url.startsWith('https://')) return el('span', {}, attachment.name)
    return el('a', { href: attachment.url, rel: 'noopener noreferrer', target: '_blank' }, attachment.name)
  }
  const drawMessage = (message: Message, own: boolean, follows: boolean): HTMLElement =>
    el(
      'li',
      { class: `message ${own ? 'own' : 'others'}${follows ? ' follows' : ''}`, 'data-message': `${message.id}` },
      unseen(own ? 'You: ' : `${message.Sender.name}: `),
      el('span', { class: 'content' }, message.content),
      attached(message),
      el(
        'span',
        { class: 'foot' },
        el('time', { datetime: message.createdAt }, timeOf(message.createdAt)),
        own && mark(message.read ? 'read' : 'sent', message.read ? 'Read' : 'Sent'),
      ),
    )
  const drawOutgoing = ({ client_id, content, state }: Outgoing, error: string): HTMLElement => {
    const discard = el('button', { type: 'button', click: () => conversation.discard(client_id) }, 'Discard')
    const foot = state === 'refused'
      ? [
        mark('refused', 'Not sent'),
        el('span', { role: 'alert' }, error),
        el('button', { type: 'button', click: () => conversation.retry(client_id) }, 'Try again'),
        discard,
      ]
      : state === 'waiting'
      ? [mark('clock', 'Waiting'), el('span', {}, `Not sent yet, tried again by itself: ${error}`), discard]
      : state === 'sending'
      ? [mark('clock', 'Sending')]
      : [mark('sent', 'Sent')]
    return el(
      'li',
      { class: `message own outgoing ${state}` },
      unseen('You: '),
      el('span', { class: 'content' }, content),
      el('span', { class: 'foot' }, ...foot),
    )
  }
  const draw = (item: Item): HTMLElement => {
    if (item.kind === 'day') return el('li', { class: 'day' }, el('span', {}, item.day))
    if (item.kind === 'message') return drawMessage(item.message, item.own, item.follows)
    return drawOutgoing(item.outgoing, item.error)
  }

  const isAtEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < near
  const toEnd = () => {
    scroller.scrollTop = scroller.scrollHeight
  }
  let isReadingOlder = false
  const readOlder = async () => {
    const { loaded, hasOlder } = conversation.view
    if (!loaded || !hasOlder || isReadingOlder) return
    isReadingOlder = true
    try {
      await conversation.older()
      write(problem, '')
    } catch (error) {
      write(problem, wordsOf(error))
    } finally {
      isReadingOlder = false
    }
  }

  const older = el('button', { type: 'button', class: 'link older', hidden: true, click: readOlder }, 'Older messages')
  const problem = el('p', { class: 'notice', role: 'alert', hidden: true })
  const note = el('p', { class: 'empty' }, 'Reading…')
  const list = el('ol', { class: 'messages' })
  const end = el('div', { class: 'end' })
  const scroller = el(
    'div',
    {
      class: 'scroller',
      tabindex: '0',
      role: 'region',
      'aria-label': 'Messages',
      scroll: () => {
        if (scroller.scrollTop < near) readOlder()
      },
    },
    older,
    problem,
    note,
    list,
    end,
  )
  const jump = el('button', { type: 'button', class: 'jump', hidden: true, click: toEnd })
  const voice = el('p', { class: 'unseen', 'aria-live': 'polite' })
  const node = el('div', { class: 'log' }, scroller, jump, voice)
  const showList = openList<Item>(list, ({ key }) => key, draw)

  /** What stands at the end of the list on a page that is looked at has been read. */
  let isSeen = false
  const looked = () => {
    if (!isSeen || document.visibilityState !== 'visible') return
    news = 0
    jump.hidden = true
    conversation.markRead()
  }
  const eye = new IntersectionObserver(([entry]) => {
    isSeen = entry?.isIntersecting ?? false
    looked()
  })
  eye.observe(end)
  document.addEventListener('visibilitychange', looked)
  // The keyboard of a phone comes up, a line is added below: whoever was at the end stays there.
  let wasAtEnd = true
  const size = new ResizeObserver(() => wasAtEnd && toEnd())
  size.observe(scroller)
  scroller.addEventListener('scroll', () => wasAtEnd = isAtEnd())

  /** Says what has come since the last time, to those who listen and to those who have scrolled away. */
  const tellNews = (messages: readonly Message[], me: number) => {
    const come = newest === null ? [] : messages.filter(({ id, user_id }) => id > newest! && user_id !== me)
    newest = messages.at(-1)?.id ?? 0
    if (!come.length) return
    voice.textContent = come.map(({ content }) => `${other}: ${content}`).join('\n')
    if (wasAtEnd) return
    news += come.length
    jump.replaceChildren(icon('down'), count(news, 'new message', 'new messages'))
    jump.hidden = false
  }

  return {
    node,
    toEnd,
    show(nameOfOther: string) {
      const { me } = inbox.view
      const { messages, outgoing, hasOlder, loaded } = conversation.view
      if (!me || !(loaded || outgoing.length)) return
      other = nameOfOther
      // Older messages come in above what is being read, which stays where it is.
      const first = list.querySelector<HTMLElement>('[data-message]')
      const above = first?.getBoundingClientRect().top
      showList(arrange(messages, outgoing, me.id))
      older.hidden = !hasOlder
      write(note, messages.length || outgoing.length ? '' : `Say hello to ${nameOfOther || 'them'}.`)
      if (wasAtEnd) toEnd()
      else if (first && above !== undefined) {
        const same = list.querySelector(`[data-message="${first.dataset.message}"]`)
        scroller.scrollTop += same!.getBoundingClientRect().top - above
      }
      if (loaded) tellNews(messages, me.id)
      looked()
    },
    close() {
      eye.disconnect()
      size.disconnect()
      document.removeEventListener('visibilitychange', looked)
    },
  }
}
