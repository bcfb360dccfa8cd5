interface EdgeRuntime {
  EdgeRuntime?: { waitUntil: (work: Promise<unknown>) => void }
}

/** Keeps the function alive for work that goes on once its answer is out. The work must not fail. */
export const afterwards = (work: Promise<unknown>): void => {
  ;(globalThis as EdgeRuntime).EdgeRuntime?.waitUntil(work)
}
