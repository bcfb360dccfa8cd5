let provided: typeof fetch = fetch

/** Lets a stack of one process reach its own parts without the network, so also while it no longer listens. */
export const provideFetch = (given: typeof fetch): void => {
  provided = given
}

/** As long as a statement may take; mailing somebody takes Auth longest. */
const timeLimit = 8000

/** `fetch`, to the platform's other parts: an answer that is not whole by then never comes. */
export const platformFetch: typeof fetch = (input, init) =>
  provided(input, { ...init, signal: init?.signal ?? AbortSignal.timeout(timeLimit) })
