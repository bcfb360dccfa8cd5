/**
 * Runs a task while no other page runs one of this name. Where there are no Web Locks, or after waiting for
 * `longestWait` milliseconds (a page in the background may be suspended while it holds the lock), it runs anyway.
 */
export const withLock = async <Result>(name: string, longestWait: number, task: () => Promise<Result>) => {
  const locks = (globalThis.navigator as Navigator | undefined)?.locks as LockManager | undefined
  if (!locks) return task()
  const waiting = new AbortController()
  const timer = setTimeout(() => waiting.abort(), longestWait)
  let started = false
  try {
    return await locks.request(name, { signal: waiting.signal }, () => {
      clearTimeout(timer)
      started = true
      return task()
    })
  } catch (error) {
    if (started) throw error
    return task()
  } finally {
    clearTimeout(timer)
  }
}
