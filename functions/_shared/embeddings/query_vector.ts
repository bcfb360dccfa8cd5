import { log } from '../log.ts'
import { currentProvider } from './current_provider.ts'
import { offlineDictionary } from './offline.ts'
import { asText, embedInTime, isZero } from './provider.ts'

/** A search waits this long for its vector; then it goes on with words alone. */
const budgetMilliseconds = 400
const cacheSize = 1000

const cache = new Map<string, string>()

const isOtherScript = (word: string): boolean => /[^\p{Script=Latin}\p{N}\p{M}]/u.test(word)

/** The words of a query, in lower case, that are words: they are not corrected. */
export const knownWords = async (query: string): Promise<Set<string>> => {
  // Without the model's file a search goes on with the words that profiles have.
  const isWord = await offlineDictionary().catch(({ name }) => {
    log('warn', 'The embedding model was not loaded', { reason: `offline ${name}` })
    return () => false
  })
  // Other providers, which make a vector of anything, are believed to know other scripts.
  const knows = (word: string): boolean => isWord(word) || currentProvider().name !== 'offline' && isOtherScript(word)
  const words = query.normalize('NFKC').toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu) ?? []
  return new Set(words.slice(0, 30).filter(knows))
}

/** The vector of what a query means, as text; null if there is nothing to embed, or the provider fails or is slow. */
export const queryVector = async (text: string): Promise<string | null> => {
  if (text === '') return null
  const known = cache.get(text)
  if (known) return known
  try {
    const [vector = []] = await embedInTime(currentProvider(), [text], budgetMilliseconds)
    // The model knows none of the words.
    if (isZero(vector)) return null
    const written = asText(vector)
    if (cache.size >= cacheSize) cache.delete(cache.keys().next().value!)
    cache.set(text, written)
    return written
  } catch (error) {
    const { name } = error as Error
    log('warn', 'A search continued without a query vector', { provider: currentProvider().name, name })
    return null
  }
}
