import { createClient } from '@supabase/supabase-js'
import { createApiClient } from '../clients/api_client.ts'
import { forgetSeen } from '../clients/cache.ts'
import { watchUser } from '../clients/session.ts'
import type { Config } from './config.ts'
import { avatar, el, setText, visuallyHidden } from './dom.ts'
import { type HomeView, openHome } from './home.ts'
import { greeting, openStart } from './login.ts'
import { menuItem, openMenu } from './menu.ts'
import { type MailLink, takeMailLink } from './mails.ts'
import { link, type Navigation } from './navigation.ts'
import { createNetworkSimulator } from './network_simulator.ts'
import { unsubscribe } from './push.ts'
import { openMailLink } from './recovery.ts'
import { errorText, takeBackOffline } from './errors.ts'
import { openFiles, ownPhoto } from './storage.ts'
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

/** One user's part of the window, with its own supabase-js client. */
export const openPane = ({ name, index, config, navigation, onTitle, isAlone }: Options): HTMLElement => {
  const network = createNetworkSimulator((secondsLeft) => {
    setText(cut, secondsLeft ? `The connection is cut; back in ${secondsLeft} s` : '')
  })
  const supabase = createClient(location.origin, config.publishableKey, {
    auth: {
      storage: isAlone ? localStorage : sessionStorage,
      storageKey: isAlone ? 'demo' : `demo-${index}-${tabId()}`,
      detectSessionInUrl: false,
    },
    global: { fetch: network.fetch },
    realtime: { transport: network.transport },
  })
  const files = openFiles(supabase)

  const menu = openMenu('Account', () => [
    link(navigation, { page: 'me' }, { class: 'quiet' }, 'Your profile'),
    menuItem('Cut the connection', () => network.disconnect(disconnectSeconds)),
    isAlone && el('a.quiet', { href: '/demo/side-by-side' }, 'Two people side by side'),
    menuItem('Log out', () => logOut()),
  ])
  const face = link(navigation, { page: 'me' }, { class: 'face' })
  // The page has the user's name once it has loaded.
  const nameless = isAlone ? name : `${name} person`
  const heading = el('h2.clipped', nameless)
  const status = el('p.status', { role: 'status' })
  const cut = el('p.cut', { hidden: true })
  const alert = el('p.notice', { role: 'alert', hidden: true })
  const nav = el('div.pages')
  const user = el('div.user', heading, status)
  const bar = el('header.bar', face, user, nav, menu)
  const content = el('div.room', isAlone && greeting.parentElement)
  const pane = el('section.pane', { 'aria-label': nameless }, bar, cut, alert, content)

  let home: ReturnType<typeof openHome> | null = null
  let visitor: ReturnType<typeof openVisitor> | null = null
  let shownUser: string | null | undefined

  /** While offline the status says so; otherwise the error has a box of its own. */
  const showStatus = (now: string, error = '') => {
    const offline = now === 'offline'
    if (!offline && status.dataset.status === 'offline') {
      for (const part of [pane, ...document.querySelectorAll('dialog')]) takeBackOffline(part)
    }
    status.dataset.status = now
    status.title = offline ? error : ''
    setText(status, now)
    setText(alert, offline ? '' : error)
  }
  const showView = ({ name: user, photo, title, unread, status, error }: HomeView) => {
    showStatus(status, error)
    onTitle(title, unread, user)
    if (!user || (heading.textContent === user && face.dataset.photo === `${photo}`)) return
    face.dataset.photo = `${photo}`
    heading.textContent = user
    face.replaceChildren(avatar(user, ownPhoto(photo)), visuallyHidden('Your profile'))
  }
  const showHome = () => {
    heading.textContent = nameless
    home = openHome(supabase, navigation, files, showView)
    nav.replaceChildren(home.nav)
    content.replaceChildren(home.node)
  }
  const closeHome = () => {
    for (const view of [home, visitor]) view?.close()
    home = visitor = null
    face.replaceChildren()
    delete face.dataset.photo
  }
  const showLogIn = () => {
    visitor?.close()
    visitor = null
    pane.classList.add('logged-out')
    nav.replaceChildren()
    content.replaceChildren(openStart(supabase, config, index, navigation))
  }
  /** People and profiles for anybody, the page to log in for all else. */
  const showOutside = () => {
    heading.textContent = isAlone ? 'Nobody is logged in' : nameless
    onTitle('', 0)
    showStatus('')
    navigation.listen(showOutside)
    if (!['people', 'profile'].includes(navigation.route.page)) return showLogIn()
    if (!visitor) {
      visitor = openVisitor(supabase, navigation, showLogIn)
      pane.classList.remove('logged-out')
      nav.replaceChildren(visitor.nav)
      content.replaceChildren(visitor.node)
    }
    visitor.show()
  }
  // Whoever is logged in: the mail may be somebody else's.
  const showMailLink = (link: MailLink) => {
    heading.textContent = nameless
    for (const part of [face, menu]) part.hidden = true
    pane.classList.add('logged-out')
    const done = async () => {
      mailLink = null
      onUser((await supabase.auth.getSession()).data.session?.user.id ?? null)
    }
    content.replaceChildren(openMailLink(supabase, config.publishableKey, link, done))
  }
  const onUser = (user: string | null) => {
    if (mailLink || user === shownUser) return
    // As after a crash before it could be deleted.
    if (!user && isAlone) forgetSeen()
    // Keep the focus in this pane if it was here.
    const hadFocus = content.contains(document.activeElement) || bar.contains(document.activeElement)
    closeHome()
    // The next user may not see the page of this one, who may have left in another tab.
    if (shownUser) navigation.go({ page: 'inbox' }, { replace: true })
    shownUser = user
    for (const part of [face, menu]) part.hidden = !user
    pane.classList.toggle('logged-out', !user)
    if (user) showHome()
    else showOutside()
    if (!hadFocus) return
    if (home) home.focus()
    else content.querySelector<HTMLElement>('[data-first]')?.focus()
  }
  const logOut = async () => {
    await unsubscribe(createApiClient(supabase)).catch((error) => setText(alert, errorText(error)))
    const { error } = await supabase.auth.signOut({ scope: 'local' })
    if (error) setText(alert, error.message)
  }

  const account = config.logIns[index]
  if (!isAlone && account && isFirstVisit(name)) {
    const { email, password } = account
    // Without it the pane offers to log in.
    supabase.auth.signInWithPassword({ email, password }).catch(() => {})
  }
  let mailLink = isAlone ? takeMailLink() : null
  if (mailLink) showMailLink(mailLink)
  // supabase-js awaits this listener, so calling supabase-js inside it would deadlock.
  watchUser(supabase.auth, (user) => void setTimeout(() => onUser(user)))
  return pane
}
