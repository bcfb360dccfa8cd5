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

type EdgeRuntime = { EdgeRuntime?: { waitUntil: (work: Promise<unknown>) => void } }

/** Keeps the Edge Function alive for work that continues after the response. The promise must not reject. */
export const waitUntil = (work: Promise<unknown>): void => {
  ;(globalThis as EdgeRuntime).EdgeRuntime?.waitUntil(work)
}
