import { createClient, type Session } from '@supabase/supabase-js'
import type { Config } from './config.ts'
import { avatar, el, write } from './dom.ts'
import { openHome } from './home.ts'
import { openLine } from './line.ts'
import { logInForm } from './login.ts'

const secondsCut = 12

/** A name for this tab: sessions of other tabs are other people's. */
const tab = (): string => {
  const known = sessionStorage.getItem('demo-tab') ?? crypto.getRandomValues(new Uint32Array(2)).join('')
  sessionStorage.setItem('demo-tab', known)
  return known
}

/** One person's side: a client of its own, logged in or not. `titled` hears what to call it. */
export const openPane = (name: string, index: number, config: Config, titled: (title: string) => void): HTMLElement => {
  const line = openLine((seconds) => {
    cut.replaceChildren(...(seconds ? [`Back in ${seconds} s`] : offer))
    cut.setAttribute('aria-disabled', `${seconds > 0}`)
  })
  const supabase = createClient(location.origin, config.publishableKey, {
    auth: { storage: sessionStorage, storageKey: `demo-${index}-${tab()}`, detectSessionInUrl: false },
    global: { fetch: line.fetch },
    realtime: { transport: line.transport },
  })

  const offer = ['Cut', el('span', { class: 'rest' }, ' the connection')]
  const cut = el('button', {
    type: 'button',
    class: 'quiet',
    title: `Nothing goes out or comes in for ${secondsCut} seconds`,
    click: () => line.cut(secondsCut),
  }, ...offer)
  const leave = el('button', { type: 'button', class: 'quiet', click: () => logOut() }, 'Log out')
  const face = el('span', { class: 'face' })
  const who = el('h2', {}, `${name} person`)
  const status = el('p', { class: 'status', role: 'status' })
  const problem = el('p', { class: 'notice', role: 'alert', hidden: true })
  const bar = el('header', { class: 'bar' }, face, el('div', { class: 'who' }, who, status), cut, leave)
  const room = el('div', { class: 'room' })
  const pane = el('section', { class: 'pane', 'aria-label': `${name} person` }, bar, problem, room)

  let home: ReturnType<typeof openHome> | null = null
  let shown: string | null | undefined

  /** What keeps it offline is said beside that; any other problem stands out. */
  const showStatus = (now: string, trouble = '') => {
    const offline = now === 'offline'
    status.dataset.status = now
    write(status, offline && trouble ? `offline: ${trouble}` : now)
    write(problem, offline ? '' : trouble)
  }
  const showHome = () => {
    home = openHome(supabase, (view) => {
      showStatus(view.status, view.error)
      titled(`${view.name ?? `${name} person`}${view.unread ? ` (${view.unread})` : ''}`)
      if (!view.name || who.textContent === view.name) return
      who.textContent = view.name
      face.replaceChildren(avatar(view.name))
    })
    room.replaceChildren(home.node)
  }
  const showLogIn = () => {
    home?.close()
    home = null
    who.textContent = `${name} person`
    face.replaceChildren()
    titled(`${name} person`)
    showStatus('')
    room.replaceChildren(logInForm(supabase, config.logIns, index))
  }
  const changed = (session: Session | null) => {
    const user = session?.user.id ?? null
    if (user === shown) return
    // Where the log-in form had the focus, what comes instead of it has it.
    const wasHere = room.contains(document.activeElement) || bar.contains(document.activeElement)
    shown = user
    for (const button of [cut, leave]) button.hidden = !user
    if (user) showHome()
    else showLogIn()
    if (wasHere) room.querySelector<HTMLElement>('[data-first]')?.focus()
  }
  const logOut = async () => {
    const { error } = await supabase.auth.signOut({ scope: 'local' })
    if (error) write(problem, error.message)
  }

  // supabase-js waits for this listener, which must not wait for supabase-js.
  supabase.auth.onAuthStateChange((_, session) => void setTimeout(() => changed(session)))
  return pane
}
