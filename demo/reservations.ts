import { type ApiClient, dataOf } from '../clients/api_client.ts'
import type { Reservation } from '../clients/inbox.ts'
import { el, setText } from './dom.ts'
import { formatPeriod, formatPrice, pluralize } from './format.ts'
import { createList } from './list.ts'
import { openOffer, type ReservationDetail } from './offer.ts'
import { errorText } from './errors.ts'

type Step = 'accept' | 'decline' | 'cancel'
interface Entry extends Reservation {
  /** Null until it is loaded, and of those that nobody can act on any more. */
  detail: ReservationDetail | null
  isMine: boolean
  partner: string
  /** What of the terms has changed since they were last shown. */
  changed: string
}

const isOpen = ({ status }: Reservation): boolean => status === 'pending' || status === 'accepted'

/** What the status means for the reader. */
const wording = ({ status, detail, isMine, partner }: Entry): string => {
  if (status !== 'pending') return { ...done, accepted: 'Agreed' }[status]
  if (!detail) return 'Offered'
  return isMine ? `Waiting for ${partner}` : 'Your answer?'
}
const done = { declined: 'Declined', cancelled: 'Cancelled', completed: 'Took place' }

/** The terms that differ, as they were and as they are. */
const changesOf = (before: ReservationDetail, now: ReservationDetail): string =>
  [
    [before.title, now.title],
    [formatPeriod(before.date, before.ends_at), formatPeriod(now.date, now.ends_at)],
    [formatPrice(before.price), formatPrice(now.price)],
  ].filter(([old, current]) => old !== current).map(([old, current]) => `${old} → ${current}`).join(', ')

/** The reservations of a conversation, with what the user can do about them until the signal ends it. */
export const openReservations = (api: ApiClient, conversation: number, signal: AbortSignal) => {
  let shown: readonly Reservation[] = []
  let details = new Map<number, ReservationDetail>()
  /** The terms that are shown, and those that were shown before the partner changed them. */
  const terms = new Map<number, { now: ReservationDetail; before: ReservationDetail | null }>()
  let me = 0
  let partner = ''

  const alert = el('p', { class: 'notice', role: 'alert', hidden: true })
  const act = async ({ id, revision }: ReservationDetail, step: Step) => {
    try {
      const params = { path: { id: conversation, rid: id } }
      const path = '/conversations/{id}/reservations/{rid}'
      if (step === 'accept') await dataOf(api.POST(`${path}/accept`, { params, body: { revision } }))
      else await dataOf(api.POST(`${path}/${step}`, { params }))
      setText(alert, '')
    } catch (error) {
      setText(alert, errorText(error))
    }
    // The event may be late or lost.
    await load()
  }
  const button = (label: string, click: () => void, kind = 'quiet') =>
    el('button', { type: 'button', class: kind, click }, label)

  const actions = ({ status, detail, isMine }: Entry): HTMLElement | null => {
    if (!detail) return null
    const answer = status === 'pending' && !isMine
    return el(
      'span',
      { class: 'actions' },
      answer && button('Accept', () => act(detail, 'accept'), 'strong'),
      answer && button('Decline', () => act(detail, 'decline')),
      status === 'pending' && button('Change', () => openOffer(api, conversation, detail, load, signal)),
      !answer && button('Cancel', () => act(detail, 'cancel')),
    )
  }
  const render = (entry: Entry): HTMLElement =>
    el(
      'li',
      { 'data-reservation': `${entry.id}` },
      el('span', { class: 'name' }, entry.title),
      el('span', { class: `tag ${entry.status}` }, wording(entry)),
      el(
        'span',
        { class: 'when' },
        `${formatPeriod(entry.date, entry.detail?.ends_at ?? null)} · ${formatPrice(entry.price)}`,
      ),
      entry.changed && el('span', { class: 'when' }, `Changed: ${entry.changed}`),
      actions(entry),
    )
  const list = el('ul', {})
  const summary = el('summary', {})
  const offer = button('Offer a reservation', () => openOffer(api, conversation, null, load, signal), 'link')
  const node = el('details', { class: 'reservations' }, summary, list, alert, offer)
  const showList = createList<Entry>(list, ({ id }) => `${id}`, render)

  const draw = () => {
    const entries = shown.map((reservation) => {
      const detail = isOpen(reservation) ? details.get(reservation.id) ?? null : null
      const current = detail
        ? { title: detail.title, price: detail.price, date: detail.date, status: detail.status }
        : {}
      const isMine = detail?.offered_by === me
      const before = detail?.status === 'pending' && terms.get(detail.id)?.before
      const changed = detail && before ? changesOf(before, detail) : ''
      return { ...reservation, ...current, detail, isMine, partner, changed }
    })
    const waiting = entries.filter(({ status, detail, isMine }) => status === 'pending' && detail && !isMine).length
    summary.textContent = (shown.length ? pluralize(shown.length, 'reservation', 'reservations') : 'Reservations') +
      (waiting ? ` · ${waiting} for you to answer` : '')
    showList(entries)
  }
  const load = async () => {
    try {
      const open = shown.filter(isOpen)
      const loaded = await Promise.all(
        open.map(({ id: rid }) =>
          dataOf(api.GET('/conversations/{id}/reservations/{rid}', {
            params: { path: { id: conversation, rid } },
          }))
        ),
      )
      details = new Map(loaded.map((detail) => [detail.id, detail]))
      for (const detail of loaded) {
        const known = terms.get(detail.id)
        const before = known?.now.revision === detail.revision ? known.before : known?.now ?? null
        // One's own offer has been read by whoever made it.
        terms.set(detail.id, { now: detail, before: detail.offered_by === me ? null : before })
      }
    } catch {
      // Offline: what is known stays, and the next event or resync loads it.
    }
    draw()
  }

  return {
    node,
    show(reservations: readonly Reservation[], user: number, other: string) {
      const isSame = reservations === shown && user === me && other === partner
      if (isSame) return
      const changed = reservations !== shown
      shown = reservations
      me = user
      partner = other
      draw()
      if (changed) load()
    },
  }
}
