import type { Conversation } from '../clients/inbox.ts'
import { openChatMenu } from './chat_menu.ts'
import { openComposer } from './composer.ts'
import { isOffline } from './conversations.ts'
import { avatar, backButton, button, el, isTouch, setText } from './dom.ts'
import { errorText } from './errors.ts'
import { formatAsOf } from './format.ts'
import { openMessages } from './messages.ts'
import { type Partner, partnerOf } from './partner.ts'
import { openReservations } from './reservations.ts'
import { unblockPerson } from './safety.ts'
import type { Session } from './session.ts'
import { ownPhoto } from './storage.ts'

interface Dependencies extends Session {
  conversation: Conversation
  onChange: () => void
  onBack: () => void
  onProfile: (profile: number) => void
}

/** Who the other is, and whether what is shown is current. */
const openHeader = (partner: Partner, showProfile: () => void, onBack: () => void, menu: Node) => {
  let drawn = ''
  const face = el('span.face')
  const name = button('', showProfile, 'plain', { title: 'See the profile' })
  const status = el('p.status', { role: 'status', hidden: true })
  return {
    node: el('header.chat-bar', backButton(onBack), face, el('div', el('h2', name), status), menu),
    show() {
      const person = partner.person()
      const next = JSON.stringify(person)
      if (!person || drawn === next) return
      drawn = next
      name.textContent = person.name
      name.disabled = person.profile === null
      face.replaceChildren(avatar(person.name, ownPhoto(person.profile?.image_url)))
    },
    showStatus(now: string, text = now) {
      status.dataset.status = now
      setText(status, text)
    },
    focus: () => name.focus(),
  }
}

/** Shows the message that is sought in the page, once everything from it on has been read. */
const openSeeker = (conversation: Conversation, page: HTMLElement, signal: AbortSignal) => {
  let sought: number | null = null
  const seek = (): void => {
    const { loaded, hasOlder } = conversation.view
    if (sought === null || !loaded || signal.aborted) return
    const message = page.querySelector<HTMLElement>(`[data-message="${sought}"]`)
    if (!message && hasOlder) return void conversation.older().then(seek, () => sought = null)
    sought = null
    if (!message) return
    message.tabIndex = -1
    message.focus({ preventScroll: true })
    message.scrollIntoView({ block: 'center' })
  }
  return {
    seek,
    set(message: number) {
      sought = message
      // After the page has moved the focus to the conversation.
      setTimeout(seek)
    },
  }
}

/** The message input, or in its place why one cannot write. */
const openWriting = (conversation: Conversation, partner: Partner, onSent: () => void, onUnblock: () => void) => {
  let shown = 'open'
  const composer = openComposer(conversation, onSent)
  const unblock = button('Unblock', onUnblock)
  return {
    node: composer.node,
    focus: composer.focus,
    show() {
      const next = partner.isErased() ? 'erased' : conversation.view.blocked ? 'blocked' : 'open'
      const name = partner.name()
      if (name) composer.setRecipient(name)
      composer.showDraft()
      if (next === shown) return
      shown = next
      if (next === 'erased') composer.close('This account was deleted. Nobody reads here any more.')
      else if (next === 'blocked') composer.close(`You have blocked ${name}. `, unblock)
      else composer.close()
    },
  }
}

/** One open conversation. */
export const openChat = ({ api, conversation, inbox, states, files, onChange, onBack, onProfile }: Dependencies) => {
  const { id } = conversation
  const closed = new AbortController()
  const { signal } = closed
  const partner = partnerOf(conversation, inbox)
  const messages = openMessages(conversation, inbox, files, (card) => reservations.render(card))
  const local = () => partner.listed()?.local_id
  const { showCard } = messages
  const reservations = openReservations({ api, conversation, local, showCard, onChange: () => update(), signal })
  const unblock = async () => {
    const { other } = conversation.view
    if (!other) return
    await unblockPerson(api, other.id).catch((error) => setText(notice, errorText(error)))
    conversation.refresh()
  }
  const writing = openWriting(conversation, partner, messages.scrollToEnd, unblock)
  const notice = el('p.hint', { role: 'status', hidden: true })
  const showProfile = () => {
    const profile = partner.profile()
    if (profile) onProfile(profile.id)
  }
  const notify = (text: string, undo?: () => void) => {
    setText(notice, text)
    if (undo) notice.append(' ', button('Undo', undo, 'link'))
    conversation.refresh()
  }
  const menu = openChatMenu({ api, conversation, states, partner, showProfile, notify, signal })
  const header = openHeader(partner, showProfile, onBack, menu)
  const typing = el('p.hint.typing')
  const missing = el('p.empty', { role: 'status', hidden: true })
  const body = [notice, reservations.node, messages.node, typing, writing.node]
  const node = el('div.chat', header.node, missing, ...body)
  const seeker = openSeeker(conversation, node, signal)

  const showMissing = () => {
    setText(missing, 'There is no such conversation, or it is not yours.')
    header.showStatus(conversation.view.status, '')
    menu.hidden = true
    for (const part of body) part.hidden = true
    onChange()
  }
  const update = () => {
    const { error, loaded, status, asOf, typing: isTyping } = conversation.view
    const other = partner.name()
    header.show()
    if (error?.status === 404 && !loaded) return showMissing()
    writing.show()
    header.showStatus(status, status === 'live' ? '' : asOf && isOffline(inbox) ? formatAsOf(asOf) : status)
    setText(typing, isTyping ? `${other} is typing` : '')
    messages.show(other, reservations.show(inbox.view.me?.id ?? 0, other, partner.profile()))
    seeker.seek()
    onChange()
  }
  const unsubscribe = conversation.subscribe(update)
  const unsubscribeInbox = inbox.subscribe(update)
  // onChange reads this chat's view, which the caller has only after this function returns.
  queueMicrotask(update)

  return {
    id,
    node,
    title: partner.name,
    get view() {
      return conversation.view
    },
    focus: () => isTouch() ? header.focus() : writing.focus(),
    showMessage: seeker.set,
    close() {
      closed.abort()
      unsubscribe()
      unsubscribeInbox()
      messages.close()
      conversation.close()
    },
  }
}
