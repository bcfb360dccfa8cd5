/** Registers a task for the end of the bench, which runs after errors too. */
export type Defer = (task: () => Promise<void>) => void
