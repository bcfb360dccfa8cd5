import type { OwnReservation } from '../clients/inbox.ts'
import { formatPrice, formatTime, momentFormat } from './format.ts'

type History = OwnReservation['history']
type Step = History[number]

/** The terms that differ: "€99.00 → €499.00, Thu 11:00 → Sat 19:00". */
const changesOf = (before: Step, now: Step): string => {
  const moment = momentFormat([before, now].flatMap(({ date, ends_at }) => ends_at ? [date, ends_at] : [date]))
  const end = ({ ends_at }: Step) => ends_at ? moment(ends_at) : 'none'
  return [
    ['', `“${before.title}”`, `“${now.title}”`],
    ['', formatPrice(before.price), formatPrice(now.price)],
    ['', moment(before.date), moment(now.date)],
    ['end ', end(before), end(now)],
  ].filter(([, old, current]) => old !== current).map(([what, old, current]) => `${what}${old} → ${current}`).join(', ')
}

/** Who has changed the terms, and how, since the reader's own last step, or else since the first offer. */
export const changesSince = (history: History, me: number, partner: string): string[] => {
  const start = Math.max(0, history.findLastIndex(({ by }) => by === me))
  const changes: string[] = []
  let before = history[start]!
  for (const [index, step] of history.entries()) {
    // What one person has changed step by step is one change.
    if (index <= start || history[index + 1]?.by === step.by) continue
    const changed = changesOf(before, step)
    if (changed) changes.push(`${step.by === null ? 'An admin' : partner}: ${changed}`)
    before = step
  }
  return changes
}

const verbs = { accepted: 'Accepted', declined: 'Declined', cancelled: 'Cancelled' }

/** Who has accepted, declined or cancelled, when, and with which words. */
export const outcomeOf = (history: History, me: number, partner: string): string => {
  // What an admin has entered as agreed nobody has accepted.
  const last = history.findLast(({ status }, index) => index > 0 && status !== history[index - 1]!.status)
  if (!last || last.status === 'pending' || last.status === 'completed') return ''
  const { status, by, note, date, createdAt } = last
  if (status === 'cancelled' && by === null && createdAt >= date) return 'Nobody had answered when it began'
  const who = by === me ? 'you' : by === null ? 'an admin' : partner
  return `${verbs[status]} by ${who}, ${formatTime(createdAt)}${note ? `: ${note}` : ''}`
}
