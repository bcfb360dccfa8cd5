import { type ApiClient, dataOf } from '../clients/api_client.ts'
import { type Conversation, type OwnReservation, type ReservationStep, ServiceError } from '../clients/inbox.ts'
import type { components } from '../clients/openapi.ts'
import { field, openDialog } from './dialog.ts'
import { button, el, saveFile, setText } from './dom.ts'
import { errorText } from './errors.ts'
import { formatPeriod, formatPeriodIn, formatPrice, isZone } from './format.ts'
import { changesSince, outcomeOf } from './reservation_history.ts'
import { openOffer } from './offer.ts'
import { overlapOf } from './overlap.ts'

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

interface Dependencies {
  api: ApiClient
  conversation: Conversation
  /** Who receives the other unless an offer says otherwise. */
  local: () => number | undefined
  /** Brings a card into view. */
  showCard: (id: number) => void
  onChange: () => void
  signal: AbortSignal
}

/** Why a step has failed, which is told until the reservation changes or the connection is back. */
interface Failure {
  text: string
  /** Of the reservation that it is about. */
  updatedAt: string
  /** Whether it tells of a change that is not shown yet. */
  isStale: boolean
  isUnanswered: boolean
  wasOffline: boolean
}

type Home = components['schemas']['PublicProfile'] | null
const thereOf = (home: Home, { date, ends_at }: OwnReservation): string => {
  const city = home?.profile.city
  const zone = home?.time_zone
  const period = city && zone && isZone(zone) && formatPeriodIn(zone, date, ends_at)
  return period ? `${period} in ${city}` : ''
}

const wordings = { accepted: 'Agreed', declined: 'Declined', cancelled: 'Cancelled', completed: 'Took place' }

const periodOf = ({ date, ends_at }: OwnReservation): string => formatPeriod(date, ends_at)

/** The lines of the terms, and of what has changed in them. */
const termsOf = (card: Card): HTMLElement[] => [
  el('p', periodOf(card)),
  ...card.there ? [el('p', card.there)] : [],
  el('p.price', formatPrice(card.price)),
  ...card.changes.map((change) => el('p.changed', change)),
]

