import { type ApiClient, dataOf } from '../clients/api_client.ts'
import type { components } from '../clients/openapi.ts'

/** How the user has arranged a conversation. */
export type ConversationState = components['schemas']['ConversationState']

// Many events change the list of conversations at once, and a message may bring an archived one back.
const interval = 1000

/** The states that differ from the default. `refresh` reads them again, at most once a second. */
export const openStates = (api: ApiClient, onChange: () => void) => {
  let states = new Map<number, ConversationState>()
  let timer: ReturnType<typeof setTimeout> | null = null
  let isStale = false
  let closed = false

  const load = async () => {
    isStale = false
    try {
      const listed = await dataOf(api.GET('/conversations/states'))
      states = new Map(listed.map((state) => [state.conversation_id, state]))
      onChange()
    } catch {
      // Offline: the next change of the list tries again.
    }
  }
  const refresh = () => {
    if (closed) return
    if (timer) {
      isStale = true
      return
    }
    load()
    timer = setTimeout(() => {
      timer = null
      if (isStale) refresh()
    }, interval)
  }
  refresh()

  return {
    of: (id: number): ConversationState =>
      states.get(id) ?? { conversation_id: id, archived: false, muted_until: null, pinned: false },
    refresh,
    async change(id: number, change: Partial<ConversationState>) {
      const state = await dataOf(api.PUT('/conversations/{id}/state', { params: { path: { id } }, body: change }))
      states.set(id, state)
      onChange()
    },
    close() {
      closed = true
      if (timer) clearTimeout(timer)
    },
  }
}
