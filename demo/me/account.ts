import type { SupabaseClient } from '@supabase/supabase-js'
import { type ApiClient, dataOf } from '../../clients/api_client.ts'
import { field, openDialog } from '../dialog.ts'
import { button, el, saveFile, setText } from '../dom.ts'
import { formField, openForm, openOutcome, section } from '../form.ts'
import { formatMonth } from '../format.ts'
import { mailsHere } from '../mails.ts'
import { farewell } from '../notices.ts'
import type { Session } from '../session.ts'
import type { Me } from './types.ts'

/** A new password, as Auth refuses it: at least eight characters. */
export const passwordField = () => {
  const limits = { autocomplete: 'new-password', required: true, minlength: '8', maxlength: '72' }
  return formField('New password', el('input', { type: 'password', ...limits }), 'At least 8 characters')
}
/** A code of a mail. */
export const codeField = () =>
  formField('Code', el('input', { inputmode: 'numeric', autocomplete: 'one-time-code', maxlength: '10' }))

const passwordForm = (supabase: SupabaseClient): HTMLElement => {
  const password = passwordField()
  const form = openForm({ password }, [password.node], async () => {
    const { error } = await supabase.auth.updateUser({ password: password.control.value })
    if (error) throw error
    password.control.value = ''
  })
  return el('details', el('summary', 'Change the password'), form)
}

/** Changes the address with the code that Auth mails to it; Supabase's mails another one to the present address. */
const addressForm = (supabase: SupabaseClient, present: string, onChange: (address: string) => void): HTMLElement => {
  const email = formField('New e-mail', el('input', { type: 'email', autocomplete: 'email', required: true }))
  const code = codeField()
  const sent = el('p', { role: 'status' })
  const confirm = async () => {
    const wanted = email.control.value.trim()
    const token = code.control.value.trim()
    const use = (address: string) => supabase.auth.verifyOtp({ email: address, token, type: 'email_change' })
    let { error } = await use(wanted)
    if (error) ({ error } = await use(present))
    if (error) throw error
    const { data: { user } } = await supabase.auth.getUser()
    if (user?.email?.toLowerCase() !== wanted.toLowerCase()) {
      code.control.value = ''
      throw new Error('The other address was sent a code, too: enter it as well')
    }
    onChange(user.email)
    form.replaceChildren(el('summary', 'Change the e-mail address'), el('p', { role: 'status' }, 'Changed.'))
  }
  const ask = async () => {
    const { error } = await supabase.auth.updateUser({ email: email.control.value.trim() })
    if (error) throw error
    sent.replaceChildren(`A code is on its way to ${email.control.value.trim()}.`, mailsHere())
    first.replaceWith(openForm({ code }, [sent, code.node], confirm, 'Change the address'))
    code.control.focus()
  }
  const first = openForm({ email }, [email.node], ask, 'Send a code')
  const form = el('details', el('summary', 'Change the e-mail address'), first)
  return form
}

/** Everything that the service has of the user, as a file. */
const download = async (api: ApiClient): Promise<string> => {
  const everything = JSON.stringify(await dataOf(api.GET('/users/me/export')), null, 2)
  saveFile(everything, 'application/json', 'my-data.json')
  return 'It is among your downloads.'
}

/** The account itself: its password, a copy of everything, and its end. */
export const accountSection = ({ supabase, api }: Session, me: Me, signal: AbortSignal, since = ''): HTMLElement => {
  const { nodes, attempt } = openOutcome()
  let address = me.email
  const shownAddress = el('dd', address)
  const erase = () => {
    const typed = el('input', { type: 'email', autocomplete: 'off', required: true })
    const warning = 'Your name, profile and photo go for good, at once. Those whom you wrote to keep your messages, ' +
      'from “Deleted user”.'
    const fields = [el('p', warning), field(`Type ${address} to go on`, typed)]
    openDialog('Delete your account?', fields, 'Delete for good', async () => {
      if (typed.value.trim().toLowerCase() !== address.toLowerCase()) throw new Error('This is not your address')
      await dataOf(api.DELETE('/users/me'))
      setText(farewell, 'Your account is deleted.')
      await supabase.auth.signOut({ scope: 'local' })
    }, signal)
  }
  const toDownload = button('Download my data', () => attempt(() => download(api)))
  return section(
    'Account',
    el('dl', el('dt', 'E-mail'), shownAddress, since && el('dt', 'Here since'), since && el('dd', formatMonth(since))),
    addressForm(supabase, address, (changed) => shownAddress.textContent = address = changed),
    passwordForm(supabase),
    el('div.row', toDownload, button('Delete my account…', erase, 'quiet')),
    ...nodes,
  )
}
