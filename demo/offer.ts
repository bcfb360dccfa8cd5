import { type ApiClient, dataOf } from '../clients/api_client.ts'
import type { ReservationDetail } from '../clients/inbox.ts'
import { field, openDialog } from './dialog.ts'
import { el } from './dom.ts'
import { currency, timeZone, toLocal, toTimestamp } from './format.ts'

const inAWeek = (): string => {
  const moment = new Date(Date.now() + 7 * 86_400_000)
  moment.setHours(18, 0, 0, 0)
  return moment.toISOString()
}

/**
 * Asks for an offer, new or instead of the given one, and makes it. `overlap` says what the host has agreed on for such
 * times; a second press sends the offer all the same.
 */
export const openOffer = (
  api: ApiClient,
  conversation: number,
  current: ReservationDetail | null,
  overlap: (date: string, ends_at: string | null) => Promise<string>,
  onDone: () => void,
  signal: AbortSignal,
): void => {
  const title = el('input', { required: true, maxlength: '120', placeholder: 'Two nights on the sofa' })
  const date = el('input', { type: 'datetime-local', required: true })
  const end = el('input', { type: 'datetime-local' })
  const price = el('input', { type: 'number', required: true, min: '0', max: '100000', step: '0.01' })
  title.value = current?.title ?? ''
  date.value = toLocal(current?.date ?? inAWeek())
  end.value = toLocal(current?.ends_at ?? null)
  price.value = `${current?.price ?? 0}`
  let warned = ''
  const fields = [
    field('What', title),
    field('From', date, `In your time zone, ${timeZone}`),
    field('Until', end, 'Empty: it has no fixed end, and others may come as well'),
    field('Price', price, `In ${currency}; 0 if it is free`),
  ]
  const send = async () => {
    const times = { date: toTimestamp(date.value) ?? '', ends_at: toTimestamp(end.value) }
    const body = { title: title.value.trim(), ...times, price: Number(price.value) }
    const warning = await overlap(body.date, body.ends_at).catch(() => '')
    if (warning && warning !== warned) throw new Error(`${warned = warning} Press again to send it all the same.`)
    const path = { id: conversation }
    if (current) {
      const params = { path: { ...path, rid: current.id } }
      const changed = { ...body, revision: current.revision }
      await dataOf(api.PATCH('/conversations/{id}/reservations/{rid}', { params, body: changed }))
    } else await dataOf(api.POST('/conversations/{id}/reservations', { params: { path }, body }))
    onDone()
  }
  if (current) openDialog('Change the offer', fields, 'Send the change', send, signal)
  else openDialog('Offer a reservation', fields, 'Send the offer', send, signal)
}
