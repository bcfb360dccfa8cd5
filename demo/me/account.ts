import type { SupabaseClient } from '@supabase/supabase-js'
import { type ApiClient, dataOf } from '../../clients/api_client.ts'
import { field, openDialog } from '../dialog.ts'
import { el, setText } from '../dom.ts'
import { errorText } from '../errors.ts'
import { formField, openForm, section } from '../form.ts'
import { formatMonth } from '../format.ts'
import type { Me } from './types.ts'

const roles = { user: 'User', admin: 'Admin' }

/** A new password, as Auth refuses it: at least eight characters. */
export const newPassword = (): HTMLInputElement =>
  el('input', { type: 'password', autocomplete: 'new-password', required: true, minlength: '8', maxlength: '72' })

const passwordForm = (supabase: SupabaseClient): HTMLElement => {
  const password = formField('New password', newPassword(), 'At least 8 characters')
  const form = openForm({ password }, [password.node], async () => {
    const { error } = await supabase.auth.updateUser({ password: password.control.value })
    if (error) throw error
    password.control.value = ''
  })
  return el('details', {}, el('summary', {}, 'Change the password'), form)
}

/** Everything that the service has of the user, as a file. */
const download = async (api: ApiClient): Promise<void> => {
  const everything = JSON.stringify(await dataOf(api.GET('/users/me/export')), null, 2)
  const href = URL.createObjectURL(new Blob([everything], { type: 'application/json' }))
  el('a', { href, download: 'my-data.json' }).click()
  setTimeout(() => URL.revokeObjectURL(href), 60_000)
}

/** The account itself: its password, a copy of everything, and its end. */
export const accountSection = (
  supabase: SupabaseClient,
  api: ApiClient,
  me: Me,
  since: string | undefined,
  signal: AbortSignal,
): HTMLElement => {
  const alert = el('p', { class: 'notice', role: 'alert', hidden: true })
  const status = el('p', { class: 'hint', role: 'status', hidden: true })
  const facts = [['E-mail', me.email], ['Role', roles[me.role]], ['Here since', since ? formatMonth(since) : '']]
  const copy = async () => {
    setText(alert, '')
    setText(status, 'Collecting …')
    await download(api).catch((error) => setText(alert, errorText(error)))
    setText(status, '')
  }
  const erase = () => {
    const typed = el('input', { type: 'email', autocomplete: 'off', required: true })
    const warning = 'Your name, profile and photo go for good, at once. Those whom you wrote to keep your messages, ' +
      'from “Deleted user”.'
    openDialog(
      'Delete your account?',
      [el('p', {}, warning), field(`Type ${me.email} to go on`, typed)],
      'Delete for good',
      async () => {
        if (typed.value.trim().toLowerCase() !== me.email.toLowerCase()) throw new Error('This is not your address')
        await dataOf(api.DELETE('/users/me'))
        await supabase.auth.signOut({ scope: 'local' })
      },
      signal,
    )
  }
  return section(
    'Account',
    el(
      'dl',
      {},
      ...facts.filter(([, text]) => text).flatMap(([term, text]) => [el('dt', {}, term!), el('dd', {}, text!)]),
    ),
    passwordForm(supabase),
    el(
      'div',
      { class: 'row' },
      el('button', { type: 'button', click: copy }, 'Download my data'),
      el('button', { type: 'button', class: 'quiet', click: erase }, 'Delete my account…'),
    ),
    status,
    alert,
  )
}
