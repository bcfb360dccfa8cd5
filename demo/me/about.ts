import { type ApiClient, dataOf } from '../../clients/api_client.ts'
import { el, uniqueId } from '../dom.ts'
import { formField, openForm, section } from '../form.ts'
import type { Me } from './types.ts'

/** What a user has typed about themselves and not saved, for this tab until they log out. */
export const unsavedAbout = (me: number): string => `profile of ${me}`

/** What others read about the user. */
export const aboutSection = (api: ApiClient, me: Me, onName: (name: string) => void): HTMLElement => {
  const cities = el('datalist', { id: uniqueId('cities') })
  let asked = new AbortController()
  const completeCity = async () => {
    asked.abort()
    const { signal } = asked = new AbortController()
    const q = cityInput.value.trim()
    if ([...cities.options].some(({ value }) => value === q)) {
      cityInput.value = q.slice(0, q.lastIndexOf(', '))
      fields.country.control.value = q.slice(q.lastIndexOf(', ') + 2)
      return
    }
    const params = { query: { q, limit: 5, places: true } }
    const found = q && await dataOf(api.GET('/users/search/complete', { params, signal })).catch(() => null)
    // A browser shows the options that have the typed text: Fes, Morocco for fez too.
    const labelOf = (city: string) => city.toLowerCase().includes(q.toLowerCase()) ? city : `${city} (${q})`
    if (found) cities.replaceChildren(...found.cities.map((value) => el('option', { value, label: labelOf(value) })))
  }
  const cityInput = el('input', { autocomplete: 'off', list: cities.id, input: completeCity })
  const biographyHint = 'Others read it before they write, and find you by it'
  const fields = {
    name: formField('Name', el('input', { autocomplete: 'name', required: true })),
    city: formField('City', cityInput),
    country: formField('Country', el('input', { autocomplete: 'country-name' })),
    age: formField('Age', el('input', { type: 'number', min: '18', max: '120' })),
    languages: formField('You speak', el('input'), 'Languages, as you would say it'),
    biography: formField('About you', el('textarea', { rows: '6' }), biographyHint),
    bio: formField('What you look for', el('input'), 'Only you see it: the search puts people first who fit'),
  }
  const all = Object.entries(fields)
  const values = ({ Profile, ...user }: Me) => {
    const everything: Record<string, unknown> = { ...Profile, ...user }
    return Object.fromEntries(all.map(([name]) => [name, everything[name]])) as Record<string, string | number | null>
  }
  let saved = values(me)
  const valueOf = (name: string, text: string) => {
    if (name === 'name') return text
    return text.trim() === '' ? null : name === 'age' ? Number(text) : text
  }
  const changes = () => {
    const typed = all.map(([name, { control }]) => [name, valueOf(name, control.value)] as const)
    return Object.fromEntries(typed.filter(([name, value]) => value !== saved[name]))
  }
  const key = unsavedAbout(me.id)
  const unsaved: typeof saved = JSON.parse(sessionStorage.getItem(key) ?? '{}')
  for (const [name, { control }] of all) control.value = `${(name in unsaved ? unsaved : saved)[name] ?? ''}`
  const save = async () => {
    const sent = changes()
    const { name } = await dataOf(api.PATCH('/users/profile', { body: sent }))
    saved = { ...saved, ...sent }
    sessionStorage.removeItem(key)
    onName(name)
  }
  const said = Object.keys(unsaved).length ? 'Not saved yet.' : ''
  const form = openForm(fields, [...all.map(([, { node }]) => node), cities], save, 'Save', said)
  form.addEventListener('input', () => sessionStorage.setItem(key, JSON.stringify(changes())))
  return section('About you', form)
}
