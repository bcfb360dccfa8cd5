import type { Surroundings } from './conversation.ts'
import { createDetails } from './details.ts'
import type { Messages } from './messages.ts'
import { createTyping } from './typing.ts'

/**
 * Offers what can be done with a partner who can be reached, and leaves the typing topic while either has blocked the
 * other: Realtime may still let them send on it.
 */
export const createPartner = (messages: Messages, inbox: Surroundings) => {
  const { store, myId } = messages
  const { blocks: { isBlocked }, list: { hidesAddress } } = inbox
  let closed = false
  // The other account is not active any more, while Realtime may still let it send.
  let isInactive = false

  const isReachable = (): boolean => {
    const { other, messages } = store.view
    return other !== null && isBlocked(other.id) === false && !isInactive &&
      !(hidesAddress(other.id) && messages.some(({ user_id }) => user_id === other.id))
  }
  /** The blocks, the list, the participants or the messages have been read. */
  const update = () => {
    const { other, loaded } = store.view
    if (closed || !other || !loaded) return
    store.set({ blocked: isBlocked(other.id) === true })
    if (myId()) details.update()
    if (isReachable()) typing.join()
    else typing.leave()
  }
  const setInactive = (inactive: boolean) => {
    isInactive = inactive
    update()
  }
  const details = createDetails(messages, inbox, isReachable, update)
  const typing = createTyping(
    store.view.id,
    inbox.typingConnection,
    myId,
    (typing) => store.set({ typing }),
    () => setInactive(true),
  )
  details.run()

  return {
    details,
    typing,
    update,
    wrote(sender: number | null) {
      if (sender !== myId()) {
        typing.stop()
        setInactive(false)
      }
      // Whoever can write is not blocked any more.
      typing.retryRefused()
    },
    close() {
      closed = true
      typing.close()
      details.close()
    },
  }
}
export type Partner = ReturnType<typeof createPartner>
