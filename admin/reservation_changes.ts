import { el, select } from '../demo/dom.ts'
import { toLocal, toTimestamp } from '../demo/format.ts'
import { update } from './api.ts'
import { askForChanges } from './ask.ts'
import type { View } from './view.ts'

const names = ['pending', 'accepted', 'declined', 'cancelled', 'completed']
export const statuses = Object.fromEntries(names.map((name) => [name, name]))

/** What a reservation is about, and what became of it. */
export interface Terms {
  id: number
  status: string
  title: string
  /** A numeric: a string in a table's own row, a number in an embedded one. */
  price: string | number
  date: string
  ends_at: string | null
}

/** Asks for another state, or other terms. */
export const changeReservation = ({ id, title, price, date, ends_at, status }: Terms, view: View) => {
  const time = (value: string | null) => el('input', { type: 'datetime-local', value: toLocal(value) })
  const inputs = [
    { column: 'status', label: 'Status', control: select(statuses, status) },
    { column: 'title', label: 'Title', control: el('input', { value: title }) },
    { column: 'price', label: 'Price', control: el('input', { inputmode: 'decimal', value: `${price}` }) },
    { column: 'date', label: 'Begins', control: time(date), parse: toTimestamp },
    { column: 'ends_at', label: 'Ends (may be empty)', control: time(ends_at), parse: toTimestamp },
  ]
  askForChanges(`Reservation ${id}`, inputs, (changes) => update('reservations', id, changes), view)
}
