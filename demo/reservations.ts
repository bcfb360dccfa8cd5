import type { Reservation } from '../clients/inbox.ts'
import { el } from './dom.ts'
import { formatDate, pluralize } from './format.ts'
import { createList } from './list.ts'

/** The reservations of a conversation, read-only. */
export const openReservations = () => {
  const render = ({ title, price, date, status }: Reservation): HTMLElement =>
    el(
      'li',
      {},
      el('span', { class: 'name' }, title),
      el('span', { class: `tag ${status}` }, status),
      el('span', { class: 'when' }, `${formatDate(date)} · ${price.toFixed(2)}`),
    )
  const list = el('ul', {})
  const summary = el('summary', {})
  const node = el('details', { class: 'reservations', hidden: true }, summary, list)
  const show = createList<Reservation>(list, ({ id }) => `${id}`, render)
  return {
    node,
    show(reservations: readonly Reservation[]) {
      node.hidden = reservations.length === 0
      summary.textContent = pluralize(reservations.length, 'reservation', 'reservations')
      show(reservations)
    },
  }
}
