import { type ApiClient, dataOf } from '../../clients/api_client.ts'
import { formSwitch, openOutcome, section } from '../form.ts'
import type { Me } from './types.ts'

const sentence = 'On: everybody can find you in the search and read your profile. Off: nobody can, and only those ' +
  'whom you write to see your name.'

/** Whether others find the profile. A refused change takes the switch back. */
export const visibilitySection = (api: ApiClient, me: Me, onSaved: () => void): HTMLElement => {
  const { nodes, attempt } = openOutcome()
  let saved = me.Profile.is_searchable
  let isSaving = false
  const save = (is_searchable: boolean) =>
    attempt(async () => {
      await dataOf(api.PATCH('/users/searchable', { body: { is_searchable } })).catch((error) => {
        control.checked = saved
        throw error
      })
      saved = is_searchable
      onSaved()
      return is_searchable ? 'You can be found now.' : 'You are hidden now.'
    })
  const change = async () => {
    if (isSaving) return
    isSaving = true
    // Again, if the switch is used while a change is being saved.
    while (control.checked !== saved) await save(control.checked)
    isSaving = false
  }
  const { control, node } = formSwitch('Others can find me', sentence, change)
  control.checked = saved
  return section('Visibility', node, ...nodes)
}
