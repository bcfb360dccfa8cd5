/** The length of every provider's vectors, so that one column fits each. Those of the offline model end with zeros. */
export const dimensions = 384

export interface Provider {
  name: string
  /** Stored with each vector. Vectors of different models are never compared. */
  model: string
  /** How long the calls of one run may take together. What is left is for the next run. */
  runMilliseconds: number
  /** Waits until the model is loaded. Only for a model in the process. */
  load?: () => Promise<unknown>
  /** Returns a vector for each text, in order. Rejects on failure and when the signal aborts. */
  embed: (texts: string[], signal: AbortSignal) => Promise<number[][]>
}

/** Whether the model knows no word of a text. Such a vector has no cosine. */
export const isZero = (vector: number[]): boolean => vector.every((value) => value === 0)

/** As Postgres reads a halfvec, which has three digits of each number. */
export const asText = (vector: number[]): string => `[${vector.map((value) => Math.round(value * 1e6) / 1e6).join()}]`

/** Any other vector would corrupt the index. */
const isVector = (vector?: number[]): boolean => vector?.length === dimensions && vector.every(Number.isFinite)

/** Rejects after the timeout, even if the work ignores the signal. */
const inTime = <Result>(work: (signal: AbortSignal) => Promise<Result>, milliseconds: number): Promise<Result> => {
  const signal = AbortSignal.timeout(milliseconds)
  // Begun before the listener is added: if it throws at once, nothing would handle the timeout's rejection.
  const begun = work(signal)
  const aborted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  return Promise.race([begun, aborted])
}

export const embedInTime = async ({ embed }: Provider, texts: string[], milliseconds: number): Promise<number[][]> => {
  const vectors = await inTime((signal) => embed(texts, signal), milliseconds)
  if (vectors.length === texts.length && vectors.every(isVector)) return vectors
  throw new Error(`${texts.length} texts did not come back as so many vectors with ${dimensions} finite numbers`)
}

export const loadInTime = async ({ load }: Provider, milliseconds: number): Promise<void> => {
  if (load) await inTime(load, milliseconds)
}
