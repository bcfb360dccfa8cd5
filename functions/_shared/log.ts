import { AsyncLocalStorage } from 'node:async_hooks'

// Its id alone and not, as Hono's contextStorage would have it, all of a request: Deno holds what is stored here in a WeakMap, whose values
// outlive every quick collection. Those of a door without its database then took 5 ms instead of 0.8, and there are four a second.
const requestId = new AsyncLocalStorage<string>()

/** Does the work of a request, so that what is written of it has its id. */
export const logAs = <Done>(id: string, work: () => Done): Done => requestId.run(id, work)

/**
 * A line of JSON in the log, with the id of the request that it comes from, also where the work goes on after the answer. Nothing that people
 * wrote, sent or are called belongs here: no path, query, body, address or token.
 */
export const log = (level: 'info' | 'warn' | 'error', message: string, fields: Record<string, unknown> = {}): void =>
  console[level](JSON.stringify({ level, message, request: requestId.getStore(), ...fields }))
