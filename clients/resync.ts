/** Browser globals that Node and Deno lack. */
interface BrowserGlobals {
  document?: Pick<EventTarget, 'addEventListener' | 'removeEventListener'> & { visibilityState: string }
  addEventListener?: EventTarget['addEventListener']
  removeEventListener?: EventTarget['removeEventListener']
}

const browser = globalThis as BrowserGlobals
export const isVisible = (): boolean => browser.document?.visibilityState !== 'hidden'

/**
 * Calls `resync` when the page becomes visible, when the network returns, and each time after `interval` milliseconds.
 * A hidden page is not polled. `isAlone` is whether the cause concerns this client alone, so that nobody else reads
 * because of it: not after an interval, when a service that was down may be back for all. Calls `onOffline` when the
 * browser says that the network is lost.
 */
export const scheduleResync = (resync: (isAlone: boolean) => void, onOffline: () => void, interval: () => number) => {
  const onVisibilityChange = () => {
    if (isVisible()) resync(true)
  }
  const onOnline = () => resync(true)
  let timer: ReturnType<typeof setTimeout>
  const poll = () => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      if (isVisible()) resync(false)
      poll()
    }, interval())
  }
  poll()
  browser.document?.addEventListener('visibilitychange', onVisibilityChange)
  browser.addEventListener?.('online', onOnline)
  browser.addEventListener?.('offline', onOffline)
  return {
    /** Begins a new interval. */
    restart: poll,
    stop() {
      clearTimeout(timer)
      browser.document?.removeEventListener('visibilitychange', onVisibilityChange)
      browser.removeEventListener?.('online', onOnline)
      browser.removeEventListener?.('offline', onOffline)
    },
  }
}
