import type { SupabaseClient } from '@supabase/supabase-js'
import { createApiClient, dataOf } from '../clients/api_client.ts'
import { openInbox, type Status } from '../clients/inbox.ts'
import { openConversations } from './conversations.ts'
import { el, isComposing } from './dom.ts'
import { firstMessages } from './first_message.ts'
import { openFirstSteps } from './first_steps.ts'
import { unsavedAbout } from './me/about.ts'
import type { OwnChange } from './me/page.ts'
import { openMessageSearch } from './message_search.ts'
import { link, type Navigation } from './navigation.ts'
import { openNotice } from './notices.ts'
import { openPeople } from './people.ts'
import { openRoom } from './room.ts'
import { everybody, type Route } from './router.ts'
import { openStates } from './states.ts'
import { showWarning } from './warnings.ts'
import type { Files } from './storage.ts'

export interface HomeView {
  name: string | undefined
  photo: string | null
  /** What the page is about. */
  title: string
  unread: number
  status: Status | 'deactivated'
  error: string
}

const worse = (one: Status, other: Status): Status =>
  (['offline', 'catching up', 'delayed'] as const).find((status) => status === one || status === other) ?? 'live'

const deactivated =
  'This account is deactivated: nobody finds it, and it writes to nobody. Whoever runs this service ' +
  'can tell you why.'

const isPeople = ({ page }: Route): boolean => page === 'people' || page === 'profile'

/** The view of a logged-in user: a list of conversations or people at the side, and beside it what is open. */
export const openHome = (
  supabase: SupabaseClient,
  navigation: Navigation,
  files: Files,
  onChange: (view: HomeView) => void,
) => {
  const inbox = openInbox(supabase)
  const api = createApiClient(supabase)
  const closed = new AbortController()
  let previous: Route | null = null
  // The inbox reads the user only once, and without the photo.
  let own: OwnChange = {}
  let wasOffline = true

  const update = () => {
    const { me, unread, status, error } = inbox.view
    const view = room.chat()?.view
    // The page says itself that there is no such conversation.
    const open = view?.error?.status === 404 ? undefined : view
    // Without a channel the inbox asks nothing, and the account may be deactivated since.
    if (status === 'offline' && !wasOffline) states.refresh()
    wasOffline = status === 'offline'
    const isDeactivated = states.isDeactivated()
    node.hidden = isDeactivated
    const name = own.name ?? me?.name
    // There may be two side by side.
    if (name) nav.ariaLabel = `Pages of ${name}`
    onChange({
      name,
      photo: own.photo ?? null,
      title: room.title() || (isPeople(navigation.route) ? 'People' : 'Conversations'),
      unread,
      status: isDeactivated ? 'deactivated' : open ? worse(status, open.status) : status,
      error: isDeactivated ? deactivated : error?.message ?? open?.error?.message ?? '',
    })
    toInbox.textContent = `Conversations${unread ? ` (${unread})` : ''}`
  }
  /** Shows the page of the address, and moves the focus there if the user has asked for it. */
  const show = () => {
    const { route } = navigation
    const isFirst = previous === null
    const isSame = previous?.page === route.page && route.page === 'people'
    const before = previous
    previous = route
    // One's own profile is beside whatever was there before.
    if (route.page !== 'me' || isFirst) showSide(isPeople(route))
    room.show(route)
    node.classList.toggle('open', room.isOpen())
    node.classList.toggle('browsing', isPeople(route) && !room.isOpen())
    conversations.setOpen(route.page === 'conversation' ? route.id : null)
    if (isPeople(route)) {
      people.show(route.page === 'people' ? route.search : null, route.page === 'profile' ? route.id : null)
    }
    update()
    if (!isFirst && !isSame) moveFocus(route, before)
  }
  const showSide = (showsPeople: boolean) => {
    people.node.hidden = !showsPeople
    list.hidden = showsPeople
    toInbox.ariaCurrent = showsPeople ? null : 'page'
    toPeople.ariaCurrent = showsPeople ? 'page' : null
  }
  const moveFocus = (route: Route, before: Route | null) => {
    // Whoever searches beside a profile is still typing, or at the filters.
    if (route.page === 'people' && people.node.contains(document.activeElement)) return
    if (room.isOpen()) return room.focus()
    if (before?.page === 'conversation' && route.page === 'inbox' && conversations.focus(before.id)) return
    if (before?.page === 'profile' && route.page === 'people' && people.focus(before.id)) return
    currentLink().focus()
  }
  const currentLink = () => people.node.hidden ? toInbox : toPeople

  const toInbox = link(navigation, { page: 'inbox' }, {}, 'Conversations')
  const toPeople = link(navigation, { page: 'people', search: everybody }, {}, 'People')
  const nav = el('nav', { 'aria-label': 'Pages' }, toInbox, toPeople)
  const states = openStates(api, () => {
    conversations.update()
    update()
  })
  const conversations = openConversations(inbox, states, navigation)
  const steps = openFirstSteps(navigation)
  const found = openMessageSearch(api, inbox, navigation, conversations.node)
  const warning = openNotice(true)
  const list = el('div.panel', warning.node, steps.node, found.node, conversations.node)
  const people = openPeople(api, navigation)
  const onMe = (change: OwnChange) => {
    own = { ...own, ...change }
    update()
    refreshSteps()
  }
  const readOwn = async () => {
    const me = await dataOf(api.GET('/users/me', { params: { query: { more: true } }, signal: closed.signal }))
    steps.show(me)
    showWarning(warning, me)
    own = { photo: me.Profile.image_url, ...own }
    update()
  }
  /** Until the steps are done each saved change may do one. */
  const refreshSteps = () => {
    if (!steps.node.hidden) readOwn().catch(() => {})
  }
  const session = { supabase, api, inbox, states, files, navigation }
  const room = openRoom({ ...session, onChange: update, onMe, search: people.search })
  const onKey = (event: KeyboardEvent) => {
    // Whoever is in the middle of a text goes on with it.
    const isWriting = event.target instanceof HTMLTextAreaElement && event.target.value !== ''
    if (event.key !== 'Escape' || !room.isOpen() || isComposing(event) || isWriting) return
    event.preventDefault()
    room.leave()
  }
  const node = el('div.home', { keydown: onKey }, el('div.side', list, people.node), room.node)

  inbox.subscribe(update)
  const unsubscribe = inbox.subscribe(() => {
    if (!inbox.view.me) return
    unsubscribe()
    // The initials stay while the photo cannot be read.
    readOwn().catch(() => {})
  })
  navigation.listen(show)
  show()
  return {
    node,
    nav,
    focus: () => room.isOpen() ? room.focus() : currentLink().focus(),
    close() {
      navigation.listen(null)
      const { me } = inbox.view
      if (me) {
        firstMessages(me.id).clear()
        sessionStorage.removeItem(unsavedAbout(me.id))
      }
      room.close()
      people.close()
      found.close()
      states.close()
      closed.abort()
      inbox.close()
    },
  }
}
