import { type ApiClient, dataOf } from '../../clients/api_client.ts'
import { formSwitch, openOutcome, section } from '../form.ts'
import type { Me } from './types.ts'

const sentence = 'On: everybody can find you in the search and read your profile. Off: nobody can, and only those ' +
  'whom you write to see your name.'
const answersSentence = 'On: your profile says whether you usually answer within an hour, a day or a week, once five ' +
  'people have written to you first.'

/** Whether others find the profile, and what it says of answers. A refused change takes the switch back. */
export const visibilitySection = (api: ApiClient, me: Me, onSaved: () => void): HTMLElement => {
  const { nodes, attempt } = openOutcome()
  const savedSwitch = (label: string, sentence: string, saved: boolean, save: (isOn: boolean) => Promise<string>) => {
    let isSaving = false
    const change = async () => {
      if (isSaving) return
      isSaving = true
      // Again, if the switch is used while a change is being saved.
      while (control.checked !== saved) {
        const isOn = control.checked
        await attempt(async () => {
          const said = await save(isOn).catch((error) => {
            control.checked = saved
            throw error
          })
          saved = isOn
          return said
        })
      }
      isSaving = false
    }
    const { control, node } = formSwitch(label, sentence, saved, change)
    return node
  }
  const search = savedSwitch('Others can find me', sentence, me.Profile.is_searchable, async (is_searchable) => {
    await dataOf(api.PATCH('/users/searchable', { body: { is_searchable } }))
    onSaved()
    return is_searchable ? 'You can be found now.' : 'You are hidden now.'
  })
  const { show_answers: shown = true } = me.Profile
  const answers = savedSwitch('Show how soon I answer', answersSentence, shown, async (show_answers) => {
    await dataOf(api.PATCH('/users/profile', { body: { show_answers } }))
    return show_answers ? 'Your profile may say it.' : 'Your profile does not say it any more.'
  })
  return section('Visibility', search, answers, ...nodes)
}
