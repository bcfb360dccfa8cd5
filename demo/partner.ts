import type { Conversation, Inbox } from '../clients/inbox.ts'

/** Who the other participant of a conversation is, as far as it is known. */
export const partnerOf = (conversation: Conversation, inbox: Inbox) => {
  const listed = () => inbox.view.conversations.find(({ id }) => id === conversation.id)
  /** The list has the partner before the conversation has loaded, and with the photo. */
  const person = () => {
    const { other } = conversation.view
    return listed()?.partner ?? (other && { ...other, profile: null })
  }
  return {
    listed,
    person,
    name: (): string => person()?.name ?? '',
    profile: () => person()?.profile ?? null,
    isErased(): boolean {
      const { Voyager, Local } = listed() ?? {}
      return [Voyager, Local].some((user) => user?.name === 'Deleted user' && user.email === '')
    },
  }
}

export type Partner = ReturnType<typeof partnerOf>
