/** Browser globals that Node and Deno lack. */
interface BrowserGlobals {
  document?: Pick<EventTarget, 'addEventListener' | 'removeEventListener'> & { visibilityState: string }
  addEventListener?: EventTarget['addEventListener']
  removeEventListener?: EventTarget['removeEventListener']
}

/**
 * Calls `resync` when the page becomes visible, when the network returns, and at random intervals between `shortest`
 * and `longest` milliseconds. A hidden page is not polled.
 */
export const scheduleResync = (
  resync: () => void,
  [shortest, longest]: readonly [number, number],
): () => void => {
  const browser = globalThis as BrowserGlobals
  const resyncIfVisible = () => {
    if (browser.document?.visibilityState !== 'hidden') resync()
  }
  let timer: ReturnType<typeof setTimeout>
  const poll = () => {
    timer = setTimeout(() => {
      resyncIfVisible()
      poll()
    }, shortest + Math.random() * (longest - shortest))
  }
  poll()
  browser.document?.addEventListener('visibilitychange', resyncIfVisible)
  browser.addEventListener?.('online', resync)
  return () => {
    clearTimeout(timer)
    browser.document?.removeEventListener('visibilitychange', resyncIfVisible)
    browser.removeEventListener?.('online', resync)
  }
}
