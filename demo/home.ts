import type { SupabaseClient } from '@supabase/supabase-js'
import { type Conversation, openInbox, type Status } from '../clients/inbox.ts'
import { openChat } from './chat.ts'
import { openConversations } from './conversations.ts'
import { el } from './dom.ts'
import { openPeople } from './people.ts'
import { openStates } from './states.ts'

interface HomeView {
  name: string | undefined
  unread: number
  status: Status
  error: string
}

const worse = (one: Status, other: Status): Status =>
  (['offline', 'catching up'] as const).find((status) => status === one || status === other) ?? 'live'

let homes = 0

/** The view of a logged-in user: conversations, people and the open conversation. */
export const openHome = (supabase: SupabaseClient, onChange: (view: HomeView) => void) => {
  const id = `home-${homes++}`
  const inbox = openInbox(supabase)
  let chat: ReturnType<typeof openChat> | null = null
  let focusedBefore: Element | null = null

  const update = () => {
    const { me, unread, status, error } = inbox.view
    const open = chat?.view
    onChange({
      name: me?.name,
      unread,
      status: open ? worse(status, open.status) : status,
      error: error?.message ?? open?.error?.message ?? '',
    })
    const count = unread ? ` (${unread})` : ''
    tabs[0].textContent = `Conversations${count}`
  }

  const show = (conversation: Conversation) => {
    focusedBefore = document.activeElement
    chat?.close()
    chat = openChat(supabase, conversation, inbox, states, { onChange: update, onBack: back })
    room.replaceChildren(chat.node)
    node.classList.add('chatting')
    conversations.setOpen(conversation.id)
    chat.focus()
    update()
  }
  /** Closes the conversation and returns the focus to where it was opened. */
  const back = () => {
    const id = chat?.view.id
    chat?.close()
    chat = null
    room.replaceChildren(empty)
    node.classList.remove('chatting')
    conversations.setOpen(null)
    update()
    if (panels[0].hidden && focusedBefore instanceof HTMLElement && panels[1].contains(focusedBefore)) {
      return focusedBefore.focus()
    }
    if (id !== undefined && !panels[0].hidden && conversations.focus(id)) return
    tabs.find(({ ariaSelected }) => ariaSelected === 'true')!.focus()
  }

  const states = openStates(supabase, () => conversations.update())
  const conversations = openConversations(inbox, states, (id) => show(inbox.open(id)))
  const people = openPeople(supabase, async (user) => show(await inbox.openWith(user)))

  const panels = [conversations.node, people.node] as const
  const select = (chosen: number) => {
    tabs.forEach((tab, index) => {
      tab.ariaSelected = `${index === chosen}`
      tab.tabIndex = index === chosen ? 0 : -1
      panels[index]!.hidden = index !== chosen
    })
    if (chosen === 1) people.load()
  }
  const onArrowKey = (event: KeyboardEvent) => {
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
      keydown: onArrowKey,
    }, label)
  const tabs = [tab('Conversations', 0), tab('People', 1)] as const
  panels.forEach((panel, index) => {
    panel.id = `${id}-panel-${index}`
    panel.setAttribute('role', 'tabpanel')
    panel.setAttribute('aria-labelledby', `${id}-tab-${index}`)
  })

  const empty = el('p', { class: 'empty' }, 'Choose a conversation, or find someone under People.')
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
    el('div', { class: 'side' }, el('div', { role: 'tablist', 'aria-label': 'Views' }, ...tabs), ...panels),
    room,
  )

  select(0)
  inbox.subscribe(update)
  update()
  return {
    node,
    close() {
      chat?.close()
      people.close()
      states.close()
      inbox.close()
    },
  }
}
