import { openPersistentChannel, type PersistentChannel } from './channel.ts'
import type { InboxParts } from './parts.ts'
import type { Store } from './store.ts'
import { createTimer, onClosed } from './timers.ts'
import type { EventPayload } from './types.ts'
import type { ConversationView } from './views.ts'

// The indicator lasts a little longer than the interval between two typing events.
const typingInterval = 3000
const typingDuration = 5000

/** Tells each participant that the other is typing, while the topic of the conversation is joined. */
export const createTyping = (
  store: Store<ConversationView>,
  myId: () => number,
  { closed, channel: { typingConnection } }: InboxParts,
  onInactive: () => void,
) => {
  let typedAt = 0
  let sentAt = 0
  let channel: PersistentChannel | null = null
  const timer = createTimer(() => store.set({ typing: false }), closed)
  /** Once an interval, and at once after a join if the user typed while it was under way. */
  const send = () => {
    const now = Date.now()
    if (!myId() || now - typedAt >= typingInterval || now - sentAt < typingInterval) return
    if (channel?.send('typing', { user_id: myId() })) sentAt = now
  }
  const handlers = {
    typing(payload: Pick<EventPayload, 'user_id'> | null) {
      if (payload?.user_id === myId()) return
      timer.start(typingDuration)
      store.set({ typing: true })
    },
    closed: onInactive,
  }
  onClosed(closed, () => channel?.close())
  return {
    stop: timer.now,
    join() {
      const topic = `typing:${store.view.id}`
      const onChange = (joined: boolean) => joined && send()
      channel ??= openPersistentChannel(typingConnection(), topic, handlers, onChange, { pauseAfterRefusal: true })
    },
    leave() {
      if (!channel) return
      channel.close()
      channel = null
      timer.now()
    },
    typed() {
      typedAt = Date.now()
      send()
    },
    /** The text was sent, so the next keystroke begins another. */
    reset: () => void (typedAt = sentAt = 0),
    retryRefused: () => channel?.retryRefused(),
    rejoin: () => channel?.rejoin(),
  }
}
