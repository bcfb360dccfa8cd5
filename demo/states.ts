import { type ApiClient, dataOf } from '../clients/api_client.ts'
import type { components } from '../clients/openapi.ts'
import { createRetryLoop } from '../clients/retry_loop.ts'

/** How the user has arranged a conversation. */
export type ConversationState = components['schemas']['ConversationState']
type Reservation = components['schemas']['MyReservation']

// Many events change the list of conversations at once, and a message may bring an archived one back.
const interval = 1000

/**
 * The states that differ from the default, and the reservations that wait for an answer. `refresh` reads them again, at
 * most once a second.
 */
export const openStates = (api: ApiClient, onChange: () => void) => {
  let isDeactivated = false
  let states = new Map<number, ConversationState>()
  let pending: Reservation[] = []

  const closed = new AbortController()
  const loop = createRetryLoop(closed.signal, async () => {
    const [listed, reservations] = await Promise.all([
      dataOf(api.GET('/conversations/states')),
      dataOf(api.GET('/users/me/reservations', { params: { query: { status: 'pending' } } })),
    ])
    pending = reservations
    states = new Map(listed.map((state) => [state.conversation_id, state]))
    onChange()
  }, (error) => {
    if (isDeactivated === (error?.status === 403)) return
    isDeactivated = !isDeactivated
    onChange()
  }, interval)
  loop.run()

  return {
    of: (id: number): ConversationState =>
      states.get(id) ?? { conversation_id: id, archived: false, muted_until: null, pinned: false },
    /** Whether a reservation of this conversation waits for the answer of this user. */
    waitsFor: (me: number, conversation: number): boolean =>
      pending.some(({ conversation_id, offered_by }) => conversation_id === conversation && offered_by !== me),
    /** The service answers a deactivated user with 403 whatever they ask for. */
    isDeactivated: () => isDeactivated,
    refresh: loop.run,
    async change(id: number, change: Partial<ConversationState>) {
      const state = await dataOf(api.PUT('/conversations/{id}/state', { params: { path: { id } }, body: change }))
      states.set(id, state)
      onChange()
    },
    close: () => closed.abort(),
  }
}
