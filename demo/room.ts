import { openChat } from './chat.ts'
import { backButton, el } from './dom.ts'
import { firstMessages } from './first_message.ts'
import { openMe, type OwnChange } from './me/page.ts'
import { openOverview } from './overview.ts'
import { openProfile, type Relation } from './profile.ts'
import type { Route, Search } from './router.ts'
import type { Session } from './session.ts'

/** What is open beside the list: a conversation, a profile, or nothing. */
interface Page {
  node: HTMLElement
  title: () => string
  focus: () => void
  close: () => void
}

interface Dependencies extends Session {
  onChange: () => void
  onMe: (change: OwnChange) => void
  /** The latest search, to go back to from a profile. */
  search: () => Search
}

/** An address that nobody has made. */
const openUnknown = (onBack: () => void): Page => {
  const heading = el('h2', { tabindex: '-1' }, 'No such page')
  const text = 'There is no such page. Choose a conversation, or find someone under People.'
  return {
    node: el('article.page', el('header.chat-bar', backButton(onBack), heading), el('p.empty', text)),
    title: () => heading.textContent,
    focus: () => heading.focus(),
    close: () => {},
  }
}

export const openRoom = (dependencies: Dependencies) => {
  const { api, inbox, navigation, onChange, search } = dependencies
  let key = ''
  let page: Page | null = null
  let chat: ReturnType<typeof openChat> | null = null
  let overview: ReturnType<typeof openOverview> | null = null

  const close = () => {
    page?.close()
    overview?.close()
    overview = null
  }
  const leave = () => {
    const { route } = navigation
    navigation.back(route.page === 'profile' ? { page: 'people', search: search() } : { page: 'inbox' })
  }
  const relationTo = (user: number): Relation => {
    const { me, conversations, loaded } = inbox.view
    if (!me || !loaded) return 'unknown'
    if (me.id === user) return 'self'
    const isPartner = conversations.some(({ voyager_id, local_id }) => voyager_id === user || local_id === user)
    return isPartner ? 'partner' : 'stranger'
  }
  const onWrite = async (user: number, text: string) => {
    const { route } = navigation
    const opened = await inbox.openWith(user)
    // The error is shown beside the message.
    if (text) opened.send(text).catch(() => {})
    // Unless the user has gone to another page meanwhile.
    if (navigation.route === route) navigation.go({ page: 'conversation', id: opened.id })
    // The page has opened it as well.
    opened.close()
  }
  const open = (route: Route): Page | null => {
    chat = null
    if (route.page === 'conversation') {
      const conversation = inbox.open(route.id)
      const onProfile = (id: number) => navigation.go({ page: 'profile', id })
      return chat = openChat({ ...dependencies, conversation, onBack: leave, onProfile })
    }
    if (route.page === 'profile') {
      return openProfile({
        ...dependencies,
        id: route.id,
        relationTo,
        subscribe: inbox.subscribe,
        drafts: () => firstMessages(inbox.view.me?.id ?? 0),
        onWrite,
        onBack: leave,
        onTitle: onChange,
      })
    }
    if (route.page === 'me') return openMe({ ...dependencies, onBack: leave })
    if (route.page === 'unknown') return openUnknown(leave)
    return null
  }
  const node = el('div.room-page')

  return {
    node,
    show(route: Route) {
      const next = 'id' in route ? `${route.page} ${route.id}` : route.page
      if (next !== key) {
        key = next
        close()
        page = open(route)
        if (route.page === 'inbox') overview = openOverview(api, navigation)
        node.replaceChildren(...[(page ?? overview)?.node].filter((shown) => shown !== undefined))
      }
      if (route.page === 'conversation' && route.message) chat?.showMessage(route.message)
    },
    isOpen: () => page !== null,
    chat: () => chat,
    title: () => page?.title() ?? '',
    focus: () => page?.focus(),
    leave,
    close,
  }
}
