import { field } from '../demo/dialog.ts'
import { button, el, select } from '../demo/dom.ts'
import { formatPeriod, formatPrice } from '../demo/format.ts'
import { dataApi } from './api.ts'
import { changeReservation, statuses, type Terms } from './reservation_changes.ts'
import { detail, empty, moment, openView, personLink, tag, type View } from './view.ts'

interface Person {
  id: number
  name: string
}

interface Reservation extends Terms {
  conversation: { id: number; voyager: Person; local: Person }
  host: Person
  history: (Terms & { note: string | null; created_at: string; by: Person | null })[]
}

const pageSize = 25
const columns = 'id,status,title,price,date,ends_at,' +
  'conversation:conversations(id,voyager:users!voyager_id(id,name),local:users!local_id(id,name)),' +
  'host:users!host_id(id,name),' +
  'history:reservation_history(id,status,title,price,date,ends_at,note,created_at,by:users!by_id(id,name))'

const terms = ({ title, price, date, ends_at }: Terms): string =>
  `${title}, ${formatPeriod(date, ends_at)}, ${formatPrice(Number(price))}`

const card = (reservation: Reservation, view: View): HTMLElement => {
  const { id, status, title, conversation, host, history } = reservation
  const steps = history.toSorted((one, other) => one.id - other.id).map((step) => {
    const what = ` ${step.status} by ${step.by?.name ?? 'an admin or the clock'}: ${terms(step)}`
    return el('li', moment(step.created_at), what, step.note && el('p.quote', step.note))
  })
  return el(
    'article.card',
    { 'aria-label': `Reservation ${id}` },
    el('h3', title, ' ', tag(status, status)),
    el(
      'dl',
      detail('Begins', moment(reservation.date)),
      detail('Ends', reservation.ends_at && moment(reservation.ends_at)),
      detail('Price', formatPrice(Number(reservation.price))),
      detail('Voyager', personLink(conversation.voyager.id, conversation.voyager.name)),
      detail('Local', personLink(conversation.local.id, conversation.local.name)),
      detail('Host', host.name),
    ),
    el('details', el('summary', `History (${steps.length})`), el('ol.history', ...steps)),
    el('div.actions', button('Change', () => changeReservation(reservation, view))),
  )
}

/** Reservations, the newest first, with what happened to each. */
export const openReservations = (query: URLSearchParams): View => {
  const status = query.get('status') ?? ''
  const before = Number(query.get('before')) || 0
  const go = (next: Record<string, string>) => location.hash = `reservations?${new URLSearchParams(next)}`
  const filter = select({ '': 'all', ...statuses }, status)
  filter.addEventListener('change', () => go({ status: filter.value }))
  const form = el('div.filter', field('Status', filter))
  return openView([form], async (view) => {
    const conditions = (status && `&status=eq.${encodeURIComponent(status)}`) + (before ? `&id=lt.${before}` : '')
    const path = `reservations?select=${columns}&order=id.desc&limit=${pageSize}${conditions}`
    const found = await dataApi<Reservation[]>('GET', path)
    const last = found.at(-1)?.id
    const older = found.length === pageSize ? button('Older', () => go({ status, before: `${last}` })) : null
    return found.length ? [...found.map((each) => card(each, view)), older] : [empty('There are none.')]
  })
}
