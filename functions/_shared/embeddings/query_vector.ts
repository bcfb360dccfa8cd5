import { log } from '../log.ts'
import { currentProvider } from './current_provider.ts'
import { embedInTime } from './provider.ts'
import { dictionary } from './vocabulary.ts'

/** A search waits this long for its vector; then it goes on with words alone. */
const budgetMilliseconds = 400
const cacheSize = 1000
const failuresUntilOpen = 5
const openMilliseconds = 10_000

const cache = new Map<string, string>()
let failures = 0
let openUntil = 0

const remember = (text: string, vector: string): void => {
  if (cache.size >= cacheSize) cache.delete(cache.keys().next().value!)
  cache.set(text, vector)
}

const isOtherScript = (word: string): boolean => /[^\p{Script=Latin}\p{N}\p{M}]/u.test(word)

/** The words of a query that the provider's model knows. They are not corrected, even if no profile has them. */
export const knownWords = async (query: string): Promise<string> => {
  const isWord = await dictionary()
  const { knows = (word) => isOtherScript(word) || isWord(word) } = currentProvider()
  const words = query.normalize('NFKC').match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu) ?? []
  return words.slice(0, 30).filter(knows).join(' ')
}

/** As Postgres reads a halfvec, which has four digits of each number. */
const asText = (vector: number[]): string => `[${vector.map((value) => Number(value.toPrecision(6))).join()}]`

/**
 * The vector of what a query means, as text; null if there is nothing to embed, or the provider fails or is too slow.
 * After five failures in a row a circuit breaker skips the provider for ten seconds, so that an outage does not slow
 * searches.
 */
export const queryVector = async (text: string): Promise<string | null> => {
  if (text === '') return null
  const known = cache.get(text)
  if (known) return known
  if (failures >= failuresUntilOpen && Date.now() < openUntil) return null
  try {
    const [vector = []] = await embedInTime(currentProvider(), [text], budgetMilliseconds)
    failures = 0
    // The model knows none of the words.
    if (!vector.some((value) => value !== 0)) return null
    const written = asText(vector)
    remember(text, written)
    return written
  } catch (error) {
    failures++
    openUntil = Date.now() + openMilliseconds
    const { name } = error as Error
    log('warn', 'A search continued without a query vector', { provider: currentProvider().name, name })
    return null
  }
}
