import { openPersistentChannel, type PersistentChannel } from './channel.ts'
import type { EventPayload, Realtime } from './types.ts'

// The indicator lasts a little longer than the interval between two typing events.
const typingInterval = 3000
const typingDuration = 5000

/** Tells each participant that the other is typing, while the topic of the conversation is joined. */
export const createTyping = (
  conversation: number,
  connection: () => Realtime,
  myId: () => number,
  onTyping: (typing: boolean) => void,
  /** The other account is not active any more, while Realtime may still let it send. */
  onClosed: () => void,
) => {
  let typedAt = 0
  let sentAt = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let channel: PersistentChannel | null = null

  const stop = () => {
    clearTimeout(timer)
    onTyping(false)
  }
  /** Once an interval, and at once after a join if the user typed while it was under way. */
  const send = () => {
    const now = Date.now()
    if (!myId() || now - typedAt >= typingInterval || now - sentAt < typingInterval) return
    if (channel?.send('typing', { user_id: myId() })) sentAt = now
  }
  const handlers = {
    typing(payload: Pick<EventPayload, 'user_id'> | null) {
      if (payload?.user_id === myId()) return
      clearTimeout(timer)
      timer = setTimeout(stop, typingDuration)
      onTyping(true)
    },
    closed: onClosed,
  }
  return {
    stop,
    join() {
      const topic = `typing:${conversation}`
      const onChange = (joined: boolean) => joined && send()
      channel ??= openPersistentChannel(connection(), topic, handlers, onChange, { pauseAfterRefusal: true })
    },
    leave() {
      if (!channel) return
      channel.close()
      channel = null
      stop()
    },
    typed() {
      typedAt = Date.now()
      send()
    },
    /** The text was sent, so the next keystroke begins another. */
    reset: () => void (typedAt = sentAt = 0),
    retryRefused: () => channel?.retryRefused(),
    rejoin: () => channel?.rejoin(),
    close() {
      clearTimeout(timer)
      channel?.close()
    },
  }
}
