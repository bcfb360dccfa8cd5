import type { SupabaseClient } from '@supabase/supabase-js'
import type { Conversation, Inbox } from '../clients/inbox.ts'
import { openChatMenu } from './chat_menu.ts'
import { openComposer } from './composer.ts'
import { avatar, el, icon, setText, visuallyHidden } from './dom.ts'
import { openMessages } from './messages.ts'
import { openReservations } from './reservations.ts'
import type { openStates } from './states.ts'

interface Callbacks {
  onChange: () => void
  onBack: () => void
}

/** One open conversation. */
export const openChat = (
  supabase: SupabaseClient,
  conversation: Conversation,
  inbox: Inbox,
  states: ReturnType<typeof openStates>,
  { onChange, onBack }: Callbacks,
) => {
  const { id } = conversation
  const messages = openMessages(conversation, inbox)
  const reservations = openReservations(supabase, id)
  const composer = openComposer(conversation, messages.scrollToEnd)
  const face = el('span', { class: 'face' })
  const name = el('h3', {})
  const typing = el('p', { class: 'typing' })
  const back = el(
    'button',
    { type: 'button', class: 'quiet back', click: onBack },
    icon('back'),
    visuallyHidden('Back'),
  )
  const notice = el('p', { class: 'hint', role: 'status', hidden: true })
  const menu = openChatMenu({
    supabase,
    conversation: id,
    states,
    other: () => conversation.view.other,
    notify: (text) => setText(notice, text),
  })
  const header = el('header', { class: 'chat-bar' }, back, face, name, menu.node)
  const node = el('div', { class: 'chat' }, header, notice, reservations.node, messages.node, typing, composer.node)

  /** The name is in the list already before the conversation has loaded. */
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
      composer.setRecipient(other)
    }
    composer.showDraft()
    setText(typing, conversation.view.typing ? `${other} is typing` : '')
    reservations.show(conversation.view.reservations, inbox.view.me?.id ?? 0, other)
    messages.show(other)
    onChange()
  }
  const unsubscribe = conversation.subscribe(update)
  const unsubscribeInbox = inbox.subscribe(update)
  // onChange reads this chat's view, which the caller has only after this function returns.
  queueMicrotask(update)

  return {
    node,
    get view() {
      return conversation.view
    },
    focus: composer.focus,
    close() {
      unsubscribe()
      unsubscribeInbox()
      messages.close()
      conversation.close()
    },
  }
}
