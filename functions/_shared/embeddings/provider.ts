/** The length of every provider's vectors. */
export const dimensions = 384

/** Makes embeddings of texts. */
export interface Provider {
  /** openai, gte-small or offline. */
  name: string
  /** Stored with each vector. Vectors of different models are never compared. */
  model: string
  /**
   * Whether a word of a query is to be embedded as typed though no profile has it. Without this, only words of the
   * offline model's vocabulary and of other scripts are: a model that makes a vector of anything finds somebody for any
   * typing error.
   */
  knows?: (word: string) => boolean
  /** Returns a vector for each text, in order. Rejects on failure and when the signal aborts. */
  embed: (texts: string[], signal: AbortSignal) => Promise<number[][]>
}

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

/** Embeds the texts, or rejects after the timeout, even if the provider ignores its signal. */
export const embedInTime = async ({ embed }: Provider, texts: string[], milliseconds: number): Promise<number[][]> => {
  const signal = AbortSignal.timeout(milliseconds)
  // Called before the listener is added: if it throws at once, nothing would handle the timeout's rejection.
  const vectors = embed(texts, signal)
  const timeout = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  return validate(await Promise.race([vectors, timeout]), texts.length)
}
