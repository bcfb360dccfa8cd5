import type { components } from './openapi.ts'

/** What is wrong, from a closed list. */
export type ErrorCode = components['schemas']['ErrorCode']

/** Why a request failed. Status 0 means no answer of the service (`offline`), or that the inbox was closed. */
export class ServiceError extends Error {
  declare readonly status: number
  /** Milliseconds to wait before the next request, if the service asked for a pause. */
  declare readonly retryAfter: number
  /** The response body, which may carry more than the message. */
  declare readonly body: unknown
  /** The service's X-Error-Code; `offline` if nobody has answered, or a proxy in its place. */
  declare readonly code: ErrorCode | 'offline' | null

  constructor(message: string, status = 0, retryAfter = 0, body: unknown = null, code: ServiceError['code'] = null) {
    super(message)
    Object.assign(this, { name: 'ServiceError', status, retryAfter, body, code })
  }

  /** Whether the same request may succeed later. Any other error is final. */
  get temporary(): boolean {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500
  }
}

/** Without an answer of the service, in words for people; the `cause` is for developers. */
export const offlineError = (cause: unknown, retryAfter = 0): ServiceError => {
  const message = 'The service cannot be reached. Is this device online?'
  return Object.assign(new ServiceError(message, 0, retryAfter, null, 'offline'), { cause })
}

/** Wraps whatever was thrown. A bug of this module is reported and retried like a network error. */
export const toServiceError = (error: unknown): ServiceError =>
  error instanceof ServiceError ? error : new ServiceError(error instanceof Error ? error.message : `${error}`)
