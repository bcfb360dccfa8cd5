import { field } from '../demo/dialog.ts'
import { el } from '../demo/dom.ts'
import { pluralize } from '../demo/format.ts'
import { reasons } from '../demo/safety.ts'
import { dataApi, rpc } from './api.ts'
import { openSteps, type Person } from './person_steps.ts'
import { detail, empty, moment, openView, personLink, tag, type View } from './view.ts'

// The Data API answers with a thousand rows at most.
const counted = 1000
const atMost = (count: number, one: string, many: string): string =>
  `${count === counted ? 'at least ' : ''}${pluralize(count, one, many)}`

/** Mail programs want the @ before the domain as it is. */
const mailTo = (email: string): string => `mailto:${encodeURIComponent(email).replace(/%40(?!.*%40)/, '@')}`

const tagsOf = ({ status, is_hidden, role }: Person) => [
  tag(status, status === 'active' ? 'accepted' : 'declined'),
  is_hidden && tag('hidden', 'declined'),
  role === 'admin' && tag('admin'),
]

const card = (person: Person, view: View): HTMLElement =>
  el(
    'article.card',
    { 'aria-label': person.name },
    el('h3', person.name, ' ', ...tagsOf(person)),
    el(
      'dl',
      detail('Id', `${person.id}`),
      detail('E-mail', person.email && el('a', { href: mailTo(person.email) }, person.email)),
      detail('Since', moment(person.created_at)),
      detail('Looks for', person.bio),
      detail('Location', person.location),
      detail('Profile', person.is_searchable && person.status === 'active' ? 'can be found' : 'cannot be found'),
      detail('Reported', person.reports && `${pluralize(person.reports, 'time', 'times')}, ${person.upheld} upheld`),
      detail('Decisions', el('a', { href: `#log?person=${person.id}` }, 'in the log')),
    ),
    el('div.actions', ...openSteps(person, view)),
  )

interface Filed {
  id: number
  reason: keyof typeof reasons
  note: string | null
  resolution: string | null
  created_at: string
  user: { id: number; name: string }
}

interface Step {
  action: string
  note: string | null
  created_at: string
}

const list = (title: string, items: HTMLElement[]): HTMLElement =>
  el('section.card', { 'aria-label': title }, el('h3', title), items.length ? el('ul', ...items) : el('p.hint', 'none'))

interface Reservation {
  title: string
  status: string
  date: string
}

/** The reports about and by a person, what admins did, and what the person does: what to know before a step. */
const openHistory = async (id: number): Promise<HTMLElement[]> => {
  const latest = 'order=id.desc&limit=20'
  const other = (column: string, name: string) => {
    const select = `id,reason,note,resolution,created_at,user:users!reports_${name}_fkey(id,name)`
    return dataApi<Filed[]>('GET', `reports?select=${select}&${column}=eq.${id}&${latest}`)
  }
  const count = async (table: string, filter: string): Promise<number> =>
    (await dataApi<unknown[]>('GET', `${table}?select=id&${filter}&limit=${counted}`)).length
  const shown = 'title,status,date,conversations!inner()'
  const mine = `or=(voyager_id.eq.${id},local_id.eq.${id})`
  const [about, by, steps, conversations, messages, reservations] = await Promise.all([
    other('user_id', 'reporter_id'),
    other('reporter_id', 'user_id'),
    dataApi<Step[]>('GET', `moderation_log?select=action,note,created_at&user_id=eq.${id}&${latest}`),
    count('conversations', mine),
    count('messages', `user_id=eq.${id}`),
    dataApi<Reservation[]>('GET', `reservations?select=${shown}&conversations.${mine}&order=date.desc&limit=20`),
  ])
  const filed = ({ id, reason, note, resolution, created_at, user }: Filed) => {
    const report = resolution ? `Report ${id}` : el('a', { href: '#reports' }, `Report ${id}`)
    const state = tag(resolution ?? 'open', resolution ? '' : 'declined')
    const what = [` ${reasons[reason]}, `, personLink(user.id, user.name), ', ', moment(created_at)]
    return el('li', report, ' ', state, ...what, note && el('p.quote', note))
  }
  const step = ({ action, note, created_at }: Step) =>
    el('li', tag(action), ' ', moment(created_at), note && el('p.quote', note))
  const reservation = ({ title, status, date }: Reservation) =>
    el('li', title, ' ', tag(status, status), ' ', moment(date))
  const written = [atMost(conversations, 'conversation', 'conversations'), atMost(messages, 'message', 'messages')]
  return [
    list('Reports about them', about.map(filed)),
    list('Reports by them', by.map(filed)),
    list('Decisions', steps.map(step)),
    list('Reservations', reservations.map(reservation)),
    el('p.hint', `${written.join(', ')} sent.`),
  ]
}

/** People with a text in name or address, or with an id. */
export const openPeople = (query: URLSearchParams): View => {
  const text = el('input', { type: 'search', value: query.get('q') ?? '' })
  const restricted = el('input', { type: 'checkbox', checked: query.has('restricted') })
  const search = (event: Event) => {
    event.preventDefault()
    const wanted = new URLSearchParams({ q: text.value, ...(restricted.checked && { restricted: '' }) })
    if (`${wanted}` === `${query}`) void view.load()
    else location.hash = `people?${wanted}`
  }
  const fields = [field('Name, e-mail address or id', text), el('label.check', restricted, 'Hidden or suspended only')]
  const form = el('form.filter', { role: 'search', submit: search }, ...fields, el('button.strong', 'Search'))
  const view: View = openView([form], async () => {
    const wanted = { query: query.get('q') ?? '', restricted: query.has('restricted') }
    const people = await rpc<Person[]>('find_people', wanted)
    const limit = people.length === 50 ? el('p.hint', 'These are the newest 50.') : null
    const isOne = people.length === 1 && `${people[0]!.id}` === query.get('q')?.trim()
    if (isOne) return [card(people[0]!, view), ...await openHistory(people[0]!.id)]
    return people.length ? [...people.map((person) => card(person, view)), limit] : [empty('Nobody was found.')]
  })
  return view
}
