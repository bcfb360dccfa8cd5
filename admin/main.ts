import { el } from '../demo/dom.ts'
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
let shown: View | null = null

/** Shows the view of the address: its name and parameters are the fragment, as in #people?q=ines. */
const show = (): void => {
  const [wanted = '', query] = location.hash.slice(1).split('?')
  const name = Object.hasOwn(views, wanted) ? wanted : 'today'
  const { title, open } = views[name]!
  for (const link of document.querySelectorAll('nav a')) {
    if (link.getAttribute('href') === `#${name}`) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  document.title = `${title} – Admin`
  const heading = el('h2', { tabindex: '-1' }, title)
  shown?.close()
  shown = open(new URLSearchParams(query))
  main.replaceChildren(heading, shown.node)
  void shown.load()
}

addEventListener('hashchange', () => {
  show()
  document.querySelector<HTMLElement>('main h2')?.focus()
})
show()
