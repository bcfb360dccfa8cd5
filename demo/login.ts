import type { SupabaseClient } from '@supabase/supabase-js'
import type { Config } from './config.ts'
import { el, setText } from './dom.ts'
import { createApiClient, dataOf } from '../clients/api_client.ts'
import { errorText } from './errors.ts'

/** The log-in and sign-up form. The pane learns of the session through supabase-js. */
export const logInForm = (supabase: SupabaseClient, logIns: Config['logIns'], prefilled: number): HTMLElement => {
  let isSignUp = false
  let isSubmitting = false

  const field = (label: string, attributes: Record<string, string | boolean>) => {
    const input = el('input', { required: true, ...attributes })
    return { input, label: el('label', { class: 'field' }, el('span', {}, label), input) }
  }
  const name = field('Name', { name: 'name', autocomplete: 'name', maxlength: '100' })
  const email = field('E-mail', { name: 'email', type: 'email', autocomplete: 'username' })
  const password = field('Password', { name: 'password', type: 'password', autocomplete: 'current-password' })
  const choice = el(
    'select',
    { change: () => prefill() },
    ...logIns.map(({ who }, index) => el('option', { value: `${index}` }, who)),
    el('option', { value: '' }, 'Other account'),
  )
  const people = el('label', { class: 'field' }, el('span', {}, 'Demo account'), choice)
  const submit = el('button', { class: 'strong' })
  const toggle = el('button', { type: 'button', class: 'link', click: () => setSignUp(!isSignUp) })
  const alert = el('p', { class: 'notice', role: 'alert', hidden: true })
  const heading = el('h2', {})

  const prefill = () => {
    const chosen = logIns[Number(choice.value || NaN)]
    email.input.value = chosen?.email ?? ''
    password.input.value = chosen?.password ?? ''
  }
  const setSignUp = (signUp: boolean) => {
    isSignUp = signUp
    heading.textContent = submit.textContent = signUp ? 'Sign up' : 'Log in'
    toggle.textContent = signUp ? 'Log in instead' : 'Create an account'
    name.label.hidden = name.input.disabled = !signUp
    people.hidden = signUp || !logIns.length
    password.input.autocomplete = signUp ? 'new-password' : 'current-password'
    setText(alert, '')
    if (signUp) {
      choice.value = ''
      prefill()
    }
  }

  const logIn = async () => {
    const { error } = await supabase.auth.signInWithPassword({
      email: email.input.value,
      password: password.input.value,
    })
    if (error) throw error
  }
  const signUp = async () => {
    const body = { name: name.input.value, email: email.input.value, password: password.input.value }
    const { access_token, refresh_token } = await dataOf(createApiClient(supabase).POST('/auth/signup', { body }))
    if (!access_token || !refresh_token) throw new Error('Confirm your e-mail address, then log in')
    const { error } = await supabase.auth.setSession({ access_token, refresh_token })
    if (error) throw error
  }
  // aria-disabled, because a disabled button loses the focus.
  const setSubmitting = (submitting: boolean) => {
    isSubmitting = submitting
    submit.ariaDisabled = `${submitting}`
  }
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isSubmitting) return
    setSubmitting(true)
    setText(alert, '')
    try {
      await (isSignUp ? signUp() : logIn())
    } catch (error) {
      setText(alert, errorText(error))
      password.input.focus()
      password.input.select()
    }
    setSubmitting(false)
  }

  setSignUp(false)
  choice.value = logIns[prefilled] ? `${prefilled}` : ''
  prefill()
  choice.dataset.first = email.input.dataset.first = ''
  if (!logIns.length) delete choice.dataset.first
  return el(
    'form',
    { class: 'log-in', submit: onSubmit },
    heading,
    people,
    name.label,
    email.label,
    password.label,
    alert,
    el('div', { class: 'row' }, submit, toggle),
  )
}
