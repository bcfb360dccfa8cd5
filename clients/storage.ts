import { createStore, del, get, set, update } from 'idb-keyval'

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
export const storageTimeout = 5000
export const withTimeout = async <Result>(work: Promise<Result>, milliseconds = storageTimeout): Promise<Result> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('The storage did not answer')), milliseconds)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}
