import type { SupabaseClient } from '@supabase/supabase-js'
import type { Config } from './config.ts'
import { avatar, button, el, setText } from './dom.ts'
import type { components } from '../clients/openapi.ts'
import { createApiClient, dataOf } from '../clients/api_client.ts'
import { errorText } from './errors.ts'
import { openRecovery } from './recovery.ts'
import { link, type Navigation } from './navigation.ts'
import { farewell } from './notices.ts'
import { everybody } from './router.ts'
import { ownPhoto } from './storage.ts'

const facesShown = 7

/** Tries one thing at a time. */
type Run = (action: () => Promise<void>, onError?: () => void) => void

/** The text of the page, which is in the HTML, so that it is there before this script. */
export const greeting = document.querySelector('.welcome')!

/** The greeting with those whom one can be, that of this pane first, and with a search. */
const openWelcome = (own: number, navigation: Navigation, onWalkIn: (email: string) => void) => {
  // They are in the HTML, too; demo/arriving.js keeps a click from before this script.
  const early = greeting.querySelector<HTMLButtonElement>('.walk-in[aria-busy]')
  early?.removeAttribute('aria-busy')
  const node = greeting.cloneNode(true) as HTMLElement
  const walkIns = [...node.querySelectorAll<HTMLButtonElement>('.walk-in')]
  walkIns.unshift(...walkIns.splice(own, 1))
  node.querySelector('.walk-ins')?.prepend(...walkIns)
  for (const walkIn of walkIns) walkIn.addEventListener('click', () => onWalkIn(walkIn.value))
  const search = node.querySelector('form')!
  search.addEventListener('submit', (event) => {
    event.preventDefault()
    navigation.go({ page: 'people', search: { ...everybody, q: `${new FormData(search).get('q')}` } })
  })
  // Whoever has begun to type into it goes on.
  const isTyping = greeting.contains(document.activeElement)
  const first = isTyping ? search.querySelector('input')! : walkIns[0]
  const clicked = early && walkIns.find(({ value }) => value === early.value)
  return { node, walkIns, first, clicked }
}

/** Some who can be met. The page does without them. */
const openFaces = (supabase: SupabaseClient, navigation: Navigation): HTMLElement => {
  const list = el('ul.faces', { 'aria-label': 'Some of the people here' })
  const render = ({ id, name, city, image_url }: components['schemas']['SearchHit']) => {
    const profile = link(navigation, { page: 'profile', id }, { class: 'name' }, name.split(' ')[0])
    return el('li', avatar(name, ownPhoto(image_url), 'large'), profile, city && el('span.hint', city))
  }
  // Without words those who came first are found: in the demo people of one age.
  const params = { query: { q: 'live music', limit: facesShown } }
  dataOf(createApiClient(supabase).GET('/users/search', { params }))
    .then(({ hits }) => list.replaceChildren(...hits.map(render))).catch(() => {})
  return list
}

const logIn = async (supabase: SupabaseClient, credentials: { email: string; password: string }) => {
  const { error } = await supabase.auth.signInWithPassword(credentials)
  if (error) throw error
}
const signUp = async (supabase: SupabaseClient, body: { name: string; email: string; password: string }) => {
  const { access_token, refresh_token } = await dataOf(createApiClient(supabase).POST('/auth/signup', { body }))
  if (!access_token || !refresh_token) throw new Error('Confirm your e-mail address, then log in')
  const { error } = await supabase.auth.setSession({ access_token, refresh_token })
  if (error) throw error
}

const field = (label: string, attributes: Record<string, string | boolean>) => {
  const input = el('input', { required: true, ...attributes })
  return { input, label: el('label.field', el('span', label), input) }
}

/** The form to log in or sign up. `run` tries it, and says what went wrong in the alert. */
const openLogIn = (supabase: SupabaseClient, publishableKey: string, run: Run, alert: HTMLElement) => {
  let isSignUp = false
  const name = field('Name', { name: 'name', autocomplete: 'name', maxlength: '100' })
  const email = field('E-mail', { name: 'email', type: 'email', autocomplete: 'username' })
  const password = field('Password', { name: 'password', type: 'password', autocomplete: 'current-password' })
  const submit = el('button.strong')
  const heading = el('h2')

  const setSignUp = (signUp: boolean) => {
    isSignUp = signUp
    heading.textContent = submit.textContent = signUp ? 'Sign up' : 'Log in'
    toggle.textContent = signUp ? 'Log in instead' : 'Create an account'
    name.label.hidden = name.input.disabled = !signUp
    forgotten.hidden = signUp
    password.input.autocomplete = signUp ? 'new-password' : 'current-password'
    setText(alert, '')
  }
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault()
    const entered = { email: email.input.value, password: password.input.value }
    const action = () => isSignUp ? signUp(supabase, { name: name.input.value, ...entered }) : logIn(supabase, entered)
    run(action, () => {
      password.input.focus()
      password.input.select()
    })
  }
  const recover = () => {
    const recovery = openRecovery(supabase, publishableKey, email.input.value, () => {
      recovery.replaceWith(form)
      forgotten.focus()
    })
    form.replaceWith(recovery)
  }

  const toggle = button('', () => setSignUp(!isSignUp), 'link')
  const forgotten = button('Forgotten your password?', recover, 'link')
  setSignUp(false)
  const fields = [name, email, password].map(({ label }) => label)
  const row = el('div.row', submit, toggle)
  const form = el('form.log-in', { submit: onSubmit }, heading, farewell, ...fields, alert, row, forgotten)
  return { form, submit, first: email.input }
}

/**
 * The start page: what this is, the demo people whom one can be with one click, that of this pane first, the form to
 * log in or sign up, and some who can be met. The pane learns of the session through supabase-js.
 */
export const openStart = (supabase: SupabaseClient, config: Config, own: number, navigation: Navigation) => {
  const { logIns, publishableKey } = config
  let isSubmitting = false
  const alert = el('p.notice', { role: 'alert', hidden: true })
  // aria-disabled, because a disabled button loses the focus.
  const setSubmitting = (submitting: boolean) => {
    isSubmitting = submitting
    for (const one of [submit, ...welcome.walkIns]) one.ariaDisabled = `${submitting}`
  }
  const run: Run = async (action, onError = () => {}) => {
    if (isSubmitting) return
    setSubmitting(true)
    for (const said of [alert, farewell]) setText(said, '')
    try {
      await action()
    } catch (error) {
      setText(alert, errorText(error))
      onError()
    }
    setSubmitting(false)
  }
  const walkIn = (address: string) => run(() => logIn(supabase, logIns.find(({ email }) => email === address)!))

  const { form, submit, first } = openLogIn(supabase, publishableKey, run, alert)
  const welcome = openWelcome(own, navigation, walkIn)
  ;(welcome.first ?? first).dataset.first = ''
  welcome.clicked?.click()
  return el('div.start', welcome.node, form, openFaces(supabase, navigation))
}
