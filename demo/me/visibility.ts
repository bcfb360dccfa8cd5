import { type ApiClient, dataOf } from '../../clients/api_client.ts'
import { el, setText } from '../dom.ts'
import { formSwitch, section } from '../form.ts'
import { errorText } from '../errors.ts'
import type { Me } from './types.ts'

const sentence = 'On: everybody can find you in the search and read your profile. Off: nobody can, and only those ' +
  'whom you write to see your name.'

/** Whether others find the profile. A refused change takes the switch back. */
export const visibilitySection = (api: ApiClient, me: Me, onSaved: () => void): HTMLElement => {
  const alert = el('p', { class: 'notice', role: 'alert', hidden: true })
  let saved = me.Profile.is_searchable
  let isSaving = false
  const status = el('p', { class: 'hint', role: 'status', hidden: true })
  const save = async (is_searchable: boolean) => {
    setText(alert, '')
    try {
      await dataOf(api.PATCH('/users/searchable', { body: { is_searchable } }))
      saved = is_searchable
      onSaved()
      setText(status, is_searchable ? 'You can be found now.' : 'You are hidden now.')
    } catch (error) {
      control.checked = saved
      setText(status, '')
      setText(alert, errorText(error))
    }
  }
  const change = async () => {
    if (isSaving) return
    isSaving = true
    // Again, if the switch is used while a change is being saved.
    while (control.checked !== saved) await save(control.checked)
    isSaving = false
  }
  const { control, node } = formSwitch('Others can find me', sentence, change)
  control.checked = saved
  return section('Visibility', node, status, alert)
}
