import type { Session, SupabaseClient } from '@supabase/supabase-js'
import { createApiClient, dataOf } from '../clients/api_client.ts'
import { button, el } from './dom.ts'
import { formField, openForm } from './form.ts'
import { type MailLink, mailsHere } from './mails.ts'
import { codeField, passwordField } from './me/account.ts'

/** Asks Auth without supabase-js, which would begin a session as soon as a code is used. */
const authOf = (publishableKey: string) => async (method: string, path: string, body: unknown, token?: string) => {
  const Authorization = `Bearer ${token ?? publishableKey}`
  const headers = { apikey: publishableKey, Authorization, 'Content-Type': 'application/json' }
  const response = await fetch(`/auth/v1/${path}`, { method, headers, body: JSON.stringify(body) })
  const answer = await response.json()
  if (answer.error_code === 'otp_expired') throw new Error('This is wrong, was used already or has expired')
  if (!response.ok && answer.error_code !== 'same_password') throw new Error(answer.msg ?? 'Auth did not answer')
  return answer
}

/** Uses up a code of a recovery mail for this password. The pane's session begins when that is saved. */
const passwordChoice = (supabase: SupabaseClient, publishableKey: string) => {
  const askAuth = authOf(publishableKey)
  // A code can be used once, and the password may be refused after it.
  let tokens: Session | undefined
  return async (code: object, password: string): Promise<void> => {
    tokens ??= await askAuth('POST', 'verify', { type: 'recovery', ...code }) as Session
    await askAuth('PUT', 'user', { password }, tokens.access_token)
    const { error } = await supabase.auth.setSession(tokens)
    if (error) throw error
  }
}

const box = (heading: string, ...parts: Node[]): HTMLElement => el('div.log-in', el('h2', heading), ...parts)

/** Who has forgotten the password gets a code by e-mail, and chooses another one with it. */
export const openRecovery = (supabase: SupabaseClient, publishableKey: string, address: string, onBack: () => void) => {
  const input = el('input', { type: 'email', autocomplete: 'username', required: true, value: address })
  const email = formField('E-mail', input)
  const code = codeField()
  const password = passwordField()
  const back = button('Back to the log-in', onBack, 'link')
  const choose = passwordChoice(supabase, publishableKey)
  const askForCode = async () => {
    await dataOf(createApiClient(supabase).POST('/auth/recover', { body: { email: email.control.value } }))
    const sent = el('p', 'If there is such an account, a code is on its way to it.', mailsHere())
    const save = () => choose({ email: email.control.value, token: code.control.value.trim() }, password.control.value)
    first.replaceWith(openForm({ code, password }, [sent, code.node, password.node], save, 'Save and log in'))
    code.control.focus()
  }
  const first = openForm({ email }, [email.node], askForCode, 'Send a code')
  setTimeout(() => email.control.focus())
  return box('Choose a new password', first, back)
}

/**
 * What the button of a mail leads to. Its code is used up by the form and not by the address, because programs look at
 * the links of mails.
 */
export const openMailLink = (supabase: SupabaseClient, publishableKey: string, link: MailLink, onDone: () => void) => {
  const { type, ...code } = link
  const back = button('Not now', onDone, 'link')
  const page = (heading: string, form: HTMLElement) => el('div.start', box(heading, form, back))
  if (type === 'recovery') {
    const password = passwordField()
    const choose = passwordChoice(supabase, publishableKey)
    const save = () => choose(code, password.control.value).then(onDone)
    setTimeout(() => password.control.focus())
    return page('Choose a new password', openForm({ password }, [password.node], save, 'Save and log in'))
  }
  const change = async () => {
    const answer = await authOf(publishableKey)('POST', 'verify', { type, ...code })
    // Supabase asks both addresses.
    if (!answer.access_token) throw new Error('Confirmed. The other address was sent a mail, too: follow that as well')
    const { error } = await supabase.auth.setSession(answer)
    if (error) throw error
    onDone()
  }
  const question = el('p', 'Your account gets the address to which this mail was sent.')
  return page('Confirm your new e-mail address', openForm({}, [question], change, 'Confirm'))
}
