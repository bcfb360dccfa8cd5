import { button, drawn, el } from '../demo/dom.ts'
import { dataApi, rpc } from './api.ts'
import { age, names, type Queue, state } from './health.ts'
import { openView, type View } from './view.ts'

const hour = 3_600_000
const kept = 1000
const pages = { '/demo': 'The demo', '/mail': 'Mails', '/docs/': 'API reference', '/': 'Front page' }

/** Draws how many rows each of the last 24 hours has. Reads the newest: a count would read the whole table. */
const plot = async (title: string, table: string): Promise<HTMLElement> => {
  const rows = await dataApi<{ created_at: string }[]>('GET', `${table}?select=created_at&order=id.desc&limit=${kept}`)
  const current = Math.floor(Date.now() / hour)
  const hours = Array.from({ length: 24 }, () => 0)
  for (const { created_at } of rows) {
    const index = 23 - (current - Math.floor(Date.parse(created_at) / hour))
    if (index in hours) hours[index]!++
  }
  const total = hours.reduce((sum, count) => sum + count, 0)
  const highest = Math.max(1, ...hours)
  const bars = hours.map((count, index) => {
    const height = Math.max(1, 46 * count / highest)
    return drawn('rect', { x: index * 10, y: 48 - height, width: 8, height })
  })
  return el(
    'figure.card.plot',
    el('figcaption', el('strong', title), ` ${total === kept ? 'over ' : ''}${total}`),
    drawn('svg', { viewBox: '0 0 240 48', 'aria-hidden': 'true' }, ...bars),
    el('p.hint', total ? `at most ${Math.max(...hours)} in an hour` : 'none'),
  )
}

const waits = (queue: Queue): HTMLElement => {
  const { queue: name, waiting, oldest_seconds } = queue
  const view = el('a', { href: name === 'reports' ? '#reports' : '#health' }, names[name] ?? name)
  const count = waiting ? `${waiting}, the oldest for ${age(Math.max(1, Number(oldest_seconds)))}` : 'none'
  return el('li', view, ': ', count, state(queue) !== 'Fine' && el('span.warning', `, ${state(queue)}`))
}

/** What waits, and the last 24 hours. */
export const openToday = (): View => {
  return openView([], async (view) => {
    const [queues, ...plots] = await Promise.all([
      rpc<Queue[]>('describe_queues'),
      plot('Messages', 'messages'),
      plot('Sign-ups', 'users'),
      plot('Reports', 'reports'),
    ])
    return [
      el('div.card', el('h3', 'Waiting'), el('ul', ...queues.map(waits))),
      el('h3', 'The last 24 hours'),
      el('div.plots', ...plots),
      el('p.hint', 'An hour each, this one last.'),
      button('Refresh', () => view.load('Refreshed')),
      el('p.actions.hint', ...Object.entries(pages).map(([href, name]) => el('a', { href }, name))),
    ]
  })
}
