export type Listener = () => void

/** Immutable snapshots for React's useSyncExternalStore: a view is replaced and never changed. */
export const createStore = <View extends object>(initial: View) => {
  let view = Object.freeze(initial)
  const listeners = new Set<Listener>()
  return {
    get view(): View {
      return view
    },
    get isWatched(): boolean {
      return listeners.size > 0
    },
    set(change: Partial<View>) {
      const names = Object.keys(change) as (keyof View)[]
      if (names.every((name) => Object.is(change[name], view[name]))) return
      view = Object.freeze({ ...view, ...change })
      for (const listener of listeners) {
        try {
          listener()
        } catch (error) {
          // Report the page's own error as uncaught: here it would look like a failed request.
          queueMicrotask(() => {
            throw error
          })
        }
      }
    },
    subscribe(listener: Listener): () => void {
      // Wrapped, so that a function subscribed twice is two listeners.
      const entry = () => listener()
      listeners.add(entry)
      return () => void listeners.delete(entry)
    },
    close: () => listeners.clear(),
  }
}
export type Store<View extends object> = ReturnType<typeof createStore<View>>
