/** Length of every vector, whoever makes it. */
export const dimensions = 384

/** Somebody who makes vectors of texts. */
export interface Provider {
  /** openai, gte-small or offline. */
  name: string
  /** Kept beside each vector; vectors of different models are never compared. */
  model: string
  /** A vector for each text, in their order. Rejects where it cannot, or where the signal says to stop. */
  embed: (texts: string[], signal: AbortSignal) => Promise<number[][]>
}

/** Refuses vectors that would poison the index: too few, of another length, or with anything but numbers. */
const checked = (vectors: number[][], count: number): number[][] => {
  if (vectors.length !== count) throw new Error(`${count} texts came back as ${vectors.length} vectors`)
  for (const vector of vectors) {
    if (vector?.length !== dimensions) {
      throw new Error(`a vector must have ${dimensions} dimensions, not ${vector?.length}`)
    }
    if (!vector.every(Number.isFinite)) throw new Error('a vector holds something that is no number')
  }
  return vectors
}

/**
 * The vector of each text, or an error within so many milliseconds: a provider that does not listen to its signal is left behind all the
 * same.
 */
export const embedInTime = async (
  { embed }: Provider,
  texts: string[],
  milliseconds: number,
): Promise<number[][]> => {
  const signal = AbortSignal.timeout(milliseconds)
  // First, for it may throw at once, and then nobody would hear of the limit.
  const made = embed(texts, signal)
  const late = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  return checked(await Promise.race([made, late]), texts.length)
}
