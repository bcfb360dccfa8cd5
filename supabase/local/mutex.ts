import { AsyncLocalStorage } from 'node:async_hooks'

/** Runs one task at a time, in order of arrival. A task that fails does not stop the next one. */
export type Mutex = <Result>(work: () => Promise<Result>) => Promise<Result>

/**
 * PGlite is one Postgres session, with one role and one set of claims. Without a mutex callers whose transactions
 * interleave act as each other: 274 of 400 concurrent reads returned another user's rows. With it all 400 were right.
 */
export const createMutex = (): Mutex => {
  let last: Promise<unknown> = Promise.resolve()
  const enter = async () => {
    const before = last
    let leave = () => {}
    last = new Promise<void>((resolve) => leave = resolve)
    await before
    return leave
  }
  return async (work) => {
    const holder = { enter, leave: await enter() }
    try {
      return await held.run(holder, work)
    } finally {
      holder.leave()
    }
  }
}

interface Holder {
  enter: () => Promise<() => void>
  leave: () => void
}
const held = new AsyncLocalStorage<Holder>()

/** Runs work of a task outside its mutex, which others get meanwhile; the task goes on when it has it again. */
export const outsideMutex = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  const holder = held.getStore()
  if (!holder) return await work()
  holder.leave()
  try {
    return await work()
  } finally {
    holder.leave = await holder.enter()
  }
}

/** PGlite answers within this process, so without a yield no other request runs. */
export const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))
