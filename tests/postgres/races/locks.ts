// The locks that functions take, and each of them taken out.
export interface Mutant {
  name: string
  /** In which function, and which lock. */
  what: string
  definition: string
}

const wholeLocks = [
  /\s+for (?:no key )?(?:update|(?:key )?share)\b(?: of \w+)?(?: skip locked)?/g,
  /perform pg_advisory_xact_lock\([^;]*;/g,
  /pg_try_advisory_xact_lock\((?:[^()]|\([^()]*\))*\)/g,
  /lock table [^;]*;/g,
]
// What is left waits for others. And functions that take one are called for it.
const partsOfLocks = [/(?<=for (?:no key )?update) skip locked/g, /perform private\.lock_\w+\([^;]*;/g]

/** Without comments, in which nothing is a lock, and with all else in its place. */
const codeOf = (text: string): string => text.replaceAll(/--.*/g, (comment) => ' '.repeat(comment.length))

export const countLocks = (sql: string): number =>
  wholeLocks.reduce((sum, lock) => sum + [...codeOf(sql).matchAll(lock)].length, 0)

export const mutantsOf = (name: string, definition: string): Mutant[] =>
  [...wholeLocks, ...partsOfLocks]
    .flatMap((lock) => [...codeOf(definition).matchAll(lock)])
    .map(({ index, 0: found }) => ({
      name,
      what: `${name}: ${found.trim().replaceAll(/\s+/g, ' ')}`,
      definition: definition.slice(0, index) +
        (found.startsWith('pg_try') ? 'true' : found.startsWith('perform') ? 'null;' : '') +
        definition.slice(index + found.length),
    }))
