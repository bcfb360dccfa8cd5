import { createClient, type Session } from '@supabase/supabase-js'
import type { Config } from './config.ts'
import { avatar, el, setText } from './dom.ts'
import { openHome } from './home.ts'
import { logInForm } from './login.ts'
import { createNetworkSimulator } from './network_simulator.ts'
import { canPush, subscribe, unsubscribe } from './push.ts'
import { messageOf } from './request.ts'

const disconnectSeconds = 12

/** An id for this browser tab, so that tabs do not share sessions. */
const tabId = (): string => {
  const id = sessionStorage.getItem('demo-tab') ?? crypto.getRandomValues(new Uint32Array(2)).join('')
  sessionStorage.setItem('demo-tab', id)
  return id
}

/**
 * One user's half of the page, with its own supabase-js client. Calls `onTitle` with the user's name and unread count.
 */
export const openPane = (
  name: string,
  index: number,
  config: Config,
  onTitle: (title: string) => void,
): HTMLElement => {
  const network = createNetworkSimulator((secondsLeft) => {
    disconnect.replaceChildren(...(secondsLeft ? [`Back in ${secondsLeft} s`] : disconnectLabel))
    disconnect.setAttribute('aria-disabled', `${secondsLeft > 0}`)
  })
  const supabase = createClient(location.origin, config.publishableKey, {
    auth: { storage: sessionStorage, storageKey: `demo-${index}-${tabId()}`, detectSessionInUrl: false },
    global: { fetch: network.fetch },
    realtime: { transport: network.transport },
  })

  const disconnectLabel = ['Cut', el('span', { class: 'rest' }, ' the connection')]
  const disconnect = el('button', {
    type: 'button',
    class: 'quiet',
    title: `Blocks all traffic for ${disconnectSeconds} seconds`,
    click: () => network.disconnect(disconnectSeconds),
  }, ...disconnectLabel)
  const notifyButton = el('button', {
    type: 'button',
    class: 'quiet',
    title: 'Tells you of messages while this page is closed; a browser belongs to one person at a time',
    click: () =>
      subscribe(supabase).then(
        () => notifyButton.textContent = 'You are notified',
        (error) => setText(alert, messageOf(error)),
      ),
  }, 'Notify me')
  const logOutButton = el('button', { type: 'button', class: 'quiet', click: () => logOut() }, 'Log out')
  const face = el('span', { class: 'face' })
  const heading = el('h2', {}, `${name} person`)
  const status = el('p', { class: 'status', role: 'status' })
  const alert = el('p', { class: 'notice', role: 'alert', hidden: true })
  const user = el('div', { class: 'user' }, heading, status)
  const bar = el('header', { class: 'bar' }, face, user, notifyButton, disconnect, logOutButton)
  const content = el('div', { class: 'room' })
  const pane = el('section', { class: 'pane', 'aria-label': `${name} person` }, bar, alert, content)

  let home: ReturnType<typeof openHome> | null = null
  let shownUser: string | null | undefined

  /** While offline the error appears beside the status; otherwise it has a box of its own. */
  const showStatus = (now: string, error = '') => {
    const offline = now === 'offline'
    status.dataset.status = now
    setText(status, offline && error ? `offline: ${error}` : now)
    setText(alert, offline ? '' : error)
  }
  const showHome = () => {
    home = openHome(supabase, (view) => {
      showStatus(view.status, view.error)
      onTitle(`${view.name ?? `${name} person`}${view.unread ? ` (${view.unread})` : ''}`)
      if (!view.name || heading.textContent === view.name) return
      heading.textContent = view.name
      face.replaceChildren(avatar(view.name))
    })
    content.replaceChildren(home.node)
  }
  const showLogIn = () => {
    home?.close()
    home = null
    heading.textContent = `${name} person`
    face.replaceChildren()
    onTitle(`${name} person`)
    showStatus('')
    content.replaceChildren(logInForm(supabase, config.logIns, index))
  }
  const onSession = (session: Session | null) => {
    const user = session?.user.id ?? null
    if (user === shownUser) return
    // Keep the focus in this pane if it was here.
    const hadFocus = content.contains(document.activeElement) || bar.contains(document.activeElement)
    shownUser = user
    for (const button of [disconnect, logOutButton]) button.hidden = !user
    notifyButton.hidden = !user || !canPush
    notifyButton.textContent = 'Notify me'
    if (user) showHome()
    else showLogIn()
    if (hadFocus) content.querySelector<HTMLElement>('[data-first]')?.focus()
  }
  const logOut = async () => {
    await unsubscribe(supabase).catch((error) => setText(alert, messageOf(error)))
    const { error } = await supabase.auth.signOut({ scope: 'local' })
    if (error) setText(alert, error.message)
  }

  // supabase-js awaits this listener, so calling supabase-js inside it would deadlock.
  supabase.auth.onAuthStateChange((_, session) => void setTimeout(() => onSession(session)))
  return pane
}
