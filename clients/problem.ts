/** Why a request failed. Status 0 is no answer at all: no network, a time-out, or closed in the meantime. */
export class Problem extends Error {
  readonly status: number
  /** Milliseconds to wait before asking again, if the service said so. */
  readonly retryAfter: number
  /** The answer's body, which may say more than its error. */
  readonly body: unknown

  constructor(message: string, status = 0, retryAfter = 0, body: unknown = null) {
    super(message)
    this.name = 'Problem'
    this.status = status
    this.retryAfter = retryAfter
    this.body = body
  }

  /** Whether the same request may succeed later. Any other answer is final. */
  get temporary(): boolean {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500
  }
}

/** What was thrown, as a problem: a fault of ours is told and tried again like one of the network. */
export const problemFrom = (error: unknown): Problem =>
  error instanceof Problem ? error : new Problem(error instanceof Error ? error.message : `${error}`)

/** Half a second, doubled with each failure up to half a minute; never quite the same, so that clients cut off together return apart. */
export const backoff = (failures: number, atLeast = 0): number =>
  Math.max(atLeast, Math.min(30_000, 500 * 2 ** failures)) * (1 + Math.random() / 2)
