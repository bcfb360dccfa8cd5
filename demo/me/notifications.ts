import { type ApiClient, dataOf } from '../../clients/api_client.ts'
import type { components } from '../../clients/openapi.ts'
import { button, el, select, uniqueId } from '../dom.ts'
import { formField, formSwitch, openForm, openOutcome, section } from '../form.ts'
import { timeZone } from '../format.ts'
import { canPush, subscribe } from '../push.ts'

export type NotificationSettings = components['schemas']['NotificationSettings']

const delays = {
  0: 'at once',
  10: 'after 10 minutes unread',
  60: 'after an hour unread',
  480: 'after 8 hours unread',
  1440: 'after a day unread',
}

const delayChoice = (minutes: number): HTMLSelectElement => {
  const all = { ...delays, ...(!Object.hasOwn(delays, minutes) && { [minutes]: `after ${minutes} minutes unread` }) }
  return select(all, `${minutes}`)
}

const pushButton = (api: ApiClient): HTMLElement => {
  const { nodes, attempt } = openOutcome()
  const ask = button('Notify me', () =>
    attempt(async () => {
      await subscribe(api)
      return ask.textContent = 'You are notified'
    }))
  const hint = el('p.hint', 'This browser tells you of messages while the page is closed.')
  return el('div.fields', el('div.row', hint, ask), ...nodes)
}

/** What the user is told while away, and when not. */
export const notificationsSection = (api: ApiClient, settings: NotificationSettings): HTMLElement => {
  const { push, email, previews, delay_minutes, quiet_hours } = settings
  const pushes = formSwitch('Push', 'To every browser in which you have asked for it.', push)
  const mails = formSwitch('E-mail', 'One mail for what you have not read, and none more until you have.', email)
  const texts = formSwitch('With the text', 'Pushes and mails quote the latest message.', previews)
  const quiet = formSwitch('Quiet hours', 'Nothing is sent in these hours.', quiet_hours !== null, () => drawHours())
  const delay = formField('A mail comes', delayChoice(delay_minutes))
  const from = formField('From', el('input', { type: 'time' }))
  const to = formField('Until', el('input', { type: 'time' }))
  const options = Intl.supportedValuesOf('timeZone').map((value) => el('option', { value }))
  const zones = el('datalist', { id: uniqueId('zones') }, ...options)
  const zone = formField('In the time zone', el('input', { list: zones.id, autocomplete: 'off' }))
  const hours = el('div.hours', from.node, to.node, zone.node, zones)
  const drawHours = () => hours.hidden = !quiet.control.checked
  from.control.value = quiet_hours?.from ?? '22:00'
  to.control.value = quiet_hours?.to ?? '08:00'
  zone.control.value = quiet_hours?.time_zone ?? timeZone
  drawHours()
  const save = () => {
    const body = {
      push: pushes.control.checked,
      email: mails.control.checked,
      previews: texts.control.checked,
      delay_minutes: Number(delay.control.value),
      quiet_hours: quiet.control.checked
        ? { from: from.control.value, to: to.control.value, time_zone: zone.control.value }
        : null,
    }
    return dataOf(api.PATCH('/users/me/notifications', { body }))
  }
  const parts = [pushes.node, mails.node, delay.node, texts.node, quiet.node, hours]
  const form = openForm({ delay_minutes: delay }, parts, save)
  const cannot = 'This browser cannot tell you of messages while the page is closed; your other browsers can.'
  const hint = () => el('div.fields', el('p.hint', cannot))
  return section('Notifications', canPush ? pushButton(api) : hint(), form)
}
