export type Listener = () => void

/** A view that is never changed, only replaced: what React's useSyncExternalStore asks for. */
export interface Store<View> {
  readonly view: View
  set(change: Partial<View>): void
  subscribe(listener: Listener): () => void
  close(): void
}

export const openStore = <View extends object>(first: View): Store<View> => {
  let view = Object.freeze(first)
  const listeners = new Set<Listener>()
  return {
    get view() {
      return view
    },
    set(change) {
      const names = Object.keys(change) as (keyof View)[]
      if (names.every((name) => Object.is(change[name], view[name]))) return
      view = Object.freeze({ ...view, ...change })
      for (const listener of listeners) {
        try {
          listener()
        } catch (error) {
          // A listener's mistake is the page's own: it must be heard of, and must not look like a failed request here.
          queueMicrotask(() => {
            throw error
          })
        }
      }
    },
    subscribe(listener) {
      const own = () => listener()
      listeners.add(own)
      return () => void listeners.delete(own)
    },
    close: () => listeners.clear(),
  }
}
