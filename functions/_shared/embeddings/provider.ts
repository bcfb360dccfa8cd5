/** The length of every provider's vectors, so that one column fits each. Those of the offline model end with zeros. */
export const dimensions = 384

export interface Provider {
  /** openai or offline. */
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

/** Rejects vectors that would corrupt the index: too few, of another length, or with values that are not finite. */
const validate = (vectors: number[][], count: number): number[][] => {
  if (vectors.length !== count) throw new Error(`${count} texts came back as ${vectors.length} vectors`)
  for (const vector of vectors) {
    if (vector?.length !== dimensions) {
      throw new Error(`a vector must have ${dimensions} dimensions, not ${vector?.length}`)
    }
    if (!vector.every(Number.isFinite)) throw new Error('a vector holds something that is no number')
  }
  return vectors
}

/** Rejects when the signal aborts, even if the work ignores the signal. */
const orAbort = <Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> => {
  const aborted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  return Promise.race([work, aborted])
}

/** Embeds the texts, or rejects after the timeout. */
export const embedInTime = async ({ embed }: Provider, texts: string[], milliseconds: number): Promise<number[][]> => {
  const signal = AbortSignal.timeout(milliseconds)
  // `embed` is called before the listener is added: if it throws at once, nothing would handle the timeout's rejection.
  return validate(await orAbort(embed(texts, signal), signal), texts.length)
}

/** Waits until the model is loaded, or rejects after the timeout. */
export const loadInTime = async ({ load }: Provider, milliseconds: number): Promise<void> => {
  if (load) await orAbort(load(), AbortSignal.timeout(milliseconds))
}
