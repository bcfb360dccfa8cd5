import { dataOf } from '../clients/api_client.ts'
import type { Conversation } from '../clients/inbox.ts'
import type { components } from '../clients/openapi.ts'
import { openChatMenu } from './chat_menu.ts'
import { openComposer } from './composer.ts'
import { isOffline } from './conversations.ts'
import { avatar, backButton, button, el, isTouch, setText } from './dom.ts'
import { errorText } from './errors.ts'
import { formatAsOf } from './format.ts'
import { openMessages } from './messages.ts'
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

/** One open conversation. */
export const openChat = ({ api, conversation, inbox, states, files, onChange, onBack, onProfile }: Dependencies) => {
  const { id } = conversation
  const closed = new AbortController()
  const messages = openMessages(conversation, inbox, files, (card) => reservations.render(card))
  const reservations = openReservations({
    api,
    conversation,
    local: () => listed()?.local_id,
    showCard: (card) => messages.showCard(card),
    onChange: () => update(),
    signal: closed.signal,
  })
  const composer = openComposer(conversation, messages.scrollToEnd)
  const notice = el('p.hint', { role: 'status', hidden: true })
  const showProfile = () => {
    const profile = partner()?.profile
    if (profile) onProfile(profile.id)
  }
  const listed = () => inbox.view.conversations.find((listed) => listed.id === id)
  const isErased = () => {
    const entry = listed()
    return entry !== undefined &&
      [entry.Voyager, entry.Local].some(({ name, email }) => name === 'Deleted user' && email === '')
  }
  const face = el('span.face')
  const name = button('', showProfile, 'plain', { title: 'See the profile' })
  const status = el('p.status', { role: 'status', hidden: true })
  const typing = el('p.hint.typing')
  const menu = openChatMenu({
    api,
    conversation: id,
    states,
    other: () => isErased() ? null : partner(),
    showProfile: () => partner()?.profile ? showProfile : null,
    notify(text, undo) {
      setText(notice, text)
      if (undo) notice.append(' ', button('Undo', undo, 'link'))
      conversation.refresh()
    },
    isBlocked: () => conversation.view.blocked,
    signal: closed.signal,
  })
  const header = el('header.chat-bar', backButton(onBack), face, el('div', el('h2', name), status), menu)
  const missing = el('p.empty', { role: 'status', hidden: true })
  const body = [notice, reservations.node, messages.node, typing, composer.node]
  const node = el('div.chat', header, missing, ...body)

  /** The list has the partner before the conversation has loaded, and with the photo. */
  const partner = () => {
    const { other } = conversation.view
    return listed()?.partner ?? (other && { ...other, profile: null })
  }
  const nameOfOther = (): string => partner()?.name ?? ''
  let home: components['schemas']['PublicProfile'] | null = null
  let asked = 0
  /** Where the partner lives matters to when they meet. */
  const readHome = async (profile: number) => {
    asked = profile
    const params = { path: { id: profile }, query: { more: true } }
    home = await dataOf(api.GET('/users/{id}', { params, signal: closed.signal })).catch(() => null)
    if (home) update()
  }
  let drawn = ''
  const drawFace = () => {
    const person = partner()
    const next = JSON.stringify(person)
    if (!person || drawn === next) return
    drawn = next
    face.replaceChildren(avatar(person.name, ownPhoto(person.profile?.image_url)))
    name.disabled = person.profile === null
  }
  const unblock = button('Unblock', async () => {
    const { other } = conversation.view
    if (!other) return
    await unblockPerson(api, other.id).catch((error) => setText(notice, errorText(error)))
    conversation.refresh()
  })
  let writing = 'open'
  /** Says in place of the input why one cannot write. */
  const drawComposer = () => {
    const next = isErased() ? 'erased' : conversation.view.blocked ? 'blocked' : 'open'
    if (next === writing) return
    writing = next
    if (next === 'erased') composer.close('This account was deleted. Nobody reads here any more.')
    else if (next === 'blocked') composer.close(`You have blocked ${nameOfOther()}. `, unblock)
    else composer.close()
  }
  let sought: number | null = null
  /** Shows the message that is sought, once everything from it on has been read. */
  const seek = (): void => {
    const { loaded, hasOlder } = conversation.view
    if (sought === null || !loaded || closed.signal.aborted) return
    const message = node.querySelector<HTMLElement>(`[data-message="${sought}"]`)
    if (!message && hasOlder) return void conversation.older().then(seek, () => sought = null)
    sought = null
    if (!message) return
    message.tabIndex = -1
    message.focus({ preventScroll: true })
    message.scrollIntoView({ block: 'center' })
  }
  const update = () => {
    const other = nameOfOther()
    if (other && name.textContent !== other) {
      name.textContent = other
      composer.setRecipient(other)
    }
    drawFace()
    if (conversation.view.error?.status === 404 && !conversation.view.loaded) {
      setText(missing, 'There is no such conversation, or it is not yours.')
      setText(status, '')
      menu.hidden = true
      for (const part of body) part.hidden = true
      return onChange()
    }
    drawComposer()
    composer.showDraft()
    const { status: now, asOf } = conversation.view
    status.dataset.status = now
    setText(status, now === 'live' ? '' : asOf && isOffline(inbox) ? formatAsOf(asOf) : now)
    setText(typing, conversation.view.typing ? `${other} is typing` : '')
    const profile = partner()?.profile
    if (profile && profile.id !== asked && conversation.view.reservations.length > 0) readHome(profile.id)
    messages.show(other, reservations.show(inbox.view.me?.id ?? 0, other, home))
    seek()
    onChange()
  }
  const unsubscribe = conversation.subscribe(update)
  const unsubscribeInbox = inbox.subscribe(update)
  // onChange reads this chat's view, which the caller has only after this function returns.
  queueMicrotask(update)

  return {
    id,
    node,
    title: nameOfOther,
    get view() {
      return conversation.view
    },
    focus: () => isTouch() ? name.focus() : composer.focus(),
    showMessage(message: number) {
      sought = message
      // After the page has moved the focus to the conversation.
      setTimeout(seek)
    },
    close() {
      closed.abort()
      unsubscribe()
      unsubscribeInbox()
      messages.close()
      conversation.close()
    },
  }
}
