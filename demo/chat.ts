import type { Conversation, Inbox } from '../clients/inbox.ts'
import { openComposer } from './composer.ts'
import { avatar, el, icon, unseen, write } from './dom.ts'
import { openMessages } from './messages.ts'
import { openReservations } from './reservations.ts'

interface Surroundings {
  changed: () => void
  back: () => void
}

/** One conversation, live. */
export const openChat = (
  conversation: Conversation,
  inbox: Inbox,
  drafts: Map<number, string>,
  { changed, back }: Surroundings,
) => {
  const { id } = conversation
  const messages = openMessages(conversation, inbox)
  const reservations = openReservations()
  const composer = openComposer(conversation, drafts, messages.toEnd)
  const face = el('span', { class: 'face' })
  const name = el('h3', {})
  const typing = el('p', { class: 'typing' })

  const node = el(
    'div',
    { class: 'chat' },
    el(
      'header',
      { class: 'chat-bar' },
      el('button', { type: 'button', class: 'quiet back', click: back }, icon('back'), unseen('Back')),
      face,
      name,
    ),
    reservations.node,
    messages.node,
    typing,
    composer.node,
  )

  /** Known from the list before the conversation is read. */
  const nameOfOther = (): string => {
    const { me, conversations } = inbox.view
    const listed = conversations.find((listed) => listed.id === id)
    const other = conversation.view.other ?? (listed && (listed.voyager_id === me?.id ? listed.Local : listed.Voyager))
    return other?.name ?? ''
  }
  const update = () => {
    const other = nameOfOther()
    if (other && name.textContent !== other) {
      name.textContent = other
      face.replaceChildren(avatar(other))
      composer.named(other)
    }
    write(typing, conversation.view.typing ? `${other} is writing` : '')
    reservations.show(conversation.view.reservations)
    messages.show(other)
    changed()
  }
  const stop = conversation.subscribe(update)
  const stopInbox = inbox.subscribe(update)
  // The pane asks for this chat's view as soon as it has it.
  queueMicrotask(update)

  return {
    node,
    get view() {
      return conversation.view
    },
    focus: composer.focus,
    close() {
      stop()
      stopInbox()
      messages.close()
      conversation.close()
    },
  }
}
