import type { SupabaseClient } from '@supabase/supabase-js'
import { createApiClient } from '../clients/api_client.ts'
import { el } from './dom.ts'
import { link, type Navigation } from './navigation.ts'
import { openPeople } from './people.ts'
import { openProfile } from './profile.ts'
import { everybody } from './router.ts'

/**
 * People and profiles as anybody may see them, without an account. Writing asks to log in, after which the same page is
 * shown.
 */
export const openVisitor = (supabase: SupabaseClient, navigation: Navigation, onLogIn: () => void) => {
  const api = createApiClient(supabase)
  const people = openPeople(api, navigation, { hasAccount: false })
  let profile: ReturnType<typeof openProfile> | null = null
  const room = el('div.room-page')
  const node = el('div.home', el('div.side', people.node), room)
  const toPeople = link(navigation, { page: 'people', search: everybody }, { 'aria-current': 'page' }, 'People')
  const toLogIn = el('a', { href: '/demo', click: (event: Event) => (event.preventDefault(), onLogIn()) }, 'Log in')
  const leave = () => navigation.back({ page: 'people', search: people.search() })

  return {
    node,
    nav: el('nav', { 'aria-label': 'Pages' }, toPeople, toLogIn),
    show() {
      const { route } = navigation
      profile?.close()
      profile = route.page !== 'profile' ? null : openProfile({
        api,
        id: route.id,
        navigation,
        relationTo: () => 'unmet',
        subscribe: () => () => {},
        onLogIn,
        onBack: leave,
        onTitle: () => {},
      })
      room.replaceChildren(...profile ? [profile.node] : [])
      node.classList.toggle('open', profile !== null)
      node.classList.toggle('browsing', profile === null)
      people.show(route.page === 'people' ? route.search : null, route.page === 'profile' ? route.id : null)
    },
    close() {
      profile?.close()
      people.close()
    },
  }
}
