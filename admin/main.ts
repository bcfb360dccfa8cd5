import { readConfig } from '../demo/config.ts'
import { el } from '../demo/dom.ts'
import { setCurrency } from '../demo/format.ts'
import { openHealth } from './health.ts'
import { openLog } from './log.ts'
import { openPeople } from './people.ts'
import { openReports } from './reports.ts'
import { openReservations } from './reservations.ts'
import { openToday } from './today.ts'
import type { View } from './view.ts'

const views: Record<string, { title: string; open: (query: URLSearchParams) => View }> = {
  today: { title: 'Today', open: openToday },
  reports: { title: 'Open reports', open: openReports },
  people: { title: 'People', open: openPeople },
  reservations: { title: 'Reservations', open: openReservations },
  log: { title: 'Moderation log', open: openLog },
  health: { title: 'Health', open: openHealth },
}
const main = document.querySelector('main')!
// As in other tools for queues: `/` searches, `g` and a letter goes to the view that begins with it.
const shortcuts = '/ searches people; g and then t, r, p, v, l or h goes to today, reports, people, reservations, ' +
  'the log or health; ? says this'
const goes: Record<string, string> = { t: 'today', r: 'reports', p: 'people', v: 'reservations', l: 'log', h: 'health' }
let shown: View | null = null

/** Shows the view of the address: its name and parameters are the fragment, as in #people?q=ines. */
const show = (): void => {
  const [wanted = '', query] = location.hash.slice(1).split('?')
  const name = Object.hasOwn(views, wanted) ? wanted : 'today'
  const { title, open } = views[name]!
  for (const link of document.querySelectorAll('nav a')) {
    link.ariaCurrent = link.getAttribute('href') === `#${name}` ? 'page' : null
  }
  document.title = `${title} – Admin`
  const heading = el('h2', { tabindex: '-1' }, title)
  shown?.close()
  shown = open(new URLSearchParams(query))
  main.replaceChildren(heading, shown.node)
  void shown.load()
}

let isSearching = false
const search = () => {
  const box = document.querySelector<HTMLElement>('[type=search]')
  if (box) return box.focus()
  isSearching = true
  location.hash = 'people'
}
let isGoing = false
addEventListener('keydown', (event) => {
  const { target, key } = event
  const isTyping = target instanceof Element && target.closest('input:not([type=checkbox]), select, textarea, dialog')
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return
  const view = isGoing && goes[key]
  isGoing = key === 'g'
  if (view) location.hash = view
  else if (key === '/') search()
  else if (key === '?') help.hidden = !help.hidden
  else return
  event.preventDefault()
})
const help = el('p.hint', { role: 'status', hidden: true }, shortcuts)
main.before(help)

addEventListener('hashchange', () => {
  show()
  document.querySelector<HTMLElement>(isSearching ? '[type=search]' : 'main h2')?.focus()
  isSearching = false
})
// Without it prices have the sign for any currency.
readConfig().then((config) => setCurrency(config.currency)).finally(show)
