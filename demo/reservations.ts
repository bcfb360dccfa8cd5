import { type ApiClient, dataOf } from '../clients/api_client.ts'
import { type Conversation, type OwnReservation, ServiceError } from '../clients/inbox.ts'
import { field, openDialog } from './dialog.ts'
import { button, el, saveFile, setText } from './dom.ts'
import { formatPeriod, formatPrice } from './format.ts'
import { openOffer } from './offer.ts'
import { overlapOf } from './overlap.ts'
import { openPartnerHome } from './partner_home.ts'
import { type Card, renderCard, type Steps, termsOf } from './reservation_card.ts'
import { openFailures } from './reservation_failures.ts'
import { changesSince, outcomeOf } from './reservation_history.ts'

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

const wordings = { accepted: 'Agreed', declined: 'Declined', cancelled: 'Cancelled', completed: 'Took place' }

/** What the user can do about a reservation. The card tells why a step has failed; a dialog tells it itself. */
const openSteps = ({ api, conversation, local, onChange, signal }: Dependencies, me: () => number) => {
  const base = '/conversations/{id}/reservations/{rid}'
  const failures = openFailures(conversation)

  const act = async (card: Card, step: () => Promise<unknown>) => {
    failures.forget(card.id)
    try {
      await step()
    } catch (error) {
      const isOverlap = error instanceof ServiceError && error.code === 'overlap'
      const overlap = isOverlap && await overlapOf(api, me(), card).catch(() => '')
      throw overlap ? new Error(overlap) : error
    } finally {
      onChange()
      // The event may be late or lost.
      conversation.refresh()
    }
  }
  const tryTo = (card: Card, step: () => Promise<unknown>) => {
    act(card, step).catch((error) => {
      failures.add(card, error)
      onChange()
    })
  }
  const askForOffer = (card: Card | null) => {
    const host_id = card?.host_id ?? local()
    const overlap = async (date: string, ends_at: string | null) =>
      host_id === undefined ? '' : await overlapOf(api, me(), { id: card?.id, host_id, date, ends_at })
    openOffer(api, conversation.id, card, overlap, conversation.refresh, signal)
  }
  const stepsOf = (card: Card): Steps => {
    const { id: rid, revision, title } = card
    const params = { path: { id: conversation.id, rid } }
    const accept = () => dataOf(api.POST(`${base}/accept`, { params, body: { revision } }))
    const decline = () => dataOf(api.POST(`${base}/decline`, { params, body: { revision } }))
    const saveCalendar = async () =>
      saveFile(await dataOf(api.GET(`${base}.ics`, { params })), 'text/calendar', `reservation-${rid}.ics`)
    const askToAccept = () =>
      openDialog(`Accept “${title}”?`, termsOf(card), 'Accept', () => act(card, accept), signal, 'Not yet')
    const askToCancel = () => {
      const note = el('textarea', { maxlength: '500', rows: '2' })
      const word = field('A word about it', note, 'Both of you can read it; it may be empty')
      const cancel = () => dataOf(api.POST(`${base}/cancel`, { params, body: { note: note.value || null } }))
      const submit = () => act(card, cancel)
      openDialog(`Cancel “${title}”?`, [word], 'Cancel the reservation', submit, signal, 'Keep it')
    }
    return {
      // Terms that have changed since they were offered are asked about once more.
      accept: ['Accept', () => revision === 1 ? tryTo(card, accept) : askToAccept()],
      decline: ['Decline', () => tryTo(card, decline)],
      change: ['Change', () => askForOffer(card)],
      cancel: ['Cancel…', askToCancel],
      calendar: ['Add to calendar', () => tryTo(card, saveCalendar)],
    }
  }
  return { stepsOf, askForOffer, failureOf: failures.of }
}

/** The reservations of a conversation: a card of each among the messages, and above them what comes next. */
export const openReservations = (dependencies: Dependencies) => {
  const { api, conversation, showCard, onChange, signal } = dependencies
  let me = 0
  let waiting: Card | undefined
  const home = openPartnerHome(api, onChange, signal)
  const { stepsOf, askForOffer, failureOf } = openSteps(dependencies, () => me)
  const next = button('', () => waiting && showCard(waiting.id), 'link clipped')
  const offer = button('Offer a reservation', () => askForOffer(null), 'link')
  const line = el('p.next', { role: 'status' }, next)

  const wordingOf = ({ status, offered_by }: OwnReservation, partner: string): string => {
    if (status !== 'pending') return wordings[status]
    return offered_by === me ? `Waiting for ${partner}` : 'Your answer?'
  }

  return {
    node: el('div.reservations', line, offer),
    render: (card: Card): HTMLElement => renderCard(card, stepsOf(card)),
    /** The cards for this user, and the line above for the next of them. */
    show(reader: number, partner: string, profile: { id: number } | null): Card[] {
      const { blocked, reservations } = conversation.view
      me = reader
      offer.hidden = blocked
      if (profile && reservations.length > 0) home.read(profile.id)
      const cards = reservations.map((now): Card => ({
        ...now,
        wording: wordingOf(now, partner),
        changes: changesSince(now.history, me, partner),
        outcome: outcomeOf(now.history, me, partner),
        error: failureOf(now),
        there: home.periodOf(now),
      }))
      const byDate = cards.toSorted((one, other) => Date.parse(one.date) - Date.parse(other.date))
      waiting = byDate.find(({ can }) => can.includes('accept')) ?? byDate.find(({ status }) => status === 'pending') ??
        byDate.find(({ status }) => status === 'accepted')
      // The title last: it is what a narrow screen cuts off.
      const shown = waiting &&
        [waiting.wording, formatPrice(waiting.price), formatPeriod(waiting.date, waiting.ends_at), waiting.title]
      setText(next, shown?.join(' · ') ?? '')
      return cards
    },
  }
}
