import { type ApiClient, dataOf } from '../../clients/api_client.ts'
import { el } from '../dom.ts'
import { formField, openForm, section } from '../form.ts'
import type { Me } from './types.ts'

/** What others read about the user. */
export const aboutSection = (api: ApiClient, me: Me, onName: (name: string) => void): HTMLElement => {
  const fields = {
    name: formField('Name', el('input', { autocomplete: 'name', required: true })),
    bio: formField('One line about you', el('input', {}), 'It helps the search to order people for you'),
    city: formField('City', el('input', { autocomplete: 'address-level2' })),
    country: formField('Country', el('input', { autocomplete: 'country-name' })),
    biography: formField(
      'About you',
      el('textarea', { rows: '6' }),
      'Others read it before they write, and find you by it',
    ),
  }
  const values = ({ name, bio, Profile: { city, country, biography } }: Me) => ({ name, bio, city, country, biography })
  let saved: Record<string, string | null> & { name: string } = values(me)
  for (const [name, field] of Object.entries(fields)) field.control.value = saved[name] ?? ''
  const save = async () => {
    const typed = Object.entries(fields).map(([name, { control }]) =>
      [name, control.value.trim() === '' && name !== 'name' ? null : control.value] as const
    )
    const body = Object.fromEntries(typed.filter(([name, value]) => value !== saved[name]))
    saved = values(await dataOf(api.PATCH('/users/profile', { body })))
    onName(saved.name)
  }
  return section('About you', openForm(fields, Object.values(fields).map(({ node }) => node), save))
}
