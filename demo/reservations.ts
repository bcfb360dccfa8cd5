import { type ApiClient, dataOf } from '../clients/api_client.ts'
import type { Conversation, OwnReservation, ReservationStep } from '../clients/inbox.ts'
import { field, openDialog } from './dialog.ts'
import { el, setText } from './dom.ts'
import { errorText } from './errors.ts'
import { formatPeriod, formatPrice } from './format.ts'
import { openOffer } from './offer.ts'

/** A reservation as its card shows it. */
export interface Card extends OwnReservation {
  /** What the status means for the reader. */
  wording: string
  /** What of the terms has changed since they were last shown. */
  changed: string
}

const wordings = { accepted: 'Agreed', declined: 'Declined', cancelled: 'Cancelled', completed: 'Took place' }

const periodOf = ({ date, ends_at }: OwnReservation): string => formatPeriod(date, ends_at)

/** The terms that differ, as they were and as they are. */
const changesOf = (before: OwnReservation, now: OwnReservation): string =>
  [
    [before.title, now.title],
    [periodOf(before), periodOf(now)],
    [formatPrice(before.price), formatPrice(now.price)],
  ].filter(([old, current]) => old !== current).map(([old, current]) => `${old} → ${current}`).join(', ')

/**
 * The reservations of a conversation: a card of each among the messages, and above them a line with what comes next.
 * `showCard` brings a card into view.
 */
export const openReservations = (
  api: ApiClient,
  conversation: Conversation,
  showCard: (id: number) => void,
  signal: AbortSignal,
) => {
  /** The terms that are shown, and those that were shown before the partner changed them. */
  const terms = new Map<number, { now: OwnReservation; before: OwnReservation | null }>()
  const alert = el('p', { class: 'notice', role: 'alert', hidden: true })
  const base = '/conversations/{id}/reservations/{rid}'

  const act = async (step: () => Promise<unknown>) => {
    setText(alert, '')
    // The event may be late or lost.
    await step().finally(() => conversation.refresh())
  }
  const tell = (error: unknown) => setText(alert, errorText(error))
  const actions = (card: OwnReservation): Partial<Record<ReservationStep, [string, () => void]>> => {
    const { id: rid, revision } = card
    const params = { path: { id: conversation.id, rid } }
    return {
      accept: ['Accept', () => {
        act(() => dataOf(api.POST(`${base}/accept`, { params, body: { revision } }))).catch(tell)
      }],
      decline: [
        'Decline',
        () => act(() => dataOf(api.POST(`${base}/decline`, { params, body: { revision } }))).catch(tell),
      ],
      change: ['Change', () => openOffer(api, conversation.id, card, conversation.refresh, signal)],
      cancel: ['Cancel…', () => {
        const note = el('textarea', { maxlength: '500', rows: '2' })
        openDialog(
          `Cancel “${card.title}”?`,
          [field('A word about it', note, 'Both of you can read it; it may be empty')],
          'Cancel the reservation',
          () => act(() => dataOf(api.POST(`${base}/cancel`, { params, body: { note: note.value || null } }))),
          signal,
          'Keep it',
        )
      }],
    }
  }

  const next = el('button', { type: 'button', class: 'link', click: () => waiting && showCard(waiting.id) })
  let waiting: Card | undefined
  const offer = el(
    'button',
    { type: 'button', class: 'link', click: () => openOffer(api, conversation.id, null, conversation.refresh, signal) },
    'Offer a reservation',
  )
  const line = el('p', { class: 'next', role: 'status' }, next)
  const node = el('div', { class: 'reservations' }, line, offer, alert)

  return {
    node,
    render(card: Card): HTMLElement {
      const byStep = actions(card)
      const isAnswer = card.can.includes('accept')
      // Whoever can decline an offer need not cancel it as well.
      const steps = card.can.filter((step) => step !== 'cancel' || !isAnswer)
      return el(
        'li',
        { class: 'reservation', 'data-reservation': `${card.id}`, 'data-status': card.status },
        el('span', { class: 'name' }, card.title),
        el('span', { class: `tag ${card.status}` }, card.wording),
        el('span', { class: 'when' }, `${periodOf(card)} · ${formatPrice(card.price)}`),
        card.changed && el('span', { class: 'when' }, `Changed: ${card.changed}`),
        steps.length > 0 && el(
          'span',
          { class: 'actions' },
          ...steps.flatMap((step) => {
            const [label, click] = byStep[step] ?? []
            return click
              ? [el('button', { type: 'button', class: step === 'accept' ? 'strong' : 'quiet', click }, label!)]
              : []
          }),
        ),
      )
    },
    /** The cards for this user, and the line above for the next of them. */
    show(me: number, partner: string): Card[] {
      offer.hidden = conversation.view.blocked
      const cards = conversation.view.reservations.map((now): Card => {
        const isMine = now.offered_by === me
        const known = terms.get(now.id)
        if (known?.now.revision !== now.revision) {
          // One's own offer has been read by whoever made it.
          terms.set(now.id, { now, before: isMine ? null : known?.now ?? null })
        }
        const before = now.status === 'pending' ? terms.get(now.id)!.before : null
        const wording = now.status === 'pending'
          ? isMine ? `Waiting for ${partner}` : 'Your answer?'
          : wordings[now.status]
        return { ...now, wording, changed: before ? changesOf(before, now) : '' }
      })
      const byDate = cards.toSorted((one, other) => Date.parse(one.date) - Date.parse(other.date))
      waiting = byDate.find(({ can }) => can.includes('accept')) ?? byDate.find(({ status }) => status === 'pending') ??
        byDate.find(({ status }) => status === 'accepted')
      setText(next, waiting ? `${waiting.wording} · ${waiting.title}, ${periodOf(waiting)}` : '')
      return cards
    },
  }
}
