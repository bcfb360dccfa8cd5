import type { SupabaseClient } from '@supabase/supabase-js'
import { ask, wordsOf } from './ask.ts'
import type { Config } from './config.ts'
import { el, write } from './dom.ts'

interface Tokens {
  access_token: string | null
  refresh_token: string | null
}

/** Logs in, or signs up; the pane hears of it from supabase-js. */
export const logInForm = (supabase: SupabaseClient, logIns: Config['logIns'], prefilled: number): HTMLElement => {
  let isNew = false
  let isGoing = false

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
    el('option', { value: '' }, 'Somebody else'),
  )
  const people = el('label', { class: 'field' }, el('span', {}, 'Somebody of the demo world'), choice)
  const submit = el('button', { class: 'strong' })
  const turn = el('button', { type: 'button', class: 'link', click: () => setNew(!isNew) })
  const problem = el('p', { class: 'notice', role: 'alert', hidden: true })
  const heading = el('h3', {})

  const prefill = () => {
    const chosen = logIns[Number(choice.value || NaN)]
    email.input.value = chosen?.email ?? ''
    password.input.value = chosen?.password ?? ''
  }
  const setNew = (now: boolean) => {
    isNew = now
    heading.textContent = submit.textContent = now ? 'Sign up' : 'Log in'
    turn.textContent = now ? 'Log in instead' : 'Sign up as somebody new'
    name.label.hidden = name.input.disabled = !now
    people.hidden = now || !logIns.length
    password.input.autocomplete = now ? 'new-password' : 'current-password'
    write(problem, '')
    if (now) {
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
    const [said, given] = [email.input.value, password.input.value]
    const body = { name: name.input.value, email: said, password: given }
    const { access_token, refresh_token } = await ask<Tokens>(supabase, 'auth/signup', { method: 'POST', body })
    if (!access_token || !refresh_token) throw new Error('Nearly there: confirm the address by mail, then log in')
    const { error } = await supabase.auth.setSession({ access_token, refresh_token })
    if (error) throw error
  }
  // A button that is disabled loses the focus.
  const setGoing = (now: boolean) => {
    isGoing = now
    submit.ariaDisabled = `${now}`
  }
  const go = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isGoing) return
    setGoing(true)
    write(problem, '')
    try {
      await (isNew ? signUp() : logIn())
    } catch (error) {
      write(problem, wordsOf(error))
      password.input.focus()
      password.input.select()
    }
    setGoing(false)
  }

  setNew(false)
  choice.value = logIns[prefilled] ? `${prefilled}` : ''
  prefill()
  choice.dataset.first = email.input.dataset.first = ''
  if (!logIns.length) delete choice.dataset.first
  return el(
    'form',
    { class: 'log-in', submit: go },
    heading,
    people,
    name.label,
    email.label,
    password.label,
    problem,
    el('div', { class: 'row' }, submit, turn),
  )
}
