import type { Api } from './api.ts'
import { openPasses, type Passes } from './passes.ts'
import { Problem } from './problem.ts'

/** Read marks on their way, as far as each conversation was read; like the outbox they outlive the conversations on the screen. */
export interface Marks {
  /** Up to which message the service has marked this conversation as read, of what was marked here. */
  made(conversation: number): number
  /** Marks up to this message; a mark never goes back. */
  make(conversation: number, upTo: number): void
  /** Hears how marking one conversation went. */
  watch(conversation: number, listener: (problem: Problem | null) => void): () => void
  /** Tries what waits now. */
  hurry(): void
  close(): void
}

interface Mark {
  wanted: number
  /** The last that was answered, with a refusal too. */
  answered: number
  made: number
  passes: Passes
  listeners: Set<(problem: Problem | null) => void>
}

/** `changed` is told of every mark that was made. */
export const openMarks = (api: Api, changed: () => void): Marks => {
  const marks = new Map<number, Mark>()

  const markOf = (conversation: number): Mark => {
    const known = marks.get(conversation)
    if (known) return known
    const passes = openPasses(async (signal) => {
      // The furthest is enough, so that what was wanted meanwhile is one more pass.
      const upTo = mark.wanted
      if (upTo <= mark.answered) return
      try {
        await api.markRead(conversation, upTo, signal)
        mark.made = upTo
      } catch (error) {
        if (!(error instanceof Problem) || error.temporary) throw error
        mark.answered = upTo
        throw error
      }
      mark.answered = upTo
      changed()
    }, (problem) => {
      for (const listener of mark.listeners) listener(problem)
    })
    const mark: Mark = { wanted: 0, answered: 0, made: 0, passes, listeners: new Set() }
    marks.set(conversation, mark)
    return mark
  }

  return {
    made: (conversation) => marks.get(conversation)?.made ?? 0,
    make(conversation, upTo) {
      const mark = markOf(conversation)
      if (upTo <= mark.wanted) return
      mark.wanted = upTo
      mark.passes.run()
    },
    watch(conversation, listener) {
      const { listeners } = markOf(conversation)
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    hurry() {
      for (const { wanted, answered, passes } of marks.values()) if (wanted > answered) passes.hurry()
    },
    close() {
      for (const { passes, listeners } of marks.values()) {
        listeners.clear()
        passes.close()
      }
    },
  }
}
