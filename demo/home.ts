import type { SupabaseClient } from '@supabase/supabase-js'
import { type ApiClient, createApiClient, dataOf } from '../clients/api_client.ts'
import { openInbox, type Status } from '../clients/inbox.ts'
import { el, isComposing } from './dom.ts'
import { firstMessages } from './first_message.ts'
import { openFirstSteps } from './first_steps.ts'
import { unsavedAbout } from './me/about.ts'
import type { OwnChange } from './me/page.ts'
import type { Navigation } from './navigation.ts'
import { openNotice } from './notices.ts'
import { openRoom } from './room.ts'
import type { Route } from './router.ts'
import { isPeople, openSide } from './side.ts'
import { openStates } from './states.ts'
import { openFiles } from './storage.ts'
import { showWarning } from './warnings.ts'

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

const deactivated = 'This account is deactivated: nobody finds it, and it writes to nobody. Whoever runs this ' +
  'service can tell you why.'

/** What the page shows of the user: the header's name and photo, the first steps, and a warning. */
const openOwn = (api: ApiClient, navigation: Navigation, onChange: () => void, signal: AbortSignal) => {
  const steps = openFirstSteps(navigation)
  const warning = openNotice(true)
  let own: OwnChange = {}
  const load = async () => {
    const me = await dataOf(api.GET('/users/me', { params: { query: { more: true } }, signal }))
    steps.show(me)
    showWarning(warning, me)
    own = { photo: me.Profile.image_url, ...own }
    onChange()
  }
  // The initials stay while the photo cannot be read.
  const read = () => load().catch(() => {})
  return {
    nodes: [warning.node, steps.node],
    get: () => own,
    read,
    change(change: OwnChange) {
      own = { ...own, ...change }
      onChange()
      // Until the steps are done each saved change may do one.
      if (!steps.node.hidden) read()
    },
  }
}

/** The view of a logged-in user: a list of conversations or people at the side, and beside it what is open. */
export const openHome = (supabase: SupabaseClient, navigation: Navigation, onChange: (view: HomeView) => void) => {
  const inbox = openInbox(supabase)
  const api = createApiClient(supabase)
  const files = openFiles(supabase)
  const closed = new AbortController()
  let previous: Route | null = null
  let wasOffline = true

  const update = () => {
    // An answer that comes after the user has logged out.
    if (closed.signal.aborted) return
    const { me, unread, status, error } = inbox.view
    const view = room.chat()?.view
    // The page says itself that there is no such conversation.
    const open = view?.error?.status === 404 ? undefined : view
    // Without a channel the inbox asks nothing, and the account may be deactivated since.
    if (status === 'offline' && !wasOffline) states.refresh()
    wasOffline = status === 'offline'
    const isDeactivated = states.isDeactivated()
    node.hidden = isDeactivated
    // The inbox reads the user only once, and without the photo.
    const { name = me?.name, photo = null } = own.get()
    side.setUser(name, unread)
    onChange({
      name,
      photo,
      title: room.title() || (isPeople(navigation.route) ? 'People' : 'Conversations'),
      unread,
      status: isDeactivated ? 'deactivated' : open ? worse(status, open.status) : status,
      error: isDeactivated ? deactivated : error?.message ?? open?.error?.message ?? '',
    })
  }
  /** Shows the page of the address, and moves the focus there if the user has asked for it. */
  const show = () => {
    const { route } = navigation
    const before = previous
    previous = route
    const isFirst = before === null
    const isSame = before?.page === route.page && route.page === 'people'
    room.show(route)
    node.classList.toggle('open', room.isOpen())
    node.classList.toggle('browsing', isPeople(route) && !room.isOpen())
    side.show(route, isFirst)
    update()
    // Whoever searches beside a profile goes on.
    if (isFirst || isSame || route.page === 'people' && side.isSearching()) return
    if (room.isOpen()) room.focus()
    else side.focus(route, before)
  }
  const onKey = (event: KeyboardEvent) => {
    // Whoever is in the middle of a text goes on with it.
    const isWriting = event.target instanceof HTMLTextAreaElement && event.target.value !== ''
    if (event.key !== 'Escape' || !room.isOpen() || isComposing(event) || isWriting) return
    event.preventDefault()
    room.leave()
  }

  const states = openStates(api, () => {
    side.update()
    update()
  })
  const own = openOwn(api, navigation, update, closed.signal)
  const session = { supabase, api, inbox, states, files, navigation }
  const side = openSide(session, own.nodes)
  const room = openRoom({ ...session, onChange: update, onMe: own.change, search: side.search })
  const node = el('div.home', { keydown: onKey }, side.node, room.node)

  inbox.subscribe(update)
  const unsubscribe = inbox.subscribe(() => {
    if (!inbox.view.me) return
    unsubscribe()
    own.read()
  })
  navigation.listen(show)
  show()
  return {
    node,
    nav: side.nav,
    focus: () => room.isOpen() ? room.focus() : side.focus(),
    close() {
      navigation.listen(null)
      const { me } = inbox.view
      if (me) {
        firstMessages(me.id).clear()
        sessionStorage.removeItem(unsavedAbout(me.id))
      }
      room.close()
      side.close()
      states.close()
      closed.abort()
      inbox.close()
    },
  }
}
