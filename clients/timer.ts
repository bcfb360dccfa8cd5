import { onClosed } from './closing.ts'

/** One timer, which `start` starts anew, until `closed` is aborted. */
export const createTimer = (act: () => void, closed?: AbortSignal) => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const cancel = () => {
    clearTimeout(timer)
    timer = undefined
  }
  const now = () => {
    cancel()
    act()
  }
  const start = (milliseconds: number) => {
    cancel()
    if (!closed?.aborted) timer = setTimeout(now, milliseconds)
  }
  if (closed) onClosed(closed, cancel)
  return { start, now, cancel, isWaiting: () => timer !== undefined }
}
