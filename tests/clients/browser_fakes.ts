import type { KeyValueStorage } from '../../clients/inbox.ts'

/** BroadcastChannel within this process, on the fake clock. */
export class FakeBroadcastChannel {
  static open = new Set<FakeBroadcastChannel>()
  onmessage: ((event: { data: unknown }) => void) | null = null
  constructor(readonly name: string) {
    FakeBroadcastChannel.open.add(this)
  }
  postMessage(data: unknown) {
    for (const other of FakeBroadcastChannel.open) {
      if (other !== this && other.name === this.name) {
        setTimeout(() => other.onmessage?.({ data: structuredClone(data) }))
      }
    }
  }
  close() {
    FakeBroadcastChannel.open.delete(this)
  }
}

/** Web Locks as a browser has them, one holder at a time, in the order of the requests. */
export const fakeLocks = () => {
  const holders = new Map<string, Promise<unknown>>()
  const request = (name: string, task: () => Promise<unknown>) => {
    const running = Promise.resolve(holders.get(name)).then(task)
    holders.set(name, running.catch(() => {}))
    return running
  }
  return { request }
}

class CountingTarget extends EventTarget {
  listeners = 0
  override addEventListener = (type: string, listener: EventListener, options: { signal: AbortSignal }) => {
    this.listeners++
    options.signal.addEventListener('abort', () => this.listeners--)
    super.addEventListener(type, listener, options)
  }
}
export const fakePage = () => {
  const document = Object.assign(new CountingTarget(), { visibilityState: 'visible' })
  const window = new CountingTarget()
  const show = (visibilityState: 'hidden' | 'visible') => {
    document.visibilityState = visibilityState
    document.dispatchEvent(new Event('visibilitychange'))
  }
  const tell = (event: 'online' | 'offline') => void window.dispatchEvent(new Event(event))
  return { document, window, show, tell }
}

/** What a browser keeps of an origin, and the storage of each page of it. */
export const openOrigin = () => {
  const values = new Map<string, unknown>()
  const openPage = () => {
    const control = {
      fails: false,
      hangs: false,
      latency: 1,
      capacity: Infinity,
      largestFile: Infinity,
      isKilled: false,
    }
    const access = async <Result>(work: () => Result): Promise<Result> => {
      const pause = () => new Promise((resolve) => setTimeout(resolve, control.latency / 2))
      await pause()
      if (control.isKilled || control.hangs) await new Promise(() => {})
      if (control.fails) throw new DOMException('Forbidden', 'InvalidStateError')
      const result = work()
      // A page may be killed, or may write more, between the commit and its news of it.
      await pause()
      return result
    }
    const put = (key: string, value: unknown) => {
      const isTooLarge = value instanceof Blob && value.size > control.largestFile
      if (isTooLarge || JSON.stringify(value ?? null).length > control.capacity) {
        throw new DOMException('Full', 'QuotaExceededError')
      }
      if (value === undefined) values.delete(key)
      else values.set(key, structuredClone(value))
    }
    const storage: KeyValueStorage = {
      get: (key) => access(() => structuredClone(values.get(key))),
      set: (key, value) => access(() => put(key, value)),
      delete: (key) => access(() => put(key, undefined)),
      update: (key, change) => access(() => put(key, change(structuredClone(values.get(key))))),
    }
    return { storage, control }
  }
  return { values, openPage }
}
