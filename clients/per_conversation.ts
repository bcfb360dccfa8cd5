/** What one conversation has to send, also while it is not open. */
interface Sender {
  /** Retries what is pending now. */
  retryNow(): void
  close(): void
}

/** A sender for each conversation, made when it is first asked for. */
export const perConversation = <One extends Sender>(create: (conversation: number) => One) => {
  const all = new Map<number, One>()
  return {
    of(conversation: number): One {
      const one = all.get(conversation) ?? create(conversation)
      all.set(conversation, one)
      return one
    },
    forEach: (act: (one: One) => void) => all.forEach(act),
    retryNow: () => all.forEach((one) => one.retryNow()),
    close: () => all.forEach((one) => one.close()),
  }
}
