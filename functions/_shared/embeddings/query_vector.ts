import { log } from '../log.ts'
import { provider } from './chosen.ts'
import { embedInTime } from './provider.ts'

/** A search waits no longer than this for its vector, and goes on by words. */
const budgetMilliseconds = 400
const cacheSize = 1000
const failuresUntilOpen = 5
const openMilliseconds = 10_000

const cache = new Map<string, number[]>()
let failures = 0
let closedAgainAt = 0

const remember = (text: string, vector: number[]): void => {
  if (cache.size >= cacheSize) cache.delete(cache.keys().next().value!)
  cache.set(text, vector)
}

// An exclusion says what is not meant, and quotes how it is to be found.
const meaningOf = (query: string): string =>
  query.replace(/(^|\s)-("[^"]*"?|\S+)/g, ' ').replaceAll('"', ' ').trim().split(/\s+/).slice(0, 10).join(' ')

/**
 * The vector of a query's first 10 words; null where the provider is down, slow or wrong, or there is nothing to embed. After five failures
 * in a row it is left alone for ten seconds, so that an outage costs searches nothing.
 */
export const queryVector = async (query: string): Promise<number[] | null> => {
  const text = meaningOf(query)
  if (text === '') return null
  const known = cache.get(text)
  if (known) return known
  if (failures >= failuresUntilOpen && Date.now() < closedAgainAt) return null
  try {
    const [vector = []] = await embedInTime(provider(), [text], budgetMilliseconds)
    failures = 0
    // Nothing in it that the model knows: no direction to look in.
    if (!vector.some((value) => value !== 0)) return null
    remember(text, vector)
    return vector
  } catch (error) {
    failures++
    closedAgainAt = Date.now() + openMilliseconds
    const { name } = error as Error
    log('warn', 'A search went on without its vector', { provider: provider().name, name })
    return null
  }
}
