import type { Api } from './api.ts'
import { toServiceError } from './errors.ts'
import type { Change } from './types.ts'

/** What has changed since the last time, or that everything is to be read: for the first time, or anew. */
export type Changes = readonly Change[] | 'first' | 'lost'

// With more than this, reading everything anew takes fewer requests.
const mostPages = 50

/** Reads what has changed in all conversations of the user. Keeps the cursor in memory, because the views are there. */
export const createChangeFeed = (api: Api) => {
  let cursor: string | null = null
  let outcome: 'first' | 'lost' = 'first'

  const pagesAfter = async (from: string, signal: AbortSignal): Promise<Change[] | null> => {
    const changes: Change[] = []
    for (let pages = 0, after = from; pages < mostPages; pages++) {
      const page = await api.changes(after, signal)
      changes.push(...page.changes)
      after = page.cursor
      if (page.more) continue
      cursor = after
      return changes
    }
    return null
  }

  return async (signal: AbortSignal): Promise<Changes> => {
    if (cursor !== null) {
      try {
        const changes = await pagesAfter(cursor, signal)
        if (changes) return changes
      } catch (error) {
        // 410: the cursor is too old, or from before a restore of the database.
        if (toServiceError(error).status !== 410) throw error
      }
      cursor = null
      outcome = 'lost'
    }
    cursor = (await api.changes(null, signal)).cursor
    return outcome
  }
}
