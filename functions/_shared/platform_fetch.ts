let platform: typeof fetch = fetch

/** Lets the local stack call its own parts in the process, so that this works after it has stopped listening. */
export const provideFetch = (provided: typeof fetch): void => {
  platform = provided
}

/** As long as a statement may take. The slowest call is Auth sending an e-mail. */
const timeoutMilliseconds = 8000

/** `fetch` for Auth and Storage. The time limit includes the body. */
export const platformFetch: typeof fetch = (input, init) =>
  platform(input, { ...init, signal: init?.signal ?? AbortSignal.timeout(timeoutMilliseconds) })
