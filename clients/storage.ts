import { createStore, del, get, set, update } from 'idb-keyval'
import { withTimeout } from './timeout.ts'

/** A key-value storage for `Options.storage`. Its functions may return promises; values survive structuredClone. */
export interface KeyValueStorage {
  get(key: string): unknown
  set(key: string, value: unknown): unknown
  delete(key: string): unknown
  /**
   * Replaces a value in one transaction. Without it, pages that share the storage take turns by Web Locks, and where
   * there are none, only one page should use the storage at a time.
   */
  update?(key: string, change: (value: unknown) => unknown): unknown
}

/** IndexedDB, where there is one; all pages of an origin share it. A browser that forbids it fails on each call. */
export const browserStorage = (): KeyValueStorage | null => {
  if (!('indexedDB' in globalThis)) return null
  const store = createStore('voyagers-and-locals', 'unsent')
  return {
    get: (key) => get(key, store),
    set: (key, value) => set(key, value, store),
    delete: (key) => del(key, store),
    update: (key, change) => update(key, change, store),
  }
}

/**
 * Runs a task while no other page runs one of this name. Where there are no Web Locks, or after waiting for
 * `longestWait` milliseconds (a page in the background may be suspended while it holds the lock), it runs anyway.
 */
export const withLock = async <Result>(name: string, longestWait: number, task: () => Promise<Result>) => {
  const locks = (globalThis.navigator as Navigator | undefined)?.locks as LockManager | undefined
  if (!locks) return task()
  const waiting = new AbortController()
  const timer = setTimeout(() => waiting.abort(), longestWait)
  let running: Promise<Result> | undefined
  const run = () => {
    clearTimeout(timer)
    return running ??= task()
  }
  return await locks.request(name, { signal: waiting.signal }, run).catch(run)
}

// A browser's storage may hang instead of failing.
const longestWait = 5000

/** The storage, whose functions reject if it throws or hangs. What hangs may still be done later. */
export const withTimeouts = (storage: KeyValueStorage) => {
  const limit = (work: () => unknown) => withTimeout(longestWait, async () => await work())
  const replace = async (key: string, change: (value: unknown) => unknown) => {
    const value = change(await storage.get(key))
    await (value === undefined ? storage.delete(key) : storage.set(key, value))
  }
  return {
    get: (key: string) => limit(() => storage.get(key)),
    /** Deletes what is not wanted any more: a storage that hangs may go on after the user has signed out. */
    set: (key: string, value: unknown, isWanted = () => true) =>
      limit(async () => {
        await storage.set(key, value)
        if (!isWanted()) await storage.delete(key)
      }),
    delete: (key: string) => limit(() => storage.delete(key)),
    update: (key: string, change: (value: unknown) => unknown) =>
      limit(() =>
        storage.update ? storage.update(key, change) : withLock(key, longestWait, () => replace(key, change))
      ),
  }
}
export type TimedStorage = ReturnType<typeof withTimeouts>
