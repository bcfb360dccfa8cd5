import type { OpenConversation } from './conversation.ts'
import type { Conversation } from './views.ts'

export const createConversations = (create: (id: number) => OpenConversation) => {
  const all = new Map<number, { conversation: OpenConversation; references: number }>()
  const forEach = (act: (conversation: OpenConversation) => void) =>
    all.forEach(({ conversation }) => act(conversation))
  return {
    forEach,
    get: (id: number) => all.get(id)?.conversation,
    open(id: number): Conversation {
      const entry = all.get(id) ?? { conversation: create(id), references: 0 }
      all.set(id, entry)
      entry.references++
      let released = false
      return Object.assign(Object.create(entry.conversation) as Conversation, {
        close() {
          if (!released && !--entry.references && all.delete(id)) entry.conversation.close()
          released = true
        },
      })
    },
    close() {
      forEach((conversation) => conversation.close())
      all.clear()
    },
  }
}
export type Conversations = ReturnType<typeof createConversations>
