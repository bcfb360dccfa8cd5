/** What a page has and Node and Deno have not. */
interface Surroundings {
  document?: Pick<EventTarget, 'addEventListener' | 'removeEventListener'> & { visibilityState: string }
  addEventListener?: EventTarget['addEventListener']
  removeEventListener?: EventTarget['removeEventListener']
}

/**
 * Calls when what is shown may have become old without anybody saying so: the page is looked at again, the network is back, or a while has
 * passed, somewhere between these two in milliseconds. A page that nobody sees is not polled.
 */
export const onWake = (resync: () => void, [shortest, longest]: readonly [number, number]): () => void => {
  const around = globalThis as Surroundings
  const isSeen = () => around.document?.visibilityState !== 'hidden'
  const resyncIfSeen = () => {
    if (isSeen()) resync()
  }
  let timer: ReturnType<typeof setTimeout>
  const poll = () => {
    timer = setTimeout(() => {
      resyncIfSeen()
      poll()
    }, shortest + Math.random() * (longest - shortest))
  }
  poll()
  around.document?.addEventListener('visibilitychange', resyncIfSeen)
  around.addEventListener?.('online', resync)
  return () => {
    clearTimeout(timer)
    around.document?.removeEventListener('visibilitychange', resyncIfSeen)
    around.removeEventListener?.('online', resync)
  }
}
