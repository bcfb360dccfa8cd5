import { readConfig } from './config.ts'
import { button, el } from './dom.ts'
import { setCurrency } from './format.ts'
import { browserNavigation, paneNavigation } from './navigation.ts'
import { openPane } from './pane.ts'
import { register } from './push.ts'
import type { Route } from './router.ts'
import { errorText } from './errors.ts'

// One person has the whole window, with an address for each page. Two people share it, and their pages have none.
const isSideBySide = location.pathname === '/demo/side-by-side'
const appName = 'Voyagers and locals'

const panes = document.querySelector<HTMLElement>('#panes')!
const switches = document.querySelector<HTMLElement>('#panes-shown')!
const other = document.querySelector<HTMLAnchorElement>('#how-many')!

// On a narrow screen one pane is visible at a time, and these buttons switch between them.
const show = (chosen: number) => {
  panes.dataset.shown = `${chosen}`
  for (const [index, opener] of [...switches.children].entries()) {
    opener.setAttribute('aria-pressed', `${index === chosen}`)
  }
}

const ideas = 'Try this: write, cut the connection in the menu, reload, accept the jazz evening. '
const startOver = el('a', { href: '/demo/side-by-side?again' }, 'Start over')

const start = async () => {
  if (isSideBySide && new URL(location.href).searchParams.has('again')) {
    sessionStorage.clear()
    history.replaceState(null, '', location.pathname)
  }
  const config = await readConfig()
  setCurrency(config.currency)
  document.body.classList.toggle('one', !isSideBySide)
  document.querySelector('#start')!.remove()
  if (!isSideBySide) {
    const onTitle = (page: string, unread: number) => {
      document.title = `${unread ? `(${unread}) ` : ''}${page && `${page} – `}${appName}`
    }
    panes.prepend(openPane({ name: 'You', index: 0, config, navigation: browserNavigation(), onTitle, isAlone: true }))
    return
  }
  other.href = '/demo'
  other.textContent = 'One person'
  const story = config.story
  if (story !== null) document.querySelector('.top')!.append(el('p.try', ideas, startOver))
  for (const [index, name] of ['First', 'Second'].entries()) {
    const opener = button(`${name} person`, () => show(index), 'pane-switch clipped')
    const onTitle = (_: string, unread: number, user = `${name} person`) => {
      opener.textContent = `${user}${unread ? ` (${unread})` : ''}`
    }
    const first: Route = story === null ? { page: 'inbox' } : { page: 'conversation', id: story }
    const navigation = paneNavigation(name.toLowerCase(), first)
    panes.append(openPane({ name, index, config, navigation, onTitle, isAlone: false }))
    switches.append(opener)
  }
  show(0)
}

// The link of a mail, opened in a tab of the page.
addEventListener('hashchange', () => location.reload())
// It keeps the page's files for a start without a network. Some browsers have none in private windows.
if ('serviceWorker' in navigator) register().catch(() => {})
start().catch((error) => panes.append(el('p.notice', { role: 'alert' }, errorText(error))))
