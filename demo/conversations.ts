import type { Inbox, InboxView } from '../clients/inbox.ts'
import { avatar, el, unseen, write } from './dom.ts'
import { openList } from './list.ts'
import { count, lately } from './words.ts'

type Entry = InboxView['conversations'][number] & { name: string; said: string; isOpen: boolean }

/** Everybody one has written with, latest first. */
export const openConversations = (inbox: Inbox, open: (id: number) => void) => {
  let marked: number | null = null

  const draw = ({ id, name, said, unread, isOpen, Messages: [latest], createdAt }: Entry): HTMLElement => {
    const badge = unread > 0 &&
      el('span', { class: 'badge' }, `${unread}`, unseen(` unread ${unread === 1 ? 'message' : 'messages'}`))
    const button = el(
      'button',
      { type: 'button', class: 'entry', 'aria-current': isOpen && 'true', 'data-id': `${id}`, click: () => open(id) },
      avatar(name),
      el('span', { class: 'name' }, name),
      el('span', { class: 'when' }, lately(latest?.createdAt ?? createdAt)),
      el('span', { class: 'said' }, said),
      badge,
    )
    return el('li', {}, button)
  }

  const list = el('ul', { class: 'entries' })
  const note = el('p', { class: 'empty' }, 'Reading…')
  const node = el('div', { class: 'panel' }, note, list)
  const show = openList<Entry>(list, ({ id }) => `${id}`, draw)

  const update = () => {
    const { me, conversations, loaded } = inbox.view
    if (!loaded || !me) return
    write(note, conversations.length ? '' : 'Nothing yet: find somebody under People.')
    list.setAttribute('aria-label', count(conversations.length, 'conversation', 'conversations'))
    show(conversations.map((conversation) => {
      const { voyager_id, Voyager, Local, Messages: [latest] } = conversation
      const said = latest
        ? `${latest.user_id === me.id ? 'You: ' : ''}${latest.content}`
        : 'Nobody has said anything yet'
      const name = (voyager_id === me.id ? Local : Voyager).name
      return { ...conversation, name, said, isOpen: conversation.id === marked }
    }))
  }
  inbox.subscribe(update)
  update()

  return {
    node,
    /** Says which one is open. */
    mark(id: number | null) {
      marked = id
      update()
    },
    /** Puts the focus on one of them, if it is there. */
    focus(id: number): boolean {
      const button = list.querySelector<HTMLElement>(`[data-id="${id}"]`)
      button?.focus()
      return button !== null
    },
  }
}
