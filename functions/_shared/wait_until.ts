interface EdgeRuntime {
  EdgeRuntime?: { waitUntil: (work: Promise<unknown>) => void }
}

/** Keeps the Edge Function alive for work that continues after the response. The promise must not reject. */
export const waitUntil = (work: Promise<unknown>): void => {
  ;(globalThis as EdgeRuntime).EdgeRuntime?.waitUntil(work)
}
