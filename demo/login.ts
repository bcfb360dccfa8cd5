import type { SupabaseClient } from '@supabase/supabase-js'
import type { Config } from './config.ts'
import { avatar, button, el, setText } from './dom.ts'
import { createApiClient, dataOf } from '../clients/api_client.ts'
import { errorText } from './errors.ts'
import { openRecovery } from './recovery.ts'
import { link, type Navigation } from './navigation.ts'
import { farewell } from './notices.ts'
import { everybody } from './router.ts'
import { ownPhoto } from './storage.ts'

const facesShown = 7

/** The text of the page, which is in the HTML, so that it is there before this script. */
export const greeting = document.querySelector('.welcome')!

/**
 * The start page: what this is, the demo people whom one can be with one click, that of this pane first, the form to
 * log in or sign up, and some who can be met. The pane learns of the session through supabase-js.
 */
export const openStart = (
  supabase: SupabaseClient,
  { logIns, publishableKey }: Config,
  own: number,
  navigation: Navigation,
): HTMLElement => {
  let isSignUp = false
  let isSubmitting = false

  const field = (label: string, attributes: Record<string, string | boolean>) => {
    const input = el('input', { required: true, ...attributes })
    return { input, label: el('label.field', el('span', label), input) }
  }
  const name = field('Name', { name: 'name', autocomplete: 'name', maxlength: '100' })
  const email = field('E-mail', { name: 'email', type: 'email', autocomplete: 'username' })
  const password = field('Password', { name: 'password', type: 'password', autocomplete: 'current-password' })
  const submit = el('button.strong')
  const toggle = button('', () => setSignUp(!isSignUp), 'link')
  const forgotten = button('Forgotten your password?', () => recover(), 'link')
  const alert = el('p.notice', { role: 'alert', hidden: true })
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

  const logIn = async (credentials: { email: string; password: string }) => {
    const { error } = await supabase.auth.signInWithPassword(credentials)
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
    for (const one of [submit, ...walkIns]) one.ariaDisabled = `${submitting}`
  }
  const run = async (action: () => Promise<void>, onError = () => {}) => {
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
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault()
    const entered = { email: email.input.value, password: password.input.value }
    run(() => isSignUp ? signUp() : logIn(entered), () => {
      password.input.focus()
      password.input.select()
    })
  }

  // They are in the HTML, too; demo/arriving.js keeps a click from before this script.
  const early = greeting.querySelector<HTMLButtonElement>('.walk-in[aria-busy]')
  early?.removeAttribute('aria-busy')
  const welcome = greeting.cloneNode(true) as HTMLElement
  const walkIns = [...welcome.querySelectorAll<HTMLButtonElement>('.walk-in')]
  walkIns.unshift(...walkIns.splice(own, 1))
  welcome.querySelector('.walk-ins')?.prepend(...walkIns)
  for (const walkIn of walkIns) {
    const person = logIns.find(({ email }) => email === walkIn.value)!
    walkIn.addEventListener('click', () => run(() => logIn(person)))
  }
  const recover = () => {
    const recovery = openRecovery(supabase, publishableKey, email.input.value, () => {
      recovery.replaceWith(form)
      forgotten.focus()
    })
    form.replaceWith(recovery)
  }
  setSignUp(false)
  const form = el(
    'form.log-in',
    { submit: onSubmit },
    heading,
    farewell,
    name.label,
    email.label,
    password.label,
    alert,
    el('div.row', submit, toggle),
    forgotten,
  )
  const faces = el('ul.faces', { 'aria-label': 'Some of the people here' })
  const showFaces = async () => {
    // Without words those who came first are found: in the demo people of one age.
    const params = { query: { q: 'live music', limit: facesShown } }
    const { hits } = await dataOf(createApiClient(supabase).GET('/users/search', { params }))
    faces.replaceChildren(
      ...hits.map(({ id, name, city, image_url }) =>
        el(
          'li',
          avatar(name, ownPhoto(image_url), 'large'),
          link(navigation, { page: 'profile', id }, { class: 'name' }, name.split(' ')[0]),
          city && el('span.hint', city),
        )
      ),
    )
  }
  // The page does without them.
  showFaces().catch(() => {})
  const search = welcome.querySelector('form')!
  // Whoever has begun to type into it goes on.
  const isTyping = greeting.contains(document.activeElement)
  const first = isTyping ? search.querySelector('input')! : walkIns[0] ?? email.input
  first.dataset.first = ''
  search.addEventListener('submit', (event) => {
    event.preventDefault()
    navigation.go({ page: 'people', search: { ...everybody, q: `${new FormData(search).get('q')}` } })
  })
  if (early) walkIns.find(({ value }) => value === early.value)?.click()
  return el('div.start', welcome, form, faces)
}
