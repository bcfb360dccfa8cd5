import { log } from '../../functions/_shared/log.ts'
import { isDatabaseError } from '../../functions/_shared/errors.ts'

const lossCode = /^(CONNECT_TIMEOUT|CONNECTION_\w+|ECONNREFUSED|ECONNRESET|EPIPE|57P0[123])$/
const fromConnection = /\/postgres\/src\/connection\.js/

// Errors that Postgres reports for a statement pass through the same file. Those are not ours to ignore.
const isStray = (error: unknown): boolean =>
  lossCode.test((error as { code?: string } | null)?.code ?? '') ||
  (!isDatabaseError(error) && fromConnection.test(String((error as Error | null)?.stack)))

const ignoreStray = (event: Event, error: unknown): void => {
  if (!isStray(error)) return
  event.preventDefault()
  const { name, code } = error as Error & { code?: string }
  log('warn', 'Database connection lost', { name, code })
}

/**
 * Keeps the process alive when a database connection is lost: postgres.js, which @supabase/lite uses, writes to the
 * socket once more outside any promise, and nothing awaits the queries that it makes itself while it opens one. The
 * callers have already received their error.
 */
export const surviveConnectionLoss = (): void => {
  globalThis.addEventListener('error', (event) => ignoreStray(event, event.error))
  globalThis.addEventListener('unhandledrejection', (event) => ignoreStray(event, event.reason))
}