/** The reservations of a conversation: a card of each among the messages, and above them what comes next. */
export const openReservations = ({ api, conversation, local, showCard, onChange, signal }: Dependencies) => {
  let me = 0
  const failures = new Map<number, Failure>()
  const base = '/conversations/{id}/reservations/{rid}'

  const failureOf = ({ id, updatedAt }: OwnReservation): string => {
    const failure = failures.get(id)
    if (!failure) return ''
    const isOffline = conversation.view.status === 'offline'
    const hasChanged = failure.updatedAt !== updatedAt
    if (hasChanged && failure.isStale) Object.assign(failure, { updatedAt, isStale: false })
    else if (hasChanged || failure.wasOffline && !isOffline) failures.delete(id)
    failure.wasOffline ||= failure.isUnanswered && isOffline
    return failures.get(id)?.text ?? ''
  }
  const act = async (card: Card, step: () => Promise<unknown>) => {
    failures.delete(card.id)
    try {
      await step()
    } catch (error) {
      const isOverlap = error instanceof ServiceError && error.code === 'overlap'
      const overlap = isOverlap && await overlapOf(api, me, card).catch(() => '')
      throw overlap ? new Error(overlap) : error
    } finally {
      onChange()
      // The event may be late or lost.
      conversation.refresh()
    }
  }
  const tryTo = (card: Card, step: () => Promise<unknown>) => {
    act(card, step).catch((error) => {
      const { code = null, status = null } = error instanceof ServiceError ? error : {}
      failures.set(card.id, {
        text: errorText(error),
        updatedAt: card.updatedAt,
        isStale: code === 'stale_revision',
        isUnanswered: status === 0,
        wasOffline: false,
      })
      onChange()
    })
  }
  const saveCalendar = async ({ id: rid }: Card) => {
    const params = { path: { id: conversation.id, rid } }
    saveFile(await dataOf(api.GET(`${base}.ics`, { params })), 'text/calendar', `reservation-${rid}.ics`)
  }
  const askForOffer = (card: Card | null) => {
    const host_id = card?.host_id ?? local()
    const overlap = async (date: string, ends_at: string | null) =>
      host_id === undefined ? '' : await overlapOf(api, me, { id: card?.id, host_id, date, ends_at })
    openOffer(api, conversation.id, card, overlap, conversation.refresh, signal)
  }
  const actions = (card: Card): Record<ReservationStep, [string, () => void]> => {
    const { id: rid, revision } = card
    const params = { path: { id: conversation.id, rid } }
    const accept = () => dataOf(api.POST(`${base}/accept`, { params, body: { revision } }))
    return {
      accept: ['Accept', () => {
        // Terms that have changed since they were offered are asked about once more.
        if (revision === 1) tryTo(card, accept)
        else openDialog(`Accept “${card.title}”?`, termsOf(card), 'Accept', () => act(card, accept), signal, 'Not yet')
      }],
      decline: [
        'Decline',
        () => tryTo(card, () => dataOf(api.POST(`${base}/decline`, { params, body: { revision } }))),
      ],
      change: ['Change', () => askForOffer(card)],
      cancel: ['Cancel…', () => {
        const note = el('textarea', { maxlength: '500', rows: '2' })
        openDialog(
          `Cancel “${card.title}”?`,
          [field('A word about it', note, 'Both of you can read it; it may be empty')],
          'Cancel the reservation',
          () => act(card, () => dataOf(api.POST(`${base}/cancel`, { params, body: { note: note.value || null } }))),
          signal,
          'Keep it',
        )
      }],
    }
  }

  const next = button('', () => waiting && showCard(waiting.id), 'link clipped')
  let waiting: Card | undefined
  const offer = button('Offer a reservation', () => askForOffer(null), 'link')
  const line = el('p.next', { role: 'status' }, next)
  const node = el('div.reservations', line, offer)

  return {
    node,
    render(card: Card): HTMLElement {
      const byStep = actions(card)
      const about = (label: string) => ({ 'aria-label': `${label} “${card.title}”` })
      const isAnswer = card.can.includes('accept')
      // Whoever can decline an offer need not cancel it as well.
      const steps = card.can.filter((step) => step !== 'cancel' || !isAnswer)
      return el(
        'li.reservation',
        { 'data-reservation': `${card.id}`, 'data-status': card.status },
        el('span.name', card.title),
        el('span', { class: `tag ${card.status}` }, card.wording),
        ...termsOf(card),
        card.outcome && el('p.outcome', card.outcome),
        card.error && el('p.notice', { role: 'alert' }, card.error),
        el(
          'span.actions',
          ...steps.map((step) => {
            const [label, click] = byStep[step]
            return button(label, click, step === 'accept' ? 'strong' : 'quiet', about(label))
          }),
          card.status === 'accepted' &&
            button('Add to calendar', () => tryTo(card, () => saveCalendar(card)), 'quiet', about('Add to calendar')),
        ),
      )
    },
    /** The cards for this user, and the line above for the next of them. */
    show(reader: number, partner: string, home: Home): Card[] {
      me = reader
      offer.hidden = conversation.view.blocked
      const cards = conversation.view.reservations.map((now): Card => ({
        ...now,
        wording: now.status !== 'pending'
          ? wordings[now.status]
          : now.offered_by === me
          ? `Waiting for ${partner}`
          : 'Your answer?',
        changes: changesSince(now.history, me, partner),
        outcome: outcomeOf(now.history, me, partner),
        error: failureOf(now),
        there: thereOf(home, now),
      }))
      const byDate = cards.toSorted((one, other) => Date.parse(one.date) - Date.parse(other.date))
      waiting = byDate.find(({ can }) => can.includes('accept')) ?? byDate.find(({ status }) => status === 'pending') ??
        byDate.find(({ status }) => status === 'accepted')
      // The title last: it is what a narrow screen cuts off.
      const shown = waiting && [waiting.wording, formatPrice(waiting.price), periodOf(waiting), waiting.title]
      setText(next, shown?.join(' · ') ?? '')
      return cards
    },
  }
}
