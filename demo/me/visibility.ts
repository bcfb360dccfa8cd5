import type { SupabaseClient } from '@supabase/supabase-js'
import { el, setText } from '../dom.ts'
import { formSwitch, section } from '../form.ts'
import { errorText, request } from '../request.ts'
import type { Me } from './types.ts'

const sentence = 'On: everybody can find you in the search and read your profile. Off: nobody can, and only those ' +
  'whom you write to see your name.'

/** Whether others find the profile. A refused change takes the switch back. */
export const visibilitySection = (supabase: SupabaseClient, me: Me): HTMLElement => {
  const alert = el('p', { class: 'notice', role: 'alert', hidden: true })
  const status = el('p', { class: 'hint', role: 'status', hidden: true })
  const change = async () => {
    const is_searchable = control.checked
    setText(alert, '')
    try {
      await request(supabase, 'users/searchable', { method: 'PATCH', body: { is_searchable } })
      setText(status, is_searchable ? 'You can be found now.' : 'You are hidden now.')
    } catch (error) {
      control.checked = !is_searchable
      setText(status, '')
      setText(alert, errorText(error))
    }
  }
  const { control, node } = formSwitch('Others can find me', sentence, change)
  control.checked = me.Profile.is_searchable
  return section('Visibility', node, status, alert)
}
