import type { SupabaseClient } from '@supabase/supabase-js'
import { createApiClient, dataOf } from '../clients/api_client.ts'
import { el } from './dom.ts'
import { formField, openForm } from './form.ts'
import { newPassword } from './me/account.ts'

interface Tokens {
  access_token: string
  refresh_token: string
}

/**
 * Who has forgotten the password gets a code by e-mail, and chooses another one with it. The pane's session begins when
 * the new password is saved, and not before, so Auth is asked without supabase-js, which would begin it with the code.
 */
export const openRecovery = (
  supabase: SupabaseClient,
  publishableKey: string,
  address: string,
  onBack: () => void,
): HTMLElement => {
  const askAuth = async (method: string, path: string, body: unknown, token = publishableKey) => {
    const headers = { apikey: publishableKey, Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
    const response = await fetch(`/auth/v1/${path}`, { method, headers, body: JSON.stringify(body) })
    const answer = await response.json()
    if (!response.ok && answer.error_code !== 'same_password') throw new Error(answer.msg ?? 'Auth did not answer')
    return answer
  }
  const email = formField(
    'E-mail',
    el('input', { type: 'email', autocomplete: 'username', required: true, value: address }),
  )
  const code = formField(
    'Code',
    el('input', { inputmode: 'numeric', autocomplete: 'one-time-code', required: true, maxlength: '10' }),
  )
  const password = formField('New password', newPassword(), 'At least 8 characters')
  const back = el('button', { type: 'button', class: 'link', click: onBack }, 'Back to the log-in')

  // A code can be used once, and the password may be refused after it.
  let tokens: Tokens | undefined
  const choose = async () => {
    const used = { type: 'recovery', email: email.control.value, token: code.control.value.trim() }
    tokens ??= await askAuth('POST', 'verify', used) as Tokens
    await askAuth('PUT', 'user', { password: password.control.value }, tokens.access_token)
    const { error } = await supabase.auth.setSession(tokens)
    if (error) throw error
  }
  const askForCode = async () => {
    await dataOf(createApiClient(supabase).POST('/auth/recover', { body: { email: email.control.value } }))
    const sent = 'If there is such an account, a code is on its way to it. Mails of this machine are at /mail.'
    const second = openForm(
      { code, password },
      [el('p', {}, sent), code.node, password.node],
      choose,
      'Save and log in',
    )
    first.replaceWith(second)
    code.control.focus()
  }
  const first = openForm({ email }, [email.node], askForCode, 'Send a code')
  setTimeout(() => email.control.focus())
  return el('div', { class: 'log-in' }, el('h2', {}, 'Choose a new password'), first, back)
}
