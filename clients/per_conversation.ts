/** What sends for each conversation, open or not, made when it is first asked for. */
export const perConversation = <One extends { retryNow(): void; close(): void }>(create: (id: number) => One) => {
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
