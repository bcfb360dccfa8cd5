import { onClosed } from './closing.ts'
import { offlineError, ServiceError } from './errors.ts'

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
  const close = () => limit.abort(new ServiceError('Closed'))
  const timer = setTimeout(() => limit.abort(offlineError(`No answer within ${milliseconds} ms`)), milliseconds)
  const forget = closed && onClosed(closed, close)
  try {
    return await Promise.race([aborted, task(limit.signal)])
  } finally {
    clearTimeout(timer)
    forget?.()
  }
}
