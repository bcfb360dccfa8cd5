import { offlineError, ServiceError } from './errors.ts'

const acts = new WeakMap<AbortSignal, Set<() => void>>()

/** Acts once the signal is aborted, unless the result is called first. Node warns of eleven listeners of one signal. */
export const onClosed = (closed: AbortSignal, act: () => void): () => void => {
  const all = acts.get(closed) ?? new Set()
  if (!acts.has(closed)) closed.addEventListener('abort', () => all.forEach((one) => one()))
  acts.set(closed, all.add(act))
  return () => void all.delete(act)
}

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

/** Stops waiting after a time, or when `closed` is aborted, even if the task ignores the signal that it is given. */
export const withTimeout = async <Result>(
  milliseconds: number,
  task: (signal: AbortSignal) => Promise<Result>,
  closed?: AbortSignal,
): Promise<Result> => {
  if (closed?.aborted) throw new ServiceError('Closed')
  const limit = new AbortController()
  const aborted = new Promise<never>((_, reject) => {
    limit.signal.addEventListener('abort', () => reject(limit.signal.reason))
  })
  const timer = setTimeout(() => limit.abort(offlineError(`No answer within ${milliseconds} ms`)), milliseconds)
  const forget = closed && onClosed(closed, () => limit.abort(new ServiceError('Closed')))
  try {
    return await Promise.race([aborted, task(limit.signal)])
  } finally {
    clearTimeout(timer)
    forget?.()
  }
}
