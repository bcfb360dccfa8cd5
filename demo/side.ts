import { openConversations } from './conversations.ts'
import { el } from './dom.ts'
import { openMessageSearch } from './message_search.ts'
import { link } from './navigation.ts'
import { openPeople } from './people.ts'
import { everybody, type Route } from './router.ts'
import type { Session } from './session.ts'

export const isPeople = ({ page }: Route): boolean => page === 'people' || page === 'profile'

/** Beside what is open: conversations or people, and the links to both. `above` is above the conversations. */
export const openSide = (session: Pick<Session, 'api' | 'inbox' | 'states' | 'navigation'>, above: HTMLElement[]) => {
  const { api, inbox, states, navigation } = session
  const conversations = openConversations(inbox, states, navigation)
  const found = openMessageSearch(api, inbox, navigation, conversations.node)
  const list = el('div.panel', ...above, found.node, conversations.node)
  const people = openPeople(api, navigation)
  const toInbox = link(navigation, { page: 'inbox' }, {}, 'Conversations')
  const toPeople = link(navigation, { page: 'people', search: everybody }, {}, 'People')
  const nav = el('nav', { 'aria-label': 'Pages' }, toInbox, toPeople)

  return {
    node: el('div.side', list, people.node),
    nav,
    search: people.search,
    update: conversations.update,
    setUser(name: string | undefined, unread: number) {
      // There may be two side by side.
      if (name) nav.ariaLabel = `Pages of ${name}`
      toInbox.textContent = `Conversations${unread ? ` (${unread})` : ''}`
    },
    show(route: Route, isFirst: boolean) {
      // One's own profile is beside whatever was there before.
      if (route.page !== 'me' || isFirst) {
        const showsPeople = isPeople(route)
        people.node.hidden = !showsPeople
        list.hidden = showsPeople
        toInbox.ariaCurrent = showsPeople ? null : 'page'
        toPeople.ariaCurrent = showsPeople ? 'page' : null
      }
      conversations.setOpen(route.page === 'conversation' ? route.id : null)
      if (isPeople(route)) {
        people.show(route.page === 'people' ? route.search : null, route.page === 'profile' ? route.id : null)
      }
    },
    /** Whether the user is typing, or at the filters. */
    isSearching: () => people.node.contains(document.activeElement),
    /** Moves the focus to what was open before, or else to the link of what is shown. */
    focus(route?: Route, before?: Route | null) {
      if (before?.page === 'conversation' && route?.page === 'inbox' && conversations.focus(before.id)) return
      if (before?.page === 'profile' && route?.page === 'people' && people.focus(before.id)) return
      const current = people.node.hidden ? toInbox : toPeople
      current.focus()
    },
    close() {
      people.close()
      found.close()
    },
  }
}
