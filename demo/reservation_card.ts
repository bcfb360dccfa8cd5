import type { OwnReservation, ReservationStep } from '../clients/inbox.ts'
import { button, el } from './dom.ts'
import { formatPeriod, formatPrice } from './format.ts'

/** A reservation as its card shows it. */
export interface Card extends OwnReservation {
  /** What the status means for the reader. */
  wording: string
  /** Who has changed what of the terms since the reader's own last step. */
  changes: string[]
  /** Who has accepted, declined or cancelled, and with which words. */
  outcome: string
  /** Why the user's step has failed. */
  error: string
  /** When it is where the partner lives, if clocks show another time there. */
  there: string
}

/** The lines of the terms, and of what has changed in them. */
export const termsOf = ({ date, ends_at, there, price, changes }: Card): HTMLElement[] => [
  el('p', formatPeriod(date, ends_at)),
  ...there ? [el('p', there)] : [],
  el('p.price', formatPrice(price)),
  ...changes.map((change) => el('p.changed', change)),
]

/** What can be done with a reservation, by the name that its button has. */
export type Steps = Record<ReservationStep | 'calendar', [label: string, click: () => void]>

/** A reservation among the messages. */
export const renderCard = (card: Card, steps: Steps): HTMLElement => {
  const { id, status, title, wording, outcome, error, can } = card
  const isAnswer = can.includes('accept')
  // Whoever can decline an offer need not cancel it as well.
  const shown: (keyof Steps)[] = can.filter((step) => step !== 'cancel' || !isAnswer)
  if (status === 'accepted') shown.push('calendar')
  const buttons = shown.map((step) => {
    const [label, click] = steps[step]
    return button(label, click, step === 'accept' ? 'strong' : 'quiet', { 'aria-label': `${label} “${title}”` })
  })
  return el(
    'li.reservation',
    { 'data-reservation': `${id}`, 'data-status': status },
    el('span.name', title),
    el('span', { class: `tag ${status}` }, wording),
    ...termsOf(card),
    outcome && el('p.outcome', outcome),
    error && el('p.notice', { role: 'alert' }, error),
    el('span.actions', ...buttons),
  )
}
