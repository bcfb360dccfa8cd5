import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import { createApiClient } from '../clients/api_client.ts'
import { forgetSeen } from '../clients/cache.ts'
import { watchUser } from '../clients/session.ts'
import { openBar } from './bar.ts'
import type { Config } from './config.ts'
import { el, setText } from './dom.ts'
import { type HomeView, openHome } from './home.ts'
import { greeting, openStart } from './login.ts'
import { menuItem } from './menu.ts'
import { type MailLink, takeMailLink } from './mails.ts'
import { link, type Navigation } from './navigation.ts'
import { createNetworkSimulator } from './network_simulator.ts'
import { unsubscribe } from './push.ts'
import { openMailLink } from './recovery.ts'
import { errorText, takeBackOffline } from './errors.ts'
import { openVisitor } from './visitor.ts'

const disconnectSeconds = 12

/** An id for this browser tab, so that the people side by side in one tab are not those of another. */
const tabId = (): string => {
  const id = sessionStorage.getItem('demo-tab') ?? crypto.getRandomValues(new Uint32Array(2)).join('')
  sessionStorage.setItem('demo-tab', id)
  return id
}

/** Whether the pane is opened in this tab for the first time: later its user may have logged out. */
const isFirstVisit = (name: string): boolean => {
  const isFirst = sessionStorage.getItem(`demo-visited-${name}`) === null
  sessionStorage.setItem(`demo-visited-${name}`, '')
  return isFirst
}

interface Options {
  name: string
  index: number
  config: Config
  navigation: Navigation
  onTitle: (page: string, unread: number, user?: string) => void
  /** Whether one person has the whole window. Its session is that of the browser, so that addresses open in any tab. */
  isAlone: boolean
}

/** What is open in a pane: the pages of a user, people and profiles for anybody, or the page to log in. */
const openContent = (
  { config, index, navigation }: Options,
  supabase: SupabaseClient,
  show: (page: Node, ...nav: Node[]) => void,
  onChange: (view: HomeView) => void,
) => {
  let home: ReturnType<typeof openHome> | null = null
  let visitor: ReturnType<typeof openVisitor> | null = null
  const close = () => {
    for (const view of [home, visitor]) view?.close()
    home = visitor = null
  }
  const showLogIn = () => {
    close()
    show(openStart(supabase, config, index, navigation))
  }
  return {
    close,
    showHome() {
      home = openHome(supabase, navigation, onChange)
      show(home.node, home.nav)
    },
    showOutside() {
      if (!['people', 'profile'].includes(navigation.route.page)) return showLogIn()
      if (!visitor) {
        visitor = openVisitor(supabase, navigation, showLogIn)
        show(visitor.node, visitor.nav)
      }
      visitor.show()
    },
    /** Of what a user has open, or of what comes first on the page to log in. */
    focus(room: HTMLElement) {
      if (home) home.focus()
      else room.querySelector<HTMLElement>('[data-first]')?.focus()
    },
  }
}

/** Logs one of the demo people in, on the pane's first visit. Without it the pane offers to log in. */
const logInFirst = ({ name, index, config, isAlone }: Options, supabase: SupabaseClient) => {
  const account = config.logIns[index]
  if (isAlone || !account || !isFirstVisit(name)) return
  const { email, password } = account
  supabase.auth.signInWithPassword({ email, password }).catch(() => {})
}

/** One user's part of the window, with its own supabase-js client. */
export const openPane = (options: Options): HTMLElement => {
  const { name, index, config, navigation, onTitle, isAlone } = options
  const network = createNetworkSimulator((secondsLeft) => {
    setText(cut, secondsLeft ? `The connection is cut; back in ${secondsLeft} s` : '')
  })
  const session = isAlone
    ? { storage: localStorage, storageKey: 'demo' }
    : { storage: sessionStorage, storageKey: `demo-${index}-${tabId()}` }
  const supabase = createClient(location.origin, config.publishableKey, {
    auth: { ...session, detectSessionInUrl: false },
    global: { fetch: network.fetch },
    realtime: { transport: network.transport },
  })
  const logOut = async () => {
    await unsubscribe(createApiClient(supabase)).catch((error) => setText(alert, errorText(error)))
    const { error } = await supabase.auth.signOut({ scope: 'local' })
    if (error) setText(alert, error.message)
  }

  // The page has the user's name once it has loaded.
  const nameless = isAlone ? name : `${name} person`
  const bar = openBar(nameless, navigation, () => [
    link(navigation, { page: 'me' }, { class: 'quiet' }, 'Your profile'),
    menuItem('Cut the connection', () => network.disconnect(disconnectSeconds)),
    isAlone && el('a.quiet', { href: '/demo/side-by-side' }, 'Two people side by side'),
    menuItem('Log out', logOut),
  ])
  const cut = el('p.cut', { hidden: true })
  const alert = el('p.notice', { role: 'alert', hidden: true })
  const room = el('div.room', isAlone && greeting.parentElement)
  const pane = el('section.pane', { 'aria-label': nameless }, bar.node, cut, alert, room)

  /** While offline the status says so; otherwise the error has a box of its own. */
  const showStatus = (now: string, error = '') => {
    const offline = now === 'offline'
    if (!offline && bar.status() === 'offline') {
      for (const part of [pane, ...document.querySelectorAll('dialog')]) takeBackOffline(part)
    }
    bar.setStatus(now, offline ? error : '')
    setText(alert, offline ? '' : error)
  }
  const show = (page: Node, ...nav: Node[]) => {
    pane.classList.toggle('logged-out', nav.length === 0)
    bar.setPages(...nav)
    room.replaceChildren(page)
  }
  const content = openContent(options, supabase, show, ({ name: user, photo, title, unread, status, error }) => {
    showStatus(status, error)
    onTitle(title, unread, user)
    if (user) bar.showUser(user, photo)
  })
  const showOutside = () => {
    bar.setName(isAlone ? 'Nobody is logged in' : nameless)
    onTitle('', 0)
    showStatus('')
    navigation.listen(showOutside)
    content.showOutside()
  }
  // Whoever is logged in: the mail may be somebody else's.
  const showMailLink = (link: MailLink) => {
    bar.setLoggedIn(false)
    const done = async () => {
      mailLink = null
      onUser((await supabase.auth.getSession()).data.session?.user.id ?? null)
    }
    show(openMailLink(supabase, config.publishableKey, link, done))
  }
  let shownUser: string | null | undefined
  const onUser = (user: string | null) => {
    if (mailLink || user === shownUser) return
    // As after a crash before it could be deleted.
    if (!user && isAlone) forgetSeen()
    // Keep the focus in this pane if it was here.
    const hadFocus = room.contains(document.activeElement) || bar.node.contains(document.activeElement)
    content.close()
    bar.forgetUser()
    // The next user may not see the page of this one, who may have left in another tab.
    if (shownUser) navigation.go({ page: 'inbox' }, { replace: true })
    shownUser = user
    bar.setLoggedIn(user !== null)
    if (user) content.showHome()
    else showOutside()
    if (hadFocus) content.focus(room)
  }

  logInFirst(options, supabase)
  let mailLink = isAlone ? takeMailLink() : null
  if (mailLink) showMailLink(mailLink)
  // supabase-js awaits this listener, so calling supabase-js inside it would deadlock.
  watchUser(supabase.auth, (user) => void setTimeout(() => onUser(user)))
  return pane
}
