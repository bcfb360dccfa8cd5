/** Browser globals that Node and Deno lack. */
interface BrowserGlobals {
  document?: Pick<EventTarget, 'addEventListener' | 'removeEventListener'> & { visibilityState: string }
  addEventListener?: EventTarget['addEventListener']
  removeEventListener?: EventTarget['removeEventListener']
}

/**
 * Calls `resync` when the page becomes visible, when the network returns, and at random intervals between `shortest`
 * and `longest` milliseconds. A hidden page is not polled. `isAlone` is whether the cause concerns this client alone,
 * so that nobody else reads because of it: not at an interval, after which a service that was down may be back for all.
 */
export const scheduleResync = (
  resync: (isAlone: boolean) => void,
  [shortest, longest]: readonly [number, number],
): () => void => {
  const browser = globalThis as BrowserGlobals
  const isVisible = () => browser.document?.visibilityState !== 'hidden'
  const onVisibilityChange = () => {
    if (isVisible()) resync(true)
  }
  const onOnline = () => resync(true)
  let timer: ReturnType<typeof setTimeout>
  const poll = () => {
    timer = setTimeout(() => {
      if (isVisible()) resync(false)
      poll()
    }, shortest + Math.random() * (longest - shortest))
  }
  poll()
  browser.document?.addEventListener('visibilitychange', onVisibilityChange)
  browser.addEventListener?.('online', onOnline)
  return () => {
    clearTimeout(timer)
    browser.document?.removeEventListener('visibilitychange', onVisibilityChange)
    browser.removeEventListener?.('online', onOnline)
  }
}
