import { field } from '../demo/dialog.ts'
import { button, el, select } from '../demo/dom.ts'
import { rpc, update } from './api.ts'
import { askForChanges, askWhy } from './ask.ts'
import { type View } from './view.ts'

/** A row of the database's find_people. */
export interface Person {
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
  const fields = [field(`Type ${id} to confirm`, confirmed)]
  askWhy(`Erase: ${name}`, hint, 'Erase for good', async (note) => await submit(note), view, fields)
}

/** What an admin can do about a person. */
export const openSteps = (person: Person, view: View): HTMLElement[] => {
  const { id, name, status, is_hidden } = person
  const change = (called: string, restriction: 'hide' | 'suspend') => (note: string) =>
    rpc(called, { person: id, restriction, note })
  const ask = (label: string, hint: string, submit: (note: string) => Promise<unknown>) =>
    button(label, () => askWhy(`${label}: ${name}`, hint, label, submit, view))
  const suspension = 'They are logged out, and cannot log in until this is lifted.'
  if (status === 'erased') return []
  return [
    is_hidden
      ? ask('Lift hiding', 'They may make their profile searchable again.', change('lift_restriction', 'hide'))
      : ask('Hide', 'Nobody finds the profile until this is lifted.', change('restrict_person', 'hide')),
    status === 'suspended'
      ? ask('Lift suspension', 'They can log in again.', change('lift_restriction', 'suspend'))
      : ask('Suspend', suspension, change('restrict_person', 'suspend')),
    button('Change', () => edit(person, view)),
    button('Erase', () => erase(person, view), 'bad'),
  ]
}
