import type { SupabaseClient } from '@supabase/supabase-js'
import { type Conversation, openInbox, type Status } from '../clients/inbox.ts'
import { openChat } from './chat.ts'
import { openConversations } from './conversations.ts'
import { el } from './dom.ts'
import { openPeople } from './people.ts'

interface HomeView {
  name: string | undefined
  unread: number
  status: Status
  error: string
}

const worse = (one: Status, other: Status): Status =>
  (['offline', 'catching up'] as const).find((status) => status === one || status === other) ?? 'live'

let homes = 0

/** What somebody sees who is logged in: their conversations, other people, and the conversation that is open. */
export const openHome = (supabase: SupabaseClient, tell: (view: HomeView) => void) => {
  const id = `home-${homes++}`
  const inbox = openInbox(supabase)
  const drafts = new Map<number, string>()
  let chat: ReturnType<typeof openChat> | null = null
  let from: Element | null = null

  const told = () => {
    const { me, unread, status, error } = inbox.view
    const open = chat?.view
    tell({
      name: me?.name,
      unread,
      status: open ? worse(status, open.status) : status,
      error: error?.message ?? open?.error?.message ?? '',
    })
    const count = unread ? ` (${unread})` : ''
    tabs[0].textContent = `Conversations${count}`
  }

  const show = (conversation: Conversation) => {
    from = document.activeElement
    chat?.close()
    chat = openChat(conversation, inbox, drafts, { changed: told, back })
    room.replaceChildren(chat.node)
    node.classList.add('chatting')
    conversations.mark(conversation.id)
    chat.focus()
    told()
  }
  /** Leaves the conversation for where one came from. */
  const back = () => {
    const id = chat?.view.id
    chat?.close()
    chat = null
    room.replaceChildren(empty)
    node.classList.remove('chatting')
    conversations.mark(null)
    told()
    if (panels[0].hidden && from instanceof HTMLElement && panels[1].contains(from)) return from.focus()
    if (id !== undefined && !panels[0].hidden && conversations.focus(id)) return
    tabs.find(({ ariaSelected }) => ariaSelected === 'true')!.focus()
  }

  const conversations = openConversations(inbox, (id) => show(inbox.open(id)))
  const people = openPeople(supabase, async (user) => show(await inbox.openWith(user)))

  const panels = [conversations.node, people.node] as const
  const select = (chosen: number) => {
    tabs.forEach((tab, index) => {
      tab.ariaSelected = `${index === chosen}`
      tab.tabIndex = index === chosen ? 0 : -1
      panels[index]!.hidden = index !== chosen
    })
    if (chosen === 1) people.begin()
  }
  const turn = (event: KeyboardEvent) => {
    if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return
    const chosen = tabs[0].ariaSelected === 'true' ? 1 : 0
    select(chosen)
    tabs[chosen].focus()
  }
  const tab = (label: string, index: number) =>
    el('button', {
      type: 'button',
      role: 'tab',
      id: `${id}-tab-${index}`,
      'aria-controls': `${id}-panel-${index}`,
      'data-first': index === 0,
      click: () => select(index),
      keydown: turn,
    }, label)
  const tabs = [tab('Conversations', 0), tab('People', 1)] as const
  panels.forEach((panel, index) => {
    panel.id = `${id}-panel-${index}`
    panel.setAttribute('role', 'tabpanel')
    panel.setAttribute('aria-labelledby', `${id}-tab-${index}`)
  })

  const empty = el('p', { class: 'empty' }, 'Choose a conversation, or find somebody under People.')
  const room = el('div', { class: 'chat-room' }, empty)
  const node = el(
    'div',
    {
      class: 'home',
      keydown: (event: KeyboardEvent) => {
        if (event.key !== 'Escape' || !chat || event.isComposing) return
        event.preventDefault()
        back()
      },
    },
    el('div', { class: 'side' }, el('div', { role: 'tablist', 'aria-label': 'Where to look' }, ...tabs), ...panels),
    room,
  )

  select(0)
  inbox.subscribe(told)
  told()
  return {
    node,
    close() {
      chat?.close()
      people.close()
      inbox.close()
    },
  }
}
