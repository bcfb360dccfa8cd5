import type { Inbox, InboxView } from '../clients/inbox.ts'
import { avatar, el, setText, visuallyHidden } from './dom.ts'
import { formatShort, pluralize } from './format.ts'
import { createList } from './list.ts'

type Entry = InboxView['conversations'][number] & { name: string; preview: string; isOpen: boolean }

/** The list of conversations, latest first. */
export const openConversations = (inbox: Inbox, open: (id: number) => void) => {
  let openId: number | null = null

  const render = ({ id, name, preview, unread, isOpen, Messages: [latest], createdAt }: Entry): HTMLElement => {
    const label = visuallyHidden(` unread ${unread === 1 ? 'message' : 'messages'}`)
    const button = el(
      'button',
      { type: 'button', class: 'entry', 'aria-current': isOpen && 'true', 'data-id': `${id}`, click: () => open(id) },
      avatar(name),
      el('span', { class: 'name' }, name),
      el('span', { class: 'when' }, formatShort(latest?.createdAt ?? createdAt)),
      el('span', { class: 'preview' }, preview),
      unread > 0 && el('span', { class: 'badge' }, `${unread}`, label),
    )
    return el('li', {}, button)
  }

  const list = el('ul', { class: 'entries' })
  const note = el('p', { class: 'empty' }, 'Loading…')
  const node = el('div', { class: 'panel' }, note, list)
  const show = createList<Entry>(list, ({ id }) => `${id}`, render)

  const update = () => {
    const { me, conversations, loaded } = inbox.view
    if (!loaded || !me) return
    setText(note, conversations.length ? '' : 'No conversations yet. Find someone under People.')
    list.setAttribute('aria-label', pluralize(conversations.length, 'conversation', 'conversations'))
    show(conversations.map((conversation) => {
      const { voyager_id, Voyager, Local, Messages: [latest] } = conversation
      const preview = latest ? `${latest.user_id === me.id ? 'You: ' : ''}${latest.content}` : 'No messages yet'
      const name = (voyager_id === me.id ? Local : Voyager).name
      return { ...conversation, name, preview, isOpen: conversation.id === openId }
    }))
  }
  inbox.subscribe(update)
  update()

  return {
    node,
    setOpen(id: number | null) {
      openId = id
      update()
    },
    /** Returns whether the conversation is in the list. */
    focus(id: number): boolean {
      const button = list.querySelector<HTMLElement>(`[data-id="${id}"]`)
      button?.focus()
      return button !== null
    },
  }
}
