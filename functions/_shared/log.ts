import { tryGetContext } from 'hono/context-storage'

interface Named {
  Variables: { requestId: string }
}

/**
 * A line of JSON in the log, with the id of the request that it comes from, also where the work goes on after the answer. Nothing that people
 * wrote, sent or are called belongs here: no path, query, body, address or token.
 */
export const log = (level: 'info' | 'warn' | 'error', message: string, fields: Record<string, unknown> = {}): void =>
  console[level](JSON.stringify({ level, message, request: tryGetContext<Named>()?.get('requestId'), ...fields }))
