import type { Api } from './api.ts'
import { toServiceError } from './errors.ts'
import type { Change } from './types.ts'

/** What has changed since the last time, or that everything is to be read: for the first time, or anew. */
export type Changes = readonly Change[] | 'first' | 'lost'

// With more than this, reading everything anew takes fewer requests.
const mostPages = 50

/** Reads what has changed in all conversations of the user. The cursor is kept with what is seen (./cache.ts). */
export const createChangeFeed = (api: Api) => {
  let cursor: string | null = null
  let outcome: 'first' | 'lost' = 'first'

  const pagesAfter = async (from: string, signal: AbortSignal) => {
    const changes: Change[] = []
    for (let pages = 0, after = from; pages < mostPages; pages++) {
      const page = await api.changes(after, signal)
      changes.push(...page.changes)
      after = page.cursor
      if (!page.more) return { changes, after }
    }
    return null
  }

  const next = async (signal: AbortSignal): Promise<Changes> => {
    if (cursor !== null) {
      try {
        const read = await pagesAfter(cursor, signal)
        if (read) {
          cursor = read.after
          return read.changes
        }
      } catch (error) {
        // 410: the cursor is too old, or from before a restore of the database. 400: a stored one is damaged.
        if (![400, 410].includes(toServiceError(error).status)) throw error
      }
      cursor = null
      outcome = 'lost'
    }
    cursor = (await api.changes(null, signal)).cursor
    return outcome
  }

  return {
    get cursor() {
      return cursor
    },
    /** Goes on from a cursor of an earlier page, unless it has begun. */
    begin: (from: string) => void (cursor ??= from),
    next,
    /** Whether there is a change that is not known; `next` has not passed it then. */
    async hasNew(isKnown: (change: Change) => boolean, signal: AbortSignal): Promise<boolean> {
      const read = cursor === null ? null : await pagesAfter(cursor, signal)
      return read ? !read.changes.every(isKnown) : cursor !== null
    },
  }
}
