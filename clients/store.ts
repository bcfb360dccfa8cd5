export type Listener = () => void

/** Immutable snapshots for React's useSyncExternalStore: a view is replaced and never changed. */
export const createStore = <View extends object>(initial: View) => {
  let view = Object.freeze(initial)
  const listeners = new Set<Listener>()
  return {
    get view(): View {
      return view
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
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close: () => listeners.clear(),
  }
}
export type Store<View extends object> = ReturnType<typeof createStore<View>>
