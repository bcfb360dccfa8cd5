let provided: typeof fetch = fetch

/** Lets a stack of one process reach its own parts without the network, so also while it no longer listens. */
export const provideFetch = (given: typeof fetch): void => {
  provided = given
}

/** `fetch`, to the platform's other parts. */
export const reach: typeof fetch = (input, init) => provided(input, init)
