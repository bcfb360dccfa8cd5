import { log } from './log.ts'
import { isConnectionLoss, isDatabaseError } from './errors.ts'

// In a folder of its own, or, as the platform packs functions, in one of its version.
const fromConnection = /\/postgres\/(\S+\/)?src\/connection\.js/

// What Postgres itself has to say of a statement comes through there as well, and is somebody's fault.
const isStray = (error: unknown): boolean =>
  isConnectionLoss(error) || (!isDatabaseError(error) && fromConnection.test(String((error as Error | null)?.stack)))

const tell = (error: unknown): void => {
  const { name, code } = error as Error & { code?: string }
  log('warn', 'A database connection was cut', { name, code })
}

const onError = (event: ErrorEvent): void => {
  if (!isStray(event.error)) return
  event.preventDefault()
  tell(event.error)
}

const onRejection = (event: PromiseRejectionEvent): void => {
  if (!isStray(event.reason)) return
  event.preventDefault()
  tell(event.reason)
}

/**
 * Keeps the process, when a connection to the database is cut: postgres.js writes to it once more, outside of anybody's promise, and nobody
 * waits for what it asks for itself as one opens. Whoever waited has had their error. Called again, it changes nothing.
 */
export const surviveConnectionLoss = (): void => {
  globalThis.addEventListener('error', onError)
  globalThis.addEventListener('unhandledrejection', onRejection)
}
