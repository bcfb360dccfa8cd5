import type { Inbox, InboxView } from '../clients/inbox.ts'
import { isPhoto } from './attachment_view.ts'
import { avatar, button, el, icon, setText, visuallyHidden } from './dom.ts'
import { formatAsOf, formatShort, formatWhole, pluralize } from './format.ts'
import { createList } from './list.ts'
import { summaryOf } from './message.ts'
import { link, type Navigation } from './navigation.ts'
import type { openStates } from './states.ts'
import { ownPhoto } from './storage.ts'

type Entry = InboxView['conversations'][number] & {
  preview: string
  isOpen: boolean
  isPinned: boolean
  isMuted: boolean
  /** Whether a reservation waits for the user's answer. */
  isWaiting: boolean
}

/** Whether there is no network, as far as this page has tried. */
export const isOffline = ({ view }: Inbox): boolean => view.error?.code === 'offline' || !navigator.onLine

/** The list of conversations: pinned ones, then the latest first. Archived ones are apart. */
export const openConversations = (inbox: Inbox, states: ReturnType<typeof openStates>, navigation: Navigation) => {
  let openId: number | null = null
  let listed: InboxView['conversations'] = []
  let showsArchived = false

  const render = (entry: Entry): HTMLElement => {
    const { id, partner, preview, unread, isOpen, isPinned, isMuted, isWaiting, Messages: [latest], createdAt } = entry
    const { name } = partner
    const when = latest?.createdAt ?? createdAt
    const label = visuallyHidden(` unread ${unread === 1 ? 'message' : 'messages'}`)
    const pinned = isPinned ? [icon('pin'), visuallyHidden(' pinned')] : []
    const muted = isMuted ? [icon('muted'), visuallyHidden(' muted')] : []
    const asks = isWaiting && el('strong', 'Your answer? ')
    const shown = link(
      navigation,
      { page: 'conversation', id },
      { class: 'entry', 'aria-current': isOpen && 'true', 'data-id': `${id}` },
      avatar(name, ownPhoto(partner.profile?.image_url)),
      el('span.name.clipped', name, ...pinned, ...muted),
      el('time.hint.when', { title: formatWhole(when), datetime: when }, formatShort(when)),
      el('span.hint.preview.clipped', asks, isPhoto(latest?.attachment) && icon('photo'), preview),
      unread > 0 && el('span.badge', `${unread}`, label),
    )
    return el('li', shown)
  }

  const list = el('ul.entries')
  const note = el('p.empty', 'Loading…')
  const archive = button('', () => {
    showsArchived = !showsArchived
    update()
  }, 'link')
  archive.hidden = true
  const asOf = el('p.hint.as-of', { hidden: true })
  const node = el('div', asOf, note, list, archive)
  const show = createList<Entry>(list, ({ id }) => `${id}`, render)

  const update = () => {
    const { me, conversations, loaded } = inbox.view
    if (!loaded || !me) return
    setText(asOf, inbox.view.asOf && isOffline(inbox) ? formatAsOf(inbox.view.asOf) : '')
    // A message brings an archived conversation back.
    if (conversations !== listed) states.refresh()
    listed = conversations
    const archived = conversations.filter(({ id }) => states.of(id).archived)
    showsArchived &&= archived.length > 0
    const shown = showsArchived ? archived : conversations.filter((one) => !archived.includes(one))
    const empty = archived.length ? 'All of them are archived.' : 'No conversations yet. Find someone under People.'
    setText(note, shown.length ? '' : empty)
    setText(archive, archived.length ? showsArchived ? 'Back to the inbox' : `Archived (${archived.length})` : '')
    list.setAttribute('aria-label', pluralize(shown.length, 'conversation', 'conversations'))
    const entries = shown.map((conversation) => {
      const { Messages: [latest] } = conversation
      const preview = latest ? `${latest.user_id === me.id ? 'You: ' : ''}${summaryOf(latest)}` : 'No messages yet'
      const { pinned, muted_until } = states.of(conversation.id)
      const isOpen = conversation.id === openId
      const isWaiting = states.waitsFor(me.id, conversation.id)
      return { ...conversation, preview, isOpen, isPinned: pinned, isMuted: muted_until !== null, isWaiting }
    })
    show([...entries.filter(({ isPinned }) => isPinned), ...entries.filter(({ isPinned }) => !isPinned)])
  }
  inbox.subscribe(update)
  update()

  return {
    node,
    update,
    setOpen(id: number | null) {
      openId = id
      update()
    },
    /** Returns whether the conversation is in the list. */
    focus(id: number): boolean {
      const entry = list.querySelector<HTMLElement>(`[data-id="${id}"]`)
      entry?.focus()
      return entry !== null
    },
  }
}
