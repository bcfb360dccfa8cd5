import { field } from '../demo/dialog.ts'
import { el } from '../demo/dom.ts'
import { pluralize } from '../demo/format.ts'
import { rpc, update } from './api.ts'
import { askForChanges, askWhy, select } from './ask.ts'
import { button, detail, empty, moment, openView, tag, type View } from './view.ts'

interface Person {
  id: number
  name: string
  email: string
  status: 'active' | 'pending' | 'suspended' | 'erased'
  is_hidden: boolean
  is_searchable: boolean
  bio: string | null
  location: string | null
  role: string
  created_at: string
  reports: number
  upheld: number
}

const edit = ({ id, name, bio, location, role }: Person, view: View) => {
  const text = (value: string | null) => el('input', { value: value ?? '' })
  const orNull = (value: string) => value === '' ? null : value
  const inputs = [
    { column: 'name', label: 'Name', control: text(name) },
    { column: 'bio', label: 'Bio', control: text(bio), parse: orNull },
    { column: 'location', label: 'Location', control: text(location), parse: orNull },
    { column: 'role', label: 'Role', control: select({ user: 'user', admin: 'admin' }, role) },
  ]
  askForChanges(name, inputs, (changes) => update('users', id, changes), view)
}

const erase = ({ id, name }: Person, view: View) => {
  const confirmed = el('input', { inputmode: 'numeric', required: true })
  const submit = (note: string) => {
    if (confirmed.value.trim() !== `${id}`) throw new Error(`Not erased: type ${id} to confirm`)
    return rpc('erase_person', { person: id, note })
  }
  const hint = 'Name, address, profile and log-in are deleted for good; partners keep the conversations.'
  askWhy(`Erase: ${name}`, hint, 'Erase for good', async (note) => await submit(note), view, [
    field(`Type ${id} to confirm`, confirmed),
  ])
}

const steps = (person: Person, view: View): HTMLElement[] => {
  const { id, name, status, is_hidden } = person
  const change = (called: string, restriction: 'hide' | 'suspend') => (note: string) =>
    rpc(called, { person: id, restriction, note })
  const ask = (label: string, hint: string, submit: (note: string) => Promise<unknown>) =>
    button(label, () => askWhy(`${label}: ${name}`, hint, label, submit, view))
  if (status === 'erased') return []
  return [
    is_hidden
      ? ask('Lift hiding', 'They may make their profile searchable again.', change('lift_restriction', 'hide'))
      : ask('Hide', 'The profile leaves the search until this is lifted.', change('restrict_person', 'hide')),
    status === 'suspended'
      ? ask('Lift suspension', 'They can log in again.', change('lift_restriction', 'suspend'))
      : ask('Suspend', 'Their tokens are refused until this is lifted.', change('restrict_person', 'suspend')),
    button('Change', () => edit(person, view)),
    button('Erase', () => erase(person, view), 'bad'),
  ]
}

const card = (person: Person, view: View): HTMLElement =>
  el(
    'article',
    { class: 'card', 'aria-label': person.name },
    el(
      'h3',
      {},
      person.name,
      ' ',
      tag(person.status, person.status === 'active' ? 'accepted' : 'declined'),
      person.is_hidden && tag('hidden', 'declined'),
      person.role === 'admin' && tag('admin'),
    ),
    el(
      'dl',
      {},
      detail('Id', `${person.id}`),
      detail(
        'E-mail',
        person.email && el('a', { href: `mailto:${encodeURIComponent(person.email)}` }, person.email),
      ),
      detail('Since', moment(person.created_at)),
      detail('Bio', person.bio),
      detail('Location', person.location),
      detail('Profile', person.is_searchable ? 'searchable' : 'not searchable'),
      detail(
        'Reported',
        person.reports ? `${pluralize(person.reports, 'time', 'times')}, ${person.upheld} upheld` : null,
      ),
      detail('Decisions', el('a', { href: `#log?person=${person.id}` }, 'in the log')),
    ),
    el('div', { class: 'actions' }, ...steps(person, view)),
  )

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
  const form = el(
    'form',
    { class: 'filter', role: 'search', submit: search },
    field('Name, e-mail address or id', text),
    el('label', { class: 'check' }, restricted, 'Hidden or suspended only'),
    el('button', { class: 'strong' }, 'Search'),
  )
  const view: View = openView([form], async () => {
    const people = await rpc<Person[]>('find_people', {
      query: query.get('q') ?? '',
      restricted: query.has('restricted'),
    })
    const limit = people.length === 50 ? el('p', { class: 'hint' }, 'These are the newest 50.') : null
    return people.length ? [...people.map((person) => card(person, view)), limit] : [empty('Nobody was found.')]
  })
  return view
}
