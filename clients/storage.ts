import { createStore, del, get, set, update } from 'idb-keyval'
import { withTimeout } from './timers.ts'

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

// A browser's storage may hang instead of failing.
const longestWait = 5000

/** The storage, whose functions reject if it throws or hangs. What hangs may still be done later. */
export const withTimeouts = (storage: KeyValueStorage) => {
  const locks = (globalThis.navigator as Navigator | undefined)?.locks as LockManager | undefined
  const limit = (work: () => unknown) => withTimeout(longestWait, async () => await work())
  const replace = async (key: string, change: (value: unknown) => unknown) => {
    const value = change(await storage.get(key))
    if (value !== undefined) await storage.set(key, value)
    // The user may have signed out while that hung.
    if (value === undefined || change(value) === undefined) await storage.delete(key)
  }
  return {
    get: (key: string) => limit(() => storage.get(key)),
    delete: (key: string) => limit(() => storage.delete(key)),
    update: (key: string, change: (value: unknown) => unknown) =>
      limit(() => {
        if (storage.update) return storage.update(key, change)
        // What hangs does not keep the lock.
        const work = () => limit(() => replace(key, change))
        return locks ? locks.request(key, work) : work()
      }),
  }
}
export type TimedStorage = ReturnType<typeof withTimeouts>
