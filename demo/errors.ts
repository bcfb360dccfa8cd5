import { offlineError } from '../clients/errors.ts'

/** The service names a field as its requests do; here it gets the words of the page. */
const fields: Record<string, string> = {
  content: 'The message',
  email: 'The e-mail address',
  password: 'The password',
  attachment: 'The file',
  name: 'The name',
  bio: 'What you look for',
  age: 'The age',
  biography: 'The text about you',
  city: 'The city',
  country: 'The country',
  image_url: 'The photo',
  interest_ids: 'The interests',
  is_searchable: 'The visibility',
  delay_minutes: 'The delay',
  quiet_hours: 'The quiet hours',
  title: 'What you offer',
  date: 'The beginning',
  ends_at: 'The end',
  price: 'The price',
  note: 'The note',
  q: 'The search',
}

/** What Auth says, in words of people. */
const sentences: Record<string, string> = {
  'Invalid login credentials': 'The e-mail address or the password is wrong.',
  'Email link is invalid or has expired': 'This code is wrong, or has expired.',
  'Token has expired or is invalid': 'This code is wrong, or has expired.',
}

/** The field that a refusal is about, if it names one, and what is wrong with it. */
export const refusalOf = (error: unknown): { field: string; text: string } => {
  const said = error instanceof Error ? error.message : String(error)
  const message = sentences[said] ?? said
  const [, field = '', rest = message] = /^(\w+)(?:\.\w+)*: (.*)$/s.exec(message) ?? []
  return Object.hasOwn(fields, field) ? { field, text: `${fields[field]} ${rest}` } : { field: '', text: message }
}

/** What went wrong, for a person. */
export const errorText = (error: unknown): string => refusalOf(error).text

/** Takes back that the service cannot be reached, wherever the page says so: tries again where that is offered. */
export const takeBackOffline = (page: HTMLElement): void => {
  const { message } = offlineError(null)
  for (const alert of page.querySelectorAll<HTMLElement>('[role=alert], [role=status]')) {
    if (!alert.textContent.startsWith(message) || alert.hasAttribute('data-by-hand')) continue
    alert.hidden = true
    alert.querySelector('button')?.click()
    if (alert.id) page.querySelector(`[aria-describedby~="${alert.id}"]`)?.removeAttribute('aria-invalid')
  }
}
