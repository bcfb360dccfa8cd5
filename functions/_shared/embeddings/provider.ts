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

export const embedInTime = async ({ embed }: Provider, texts: string[], milliseconds: number): Promise<number[][]> => {
  const signal = AbortSignal.timeout(milliseconds)
  const vectors = await embed(texts, signal).catch((error) => Promise.reject(signal.aborted ? signal.reason : error))
  if (vectors.length === texts.length && vectors.every(isVector)) return vectors
  throw new Error(`${texts.length} texts did not come back as so many vectors with ${dimensions} finite numbers`)
}
