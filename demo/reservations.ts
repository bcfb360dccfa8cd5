import type { Reservation } from '../clients/inbox.ts'
import { el } from './dom.ts'
import { openList } from './list.ts'
import { count, dateOf } from './words.ts'

/** What two people have arranged; it is changed elsewhere. */
export const openReservations = () => {
  const draw = ({ title, price, date, status }: Reservation): HTMLElement =>
    el(
      'li',
      {},
      el('span', { class: 'name' }, title),
      el('span', { class: `tag ${status}` }, status),
      el('span', { class: 'when' }, `${dateOf(date)} · ${price.toFixed(2)}`),
    )
  const list = el('ul', {})
  const summary = el('summary', {})
  const node = el('details', { class: 'reservations', hidden: true }, summary, list)
  const show = openList<Reservation>(list, ({ id }) => `${id}`, draw)
  return {
    node,
    show(reservations: readonly Reservation[]) {
      node.hidden = reservations.length === 0
      summary.textContent = count(reservations.length, 'reservation', 'reservations')
      show(reservations)
    },
  }
}
